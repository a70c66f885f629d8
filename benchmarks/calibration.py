"""How much more effects vary over data sets than the rows' influences say.

    python -m benchmarks.calibration [--repeats 60] [--jobs 2]

The influences take the fitted models as given. Here many data sets are drawn from five cases, none
of which is in `benchmarks.coverage`, and the variance of each effect over them, less what design
and ensemble add, is set against the mean variance that the influences give. A line through these
ratios, by the share of an effect that least squares does not find, is where the constants of
`shaff.uncertainty.inference.training_factor` come from.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from shaff import ShapleyEffects
from shaff._util.typing import FloatArray
from shaff.gaussian_process.linear_game import linear_proxy
from shaff.uncertainty.inference import training_factor

LEAST_EFFECT = 0.03
BUDGET = 60


@dataclass(frozen=True)
class Case:
    """Equally correlated normal inputs, a signal of variance 1 - noise, and normal noise."""

    name: str
    signal: Callable[[FloatArray], FloatArray]
    n_rows: int
    n_columns: int
    correlation: float
    noise: float

    def inputs(self, rng: np.random.Generator, n_rows: int) -> FloatArray:
        """Rows."""
        covariance = np.full((self.n_columns, self.n_columns), self.correlation)
        np.fill_diagonal(covariance, 1.0)
        rows = rng.standard_normal((n_rows, self.n_columns)) @ np.linalg.cholesky(covariance).T
        return np.asarray(rows, dtype=np.float64)

    def draw(self, seed: int) -> tuple[FloatArray, FloatArray]:
        """One data set."""
        rng = np.random.default_rng([77, seed, self.n_rows, self.n_columns])
        X = self.inputs(rng, self.n_rows)
        scale = self.signal(self.inputs(np.random.default_rng(1), 20_000)).std()
        signal = np.sqrt(1 - self.noise) * self.signal(X) / scale
        return X, signal + np.sqrt(self.noise) * rng.standard_normal(self.n_rows)


def additive(X: FloatArray) -> FloatArray:
    return np.asarray(np.abs(X[:, 0]) + np.cos(1.5 * X[:, 1]) + X[:, 2] ** 2 / 2)


def steps(X: FloatArray) -> FloatArray:
    return np.asarray(1.5 * (X[:, 0] > 0.5) + 2.0 * (X[:, 1] > 0) * (X[:, 2] > 0))


def product(X: FloatArray) -> FloatArray:
    return np.asarray(X[:, 0] * X[:, 1] * np.sign(X[:, 2]) + 0.7 * X[:, 3])


def linear(X: FloatArray) -> FloatArray:
    return np.asarray(X[:, :4] @ [1.0, 0.7, 0.5, 0.3])


def mixed(X: FloatArray) -> FloatArray:
    return np.asarray(X[:, 0] + 0.8 * X[:, 1] + np.exp(0.6 * X[:, 2]) + 0.8 * X[:, 3] * X[:, 0])


CASES = [
    Case("additive", additive, 500, 6, 0.3, 0.35),
    Case("steps", steps, 400, 6, 0.4, 0.3),
    Case("product", product, 500, 6, 0.2, 0.3),
    Case("linear", linear, 300, 6, 0.5, 0.5),
    Case("mixed", mixed, 400, 7, 0.3, 0.3),
]


def explain(case: Case, seed: int) -> FloatArray:
    """Raw effects, effects of least squares, variance given the models, variance beside it."""
    X, y = case.draw(seed)
    result = ShapleyEffects(n_subsets=BUDGET, random_state=seed).fit(X, y).result_
    found = linear_proxy(X, y).effects
    errors = {source: error**2 for source, error in result.errors_by_source.items()}
    given = errors["data"] / training_factor(result.raw_effects, found)
    return np.array([result.raw_effects, found, given, errors["design"] + errors["ensemble"]])


def ratios(case: Case, repeats: int, jobs: int) -> tuple[FloatArray, FloatArray]:
    """Of the effects that count: share that least squares misses, ratio of the variances."""
    drawn = np.array(Parallel(jobs)(delayed(explain)(case, seed) for seed in range(repeats)))
    raw, found, given, beside = drawn.transpose(1, 0, 2)
    counts = raw.mean(axis=0) > LEAST_EFFECT
    share = 1 - np.clip(found.mean(axis=0) / raw.mean(axis=0), 0, 1)[counts]
    ratio = ((raw.var(axis=0, ddof=1) - beside.mean(axis=0)) / given.mean(axis=0))[counts]
    print(f"{case.name:10s}share {share.round(2)}   ratio {ratio.round(2)}", flush=True)
    return share, ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=60, help="data sets a case")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    share, ratio = np.hstack([ratios(case, args.repeats, args.jobs) for case in CASES])
    slope, start = np.polyfit(share, ratio, 1)
    error = np.sqrt(2 / (args.repeats - 1))
    print(f"line through the ratios: {start:.2f} at share 0, {start + slope:.2f} at share 1")
    print(f"mean {ratio.mean():.2f}; a ratio is known to about {100 * error:.0f} %")


if __name__ == "__main__":
    main()
