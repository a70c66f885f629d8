"""Columns that are likely mistakes in the data: units, row numbers, constants."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem

# Units that are seen again and again: so many of them, each so often.
MIN_UNITS, ROWS_PER_UNIT = 10, 2
_UNIT_NAME = re.compile(
    r"(?i)(?:^|[_\s.-])(?:id|nr|no|key|code|subject|patient|person|participant|customer|client|user|"
    r"firm|company|household|family|school|pupil|student|player|driver|store|shop|site|station|plot|"
    r"animal|country|state|county|region|batch|lot)s?(?:$|[_\s.-])|(?<=[a-z])I[Dd]$"
)


def repeated_unit(problem: Problem) -> str | None:
    """Name the first column whose values look like units that were observed repeatedly.

    None if there is no such column, or if row groups were given.
    """
    if problem.row_groups is not None:
        return None
    units = (j for j in range(len(problem.table.names)) if _is_unit(problem, j))
    place = next(units, None)
    return None if place is None else problem.table.names[place]


def _is_unit(problem: Problem, j: int) -> bool:
    column = problem.X[:, j]
    is_whole = problem.categorical[j] or np.array_equal(column, np.round(column))
    if not is_whole or np.isnan(column).any():
        return False
    n_units = len(np.unique(column))
    if n_units < MIN_UNITS or len(column) < ROWS_PER_UNIT * n_units:
        return False
    if _UNIT_NAME.search(problem.table.names[j]):
        return True
    # Rows of one unit stand together, and something else about it never changes: its sex, its town.
    in_blocks = 1 + np.count_nonzero(np.diff(column)) == n_units
    others = (problem.X[:, k] for k in range(problem.X.shape[1]) if k != j)
    return in_blocks and any(_is_fixed(other, column, n_units) for other in others)


def _is_fixed(column: FloatArray, unit: FloatArray, n_units: int) -> bool:
    """Whether a column that varies has one value per unit."""
    if np.isnan(column).any() or np.ptp(column) == 0:
        return False
    return len(np.unique(np.stack([unit, column]), axis=1).T) == n_units


def row_number_columns(problem: Problem) -> tuple[str, ...]:
    """Name the columns that hold the numbers of the rows in any order."""
    return tuple(
        name
        for name, column, is_category in _columns(problem)
        if not is_category and _counts_rows(column)
    )


def _counts_rows(column: FloatArray) -> bool:
    if np.isnan(column).any() or len(column) < MIN_UNITS:
        return False
    return np.array_equal(np.sort(column), np.arange(len(column)) + column.min())


def constant_columns(problem: Problem) -> tuple[str, ...]:
    """Name the columns that hold one value only."""
    return tuple(name for name, column, _ in _columns(problem) if _is_constant(column))


def _is_constant(column: FloatArray) -> bool:
    # A value beside gaps tells rows apart.
    return not np.isnan(column).any() and np.ptp(column) == 0


def _columns(problem: Problem) -> Iterator[tuple[str, FloatArray, bool]]:
    table = problem.table
    for j, name in enumerate(table.names):
        yield name, table.X[:, j], bool(table.categorical[j])
