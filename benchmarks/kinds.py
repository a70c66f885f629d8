"""Models of 25 kinds and more: what is explained of each, or the sentence that says why not.

    python -m benchmarks.kinds [--only forest "LightGBM, raw"]

Each model is fitted to 240 rows and explained on 240 others: the outcome (by which of the ways of
the page "Models of your own", and the share that is found), its predictions (the share of them that
the learners explain), and single rows (whether their values add up to the predictions). The tests
run the same list (tests/test_models.py).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from shaff import ShapleyEffects
from shaff._util.typing import FloatArray
from shaff.errors import UserError

# A fitted model, and the columns that it takes.
Fitted = tuple[Any, list[str]]
N = 240


def make_table(seed: int = 0) -> tuple[pd.DataFrame, FloatArray]:
    """Two numbers and a town of no order; the towns differ as much as the numbers matter."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=N)
    frame = pd.DataFrame(
        {"size": size, "age": 0.6 * size + 0.8 * rng.normal(size=N), "none": rng.normal(size=N)}
    )
    frame["town"] = rng.choice(["Bern", "Oslo", "Rome"], size=N)
    towns = frame["town"].map({"Bern": -1.0, "Oslo": 2.0, "Rome": 0.0}).to_numpy()
    return frame, 2 * size - frame["age"].to_numpy() + towns + 0.5 * rng.normal(size=N)


TOWN = ["size", "age", "none", "town"]
NUMERIC = ["size", "age", "none"]
# Rows that models are fitted on, and others that they have not seen.
FRAME, Y = make_table()
NUMBERS = FRAME[NUMERIC].to_numpy()
CLASSES = np.where(Y > 0, "high", "low")
HELD_OUT, HELD_OUT_Y = make_table(seed=1)


def encoded(model: Any) -> Any:
    """A pipeline that makes three columns of the town."""
    towns = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder=StandardScaler())
    return make_pipeline(towns, model).fit(FRAME, Y)


class ByHand:
    """A network by hand, of no library: two layers, their weights found by least squares."""

    def __init__(self) -> None:
        self.inner = np.random.default_rng(0).normal(size=(3, 30))
        self.outer = np.linalg.lstsq(np.tanh(NUMBERS @ self.inner), Y, rcond=None)[0]

    def predict(self, rows: Any) -> FloatArray:
        return np.tanh(np.asarray(rows) @ self.inner) @ self.outer


class OnlyProbabilities:
    """A model that only tells probabilities of classes."""

    def predict_proba(self, rows: FloatArray) -> FloatArray:
        chance = 1 / (1 + np.exp(-rows[:, 0]))
        return np.column_stack([1 - chance, chance])


def by_numbers(model: Any, y: Any = Y) -> Callable[[], Fitted]:
    return lambda: (model.fit(NUMBERS, y), NUMERIC)


def lightgbm(kind: str, **settings: Any) -> Callable[[], Any]:
    def make() -> Any:
        module = import_module("lightgbm")
        return getattr(module, kind)(n_estimators=30, verbose=-1, n_jobs=1, **settings)

    return make


def raw_lightgbm() -> Fitted:
    model = lightgbm("LGBMRegressor", colsample_bytree=0.5)().fit(NUMBERS, Y)
    return model.booster_, NUMERIC


def xgboost() -> Any:
    model = import_module("xgboost").XGBRegressor(n_estimators=30, colsample_bytree=0.5)
    return model.fit(NUMBERS, Y)


def xgboost_counts() -> Fitted:
    model = import_module("xgboost").XGBRegressor(
        n_estimators=30, colsample_bytree=0.5, objective="count:poisson"
    )
    return model.fit(NUMBERS, np.exp(Y / 4)), NUMERIC


def catboost(with_towns: bool) -> Fitted:
    module = import_module("catboost")
    settings = {"iterations": 40, "verbose": 0, "allow_writing_files": False, "rsm": 0.5}
    X = FRAME if with_towns else NUMBERS
    cats = ["town"] if with_towns else None
    return module.CatBoostRegressor(**settings, cat_features=cats).fit(
        X, Y
    ), TOWN if with_towns else NUMERIC


GRID = {"ridge__alpha": [0.1, 1.0, 10.0]}
SCALED = make_pipeline(StandardScaler(), Ridge())
FOREST = RandomForestRegressor(30, min_samples_leaf=5, max_features=0.5, random_state=0)
HGB = HistGradientBoostingRegressor(max_iter=30, max_features=0.5, random_state=0)
# A model and the rows that it takes, by its kind.
KINDS: dict[str, Callable[[], Fitted]] = {
    "linear": by_numbers(LinearRegression()),
    "lasso": by_numbers(Lasso(0.01)),
    "logistic": by_numbers(LogisticRegression(), CLASSES),
    "no probabilities": by_numbers(RidgeClassifier(), CLASSES),
    "tree": by_numbers(DecisionTreeRegressor(min_samples_leaf=20, random_state=0)),
    "forest": by_numbers(FOREST),
    "forest of classes": by_numbers(RandomForestClassifier(30, random_state=0), CLASSES),
    "extra trees": by_numbers(ExtraTreesRegressor(30, min_samples_leaf=5, random_state=0)),
    "gradient boosting": by_numbers(GradientBoostingRegressor(random_state=0)),
    "histogram boosting": by_numbers(HGB),
    "support vectors": by_numbers(SVR()),
    "support vectors of classes": by_numbers(SVC(), CLASSES),
    "Gaussian process": by_numbers(GaussianProcessRegressor(alpha=1.0)),
    "network": by_numbers(
        MLPRegressor(hidden_layer_sizes=(10,), max_iter=2000, solver="lbfgs", random_state=0)
    ),
    "neighbours": by_numbers(KNeighborsRegressor(10)),
    "pipeline": lambda: (encoded(Ridge()), TOWN),
    "pipeline of a forest": lambda: (encoded(FOREST), TOWN),
    "search": by_numbers(GridSearchCV(SCALED, GRID, cv=3)),
    "random search": by_numbers(RandomizedSearchCV(SCALED, GRID, n_iter=2, cv=3, random_state=0)),
    "other scale": by_numbers(
        TransformedTargetRegressor(Ridge(), func=np.cbrt, inverse_func=lambda z: z**3)
    ),
    "voting": by_numbers(VotingRegressor([("ridge", Ridge()), ("near", KNeighborsRegressor(5))])),
    "search of a booster": by_numbers(GridSearchCV(HGB, {"max_iter": [10, 30]}, cv=3)),
    "voting of forests": by_numbers(
        VotingRegressor([("one", FOREST), ("two", clone(FOREST).set_params(random_state=1))])
    ),
    "calibrated forest": by_numbers(
        CalibratedClassifierCV(RandomForestClassifier(30, random_state=0), cv=3), CLASSES
    ),
    "forest of another scale": by_numbers(
        TransformedTargetRegressor(FOREST, func=np.cbrt, inverse_func=lambda z: z**3)
    ),
    "stacking": by_numbers(
        StackingRegressor([("ridge", Ridge()), ("near", KNeighborsRegressor(5))], Ridge(), cv=3)
    ),
    "LightGBM": lambda: (
        lightgbm("LGBMRegressor", colsample_bytree=0.5)().fit(NUMBERS, Y),
        NUMERIC,
    ),
    "LightGBM of classes": lambda: (
        lightgbm("LGBMClassifier")().fit(FRAME[["size", "age"]], CLASSES),
        ["age", "size"],
    ),
    "LightGBM of another loss": lambda: (
        lightgbm("LGBMRegressor", objective="mae")().fit(NUMBERS, Y),
        NUMERIC,
    ),
    "LightGBM, raw": raw_lightgbm,
    "XGBoost": lambda: (xgboost(), NUMERIC),
    "XGBoost, raw": lambda: (xgboost().get_booster(), NUMERIC),
    "XGBoost of counts": xgboost_counts,
    "CatBoost": lambda: catboost(with_towns=False),
    "CatBoost with categories": lambda: catboost(with_towns=True),
    "function": lambda: (lambda rows: rows[:, 0] * 2 - rows[:, 1], NUMERIC),
    "function of a frame": lambda: (
        lambda rows: rows["size"] * 2 + (rows["town"] == "Oslo") * 3,
        TOWN,
    ),
    "class": lambda: (ByHand(), NUMERIC),
    "class with probabilities": lambda: (OnlyProbabilities(), NUMERIC),
}  # fmt: skip
OF_CLASSES = {"calibrated forest", "logistic", "no probabilities", "forest of classes",
              "support vectors of classes", "LightGBM of classes",
              "class with probabilities"}  # fmt: skip
PROJECTED = {"forest", "forest of classes", "extra trees", "histogram boosting", "LightGBM",
             "LightGBM, raw", "XGBoost", "XGBoost, raw",
             "CatBoost", "pipeline of a forest", "search of a booster", "voting of forests",
             "calibrated forest", "forest of another scale", "XGBoost of counts"}  # fmt: skip
SETTINGS: dict[str, Any] = {"random_state": 0, "n_subsets": 8}


def made(kind: str) -> tuple[Any, Any]:
    """A model, and rows that it has not seen: a frame if it takes towns or names."""
    model, columns = KINDS[kind]()
    X = HELD_OUT if columns is TOWN else HELD_OUT[columns]
    return model, X.to_numpy() if columns is NUMERIC else X


def outcome_of(kind: str) -> Any:
    """The outcome of the rows that a model has not seen, as it predicts it."""
    return np.where(HELD_OUT_Y > 0, "high", "low") if kind in OF_CLASSES else HELD_OUT_Y


# The table --------------------------------------------------------------------------------------


def outcome(kind: str) -> str:
    """How the outcome is explained, and the share of it."""
    model, X = made(kind)
    result = ShapleyEffects.from_fitted(model, X, outcome_of(kind), **SETTINGS).result_
    way = "projected" if "the projected trees of" in result.summary() else "in its place"
    return f"{result.explained_variance:.2f} {way}"


def predictions(kind: str) -> str:
    """The share of the predictions that is explained."""
    model, X = made(kind)
    return f"{ShapleyEffects.from_fitted(model, X, **SETTINGS).explained_variance_:.2f}"


def local(kind: str) -> str:
    """Whether the values of single rows add up to what is predicted of them."""
    model, X = made(kind)
    found = ShapleyEffects.from_fitted(model, X, **SETTINGS).explain(X[:5])
    off = np.abs(found.base + found.values.sum(axis=1) - found.predictions).max()
    return "works" if off < 1e-9 else f"off by {off:.1e}"


def cell(of: Callable[[str], str], kind: str) -> str:
    """What comes out, or the sentence that says why nothing does."""
    try:
        return of(kind)
    except UserError as error:
        return str(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS))
    warnings.simplefilter("ignore")
    print(f"{'model':28s} {'outcome':17s} {'predictions':11s} local")
    for kind in parser.parse_args().only:
        found = (cell(of, kind) for of in (outcome, predictions, local))
        print("{:28s} {:17s} {:11s} {}".format(kind, *found), flush=True)


if __name__ == "__main__":
    main()
