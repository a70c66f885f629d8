"""One `Ensemble` from scikit-learn's HistGradientBoosting, LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from shaff.trees.ensemble import Ensemble

__all__ = ["Ensemble", "is_booster", "read_ensemble"]

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
    reader = import_module(f"shaff.trees.{name}")
    return cast("Callable[[Any], Ensemble]", reader.read)(model)
