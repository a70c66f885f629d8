"""Category codes as mean targets, learnt inside a fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.typing import BoolArray, FloatArray

# Fewer folds blur the means; a smaller prior lets rare levels tell their noise (`benchmarks.data`).
INNER_FOLDS = 5
PRIOR_WEIGHT = 10.0


class MeanTargets:
    """Mean target of each category of one column, shrunk to the overall mean.

    Parameters
    ----------
    codes : float array of shape (n_train,)
        Categories of the training rows; NaN is missing.
    y : float array of shape (n_train, n_outputs)
    weight : float array of shape (n_train,)
    row_groups : array of shape (n_train,) or None
        Rows of one group share an inner fold.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.categories import MeanTargets
    >>> codes, y = np.repeat([0.0, 1.0], 90), np.repeat([[1.0], [3.0]], 90, axis=0)
    >>> MeanTargets(codes, y, np.ones(180)).transform(np.array([0.0, 1.0, 7.0])).ravel().tolist()
    [1.1, 2.9, 2.0]
    """

    def __init__(
        self,
        codes: FloatArray,
        y: FloatArray,
        weight: FloatArray,
        row_groups: npt.NDArray[Any] | None = None,
    ) -> None:
        self._known = np.unique(codes[~np.isnan(codes)])
        self._position = self._find(codes)
        self._y, self._weight = y, weight
        units = np.arange(len(y))
        if row_groups is not None:
            units = np.unique(row_groups, return_inverse=True)[1]
        self._inner = units % INNER_FOLDS

    def transform(self, x: FloatArray) -> FloatArray:
        """Mean targets of other rows, shape (n, n_outputs); the overall mean if never seen."""
        return self._means(np.ones(len(self._y), dtype=bool))[self._find(x)]

    def transform_training(self) -> FloatArray:
        """Mean targets of the training rows, each from the other inner folds: with its own
        target in it, a factor of many levels would seem to explain its training rows' noise."""
        encoded = np.empty(self._y.shape)
        for k in range(INNER_FOLDS):
            rows = self._inner == k
            encoded[rows] = self._means(~rows)[self._position[rows]]
        return encoded

    def _find(self, x: FloatArray) -> npt.NDArray[np.intp]:
        """Position among the known categories; their number for missing and new ones."""
        found = np.searchsorted(self._known, x)
        inside = found < len(self._known)
        matches = np.zeros(len(x), dtype=bool)
        matches[inside] = self._known[found[inside]] == x[inside]
        return np.where(matches, found, len(self._known))

    def _means(self, use: BoolArray) -> FloatArray:
        """Mean targets, one row per category and one for missing entries."""
        position, weight, y = self._position[use], self._weight[use], self._y[use]
        size = len(self._known) + 1
        overall = weight @ y / max(weight.sum(), 1e-300)
        count = np.bincount(position, weights=weight, minlength=size)[:, None]
        total = np.stack(
            [np.bincount(position, weights=weight * t, minlength=size) for t in y.T], axis=1
        )
        return np.asarray((total + PRIOR_WEIGHT * overall) / (count + PRIOR_WEIGHT))
