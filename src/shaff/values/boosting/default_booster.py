"""The booster of ``estimator="boosting"``."""

from __future__ import annotations

from shaff.trees.histogram_booster import HistogramBooster

# Fewer leaves miss interactions (`benchmarks.accuracy`, experiment 2), more overfit few rows
# (`benchmarks.truth`).
FEWEST_LEAVES, MOST_LEAVES, ROWS_PER_LEAF = 20, 31, 250
FEW_ROWS = 5000
# Few rows: trees of as many leaves would only tell single rows apart.
SMALL_LEAVES, ROWS_PER_SMALL_LEAF = 10, 40
LEARNING_RATE = 0.07
# Whether leaves are linear, and how much more than steps their slopes are shrunk.
SLOPES, SLOPE_RATIO = False, 1.0


def default_booster(
    n_rows: int,
    learning_rate: float | None = None,
    leaves: int | None = None,
    slopes: bool | None = None,
) -> HistogramBooster:
    """The booster of ``estimator="boosting"``, without its number of trees.

    Half of the columns are offered to each node: otherwise a near copy of a column never gets a
    split, and its value would be near 0. Many rows carry more leaves, which interactions need, and
    more columns at each node.

    Examples
    --------
    >>> from shaff.values.boosting.default_booster import default_booster
    >>> [default_booster(n_rows).max_leaf_nodes for n_rows in (1000, 6000, 10_000)]
    [20, 24, 31]
    """
    most = min(MOST_LEAVES, max(FEWEST_LEAVES, n_rows // ROWS_PER_LEAF))
    most = min(most, max(SMALL_LEAVES, n_rows // ROWS_PER_SMALL_LEAF))
    return HistogramBooster(
        learning_rate=LEARNING_RATE if learning_rate is None else learning_rate,
        max_leaf_nodes=most if leaves is None else leaves,
        min_samples_leaf=5,
        shrinkage=5.0,
        max_features=0.5 if n_rows <= FEW_ROWS else 0.7,
        slope_ratio=SLOPE_RATIO if (SLOPES if slopes is None else slopes) else None,
    )
