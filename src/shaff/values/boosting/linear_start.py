"""Ridge regressions on every subset of columns, from one Gram matrix per fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dposv

from shaff._util.ridge import usable_scales, weighted_means
from shaff._util.statistics import normal_scores
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.values.categories import MeanTargets

Scale = Literal["linear", "normal_scores", "quadratic"]
# Penalty per unit of training weight on standardised columns.
# A narrower grid ends at its edge for few rows or many columns (`benchmarks.values`).
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Limits of the quadratic scale.
# Fewer rows a feature overfit small data (`benchmarks.truth`); more features or entries take
# time and memory (`benchmarks.values`, `benchmarks.memory`).
ROWS_PER_FEATURE = 15
MAX_FEATURES = 300
MAX_ENTRIES = 2**25
# Rows whose features stay in the cache while subsets take their turns. Time only
# (`benchmarks.pairs`).
ROWS_AT_ONCE = 512


class LinearStart:
    """Ridge fits of one fold.

    Everything is learnt from the training rows: means, standard deviations, ranks and the mean
    target of each category. A missing entry takes the column's mean.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
    y : float array of shape (n_rows, n_outputs)
    weight : float array of shape (n_rows,)
    fold : Fold
    categorical : bool array of shape (n_columns,)
    scale : {"linear", "normal_scores", "quadratic"}
        The columns as they are; their ranks as normal quantiles, so that a monotone transform of
        a column changes nothing; or the columns, their squares and their products.
    row_groups : array of shape (n_rows,) or None
        Rows of one group know the mean target of a category without each other.
    visible : bool array of shape (n_columns,) or None
        Columns that the fits may use; None means all.

    Notes
    -----
    A category is replaced by its mean target, one feature per output: see `MeanTargets`.
    """

    def __init__(
        self,
        X: FloatArray,
        y: FloatArray,
        weight: FloatArray,
        fold: Fold,
        categorical: BoolArray,
        scale: Scale,
        row_groups: npt.NDArray[Any] | None = None,
        visible: BoolArray | None = None,
    ) -> None:
        self.fold, self.categorical, self.scale = fold, categorical, scale
        self._groups = None if row_groups is None else row_groups[fold.train]
        train = X[fold.train]
        self._y, self._weight = y[fold.train], weight[fold.train]
        # Plain columns need no reference to encode other rows, and rows may be many.
        self._train = train if scale == "normal_scores" or categorical.any() else train[:0].copy()
        columns = [self._encode(j, train[:, j], inner=True) for j in range(X.shape[1])]
        owner = np.repeat(np.arange(X.shape[1]), [c.shape[1] for c in columns])
        first, second = np.triu_indices(len(owner) if scale == "quadratic" else 0)
        self._pairs = first, second
        # A feature belongs to a subset when both of its columns do.
        self.owners = np.concatenate([[owner, owner], [owner[first], owner[second]]], axis=1)
        features = np.hstack(columns)
        total = self._weight.sum()
        self._mean = weighted_means(features, self._weight)
        spread = np.sqrt(weighted_means((features - self._mean) ** 2, self._weight))
        self._scale = usable_scales(self._mean, spread)
        if visible is not None:
            self._scale[~visible[owner]] = np.inf
        self.y_mean = self._weight @ self._y / total
        Z = self._standardise(features)
        self._train_features: FloatArray | None = Z
        self._fold_features: FloatArray | None = None
        self._gram = Z.T @ (Z * self._weight[:, None]) / total
        self._moment = Z.T @ ((self._y - self.y_mean) * self._weight[:, None]) / total
        self._offset = self._weight @ Z / total

    @classmethod
    def of(cls, data: Problem, fold: Fold, scale: Scale) -> LinearStart:
        """Fit on the columns of a problem that the fold may see."""
        visible, groups = data.visible(fold.train), data.row_groups
        return cls(data.X, data.y, data.weight, fold, data.categorical, scale, groups, visible)

    def features(self, X: FloatArray) -> FloatArray:
        """Standardised features of rows outside the training rows."""
        columns = [self._encode(j, X[:, j], inner=False) for j in range(X.shape[1])]
        return self._standardise(np.hstack(columns))

    def fold_features(self, X: FloatArray) -> FloatArray:
        """Features of the rows of the fold, training rows first; they are made once."""
        if self._fold_features is None:
            assert self._train_features is not None
            parts = [self._train_features, self.features(X[self.fold.test])]
            self._fold_features, self._train_features = np.vstack(parts), None
        return self._fold_features

    def coefficients(self, masks: BoolArray, penalty: float) -> FloatArray:
        """Ridge coefficients of each subset, shape (n_subsets, n_features, n_outputs)."""
        n_features = self.owners.shape[1]
        coefficients = np.zeros((len(masks), n_features, self._moment.shape[1]))
        gram = self._gram - np.outer(self._offset, self._offset) + penalty * np.eye(n_features)
        for row, mask in enumerate(masks):
            inside = np.flatnonzero(mask[self.owners].all(axis=0))
            if len(inside):
                # LAPACK itself: the systems are many and small.
                _, solution, info = dposv(gram[np.ix_(inside, inside)], self._moment[inside])
                if info != 0:
                    raise np.linalg.LinAlgError("A Gram matrix is not positive definite.")
                coefficients[row, inside] = solution
        return coefficients

    def predict(self, masks: BoolArray, features: FloatArray, penalty: float) -> FloatArray:
        """Predictions, shape (n_outputs, n_subsets, n_rows)."""
        return self.apply(self.coefficients(masks, penalty), features)

    def apply(self, coefficients: FloatArray, features: FloatArray) -> FloatArray:
        """Predictions by known coefficients, shape (n_outputs, n_subsets, n_rows)."""
        out = np.empty((coefficients.shape[2], len(coefficients), len(features)))
        # One by one: the bits of a product of matrices depend on how many rows they have, and a
        # value must not depend on the subsets that are evaluated beside it.
        for first in range(0, len(features), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            centred = features[rows] - self._offset
            for k, subset in np.ndindex(out.shape[:2]):
                out[k, subset, rows] = self.y_mean[k] + centred @ coefficients[subset, :, k]
        return out

    def _standardise(self, features: FloatArray) -> FloatArray:
        Z = np.nan_to_num((features - self._mean) / self._scale, nan=0.0)
        first, second = self._pairs
        return np.hstack([Z, Z[:, first] * Z[:, second]]) if len(first) else Z

    def _encode(self, column: int, x: FloatArray, inner: bool) -> FloatArray:
        if self.categorical[column]:
            means = MeanTargets(self._train[:, column], self._y, self._weight, self._groups)
            return means.transform_training() if inner else means.transform(x)
        if self.scale == "normal_scores":
            return normal_scores(self._train[:, column], x, self._weight)[:, None]
        return x[:, None]


def fits(scale: Scale, n_train: int, n_columns: int) -> bool:
    """Whether there are rows enough for the features of a scale, and memory and time for them."""
    n_features = n_columns * (n_columns + 3) // 2
    most = min(n_train / ROWS_PER_FEATURE, MAX_FEATURES, MAX_ENTRIES / n_train)
    return scale != "quadratic" or n_features <= most


def tried_start(
    data: Problem, fold: Fold, scale: Scale, masks: BoolArray
) -> tuple[LinearStart, list[float]]:
    """The fits of a fold, and their held-out errors over the subsets with each penalty."""
    start = LinearStart.of(data, fold, scale)
    held_out = start.fold_features(data.X)[len(fold.train) :]
    y, weight = data.y[fold.test].T[:, None], data.weight[fold.test]
    predicted = (start.predict(masks, held_out, penalty) for penalty in PENALTIES)
    return start, [float((((y - p) ** 2) @ weight).sum()) for p in predicted]


def best_penalty(errors: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The penalty with the smallest error over the folds, and that error.

    Examples
    --------
    >>> from shaff.values.boosting.linear_start import best_penalty
    >>> best_penalty([[5.0, 4.0, 3.0, 4.0, 5.0], [3.0, 2.0, 2.0, 3.0, 3.0]])
    (0.01, 5.0)
    """
    total = np.sum(errors, axis=0)
    best = int(np.argmin(total))
    return PENALTIES[best], float(total[best])
