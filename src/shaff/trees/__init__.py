"""One `Ensemble` from scikit-learn's HistGradientBoosting, LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from sklearn.utils.validation import check_is_fitted

from shaff.trees.ensemble import Ensemble

__all__ = ["Ensemble", "category_codes", "fitted_names", "is_booster", "read_ensemble"]

# Class name -> module of its reader; a library is imported only when one of its models is given.
_READERS = {
    "HistGradientBoostingRegressor": "hist_gradient_boosting",
    "LGBMRegressor": "lightgbm",
    "XGBRegressor": "xgboost",
    "CatBoostRegressor": "catboost",
}


def _reader_name(model: Any) -> str | None:
    names = (cls.__name__ for cls in type(model).__mro__)
    return next((_READERS[name] for name in names if name in _READERS), None)


def is_booster(model: Any) -> bool:
    """Whether `read_ensemble` knows models of this class.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.trees import is_booster
    >>> is_booster(Ridge())
    False
    """
    return _reader_name(model) is not None


def read_ensemble(model: Any) -> Ensemble:
    """Read a fitted squared-loss booster.

    Parameters
    ----------
    model : fitted HistGradientBoostingRegressor, LGBMRegressor, XGBRegressor or CatBoostRegressor

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.trees import read_ensemble
    >>> X, y = make_friedman1(100, random_state=0)
    >>> read_ensemble(HistGradientBoostingRegressor(max_iter=7).fit(X, y)).n_trees
    7
    """
    name = _reader_name(model)
    if name is None:
        raise TypeError(
            f"{type(model).__name__} is not a booster that shaff can read; it reads "
            f"{', '.join(_READERS)}."
        )
    return cast("Callable[[Any], Ensemble]", _reader(name).read)(model)


def _reader(name: str) -> ModuleType:
    return import_module(f"shaff.trees.{name}")


def fitted_names(model: Any) -> list[str] | None:
    """The names of the columns that a forest or booster was fitted on; None if they had none.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.trees import fitted_names
    >>> fitted_names(RandomForestRegressor(1).fit(pd.DataFrame({"a": [1, 2]}), [1, 2]))
    ['a']
    """
    check_is_fitted(model)
    found = getattr(model, "feature_names_in_", None)
    if found is None:
        found = getattr(model, "feature_names_", None)
    if found is None:
        return None
    names = [str(name) for name in found]
    # What LightGBM and CatBoost call the columns of an array.
    unnamed = all(re.fullmatch(r"(Column_)?\d+", name) for name in names)
    return None if unnamed else names


def category_codes(model: Any, columns: list[str]) -> dict[str, dict[str, float]]:
    """The numbers that a fitted booster gave to the labels of the named columns of categories.

    Columns whose numbers are not known are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from shaff.trees import category_codes
    >>> X = pd.DataFrame({"town": pd.Categorical(["Rome", "Oslo"] * 50)})
    >>> model = HistGradientBoostingRegressor(categorical_features="from_dtype")
    >>> category_codes(model.fit(X, range(100)), ["town"])
    {'town': {'Oslo': 0.0, 'Rome': 1.0}}
    """
    check_is_fitted(model)
    name = _reader_name(model)
    codes = None if name is None else getattr(_reader(name), "category_codes", None)
    return {} if codes is None else cast("dict[str, dict[str, float]]", codes(model, columns))
