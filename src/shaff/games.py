"""From the `estimator` of `ShapleyEffects` to a value function: step 2 by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from shaff.presets import PricedBy
from shaff.problem import Problem
from shaff.protocols import ValueFunction
from shaff.subsets import FloatArray, Subsets
from shaff.trees import is_booster
from shaff.trees.bags import draw_bags, forest_bags
from shaff.trees.forest import Forest, read_forest
from shaff.values.projected_boosting import ProjectedBoosting
from shaff.values.projected_forest import ProjectedForest

FORESTS = (RandomForestRegressor, RandomForestClassifier, ExtraTreesRegressor, ExtraTreesClassifier)
BAGGED = (BaggingRegressor, BaggingClassifier)
DEFAULT_TREES = 100
SCOUT_TREES = 50
# "auto" takes the forest only if it explains more by this much: boosting's bias is smaller.
FOREST_MARGIN = 0.01


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
    """

    values: ValueFunction
    name: str
    gains: FloatArray | None = None
    forest: Forest | None = None
    notes: tuple[str, ...] = ()


def make_game(estimator: Any, problem: Problem, forest_error: str = "unbiased") -> Game:
    """The value function that `estimator` stands for, fitted."""
    if estimator is None:
        estimator = "auto"
    if isinstance(estimator, str):
        if estimator not in NAMED_GAMES:
            names = ", ".join(repr(name) for name in NAMED_GAMES)
            raise ValueError(f"estimator={estimator!r} is unknown: use {names}, or a model.")
        return NAMED_GAMES[estimator](problem, forest_error)
    if isinstance(estimator, PricedBy):
        return priced_game(estimator, problem)
    if isinstance(estimator, FORESTS + BAGGED):
        return forest_game(estimator, problem, forest_error)
    if is_booster(estimator):
        return boosting_game(problem, estimator)
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            f"estimator must be a name or a model with fit and predict, not {estimator!r}."
        )
    return surrogate_game(_fitted(estimator, problem), problem)


def priced_game(priced_by: PricedBy, problem: Problem) -> Game:
    """A value function of another system of the paper's Table 1."""
    values = priced_by.value_function(problem)
    forest = priced_by.forest(problem, values)
    return Game(values, priced_by.values, None, forest, priced_by.notes(problem))


def default_forest(n_trees: int = DEFAULT_TREES) -> RandomForestRegressor:
    """The paper's forest with fewer trees: the unbiased error makes up for them."""
    return RandomForestRegressor(n_trees, max_features=1 / 3, min_samples_leaf=5)


def forest_game(model: Any, problem: Problem, forest_error: str = "unbiased") -> Game:
    """Grow the forest and project it."""
    grown = _fitted(model, problem)
    bags = forest_bags(grown, len(problem.X))
    return _projected(grown, bags, problem, forest_error)


def fitted_game(model: Any, problem: Problem, rows: str, forest_error: str) -> Game:
    """A model fitted elsewhere: its structure is kept, what it predicts is computed again."""
    if isinstance(model, FORESTS + BAGGED):
        return _fitted_forest(model, problem, rows, forest_error)
    if rows == "training":
        raise ValueError(
            f'rows="training" needs a forest, whose bags tell which rows a tree has not seen; '
            f"{type(model).__name__} has none. Pass held-out rows."
        )
    if not is_booster(model):
        return surrogate_game(model, problem)
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


def _fitted_forest(model: Any, problem: Problem, rows: str, forest_error: str) -> Game:
    """Out of bag on its training rows; on held-out rows each tree gets a new bag of these."""
    if model.n_features_in_ != problem.X.shape[1]:
        raise ValueError(
            f"The model was fitted on {model.n_features_in_} columns, X has {problem.X.shape[1]}."
        )
    if rows == "training":
        bags = forest_bags(model, len(problem.X))
    else:
        n_trees = np.size(model.estimators_)
        bags = draw_bags(n_trees, len(problem.X), problem.row_groups, problem.seed)
    return _projected(model, bags, problem, forest_error)


def _projected(model: Any, bags: Any, problem: Problem, forest_error: str) -> Game:
    columns = getattr(model, "estimators_features_", None)
    forest = read_forest(list(np.ravel(model.estimators_)), problem.X.shape[1], columns)
    values = ProjectedForest(
        forest,
        problem.X,
        problem.y,
        bags,
        sample_weight=problem.sample_weight,
        players=problem.players,
        min_node_size=_min_node_size(model, len(problem.X)),
        error=forest_error,
        n_jobs=problem.n_jobs,
    )
    gains = getattr(model, "feature_importances_", None)
    return Game(values, "forest", gains, forest)


def _min_node_size(model: Any, n_rows: int) -> float:
    """The stopping rule of the projection is that of the trees."""
    tree = getattr(model, "estimator", None) if isinstance(model, BAGGED) else model
    size = getattr(tree, "min_samples_leaf", 1)
    return float(size) if size >= 1 else float(np.ceil(size * n_rows))


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
    """Boosting or forest, whichever explains more of the rows it has not seen."""
    boosting = boosting_game(problem)
    everything = Subsets.full(len(problem.players))
    by_boosting = float(boosting.values.values(everything).v[0])
    scout = forest_game(default_forest(SCOUT_TREES), problem)
    by_forest = float(scout.values.values(everything).v[0])
    chosen = boosting
    if by_forest > by_boosting + FOREST_MARGIN:
        chosen = forest_game(default_forest(), problem, forest_error)
    note = (
        f"Chose {chosen.name}: boosting explains {by_boosting:.3f} and a forest {by_forest:.3f} "
        "of the variance of rows they have not seen."
    )
    return Game(chosen.values, chosen.name, chosen.gains, chosen.forest, (note, *chosen.notes))


def surrogate_game(model: Any, problem: Problem) -> Game:
    """Explain the labels that any fitted model gives to the rows."""
    labels = model.predict_proba(problem.X) if is_classifier(model) else model.predict(problem.X)
    labels = np.asarray(labels, dtype=np.float64).reshape(len(problem.X), -1)
    target = type(problem.target)(labels, problem.target.classes, problem.target.name)
    labelled = Problem(**{**problem.__dict__, "target": target})
    game = auto_game(labelled, "unbiased")
    note = (
        f"Explains the predictions of {type(model).__name__}, through a surrogate: the model, "
        "not the data."
    )
    return Game(game.values, f"surrogate {game.name}", game.gains, game.forest, (note, *game.notes))


def _fitted(model: Any, problem: Problem) -> Any:
    """A clone with our seed and number of jobs wherever the model leaves them open."""
    copy = clone(model)
    settings = {"random_state": problem.seed, "n_jobs": problem.n_jobs}
    parameters = copy.get_params()
    copy.set_params(
        **{k: v for k, v in settings.items() if k in parameters and parameters[k] is None}
    )
    weight = {} if problem.sample_weight is None else {"sample_weight": problem.sample_weight}
    return copy.fit(problem.X, _as_model_target(copy, problem), **weight)


def _as_model_target(model: Any, problem: Problem) -> Any:
    if is_classifier(model) and problem.target.classes is not None:
        return problem.y.argmax(axis=1)
    return problem.y[:, 0] if problem.y.shape[1] == 1 else problem.y


NAMED_GAMES: dict[str, Callable[[Problem, str], Game]] = {
    "auto": auto_game,
    "forest": lambda problem, error: forest_game(default_forest(), problem, error),
    "boosting": lambda problem, error: boosting_game(problem),
}
