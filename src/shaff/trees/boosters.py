"""Boosters of any library: recognised, prepared, fitted and read. `LIBRARIES` is the registry."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from shaff._util.seeds import unfitted
from shaff._util.typing import BoolArray, FloatArray
from shaff._util.warn import warn
from shaff.errors import InputTypeError, as_fitting_errors
from shaff.trees import catboost, hist_gradient_boosting, lightgbm, xgboost
from shaff.trees.ensemble import Ensemble
from shaff.trees.library import BoosterLibrary

# The libraries themselves are imported when one of their models is given.
LIBRARIES: tuple[BoosterLibrary, ...] = (
    hist_gradient_boosting.LIBRARY,
    lightgbm.LIBRARY,
    xgboost.LIBRARY,
    catboost.LIBRARY,
)
_REGRESSORS = ", ".join(library.regressor for library in LIBRARIES)
# Settings that mean another thing, or nothing, to a regressor.
_LOSSES = {"loss", "objective", "loss_function", "eval_metric", "scoring", "class_weight",
           "classes_count", "auto_class_weights", "scale_pos_weight", "is_unbalance"}  # fmt: skip


def _find(model: Any, kind: str = "regressor") -> BoosterLibrary | None:
    names = {cls.__name__ for cls in type(model).__mro__}
    raw = _find_raw(model) if kind == "regressor" else None
    return raw or next((library for library in LIBRARIES if getattr(library, kind) in names), None)


def _find_raw(model: Any) -> BoosterLibrary | None:
    """The library of a ``Booster`` as its own training function makes it."""
    if type(model).__name__ != "Booster":
        return None
    module = type(model).__module__.partition(".")[0]
    return next((library for library in LIBRARIES if library.module == module), None)


def is_raw(model: Any) -> bool:
    """Whether a model is a ``Booster`` of a library, without the interface of scikit-learn.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.trees.boosters import is_raw
    >>> is_raw(Ridge())
    False
    """
    return _find_raw(model) is not None


def _settings(model: Any) -> dict[str, Any]:
    """The settings of a booster, raw or not."""
    library = _find_raw(model)
    if library is None or library.raw_settings is None:
        return dict(model.get_params())
    return library.raw_settings(model)


def library_of(model: Any) -> BoosterLibrary:
    """The library of a booster, or an error that lists those that shaff knows.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.trees.boosters import library_of
    >>> library_of(HistGradientBoostingRegressor()).module
    'sklearn.ensemble'
    """
    library = _find(model)
    if library is None:
        raise InputTypeError(
            f"{type(model).__name__} is not a booster that can be projected; shaff knows "
            f"{_REGRESSORS}."
        )
    return library


def is_booster(model: Any) -> bool:
    """Whether the trees of models of this class can be read.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.trees.boosters import is_booster
    >>> is_booster(Ridge())
    False
    """
    return _find(model) is not None


def read_ensemble(model: Any) -> Ensemble:
    """Read a fitted booster of squared loss, or of a loss that `loss_of` knows.

    Parameters
    ----------
    model : fitted HistGradientBoostingRegressor, LGBMRegressor, XGBRegressor or CatBoostRegressor
        Or a ``Booster`` of LightGBM or XGBoost.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.trees.boosters import read_ensemble
    >>> X, y = make_friedman1(100, random_state=0)
    >>> read_ensemble(HistGradientBoostingRegressor(max_iter=7).fit(X, y)).n_trees
    7
    """
    return library_of(model).read(model)


def fitted_names(model: Any) -> list[str] | None:
    """The names of the columns that a forest or booster was fitted on; None if they had none.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.trees.boosters import fitted_names
    >>> fitted_names(RandomForestRegressor(1).fit(pd.DataFrame({"a": [1, 2]}), [1, 2]))
    ['a']
    """
    if not is_raw(model):
        check_is_fitted(model)
    return known_names(model)


def known_names(model: Any) -> list[str] | None:
    """The names of columns that a model of any kind has kept; None if there are none.

    Examples
    --------
    >>> from shaff.trees.boosters import known_names
    >>> known_names(len) is None
    True
    """
    raw = _find_raw(model)
    found = getattr(model, "feature_names_in_", None)
    if found is None:
        found = getattr(model, "feature_names_", None)
    if raw is not None and raw.raw_names is not None:
        found = raw.raw_names(model)
    if found is None:
        return None
    names = [str(name) for name in found]
    # What LightGBM and CatBoost call the columns of an array.
    unnamed = all(re.fullmatch(r"(Column_)?\d+", name) for name in names)
    return None if unnamed else names


def n_fitted_columns(model: Any) -> int | None:
    """The number of columns that a model of any kind was fitted on; None if it does not say.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.trees.boosters import n_fitted_columns
    >>> n_fitted_columns(Ridge()), n_fitted_columns(Ridge().fit([[0, 1], [1, 3]], [0, 1]))
    (None, 2)
    """
    raw = _find_raw(model)
    if raw is None or raw.raw_names is None:
        return getattr(model, "n_features_in_", None)
    names = raw.raw_names(model)
    return None if names is None else len(names)


def category_codes(model: Any, columns: list[str]) -> dict[str, dict[str, float]]:
    """The numbers that a fitted booster gave to the labels of the named columns of categories.

    Columns whose numbers are not known are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.trees.boosters import category_codes
    >>> X = pd.DataFrame({"town": pd.Categorical(["Rome", "Oslo"] * 50)})
    >>> model = HistGradientBoostingRegressor(categorical_features="from_dtype")
    >>> category_codes(model.fit(X, range(100)), ["town"])
    {'town': {'Oslo': 0.0, 'Rome': 1.0}}
    """
    if not is_raw(model):
        check_is_fitted(model)
    library = _find(model)
    if library is None or library.category_codes is None:
        return {}
    return library.category_codes(model, columns)


def as_regressor(model: Any) -> Any:
    """A regressor with the settings of a classifier of the same library; others as they are.

    Classes are explained by the variance of their indicators (the Brier score): a booster of
    each indicator is what can be replayed on that scale. Settings that only classifiers have,
    such as the loss and class weights, are left behind.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from shaff.trees.boosters import as_regressor
    >>> as_regressor(HistGradientBoostingClassifier(max_iter=50, max_features=0.5))
    HistGradientBoostingRegressor(max_features=0.5, max_iter=50)
    """
    library = _find(model, "classifier")
    if library is None:
        return model
    regressor = getattr(import_module(library.module), library.regressor)
    # Some libraries list only what was set, or take settings by any name.
    takes = signature(regressor.__init__).parameters
    takes_any = any(name.kind is Parameter.VAR_KEYWORD for name in takes.values())
    settings = {k: v for k, v in model.get_params().items() if k not in _LOSSES}
    return regressor(**{k: v for k, v in settings.items() if takes_any or k in takes})


def check_booster(estimator: Any) -> None:
    """Refuse what cannot be projected; warn of boosters that look at all columns every time."""
    names = library_of(estimator).column_sampling
    parameters = _settings(estimator)
    if all(parameters.get(name) in (None, 1) for name in names):
        warn(
            f"{type(estimator).__name__} looks at all columns at every split: copies and strongly "
            f"correlated columns may share the credit wrongly. Fit it with {' or '.join(names)} "
            "of about 1/3, or leave the model out: ShapleyEffects().fit(X, y)."
        )


def loss_of(estimator: Any) -> str:
    """The loss that a booster is fitted with: squares, or another whose trees can be projected.

    Any other loss counts as squares here, and is refused when the fitted booster is read.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.trees.boosters import loss_of
    >>> loss_of(HistGradientBoostingRegressor(loss="poisson"))
    'poisson'
    """
    library = library_of(estimator)
    # A parameter of the loss may follow its name.
    name = str(_settings(estimator).get(library.loss_name)).partition(":variance_power")[0]
    return library.losses.get(name, "squared_error")


def takes_categories(estimator: Any) -> bool:
    """Whether the library splits on categories in a way that can be projected."""
    return library_of(estimator).takes_categories(estimator)


def codes_itself(estimator: Any) -> bool:
    """Whether a booster turns categories into numbers by itself, as CatBoost does with those that
    it was told of.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.trees.boosters import codes_itself
    >>> codes_itself(HistGradientBoostingRegressor())
    False
    """
    return library_of(estimator).codes_itself(estimator)


def on_one_thread(model: Any) -> Any:
    """A clone of a regressor or classifier of any library, held to one thread; other models as they
    are.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.trees.boosters import on_one_thread
    >>> on_one_thread(Ridge())
    Ridge()
    """
    library = _find(model) or _find(model, "classifier")
    if library is None:
        return model
    # What is None there would unset a setting that excludes another, and could not be cloned.
    unset = [name for name, value in library.one_thread.items() if value is None]
    if any(model.get_params().get(name) is not None for name in unset):
        return model
    settings = {k: v for k, v in library.one_thread.items() if v is not None}
    return unfitted(model).set_params(**settings)


def prepare(estimator: Any, categorical: BoolArray, seed: int) -> Any:
    """An unfitted clone held to one thread, and to the seed where it has none of its own."""
    library, model = library_of(estimator), unfitted(estimator)
    model.set_params(**library.one_thread)
    seed_name = library.seed_name(model)
    if model.get_params().get(seed_name) is None:
        model.set_params(**{seed_name: seed})
    return model.set_params(**library.category_settings(categorical))


def fit(
    model: Any, X: FloatArray, y: FloatArray, weight: FloatArray | None, categorical: BoolArray
) -> Any:
    """Fit a prepared clone; OpenMP is held to one thread, else it spins on busy cores."""
    arguments = library_of(model).category_arguments(categorical)
    if weight is not None:
        arguments["sample_weight"] = weight
    with as_fitting_errors(type(model).__name__), threadpool_limits(1, user_api="openmp"):
        return model.fit(X, y, **arguments)
