"""The result for a terminal: a table with bars and error bars drawn as text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shaff._util.words import enumerated
from shaff.cli.streams import hang_up
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.selection import Selection
from shaff.show import sentences
from shaff.show.rows import NONE, Row, plain, remark_sentences, unfolded_rows
from shaff.show.text import (
    MAX_PARTS,
    headings,
    local_footer,
    local_tables,
    pairs_table,
    rest_text,
    selection_table,
)

# A narrow terminal shows no Sobol indices and shorter bars, one narrower yet no directions; a file
# or pipe is as wide as need be.
NARROW, NARROWER, WIDE_BAR, NARROW_BAR = 120, 100, 28, 20
# Letters of a name that stay on one line.
_NAME = 20
# Remarks stand at the end of their lines where there is room, else below the table.
WITH_REMARKS = 150
_FILE_WIDTH = 160
_LEAST_WIDTH = {"first_order": NARROW, "total": NARROW, "direction": NARROWER, "brier": NARROWER,
                "brier_error": NARROW}  # fmt: skip
MAX_INPUTS, MAX_PAIRS, MAX_ROWS, NARROW_PARTS = 50, 12, 10, 4
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
    """Print title, table and what the effects rest on."""
    console = console or _console()
    # Lines of text wrap on a terminal only, so that files and pipes get them whole.
    whole = not console.is_terminal
    console.print(Text(sentences.title(result), style="bold"), soft_wrap=whole)
    _print_sentences(list(filter(None, [sentences.structure(result)])), console)
    console.print()
    lines = unfolded_rows(result, MAX_INPUTS)
    console.print(_table(result, lines, console))
    if console.width < WITH_REMARKS:
        _print_sentences(remark_sentences(lines), console)
    if len(result.names) > MAX_INPUTS:
        console.print(Text(rest_text(result, MAX_INPUTS), style="dim"))
    console.print()
    console.print(Text(plain(sentences.headline(result)), style="bold"), soft_wrap=whole)
    _print_sentences(sentences.footer(result), console)
    if result.interactions is not None:
        _print_interactions(result.interactions, console)


def _print_interactions(found: Interactions, console: Console) -> None:
    """The strongest pairs, and how to read them."""
    console.print()
    console.print(Text("Strongest interactions", style="bold"))
    header, lines = pairs_table(found, MAX_PAIRS)
    table = Table(box=None, pad_edge=False)
    for name in header:
        is_number = name not in ("inputs", "95 % interval")
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for line in lines:
        table.add_row(*map(Text, line))
    console.print(table)
    _print_sentences(sentences.interactions_footer(found), console)


def print_local(local: LocalEffects, console: Console | None = None) -> None:
    """Print the largest effects on the predictions of a few rows."""
    console = console or _console()
    console.print()
    console.print(Text("Single rows", style="bold"), soft_wrap=not console.is_terminal)
    n_inputs = MAX_PARTS if console.width >= NARROW else NARROW_PARTS
    for said, header, cells in local_tables(local, MAX_ROWS, n_inputs):
        table = Table(box=None, pad_edge=False)
        for k, name in enumerate(header):
            table.add_column(Text(name), justify="right", overflow="fold", no_wrap=k < 2)
        for line in cells:
            table.add_row(*map(Text, line))
        console.print(table)
        _print_sentences([said], console)
    _print_sentences(local_footer(local, MAX_ROWS), console)


def print_selection(found: Selection, console: Console | None = None) -> None:
    """Print what is kept, why, and what could stand in for it."""
    console = console or _console()
    console.print(Text(found.sentence, style="bold"), soft_wrap=not console.is_terminal)
    kept = [int(j) for j in found.order if found.kept[j]]
    if kept:
        console.print()
        header, *lines = selection_table(found, kept)
        table = Table(box=None, pad_edge=False)
        for k, name in enumerate(header):
            is_text = k in (0, len(header) - 1)
            table.add_column(name, justify="left" if is_text else "right", overflow="fold")
        for line in lines:
            table.add_row(*map(Text, line))
        console.print(table)
    _print_sentences([f"Note: {note}" for note in found.notes], console)


def print_saved(paths: list[str], console: Console | None = None) -> None:
    """Print where the files are."""
    console = console or _console()
    if paths:
        console.print()
        console.print(Text(f"Saved {enumerated(paths)}"), soft_wrap=True)


class _Output(Console):
    """A console that goes on when nobody reads it any more."""

    def on_broken_pipe(self) -> None:
        """Write nowhere from now on; files are still to be written."""
        hang_up()

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; with older versions of rich the error arrives here."""
        try:
            super().print(*objects, **options)
        except BrokenPipeError:
            hang_up()


def _console() -> Console:
    console = _Output(highlight=False)
    return console if console.is_terminal else _Output(highlight=False, width=_FILE_WIDTH)


def _table(result: EffectsResult, lines: list[Row], console: Console) -> Table:
    columns = {
        name: heading
        for name, heading in headings(result).items()
        if console.width >= _LEAST_WIDTH.get(name, 0)
    }
    table = Table(box=None, pad_edge=False)
    longest = max((len(row.indented) for row in lines), default=0)
    table.add_column("input", overflow="fold", min_width=min(longest, _NAME))
    for heading in columns.values():
        table.add_column(heading, justify="right", no_wrap=True)
    has_errors = result.standard_errors is not None
    table.add_column("95 % interval" if has_errors else "", no_wrap=True)
    with_remarks = console.width >= WITH_REMARKS and any(row.remark for row in lines)
    if with_remarks:
        table.add_column("", no_wrap=True)
    longest_bar = max((row.high for row in lines if np.isfinite(row.high)), default=0.0)
    draw = _Bars(console, longest_bar, has_errors)
    for row in lines:
        # Text, not markup: a column may be called "[b]".
        name = Text(row.indented, style="" if row.is_significant else "dim")
        end = [Text(row.remark, style="dim")] * with_remarks
        table.add_row(name, *(Text(getattr(row, c)) for c in columns), draw(row), *end)
    return table


class _Bars:
    """Draws bars of one scale, with their intervals if there are errors."""

    def __init__(self, console: Console, top: float, has_errors: bool) -> None:
        is_unicode = console.encoding.lower().replace("-", "").startswith("utf")
        self.glyphs = _DRAWN if is_unicode else _ASCII
        self.width = NARROW_BAR if console.width < NARROW else WIDE_BAR
        self.top = max(top, float(np.finfo(float).tiny))
        self.has_errors = has_errors

    def __call__(self, row: Row) -> Text:
        if row.is_screened:
            return Text("" if row.interval == NONE else row.interval)
        colour = _BLUE if row.is_significant else _PALE
        low, effect, high = map(self._cells, (row.low, row.estimate, row.high))
        if not self.has_errors:
            return Text(self.glyphs.bar * effect, style=colour)
        return _with_interval(effect, low, high, self.glyphs, colour)

    def _cells(self, end: float) -> int:
        """How many cells a number takes; one that is not known or beyond all takes none or all."""
        return round(self.width * min(end / self.top, 1.0)) if end == end else 0


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


def _print_sentences(lines: list[str], console: Console) -> None:
    for line in lines:
        text = Text(line, style="dim" if line.startswith("...") else "")
        text.highlight_words(["Note:"], style="yellow")
        console.print(text, soft_wrap=not console.is_terminal)
