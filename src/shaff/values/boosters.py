"""Fitting the boosters whose structure is projected: one thread, one fold, one output each."""

from __future__ import annotations

import warnings
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from shaff._warn import warn
from shaff.subsets import BoolArray, FloatArray
from shaff.trees import is_booster

MAX_NATIVE_CATEGORIES = 255
# A booster that splits on categories fits their noise when they have fewer rows than this.
ROWS_PER_CATEGORY = 40
FEW_CATEGORIES = 4
FEWEST_LEAVES, MOST_LEAVES, ROWS_PER_LEAF = 20, 31, 250
# Parameters that hold a library to one thread and to the same trees in every run.
_ONE_THREAD: dict[str, dict[str, Any]] = {
    "LGBMRegressor": {"n_jobs": 1, "deterministic": True, "force_row_wise": True, "verbose": -1},
    "XGBRegressor": {"n_jobs": 1},
    # It takes only one of its four names for how much to say.
    "CatBoostRegressor": {"thread_count": 1, "allow_writing_files": False, "verbose": False,
                          "logging_level": None, "silent": None, "verbose_eval": None},
}  # fmt: skip
# Parameters that sample columns, per node, level or tree, and the value that means "all".
_COLUMN_SAMPLING = {
    "HistGradientBoostingRegressor": ("max_features",),
    "LGBMRegressor": ("feature_fraction_bynode", "feature_fraction", "colsample_bytree"),
    "XGBRegressor": ("colsample_bynode", "colsample_bylevel", "colsample_bytree"),
    "CatBoostRegressor": ("rsm", "colsample_bylevel"),
}

_CLASSIFIERS = {
    "HistGradientBoostingClassifier": "sklearn.ensemble",
    "LGBMClassifier": "lightgbm",
    "XGBClassifier": "xgboost",
    "CatBoostClassifier": "catboost",
}
# Settings that mean another thing, or nothing, to a regressor.
_LOSSES = {"loss", "objective", "loss_function", "eval_metric", "scoring", "class_weight",
           "classes_count", "auto_class_weights", "scale_pos_weight", "is_unbalance"}  # fmt: skip


def default_booster(n_rows: int, learning_rate: float = 0.07) -> HistGradientBoostingRegressor:
    """The booster of ``estimator="boosting"``, without its number of trees.

    Half of the columns are offered to each node: otherwise a copy of a column never gets a
    split, and its value would be 0. Many rows carry more leaves, which interactions need.

    Examples
    --------
    >>> from shaff.values.boosters import default_booster
    >>> [default_booster(n_rows).max_leaf_nodes for n_rows in (1000, 6000, 10_000)]
    [20, 24, 31]
    """
    leaves = min(MOST_LEAVES, max(FEWEST_LEAVES, n_rows // ROWS_PER_LEAF))
    return HistGradientBoostingRegressor(
        learning_rate=learning_rate,
        max_leaf_nodes=leaves,
        min_samples_leaf=5,
        l2_regularization=5.0,
        max_features=0.5,
        early_stopping=False,
        categorical_features=None,
    )


def as_regressor(model: Any) -> Any:
    """A regressor with the settings of a classifier of the same library; others as they are.

    Classes are explained by the variance of their indicators (the Brier score): a booster of
    each indicator is what can be replayed on that scale. Settings that only classifiers have,
    such as the loss and class weights, are left behind.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from shaff.values.boosters import as_regressor
    >>> as_regressor(HistGradientBoostingClassifier(max_iter=50, max_features=0.5))
    HistGradientBoostingRegressor(max_features=0.5, max_iter=50)
    """
    names = [cls.__name__ for cls in type(model).__mro__]
    found = next((name for name in names if name in _CLASSIFIERS), None)
    if found is None:
        return model
    library = import_module(_CLASSIFIERS[found])
    regressor = getattr(library, found.replace("Classifier", "Regressor"))
    # Some libraries list only what was set, or take settings by any name.
    takes = signature(regressor.__init__).parameters
    takes_any = any(name.kind is Parameter.VAR_KEYWORD for name in takes.values())
    settings = {k: v for k, v in model.get_params().items() if k not in _LOSSES}
    return regressor(**{k: v for k, v in settings.items() if takes_any or k in takes})


def library_class(estimator: Any) -> str:
    """The name of the class of a booster that its library knows it by."""
    names = [cls.__name__ for cls in type(estimator).__mro__]
    return next(name for name in names if name in _COLUMN_SAMPLING)


def check_booster(estimator: Any) -> None:
    """Refuse what cannot be projected; warn of boosters that look at all columns every time."""
    if not is_booster(estimator):
        raise TypeError(
            f"{type(estimator).__name__} is not a booster that can be projected; give a "
            f"{', '.join(_COLUMN_SAMPLING)}, or None."
        )
    parameters = estimator.get_params()
    shares = [parameters.get(name) for name in _COLUMN_SAMPLING[library_class(estimator)]]
    if all(share is None or share == 1 for share in shares):
        names = " or ".join(_COLUMN_SAMPLING[library_class(estimator)])
        warn(
            f"{type(estimator).__name__} looks at all columns at every split: copies and strongly "
            f"correlated columns will share the credit wrongly. Set {names} to about 1/3."
        )


def takes_categories(estimator: Any) -> bool:
    """Whether the library splits on categories in a way that can be projected."""
    name = library_class(estimator)
    if name == "XGBRegressor":
        return bool(estimator.get_params()["tree_method"] != "exact")
    return name != "CatBoostRegressor"


def max_native(n_rows: int) -> int:
    """The most categories of a column that boosters are trusted to split on themselves.

    Examples
    --------
    >>> from shaff.values.boosters import max_native
    >>> max_native(1600)
    40
    """
    return min(MAX_NATIVE_CATEGORIES, max(FEW_CATEGORIES, n_rows // ROWS_PER_CATEGORY))


def prepare(estimator: Any, categorical: BoolArray, seed: int) -> Any:
    """An unfitted clone held to one thread, and to the seed where it has none of its own."""
    model = clone(estimator)
    name = library_class(estimator)
    model.set_params(**_ONE_THREAD.get(name, {}))
    if model.get_params().get(_seed_name(model)) is None:
        model.set_params(**{_seed_name(model): seed})
    if name == "HistGradientBoostingRegressor" and categorical.any():
        model.set_params(categorical_features=categorical)
    if name == "XGBRegressor" and categorical.any():
        types = ["c" if is_category else "q" for is_category in categorical]
        model.set_params(enable_categorical=True, feature_types=types)
    return model


def _seed_name(model: Any) -> str:
    """CatBoost lists only what was set, and takes either name but not both."""
    named = library_class(model) != "CatBoostRegressor" or "random_state" in model.get_params()
    return "random_state" if named else "random_seed"


def fit(
    model: Any, X: FloatArray, y: FloatArray, weight: FloatArray | None, categorical: BoolArray
) -> Any:
    """Fit a prepared clone; OpenMP is held to one thread, else it spins on busy cores."""
    arguments: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
    if library_class(model) == "LGBMRegressor" and categorical.any():
        arguments["categorical_feature"] = np.flatnonzero(categorical).tolist()
    with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="categorical_feature", category=UserWarning)
        return model.fit(X, y, **arguments)
