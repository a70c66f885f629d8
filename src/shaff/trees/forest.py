"""Scikit-learn forests as node arrays, on the ranks of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.typing import IntpArray

CodeArray = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Forest:
    """Node arrays of all trees end to end; a leaf has feature -1.

    A row goes left if ``float32(x) <= threshold``, or if x is missing and ``missing_left``.

    Parameters
    ----------
    offsets : int64 array of shape (n_trees + 1,)
    feature, left, right : int32 arrays of shape (n_nodes,)
        Children are numbered within their tree.
    threshold : float64 array of shape (n_nodes,)
    missing_left : uint8 array of shape (n_nodes,)
    n_columns : int
    """

    offsets: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.uint8]
    n_columns: int

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.offsets) - 1


def read_forest(trees: list[Any], n_columns: int, columns: list[IntpArray] | None = None) -> Forest:
    """Copy the node arrays of fitted scikit-learn trees.

    ``columns[t]`` maps the features of tree t to columns of the data, for trees that were grown
    on some columns only.
    """
    parts = [tree.tree_ for tree in trees]
    counts = [part.node_count for part in parts]
    features = []
    for t, part in enumerate(parts):
        feature = np.where(part.children_left < 0, -1, part.feature)
        if columns is not None:
            feature = np.where(feature < 0, -1, columns[t][np.maximum(feature, 0)])
        features.append(feature)
    return Forest(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate(features).astype(np.int32),
        np.concatenate([part.children_left for part in parts]).astype(np.int32),
        np.concatenate([part.children_right for part in parts]).astype(np.int32),
        np.concatenate([part.threshold for part in parts]).astype(np.float64),
        np.concatenate([part.missing_go_to_left for part in parts]).astype(np.uint8),
        n_columns,
    )


@dataclass(frozen=True, eq=False)
class RankedData:
    """A matrix as ranks, column-major; the largest code stands for a missing value."""

    codes: CodeArray
    levels: tuple[npt.NDArray[np.float32], ...]
    has_missing: npt.NDArray[np.uint8]

    @classmethod
    def from_matrix(cls, X: npt.ArrayLike) -> RankedData:
        """Rank each column of X, of shape (n_rows, n_columns), as float32."""
        columns = np.asarray(X, dtype=np.float32).T
        levels = tuple(np.unique(column[~np.isnan(column)]) for column in columns)
        wide = max((len(level) for level in levels), default=0) >= np.iinfo(np.uint16).max
        dtype = np.uint32 if wide else np.uint16
        codes = np.empty(columns.shape, dtype=dtype)
        for code, level, column in zip(codes, levels, columns, strict=True):
            missing = np.isnan(column)
            code[:] = np.searchsorted(level, column)
            code[missing] = np.iinfo(dtype).max
        has_missing = np.asarray(np.isnan(columns).any(axis=1), dtype=np.uint8)
        return cls(codes, levels, has_missing)

    def cuts(self, forest: Forest) -> npt.NDArray[np.uint32]:
        """Each node's threshold as a rank: codes below it go left."""
        cut = np.zeros(len(forest.feature), dtype=np.uint32)
        order = np.argsort(forest.feature, kind="stable")
        bounds = np.searchsorted(forest.feature[order], np.arange(len(self.levels) + 1))
        for level, begin, end in zip(self.levels, bounds[:-1], bounds[1:], strict=True):
            nodes = order[begin:end]
            threshold = forest.threshold[nodes]
            ranks = np.searchsorted(level.astype(np.float64), threshold, side="right")
            # Scikit-learn before 1.7 may leave NaN as a threshold: no value is <= NaN.
            cut[nodes] = np.where(np.isnan(threshold), 0, ranks)
        return cut


def least_leaf(model: Any, n_rows: int) -> float:
    """The fewest rows in a leaf of a forest's trees, which is the stopping rule of projections too.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.trees.forest import least_leaf
    >>> least_leaf(RandomForestRegressor(min_samples_leaf=0.01), 500)
    5.0
    """
    # Of a bagged model the trees are a part, of a forest of scikit-learn they are the class.
    size = model.get_params().get(
        "estimator__min_samples_leaf", getattr(model, "min_samples_leaf", 1)
    )
    return float(size) if size >= 1 else float(np.ceil(size * n_rows))
