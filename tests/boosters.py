"""Small boosters of every library, fitted on messy data: shared by the tests."""

from __future__ import annotations

import numpy as np


def messy_data(n=400, p=5, seed=0, missing=0.1):
    """Correlated columns with NaN, zeros and ties."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    X[:, 1] = np.round(X[:, 1], 1)
    X[rng.random(n) < 0.2, 2] = 0.0
    y = X[:, 0] + np.abs(X[:, 1]) * (X[:, 2] > 0) + 0.1 * rng.standard_normal(n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def hist_gradient_boosting(**parameters):
    from sklearn.ensemble import HistGradientBoostingRegressor

    defaults = {"max_iter": 20, "max_leaf_nodes": 8, "l2_regularization": 1.5, "random_state": 0}
    return HistGradientBoostingRegressor(**{**defaults, **parameters})


def lightgbm(**parameters):
    import lightgbm as lgb

    defaults = {"n_estimators": 20, "num_leaves": 8, "reg_lambda": 1.5, "verbose": -1, "n_jobs": 1}
    return lgb.LGBMRegressor(**{**defaults, **parameters})


def xgboost(**parameters):
    import xgboost as xgb

    return xgb.XGBRegressor(**{"n_estimators": 20, "max_depth": 3, "n_jobs": 1, **parameters})


def catboost(**parameters):
    import catboost as cb

    defaults = {"iterations": 20, "depth": 3, "verbose": False, "allow_writing_files": False}
    return cb.CatBoostRegressor(**{**defaults, "thread_count": 1, "random_seed": 0, **parameters})


ALL = [hist_gradient_boosting, lightgbm, xgboost, catboost]
