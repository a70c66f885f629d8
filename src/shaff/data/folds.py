"""Folds: the rows that a model is trained on, and the rows that it is measured on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, KFold, check_cv

from shaff._util.typing import IntArray, IntpArray
from shaff.data.target import Target, as_target
from shaff.errors import InputError, first_line

# Fewer folds train on fewer rows, more take time (`benchmarks.truth`, `benchmarks.seeds`): the
# number of folds, and the number of rows or groups up to which it is used.
DEFAULT_FOLDS, FEW_UNITS = 5, 5000
MANY_FOLDS, MANY_UNITS = 4, 12_500
FEWEST_FOLDS = 3
Splits = list[tuple[IntArray, IntArray]]


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
    """Return the folds for cross-fitting.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    cv : int, scikit-learn splitter or None, default=None
        Number of folds, or a splitter. None means five shuffled folds, fewer with many rows. A
        splitter's test sets must not overlap; rows in none of them are trained on but not
        measured.
    row_groups : array of shape (n_rows,) or None
        Rows of one group stay in one fold; a splitter that divides them is refused.
    random_state : int, default=0
        Seed of shuffled folds.
    y : array or None, default=None
        Outcome, for splitters that use it.

    Examples
    --------
    >>> from shaff.data.folds import make_folds
    >>> [len(fold.test) for fold in make_folds(10, cv=3)]
    [4, 3, 3]
    """
    if cv is None or isinstance(cv, (int, np.integer)):
        n_units = n_rows if row_groups is None else len(np.unique(row_groups))
        n_folds = n_folds_of(n_units, None if cv is None else int(cv))
        kind = KFold if row_groups is None else GroupKFold
        cv = kind(n_folds, shuffle=True, random_state=random_state)
    try:
        split = check_cv(cv).split(np.zeros((n_rows, 1)), y, row_groups)
        pairs = [(train, test) for train, test in split]
    except (TypeError, ValueError) as error:
        raise InputError(f"cv makes no folds: {first_line(error)}") from error
    folds = tuple(Fold(_places(train, n_rows), _places(test, n_rows)) for train, test in pairs)
    _check_folds(folds)
    if row_groups is not None:
        groups = np.asarray(row_groups)
        if any(np.isin(groups[fold.test], groups[fold.train]).any() for fold in folds):
            raise InputError(
                "cv divides the rows of a group: use a splitter for groups, such as GroupKFold."
            )
    return folds


def _places(rows: Any, n_rows: int) -> IntArray:
    """Places of rows, from places or from a mask of all rows."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given).astype(np.int64)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and len(given)):
        raise InputError("cv must hold the places of rows, or a truth value for each row.")
    if len(given) and not 0 <= given.min() <= given.max() < n_rows:
        raise InputError(
            f"cv names rows below 0 or beyond the {n_rows} that there are (max_rows samples)."
        )
    return given.astype(np.int64)


def _check_folds(folds: tuple[Fold, ...]) -> None:
    """Refuse folds that measure a model on its own rows, or rows twice, or nothing."""
    if not folds or any(len(rows) == 0 for fold in folds for rows in (fold.train, fold.test)):
        raise InputError("cv has no folds, or a fold without training rows or test rows.")
    if any(np.isin(fold.test, fold.train).any() for fold in folds):
        raise InputError(
            "cv has rows that are both in a training set and in its test set: a model explains "
            "too much of rows that it has seen."
        )
    tested = np.concatenate([fold.test for fold in folds])
    if len(np.unique(tested)) != len(tested):
        raise InputError("The test sets of cv overlap; every row may be held out once.")


def fold_numbers(folds: Iterable[Fold], n_rows: int, elsewhere: int = 0) -> IntpArray:
    """Return the number of the fold that holds each row out; ``elsewhere`` where none does.

    Examples
    --------
    >>> from shaff.data.folds import fold_numbers, make_folds
    >>> fold_numbers(make_folds(4, cv=2), 4).tolist()
    [1, 1, 0, 0]
    """
    numbers = np.full(n_rows, elsewhere, dtype=np.intp)
    for k, fold in enumerate(folds):
        numbers[fold.test] = k
    return numbers


def n_folds_of(n_units: int, cv: int | None = None) -> int:
    """Return the number of folds of so many rows or groups of rows; ``cv`` is what was asked for.

    Examples
    --------
    >>> from shaff.data.folds import n_folds_of
    >>> n_folds_of(1000), n_folds_of(10_000), n_folds_of(10_000, 7)
    (5, 4, 7)
    """
    if n_units < 2:
        raise InputError("Cross-fitting needs at least two rows, or two groups of rows.")
    if cv is None:
        most = DEFAULT_FOLDS if n_units <= FEW_UNITS else MANY_FOLDS
        return min(most if n_units <= MANY_UNITS else FEWEST_FOLDS, n_units)
    if not 2 <= cv <= n_units:
        raise InputError(f"cv={cv} is not between 2 and the number of rows or groups, {n_units}.")
    return cv


def check_names_all_rows(cv: Any, is_sample: bool) -> None:
    """Refuse lists of rows of the whole table for a sample of it, whose rows have other places."""
    if is_sample and not (cv is None or isinstance(cv, int | np.integer) or hasattr(cv, "split")):
        raise InputError(
            "cv lists places of rows, but only a sample of the rows is used: raise max_rows, or "
            "pass a splitter."
        )


def read_cv(
    cv: Any, n_rows: int, target: Target, row_groups: npt.NDArray[Any] | None
) -> int | Splits | None:
    """Return None or a possible number of folds unchanged, and the splits of a splitter.

    A splitter is called once: a second call might split differently, and a generator is exhausted.
    """
    if cv is None:
        return None
    if isinstance(cv, int | np.integer):
        n_folds_of(n_rows if row_groups is None else len(np.unique(row_groups)), int(cv))
        return int(cv)
    y = as_target(target.y) if target.labels is None else target.labels
    return [(fold.train, fold.test) for fold in make_folds(n_rows, cv, row_groups, y=y)]
