"""Tasks of the workers when boosters grow elsewhere."""

from __future__ import annotations

from typing import Any

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.trees import boosters
from shaff.trees.boosters import read_ensemble
from shaff.trees.ensemble import Ensemble
from shaff.trees.histogram_booster import Growth
from shaff.values.boosting.fold import FoldColumns, in_halves


class SharedBins:
    """The training rows of all folds, in bins and standardised, for workers to grow trees on."""

    def __init__(self, columns: list[FoldColumns], n_outputs: int) -> None:
        self.rows = [[own.binned(k).training_rows for k in range(n_outputs)] for own in columns]


def grow_more(bins: SharedBins, fold: int, output: int, growth: Growth, n_trees: int) -> Growth:
    """Grow more trees of one booster of one fold: the task of a worker."""
    there = growth.with_rows(*bins.rows[fold][output])
    there.grow(n_trees)
    return there.without_rows()


def fit_fold(
    data: Problem, fold: int, output: int, native: bool, y: FloatArray, estimator: Any, seed: int
) -> Ensemble:
    """Fit the given booster on one fold, from the data alone: the task of a worker."""
    own = in_halves(data.folds(data.seed)[fold], data.row_groups)
    columns = FoldColumns(data, own, native)
    weight = None if data.sample_weight is None else data.sample_weight[own.train]
    clone = boosters.prepare(estimator, columns.categorical, seed)
    X = columns.training(data.X[own.train], output)
    return read_ensemble(boosters.fit(clone, X, y, weight, columns.categorical))
