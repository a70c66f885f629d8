"""Folds, and the out-of-sample score that every cross-fitted value function shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, KFold

from shaff.protocols import Values
from shaff.subsets import FloatArray, IntArray, Subsets

DEFAULT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows that a model is trained on and rows that it is measured on."""

    train: IntArray
    test: IntArray

    @property
    def rows(self) -> IntArray:
        """All rows of the fold, training rows first: the order that the kernels expect."""
        return np.concatenate([self.train, self.test])


def make_folds(
    n_rows: int,
    cv: Any = None,
    row_groups: npt.ArrayLike | None = None,
    random_state: int = 0,
    y: npt.ArrayLike | None = None,
) -> tuple[Fold, ...]:
    """Folds for cross-fitting.

    Parameters
    ----------
    n_rows : int
    cv : int, scikit-learn splitter or None
        None means five shuffled folds. A splitter's test sets must not overlap; rows in none of
        them are trained on but not measured.
    row_groups : array of shape (n_rows,) or None
        Rows of one group stay in one fold.
    random_state : int
    y : array or None
        For splitters that look at it.

    Examples
    --------
    >>> from shaff.values.cross_fitting import make_folds
    >>> [len(fold.test) for fold in make_folds(10, cv=3)]
    [4, 3, 3]
    """
    if cv is None or isinstance(cv, (int, np.integer)):
        n_folds = _n_folds(n_rows if row_groups is None else len(np.unique(row_groups)), cv)
        kind = KFold if row_groups is None else GroupKFold
        cv = kind(n_folds, shuffle=True, random_state=random_state)
    folds = tuple(
        Fold(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64))
        for train, test in cv.split(np.zeros((n_rows, 1)), y, row_groups)
    )
    tested = np.concatenate([fold.test for fold in folds])
    if len(np.unique(tested)) != len(tested):
        raise ValueError("The test sets of cv overlap; every row may be held out once.")
    return folds


def _n_folds(n_units: int, cv: int | None) -> int:
    if n_units < 2:
        raise ValueError("Cross-fitting needs at least two rows, or two groups of rows.")
    if cv is None:
        return min(DEFAULT_FOLDS, n_units)
    if not 2 <= cv <= n_units:
        raise ValueError(f"cv={cv} is not between 2 and the number of rows or groups, {n_units}.")
    return int(cv)


class HeldOutScore:
    """Turns held-out residuals into values (ALGORITHMS sections 0 and 6).

    Parameters
    ----------
    y : float array of shape (n_rows, n_outputs)
    weight : float array of shape (n_rows,)
        Integer weights count as repeated rows.
    folds : tuple of Fold
    """

    def __init__(self, y: FloatArray, weight: FloatArray, folds: tuple[Fold, ...]) -> None:
        self.folds = folds
        measured = np.zeros(len(y), dtype=bool)
        for fold in folds:
            measured[fold.test] = True
        self.weight = np.where(measured, weight, 0.0)
        self.total = float(self.weight.sum())
        mean = self.weight @ y / self.total
        self.squared_deviation = ((y - mean) ** 2).sum(axis=1)
        self.variance = float(self.weight @ self.squared_deviation) / max(self.total - 1, 1e-300)

    def values(self, subsets: Subsets, squared_error: FloatArray, influences: bool) -> Values:
        """Values from the squared errors of the rows, shape (n_subsets, n_rows)."""
        empty = subsets.sizes == 0
        by_fold = np.stack(
            [squared_error[:, fold.test] @ self.weight[fold.test] for fold in self.folds], axis=1
        )
        fold_weight = np.array([self.weight[fold.test].sum() for fold in self.folds])
        error = by_fold.sum(axis=1)
        v = self._explained(error, self.total)
        replicates = self._explained(error[:, None] - by_fold, self.total - fold_weight)
        v[empty], replicates[empty] = 0.0, 0.0
        influence = self._influences(v, squared_error, empty) if influences else None
        return Values(subsets, v, influence, replicates)

    def _explained(self, error: FloatArray, weight: float | FloatArray) -> FloatArray:
        if self.variance == 0:
            return np.zeros_like(error)
        return np.asarray(1 - error / weight / self.variance, dtype=np.float64)

    def _influences(
        self, v: FloatArray, squared_error: FloatArray, empty: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float32]:
        scale = self.weight * (len(self.weight) / self.total)
        psi = (1 - v)[:, None] * self.squared_deviation - squared_error
        psi *= scale / max(self.variance, 1e-300)
        psi -= psi.mean(axis=1, keepdims=True)
        psi[empty] = 0.0
        return psi.astype(np.float32)
