"""Step 2: from the ``estimator`` of `ShapleyEffects` to the value function that it stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from sklearn.base import is_classifier

from shaff.data.problem import Problem
from shaff.errors import InputError, InputTypeError, UserError
from shaff.protocols import Game, ValueSetting
from shaff.trees.boosters import as_regressor, is_booster, read_ensemble
from shaff.trees.kinds import is_forest
from shaff.values.boosting.grown import fitted_boosting, make_boosting
from shaff.values.forest.grown import make_forest
from shaff.values.forest.setting import ForestValues
from shaff.values.models.asking import check_asked, model_name
from shaff.values.models.retrained import RetrainedValues
from shaff.values.models.surrogate import (
    explained_by_itself,
    explained_in_place,
    fitted_surrogate,
    make_surrogate,
)
from shaff.values.published.systems import as_game
from shaff.values.registry import LEARNERS, Learner
from shaff.values.stack import run_seeds

__all__ = [
    "Explained",
    "FittedQuestion",
    "can_project",
    "check_holds_out_folds",
    "counts_weights",
    "estimator_for_all_rows",
    "explained_by_fit",
    "explained_by_fitted",
    "fitted_model",
    "fitted_values",
    "is_own",
    "is_projectable",
    "make_values",
    "model_of",
    "split_seeds",
]


# What effects are shares of the variance of.
Explained = Literal["outcome", "predictions"]


def explained_by_fit(estimator: Any, explains: Any) -> Explained:
    """Return what `ShapleyEffects.fit` explains: by default the outcome, and the predictions of a
    model whose trees cannot be projected.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.values.making import explained_by_fit
    >>> explained_by_fit("boosting", None), explained_by_fit(Ridge(), None)
    ('outcome', 'predictions')
    """
    asked = _checked(explains)
    if isinstance(estimator, ValueSetting) or is_own(estimator):
        if asked == "predictions" and model_of(estimator) is estimator:
            raise InputError('explains="predictions" needs a model of your own as estimator.')
        return asked or "outcome"
    return asked or ("outcome" if is_projectable(as_regressor(estimator)) else "predictions")


def explained_by_fitted(explains: Any, has_outcome: bool) -> Explained:
    """Return what `ShapleyEffects.from_fitted` explains: by default the outcome, if it is given.

    Examples
    --------
    >>> from shaff.values.making import explained_by_fitted
    >>> explained_by_fitted(None, has_outcome=False)
    'predictions'
    """
    asked = _checked(explains)
    if asked == "outcome" and not has_outcome:
        raise InputError('explains="outcome" needs the outcome: pass y.')
    return asked or ("outcome" if has_outcome else "predictions")


def _checked(explains: Any) -> Explained | None:
    if explains not in (None, "outcome", "predictions"):
        raise InputError(
            f'explains={explains!r} is unknown: use "outcome", "predictions", or None.'
        )
    return explains  # type: ignore[no-any-return]


def make_values(estimator: Any, problem: Problem, explains: Explained | None = None) -> Game:
    """Make the value function that ``estimator`` of `ShapleyEffects` stands for, on these data.

    Examples
    --------
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import load_diabetes
    >>> from shaff.values.making import make_values
    >>> X, y, _ = load_diabetes()
    >>> make_values("forest", Problem.of(X, y, random_state=0)).name
    'forest'
    """
    problem.check_varies()
    what = explained_by_fit(estimator, explains)
    if what == "predictions":
        return make_surrogate(problem, _checked_model(model_of(estimator)))
    if isinstance(estimator, ValueSetting):
        return as_game(estimator.make(problem), estimator.name)
    if estimator is None or isinstance(estimator, str):
        name = estimator or "auto"
        distinct = problem.without_copies()
        game = as_game(_find(name).make(distinct), name)
        return replace(game, problem=game.problem or distinct)
    if is_forest(estimator):
        return make_forest(problem, estimator)
    if is_booster(as_regressor(estimator)):
        return make_boosting(problem, as_regressor(estimator))
    return _refitted(problem, _checked_model(estimator))


def _checked_model(estimator: Any) -> Any:
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputTypeError(
            "estimator must be a name, a ValueSetting, or a model with fit and predict, not "
            f"{estimator!r}."
        )
    return estimator


def _refitted(problem: Problem, model: Any) -> Game:
    """Explain the outcome by a model of any kind, fitted anew on the columns of each subset."""
    name = type(model).__name__
    if is_classifier(model) or problem.categorical.any():
        raise InputError(
            f'{name} is fitted anew on each subset for explains="outcome", which takes regressors '
            'and columns of numbers: use explains="predictions", or let shaff explain the outcome '
            '(estimator="auto").'
        )
    game = as_game(RetrainedValues(problem, model), "retrained")
    return replace(game, facts=replace(game.facts, refits=name))


def estimator_for_all_rows(estimator: Any, cv: Any = None) -> Any:
    """Return the estimator to use where rows outside of the sample are measured: boosting.

    Examples
    --------
    >>> from shaff.values.making import estimator_for_all_rows
    >>> estimator_for_all_rows(None)
    'boosting'
    """
    if cv is not None and not isinstance(cv, int):
        raise InputError(
            "A splitter does not say which learner has not seen the rows outside of the sample: "
            'pass a number of folds as cv, or value_rows="sample".'
        )
    if estimator is None or (isinstance(estimator, str) and estimator in ("auto", "boosting")):
        return "boosting"
    is_model = hasattr(estimator, "fit") and not is_forest(estimator)
    if is_model and is_booster(as_regressor(estimator)):
        return estimator
    raise InputError(
        'Rows outside of the sample are measured by boosting only: use estimator="boosting", a '
        'booster, or value_rows="sample".'
    )


def check_holds_out_folds(estimator: Any) -> None:
    """Refuse forests, whose bags are drawn at random and know no stretches of time.

    Examples
    --------
    >>> from shaff.values.making import check_holds_out_folds
    >>> check_holds_out_folds("forest")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: A forest holds out rows at random, so that time cannot be kept to: ...
    """
    if estimator == "forest" or isinstance(estimator, ForestValues) or is_forest(estimator):
        raise InputError(
            "A forest holds out rows at random, so that time cannot be kept to: use "
            'estimator="auto" or "boosting".'
        )


def split_seeds(estimator: str | None, problem: Problem) -> list[int]:
    """Seeds of the splits that a value function of that name is averaged over.

    Examples
    --------
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import load_diabetes
    >>> from shaff.values.making import split_seeds
    >>> X, y, _ = load_diabetes()
    >>> split_seeds("boosting", Problem.of(X, y, random_state=3))
    [3]
    """
    averaged = estimator in (None, "auto", "stack")
    return run_seeds(problem, few=True) if averaged else [problem.seed]


def _find(name: str) -> Learner:
    if name not in LEARNERS:
        names = ", ".join(repr(known) for known in LEARNERS)
        raise InputError(f"estimator={name!r} is unknown: use {names}, or a model.")
    return LEARNERS[name]


def is_own(estimator: Any) -> bool:
    """Whether an estimator names learners of shaff's own, which see what the screen of each fold
    leaves them, and each of several copies of a column once.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff import ForestValues
    >>> from shaff.values.making import is_own
    >>> is_own("forest"), is_own(ForestValues()), is_own(ForestValues(RandomForestRegressor()))
    (True, True, False)
    """
    return isinstance(estimator, str) or model_of(estimator) is None


def counts_weights(estimator: Any) -> bool:
    """Whether a row of weight 2 is two rows to an estimator; other models may take no weights, and
    balance classes by the number of rows.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.values.making import counts_weights
    >>> counts_weights("boosting"), counts_weights(Ridge())
    (True, False)
    """
    model = model_of(estimator)
    grown = is_forest(model) and getattr(model, "class_weight", None) is None
    return is_own(estimator) or grown


def model_of(estimator: Any) -> Any:
    """Return the model of a forest setting, which may be None; any other estimator as it is."""
    return estimator.model if isinstance(estimator, ForestValues) else estimator


def fitted_model(estimator: Any) -> Any:
    """Return the model that `ShapleyEffects.from_fitted` was given, alone or in a setting."""
    model = model_of(estimator)
    if model is None:
        raise InputTypeError("from_fitted needs a model that has been fitted, not None.")
    check_asked(model)
    return model


def is_projectable(model: Any) -> bool:
    """Whether the trees of a model can be projected; any other model needs a surrogate."""
    return is_forest(model) or is_booster(model)


def can_project(model: Any) -> bool:
    """Whether the trees of a fitted model can be projected: those of a forest, and of a booster of
    squared loss without categories of its own making.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.values.making import can_project
    >>> X, y = [[0], [1]], [1, 2]
    >>> [can_project(HistGradientBoostingRegressor(loss=loss).fit(X, y))
    ...  for loss in ("squared_error", "poisson")]
    [True, False]
    """
    if not is_booster(model):
        return is_forest(model)
    try:
        read_ensemble(model)
    except (UserError, NotImplementedError):
        return False
    return True


class FittedQuestion(NamedTuple):
    """What is asked of a model that was fitted elsewhere.

    Parameters
    ----------
    explains : {"outcome", "predictions"}
    rows : {"held_out", "training"}
        Whether the model has seen the rows; see `shaff.ShapleyEffects.from_fitted`.
    n_labelled : int or None
        Number of rows that the model labels; None means those of the problem.
    has_outcome : bool
        Whether the problem has an outcome.
    is_projected : bool
        Whether the trees of the model can be projected, and are; see `can_project`.
    is_recoded : bool
        Whether categories became the numbers of the model's trees, which it does not take itself.
    """

    explains: Explained = "outcome"
    rows: str = "held_out"
    n_labelled: int | None = None
    has_outcome: bool = True
    is_projected: bool = True
    is_recoded: bool = False


def fitted_values(model: Any, problem: Problem, asked: FittedQuestion) -> Game:
    """Values of a model fitted elsewhere, or of `ForestValues` of a fitted forest: the structure of
    trees is kept, what they predict is computed again."""
    bare = model_of(model)
    if asked.rows == "training" and not (asked.explains == "outcome" and is_forest(bare)):
        raise InputError(
            f'rows="training" needs the outcome y, and a forest, whose bags tell which rows a tree '
            f"has not seen; {model_name(bare)} is given without. Pass held-out rows."
        )
    if asked.explains == "predictions":
        return fitted_surrogate(bare, problem, asked.n_labelled, asked.has_outcome)
    if not asked.is_projected:
        return explained_in_place(bare, problem)
    problem.check_varies()
    _check_numbers(problem)
    made = _projected(model, problem, asked.rows)
    if asked.rows == "training" or asked.is_recoded:
        return made
    own = explained_by_itself(bare, problem)
    return replace(made, facts=replace(made.facts, model_explains=own))


def _projected(model: Any, problem: Problem, rows: str) -> Game:
    if is_booster(model):
        return fitted_boosting(model, problem)
    setting = model if isinstance(model, ForestValues) else ForestValues(model)
    return setting.make_fitted(problem, rows)


def _check_numbers(problem: Problem) -> None:
    """Refuse categories: the codes that a fitted tree gave to them are its own."""
    for name, is_category in zip(problem.table.names, problem.categorical, strict=True):
        if is_category:
            raise InputError(
                f"Column {name!r} holds categories: pass the numbers that the model was fitted on, "
                "or let shaff fit the model (ShapleyEffects(model).fit)."
            )
