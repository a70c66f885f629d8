"""Step 2: from the ``estimator`` of `ShapleyEffects` to the value function that it stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shaff.data.problem import Problem
from shaff.errors import InputError, InputTypeError
from shaff.protocols import Game, ValueSetting
from shaff.trees.boosters import as_regressor, is_booster
from shaff.trees.kinds import is_forest
from shaff.values.forest.setting import ForestValues
from shaff.values.given import Explained, explained_by_model, last_step, with_projected
from shaff.values.models.asking import check_asked
from shaff.values.models.surrogate import make_surrogate
from shaff.values.published.systems import as_game
from shaff.values.registry import LEARNERS, Learner
from shaff.values.stack import run_seeds


def explained_by_fit(estimator: Any, explains: Any) -> Explained:
    """Return what `ShapleyEffects.fit` explains: the outcome, unless predictions are asked for.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.values.making import explained_by_fit
    >>> explained_by_fit(Ridge(), None), explained_by_fit(Ridge(), "predictions")
    ('outcome', 'predictions')
    """
    asked = _checked(explains) or "outcome"
    is_shaffs = isinstance(estimator, ValueSetting) or is_own(estimator)
    if asked == "predictions" and is_shaffs and model_of(estimator) is estimator:
        raise InputError('explains="predictions" needs a model of your own as estimator.')
    return asked


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
        return _of_setting(estimator, problem)
    if estimator is None or isinstance(estimator, str):
        name = estimator or "auto"
        distinct = problem.without_copies()
        game = as_game(_find(name).make(distinct), name)
        return replace(game, problem=game.problem or distinct)
    return explained_by_model(_checked_model(estimator), problem)


def _checked_model(estimator: Any) -> Any:
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputTypeError(
            "estimator must be a name, a ValueSetting, or a model with fit and predict, not "
            f"{estimator!r}."
        )
    return estimator


def _of_setting(setting: ValueSetting, problem: Problem) -> Game:
    game = as_game(setting.make(problem), setting.name)
    model = model_of(setting)
    return game if model is setting or model is None else with_projected(game, model)


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
    shaff.errors.InputError: A forest holds out rows at random, and cannot respect time: use ...
    """
    if (
        estimator == "forest"
        or isinstance(estimator, ForestValues)
        or is_forest(last_step(estimator))
    ):
        raise InputError(
            "A forest holds out rows at random, and cannot respect time: use "
            'estimator="auto" or "boosting".'
        )


def check_measurable(loss: str, estimator: Any, explains: Explained) -> None:
    """Refuse another loss than squared errors where it would not be measured.

    Examples
    --------
    >>> from shaff.values.making import check_measurable
    >>> check_measurable("poisson", "auto", "predictions")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: loss="poisson" measures an outcome; what a model predicts is ...
    """
    if loss == "squared_error":
        return
    if explains == "predictions":
        raise InputError(
            f'loss="{loss}" measures an outcome; what a model predicts is explained by squared '
            'errors: use explains="outcome" or loss="squared_error".'
        )
    if isinstance(estimator, ValueSetting) and not isinstance(estimator, ForestValues):
        raise InputError(
            f'loss="{loss}" is measured by learners of shaff, forests and boosters; '
            f'{estimator.name} explains the variance: use loss="squared_error".'
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


def check_instance(model: Any) -> None:
    """Refuse a class in the place of a model.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.values.making import check_instance
    >>> check_instance(Ridge())
    """
    if isinstance(model, type):
        raise InputTypeError(f"{model.__name__} is a class: pass a model, {model.__name__}().")


def fitted_model(estimator: Any) -> Any:
    """Return the model that `ShapleyEffects.from_fitted` was given, alone or in a setting."""
    model = model_of(estimator)
    if model is None:
        raise InputTypeError("from_fitted needs a model that has been fitted, not None.")
    check_asked(model)
    return model
