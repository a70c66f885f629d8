"""Inputs that give the outcome away by themselves, found from the data without any model."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.fitting.findings import Leaks

# Rows that are looked at first: what they contradict needs no second look. For time only.
FIRST_ROWS = 500
# The chance that unrelated columns agree as these do, over all columns: less, and small tables of
# coarse numbers raise alarms (`benchmarks.leaks`).
CHANCE = 1e-6
# Share of the variance of the outcome's ranks that the values of such an input explain: less, and
# an indicator of some rows with large outcomes, or one that excludes another, is taken for a leak
# (`benchmarks.leaks clean --every-column`).
EXPLAINED = 0.6
# Rows that typing errors may put out of order, as a share: more, and series that grow with time, or
# measures of the same thing, are taken for each other (`benchmarks.leaks clean --every-column`).
ERRORS = 0.01
# Different values of an input per row: with more, few rows share one, and a good predictor has the
# same outcome in these by itself.
MOST_VALUES = 0.5


def find_leaks(problem: Problem) -> Leaks:
    """Find the inputs that give the outcome away by themselves; none with several outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.leaks import find_leaks
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> find_leaks(Problem.of(X, np.exp(-X[:, 1]))).ordered
    ('x1',)
    """
    codes = outcome_codes(problem)
    if codes is None:
        return Leaks()
    n, is_class = problem.X.shape[1], problem.target.classes is not None
    numbers = np.flatnonzero(~problem.categorical).tolist()
    first = problem.X[:FIRST_ROWS].copy(), codes[:FIRST_ROWS]

    def passing(places: list[int], test: Callable[[FloatArray, IntpArray, int], bool]) -> list[int]:
        # What some rows contradict needs no second look.
        return [
            j for j in places
            if test(first[0][:, j], first[1], 0) and test(problem.X[:, j], codes, n)
        ]  # fmt: skip

    apart = passing(numbers, _separates if is_class else _is_ordered)
    if not is_class:
        apart += passing(np.flatnonzero(problem.categorical).tolist(), _is_ordered_category)
    others = passing([j for j in range(n) if j not in apart], _determines)
    if others:
        rows = distinct_rows(problem.X, codes)
        others = [j for j in others if _determines(problem.X[rows, j], codes[rows], n)]
    by_name = tuple(problem.table.names[j] for j in apart)
    determining = tuple(problem.table.names[j] for j in others)
    return Leaks((), by_name, determining) if is_class else Leaks(by_name, (), determining)


def outcome_codes(problem: Problem) -> IntpArray | None:
    """Return the place of each outcome among the different ones; None with several outputs."""
    y = problem.y
    if problem.target.classes is None and y.shape[1] > 1:
        return None
    if y.shape[1] > 1:
        return np.asarray(y.argmax(axis=1), dtype=np.intp)
    return np.unique(y[:, 0], return_inverse=True)[1].astype(np.intp)


def distinct_rows(X: FloatArray, codes: IntpArray) -> IntpArray:
    """Return the first of equal rows each: copies of a row agree in everything, and prove nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.checks.leaks import distinct_rows
    >>> distinct_rows(np.array([[1.0], [1.0], [2.0]]), np.array([0, 0, 0])).tolist()
    [0, 2]
    """
    rng = np.random.default_rng(0)
    # Equal rows have equal sums with any weights; other rows practically never.
    sums = codes * rng.standard_normal()
    for x in X.T:
        spread = float(np.nanmax(np.abs(x), initial=0.0)) or 1.0
        sums += np.where(np.isnan(x), rng.standard_normal(), x / spread * rng.standard_normal())
    return np.sort(np.unique(sums, return_index=True)[1])


def _is_ordered(x: FloatArray, codes: IntpArray, n_columns: int) -> bool:
    """Whether x rises, or falls, with the outcome with hardly an exception, and not by chance.

    Chance is not asked for some of the rows, with ``n_columns=0``.
    """
    known = ~np.isnan(x)
    x, codes = x[known], codes[known]
    if not _agrees(x, codes) and not _agrees(-x, codes):
        return False
    return n_columns == 0 or _is_strong(x, codes, n_columns)


def _is_ordered_category(x: FloatArray, codes: IntpArray, n_columns: int) -> bool:
    """Whether each category has a range of outcomes of its own, as classes of it have."""
    kinds = np.unique(x, return_inverse=True)[1]
    counts = np.bincount(kinds)
    if len(counts) > MOST_VALUES * len(x):
        return n_columns == 0
    # Ordered by their means, which is one of many orders that they might have had.
    means = np.bincount(kinds, codes) / counts
    return _is_ordered(means[kinds], codes, n_columns * math.factorial(min(len(counts), 100)))


def _agrees(x: FloatArray, codes: IntpArray) -> bool:
    """Whether x and the outcome put the rows in one order, typing errors aside."""
    ordered = x[np.lexsort([x, codes])]
    if (np.diff(ordered) >= 0).all():
        return True
    # Each error is one fall, or two: many falls need no longer look.
    if (np.diff(ordered) < 0).mean() > 2 * ERRORS:
        return False
    return longest_rise(ordered) >= (1 - ERRORS) * len(x)


def longest_rise(x: FloatArray) -> int:
    """Return the length of the longest part of a sequence, gaps allowed, that never falls.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.checks.leaks import longest_rise
    >>> longest_rise(np.array([1.0, 9.0, 2.0, 2.0, 3.0]))
    4
    """
    ends: list[float] = []  # the smallest last entry of a rise of each length
    for value in x.tolist():
        place = bisect_right(ends, value)
        ends[place : place + 1] = [value]
    return len(ends)


def _is_strong(x: FloatArray, codes: IntpArray, n_columns: int) -> bool:
    """Whether rows that agree in order do so beyond chance, and on more than a few of them."""
    own = np.unique(x, return_inverse=True)[1]
    cells = np.unique(np.stack([own, codes]), axis=1, return_counts=True)[1]
    of_x, of_y = np.bincount(own), np.bincount(codes)
    by_chance = _log_chance(of_x, of_y, cells)
    limit = np.log(CHANCE) - math.log(2 * n_columns)
    return bool(by_chance < limit and _explained_ranks(own, codes) > EXPLAINED)


def _explained_ranks(own: IntpArray, codes: IntpArray) -> float:
    """Share of the variance of the ranks of the outcome between the values of x."""
    counts = np.bincount(codes)
    ranks = (np.cumsum(counts) - counts / 2)[codes] - len(codes) / 2
    sums = np.bincount(own, ranks)
    return float((sums**2 / np.bincount(own)).sum() / max((ranks**2).sum(), 1e-300))


def _log_chance(rows: IntpArray, columns: IntpArray, cells: IntpArray) -> float:
    """Logarithm of the probability of a table of counts given its margins."""
    factorials = gammaln(rows + 1.0).sum() + gammaln(columns + 1.0).sum()
    return float(factorials - gammaln(cells + 1.0).sum() - gammaln(rows.sum() + 1.0))


def _squares(counts: IntpArray) -> float:
    """Twice the number of pairs within kinds of so many rows, and the rows."""
    return float((counts.astype(np.float64) ** 2).sum())


def _separates(x: FloatArray, codes: IntpArray, n_columns: int) -> bool:
    """Whether each class has a range of x of its own, and not by chance."""
    known = ~np.isnan(x)
    x, own = x[known], codes[known]
    order = np.argsort(x, kind="stable")
    changes = np.flatnonzero(np.diff(own[order]))
    counts = np.bincount(own)
    counts = counts[counts > 0]
    if len(changes) != len(counts) - 1 or not (np.diff(x[order])[changes] > 0).all():
        return False
    ones = np.ones(len(x), dtype=np.intp)
    chance = gammaln(len(counts) + 1.0) + _log_chance(ones, counts, ones)
    all_seen = len(counts) == codes.max() + 1
    return n_columns == 0 or bool(all_seen and chance < np.log(CHANCE / n_columns))


def _determines(x: FloatArray, codes: IntpArray, n_columns: int) -> bool:
    """Whether rows with the same x have the same outcome, and not by chance; a gap is a value."""
    x = np.where(np.isnan(x), np.inf, x)
    order = np.lexsort([codes, x])
    is_same = x[order][1:] == x[order][:-1]
    if (is_same & (np.diff(codes[order]) != 0)).any():
        return False
    repeats = int(is_same.sum())
    if n_columns == 0:
        return repeats > 0 or len(x) < FIRST_ROWS
    alike = _squares(np.bincount(codes)) / len(codes) ** 2
    is_rare = repeats * np.log(alike) < np.log(CHANCE / n_columns)
    return bool(is_rare and repeats >= (1 - MOST_VALUES) * len(x))
