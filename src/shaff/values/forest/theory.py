"""`TheoryForest`: the forest of the paper's theorem, as the ``estimator`` of `ShapleyEffects`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Game, ValueSetting
from shaff.trees.theory_forest import TheoryGrowth, grow_theory_forest
from shaff.values.forest.projected_forest import ERRORS, ProjectedForest


@dataclass(frozen=True)
class TheoryForest(TheoryGrowth, ValueSetting):
    """The forest for which the paper proves consistency, as the ``estimator`` of `ShapleyEffects`.

    It is there to study the theorem; `ForestValues` is faster and as accurate.

    Parameters
    ----------
    n_trees : int, default=500
        Number of trees M.
    subsample : float, default=0.5
        Share of the rows that each tree is grown on, drawn without replacement; below 1.
    gamma : float, default=0.05
        Least share of the rows of a node on either side of its split, below 0.5.
    delta : float, default=0.05
        Probability that a node looks at one random column in place of ``max_features``.
    max_features : float, default=1/3
        Share of the columns that a node looks at otherwise.
    min_node_size : int, default=5
        Fewest rows of a leaf, and of a projected cell.
    error : {"unbiased", "plain"}, default="plain"
        As in `ForestValues`.

    Examples
    --------
    >>> from shaff import ForestPaths, ShapleyEffects
    >>> from shaff.datasets import experiment_2
    >>> from shaff.values.forest.theory import TheoryForest
    >>> data = experiment_2(n=300, random_state=0)
    >>> design = ForestPaths(n_draws=200, paired_weights="published")
    >>> est = ShapleyEffects(TheoryForest(20), design=design, random_state=0).fit(data.X, data.y)
    >>> est.result_.estimator
    'theory_forest'
    """

    error: str = "plain"

    name = "theory_forest"

    def __post_init__(self) -> None:
        limits = {"subsample": (0, 1), "gamma": (0, 0.5), "delta": (0, 1), "max_features": (0, 1)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"TheoryForest: {name}={value!r} is not in [{low}, {high}].")
        if self.error not in ERRORS:
            raise InputError(f"TheoryForest: error={self.error!r}: use one of {ERRORS}.")

    def make(self, problem: Problem) -> Game:
        """Grow the forest on these data, and project it."""
        if problem.categorical.any() or np.isnan(problem.X).any():
            raise InputError("TheoryForest takes numbers without gaps: no categories, no NaN.")
        if problem.sample_weight is not None or problem.row_groups is not None:
            raise InputError("TheoryForest takes neither sample_weight nor row_groups.")
        grown = grow_theory_forest(problem.X, problem.y, self, problem.seed)
        least = float(self.min_node_size)
        values = ProjectedForest(problem, grown, min_node_size=least, error=self.error)
        return Game(values, self.name, forest=grown.forest)
