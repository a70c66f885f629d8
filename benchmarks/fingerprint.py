"""Does a change of the code leave every result as it was, bit for bit?

    python -m benchmarks.fingerprint [--only preset] [--jobs 2]
    python -m benchmarks.fingerprint --write [--only preset]

Small fits through the public names only, so that they outlive any change of the inside: every
preset, design, solver and estimator, the kinds of data, weights, groups and folds, fitted models,
and the cases in which there is little or nothing to explain. Their effects, errors and p-values
are compared with `fingerprints.json` beside this file: hashes say whether all bytes are the same,
the numbers in it say how far apart they are if not. Notes of results are not compared.

The same bits are promised on the same machine with the same versions, for any number of threads.
Other processors may round otherwise, and other versions of the libraries grow other trees: the
file says what it was made with, and the first line says what is different. Across processors the
promise is a tolerance, for which the printed differences are to be read.

`--write` makes the file anew, or with `--only` the lines of those fits. A fit that is meant to
change is named in `CHANGED`, with the reason, until its line is written again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

import shaff
from shaff import EffectsResult, ForestPaths, ShapleyEffects, shapley_effects
from shaff.datasets import (
    discrete_experiment,
    experiment_1a,
    experiment_2,
    experiment_3,
    load_diabetes,
)

# Name of a fit -> why it is meant to differ from the file.
CHANGED: dict[str, str] = {
    "estimator auto, factors": "levels that are equally frequent stand in the order of the rows",
}

FILE = Path(__file__).with_name("fingerprints.json")
LIBRARIES = ("numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "lightgbm", "xgboost",
             "catboost")  # fmt: skip
HASHED = ("effects", "errors", "p_values", "rest")
MEASURED = ("effects", "errors", "p_values")
SEED, N_ROWS, BUDGET = 0, 200, 24

Fit = Callable[[int], EffectsResult]  # of the number of threads
Data = Callable[[], tuple[Any, Any]]


# Data -------------------------------------------------------------------------------------------


@cache
def numbers() -> tuple[Any, Any]:
    """Six columns: two that depend on each other, an interaction, two without effect."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_ROWS, 6))
    X[:, 1] += 0.8 * X[:, 0]
    X[:, 5] += 0.5 * X[:, 3]
    y = X[:, 0] + 0.5 * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * rng.standard_normal(N_ROWS)
    return X, y


def with_missing() -> tuple[Any, Any]:
    X, y = numbers()
    gaps = np.random.default_rng(2).uniform(size=X.shape) < 0.1
    return np.where(gaps, np.nan, X), y


def two_classes() -> tuple[Any, Any]:
    X, y = numbers()
    return X, np.where(y > 0.3, "yes", "no")


def three_classes() -> tuple[Any, Any]:
    X, y = numbers()
    return X, np.array(["low", "mid", "high"])[np.digitize(y, [-0.7, 0.7])]


def two_outputs() -> tuple[Any, Any]:
    X, y = numbers()
    return X, pd.DataFrame({"first": y, "second": 3 * X[:, 3] + X[:, 2] ** 2})


@cache
def mixed() -> tuple[Any, Any]:
    """A frame of strings, categories, dates, whole numbers and truths, some of them missing."""
    rng = np.random.default_rng(3)
    x, size = rng.standard_normal(N_ROWS), rng.integers(3, size=N_ROWS)
    days = rng.integers(400, size=N_ROWS).astype("timedelta64[D]")
    frame = pd.DataFrame(
        {
            "number": np.where(rng.uniform(size=N_ROWS) < 0.1, np.nan, x),
            "size": pd.Categorical.from_codes(size, ["small", "medium", "large"]),
            "town": rng.choice(["Oslo", "Rome", "Cork", "Bonn", None], N_ROWS),
            "day": np.datetime64("2020-01-01", "us") + days,
            "count": rng.poisson(3, N_ROWS),
            "flag": rng.uniform(size=N_ROWS) < 0.5,
        }
    )
    y = x * (size + 1) + (frame["town"] == "Rome") + 0.01 * days.astype(float)
    return frame, pd.Series(y + 0.3 * rng.standard_normal(N_ROWS), name="outcome")


def in_polars() -> tuple[Any, Any]:
    frame, y = mixed()
    return pl.from_pandas(frame), pl.Series("outcome", y.to_numpy())


def in_pyarrow() -> tuple[Any, Any]:
    frame, y = mixed()
    return pa.Table.from_pandas(frame, preserve_index=False), y.to_numpy()


def coded() -> tuple[Any, Any]:
    """Numbers, the first column in four levels that have no order."""
    X, y = numbers()
    levels = np.digitize(X[:, 0], [-0.7, 0, 0.7])
    return np.column_stack([np.array([2, 0, 3, 1])[levels], X[:, 1:]]), y


def noise() -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    return rng.standard_normal((80, 4)), rng.standard_normal(80)


def wide() -> tuple[Any, Any]:
    """More columns than are evaluated without a screen."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N_ROWS, 32))
    X[:, 1] += X[:, 0]
    y = X[:, 0] + X[:, 1] + 1.5 * X[:, 2] - 1.5 * X[:, 3] + 1.5 * np.abs(X[:, 31])
    return X, y + rng.standard_normal(N_ROWS)


def constant() -> tuple[Any, Any]:
    return numbers()[0], np.ones(N_ROWS)


def single_column() -> tuple[Any, Any]:
    X, y = numbers()
    return X[:, :1], y


def published(experiment: Callable[..., Any], **settings: Any) -> Data:
    def draw() -> tuple[Any, Any]:
        drawn = experiment(n=N_ROWS, random_state=SEED, **settings)
        return drawn.X, drawn.y

    return draw


# How the fits are made --------------------------------------------------------------------------


def fit(data: Data = numbers, rows: dict[str, Any] | None = None, **settings: Any) -> Fit:
    """`rows` are sample_weight and row_groups."""

    def run(jobs: int) -> EffectsResult:
        X, y = data()
        est = ShapleyEffects(**{"random_state": SEED, "n_jobs": jobs, **settings})
        return est.fit(X, y, **(rows or {})).result_

    return run


def forest_fit(data: Data = numbers, rows: dict[str, Any] | None = None, **settings: Any) -> Fit:
    """With a small forest, where the estimator is not the point."""
    return fit(data, rows, **{"estimator": FOREST, "n_subsets": BUDGET, **settings})


def preset(name: str, data: Data = numbers, **settings: Any) -> Fit:
    def run(jobs: int) -> EffectsResult:
        made = {"random_state": SEED, "n_jobs": jobs, **settings}
        return ShapleyEffects.preset(name, **made).fit(*data()).result_

    return run


def as_published(jobs: int) -> EffectsResult:
    smaller = {
        "estimator": RandomForestRegressor(50, max_features=1 / 3, min_samples_leaf=5),
        "design": ForestPaths(n_draws=60, paired_weights="published"),
    }
    est = ShapleyEffects.as_published(**smaller, n_jobs=jobs, random_state=SEED)
    return est.fit(*numbers()).result_


def plain_error(jobs: int) -> EffectsResult:
    """With the plain error of a forest: a setting of the forest, or in older versions an argument
    of `ShapleyEffects`."""
    if "forest_error" in signature(ShapleyEffects).parameters:
        return forest_fit(forest_error="plain")(jobs)
    setting = shaff.ForestValues(FOREST, error="plain")
    return forest_fit(estimator=setting)(jobs)


def as_function(jobs: int) -> EffectsResult:
    X, y = numbers()
    weight = {"sample_weight": WHOLE}
    return shapley_effects(X, y, **weight, estimator="forest", n_jobs=jobs, random_state=SEED)


def from_fitted(model: Any, data: Data = numbers, **settings: Any) -> Fit:
    """A model of the first half of the rows on the others, or of all rows on its training rows."""

    def run(jobs: int) -> EffectsResult:
        X, y = data()
        training = settings.get("rows") == "training"
        old = slice(None) if training else slice(0, N_ROWS // 2)
        new = slice(None) if training else slice(N_ROWS // 2, None)
        model.fit(X[old], y[old])
        made = {"n_subsets": BUDGET, "random_state": SEED, "n_jobs": jobs, **settings}
        return ShapleyEffects.from_fitted(model, X[new], y[new], **made).result_

    return run


def of_frame(jobs: int) -> EffectsResult:
    """A booster that codes categories itself, given the columns in another order."""
    frame, y = mixed()
    frame = frame[["number", "size", "count"]]
    model = LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1, random_state=0).fit(frame, y)
    shuffled = frame[["size", "count", "number"]]
    return ShapleyEffects.from_fitted(
        model, shuffled, y, n_subsets=BUDGET, n_jobs=jobs, random_state=SEED
    ).result_


def with_checkpoint(first: int) -> Fit:
    """Priced subsets of a first fit, saved: a second fit with the folder must not show it."""

    def run(jobs: int) -> EffectsResult:
        with tempfile.TemporaryDirectory() as folder:
            results = [
                forest_fit(n_subsets=budget, checkpoint=folder)(jobs) for budget in (first, BUDGET)
            ]
        alone = hashes(forest_fit()(jobs))
        if hashes(results[1]) != alone or (first == BUDGET and hashes(results[0]) != alone):
            raise AssertionError("fits with and without the checkpoint differ")
        return results[1]

    return run


# The fits ---------------------------------------------------------------------------------------

FOREST = RandomForestRegressor(20, min_samples_leaf=5)
_ROWS = np.random.default_rng(6)
WHOLE = _ROWS.integers(0, 4, N_ROWS)
FRACTIONAL = _ROWS.uniform(0.2, 3, N_ROWS)
PATIENTS = np.arange(N_ROWS) // 4

PRESETS: dict[str, dict[str, Any]] = {
    "song": {"estimator": FOREST},
    "kernel_shap": {"estimator": FOREST, "options": {"n_background": 20}},
    "tree_shap": {"estimator": FOREST},
    "aas_gaussian": {"estimator": FOREST, "options": {"n_draws": 20}},
    "aas_copula": {"estimator": FOREST, "options": {"n_draws": 20}},
    "aas_empirical": {"estimator": FOREST, "options": {"n_draws": 20}},
    "sage": {"estimator": FOREST, "options": {"n_background": 20}},
    "broto": {"n_subsets": None},
    "broto_sampled": {},
    "williamson": {"estimator": FOREST},
    "covert_lee": {"estimator": FOREST, "options": {"n_background": 20}},
    "mdi": {"estimator": FOREST, "n_subsets": None},
    "sobol_mda": {"estimator": FOREST, "n_subsets": None},
}
DESIGNS: dict[str, dict[str, Any]] = {
    "auto": {},
    "gaussian_process": {"data": published(experiment_1a)},
    "forest_paths": {},
    "leverage": {},
    "monte_carlo": {},
    "antithetic": {},
    "orthogonal": {},
    "exhaustive": {},
    "permutations": {},
    "kernel_draws": {},
    "paired_draws": {},
    "leave_one_out": {},
}
# Beside those that go with each design by themselves.
SOLVERS = {
    "least_squares": ("gaussian_process", "exhaustive", "antithetic", "permutations"),
    "gaussian_process": ("forest_paths", "leverage", "monte_carlo", "orthogonal", "kernel_draws"),
    "permutations": ("orthogonal",),
    "total_sobol": ("leave_one_out",),
}
BOOSTERS: dict[str, Any] = {
    "HistGradientBoosting": HistGradientBoostingRegressor(max_iter=30, max_features=0.5),
    "LightGBM": LGBMRegressor(n_estimators=30, colsample_bytree=0.5, verbose=-1, n_jobs=1),
    "XGBoost": XGBRegressor(n_estimators=30, max_depth=4, colsample_bynode=0.5, n_jobs=1),
    "CatBoost": CatBoostRegressor(
        iterations=30, rsm=0.5, verbose=0, thread_count=1, allow_writing_files=False
    ),
}
ESTIMATORS: dict[str, dict[str, Any]] = {
    "None": {"estimator": None},
    "auto": {"estimator": "auto", "data": published(experiment_2), "n_subsets": 40},
    # On these data it takes the stack and the forest.
    "auto, factors": {"estimator": "auto", "data": published(experiment_3)},
    "auto, classes": {"estimator": "auto", "data": three_classes},
    "forest": {"estimator": "forest"},
    "boosting": {"estimator": "boosting"},
    "stack": {"estimator": "stack"},
    "RandomForest": {"estimator": RandomForestRegressor(30, max_features=2, random_state=7)},
    "ExtraTrees": {"estimator": ExtraTreesRegressor(20, min_samples_leaf=3, bootstrap=True)},
    "Bagging": {"estimator": BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=5), 20)},
    "Bagging of columns": {"estimator": BaggingRegressor(n_estimators=20, max_features=0.5)},
    "RandomForestClassifier": {
        "estimator": RandomForestClassifier(20, min_samples_leaf=5, class_weight="balanced"),
        "data": three_classes,
    },
    "HistGradientBoostingClassifier": {
        "estimator": HistGradientBoostingClassifier(max_iter=30, max_features=0.5),
        "data": two_classes,
    },
    "linear": {"estimator": LinearRegression()},
    "logistic": {"estimator": LogisticRegression(), "data": two_classes},
    **{name: {"estimator": model} for name, model in BOOSTERS.items()},
}
FITTED: dict[str, Fit] = {
    "forest, training rows": from_fitted(
        RandomForestRegressor(20, min_samples_leaf=5, random_state=0), rows="training"
    ),
    "forest, training rows, weighted": from_fitted(
        RandomForestRegressor(20, min_samples_leaf=5, random_state=0),
        rows="training",
        sample_weight=FRACTIONAL,
    ),
    "forest, held-out rows": from_fitted(
        RandomForestRegressor(20, min_samples_leaf=5, random_state=0)
    ),
    "forest, held-out rows, groups of rows": from_fitted(
        ExtraTreesRegressor(20, min_samples_leaf=5, random_state=0), row_groups=PATIENTS[:100]
    ),
    "forest, classes": from_fitted(
        RandomForestClassifier(20, min_samples_leaf=5, random_state=0), two_classes
    ),
    "HistGradientBoosting": from_fitted(HistGradientBoostingRegressor(max_iter=30), with_missing),
    "LightGBM": from_fitted(LGBMRegressor(n_estimators=30, verbose=-1, n_jobs=1)),
    "XGBoost": from_fitted(XGBRegressor(n_estimators=30, max_depth=4, n_jobs=1)),
    "CatBoost": from_fitted(
        CatBoostRegressor(iterations=30, verbose=0, thread_count=1, allow_writing_files=False)
    ),
    "LightGBM of a frame": of_frame,
    "linear": from_fitted(LinearRegression()),
}
ROWS: dict[str, Fit] = {
    "whole weights, forest": forest_fit(rows={"sample_weight": WHOLE}),
    "whole weights, boosting": fit(
        rows={"sample_weight": WHOLE}, estimator="boosting", n_subsets=BUDGET
    ),
    "fractional weights, forest": forest_fit(rows={"sample_weight": FRACTIONAL}),
    **{
        f"fractional weights, {k}": forest_fit(rows={"sample_weight": FRACTIONAL}, estimator=model)
        for k, model in BOOSTERS.items()
    },
    "groups of rows, balanced classes": forest_fit(
        rows={"row_groups": PATIENTS}, **ESTIMATORS["RandomForestClassifier"]
    ),
    "fractional weights, stack": fit(
        rows={"sample_weight": FRACTIONAL}, estimator="stack", n_subsets=BUDGET
    ),
    "groups of rows, forest": forest_fit(rows={"row_groups": PATIENTS}),
    "groups of rows, boosting": fit(
        rows={"row_groups": PATIENTS}, estimator="boosting", n_subsets=BUDGET
    ),
    "groups of rows and weights": fit(
        rows={"row_groups": PATIENTS, "sample_weight": WHOLE}, n_subsets=BUDGET
    ),
    "max_rows": forest_fit(max_rows=120),
    "max_rows, groups of rows": forest_fit(rows={"row_groups": PATIENTS}, max_rows=120),
    "cv=3": fit(estimator="boosting", cv=3, n_subsets=BUDGET),
    "cv=KFold": fit(cv=KFold(4, shuffle=True, random_state=1), n_subsets=BUDGET),
    "cv=TimeSeriesSplit": fit(cv=TimeSeriesSplit(3), n_subsets=BUDGET),
    "cv=GroupKFold": fit(rows={"row_groups": PATIENTS}, cv=GroupKFold(4), n_subsets=BUDGET),
}
DATA: dict[str, Fit] = {
    "pandas, forest": forest_fit(mixed),
    "pandas, boosting": fit(mixed, estimator="boosting", n_subsets=BUDGET),
    "pandas, auto": fit(mixed, n_subsets=BUDGET),
    "pandas, ExtraTrees": forest_fit(mixed, **ESTIMATORS["ExtraTrees"]),
    "pandas, Bagging": forest_fit(mixed, **ESTIMATORS["Bagging"]),
    **{f"pandas, {k}": forest_fit(mixed, estimator=model) for k, model in BOOSTERS.items()},
    "polars": forest_fit(in_polars),
    "pyarrow": forest_fit(in_pyarrow),
    "missing numbers": fit(with_missing, estimator="stack", n_subsets=BUDGET),
    "categorical=[0]": forest_fit(coded, categorical=[0]),
    "categorical=['count']": forest_fit(mixed, categorical=["count", "size", "town"]),
    "factors": fit(published(experiment_3), estimator="boosting", n_subsets=BUDGET),
    "factors, two classes": forest_fit(published(discrete_experiment, binary=True)),
    "factors, preset": preset(
        "sage", published(discrete_experiment), **PRESETS["sage"], n_subsets=20
    ),
    "diabetes": forest_fit(lambda: load_diabetes()[:2]),
    "two classes, boosting": fit(two_classes, estimator="boosting", n_subsets=BUDGET),
    "three classes, forest": forest_fit(three_classes),
    "three classes, stack": fit(three_classes, estimator="stack", n_subsets=BUDGET),
    "two outputs, forest": forest_fit(two_outputs),
    "two outputs, preset": preset("tree_shap", two_outputs, estimator=FOREST, n_subsets=20),
    "two outputs, boosting": fit(two_outputs, estimator="boosting", n_subsets=BUDGET),
    "screened, forest": forest_fit(wide, n_subsets=40),
    "screened, boosting": fit(wide, estimator="boosting", n_subsets=40),
    "pure noise": fit(noise),
    "constant y": fit(constant),
    "single column": fit(single_column),
}
SETTINGS: dict[str, Fit] = {
    "as_published": as_published,
    "shapley_effects": as_function,
    "forest_error=plain": plain_error,
    # A third of the columns a node: else no subset occurs with its complement, and both agree.
    "ForestPaths, published weights": fit(
        estimator="forest", design=ForestPaths(n_draws=40, paired_weights="published")
    ),
    "ForestPaths, pairs": fit(estimator="forest", design=ForestPaths(n_draws=40)),
    "groups": forest_fit(groups={"pair": [0, 1], "others": [4, 5]}),
    "groups, boosting": fit(
        mixed, estimator="boosting", groups={"who": ["size", "town"]}, n_subsets=BUDGET
    ),
    "tol": forest_fit(published(experiment_2), tol=0.002, n_subsets=None),
    "tol and n_subsets": forest_fit(published(experiment_2), tol=0.002, n_subsets=70),
    "default budget": fit(published(experiment_2), estimator=FOREST),
    "n_jobs=2, forest": forest_fit(n_jobs=2),
    "n_jobs=2, auto": fit(n_subsets=BUDGET, n_jobs=2),
    "n_jobs=2, preset": preset("sage", **PRESETS["sage"], n_subsets=20, n_jobs=2),
    "another seed": forest_fit(random_state=11),
    # Made anew, because a fit takes numbers from it.
    "random_state=RandomState": lambda jobs: forest_fit(random_state=np.random.RandomState(3))(
        jobs
    ),
    "checkpoint, again": with_checkpoint(BUDGET),
    "checkpoint, continued": with_checkpoint(10),
}
FITS: dict[str, Fit] = {
    **{f"preset {k}": preset(k, **{"n_subsets": 20, **s}) for k, s in PRESETS.items()},
    **{f"design {k}": forest_fit(design=k, **s) for k, s in DESIGNS.items()},
    **{
        f"solver {k}, {design}": forest_fit(solver=k, design=design)
        for k, designs in SOLVERS.items()
        for design in designs
    },
    **{f"estimator {k}": fit(**{"n_subsets": BUDGET, **s}) for k, s in ESTIMATORS.items()},
    **{f"fitted {k}": made for k, made in FITTED.items()},
    **{f"rows {k}": made for k, made in ROWS.items()},
    **{f"data {k}": made for k, made in DATA.items()},
    **{f"settings {k}": made for k, made in SETTINGS.items()},
}


# Fingerprints -----------------------------------------------------------------------------------


def parts(result: EffectsResult) -> dict[str, Any]:
    """All that is hashed, by the name of its hash."""
    return {
        "effects": (result.effects, result.raw_effects, result.explained_variance),
        "errors": (errors_by_source(result), result.covariance, result.explained_variance_error),
        "p_values": result.p_values,
        "rest": (result.first_order, result.total, result.per_output, result.names, result.target,
                 made_by(result)),
    }  # fmt: skip


def errors_by_source(result: EffectsResult) -> Any:
    """A dict of arrays or None; older versions have it under another name."""
    older = getattr(result, "standard_errors", None)
    return getattr(result, "errors_by_source", older)


def made_by(result: EffectsResult) -> str:
    steps = f"{result.estimator}, {result.design}, {result.solver}"
    return f"{steps}; {result.n_subsets} subsets, {result.n_rows} rows"


def as_bytes(part: Any) -> bytes:
    """Exact bytes of arrays, floats and text, nested in tuples and dicts."""
    if isinstance(part, dict):
        part = tuple(part.items())
    if isinstance(part, tuple):
        return b"(" + b",".join(as_bytes(item) for item in part) + b")"
    if isinstance(part, float | np.ndarray):
        array = np.asarray(part, dtype="<f8")
        return repr(array.shape).encode() + array.tobytes()
    return repr(part).encode()


def hashes(result: EffectsResult) -> dict[str, str]:
    found = parts(result)
    return {name: hashlib.sha256(as_bytes(found[name])).hexdigest()[:12] for name in HASHED}


def fingerprint(result: EffectsResult) -> dict[str, Any]:
    """One line of the file."""
    # Results of the interface before 0.1 had the total under another name.
    total = getattr(result, "standard_error", None)
    total = result.standard_errors if total is None else total
    numbers = (result.effects, total, result.p_values)
    listed = [None if array is None else array.tolist() for array in numbers]
    return {
        "hashes": hashes(result),
        "made_by": made_by(result),
        **dict(zip(MEASURED, listed, strict=True)),
    }


def fingerprint_of(name: str, jobs: int) -> dict[str, Any]:
    """Of a fit; what it raises stands in its place, and is never equal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fingerprint(FITS[name](jobs))
        except Exception as error:
            return {"raised": f"{type(error).__name__}: {error}".splitlines()[0]}


def made_with() -> dict[str, str]:
    """Versions and the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.processor() or platform.machine()
    versions = {name: str(import_module(name).__version__) for name in LIBRARIES}
    return {"python": platform.python_version(), **versions, "processor": processor}


# Comparison -------------------------------------------------------------------------------------


def distance(old: list[float] | None, new: list[float] | None) -> float:
    """Largest absolute difference; infinite where only one of the two has a number."""
    if old is None or new is None:
        return 0.0 if old is new else np.inf
    if len(old) != len(new):
        return np.inf
    a, b = np.array(old), np.array(new)
    gaps = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
    return float(np.nan_to_num(gaps, nan=np.inf).max(initial=0.0))


def difference(old: dict[str, Any] | None, new: dict[str, Any]) -> str:
    """What is different, in words; empty if nothing is."""
    if "raised" in new:
        return f"raises {new['raised']}"
    if old is None:
        return "not in the file"
    if old["hashes"] == new["hashes"]:
        return ""
    kinds = [name for name in HASHED if old["hashes"][name] != new["hashes"][name]]
    sizes = [f"{name} {distance(old[name], new[name]):.1e}" for name in MEASURED]
    made = [f"{old['made_by']} -> {new['made_by']}"] * (old["made_by"] != new["made_by"])
    return f"in {', '.join(kinds)}: " + "; ".join([", ".join(sizes), *made])


def verdict(name: str, found: str) -> str:
    if found and name in CHANGED:
        return f"changed on purpose: {CHANGED[name]} ({found})"
    return f"DIFFERS {found}" if found else "equal"


def read_file() -> dict[str, Any]:
    if not FILE.exists():
        return {"made_with": made_with(), "fits": {}}
    read: dict[str, Any] = json.loads(FILE.read_text())
    return read


def say_versions(old: dict[str, str]) -> None:
    new = made_with()
    other = [f"{k} {old.get(k)} -> {new.get(k)}" for k in old | new if old.get(k) != new.get(k)]
    if other:
        print(f"The file was made elsewhere, bits may differ: {', '.join(other)}")


def compare(names: list[str], jobs: int, whole: bool) -> bool:
    """Print a line a fit; is any different that should not be?"""
    stored = read_file()
    say_versions(stored["made_with"])
    counts = dict.fromkeys(("equal", "changed", "DIFFERS"), 0)
    for name in names:
        said = verdict(name, difference(stored["fits"].get(name), fingerprint_of(name, jobs)))
        counts[said.split()[0]] += 1
        print(f"{name:48s}{said}", flush=True)
    gone = [name for name in stored["fits"] if whole and name not in FITS]
    for name in gone:
        print(f"{name:48s}DIFFERS: in the file, but no fit here")
    equal, changed, differ = counts["equal"], counts["changed"], counts["DIFFERS"] + len(gone)
    total = equal + changed + differ
    print(f"{total} fits: {equal} equal, {changed} changed on purpose, {differ} differ")
    return differ > 0


def write(names: list[str], jobs: int, whole: bool) -> None:
    """The file anew, or some of its lines."""
    stored = read_file()
    if not whole and stored["made_with"] != made_with():
        sys.exit("The other lines were made elsewhere: write the whole file.")
    fits = {} if whole else {name: line for name, line in stored["fits"].items() if name in FITS}
    for name in names:
        fits[name] = fingerprint_of(name, jobs)
        if "raised" in fits[name]:
            sys.exit(f"{name} {difference(None, fits[name])}; nothing is written.")
    lines = [f"{json.dumps(name)}: {json.dumps(fits[name])}" for name in FITS if name in fits]
    text = f'{{\n"made_with": {json.dumps(made_with())},\n"fits": {{\n'
    temporary = FILE.with_suffix(".tmp")
    temporary.write_text(text + ",\n".join(lines) + "\n}\n}\n")
    os.replace(temporary, FILE)
    print(f"{len(names)} of {len(lines)} fits written to {FILE.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the file, compare nothing")
    parser.add_argument("--only", default="", help="fits whose name contains this")
    parser.add_argument("--jobs", type=int, default=1, help="threads; no result depends on it")
    args = parser.parse_args()
    names = [name for name in FITS if args.only in name]
    started = time.perf_counter()
    if args.write:
        write(names, args.jobs, not args.only)
        differs = False
    else:
        differs = compare(names, args.jobs, not args.only)
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    sys.exit(int(differs))


if __name__ == "__main__":
    main()
