"""Results as Markdown, for issues, pull requests, wikis and language models.

A result becomes a `Passage`: title, headline, tables and sentences, all plain text taken from
where the terminal takes it. Only `rendered` knows Markdown, so that names of columns, which may
hold anything, are escaped in one place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shaff._util.words import counted
from shaff.results.base import Result
from shaff.results.change import Change
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.many import ManyEffects
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.results.selection import Selection
from shaff.show import sentences
from shaff.show.differences import differences_footer, differences_table, differences_title
from shaff.show.differences import known_units as units_of
from shaff.show.rows import plain, unfolded_rows
from shaff.show.text import (
    change_sentences,
    change_table,
    headings,
    local_footer,
    local_tables,
    marginal_sentences,
    marginal_table,
    pairs_table,
    predictions_words,
    rest_text,
    selection_table,
)

Table = Sequence[Sequence[str]]
# Largest effects that stand in the line of one of many results.
_LARGEST = 3
# What Markdown or HTML would read as its own; underscores inside of words are left alone.
_SPECIAL = re.compile(
    r"[\\|`*\[\]$~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
)
# A heading, a quotation or a list, at the beginning of a line.
_START = re.compile(r"^(?:(?=[#+>-])|(\d+)(?=[.)]\s))")
_CODE = re.compile(r"(`[^`]*`)")


@dataclass(frozen=True)
class Passage:
    """A result in words and tables, not yet Markdown.

    Parameters
    ----------
    title : str
    tables : sequence of (caption, table)
        A table is a list of lines, its header first; its first column holds names.
    lines : sequence of str
        Sentences below the tables, one item each.
    headline : str
        The sentence to remember; empty if there is none.
    """

    title: str
    tables: Sequence[tuple[str, Table]]
    lines: Sequence[str] = ()
    headline: str = ""


def markdown(result: Result, max_lines: int) -> str:
    """Return a result of any class as Markdown.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.markdown import markdown
    >>> print(markdown(example(target="price"), 1))  # doctest: +ELLIPSIS
    # Shapley effects on the outcome price
    <BLANKLINE>
    **Two inputs carry all of what can be explained of price: bmi and age.**
    <BLANKLINE>
    | input | effect | share |
    |:---|---:|---:|
    | bmi | 0.300 | 75 % |
    <BLANKLINE>
    - ... and 1 more input with 0.100 together
    - The inputs explain 0.400 of the variance of price on held-out rows; 0.600 remains.
    - 442 rows, 4 subsets; a random forest, design exhaustive, solver least squares; shaff ...
    <BLANKLINE>
    """
    first, *others = SECTIONS[type(result)](result, max_lines)
    parts = [rendered(first, "#"), *(rendered(section, "##") for section in others)]
    return "\n\n".join(parts) + "\n"


def rendered(section: Passage, level: str) -> str:
    """Return the Markdown of a section under a heading of some level."""
    blocks = [f"{level} {escaped(section.title)}"]
    blocks += [f"**{escaped(section.headline)}**"] * bool(section.headline)
    for caption, table in section.tables:
        blocks += [sentence(caption)] * bool(caption) + [pipe_table(table)]
    blocks += ["\n".join(f"- {sentence(line)}" for line in section.lines)] * bool(section.lines)
    return "\n\n".join(blocks)


def pipe_table(table: Table) -> str:
    r"""Return a table of Markdown: names to the left, everything else to the right.

    Examples
    --------
    >>> from shaff.show.markdown import pipe_table
    >>> print(pipe_table([["input", "effect"], ["a|b", "0.1"]]))
    | input | effect |
    |:---|---:|
    | a\|b | 0.1 |
    """
    header, *lines = (f"| {' | '.join(map(escaped, line))} |" for line in table)
    rule = "|:---|" + "---:|" * (len(table[0]) - 1)
    return "\n".join([header, rule, *lines])


def escaped(text: str) -> str:
    r"""Return text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> from shaff.show.markdown import escaped
    >>> print(escaped("blood_pressure <b> *x*"))
    blood_pressure \<b> \*x\*
    """
    return _guarded(_one_line(text))


def sentence(text: str) -> str:
    r"""Return a sentence in which code between backticks remains code.

    Examples
    --------
    >>> from shaff.show.markdown import sentence
    >>> print(sentence("- Leave out `a_` and *b*."))
    \- Leave out `a_` and \*b\*.
    """
    parts = _CODE.split(_one_line(text))
    whole = "".join(part if k % 2 else _guarded(part) for k, part in enumerate(parts))
    return _START.sub(lambda found: f"{found[1] or ''}\\", whole)


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def _guarded(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", text)


def effects_sections(result: EffectsResult, max_lines: int) -> list[Passage]:
    """Return the effects, and the interactions if they are known."""
    columns = headings(result)
    shown = unfolded_rows(result, max_lines)
    has_errors = result.standard_errors is not None
    remarks = any(row.remark for row in shown)
    header = ["input", *columns.values(), *["95 % interval"] * has_errors, *["remark"] * remarks]
    cells = [
        ["– " * row.depth + row.name, *(getattr(row, name) for name in columns),
         *[row.interval] * has_errors, *[row.remark] * remarks]
        for row in shown
    ]  # fmt: skip
    rest = [rest_text(result, max_lines)] * (len(result.names) > max_lines)
    lines = [*rest, *filter(None, [sentences.structure(result)]), *sentences.footer(result)]
    lines += [f"Made by `{result.call}`."] * (result.call is not None and "`" not in result.call)
    section = Passage(
        sentences.title(result), [("", [header, *cells])], lines, sentences.headline(result)
    )
    found = result.interactions
    return [section, *(() if found is None else interactions_sections(found, max_lines))]


def interactions_sections(found: Interactions, max_lines: int) -> list[Passage]:
    """Return the strongest pairs."""
    header, cells = pairs_table(found, max_lines)
    more = len(found.pair_values) - max_lines
    lines = [f"... and {counted(more, 'weaker pair')}"] * (more > 0)
    lines += sentences.interactions_footer(found)
    return [Passage(f"Interactions on {found.target or 'y'}", [("", [header, *cells])], lines)]


def comparison_sections(found: Comparison, max_lines: int) -> list[Passage]:
    """Return the differences in all units that are known."""
    tables = []
    for units in units_of(found, None):
        header, cells = differences_table(found, units, max_lines)
        tables.append((differences_title(found, units), [header, *cells]))
    one, other = found.labels
    lines = [*differences_footer(found), *(f"Note: {note}" for note in found.notes)]
    return [Passage(f"Comparison of {one} and {other}", tables, lines)]


def change_sections(found: Change, max_lines: int) -> list[Passage]:
    """Return what moved the mean."""
    title, *lines = change_sentences(found)
    return [Passage(title, [("", change_table(found, max_lines))], lines)]


def local_sections(local: LocalEffects, max_lines: int) -> list[Passage]:
    """Return the effects on single predictions, a table for each output."""
    tables = [(said, [header, *cells]) for said, header, cells in local_tables(local, max_lines)]
    title = f"Effects on {predictions_words(local.target or 'y')}"
    return [Passage(title, tables, local_footer(local, max_lines))]


def many_sections(many: ManyEffects, max_lines: int) -> list[Passage]:
    """Return a line for each result with its largest effects."""
    cells = [
        [many._label(key), f"{one.explained_variance:.3f}",
         ", ".join(f"{one.names[j]} {one.effects[j]:.3f}" for j in one.order[:_LARGEST])]
        for key, one in list(many.results.items())[:max_lines]
    ]  # fmt: skip
    header = [" and ".join(many.dimensions), "explained variance", "largest effects"]
    more = len(many.results) - max_lines
    lines = [f"... and {counted(more, 'more result')}"] * (more > 0)
    lines += [f"{many._label(key)} failed: {why}" for key, why in many.failures.items()]
    title = f"{counted(len(many.results), 'result')} by {' and '.join(many.dimensions)}"
    return [Passage(title, [("", [header, *cells])], lines)]


def selection_sections(found: Selection, max_lines: int) -> list[Passage]:
    """Return what is kept."""
    kept = [int(j) for j in found.order if found.kept[j]]
    tables = [("", selection_table(found, kept[:max_lines]))] * bool(kept)
    lines = [f"... and {len(kept) - max_lines} more"] * (len(kept) > max_lines)
    lines += [f"Note: {note}" for note in found.notes]
    return [Passage("Selection of inputs", tables, lines, found.sentence)]


def marginal_sections(found: ProportionalMarginalEffects, max_lines: int) -> list[Passage]:
    """Return the proportional marginal effects."""
    title, *lines = marginal_sentences(found)
    more = len(found.names) - max_lines
    hidden = [f"... and {counted(more, 'more input')}"] * (more > 0)
    return [Passage(title, [("", marginal_table(found, max_lines))], [*hidden, *lines])]


SECTIONS: dict[type[Result], Callable[[Any, int], list[Passage]]] = {
    EffectsResult: effects_sections,
    LocalEffects: local_sections,
    Interactions: interactions_sections,
    Comparison: comparison_sections,
    Change: change_sections,
    ManyEffects: many_sections,
    Selection: selection_sections,
    ProportionalMarginalEffects: marginal_sections,
}
