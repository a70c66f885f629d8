"""Rows that depend on each other along an order: the order of the table, or that of its dates."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from shaff._util.series import autocorrelations, has_unit_root
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.data.time import by_time
from shaff.fitting.checks.residuals import scores
from shaff.fitting.facts import SerialCorrelation

# Chance of a false alarm in one order, and the correlation below which it does not matter.
# Both sides: `benchmarks.dependence`.
LEVEL, LEAST_CORRELATION = 0.002, 0.1
# Correlations that are this part of the largest are taken for as large.
NEARLY = 0.8
# The share of the variance in one wave, such as a season, below which it does not matter.
LEAST_WAVE = 0.05
# Lags that are looked at, and the rows needed for each of them; fewer rows say nothing.
MOST_LAGS, ROWS_PER_LAG, FEWEST_ROWS = 60, 10, 50
# Different values below which a column is a class, not an order.
FEW_VALUES = 10


def serial_correlation(problem: Problem, residuals: FloatArray) -> SerialCorrelation | None:
    """Return the first order along which residuals correlate: that of a date, or of the rows.

    The order of the rows is not looked at if it is that of the outcome (or of whether it has its
    commonest value), or of an input whose values are few or not evenly spaced: a table that was
    sorted by them is no series.
    """
    for column, order in _orders(problem):
        found = _along(residuals[order])
        if found is not None:
            return SerialCorrelation(column, *found)
    return None


def _orders(problem: Problem) -> list[tuple[str | None, IntpArray]]:
    names, X = problem.table.names, problem.X
    columns = [names.index(name) for name in date_columns(problem)]
    dates: list[tuple[str | None, IntpArray]] = [
        (names[j], np.argsort(X[:, j], kind="stable")) for j in columns if _has_order(X[:, j])
    ]
    sorted_by = [j for j in range(X.shape[1]) if _is_sorted(X[:, j]) and np.ptp(X[:, j]) > 0]
    even = [j for j in sorted_by if _has_order(X[:, j]) and _is_even(X[:, j])]
    if any(_is_by_outcome(y) for y in problem.y.T) or len(sorted_by) > len(even):
        return dates
    return [*dates, (names[even[0]] if even else None, np.arange(len(X)))]


def date_columns(problem: Problem) -> tuple[str, ...]:
    """Name the columns that were read as dates."""
    remarks = problem.table.remarks
    found = (r.columns for r in remarks if r.kind == "dates" or r.details.get("is_date"))
    return tuple(name for names in found for name in names if name in problem.table.names)


def _has_order(column: FloatArray) -> bool:
    """Whether a column has a value in every row, and more than a few of them."""
    few = max(len(column) / MOST_LAGS, FEW_VALUES)
    return not np.isnan(column).any() and len(np.unique(column)) >= few


def _is_sorted(column: FloatArray) -> bool:
    steps = np.diff(column)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _is_by_outcome(y: FloatArray) -> bool:
    """Whether the rows are sorted by an outcome, or all rows with its commonest value come
    together."""
    values, counts = np.unique(y, return_counts=True)
    places = np.flatnonzero(y == values[counts.argmax()])
    together = len(places) >= FEWEST_ROWS and places[-1] - places[0] == len(places) - 1
    return _is_sorted(y) or bool(together)


def _is_even(column: FloatArray) -> bool:
    """Whether the values are evenly spaced, as years or numbers of rows are."""
    steps = np.diff(np.unique(column))
    return len(steps) > 0 and bool(np.ptp(steps) <= 1e-6 * steps.max())


def _along(residuals: FloatArray) -> tuple[int, float] | None:
    """The lag of a large correlation, and that; None if all may be chance, or are small.

    Independent residuals are in random order, where each autocorrelation times the
    root of the number of rows is nearly normal; there are as many chances as lags.
    """
    known = residuals[np.isfinite(residuals)]
    n_lags = min(MOST_LAGS, len(known) // ROWS_PER_LAG)
    if len(known) < FEWEST_ROWS:
        return None
    found = autocorrelations(scores(known), n_lags)[1:]
    p_value = n_lags * ndtr(-found.max() * np.sqrt(len(known)))
    if p_value < LEVEL and found.max() > LEAST_CORRELATION:
        # The first of those that are nearly the largest: a week, not three.
        first = int(np.argmax(found > NEARLY * found.max()))
        return first + 1, float(found[first])
    return _season(scores(known))


def _season(ranked: FloatArray) -> tuple[int, float] | None:
    """The length of a wave that makes up part of the variance, and the correlation at that lag;
    None if the wave may be chance (Fisher's test of the largest ordinate), or is small."""
    power = np.abs(np.fft.rfft(ranked)[1:]) ** 2
    share = float(power.max() / power.sum())
    if len(power) * (1 - share) ** (len(power) - 1) > LEVEL or share < LEAST_WAVE:
        return None
    lag = round(len(ranked) / (1 + int(power.argmax())))
    if lag > len(ranked) // 2:  # a trend, rather
        lag = 1
    return lag, float(autocorrelations(ranked, lag)[lag])


def wanders(problem: Problem) -> bool:
    """Whether times were given, and an outcome cannot be told from a random walk along them."""
    if problem.time is None:
        return False
    return any(has_unit_root(series) for series in by_time(problem.time, problem.y.T))
