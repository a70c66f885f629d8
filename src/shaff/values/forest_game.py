"""The projected forest of data: a forest fitted, read and projected in one call."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from shaff.datasets import RandomState
from shaff.trees.bags import forest_bags
from shaff.trees.forest import least_leaf, read_forest
from shaff.values.arrays import Players, read_arrays
from shaff.values.held_out import as_target, draw_seed, has_bags, paper_forest, seeded
from shaff.values.projected_forest import ProjectedForest


def projected_forest_game(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    estimator: Any = None,
    *,
    players: Players | None = None,
    error: str = "plain",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> ProjectedForest:
    """Fit a forest and price subsets by its projections, with the paper's out-of-bag error.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    y : array of shape (n_rows,) or (n_rows, n_outputs)
    estimator : scikit-learn forest with out-of-bag rows, optional
        By default the forest of the paper.
    players : list of column-index arrays, optional
    error : {"plain", "unbiased"}
        See `ProjectedForest`.
    n_jobs : int, optional
    random_state : int, RandomState or None

    Examples
    --------
    >>> from shaff.datasets import experiment_2
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.forest_game import projected_forest_game
    >>> from shaff.values.held_out import paper_forest
    >>> exp = experiment_2(n=500, random_state=0)
    >>> game = projected_forest_game(exp.X, exp.y, paper_forest(30), random_state=0)
    >>> bool(game.values(Subsets.full(15)).v > 0.4)
    True
    """
    arrays = read_arrays(X, y, players, None, None)
    model = seeded(paper_forest() if estimator is None else estimator, draw_seed(random_state))
    if not has_bags(model):
        raise TypeError(
            "Projected forests need a forest of scikit-learn with out-of-bag rows, "
            f"not {type(model).__name__}."
        )
    model.fit(arrays.X, as_target(arrays.y))
    return ProjectedForest(
        read_forest(model.estimators_, arrays.X.shape[1]),
        arrays.X,
        arrays.y,
        forest_bags(model, len(arrays.X)),
        players=arrays.players,
        min_node_size=least_leaf(model, len(arrays.X)),
        error=error,
        n_jobs=n_jobs,
    )
