"""Columns that name units which were observed repeatedly: persons, firms, restaurants."""

from __future__ import annotations

import re

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.fitting.checks.residuals import residuals_of, scores, within_groups
from shaff.fitting.facts import Facts, RepeatedUnit
from shaff.subsets import Subsets

# Units that are seen again and again: so many of them, each so often.
MIN_UNITS, ROWS_PER_UNIT = 10, 2
# A text column under any name may hold units if it has as many values, each in at most so many
# rows; fewer values, or more rows of each, are categories that new rows will have too.
MIN_TEXT_UNITS, MOST_ROWS_PER_UNIT = 20, 50
# Chance of a false alarm in one column, and the correlation below which it does not matter.
# Both sides: `benchmarks.dependence`.
LEVEL, LEAST_CORRELATION = 0.002, 0.1
_UNIT_NAME = re.compile(
    r"(?i)(?:^|[_\s.-])(?:id|nr|no|key|code|subject|patient|person|participant|customer|client|user|"
    r"firm|company|household|family|school|pupil|student|player|driver|store|shop|site|station|plot|"
    r"animal|country|state|county|region|batch|lot)s?(?:$|[_\s.-])|(?<=[a-z])I[Dd]$"
)


def repeated_unit(facts: Facts) -> RepeatedUnit | None:
    """Return the first column whose values look like units that were observed repeatedly.

    Either the rows of a unit stand together and something about it never changes, or what the other
    inputs leave of the outcome is alike in rows of a unit; a name is not enough. None if there is
    no such column, or if row groups, times or splits were given.
    """
    problem = facts.task.problem
    if problem.row_groups is not None or problem.has_splits:
        return None
    for j, name in enumerate(problem.table.names):
        units = _units(problem, j)
        if units is None:
            continue
        if _stands_together(problem, j, units):
            return RepeatedUnit(name, int(units.max()) + 1)
        if _may_be_unit(problem, j, units):
            found = _correlation(facts, j, units)
            if found is not None:
                return RepeatedUnit(name, int(units.max()) + 1, found)
    return None


def _units(problem: Problem, j: int) -> IntpArray | None:
    """The values of a column as codes 0, 1, ..., if they repeat as units do."""
    column = problem.X[:, j]
    is_whole = problem.categorical[j] or np.array_equal(column, np.round(column))
    if not is_whole or np.isnan(column).any():
        return None
    found, codes = np.unique(column, return_inverse=True)
    enough = len(found) >= MIN_UNITS and len(column) >= ROWS_PER_UNIT * len(found)
    return codes.astype(np.intp) if enough else None


def _stands_together(problem: Problem, j: int, units: IntpArray) -> bool:
    """Whether rows of one unit stand together, and something else about it never changes (its sex,
    its town), or a column under the name of a unit has all years in each of them."""
    n_units = int(units.max()) + 1
    if 1 + np.count_nonzero(np.diff(units)) != n_units:
        return False
    others = [problem.X[:, k] for k in range(problem.X.shape[1]) if k != j]
    if any(_is_fixed(other, units, n_units) for other in others):
        return True
    return _has_unit_name(problem, j) and any(_starts_anew(other, n_units) for other in others)


def _is_fixed(column: FloatArray, units: IntpArray, n_units: int) -> bool:
    """Whether a column that varies has one value per unit."""
    if np.isnan(column).any() or np.ptp(column) == 0:
        return False
    return len(np.unique(np.stack([units, column]), axis=1).T) == n_units


def _starts_anew(column: FloatArray, n_units: int) -> bool:
    """Whether a column has different values in the rows of a unit, and the same in every unit."""
    if len(column) % n_units:
        return False
    by_unit = column.reshape(n_units, -1)
    return len(np.unique(by_unit[0])) == by_unit.shape[1] and bool((by_unit == by_unit[0]).all())


def _has_unit_name(problem: Problem, j: int) -> bool:
    return _UNIT_NAME.search(problem.table.names[j]) is not None


def _may_be_unit(problem: Problem, j: int, units: IntpArray) -> bool:
    n_units = int(units.max()) + 1
    is_text = bool(problem.categorical[j]) and n_units >= MIN_TEXT_UNITS
    return _has_unit_name(problem, j) or (is_text and len(units) <= MOST_ROWS_PER_UNIT * n_units)


def _correlation(facts: Facts, j: int, units: IntpArray) -> float | None:
    """Correlation of two rows of a unit, given the other inputs; None if it may be chance.

    Numbers that are amounts, such as years of schooling, are units only in what goes beyond a
    smooth curve.
    """
    subset = _without(facts, j)
    left = None if subset is None else residuals_of(facts, subset)
    if left is None or not np.isfinite(left).all():
        return None
    ranked = scores(left)
    found = within_groups(ranked, units)
    is_text = facts.task.problem.categorical[j]
    correlation = found.correlation if is_text else beyond_curve(ranked, units)
    return correlation if found.p_value < LEVEL and correlation > LEAST_CORRELATION else None


def beyond_curve(scores: FloatArray, units: IntpArray) -> float:
    """Return the variance of the means of units about the middle of their two neighbours, without
    what the noise of single rows adds to it; scores have variance 1.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.checks.units import beyond_curve
    >>> units, noise = np.repeat(np.arange(6), 10), np.tile([0.5, -0.5], 30)
    >>> curve, jumps = (units - 2.5) / 2, np.where(units % 2, 1.0, -1.0)
    >>> [round(beyond_curve(means + noise, units), 1) for means in (curve, jumps)]
    [-0.0, 2.6]
    """
    size = np.bincount(units)
    means = np.bincount(units, scores) / size
    rest = np.bincount(units, (scores - means[units]) ** 2).sum() / max(len(units) - len(size), 1)
    bend = means[1:-1] - (means[:-2] + means[2:]) / 2
    noise = rest * (1 / size[1:-1] + (1 / size[:-2] + 1 / size[2:]) / 4)
    # A unit counts 1.5 times in a bend: once itself, and a quarter of each neighbour's variance.
    return float(np.average(bend**2 - noise, weights=1 / noise)) / 1.5 if rest else 0.0


def _without(facts: Facts, j: int) -> Subsets | None:
    """All players but the one that is this column; None if it does not play by itself."""
    names, column = facts.selection.problem.player_names, facts.task.problem.table.names[j]
    single = any(len(p) == 1 and p[0] == j for p in facts.task.problem.players)
    if not single or column not in names:
        return None
    place = names.index(column)
    return Subsets.singletons(len(names)).complement()[place : place + 1]
