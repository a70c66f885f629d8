"""Least squares as a yardstick: would a linear model do as well?"""

from __future__ import annotations

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem

# Least squares with fewer rows per column is no match for learners that shrink.
ROWS_PER_COLUMN = 10
_TINY = np.finfo(float).tiny


def linear_explained(problem: Problem) -> float | None:
    """Return the explained variance of least squares, each row predicted without itself.

    None where least squares cannot be asked: it needs numbers without gaps, one outcome, rows that
    are alike, and enough of them.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.linear import linear_explained
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> round(linear_explained(Problem.of(X, X[:, 0] + 1)), 6)
    1.0
    """
    if not _is_plain(problem):
        return None
    unit = problem.variance_unit
    return _leave_one_out(problem.X, problem.y[:, 0]) * (1.0 if unit is None else unit.ratio)


def _is_plain(problem: Problem) -> bool:
    rows, columns = problem.X.shape
    alike = problem.sample_weight is None and problem.row_groups is None
    numbers = not problem.categorical.any() and not np.isnan(problem.X).any()
    return alike and numbers and problem.y.shape[1] == 1 and rows > ROWS_PER_COLUMN * columns


def _leave_one_out(X: FloatArray, y: FloatArray) -> float:
    scaled = X - X.mean(axis=0)
    scaled /= scaled.std(axis=0) + _TINY
    # Rows are many beside the columns, where this is a quarter of the work of an SVD.
    sizes, axes = np.linalg.eigh(scaled.T @ scaled)
    known = sizes > 1e-12 * sizes.max()
    basis = scaled @ (axes[:, known] / np.sqrt(sizes[known]))
    basis = np.column_stack([np.full(len(y), len(y) ** -0.5), basis])
    own = (basis**2).sum(axis=1)
    errors = (y - basis @ (basis.T @ y)) / np.maximum(1 - own, _TINY)
    return float(1 - (errors**2).sum() / ((y - y.mean()) ** 2).sum())
