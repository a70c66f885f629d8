"""Results as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shaff._util.words import counted
from shaff.results.base import Result
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.many import ManyEffects
from shaff.show import sentences
from shaff.show.rows import (
    FEWEST_DIGITS,
    NONE,
    Row,
    effect_digits,
    error_digits,
    known_columns,
    number_text,
    p_value_text,
    pair_rows,
    quantity_digits,
    quantity_text,
    rows,
)
from shaff.uncertainty.inference import adjust_p_values

# Fields of a `Row` and their headings.
HEADINGS = {
    "effect": "effect",
    "error": "error",
    "first_order": "first-order",
    "total": "total",
    "p_value": "p (Holm)",
    "direction": "direction",
    "share": "share",
}
PAIR_HEADINGS = {"kind": "kind", "interaction": "interaction", "error": "error",
                 "p_value": "p (Holm)", "interval": "95 % interval"}  # fmt: skip
BAR = 20
# Inputs that have a column in the table of single rows.
MAX_PARTS = 6


def summary(result: Result, limit: int) -> str:
    """Return the summary of a result of any class."""
    return SUMMARIES[type(result)](result, limit)


def headings(result: EffectsResult) -> dict[str, str]:
    """Return the fields of a `Row` that the table of a result has, with their headings.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.text import headings
    >>> headings(example())
    {'effect': 'effect', 'share': 'share'}
    """
    known = known_columns(result)
    return {name: heading for name, heading in HEADINGS.items() if known.get(name, True)}


def effects_summary(result: EffectsResult, max_inputs: int) -> str:
    """Return the table of `EffectsResult.summary`."""
    columns, scale = headings(result), max(float(result.effects.max(initial=0.0)), _TINY)
    cells = [
        [row.name, *(getattr(row, name) for name in columns), _end(row, scale)]
        for row in rows(result)[:max_inputs]
    ]
    lines = aligned([["input", *columns.values(), ""], *cells])
    rest = [rest_text(result, max_inputs)] * (len(result.names) > max_inputs)
    return "\n".join([sentences.title(result), "", *lines, *rest, "", *sentences.footer(result)])


_TINY = float(np.finfo(float).tiny)


def _end(row: Row, scale: float) -> str:
    """A bar and a remark, or how large the effect of a screened input may be."""
    if row.is_screened:
        return "" if row.interval == NONE else row.interval
    return "  ".join(filter(None, ("#" * round(BAR * row.bar / scale), row.remark)))


def rest_text(result: EffectsResult, max_inputs: int) -> str:
    """Return what the inputs past the first ``max_inputs`` have together."""
    rest = result.effects[result.order[max_inputs:]]
    together = number_text(float(rest.sum()), effect_digits(result))
    return f"... and {counted(len(rest), 'more input')} with {together} together"


def interactions_summary(found: Interactions, max_pairs: int) -> str:
    """Return the table of `Interactions.summary`."""
    header, cells = pairs_table(found, max_pairs)
    lines = [f"Interactions on {found.target or 'y'}", "", *aligned([header, *cells])]
    if max_pairs < len(found.pair_values):
        lines.append(f"... and {len(found.pair_values) - max_pairs} weaker pairs")
    return "\n".join([*lines, "", *sentences.interactions_footer(found)])


def pairs_table(found: Interactions, max_pairs: int) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells of the strongest pairs."""
    names = [name for name in PAIR_HEADINGS
             if name in ("interaction", "kind") or found.pair_errors is not None]  # fmt: skip
    cells = [
        [f"{row.first} and {row.second}", *(getattr(row, name) for name in names)]
        for row in pair_rows(found)[:max_pairs]
    ]
    return ["inputs", *(PAIR_HEADINGS[name] for name in names)], cells


def comparison_summary(found: Comparison, max_inputs: int) -> str:
    """Return the tables of `Comparison.summary`."""
    one, other = found.labels
    title = f"Shares of the variance, {other} minus {one}"
    lines = [title, "", *_differences(found, max_inputs, FEWEST_DIGITS)]
    if found.outcome_variances is not None:
        first, second = (quantity_text(v) for v in found.outcome_variances)
        title = f"In units of the variance of the outcome ({one}: {first}, {other}: {second})"
        lines += ["", title, "", *_differences(found.in_variance(), max_inputs, 0)]
    return "\n".join([*lines, *[""] * bool(found.notes), *(f"Note: {n}" for n in found.notes)])


def _differences(found: Comparison, max_inputs: int, fewest: int) -> list[str]:
    """The lines of one table, with digits by the errors."""
    digits = error_digits(found.standard_errors, fewest)
    low, high = found.confidence_interval()
    adjusted = adjust_p_values(found.p_values)
    numbers = [*found.effects, found.differences, found.standard_errors]
    cells = [
        [
            found.names[j],
            *(number_text(array[j], digits) for array in numbers),
            p_value_text(adjusted[j]),
            f"{number_text(low[j], digits)} to {number_text(high[j], digits)}",
        ]
        for j in found.order[:max_inputs]
    ]
    header = ["input", *found.labels, "difference", "error", "p (Holm)", "95 % interval"]
    return aligned([header, *cells])


def local_summary(local: LocalEffects, max_rows: int) -> str:
    """Return the tables of `LocalEffects.summary`."""
    lines = [f"Effects on {predictions_words(local.target or 'y')}"]
    for said, header, cells in local_tables(local, max_rows):
        lines += ["", *aligned([[*row, ""] for row in (header, *cells)]), said]
    return "\n".join([*lines, *local_footer(local, max_rows)])


def predictions_words(target: str) -> str:
    """Return the predictions of an outcome, or of a model, in words.

    Examples
    --------
    >>> from shaff.show.text import predictions_words
    >>> predictions_words("price"), predictions_words("the predictions of Ridge")
    ('the predictions of price', 'the predictions of Ridge')
    """
    return target if target.startswith("the predictions of ") else f"the predictions of {target}"


def local_tables(
    local: LocalEffects, max_rows: int, max_inputs: int = MAX_PARTS
) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return a table for each output: a sentence, the header and a line per row.

    The inputs with the largest values in these rows have a column each, all others share one.
    """
    first = local.take(range(min(local.n_rows, max_rows)))
    parts = [first] if first.outputs is None else [first.of(name) for name in first.outputs]
    return [_local_table(one, max_inputs) for one in parts]


def _local_table(local: LocalEffects, max_inputs: int) -> tuple[str, list[str], list[list[str]]]:
    digits = quantity_digits(float(np.nanmax(np.abs(local.values), initial=0.0)))
    # Rows without a prediction have no values.
    order = np.argsort(-np.abs(np.nan_to_num(local.values)).sum(axis=0), kind="stable")
    shown, rest = order[:max_inputs], order[max_inputs:]
    header = ["row", "predicted", *(local.names[j] for j in shown), *["others"] * (len(rest) > 0)]
    cells = [
        [str(int(place)), number_text(prediction, digits),
         *(_signed(v, digits) for v in values[shown]),
         *[_signed(values[rest].sum(), digits)] * (len(rest) > 0)]
        for place, prediction, values in zip(
            local.rows, local.predictions, local.values, strict=True)
    ]  # fmt: skip
    what = "" if local.output is None else f" ({local.output})"
    mean = number_text(float(local.base), digits)
    return f"Predicted{what} = {mean} (the mean) + what each input adds.", header, cells


def _signed(value: float, digits: int) -> str:
    return NONE if np.isnan(value) else f"{value:+z.{digits}f}"


def local_footer(local: LocalEffects, max_rows: int) -> list[str]:
    """Return what stands below the tables: rows that are not shown, and the notes."""
    more, lost = local.n_rows - max_rows, bool(np.isnan(local.values).any())
    lines = [f"... and {counted(more, 'more row')}"] * (more > 0)
    lines += [f"{NONE}: there is no prediction by models that have not seen the row."] * lost
    return [*lines, *(f"Note: {note}" for note in local.notes)]


def many_summary(many: ManyEffects, max_results: int) -> str:
    """Return the lines of `ManyEffects.summary`."""
    lines = [f"{counted(len(many.results), 'result')} by {' and '.join(many.dimensions)}"]
    for key, result in list(many.results.items())[:max_results]:
        first = [f"{result.names[j]} {result.effects[j]:.3f}" for j in result.order[:3]]
        explained = f"{result.explained_variance:.3f} ({', '.join(first)})"
        lines.append(f"  {many._label(key)}: {explained}")
    more = len(many.results) - max_results
    lines += [f"  and {more} more"] * (more > 0)
    failures = list(many.failures.items())[:max_results]
    lines += [f"  {many._label(key)} failed: {reason}" for key, reason in failures]
    if many.is_mixed:
        lines.append(
            "Note: some of these are shares of the outcome, others of what a model predicts, and "
            'do not compare: explains="outcome" or "predictions" gives all of them one meaning.'
        )
    return "\n".join(lines)


def aligned(table: list[list[str]]) -> list[str]:
    """Return the lines of a table: first and last column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *middle, last in table:
        cells = [cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells, last]).rstrip())
    return lines


SUMMARIES: dict[type[Result], Callable[[Any, int], str]] = {
    EffectsResult: effects_summary,
    LocalEffects: local_summary,
    Interactions: interactions_summary,
    Comparison: comparison_summary,
    ManyEffects: many_summary,
}
