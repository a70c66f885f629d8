"""Differences of two results in a report: a section of the second one's, or a page of its own."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from shaff._util.words import counted, enumerated, shortened
from shaff.results.comparison import Comparison, Units
from shaff.show.differences import (
    differences_footer,
    differences_table,
    differences_title,
    known_units,
)
from shaff.show.report.sections import BARS, LEVEL, NAME, Section
from shaff.show.rows import ALPHA, typeset


def with_comparison(sections: tuple[Section, ...], found: Comparison | None) -> tuple[Section, ...]:
    """Return the sections of a page, that of a comparison after the effects.

    Examples
    --------
    >>> from shaff.show.report.comparison import with_comparison
    >>> from shaff.show.report.sections import SECTIONS
    >>> with_comparison(SECTIONS, None) == SECTIONS
    True
    """
    if found is None:
        return sections
    place = 1 + next(k for k, section in enumerate(sections) if section.id == "effects")
    here = Section("comparison", "What differs", partial(_section, found))
    return (*sections[:place], here, *sections[place:])


def comparison_values(found: Comparison) -> dict[str, Any]:
    """Return the values of the template."""
    return {
        "parts": [_part(found, units) for units in known_units(found, None)],
        "footer": differences_footer(found),
        "level": typeset(f"{100 * LEVEL:g} %"),
        "n_left": max(len(found.names) - BARS, 0),
        "notes": found.notes,
    }


def comparison_header(found: Comparison) -> dict[str, Any]:
    """Return the head of a page of its own."""
    one, other = found.labels
    return {
        "title": f"{other} minus {one}",
        "headline": headline(found),
        "explained": differences_footer(found)[0],
        "prediction": "",
        "meter": None,
        "facts": [
            (str(len(found.names)), "inputs"),
            (str(int((found.p_adjusted < ALPHA).sum())), "differ with p < 0.05, adjusted"),
        ],
    }


def headline(found: Comparison) -> str:
    """Return which effects differ, in a sentence.

    Examples
    --------
    >>> from shaff.results.comparison import Comparison
    >>> from shaff.show.report.comparison import headline
    >>> headline(Comparison(("age", "bmi"), [[0.1, 0.2], [0.4, 0.2]], [[0.3, 0.0]], [0.1, 0.1]))
    'The share of age has grown; no other difference is clear.'
    """
    adjusted = found.p_adjusted
    sure = [j for j in found.order if adjusted[j] < ALPHA]
    words = []
    for verb, sign in (("grown", 1), ("shrunk", -1)):
        names = [shortened(found.names[j], NAME) for j in sure if sign * found.differences[j] > 0]
        if names:
            have = "s" * (len(names) > 1), "have" if len(names) > 1 else "has"
            words.append(f"the share{have[0]} of {enumerated(names)} {have[1]} {verb}")
    if not words:
        return f"No share of {counted(len(found.names), 'input')} is clearly different."
    said = ", ".join(words)
    rest = "" if len(sure) == len(found.names) else "; no other difference is clear"
    return f"{said[0].upper()}{said[1:]}{rest}."


def _section(found: Comparison, *_: Any) -> dict[str, Any]:
    return comparison_values(found)


def _part(found: Comparison, units: Units) -> dict[str, Any]:
    """The chart and the table in some units."""
    shown = found._in(units)
    chosen = shown.order[:BARS]
    low, high = shown.confidence_interval(LEVEL)
    scale = _Scale(min(float(low[chosen].min()), 0.0), max(float(high[chosen].max()), 0.0))
    header, cells = differences_table(found, units, BARS, LEVEL)
    return {
        "title": differences_title(found, units),
        "zero": scale.place(0.0),
        "bars": [
            _bar(scale, line, float(shown.differences[j]), float(low[j]), float(high[j]))
            for j, line in zip(chosen, cells, strict=True)
        ],
        "header": header,
        "rows": [[line[0], *map(typeset, line[1:])] for line in cells],
    }


class _Scale(NamedTuple):
    """The ends of a chart."""

    left: float
    right: float

    def place(self, value: float) -> float:
        """Where a value is drawn, in per cent of the width."""
        return round(100 * (value - self.left) / max(self.right - self.left, 1e-12), 2)


def _bar(
    scale: _Scale, cells: list[str], difference: float, low: float, high: float
) -> dict[str, Any]:
    """One bar from 0 to the difference, with its interval and what it says in words."""
    left, right = sorted((scale.place(0.0), scale.place(difference)))
    label, value = shortened(cells[0], NAME), typeset(cells[3])
    return {
        "label": label,
        "value": value,
        "said": f"{label}: difference {value}, interval {typeset(cells[-1])}",
        "is_sure": low > 0 or high < 0,
        "left": left,
        "width": round(right - left, 2),
        "low": scale.place(low),
        "high": scale.place(high),
    }
