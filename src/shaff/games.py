"""From the `estimator` of `ShapleyEffects` to a value function: step 2 by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree
from sklearn.utils.class_weight import compute_sample_weight

from shaff.presets import PricedBy
from shaff.problem import Problem, Target
from shaff.protocols import ValueFunction
from shaff.resampling import resample_rows
from shaff.subsets import FloatArray, Subsets
from shaff.trees import is_booster
from shaff.trees.bags import check_targets, draw_bags, drawn_by_weight, forest_bags
from shaff.trees.forest import Forest, least_leaf, read_forest
from shaff.trees.growing import CategoryOrders, GrownForest, grow_forest
from shaff.values.boosters import as_regressor
from shaff.values.held_out import as_target, paper_forest, seeded
from shaff.values.projected_boosting import ProjectedBoosting
from shaff.values.projected_forest import ProjectedForest
from shaff.values.ridge import RidgeValues
from shaff.values.stack import StackedValues

FORESTS = (RandomForestRegressor, RandomForestClassifier, ExtraTreesRegressor, ExtraTreesClassifier)
BAGGED = (BaggingRegressor, BaggingClassifier)
# Fewer than the paper's: the unbiased error makes up for them.
DEFAULT_TREES = 100
SCOUT_TREES = 50
# "auto" leaves boosting only for something that explains more by this much.
MARGIN = 0.01
# Up to so many rows "auto" considers the stack: it prices a subset three times.
STACKED_ROWS = 5000
_NO_SPLITS = (
    "cv is not used: a forest is measured on the rows out of its bags, which are drawn at random. "
    'Boosting (estimator="boosting") keeps to it.'
)


@dataclass(frozen=True, eq=False)
class Game:
    """A value function with what the other steps may use of it.

    Parameters
    ----------
    values : ValueFunction
    name : str
        The estimator, for the result.
    gains : float array of shape (n_columns,) or None
        Share of each column in the split gains.
    forest : Forest or None
        Where the paths of `designs.forest_paths` come from.
    notes : tuple of str
    problem : Problem or None
        What is explained, where that is not the data as given.
    """

    values: ValueFunction
    name: str
    gains: FloatArray | None = None
    forest: Forest | None = None
    notes: tuple[str, ...] = ()
    problem: Problem | None = None


class NothingToExplainError(Exception):
    """The target does not vary."""

    def __init__(self, problem: Problem) -> None:
        super().__init__("y is constant: all effects are 0.")
        self.problem = problem


def check_varies(problem: Problem) -> None:
    """Raise `NothingToExplainError` for a target that is constant over the rows that count."""
    if np.ptp(problem.y[problem.counts], axis=0).max() == 0:
        raise NothingToExplainError(problem)


def make_game(estimator: Any, problem: Problem, forest_error: str = "unbiased") -> Game:
    """The value function that `estimator` stands for, fitted."""
    check_varies(problem)
    if estimator is None:
        estimator = "auto"
    if isinstance(estimator, str):
        if estimator not in NAMED_GAMES:
            names = ", ".join(repr(name) for name in NAMED_GAMES)
            raise ValueError(f"estimator={estimator!r} is unknown: use {names}, or a model.")
        return NAMED_GAMES[estimator](problem, forest_error)
    if isinstance(estimator, PricedBy):
        return priced_game(estimator, problem)
    if is_forest(estimator):
        return forest_game(estimator, problem, forest_error)
    if is_booster(as_regressor(estimator)):
        return boosting_game(problem, as_regressor(estimator))
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            f"estimator must be a name or a model with fit and predict, not {estimator!r}."
        )
    return surrogate_game(_fitted(estimator, problem, problem.frame), problem)


def is_forest(model: Any) -> bool:
    """Whether a model averages trees of scikit-learn."""
    if isinstance(model, BAGGED):
        return model.estimator is None or isinstance(model.estimator, BaseDecisionTree)
    return isinstance(model, FORESTS)


def is_projectable(model: Any) -> bool:
    """Whether the trees of a model can be projected; any other model needs a surrogate."""
    return is_forest(model) or is_booster(model)


def priced_game(priced_by: PricedBy, problem: Problem) -> Game:
    """A value function of another system of the paper's Table 1."""
    values = priced_by.value_function(problem)
    forest = priced_by.forest(problem, values)
    return Game(values, priced_by.values, None, forest, priced_by.notes(problem))


def forest_game(model: Any, problem: Problem, forest_error: str = "unbiased") -> Game:
    """Grow the forest and project it.

    Scikit-learn grows it where it can; categories, weights and row groups are beyond it.
    """
    plain = problem.sample_weight is None and problem.row_groups is None
    if not plain or problem.table.categorical.any():
        return _grown_game(model, problem, forest_error)
    grown = _fitted(model, problem)
    bags = forest_bags(grown, len(problem.X))
    return _projected(grown, bags, problem, forest_error)


def _grown_game(model: Any, problem: Problem, forest_error: str) -> Game:
    seed = getattr(model, "random_state", None)
    grown = grow_forest(
        model,
        problem.X,
        problem.y,
        categorical=problem.table.categorical,
        sample_weight=problem.sample_weight,
        growth_weight=_class_weight(model, problem),
        row_groups=problem.row_groups,
        n_jobs=problem.n_jobs,
        seed=int(seed) if isinstance(seed, int | np.integer) else problem.seed,
    )
    return _projected_game(model, grown, problem, forest_error)


def _class_weight(model: Any, problem: Problem) -> FloatArray | None:
    """The weights by which a classifier balances its classes."""
    if getattr(model, "class_weight", None) is None or problem.target.classes is None:
        return None
    # Balanced over all rows or over each bag: the difference is noise.
    rule = "balanced" if model.class_weight == "balanced_subsample" else model.class_weight
    weight = compute_sample_weight(rule, problem.target.labels)
    return np.asarray(weight, dtype=np.float64)


def fitted_game(
    model: Any, problem: Problem, rows: str, forest_error: str, n_labelled: int | None = None
) -> Game:
    """A model fitted elsewhere: its structure is kept, what it predicts is computed again."""
    if is_projectable(model):
        check_varies(problem)
        _check_numbers(problem)
    if is_forest(model):
        return _fitted_forest(model, problem, rows, forest_error)
    if rows == "training":
        raise ValueError(
            f'rows="training" needs a forest, whose bags tell which rows a tree has not seen; '
            f"{type(model).__name__} has none. Pass held-out rows."
        )
    if not is_booster(model):
        return surrogate_game(model, problem, n_labelled)
    values = ProjectedBoosting.from_fitted(
        model,
        problem.X,
        problem.y,
        players=problem.players,
        cv=problem.cv,
        row_groups=problem.row_groups,
        sample_weight=problem.sample_weight,
        n_jobs=problem.n_jobs,
        random_state=problem.seed,
    )
    return Game(values, "boosting", values.gains)


def _check_numbers(problem: Problem) -> None:
    """The codes that a fitted tree gave to categories are its own."""
    for name, is_category in zip(problem.table.names, problem.table.categorical, strict=True):
        if is_category:
            raise ValueError(
                f"Column {name!r} holds categories: pass the numbers that the model was fitted on, "
                "or let shaff fit the model (ShapleyEffects(model).fit)."
            )


def _fitted_forest(model: Any, problem: Problem, rows: str, forest_error: str) -> Game:
    """Out of bag on its training rows; on held-out rows each tree gets a new bag of these."""
    if model.n_features_in_ != problem.X.shape[1]:
        raise ValueError(
            f"The model was fitted on {model.n_features_in_} columns, X has {problem.X.shape[1]}."
        )
    if rows == "training":
        return _on_training_rows(model, problem, forest_error)
    n_trees = np.size(model.estimators_)
    bags = draw_bags(n_trees, len(problem.X), problem.row_groups, problem.seed)
    return _projected(model, bags, problem, forest_error)


def _on_training_rows(model: Any, problem: Problem, forest_error: str) -> Game:
    if problem.row_groups is not None:
        raise ValueError(
            "The bags of a fitted forest know no row_groups: rows of one group are in and out of "
            "them. Pass held-out rows, or let shaff fit the forest (ShapleyEffects(model).fit)."
        )
    bags = forest_bags(model, len(problem.X))
    weight = np.ones(len(problem.X))
    if problem.sample_weight is not None and not drawn_by_weight(model, bags):
        weight = problem.sample_weight
    check_targets(model, problem.y, bags * weight)
    return _projected(model, bags, problem, forest_error, weight)


def _projected(
    model: Any,
    bags: Any,
    problem: Problem,
    forest_error: str,
    cell_weight: FloatArray | None = None,
) -> Game:
    columns = getattr(model, "estimators_features_", None)
    forest = read_forest(list(np.ravel(model.estimators_)), problem.X.shape[1], columns)
    gains = getattr(model, "feature_importances_", None)
    grown = GrownForest(forest, bags, CategoryOrders.none(), gains)
    return _projected_game(model, grown, problem, forest_error, cell_weight)


def _projected_game(
    model: Any,
    grown: GrownForest,
    problem: Problem,
    forest_error: str,
    cell_weight: FloatArray | None = None,
) -> Game:
    values = ProjectedForest(
        grown.forest,
        problem.X,
        problem.y,
        grown.bags,
        sample_weight=problem.sample_weight,
        cell_weight=cell_weight,
        players=problem.players,
        min_node_size=least_leaf(model, len(problem.X)),
        error=forest_error,
        orders=grown.orders,
        n_jobs=problem.n_jobs,
    )
    game = Game(values, "forest", grown.gains, grown.forest)
    if problem.has_splits:
        return replace(game, notes=(_NO_SPLITS,), problem=replace(problem, cv=None))
    return game


def boosting_game(problem: Problem, model: Any = None) -> Game:
    """Projected boosting, cross-fitted."""
    values = ProjectedBoosting(
        problem.X,
        problem.y,
        estimator=model,
        players=problem.players,
        categorical=problem.table.categorical,
        cv=problem.cv,
        row_groups=problem.row_groups,
        sample_weight=problem.sample_weight,
        n_jobs=problem.n_jobs,
        random_state=problem.seed,
    )
    start = f"start of boosting: {values.start_.replace('_', ' ')}, {values.n_trees_} trees a fold."
    return Game(values, "boosting", values.gains, None, (start.capitalize(),))


def auto_game(problem: Problem, forest_error: str) -> Game:
    """Boosting, forest or their stack: what explains most of the rows it has not seen.

    They are compared with at most 50 trees in the forest; boosting wins near ties, because it
    shrinks least on small subsets too, and the stack is for data that are small enough for it.
    Only boosting keeps to the splits of a splitter.
    """
    boosting = boosting_game(problem)
    if problem.has_splits:
        return boosting
    scout = forest_game(paper_forest(SCOUT_TREES), problem)
    candidates = [boosting, scout]
    if len(problem.X) <= STACKED_ROWS:
        candidates.append(_stacked(problem, boosting, scout))
    everything = Subsets.full(len(problem.players))
    explained = {game.name: float(game.values.values(everything).v[0]) for game in candidates}
    chosen = "boosting"
    for name in explained:
        chosen = name if explained[name] > explained[chosen] + MARGIN else chosen
    compared = ", ".join(f"{name} {v:.3f}" for name, v in explained.items())
    note = (
        f"Chose {chosen} by the variance explained of rows not seen, boosting unless another has "
        f"{MARGIN} more: {compared}."
    )
    game = boosting
    if chosen != "boosting":
        forest = forest_game(paper_forest(DEFAULT_TREES), problem, forest_error)
        game = forest if chosen == "forest" else _stacked(problem, boosting, forest)
    return replace(game, notes=(note, *game.notes))


def stack_game(problem: Problem, forest_error: str) -> Game:
    """Ridge, projected forest and projected boosting, combined anew for each subset."""
    if problem.has_splits:
        raise ValueError(_NO_SPLITS)
    forest = forest_game(paper_forest(DEFAULT_TREES), problem, forest_error)
    return _stacked(problem, boosting_game(problem), forest)


def _stacked(problem: Problem, boosting: Game, forest: Game) -> Game:
    assert isinstance(boosting.values, ProjectedBoosting)
    ridge = RidgeValues(
        problem.X,
        problem.y,
        players=problem.players,
        categorical=problem.table.categorical,
        cv=problem.cv,
        row_groups=problem.row_groups,
        sample_weight=problem.sample_weight,
        random_state=problem.seed,
    )
    fold_of = np.zeros(len(problem.X), dtype=np.intp)
    for k, fold in enumerate(boosting.values.folds):
        fold_of[fold.test] = k
    parts = [ridge, forest.values, boosting.values]
    values = StackedValues(parts, problem.y, fold_of, problem.sample_weight)
    note = "Stack of ridge, projected forest and projected boosting."
    return Game(values, "stack", boosting.gains, forest.forest, (note, *boosting.notes))


def surrogate_game(model: Any, problem: Problem, n_labelled: int | None = None) -> Game:
    """Explain the labels that any fitted model gives to the rows, or to more rows like them."""
    X, rows = problem.X, problem.frame
    if n_labelled is not None and n_labelled > len(X):
        if problem.table.categorical.any():
            raise ValueError("n_labelled draws further rows of numbers; X has categories.")
        more = resample_rows(X, n_labelled - len(X), problem.table.categorical, problem.seed)
        rows = X = np.vstack([X, more])
        cv = None if problem.has_splits else problem.cv
        problem = replace(problem, sample_weight=None, row_groups=None, cv=cv)
    target = _labels(model, rows)
    labelled = replace(problem, frame=rows, table=replace(problem.table, X=X), target=target)
    check_varies(labelled)
    game = auto_game(labelled, "unbiased")
    note = (
        f"Explains the predictions of {type(model).__name__} on {len(X)} rows, through a "
        "surrogate: the model, not the data."
    )
    name, notes = f"surrogate {game.name}", (note, *game.notes)
    return replace(game, name=name, notes=notes, problem=labelled)


def _labels(model: Any, rows: Any) -> Target:
    """What a model says of rows: one output with two classes, else one for each of its classes."""
    predict = model.predict_proba if is_classifier(model) else model.predict
    labels = np.asarray(predict(rows), dtype=np.float64).reshape(len(rows), -1)
    name, classes = f"the predictions of {type(model).__name__}", None
    if is_classifier(model):
        classes = tuple(str(label) for label in model.classes_)
        labels = labels[:, 1:] if len(classes) == 2 else labels
    outputs = classes if classes is not None and len(classes) > 2 else None
    return Target(np.ascontiguousarray(labels), classes, name, outputs)


def _fitted(model: Any, problem: Problem, X: Any = None) -> Any:
    """A clone with our seed and number of jobs wherever the model leaves them open."""
    copy = seeded(model, problem.seed)
    if copy.get_params(deep=False).get("n_jobs", 0) is None:
        copy.set_params(n_jobs=problem.n_jobs)
    weight = {} if problem.sample_weight is None else {"sample_weight": problem.sample_weight}
    rows = problem.X if X is None else X
    return copy.fit(rows, _as_model_target(copy, problem), **weight)


def _as_model_target(model: Any, problem: Problem) -> Any:
    if is_classifier(model) and problem.target.labels is not None:
        return problem.target.labels
    return as_target(problem.y)


NAMED_GAMES: dict[str, Callable[[Problem, str], Game]] = {
    "auto": auto_game,
    "forest": lambda problem, error: forest_game(paper_forest(DEFAULT_TREES), problem, error),
    "boosting": lambda problem, error: boosting_game(problem),
    "stack": stack_game,
}
