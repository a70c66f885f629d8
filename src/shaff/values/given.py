"""Models that the user gives: how the outcome is explained by them.

One rule for all: trees that can be read are projected, also behind steps that can be seen through;
a model that is quickly fitted is fitted anew on the columns of each subset, if it is to be fitted
here; in the place of any other model learners of shaff explain the outcome. What the model itself
explains of held-out rows is said beside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from shaff.data.problem import Problem
from shaff.errors import InputError, UserError
from shaff.protocols import Game, LearnerFacts
from shaff.trees.boosters import as_regressor, codes_itself, is_booster, read_ensemble
from shaff.trees.ensemble import Ensemble
from shaff.trees.kinds import is_forest
from shaff.trees.library import UnreadableTreesError
from shaff.trees.wrapped import unwrap
from shaff.values.boosting.grown import fitted_boosting, make_boosting
from shaff.values.forest.grown import make_forest
from shaff.values.forest.setting import ForestValues
from shaff.values.models.asking import model_name, reads_by_position
from shaff.values.models.fitting import fit_as_given, held_out_score
from shaff.values.models.probabilities import IndicatorModel
from shaff.values.models.retrained import RetrainedValues, is_quickly_fitted
from shaff.values.models.seeing_through import SeenThrough, fit_steps, see_through
from shaff.values.models.surrogate import (
    explained_by_itself,
    explained_in_place,
    fitted_surrogate,
)

# What effects are shares of the variance of.
Explained = Literal["outcome", "predictions"]


def is_projectable(model: Any) -> bool:
    """Whether the trees of a model can be projected once it is fitted, alone or as the last step of
    a pipeline.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shaff.values.given import is_projectable
    >>> is_projectable(make_pipeline(StandardScaler(), HistGradientBoostingClassifier()))
    True
    """
    last = last_step(model)
    regressor = as_regressor(last)
    return is_forest(last) or (is_booster(regressor) and not codes_itself(regressor))


def last_step(model: Any) -> Any:
    """Return the model at the end of a pipeline; any other model as it is."""
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def explained_by_model(model: Any, problem: Problem) -> Game:
    """Explain the outcome by a model that is fitted here: projected, fitted anew on each subset, or
    with learners of shaff in its place.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import load_diabetes
    >>> from shaff.values.given import explained_by_model
    >>> X, y, _ = load_diabetes()
    >>> explained_by_model(Ridge(), Problem.of(X, y, random_state=0)).facts.refits
    'Ridge'
    """
    projected = _grown(model, problem) if is_projectable(model) else None
    if projected is not None:
        return projected
    fit_as_given(model, problem)  # before any of hundreds of fits
    if is_quickly_fitted(model, problem):
        return _refitted(model, problem)
    return explained_in_place(model, problem, held_out_score(model, problem))


def _grown(model: Any, problem: Problem) -> Game | None:
    """Fit and project trees; None if they are of a kind that cannot be read, or if the steps before
    them cannot be seen through."""
    if not isinstance(model, Pipeline):
        try:
            return _made(model, problem)
        except UnreadableTreesError:
            return None
    steps = fit_steps(model[:-1], problem) if len(model.steps) > 1 else None
    seen = None if steps is None else see_through([steps], problem)
    inner = None if seen is None else _grown(model.steps[-1][1], seen.problem)
    if seen is None or inner is None:
        return None
    return _inside(seen.game(inner), model)


def _made(model: Any, problem: Problem) -> Game:
    """Fit and project the trees of a forest or booster.

    Categories are given to boosters in ways of their own, which the model itself does not take.
    """
    if is_forest(model):
        return with_projected(make_forest(problem, model), model)
    game = with_projected(make_boosting(problem, as_regressor(model)), model)
    own = None if problem.categorical.any() else held_out_score(model, problem)
    return replace(game, facts=replace(game.facts, model_explains=own))


def with_projected(game: Game, model: Any, name: str | None = None) -> Game:
    """Name the model whose trees are projected.

    The leaves of a projected forest hold what its own leaves do as long as all inputs are known and
    classes are not weighted: what it explains then is what the forest explains by itself.
    """
    same = is_forest(model) and getattr(model, "class_weight", None) is None
    facts = replace(game.facts, projects=name or model_name(model), is_own_score=same)
    return replace(game, facts=facts)


def _inside(game: Game, model: Any) -> Game:
    projects = f"{game.facts.projects} in {model_name(model)}"
    return replace(game, facts=replace(game.facts, projects=projects))


def _refitted(model: Any, problem: Problem) -> Game:
    """Explain the outcome by a model that is fitted anew on the columns of each subset."""
    fitted = IndicatorModel.of(model, problem) if is_classifier(model) else model
    facts = LearnerFacts(refits=model_name(model), is_own_score=True)
    return Game(RetrainedValues(problem, fitted), "retrained", facts=facts)


class FittedQuestion(NamedTuple):
    """What is asked of a model that was fitted elsewhere.

    Parameters
    ----------
    explains : {"outcome", "predictions"}
    rows : {"held_out", "training"}
        Whether the model has seen the rows; see `shaff.ShapleyEffects.from_fitted`.
    has_outcome : bool
        Whether the problem has an outcome.
    projection : Projection or None
        How the trees of the model are projected, if they are.
    is_recoded : bool
        Whether categories became the numbers of the model's trees, which it does not take itself.
    """

    explains: Explained = "outcome"
    rows: str = "held_out"
    has_outcome: bool = True
    projection: Projection | None = None
    is_recoded: bool = False


class Projection(NamedTuple):
    """Trees of a fitted model that can be projected.

    Parameters
    ----------
    trees : fitted forest or booster
    ensemble : Ensemble or None
        What was read of a booster.
    steps : tuple of fitted transformers
        What the columns go through on the way to the trees.
    is_wrapped : bool
        Whether other models stand around the trees.
    has_bags : bool
        Whether the trees may be asked for their training rows.
    """

    trees: Any
    ensemble: Ensemble | None = None
    steps: tuple[Any, ...] = ()
    is_wrapped: bool = False
    has_bags: bool = True


def find_projection(model: Any) -> Projection | None:
    """Return the trees of a fitted model that can be projected: those of a forest, and of a booster
    of squares, counts or amounts without categories of its own making, alone or inside of other
    models; None if there are none.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.values.given import find_projection
    >>> X, y = [[0], [1]], [1, 2]
    >>> [find_projection(HistGradientBoostingRegressor(loss=loss).fit(X, y)) is not None
    ...  for loss in ("poisson", "absolute_error")]
    [True, False]
    """
    core, steps, is_merged, is_rescaled = unwrap(model)
    is_wrapped = core is not model
    if is_forest(core):
        check_is_fitted(core)
        return Projection(core, None, steps, is_wrapped, has_bags=not is_merged)
    if is_rescaled or not is_booster(core):  # steps of another scale are not those of y
        return None
    try:
        return Projection(core, read_ensemble(core), steps, is_wrapped)
    except (UserError, NotImplementedError):
        return None


def fitted_values(model: Any, problem: Problem, asked: FittedQuestion) -> Game:
    """Values of a model fitted elsewhere, or of `ForestValues` of a fitted forest: the structure of
    trees is kept, what they predict is computed again."""
    bare = model.model if isinstance(model, ForestValues) else model
    _check_training(bare, asked)
    game = _fitted_game(model, bare, problem, asked)
    if not reads_by_position(bare, problem.frame):
        return game
    return replace(game, facts=replace(game.facts, by_position=model_name(bare)))


def _fitted_game(model: Any, bare: Any, problem: Problem, asked: FittedQuestion) -> Game:
    if asked.explains == "predictions":
        return fitted_surrogate(bare, problem, asked.has_outcome)
    problem.check_varies()
    projection = asked.projection
    made = None if projection is None else _projected(model, problem, asked, projection)
    if projection is None or made is None:
        return explained_in_place(bare, problem, explained_by_itself(bare, problem))
    if asked.rows == "training":
        return with_projected(made, projection.trees, made.facts.projects)
    if asked.is_recoded:
        return made
    own = explained_by_itself(bare, problem)
    return replace(made, facts=replace(made.facts, model_explains=own))


def _check_training(model: Any, asked: FittedQuestion) -> None:
    """Refuse training rows where it is not known which trees have not seen them."""
    trees = asked.projection
    known = trees is not None and trees.has_bags and is_forest(trees.trees)
    if asked.rows == "training" and not (asked.explains == "outcome" and known):
        raise InputError(
            f'rows="training" needs the outcome y, and a forest, whose bags tell which rows a tree '
            f"has not seen: pass held-out rows to explain {model_name(model)}."
        )


def _projected(
    model: Any, problem: Problem, asked: FittedQuestion, projection: Projection
) -> Game | None:
    """Project the trees of a fitted model; None if steps before them cannot be seen through."""
    if not projection.is_wrapped:
        _check_numbers(problem)
        return _project(model, projection, problem, asked.rows)
    seen = _seen(projection, problem)
    if seen is None:
        return None
    return _inside(
        seen.game(_project(projection.trees, projection, seen.problem, asked.rows)), model
    )


def _seen(projection: Projection, problem: Problem) -> SeenThrough | None:
    """The rows as the trees see them; None also if there are other columns than theirs."""
    seen = see_through(projection.steps, problem)
    read = projection.ensemble
    n_columns = projection.trees.n_features_in_ if read is None else read.n_columns
    return None if seen is None or seen.problem.X.shape[1] != n_columns else seen


def _project(model: Any, projection: Projection, problem: Problem, rows: str) -> Game:
    if projection.ensemble is not None:
        game = fitted_boosting(model, problem, projection.ensemble)
    else:
        setting = model if isinstance(model, ForestValues) else ForestValues(model)
        game = setting.make_fitted(problem, rows)
    return replace(game, facts=replace(game.facts, projects=model_name(projection.trees)))


def _check_numbers(problem: Problem) -> None:
    """Refuse categories: the codes that a fitted tree gave to them are its own."""
    for name, is_category in zip(problem.table.names, problem.categorical, strict=True):
        if is_category:
            raise InputError(
                f"Column {name!r} holds categories: pass the numbers that the model was fitted on, "
                "or let shaff fit the model (ShapleyEffects(model).fit)."
            )
