"""Draws the packages of shaff from its import graph: ``python -m benchmarks.architecture``.

Writes ``docs/images/architecture.svg``: a box for each package, in the order of ``.importlinter``,
and an arrow for each pair of which one imports from the other. ``--check`` writes nothing and fails
if the drawing shows other packages or other arrows than the code has.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from configparser import ConfigParser
from html import escape
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
# What nearly every package imports: drawn as the ground that the others stand on, without arrows.
GROUND = ("_util", "errors", "_version")
WHAT = {
    "cli": "the command shaff",
    "__main__": "python -m shaff",
    "many": "many tables at once",
    "comparing": "two results",
    "change": "two tables",
    "estimator": "ShapleyEffects",
    "games": "any set function",
    "fitting": "settings to result",
    "show": "text, plots, report",
    "results": "what fit returns",
    "screening": "many columns",
    "uncertainty": "errors and tests",
    "values": "step 2: evaluate subsets",
    "designs": "step 1: choose subsets",
    "solve": "step 3: effects",
    "protocols": "what steps agree on",
    "data": "tables and sources",
    "trees": "tree ensembles",
    "gaussian_process": "model of the values",
    "datasets": "examples",
    "subsets": "sets of players",
}
WIDTH, BOX_W, BOX_H, ROW, TOP, MARGIN = 1000.0, 150.0, 40.0, 76.0, 64.0, 20.0
SLOTS = 22  # places for a box along a layer
TRIES, STEPS = 8, 2500
STYLE = """
  text { font-family: system-ui, "DejaVu Sans", sans-serif; fill: #1d2733; }
  .name { font-size: 14px; font-weight: 600; }
  .what { font-size: 11px; fill: #4d5a68; }
  .box { fill: #ffffff; stroke: #5b6b7c; stroke-width: 1.2; }
  .ground { fill: #eef2f6; stroke: #5b6b7c; stroke-width: 1.2; }
  .public { stroke: #2563a8; stroke-width: 2.2; }
  .layer { fill: #8795a4; fill-opacity: .1; }
  .arrow { fill: none; stroke: #41719f; }
  .upward { stroke-dasharray: 5 4; }
  .head { fill: #41719f; }
  .paper { fill: #fbfcfd; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6ebf0; }
    .what { fill: #a9b6c3; }
    .box { fill: #1d2733; stroke: #8795a4; }
    .ground { fill: #26313d; stroke: #8795a4; }
    .public { stroke: #7db4e8; }
    .arrow { stroke: #8db8e0; }
    .head { fill: #8db8e0; }
    .paper { fill: #141a21; }
  }
"""
# Those that a user may import from; the others are the package's own.
PUBLIC = {"estimator", "many", "comparing", "games", "datasets", "subsets", "protocols", "errors"}

Pair = tuple[str, str]
Point = tuple[float, float]
Places = dict[str, int]


class Architecture(NamedTuple):
    """The packages, layer by layer from the top, and how many imports go from one to another."""

    layers: list[list[str]]
    imports: dict[Pair, int]

    @property
    def arrows(self) -> dict[Pair, int]:
        """The imports of what is drawn with arrows."""
        return {pair: n for pair, n in self.imports.items() if pair[1] not in GROUND}


def read() -> Architecture:
    """The order of ``.importlinter`` and the imports of the code."""
    config = ConfigParser()
    config.read(ROOT / ".importlinter")
    lines = config["importlinter:contract:rooms"]["layers"].split("\n")
    layers = [re.split(r"\s*\|\s*", line.strip()) for line in lines if line.strip()]
    graph = grimp.build_graph("shaff", cache_dir=None)
    rooms = {room for layer in layers for room in layer}
    imports: Counter[Pair] = Counter()
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            one, other = _room(importer), _room(imported)
            if one != other and {one, other} <= rooms:
                imports[one, other] += len(
                    graph.get_import_details(importer=importer, imported=imported)
                )
    return Architecture(layers, dict(sorted(imports.items())))


def _room(module: str) -> str:
    return [*module.split("."), ""][1]


def drawing(found: Architecture) -> str:
    """The picture as SVG."""
    rows = [layer for layer in found.layers if not set(layer) <= set(GROUND)]
    centres = _centres(rows, found.arrows)
    height = TOP + ROW * len(rows) + 88
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" '
        f'width="{WIDTH:g}" height="{height:g}" role="img" aria-labelledby="title">',
        '<title id="title">The packages of shaff and their imports</title>',
        f"<metadata>{escape(_facts(found), quote=False)}</metadata>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH:g}" height="{height:g}" rx="8"/>',
        *_heading(),
        *_stripes(len(rows)),
        *_arrows(found.arrows, centres),
        *(_box(room, centres[room]) for layer in rows for room in layer),
        *_ground(found, TOP + ROW * len(rows)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _facts(found: Architecture) -> str:
    return json.dumps({"layers": found.layers, "arrows": sorted(map(list, found.imports))})


def is_stale(text: str, found: Architecture) -> bool:
    """Whether a drawing shows other packages or other arrows than the code has.

    The number of imports, which is the width of an arrow, may have changed since.
    """
    drawn = re.search(r"<metadata>(.*?)</metadata>", text)
    return drawn is None or drawn[1] != escape(_facts(found), quote=False)


def _heading() -> list[str]:
    return [
        '<text x="20" y="28" class="name">A package imports only from those below it</text>',
        '<text x="20" y="46" class="what">Wider arrows: more imports. Blue frames: public modules. '
        "Dashed: imported when called, an exception listed in .importlinter.</text>",
    ]


def _stripes(n_rows: int) -> list[str]:
    return [
        f'<rect class="layer" x="8" y="{TOP + ROW * k + (ROW - 56) / 2:g}" '
        f'width="{WIDTH - 16:g}" height="56" rx="6"/>'
        for k in range(n_rows)
    ]


def _box(room: str, centre: Point) -> str:
    x, y = centre
    kind = "box public" if room in PUBLIC else "box"
    return (
        f'<g><rect class="{kind}" x="{x - BOX_W / 2:g}" y="{y - BOX_H / 2:g}" '
        f'width="{BOX_W:g}" height="{BOX_H:g}" rx="6"/>'
        f'<text x="{x:g}" y="{y - 3:g}" text-anchor="middle" class="name">{room}</text>'
        f'<text x="{x:g}" y="{y + 12:g}" text-anchor="middle" class="what">'
        f"{escape(WHAT.get(room, ''))}</text></g>"
    )


def _ground(found: Architecture, y: float) -> list[str]:
    users, n_imports = dict.fromkeys(GROUND, 0), dict.fromkeys(GROUND, 0)
    for (_, other), n in found.imports.items():
        if other in GROUND:
            users[other] += 1
            n_imports[other] += n
    width = (WIDTH - 2 * MARGIN) / len(GROUND)
    parts = []
    for k, room in enumerate(GROUND):
        x = MARGIN + k * width
        kind = "ground public" if room in PUBLIC else "ground"
        said = f"{n_imports[room]} imports by {users[room]} packages"
        parts += [
            f'<rect class="{kind}" x="{x + 4:g}" y="{y + 22:g}" width="{width - 8:g}" '
            'height="46" rx="6"/>',
            f'<text x="{x + width / 2:g}" y="{y + 42:g}" text-anchor="middle" class="name">'
            f"{room}</text>",
            f'<text x="{x + width / 2:g}" y="{y + 58:g}" text-anchor="middle" class="what">'
            f"{said}</text>",
        ]
    return parts


def _arrows(arrows: dict[Pair, int], centres: dict[str, Point]) -> list[str]:
    # The thin ones on top of the wide ones.
    ordered = sorted(arrows.items(), key=lambda item: (-item[1], item[0]))
    return [_arrow(one, other, n, centres) for (one, other), n in ordered]


def _arrow(one: str, other: str, n: int, centres: dict[str, Point]) -> str:
    (x1, y1), (x2, y2) = centres[one], centres[other]
    is_up = y2 < y1
    down, kind = (-1, "arrow upward") if is_up else (1, "arrow")
    if is_up:  # beside the arrow that goes down
        x1, x2 = x1 + BOX_W / 4, x2 + BOX_W / 4
    start, end = y1 + down * BOX_H / 2, y2 - down * (BOX_H / 2 + 9)
    bend = 0.45 * (end - start)
    return (
        f'<g opacity="{min(0.3 + 0.06 * n, 0.9):.2f}">'
        f"<title>{one} imports from {other}: {n}</title>"
        f'<path class="{kind}" stroke-width="{1.0 + 0.85 * n**0.5:.1f}" d="M{x1:g} {start:g}'
        f'C{x1:g} {start + bend:.0f} {x2:g} {end - bend:.0f} {x2:g} {end:g}"/>'
        f'<path class="head" d="M{x2 - 5:g} {end - down:g}h10l-5 {9 * down}z"/></g>'
    )


def _centres(rows: Sequence[Sequence[str]], arrows: dict[Pair, int]) -> dict[str, Point]:
    """Where the boxes stand: arrows should be short and should not run behind other boxes."""
    placer = _Placer(rows, arrows)
    best = min((placer.search(seed) for seed in range(TRIES)), key=placer.cost)
    return {room: placer.centre(room, best) for room in placer.layer}


class _Placer:
    """Looks for places of the boxes by exchanging and moving them; the same at every call."""

    def __init__(self, rows: Sequence[Sequence[str]], arrows: dict[Pair, int]) -> None:
        self.layer = {room: k for k, row in enumerate(rows) for room in row}
        self.rows = rows
        self.arrows = [
            (one, other, n)
            for (one, other), n in arrows.items()
            if self.layer[one] < self.layer[other]
        ]

    def centre(self, room: str, places: Places) -> Point:
        step = (WIDTH - 2 * MARGIN - BOX_W) / (SLOTS - 1)
        return MARGIN + BOX_W / 2 + step * places[room], TOP + ROW * (self.layer[room] + 0.5)

    def search(self, seed: int) -> Places:
        rng = random.Random(seed)
        places = {
            room: round((k + 0.5) * SLOTS / len(row) - 0.5)
            for row in self.rows
            for k, room in enumerate(rng.sample(list(row), len(row)))
        }
        cost = self.cost(places)
        rooms = sorted(self.layer)
        for step in range(STEPS):
            room = rng.choice(rooms)
            moved = {**places, room: rng.randrange(SLOTS)}
            new = self.cost(moved)
            heat = 40.0 * (1 - step / STEPS) ** 2
            if new <= cost + heat * rng.random():
                places, cost = moved, new
        return places

    def cost(self, places: Places) -> float:
        centres = {room: self.centre(room, places) for room in self.layer}
        total = 0.0
        for row in self.rows:
            xs = sorted(centres[room][0] for room in row)
            gaps = (right - left for left, right in itertools.pairwise(xs))
            total += sum(1000.0 for gap in gaps if gap < BOX_W + 14)
        for one, other, n in self.arrows:
            a, b = centres[one], centres[other]
            total += (0.02 * n + 0.01) * abs(a[0] - b[0])
            total += sum(
                20.0 for room, c in centres.items() if room not in (one, other) and _hides(a, b, c)
            )
        return total + 0.02 * sum(abs(x - WIDTH / 2) for x, _ in centres.values())


def _hides(start: Point, end: Point, box: Point) -> bool:
    """Whether the curve from one box to another runs behind a third."""
    if not start[1] < box[1] < end[1]:
        return False
    t = (box[1] - start[1]) / (end[1] - start[1])
    # Both ends are vertical, as those of the curve that is drawn.
    x = start[0] + (end[0] - start[0]) * t * t * (3 - 2 * t)
    return abs(x - box[0]) < BOX_W / 2 + 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the drawing is stale")
    found = read()
    if not parser.parse_args().check:
        PICTURE.write_text(drawing(found), encoding="utf-8")
        print(PICTURE.relative_to(ROOT))
    elif not PICTURE.exists() or is_stale(PICTURE.read_text("utf-8"), found):
        raise SystemExit("docs/images/architecture.svg is stale: python -m benchmarks.architecture")


if __name__ == "__main__":
    main()
