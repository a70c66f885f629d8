"""The arrays that cross-fitted value functions take, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff.subsets import BoolArray, FloatArray

Players = Sequence[npt.NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Arrays:
    """Rows, targets, players and weights.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
    y : float array of shape (n_rows, n_outputs)
    players : list of int arrays
    categorical : bool array of shape (n_columns,)
    weight : float array of shape (n_rows,)
    row_groups : array of shape (n_rows,) or None
    """

    X: FloatArray
    y: FloatArray
    players: list[npt.NDArray[np.intp]]
    categorical: BoolArray
    weight: FloatArray
    row_groups: npt.NDArray[Any] | None = None


def read_arrays(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    players: Players | None,
    categorical: npt.ArrayLike | None,
    sample_weight: npt.ArrayLike | None,
    row_groups: npt.ArrayLike | None = None,
) -> Arrays:
    """Check shapes and fill in what is None.

    Examples
    --------
    >>> from shaff.values.arrays import read_arrays
    >>> read_arrays([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0], None, None, None).y.shape
    (2, 1)
    """
    data = np.ascontiguousarray(X, dtype=np.float64)
    target = np.asarray(y, dtype=np.float64)
    target = target[:, None] if target.ndim == 1 else target
    if data.ndim != 2 or target.ndim != 2 or len(data) != len(target):
        raise ValueError(f"X of shape {data.shape} and y of shape {target.shape} do not match.")
    if not np.isfinite(target).all():
        raise ValueError("y has missing or infinite entries.")
    if np.isinf(data).any():
        raise ValueError("X has infinite entries.")
    n, p = data.shape
    mask = np.zeros(p, dtype=bool) if categorical is None else np.asarray(categorical, dtype=bool)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if mask.shape != (p,):
        raise ValueError(f"categorical has shape {mask.shape}, expected ({p},).")
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must hold one non-negative number a row.")
    if weight.sum() <= 0:
        raise ValueError("sample_weight is zero everywhere.")
    columns = range(p) if players is None else players
    return Arrays(data, target, [np.atleast_1d(np.asarray(c, dtype=np.intp)) for c in columns],
                  mask, weight, None if row_groups is None else np.asarray(row_groups))  # fmt: skip
