"""The booster of ``estimator="boosting"``."""

from __future__ import annotations

import numpy as np

from shaff.trees.histogram_booster import HistogramBooster

# Leaves are linear, so that few are enough for few rows; more overfit (`benchmarks.values`,
# `benchmarks.truth`). With many rows larger and fewer trees are as accurate, and replaying them
# takes half of the time (`benchmarks.sizes`).
FEW_LEAVES, MANY_LEAVES = 8, 16
# A slower rate takes more trees for the same values, a faster one fits noise (`benchmarks.values`).
SLOW_RATE, FAST_RATE = 0.15, 0.3
# Rows from which on trees grow larger, and rows at which they are largest.
SMALL_TREE_ROWS, LARGE_TREE_ROWS = 2000, 50_000
# How much more than steps the slopes of a leaf are shrunk. More, and lines become steps again;
# less, and leaves of few rows fit noise (`benchmarks.values`).
SLOPE_RATIO = 0.5
# Shares of the columns that a node looks at, with few rows and with many.
FEW_ROWS, MANY_ROWS = 2000, 16_000
SHARE_OF_FEW, SHARE_OF_MANY = 0.5, 0.7


def default_booster(
    n_rows: int,
    learning_rate: float | None = None,
    leaves: int | None = None,
    slopes: bool = True,
) -> HistogramBooster:
    """The booster of ``estimator="boosting"``, without its number of trees.

    Half of the columns are offered to each node: otherwise a near copy of a column never gets a
    split, and its value would be near 0. With many rows more columns are. Learning rate and leaves
    are those for so many rows, unless they are given.

    Examples
    --------
    >>> from shaff.values.boosting.default_booster import default_booster
    >>> few, many = default_booster(1000), default_booster(100_000)
    >>> few.max_features, few.learning_rate, few.max_leaf_nodes
    (0.5, 0.15, 8)
    >>> many.max_features, many.learning_rate, many.max_leaf_nodes
    (0.7, 0.3, 16)
    """
    rows, trees = (FEW_ROWS, MANY_ROWS), (SMALL_TREE_ROWS, LARGE_TREE_ROWS)
    rate = _by_rows(n_rows, trees, (SLOW_RATE, FAST_RATE))
    most = round(_by_rows(n_rows, trees, (FEW_LEAVES, MANY_LEAVES)))
    return HistogramBooster(
        learning_rate=rate if learning_rate is None else learning_rate,
        max_leaf_nodes=most if leaves is None else leaves,
        min_samples_leaf=5,
        shrinkage=5.0,
        max_features=_by_rows(n_rows, rows, (SHARE_OF_FEW, SHARE_OF_MANY)),
        slope_ratio=SLOPE_RATIO if slopes else None,
    )


def _by_rows(n_rows: int, rows: tuple[int, int], settings: tuple[float, float]) -> float:
    """A setting that moves with the logarithm of the number of rows, from one end to the other."""
    return float(np.interp(np.log(n_rows), np.log(rows), settings))
