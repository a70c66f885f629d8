"""Columns that are likely mistakes in the data: row numbers, constants."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem

# Fewer rows count as numbered by chance.
MIN_ROWS = 10


def row_number_columns(problem: Problem) -> tuple[str, ...]:
    """Name the columns that hold the numbers of the rows in any order."""
    return tuple(
        name
        for name, column, is_category in _columns(problem)
        if not is_category and _counts_rows(column)
    )


def _counts_rows(column: FloatArray) -> bool:
    if np.isnan(column).any() or len(column) < MIN_ROWS:
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
