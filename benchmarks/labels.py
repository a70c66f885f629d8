"""Labels by a better model, where only the rows are known: effects with and without.

    python -m benchmarks.labels [--functions 1a 2] [--n 300 1000] [--seeds 0 10]
                                [--learners auto published] [--keep FILE]

The last idea of the paper (section 5): a model that is better than the learner labels a sample, and
the learner explains the labels, which have no noise. The distribution of the inputs must stay as it
is, so that the sample can only be the rows themselves, or rows drawn from them with replacement
(four for each; copies of a row stay on one side of every split). Each row is labelled by a model
that has not seen it. The share of the variance of y comes from held-out rows: effects are those on
the labels, scaled to what the labels explain of y.

Three models label: the learner of shaff, a kernel ridge whose width and penalty are chosen by cross
validation, and LightGBM. The labels are fed to the default learner and to the published algorithm.
Errors are sums of absolute errors of the effects, means over data sets. With ``--keep`` every fit
leaves a line in the file, and those that it has are not fitted again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cases import CASES
from shaff import ShapleyEffects
from shaff._util.typing import FloatArray
from shaff.datasets import experiment_1a, experiment_2

# Drawn rows for each row.
COPIES = 4


class Rows(NamedTuple):
    """One data set, and the true effects."""

    X: FloatArray
    y: FloatArray
    effects: FloatArray


def draw(name: str, n: int, seed: int) -> Rows:
    """Rows of an experiment of the paper, or of a case of `benchmarks.cases`."""
    if name in CASES:
        return Rows(*CASES[name].draw(n, seed), CASES[name].effects)
    experiment = {"1a": experiment_1a, "2": experiment_2}[name](n=n, random_state=seed)
    return Rows(experiment.X, experiment.y, experiment.effects)


# Models that label: of each row, by one that has not seen it.


def by_shaff(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    """The default learner, by its own folds."""
    return ShapleyEffects(random_state=seed, n_subsets=2).fit(X, y).explain().predictions


def by_kernel(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    widths = np.array([0.1, 0.3, 1.0]) / X.shape[1]
    grid = {"kernelridge__gamma": widths, "kernelridge__alpha": [0.003, 0.03, 0.3]}
    model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    return _held_out(GridSearchCV(model, grid, cv=4), X, y, seed)


def by_lightgbm(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    model = LGBMRegressor(
        n_estimators=300, learning_rate=0.05, num_leaves=8, random_state=seed, n_jobs=1, verbose=-1
    )
    return _held_out(model, X, y, seed)


def _held_out(model: Any, X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    folds = KFold(5, shuffle=True, random_state=seed)
    return np.asarray(cross_val_predict(model, X, y - y.mean(), cv=folds) + y.mean())


MODELS: dict[str, Callable[[FloatArray, FloatArray, int], FloatArray]] = {
    "shaff": by_shaff,
    "kernel ridge": by_kernel,
    "LightGBM": by_lightgbm,
}


@cache
def labels(name: str, n: int, seed: int, model: str) -> FloatArray:
    rows = draw(name, n, seed)
    return MODELS[model](rows.X, rows.y, seed)


# What is done with the labels


def learner(name: str, seed: int) -> ShapleyEffects:
    if name == "published":
        return ShapleyEffects.as_published(random_state=seed)
    return ShapleyEffects(random_state=seed)


def on_rows(rows: Rows, said: FloatArray, fed: str, seed: int) -> FloatArray:
    """Effects on the labels of the rows."""
    return learner(fed, seed).fit(rows.X, said).effects_


def on_copies(rows: Rows, said: FloatArray, fed: str, seed: int) -> FloatArray:
    """Effects on the labels of rows that were drawn with replacement."""
    n = len(rows.y)
    drawn = np.random.default_rng([seed, n]).integers(n, size=COPIES * n)
    return learner(fed, seed).fit(rows.X[drawn], said[drawn], row_groups=drawn).effects_


WAYS = {"rows": on_rows, "copies": on_copies}


def error_with(rows: Rows, said: FloatArray, way: str, fed: str, seed: int) -> float:
    """Error of the effects on labels, scaled to what these explain of y."""
    found = WAYS[way](rows, said, fed, seed)
    explained = 1 - np.mean((rows.y - said) ** 2) / rows.y.var()
    return float(np.abs(found / found.sum() * max(explained, 0.0) - rows.effects).sum())


def error_without(rows: Rows, fed: str, seed: int) -> float:
    found = learner(fed, seed).fit(rows.X, rows.y).effects_
    return float(np.abs(found - rows.effects).sum())


class Errors:
    """Errors by what was asked, kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        there = path is not None and path.exists()
        lines = path.read_text().splitlines() if there and path is not None else []
        self._known: dict[str, float] = dict(json.loads(line) for line in lines)

    def of(self, name: str, n: int, seed: int, fed: str, model: str = "", way: str = "") -> float:
        """Error of one fit: without labels, or with those of a model."""
        key = f"{name} {n} {seed} {fed} {model} {way}"
        if key not in self._known:
            rows = draw(name, n, seed)
            found = (
                error_with(rows, labels(name, n, seed, model), way, fed, seed)
                if model
                else error_without(rows, fed, seed)
            )
            self._known[key] = found
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps([key, found]) + "\n")
        return self._known[key]


def line(errors: Errors, name: str, n: int, seeds: range, fed: str, ways: list[str]) -> str:
    """One line of the table: without labels, then with those of each model, in each way."""

    def mean(*what: str) -> float:
        return float(np.mean([errors.of(name, n, seed, fed, *what) for seed in seeds]))

    found = [f"{way:6s} {mean(model, way):.3f}" for model in MODELS for way in ways]
    return "   ".join([f"{name:10s} {n:5d} {fed:9s} {mean():.3f}", *found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--functions", nargs="+", default=["1a", "2", "noisy", "ratio"])
    parser.add_argument("--n", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--learners", nargs="+", choices=("auto", "published"),
                        default=["auto", "published"])  # fmt: skip
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    errors, seeds = Errors(options.keep), range(*options.seeds)
    print("error without labels, then with those of", ", ".join(MODELS))
    for fed in options.learners:
        for n in options.n:
            for name in options.functions:
                print(line(errors, name, n, seeds, fed, options.ways), flush=True)


if __name__ == "__main__":
    main()
