"""Standardised columns: what the leaves of the default booster may be linear in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shaff._util.ridge import usable_scales, weighted_means
from shaff._util.typing import BoolArray, FloatArray

# Standard deviations from the mean: values beyond would decide a slope by themselves.
MOST_DEVIATIONS = 6.0
ValueArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and standard deviations of the columns.

    Parameters
    ----------
    mean, scale : float arrays of shape (n_columns,)
        The scale is inf, which leaves 0, for a column without slopes: of categories, or constant.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.trees.scaling import Scaling
    >>> X = np.array([[1.0], [3.0], [np.nan], [1e6]])
    >>> Scaling.of(X[:3], np.array([False])).apply(X).tolist()
    [[-1.0, 1.0, 0.0, 6.0]]
    """

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, X: FloatArray, categorical: BoolArray, weight: FloatArray | None = None) -> Scaling:
        """Measure the columns of some rows; weights count as repeated rows."""
        weight = np.ones(len(X)) if weight is None else weight
        # Numbers too large to be squared have no scale, and no slope.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = weighted_means(X, weight)
            spread = np.sqrt(weighted_means((X - mean) ** 2, weight))
            scale = usable_scales(mean, spread)
        return cls(mean, np.where(categorical | ~np.isfinite(spread), np.inf, scale))

    def apply(self, X: FloatArray) -> ValueArray:
        """Standardise rows, shape (n_columns, n_rows); what is missing is at the mean."""
        with np.errstate(over="ignore", invalid="ignore"):
            deviation = np.nan_to_num((X - self.mean) / self.scale, nan=0.0)
        within = np.clip(deviation, -MOST_DEVIATIONS, MOST_DEVIATIONS)
        return np.ascontiguousarray(within.T, dtype=np.float32)
