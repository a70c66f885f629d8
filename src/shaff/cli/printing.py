"""The result for a terminal: a table with bars and error bars drawn as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shaff._util.words import enumerated
from shaff.show import sentences

if TYPE_CHECKING:
    from shaff import EffectsResult
    from shaff.results.interactions import Interactions
    from shaff.results.local import LocalEffects

# A narrow terminal shows no Sobol indices and shorter bars; a file or pipe is as wide as need be.
NARROW, WIDE_BAR, NARROW_BAR = 100, 28, 20
_FILE_WIDTH = 160
_WIDE_ONLY = ("first-order", "total", "direction")
MAX_PLAYERS, MAX_PAIRS = 50, 12
# Rows that are told one by one, and parts of each.
MAX_ROWS, MAX_PARTS = 10, 6
_ALPHA = 0.05
# Seen on dark and on light ground; terminals with few colours take the nearest.
_BLUE, _PALE = "#4a86c5", "#8a97a5"


class _Glyphs(NamedTuple):
    bar: str
    left: str
    line: str
    right: str


_DRAWN = _Glyphs("█", "├", "─", "┤")
_ASCII = _Glyphs("#", "|", "-", "|")


def print_result(result: EffectsResult, console: Console | None = None) -> None:
    """Title, table and what the effects rest on."""
    console = console or _console()
    # Lines of text wrap on a terminal only, so that files and pipes get them whole.
    whole = not console.is_terminal
    console.print(Text(f"Shapley effects on {result.target}", style="bold"), soft_wrap=whole)
    console.print()
    console.print(_table(result, console))
    left = len(result.names) - MAX_PLAYERS
    if left > 0:
        rest = result.effects[result.order[MAX_PLAYERS:]].sum()
        console.print(Text(f"... and {left} more with {rest:.3f} together", style="dim"))
    console.print()
    headline = sentences.headline(result).replace("\u202f", " ")
    console.print(Text(headline, style="bold"), soft_wrap=whole)
    for line in result.footer():
        console.print(_sentence(line), soft_wrap=whole)
    if result.interactions is not None:
        _print_interactions(result.interactions, console)


def _print_interactions(found: Interactions, console: Console) -> None:
    """The strongest pairs, and how to read them."""
    console.print()
    console.print(Text("Strongest interactions", style="bold"))
    header, rows = found.table(found.order[:MAX_PAIRS])
    table = Table(box=None, pad_edge=False)
    for name in header:
        is_number = name not in ("players", "95 % interval")
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for line in found.footer():
        console.print(_sentence(line), soft_wrap=not console.is_terminal)


def print_saved(paths: list[str], console: Console | None = None) -> None:
    """Where the files are."""
    console = console or _console()
    if paths:
        console.print()
        console.print(Text(f"Saved {enumerated(paths)}"), soft_wrap=True)


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_FILE_WIDTH)


def _table(result: EffectsResult, console: Console) -> Table:
    from shaff.results.effects import summary_table

    players = result.order[:MAX_PLAYERS]
    header, rows = summary_table(result, players)
    bars = _bars(result, console)
    kept = [k for k, name in enumerate(header[:-1])
            if console.width >= NARROW or name not in _WIDE_ONLY]  # fmt: skip
    table = Table(box=None, pad_edge=False)
    table.add_column(header[0], overflow="fold")
    for k in kept[1:]:
        table.add_column(header[k], justify="right", no_wrap=True)
    has_errors = result.standard_error is not None
    table.add_column("95 % interval" if has_errors else "", no_wrap=True)
    for j, row in zip(players, rows, strict=True):
        # Text, not markup: a column may be called "[b]".
        name, *cells = (Text(row[k]) for k in kept)
        name.stylize("" if _is_real(result, j) else "dim")
        table.add_row(name, *cells, bars[j])
    return table


def _is_real(result: EffectsResult, player: int) -> bool:
    return result.p_values is None or bool(result.null_test()[player] <= _ALPHA)


def _bars(result: EffectsResult, console: Console) -> list[Text]:
    width = NARROW_BAR if console.width < NARROW else WIDE_BAR
    is_unicode = console.encoding.lower().replace("-", "").startswith("utf")
    glyphs = _DRAWN if is_unicode else _ASCII
    has_errors = result.standard_error is not None
    low = high = result.effects
    if has_errors:
        low, high = result.confidence_interval(method="nonnegative")
    scale = max(float(np.max(high, initial=0.0)), float(np.finfo(float).tiny))
    places = np.round(width * np.stack([low, result.effects, high], axis=1) / scale).astype(int)
    bars = []
    for j, (start, effect, end) in enumerate(places.tolist()):
        colour = _BLUE if _is_real(result, j) else _PALE
        bar = Text(glyphs.bar * effect, style=colour)
        bars.append(_with_interval(effect, start, end, glyphs, colour) if has_errors else bar)
    return bars


def _with_interval(effect: int, low: int, high: int, glyphs: _Glyphs, colour: str) -> Text:
    """A bar up to the effect, with its interval across the end."""
    low = max(min(low, high - 1), 0)
    whisker = (glyphs.left + glyphs.line * (high - low - 2) + glyphs.right)[low - high :]
    drawn = Text()
    if high == 0:
        return drawn
    drawn.append(glyphs.bar * min(low, effect), style=colour)
    drawn.append(" " * (low - min(low, effect)))
    inside = max(effect - low, 0)
    drawn.append(whisker[:inside], style=f"bold white on {colour}")
    drawn.append(whisker[inside:])
    return drawn


def _sentence(line: str) -> Text:
    text = Text(line)
    text.highlight_words(["Note:"], style="yellow")
    return text


def print_local(local: LocalEffects, console: Console | None = None) -> None:
    """The largest parts of the predictions of a few rows."""
    console = console or _console()
    whole = not console.is_terminal
    console.print()
    console.print(Text("Single rows", style="bold"), soft_wrap=whole)
    for output in local.outputs or (None,):
        one = local if output is None else local.of(output)
        for row in range(min(one.n_rows, MAX_ROWS)):
            console.print(Text(_row_sentence(one, row)), soft_wrap=whole)
    if local.n_rows > MAX_ROWS:
        console.print(Text(f"... and {local.n_rows - MAX_ROWS} more rows", style="dim"))
    for note in local.notes:
        console.print(_sentence(f"Note: {note}"), soft_wrap=whole)


def _row_sentence(local: LocalEffects, row: int) -> str:
    place, values = int(local.rows[row]), local.values[row]
    of = "" if local.output is None else f" ({local.output})"
    if np.isnan(values).any():
        return f"Row {place}{of}: cannot be predicted out of sample."
    order = np.argsort(-np.abs(values), kind="stable")
    parts = [f"{values[j]:+.3g} {local.names[j]}" for j in order[:MAX_PARTS]]
    rest = values[order[MAX_PARTS:]]
    if len(rest):
        parts.append(f"{rest.sum():+.3g} others")
    return (
        f"Row {place}{of}: {local.predictions[row]:.4g} = {local.base:.4g} on average "
        + ", ".join(parts)
    )
