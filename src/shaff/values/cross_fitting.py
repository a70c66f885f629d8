"""Folds, and the out-of-sample score that every cross-fitted value function shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, KFold, check_cv

from shaff.protocols import Values
from shaff.subsets import FloatArray, IntArray, Subsets
from shaff.values.variance import Outcome

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
        Rows of one group stay in one fold; a splitter that divides them is refused.
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
        n_units = n_rows if row_groups is None else len(np.unique(row_groups))
        n_folds = _n_folds(n_units, None if cv is None else int(cv))
        kind = KFold if row_groups is None else GroupKFold
        cv = kind(n_folds, shuffle=True, random_state=random_state)
    folds = tuple(
        Fold(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64))
        for train, test in check_cv(cv).split(np.zeros((n_rows, 1)), y, row_groups)
    )
    tested = np.concatenate([fold.test for fold in folds])
    if max(fold.rows.max() for fold in folds) >= n_rows:
        raise ValueError(f"cv names rows beyond the {n_rows} that there are (max_rows samples).")
    if len(np.unique(tested)) != len(tested):
        raise ValueError("The test sets of cv overlap; every row may be held out once.")
    if row_groups is not None:
        groups = np.asarray(row_groups)
        if any(np.isin(groups[fold.test], groups[fold.train]).any() for fold in folds):
            raise ValueError(
                "cv divides the rows of a group: use a splitter for groups, such as GroupKFold."
            )
    return folds


def _n_folds(n_units: int, cv: int | None) -> int:
    if n_units < 2:
        raise ValueError("Cross-fitting needs at least two rows, or two groups of rows.")
    if cv is None:
        return min(DEFAULT_FOLDS, n_units)
    if not 2 <= cv <= n_units:
        raise ValueError(f"cv={cv} is not between 2 and the number of rows or groups, {n_units}.")
    return cv


class HeldOutScore:
    """Turns held-out errors into values.

    The folds are no replicates of an ensemble: a value without the rows of one fold differs by
    those rows, whose error the influences tell already.

    Parameters
    ----------
    outcome : Outcome
    folds : tuple of Fold

    Attributes
    ----------
    outcome : Outcome
        With weight 0 for rows that no fold holds out.
    """

    def __init__(self, outcome: Outcome, folds: tuple[Fold, ...]) -> None:
        measured = np.zeros(len(outcome.y), dtype=bool)
        for fold in folds:
            measured[fold.test] = True
        self.outcome = Outcome(outcome.y, np.where(measured, outcome.weight, 0.0))
        if self.outcome.weight.sum() <= 0:
            raise ValueError("The rows that are held out have no weight.")

    def values(self, subsets: Subsets, errors: FloatArray, influences: bool) -> Values:
        """Values from the squared errors, shape (n_subsets, n_rows) or, to learn the value for
        each output too, (n_subsets, n_rows, n_outputs)."""
        by_output = None
        if errors.ndim == 3:
            by_output = self.outcome.explained_by_output(errors)
            errors = errors.sum(axis=2)
        empty = subsets.sizes == 0
        if self.outcome.variance == 0:
            empty = np.ones(len(subsets), dtype=bool)
        if by_output is not None:
            by_output[empty] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            v = self.outcome.explained(errors, self.outcome.weight > 0)
            v[empty] = 0.0
            if not influences:
                return Values(subsets, v, by_output=by_output)
            psi = self.outcome.influences(errors, v)
        psi[empty] = 0.0
        return Values(subsets, v, psi, by_output=by_output)
