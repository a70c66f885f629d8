"""The forest of the paper's theorem: subsamples, no thin slices, now and then a random column.

Theorem 1 of the paper is about a forest that differs from Breiman's in three ways: trees see
subsamples without replacement in place of bootstrap samples; a split leaves at least a share gamma
of the rows of its node on either side; and with a small probability delta a node looks at one
random column only, so that every subset of columns occurs on some path. No library grows such
trees, hence a grower of our own: plain NumPy, node by node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray, IntpArray
from shaff.trees.bags import draw_bags
from shaff.trees.forest import Forest
from shaff.trees.growing import CategoryOrders, GrownForest


@dataclass(frozen=True)
class TheoryGrowth:
    """How the trees grow; `shaff.values.forest.theory.TheoryForest` says what each number means."""

    n_trees: int = 500
    subsample: float = 0.5
    gamma: float = 0.05
    delta: float = 0.05
    max_features: float = 1 / 3
    min_node_size: int = 5


@dataclass(eq=False)
class _Nodes:
    """A tree as it grows; -1 stands for no column and no child."""

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)

    def add(self) -> int:
        self.feature.append(-1)
        self.threshold.append(0.0)
        self.left.append(-1)
        self.right.append(-1)
        return len(self.feature) - 1


def grow_theory_forest(
    X: FloatArray, y: FloatArray, growth: TheoryGrowth, seed: int
) -> GrownForest:
    """Grow the forest on numbers without gaps; ``y`` has shape (n_rows, n_outputs)."""
    rng = np.random.RandomState(seed)
    bags = draw_bags(
        growth.n_trees, len(X), None, rng.randint(2**31 - 1), growth.subsample, replace=False
    )
    seen = X.astype(np.float32)
    trees = [_grow(seen, y, np.flatnonzero(bag), growth, rng) for bag in bags]
    return GrownForest(_joined(trees, X.shape[1]), bags, CategoryOrders.none())


def _grow(
    X: npt.NDArray[np.float32],
    y: FloatArray,
    rows: IntpArray,
    growth: TheoryGrowth,
    rng: np.random.RandomState,
) -> _Nodes:
    nodes, stack = _Nodes(), []
    stack.append((nodes.add(), rows))
    while stack:
        node, inside = stack.pop()
        split = _best_split(X, y, inside, _candidates(X.shape[1], growth, rng), growth)
        if split is None:
            continue
        column, threshold = split
        goes_left = X[inside, column] <= threshold
        nodes.feature[node], nodes.threshold[node] = column, threshold
        nodes.left[node], nodes.right[node] = nodes.add(), nodes.add()
        stack.append((nodes.left[node], inside[goes_left]))
        stack.append((nodes.right[node], inside[~goes_left]))
    return nodes


def _candidates(n_columns: int, growth: TheoryGrowth, rng: np.random.RandomState) -> IntpArray:
    """The columns that a node may split on: one at random with probability delta."""
    usual = max(1, int(growth.max_features * n_columns))
    size = 1 if rng.random_sample() < growth.delta else usual
    return rng.permutation(n_columns)[:size]


def _best_split(
    X: npt.NDArray[np.float32],
    y: FloatArray,
    rows: IntpArray,
    columns: IntpArray,
    growth: TheoryGrowth,
) -> tuple[int, float] | None:
    """The column and threshold that explain most of y; None where no cut is allowed.

    A child has at least ``min_node_size`` rows, and at least the share gamma of them.
    """
    least = max(growth.min_node_size, int(np.ceil(growth.gamma * len(rows))))
    if len(rows) < 2 * least:
        return None
    best, found = -np.inf, None
    for column in columns:
        x = X[rows, column]
        order = np.argsort(x, kind="stable")
        gains = _gains(x[order], y[rows[order]], least)
        cut = int(np.argmax(gains))
        if gains[cut] > best:
            best, below = gains[cut], x[order][least - 1 + cut : least + 1 + cut]
            found = int(column), _between(below[0], below[1])
    return found


def _gains(x: npt.NDArray[np.float32], y: FloatArray, least: int) -> FloatArray:
    """Explained squares of cuts after ``least``, ``least`` + 1, ... rows; -inf inside ties."""
    n = len(x)
    sums = np.cumsum(y, axis=0)
    k = np.arange(least, n - least + 1)
    left, total = sums[k - 1], sums[-1]
    gains = ((left**2).T / k + ((total - left) ** 2).T / (n - k)).sum(axis=0)
    return np.where(x[k - 1] < x[np.minimum(k, n - 1)], gains, -np.inf)


def _between(low: np.float32, high: np.float32) -> float:
    """A threshold that sends ``low`` to the left and ``high`` to the right."""
    middle = (float(low) + float(high)) / 2
    return middle if middle < float(high) else float(low)


def _joined(trees: list[_Nodes], n_columns: int) -> Forest:
    counts = [len(tree.feature) for tree in trees]

    def together(name: str, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.concatenate([np.asarray(getattr(tree, name)) for tree in trees]).astype(kind)

    feature = together("feature", np.int32)
    return Forest(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        feature,
        together("left", np.int32),
        together("right", np.int32),
        together("threshold", np.float64),
        np.zeros(len(feature), dtype=np.uint8),
        n_columns,
    )
