"""Projected forests: grown on the data, or fitted elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from shaff._util.seeds import draw_seed
from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.errors import InputError, InputTypeError
from shaff.protocols import Game, LearnerFacts
from shaff.trees.bags import check_targets, draw_bags, drawn_by_weight, forest_bags
from shaff.trees.forest import least_leaf
from shaff.trees.growing import GrownForest, TreeSample, grow_forest
from shaff.trees.kinds import has_bags, paper_forest
from shaff.trees.units import ColumnRanks, ColumnShifts, ColumnUnits, in_range, on_grid
from shaff.values.forest.level_stop import LevelStopForest
from shaff.values.forest.projected_forest import CellRule, ProjectedForest
from shaff.values.models.fitting import fit_forest

# Fewer than the paper's: the unbiased error makes up for them.
# Fewer, and the ensemble error shows; more only takes time (`benchmarks.accuracy`).
DEFAULT_TREES = 100
# Trees per fold, where each fold sees columns of its own: no other trees predict its rows.
FOLD_TREES = 20
USUAL = CellRule()


def make_forest(problem: Problem, model: Any = None, how: CellRule = USUAL) -> Game:
    """Grow the forest and project it.

    Scikit-learn grows it where it can; categories, weights and row groups are beyond it.
    """
    if problem.views is not None:
        return _grown_by_fold(problem, how)
    units, seen = _own_units(problem) if model is None else _safe_units(problem, model)
    model = paper_forest(DEFAULT_TREES) if model is None else model
    plain = problem.sample_weight is None and problem.row_groups is None
    if plain and not problem.categorical.any():
        grown = GrownForest.of_fitted(fit_forest(model, seen), len(problem.X))
    else:
        grown = _grown(model, seen)
    return _projected_game(model, replace(grown, units=units), problem, how)


def _own_units(problem: Problem) -> tuple[ColumnUnits, Problem]:
    """The problem without units, for trees that do not depend on them."""
    units = ColumnRanks.of(problem.X, problem.categorical)
    return units, _seen(problem, units, on_grid(problem.y))


def _safe_units(problem: Problem, model: Any) -> tuple[ColumnUnits, Problem]:
    """The problem as it is, but for what the trees of a given forest could not hold."""
    units = ColumnShifts.of(problem.X, problem.categorical)
    return units, _seen(problem, units, in_range(problem.y, model))


def _seen(problem: Problem, units: ColumnUnits, y: FloatArray) -> Problem:
    other = problem.with_matrix(units.encode(problem.X))
    return replace(other, target=replace(problem.target, y=y))


def published_forest(problem: Problem, estimator: Any = None, *, error: str = "plain") -> Game:
    """Make the forest of the paper's experiments, with its plain out-of-bag error."""
    model = paper_forest() if estimator is None else estimator
    if not has_bags(model):
        raise InputTypeError(
            "Projected forests need a forest of scikit-learn with out-of-bag rows, "
            f"not {type(model).__name__}."
        )
    return make_forest(replace(problem, seed=draw_seed(problem.seed)), model, CellRule(error))


def fitted_forest(model: Any, problem: Problem, rows: str, how: CellRule = USUAL) -> Game:
    """Project a fitted forest: out of bag on its training rows; on held-out rows each tree gets a
    new bag of these."""
    if model.n_features_in_ != problem.X.shape[1]:
        raise InputError(
            f"The model was fitted on {model.n_features_in_} columns, X has {problem.X.shape[1]}."
        )
    if rows == "training":
        return _on_training_rows(model, problem, how)
    n_trees = np.size(model.estimators_)
    bags = draw_bags(n_trees, len(problem.X), problem.row_groups, problem.seed)
    return _projected(model, bags, problem, how)


def _on_training_rows(model: Any, problem: Problem, how: CellRule) -> Game:
    if problem.row_groups is not None:
        raise InputError(
            "The bags of a fitted forest do not respect row_groups: they separate rows of one "
            "group. Pass held-out rows, or let shaff fit the forest (ShapleyEffects(model).fit)."
        )
    bags = forest_bags(model, len(problem.X))
    weight = np.ones(len(problem.X))
    if problem.sample_weight is not None and not drawn_by_weight(model, bags):
        weight = problem.sample_weight
    check_targets(model, problem.y, bags * weight)
    return _projected(model, bags, problem, how, weight)


def _projected(
    model: Any,
    bags: Any,
    problem: Problem,
    how: CellRule,
    cell_weight: FloatArray | None = None,
) -> Game:
    grown = GrownForest.of_fitted(model, len(problem.X), bags)
    return _projected_game(model, grown, problem, how, cell_weight)


def _projected_game(
    model: Any,
    grown: GrownForest,
    problem: Problem,
    how: CellRule,
    cell_weight: FloatArray | None = None,
) -> Game:
    least = how.min_node_size or least_leaf(model, len(problem.X))
    kind = LevelStopForest if how.stop == "level" else ProjectedForest
    values = kind(problem, grown, min_node_size=least, cell_weight=cell_weight, error=how.error)
    game = Game(values, "forest", grown.gains, grown.forest)
    if problem.has_splits and problem.views is None:
        facts = LearnerFacts(ignores_cv=True)
        return replace(game, facts=facts, problem=replace(problem, cv=None))
    return game


def _grown_by_fold(problem: Problem, how: CellRule) -> Game:
    """Grow trees on the training rows of each fold, split on the columns that it may see.

    A row is predicted by the trees of the folds that hold it out: those of others were grown on
    columns that were chosen with its help.
    """
    assert problem.views is not None
    samples = []
    for seed in problem.views.seeds:
        for fold in problem.folds(seed):
            rows = np.zeros(len(problem.X), dtype=np.uint16)
            rows[fold.train] = 1
            samples.append(TreeSample(rows, np.flatnonzero(problem.visible(fold.train))))
    model, (units, seen) = paper_forest(FOLD_TREES), _own_units(problem)
    grown = replace(_grown(model, seen, samples), units=units)
    return _projected_game(model, grown, problem, how)


def _grown(model: Any, problem: Problem, samples: list[TreeSample] | None = None) -> GrownForest:
    seed = getattr(model, "random_state", None)
    return grow_forest(
        model,
        problem.X,
        problem.y,
        categorical=problem.table.categorical,
        sample_weight=problem.sample_weight,
        growth_weight=_class_weight(model, problem),
        row_groups=problem.row_groups,
        n_jobs=problem.n_jobs,
        seed=int(seed) if isinstance(seed, int | np.integer) else problem.seed,
        samples=samples,
    )


def _class_weight(model: Any, problem: Problem) -> FloatArray | None:
    """The weights by which a classifier balances its classes."""
    if getattr(model, "class_weight", None) is None or problem.target.classes is None:
        return None
    # Balanced over all rows or over each bag: the difference is noise.
    rule = "balanced" if model.class_weight == "balanced_subsample" else model.class_weight
    weight = compute_sample_weight(rule, problem.target.labels)
    return np.asarray(weight, dtype=np.float64)
