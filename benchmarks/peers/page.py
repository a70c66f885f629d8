"""Tables and the plot of what was run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.runs import Run, Store, Task
from benchmarks.peers.systems import EVERY as PEERS
from benchmarks.peers.systems import NOT_RUN
from shaff._util.words import counted

Cell = list[Run]
# In the plot: shaff's own, and the names that stand beside the others' points.
OURS = ("shaff", "shaff, as published")
# The size that every case has.
OVERVIEW_ROWS = 1000


def cells(store: Store, tasks: Iterable[Task]) -> dict[tuple[str, str, int], Cell]:
    """The runs by peer, case and number of rows."""
    found: dict[tuple[str, str, int], Cell] = {}
    for task in tasks:
        run = store.get(task)
        if run is not None:
            found.setdefault((task.peer, task.case, task.n_rows), []).append(run)
    return found


def mean(cell: Cell, name: str) -> float | None:
    known = [value for run in cell if (value := getattr(run, name)) is not None]
    return float(np.mean(known)) if known else None


def table(found: dict[tuple[str, str, int], Cell], name: str, form: str) -> str:
    """Markdown: a line a peer, a column a case."""
    columns = list(dict.fromkeys((case, rows) for _, case, rows in found))
    heads = [f"{case}, {rows}" for case, rows in columns]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for peer in dict.fromkeys(peer for peer, _, _ in found):
        shown = [entry(found.get((peer, *column)), name, form) for column in columns]
        if any(text != "" for text in shown):
            lines.append(f"| {peer} | {' | '.join(shown)} |")
    return "\n".join(lines)


def entry(cell: Cell | None, name: str, form: str) -> str:
    if cell is None:
        return ""
    value = mean(cell, name)
    if value is not None:
        return form.format(value)
    failed = next((run.failed for run in cell if run.failed), None)
    return "" if failed is None else ("time" if failed.startswith("more than") else "fails")


def failures(found: dict[tuple[str, str, int], Cell]) -> Iterator[str]:
    """One line per peer that failed, and those that were not run."""
    for peer in dict.fromkeys(peer for peer, _, _ in found):
        said = {run.failed: case for (who, case, _), cell in found.items() if who == peer
                for run in cell if run.failed}  # fmt: skip
        for reason, case in said.items():
            yield f"- {peer}, {case}: {reason}"
    for peer, reason in NOT_RUN.items():
        yield f"- {peer}: {reason}"


def better(found: dict[tuple[str, str, int], Cell]) -> Iterator[str]:
    """Where a peer gives less credit to wrong inputs than shaff's defaults, and what it takes."""
    for (peer, case, rows), cell in found.items():
        ours = found.get(("shaff", case, rows))
        theirs = mean(cell, "wrong_credit")
        if peer in OURS or ours is None or theirs is None:
            continue
        own = mean(ours, "wrong_credit")
        if own is not None and theirs < own:
            times = f"{mean(cell, 'seconds'):.1f} s against {mean(ours, 'seconds'):.1f} s"
            yield f"- {case}, {rows} rows: {peer} {theirs:.3f} against {own:.3f}, {times}"


def summary(found: dict[tuple[str, str, int], Cell]) -> Iterator[str]:
    """How close the defaults come on average, how often they are the closest, and whether any
    other tool is both closer and quicker."""
    same = {key: cell for key, cell in found.items() if key[2] == OVERVIEW_ROWS}
    n, points = len({case for _, case, _ in same}), middles(same)
    whole = {peer: at for peer, at in points.items() if at[2] == n and peer not in OURS}
    if "shaff" in points and whole:
        x, y, _ = points["shaff"]
        after = min(whole, key=lambda peer: whole[peer][1])
        yield (
            f"Mean credit to wrong inputs over {n} tables of {OVERVIEW_ROWS} rows: shaff "
            f"{100 * y:.1f} % in {x:.1f} s; of the tools that finished all, the next is {after} "
            f"with {100 * whole[after][1]:.1f} % in {whole[after][0]:.1f} s."
        )
    tables = list(dict.fromkeys((case, rows) for _, case, rows in found))
    best = [table for table in tables if closest(found, table) == "shaff"]
    both = [f"{peer} ({case}, {rows} rows)" for (peer, case, rows), cell in found.items()
            if peer not in OURS and is_ahead(cell, found.get(("shaff", case, rows)))]  # fmt: skip
    said = (
        f"closer and quicker: {', '.join(both)}" if both else "no tool is both closer and quicker"
    )
    yield f"shaff is the closest in {len(best)} of {len(tables)} tables; {said}."


def closest(found: dict[tuple[str, str, int], Cell], table: tuple[str, int]) -> str:
    """The peer with the least credit to wrong inputs."""
    credit = {peer: value for (peer, *its), cell in found.items() if tuple(its) == table
              and (value := mean(cell, "wrong_credit")) is not None}  # fmt: skip
    return min(credit, key=lambda peer: credit[peer])


def is_ahead(cell: Cell, ours: Cell | None) -> bool:
    """Whether a peer has less wrong credit and takes less time."""
    names = ("wrong_credit", "seconds")
    pairs = [(mean(cell, name), None if ours is None else mean(ours, name)) for name in names]
    return all(its is not None and own is not None and its < own for its, own in pairs)


def n_runs(found: dict[tuple[str, str, int], Cell]) -> str:
    """Markdown: how many seeds each cell is the mean of."""
    counts = sorted({len(cell) for cell in found.values()})
    peers = {n: sorted({peer for (peer, _, _), cell in found.items() if len(cell) == n})
             for n in counts}  # fmt: skip
    said = (f"{counted(n, 'seed')}: {'; '.join(names)}" for n, names in peers.items())
    return "\n".join(f"- {line}" for line in said)


def page(store: Store, tasks: list[Task]) -> str:
    """The whole page."""
    found = cells(store, tasks)
    parts = [
        ("In two lines", "\n".join(summary(found))),
        ("Seeds", n_runs(found)),
        ("Credit to wrong inputs", table(found, "wrong_credit", "{:.3f}")),
        ("Error, in shares of the variance of y", table(found, "error", "{:.3f}")),
        ("Rank correlation with the true effects", table(found, "rank", "{:.2f}")),
        ("Processor time in seconds", table(found, "seconds", "{:.1f}")),
        ("Largest memory in megabytes", table(found, "megabytes", "{:.0f}")),
        ("Covered by 90 % intervals", table(found, "covered", "{:.2f}")),
        ("Where a peer is closer than the defaults of shaff", lines(better(found), "Nowhere.")),
        ("What failed, and what was not run", lines(failures(found), "Nothing.")),
        ("Versions", versions()),
    ]
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in parts) + "\n"


def lines(found: Iterator[str], none: str) -> str:
    return "\n".join(found) or none


def versions() -> str:
    names = sorted({peer.package for peer in PEERS.values()} | {"lightgbm", "numpy"}, key=str.lower)
    return ", ".join(f"{name} {installed(name)}" for name in names)


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def plot(store: Store, tasks: list[Task], path: Path) -> None:
    """Wrong credit against processor time on log axes, a panel a case."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = cells(store, tasks)
    panels = list(dict.fromkeys((case, rows) for _, case, rows in found))
    n_columns = min(len(panels), 3)
    n_lines = -(-len(panels) // n_columns)
    size = (4.4 * n_columns, 3.5 * n_lines)
    figure, axes = plt.subplots(
        n_lines, n_columns, squeeze=False, sharey=True, figsize=size, layout="constrained"
    )
    for ax, panel in zip(axes.flat, panels, strict=False):
        draw(ax, found, panel)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("credit to wrong inputs")
    for ax in axes[-1]:
        ax.set_xlabel("processor time, seconds")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def overview(store: Store, tasks: list[Task], path: Path) -> None:
    """One panel for the front page: mean wrong credit against time over the tables of 1000 rows."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = {key: cell for key, cell in cells(store, tasks).items() if key[2] == OVERVIEW_ROWS}
    tables = {case for _, case, _ in found}
    figure, ax = plt.subplots(figsize=(8.4, 4.6), layout="constrained")
    # From above, so that the label of the lower of two neighbours stands below it.
    for peer, (x, y, n) in sorted(middles(found).items(), key=lambda item: -item[1][1]):
        part = "" if n == len(tables) else f" ({n} of {len(tables)})"
        point(ax, peer, x, y, peer + part)
    ax.set(xscale="log", yscale="log", xlabel="processor time, seconds (geometric mean)",
           ylabel="credit to wrong inputs (mean)")  # fmt: skip
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    ax.yaxis.set_minor_formatter(lambda value, _: f"{100 * value:g} %" if value < 0.7 else "")
    ax.set_title(f"{len(tables)} tables of {OVERVIEW_ROWS} rows with known effects", fontsize=11)
    ax.grid(alpha=0.25)
    ax.margins(x=0.16)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def middles(found: dict[tuple[str, str, int], Cell]) -> dict[str, tuple[float, float, int]]:
    """Mean time and wrong credit of each peer, and the number of tables that it has done."""
    points = {}
    for peer in dict.fromkeys(peer for peer, _, _ in found):
        done = [cell for (who, _, _), cell in found.items()
                if who == peer and mean(cell, "wrong_credit") is not None]  # fmt: skip
        if done:
            x = float(np.exp(np.mean([np.log(max(mean(c, "seconds") or 0, 0.01)) for c in done])))
            y = float(np.mean([mean(cell, "wrong_credit") for cell in done]))
            points[peer] = (x, y, len(done))
    return points


def point(ax: Any, peer: str, x: float, y: float, label: str) -> None:
    """A point and its label, to the right; below if a neighbour has its label there."""
    ours = peer in OURS
    colour = "#c8102e" if ours else "#5b6770"
    near = any(abs(np.log10(x / t.xy[0])) < 0.5 and abs(np.log10(y / t.xy[1])) < 0.035
               for t in ax.texts)  # fmt: skip
    ax.scatter(x, y, s=42 if ours else 22, color=colour, zorder=3)
    ax.annotate(label, (x, y), xytext=(5, -9 if near else 2), fontsize=7.5,
                textcoords="offset points", color=colour)  # fmt: skip


def draw(ax: Any, found: dict[tuple[str, str, int], Cell], panel: tuple[str, int]) -> None:
    for (peer, case, rows), cell in found.items():
        x, y = mean(cell, "seconds"), mean(cell, "wrong_credit")
        if (case, rows) != panel or x is None or y is None:
            continue
        point(ax, peer, max(x, 0.01), max(y, 0.003), peer)
    ax.set(xscale="log", yscale="log", title=f"{panel[0]}, {panel[1]:,} rows".replace(",", " "))
    ax.grid(alpha=0.25)
