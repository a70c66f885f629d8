"""Differences of two results in words and numbers, for the terminal and the report."""

from __future__ import annotations

from shaff._util.words import counted
from shaff.results.comparison import UNITS, Comparison, Units
from shaff.show.rows import (
    FEWEST_DIGITS,
    error_digits,
    number_text,
    p_value_text,
    quantity_text,
)

MEASURES: dict[Units, str] = {"share": "in shares", "variance": "in units of the variance"}


def known_units(found: Comparison, units: Units | None) -> tuple[Units, ...]:
    """Return the units of the tables of a comparison; None means all that are known."""
    if units is not None:
        return (units,)
    return UNITS if found.outcome_variances is not None else UNITS[:1]


def differences_title(found: Comparison, units: Units) -> str:
    """Return what stands above a table of differences."""
    one, other = found.labels
    if units == "share" or found.outcome_variances is None:
        return f"Shares of the {found.measure}, {other} minus {one}"
    first, second = (quantity_text(v) for v in found.outcome_variances)
    return f"In units of the variance of the outcome ({one}: {first}, {other}: {second})"


def differences_table(
    found: Comparison, units: Units, max_inputs: int, level: float = 0.95
) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells of one table, with digits by the errors.

    Examples
    --------
    >>> from shaff.results.comparison import Comparison
    >>> from shaff.show.differences import differences_table
    >>> found = Comparison(("age",), [[0.1], [0.4]], [[0.3]], [0.1])
    >>> differences_table(found, "share", 20)[1]
    [['age', '0.100', '0.400', '0.300', '0.100', '0.003', '0.104 to 0.496']]
    """
    shown = found._in(units)
    digits = error_digits(shown.standard_errors, FEWEST_DIGITS if units == "share" else 0)
    low, high = shown.confidence_interval(level)
    adjusted = shown.p_adjusted
    numbers = [*shown.effects, shown.differences, shown.standard_errors]
    cells = [
        [
            shown.names[j],
            *(number_text(array[j], digits) for array in numbers),
            p_value_text(adjusted[j]),
            f"{number_text(low[j], digits)} to {number_text(high[j], digits)}",
        ]
        for j in shown.order[:max_inputs]
    ]
    interval = f"{100 * level:g} % interval"
    return ["input", *shown.labels, "difference", "error", "p (Holm)", interval], cells


def differences_footer(found: Comparison, units: Units | None = None) -> list[str]:
    """Return the test of all inputs at once, and what the errors rest on.

    Examples
    --------
    >>> from shaff.results.comparison import Comparison
    >>> from shaff.show.differences import differences_footer
    >>> found = Comparison(("age",), [[0.1], [0.4]], [[0.3]], [0.1], covariance=[[0.01]])
    >>> differences_footer(found)[0]
    'Test that no effect differs: p = 0.003 in shares.'
    """
    tested = [(one, found._in(one).joint_p_value) for one in known_units(found, units)]
    words = [f"{_p_words(p)} {MEASURES[one]}" for one, p in tested if p is not None]
    joint = [f"Test that no effect differs: {', '.join(words)}."] if words else []
    return [*joint, pairing_sentence(found)]


def pairing_sentence(found: Comparison) -> str:
    """Return whether the errors are paired."""
    if found.n_shared:
        rows = counted(found.n_shared, "row")
        return f"The errors of the differences are paired by the {rows} that both rest on."
    return "The two results are taken as independent."


def _p_words(p_value: float) -> str:
    text = p_value_text(p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
