"""The booster of ``estimator="boosting"``."""

from __future__ import annotations

import numpy as np

from shaff.trees.histogram_booster import HistogramBooster

# Leaves are linear, so that few are enough; more overfit (`benchmarks.values`, `benchmarks.truth`).
LEAVES = 8
# A slower rate takes more trees for the same values, a faster one fits noise (`benchmarks.values`).
LEARNING_RATE = 0.15
# How much more than steps the slopes of a leaf are shrunk. More, and lines become steps again;
# less, and leaves of few rows fit noise (`benchmarks.values`).
SLOPE_RATIO = 0.5
# Shares of the columns that a node looks at, with few rows and with many.
FEW_ROWS, MANY_ROWS = 2000, 16_000
SHARE_OF_FEW, SHARE_OF_MANY = 0.5, 0.7


def default_booster(
    n_rows: int,
    learning_rate: float = LEARNING_RATE,
    leaves: int = LEAVES,
    slopes: bool = True,
) -> HistogramBooster:
    """The booster of ``estimator="boosting"``, without its number of trees.

    Half of the columns are offered to each node: otherwise a near copy of a column never gets a
    split, and its value would be near 0. With many rows more columns are.

    Examples
    --------
    >>> from shaff.values.boosting.default_booster import default_booster
    >>> [default_booster(n_rows).max_features for n_rows in (1000, 16_000)]
    [0.5, 0.7]
    """
    share = np.interp(np.log(n_rows), np.log([FEW_ROWS, MANY_ROWS]), [SHARE_OF_FEW, SHARE_OF_MANY])
    return HistogramBooster(
        learning_rate=learning_rate,
        max_leaf_nodes=leaves,
        min_samples_leaf=5,
        shrinkage=5.0,
        max_features=float(share),
        slope_ratio=SLOPE_RATIO if slopes else None,
    )
