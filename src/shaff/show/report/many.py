"""What the page of many results says: a line for each, and then each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from shaff._util.words import counted, enumerated, percent, shortened
from shaff.results.effects import EffectsResult
from shaff.results.many import Key, ManyEffects
from shaff.show import sentences
from shaff.show.report.sections import BARS, NAME, table

# Inputs that the line of a result names.
_LARGEST = 3


class FilledSection(NamedTuple):
    """A section of the page: its place, its title, and values for the template of this name."""

    id: str
    title: str
    template: str
    values: dict[str, Any]


def many_header(many: ManyEffects) -> dict[str, Any]:
    """Headline and key figures."""
    n_failed = len(many.failures)
    failed = f", {counted(n_failed, 'failure')}" if n_failed else ""
    found = f"{counted(len(many.results), 'result')} by {enumerated(many.dimensions)}{failed}"
    return {
        "title": found,
        "headline": f"{found}.",
        "explained": "Effects are shares of the variance within each of them.",
        "prediction": "",
        "meter": None,
        "facts": [(str(len(many.results)), "results"), (str(n_failed), "failures")],
    }


def many_sections(many: ManyEffects) -> Iterator[FilledSection]:
    """Yield the overview, and a section for each result."""
    what = " / ".join(many.dimensions)
    lines = [_line(many, key, k) for k, key in enumerate(many.results)]
    lines += [{"id": "", "label": many._label(key), "failure": reason}
              for key, reason in many.failures.items()]  # fmt: skip
    yield FilledSection("effects", "All results", "overview", {"what": what, "lines": lines})
    for k, (key, result) in enumerate(many.results.items()):
        label = shortened(many._label(key), NAME)
        yield FilledSection(_id(k), label, "one_of_many", _values(result, label))


def _id(place: int) -> str:
    return f"result-{place}"


def _line(many: ManyEffects, key: Key, place: int) -> dict[str, Any]:
    result = many.results[key]
    largest = [shortened(result.names[j], NAME) for j in result.order[:_LARGEST]]
    return {
        "id": _id(place),
        "label": many._label(key),
        "failure": "",
        "n_rows": str(result.n_rows),
        "explained": percent(result.explained_variance),
        "largest": enumerated(largest) if result.effects.any() else "",
    }


def _values(result: EffectsResult, label: str) -> dict[str, Any]:
    shown = table(result)
    return {
        "label": label,
        "headline": sentences.headline(result),
        "explained": sentences.explained(result, 0.95),
        "lines": shown.lines[:BARS],
        "columns": shown.columns,
        "n_rest": max(len(shown.lines) - BARS, 0),
        "notes": result.notes,
    }
