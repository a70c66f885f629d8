"""One score of all columns that do not play by name, by ridge regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.ridge import penalised_solve, usable_scales, weighted_means
from shaff._util.typing import FloatArray, IntArray, IntpArray
from shaff.data.folds import make_folds
from shaff.data.problem import Problem
from shaff.values.categories import MeanTargets

# Penalties to choose from, on standardised columns and relative to the weight of the rows: many
# columns that tell little each want a large one. Without those v of wide tables is too low
# (`benchmarks.wide optimism`).
PENALTIES = (0.03, 0.3, 3.0, 30.0)
INNER_FOLDS = 5
# Rows, or columns, that are copied at a time: memory only (`benchmarks.wide large`).
AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Others:
    """The score of "all others": a ridge regression of y on their columns, fitted on some rows.

    Parameters
    ----------
    columns : int array
        Columns of the table that enter the score.
    mean, scale : float arrays of shape (n_columns,)
        Means and scales that standardise them.
    slopes : float array of shape (n_columns, n_outputs)
    codes : dict of int to MeanTargets
        Mean targets that code categorical columns, by place among the columns.
    """

    columns: IntpArray
    mean: FloatArray
    scale: FloatArray
    slopes: FloatArray
    codes: dict[int, MeanTargets]

    def score(self, X: FloatArray) -> FloatArray:
        """Return scores of rows that it was not fitted on, shape (n_rows, n_outputs)."""
        starts = range(0, len(X), AT_ONCE)
        return np.concatenate([self._score(X[k : k + AT_ONCE]) for k in starts])

    def _score(self, X: FloatArray) -> FloatArray:
        numbers = X[:, self.columns]
        for place, means in self.codes.items():
            numbers[:, place] = means.transform(X[:, self.columns[place]])[:, 0]
        _standardise(numbers, self.mean, self.scale)
        return np.asarray(numbers @ self.slopes)


def fit_others(
    problem: Problem, train: IntArray, columns: IntpArray, seed: int
) -> tuple[Others, FloatArray]:
    """Return the fit and its scores of all rows.

    Training rows are scored by fits that leave them out, so that no learner trusts the score more
    than it should.
    """
    y, weight = problem.y[train], problem.weight[train]
    groups = None if problem.row_groups is None else problem.row_groups[train]
    X, codes = _numbers(problem, train, columns)
    mean, spread = _moments(X, weight)
    scale = usable_scales(mean, spread)
    _standardise(X, mean, scale)
    ridge = _Ridge(X, y - weight @ y / weight.sum(), weight)
    scores, penalty = ridge.cross_fitted(_inner_tests(len(train), groups, seed))
    others = Others(columns, mean, scale, ridge.slopes(penalty), codes)
    out = others.score(problem.X)
    out[train] = scores
    return others, out


def _numbers(
    problem: Problem, train: IntArray, columns: IntpArray
) -> tuple[FloatArray, dict[int, MeanTargets]]:
    """Return columns of the training rows as numbers, categories coded by mean targets."""
    X, y, weight = problem.X[np.ix_(train, columns)], problem.y[train], problem.weight[train]
    groups = None if problem.row_groups is None else problem.row_groups[train]
    codes = {
        int(k): MeanTargets(X[:, k], y, weight, groups)
        for k in np.flatnonzero(problem.categorical[columns])
    }
    for place, means in codes.items():
        X[:, place] = means.transform_training()[:, 0]
    return X, codes


def _inner_tests(n_rows: int, groups: npt.NDArray[Any] | None, seed: int) -> list[IntArray]:
    """Split rows into folds; a group stays in one fold, unless it is the only group."""
    n_units = n_rows if groups is None else len(np.unique(groups))
    if n_units < 2:
        groups, n_units = None, n_rows
    return [f.test for f in make_folds(n_rows, min(INNER_FOLDS, n_units), groups, seed)]


class _Ridge:
    """Ridge fits on all rows or without some, in whichever of the two forms is smaller."""

    def __init__(self, Z: FloatArray, y: FloatArray, weight: FloatArray) -> None:
        root = np.sqrt(weight)[:, None]
        self.plain, self.y, self.total = Z, y * root, weight.sum()
        self.Z = Z if (root == 1).all() else Z * root
        self.weight, self.target = weight, y
        self.dual = Z.shape[0] < Z.shape[1]
        self.gram = self.Z @ self.Z.T if self.dual else self.Z.T @ self.Z
        self.moment = self.Z.T @ self.y

    def cross_fitted(self, tests: list[IntArray]) -> tuple[FloatArray, float]:
        """Return scores of rows by fits without them, at the best penalty, and that penalty."""
        scores = np.zeros((len(PENALTIES), *self.y.shape))
        for test in tests:
            for k, slopes in enumerate(self._slopes_without(test)):
                scores[k, test] = self.plain[test] @ slopes
        errors = [self.weight @ ((self.target - score) ** 2).sum(axis=1) for score in scores]
        best = int(np.argmin(errors))
        return scores[best], PENALTIES[best]

    def _slopes_without(self, test: IntArray) -> list[FloatArray]:
        """Return the slopes of fits without some rows, at each penalty."""
        if not self.dual:
            out, y = self.Z[test], self.y[test]
            gram, moment = self.gram - out.T @ out, self.moment - out.T @ y
            return [penalised_solve(gram, moment, p * self.total) for p in PENALTIES]
        rest = np.setdiff1d(np.arange(len(self.y)), test)
        gram, Z = self.gram[np.ix_(rest, rest)], self.Z[rest]
        return [Z.T @ penalised_solve(gram, self.y[rest], p * self.total) for p in PENALTIES]

    def slopes(self, penalty: float) -> FloatArray:
        if not self.dual:
            return penalised_solve(self.gram, self.moment, penalty * self.total)
        return np.asarray(self.Z.T @ penalised_solve(self.gram, self.y, penalty * self.total))


def _moments(X: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations of the columns."""
    mean, spread = np.empty(X.shape[1]), np.empty(X.shape[1])
    for k in range(0, X.shape[1], AT_ONCE):
        some = slice(k, k + AT_ONCE)
        mean[some] = weighted_means(X[:, some], weight)
        spread[some] = np.sqrt(weighted_means((X[:, some] - mean[some]) ** 2, weight))
    return mean, spread


def _standardise(X: FloatArray, mean: FloatArray, scale: FloatArray) -> None:
    """Standardise the columns in place; missing entries become 0."""
    X -= mean
    X /= scale
    np.nan_to_num(X, copy=False, nan=0.0)
