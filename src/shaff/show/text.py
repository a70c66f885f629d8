"""Results as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shaff._util.words import counted
from shaff.results.base import Result
from shaff.results.change import Change
from shaff.results.comparison import Comparison, Units
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.many import ManyEffects
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.results.selection import Selection
from shaff.show import sentences
from shaff.show.differences import (
    differences_footer,
    differences_table,
    differences_title,
    known_units,
)
from shaff.show.rows import (
    FEWEST_DIGITS,
    NONE,
    Row,
    amount_text,
    effect_digits,
    error_digits,
    known_columns,
    number_text,
    p_value_text,
    pair_rows,
    quantity_digits,
    quantity_text,
    share_text,
    unfolded_rows,
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
    "brier": "Brier",
    "brier_error": "error",
    "share": "share",
}
PAIR_HEADINGS = {"kind": "kind", "interaction": "interaction", "error": "error",
                 "p_value": "p (Holm)", "interval": "95 % interval"}  # fmt: skip
BAR = 20
# What the mechanism is called.
ACTING = "how the inputs act"
# Inputs that have a column in the table of single rows.
MAX_PARTS = 6


def summary(result: Result, limit: int, **options: Any) -> str:
    """Return the summary of a result of any class."""
    return SUMMARIES[type(result)](result, limit, **options)


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
    columns, scale = headings(result), max(largest_bar(result), _TINY)
    cells = [
        [row.indented, *(getattr(row, name) for name in columns), _end(row, scale)]
        for row in unfolded_rows(result, max_inputs)
    ]
    lines = aligned([["input", *columns.values(), ""], *cells])
    rest = [rest_text(result, max_inputs)] * (len(result.names) > max_inputs)
    top = filter(None, (sentences.title(result), sentences.structure(result)))
    return "\n".join([*top, "", *lines, *rest, "", *sentences.footer(result)])


def largest_bar(result: EffectsResult) -> float:
    """Return the largest effect of an input, or of a layer or group of inputs."""
    shown = result.upper_level() if result.parts else result
    return float(shown.effects.max(initial=0.0))


_TINY = float(np.finfo(float).tiny)


def _end(row: Row, scale: float) -> str:
    """A bar and a remark, or how large the effect of a screened input may be."""
    if row.is_screened:
        return "" if row.interval == NONE else row.interval
    return "  ".join(filter(None, ("#" * round(BAR * row.bar / scale), row.remark)))


def rest_text(result: EffectsResult, max_inputs: int) -> str:
    """Return what the inputs past the first ``max_inputs`` have together."""
    rest = result.effects[result.unfolded[max_inputs:]]
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


def comparison_summary(
    found: Comparison, max_inputs: int, level: float = 0.95, units: Units | None = None
) -> str:
    """Return the tables of `Comparison.summary`."""
    lines: list[str] = []
    for one in known_units(found, units):
        header, cells = differences_table(found, one, max_inputs, level)
        lines += [differences_title(found, one), "", *aligned([header, *cells]), ""]
    lines += differences_footer(found, units)
    return "\n".join([*lines, *(f"Note: {note}" for note in found.notes)])


def change_summary(found: Change, max_inputs: int) -> str:
    """Return the table of `Change.summary`."""
    title, *rest = change_sentences(found)
    lines = aligned(change_table(found, max_inputs))
    return "\n".join([title, "", *lines, "", *rest])


def change_table(found: Change, max_inputs: int) -> list[list[str]]:
    """Return header and cells: a line for each input, and one for how the inputs act."""
    digits = error_digits(found.standard_errors, 0)
    low, high = found.confidence_interval()
    adjusted = adjust_p_values(found.p_values)
    cells = [
        [
            (*found.names, ACTING)[j],
            number_text(found.estimates[j], digits),
            number_text(found.standard_errors[j], digits),
            p_value_text(adjusted[j]),
            f"{number_text(low[j], digits)} to {number_text(high[j], digits)}",
        ]
        for j in (*found.order[:max_inputs], len(found.names))
    ]
    return [["cause", "change", "error", "p (Holm)", "95 % interval"], *cells]


def change_sentences(found: Change) -> list[str]:
    """Return what moved by how much, what all inputs did together, and the notes."""
    digits = error_digits(found.standard_errors, 0)
    means = [
        f"{quantity_text(mean)} ({label}, {counted(n, 'row')})"
        for mean, label, n in zip(found.means, found.labels, found.n_rows, strict=True)
    ]
    title = f"Mean of {found.target_name}: {', '.join(means)}, change {quantity_text(found.total)}"
    ends = (number_text(x, digits) for x in (found.inputs_part, *found.inputs_interval()))
    together = "All inputs together: {}, 95 % interval {} to {}.".format(*ends)
    return [title, together, *(f"Note: {n}" for n in found.notes)]


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


def selection_summary(found: Selection, max_inputs: int) -> str:
    """Return the lines of `Selection.summary`."""
    kept = [j for j in found.order if found.kept[j]]
    lines = aligned(selection_table(found, kept[:max_inputs])) if kept else []
    lines += [f"... and {len(kept) - max_inputs} more"] * (len(kept) > max_inputs)
    return "\n".join([found.sentence, *[""] * bool(kept), *lines,
                      *(f"Note: {note}" for note in found.notes)])  # fmt: skip


def selection_table(found: Selection, inputs: Sequence[int]) -> list[list[str]]:
    """Return header and cells of some inputs: effect, adjusted p-value, what could stand in."""
    adjusted, stand_ins = found.p_adjusted, found.stand_ins
    cells = [
        [
            found.names[j],
            number_text(float(found.effects[j]), FEWEST_DIGITS),
            *([] if adjusted is None else [p_value_text(float(adjusted[j]))]),
            ", ".join(stand_ins.get(found.names[j], ())),
        ]
        for j in inputs
    ]
    ends = ["stand-ins" if stand_ins else ""]
    return [["input kept", "effect", *[f"p ({found.rule.split(',')[0]})"] * (adjusted is not None),
             *ends], *cells]  # fmt: skip


def marginal_summary(found: ProportionalMarginalEffects, max_inputs: int) -> str:
    """Return the table of `ProportionalMarginalEffects.summary`."""
    title, *rest = marginal_sentences(found)
    more = len(found.names) - max_inputs
    hidden = [f"... and {counted(more, 'more input')}"] * (more > 0)
    return "\n".join([title, "", *aligned(marginal_table(found, max_inputs)), *hidden, "", *rest])


def marginal_table(found: ProportionalMarginalEffects, max_inputs: int) -> list[list[str]]:
    """Return header and cells of the first inputs."""
    columns, errors = found._columns(), found.standard_errors
    digits = FEWEST_DIGITS if errors is None else error_digits(errors)
    header = ["input", "effect", *["error"] * (errors is not None),
              *["Shapley"] * (found.shapley is not None), "share",
              *["95 % interval"] * (errors is not None)]  # fmt: skip
    cells = [_marginal_cells(columns, int(j), digits) for j in found.order[:max_inputs]]
    return [
        header,
        *([found.names[j], *row] for j, row in zip(found.order, cells, strict=False)),
    ]


def marginal_sentences(found: ProportionalMarginalEffects) -> list[str]:
    """Return the title, how to read the table, what it rests on, and the notes."""
    return [
        f"Proportional marginal effects on {found.target or 'y'}",
        "0: other inputs carry all of its information. All inputs explain "
        f"{found.explained_variance:z.3f}.",
        f"{counted(found.n_rows, 'row')}, {counted(found.n_subsets, 'subset')}.",
        *(f"Note: {note}" for note in found.notes),
    ]


def _marginal_cells(columns: dict[str, Any], j: int, digits: int) -> list[str]:
    numbers = [number_text(columns[name][j], digits) for name in ("standard_error", "shapley")
               if name in columns]  # fmt: skip
    ends = [number_text(columns[name][j], digits) for name in ("low", "high") if name in columns]
    share = share_text(float(columns["share"][j]))
    effect = amount_text(columns["effect"][j], digits)
    return [effect, *numbers, share, *[" to ".join(ends)] * bool(ends)]


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
    Change: change_summary,
    ManyEffects: many_summary,
    Selection: selection_summary,
    ProportionalMarginalEffects: marginal_summary,
}
