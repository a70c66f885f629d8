"""Effects on survival: their error and coverage with censoring, and weights against bias.

    python -m benchmarks.survival --seeds 0 10 --out survival.jsonl
    python -m benchmarks.survival --report survival.jsonl
    python -m benchmarks.survival --rossi          # needs `make tables`

Five correlated inputs, three of which act, by proportional hazards or by hazards that cross. The
truth is computed from the true conditional survival: v of each subset by pairs of points that share
the inputs of the subset, the variance of the outcome by formula. Each line of the file is one fit:

- `censored`: n rows, 30 or 60 % of which are censored, by pseudo-values;
- `uncensored`: as many uncensored rows as the same variance of the mean asks for,
  n Var(uncensored) / Var(pseudo-values) of the censored table with the same seed;
- `dependent`, `weighted`: half of the rows censored, in dependence on the first input; without and
  with weights.

The report has the root mean squared error of the effects over inputs and seeds, its ratio to that
of the uncensored rows, the bias of the first input, the coverage of 95 % intervals, the mean
ratio of the variances, how far the mean of the pseudo-values is off, in standard deviations of the
outcome, and the estimated variance of the outcome as a share of the true one. Nothing was tuned on
these laws.
"""

from __future__ import annotations

import argparse
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from benchmarks.lines import Record, fill, read
from benchmarks.tables import read_real
from shaff import ShapleyEffects, survival_outcome
from shaff.datasets import shapley_values
from shaff.outcomes.survival import Of

Array = npt.NDArray[Any]
N_INPUTS, CORRELATION = 5, 0.5
# Points of the truth, and times at which conditional survival is summed.
N_TRUTH, N_TIMES = 200_000, 60
LAWS, KINDS = ("proportional", "crossing"), ("restricted_mean", "survival")
SETTINGS = ("censored", "uncensored", "dependent", "weighted")
DEPENDENT, DEPENDENT_SHARE = ("dependent", "weighted"), 0.5
# The horizon is this quantile of the times.
HORIZON = 0.7


def _sigma() -> Array:
    return CORRELATION ** np.abs(np.subtract.outer(np.arange(N_INPUTS), np.arange(N_INPUTS)))


def inputs(rng: np.random.Generator, n: int) -> Array:
    """Correlated normal inputs."""
    return rng.multivariate_normal(np.zeros(N_INPUTS), _sigma(), size=n, method="cholesky")


def rate(X: Array) -> Array:
    """Rate of the proportional hazards."""
    return np.exp(0.8 * X[:, 0] - 0.6 * X[:, 1] + 0.5 * X[:, 0] * X[:, 2])


def place_and_width(X: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of the logarithm of times whose hazards cross."""
    return 0.7 * X[:, 0] + 0.3 * X[:, 2] ** 2, np.exp(0.5 * X[:, 1])


def times(law: str, X: Array, rng: np.random.Generator) -> Array:
    """Times without censoring."""
    if law == "proportional":
        return rng.exponential(1 / rate(X))
    place, width = place_and_width(X)
    return np.exp(place + width * rng.normal(size=len(X)))


def survival(law: str, X: Array, t: float) -> Array:
    """True conditional survival."""
    if law == "proportional":
        return np.exp(-t * rate(X))
    place, width = place_and_width(X)
    return np.asarray(ndtr((place - np.log(t)) / width))


class Truth(NamedTuple):
    """Horizon, mean and variance of the outcome, and effects."""

    horizon: float
    mean: float
    variance: float
    effects: Array


@cache
def truth(law: str, of: Of) -> Truth:
    """The truth of a law, by simulation."""
    rng = np.random.default_rng(12345)
    X = inputs(rng, N_TRUTH)
    horizon = float(np.quantile(times(law, X, rng), HORIZON))
    mean, variance = conditional_mean(law, of, X, horizon), _variance(law, of, X, horizon)
    masks = (np.arange(2**N_INPUTS)[:, None] >> np.arange(N_INPUTS) & 1).astype(bool)
    v = {}
    for mask in masks:
        other = mean if mask.all() else conditional_mean(law, of, _sharing(X, mask, rng), horizon)
        v[mask.tobytes()] = np.cov(mean, other)[0, 1] / variance
    v[masks[0].tobytes()] = 0.0
    effects = shapley_values(lambda sets: np.array([v[s.tobytes()] for s in sets]), N_INPUTS)
    return Truth(horizon, float(mean.mean()), variance, effects)


def conditional_mean(law: str, of: Of, X: Array, horizon: float) -> Array:
    """Mean of the outcome given the inputs."""
    if of == "survival":
        return survival(law, X, horizon)
    return _integral(law, X, horizon, power=1)


def _integral(law: str, X: Array, horizon: float, power: int) -> Array:
    """Mean of min(T, horizon) to a power, by its integral over midpoints of times."""
    middle = (np.arange(N_TIMES) + 0.5) * horizon / N_TIMES
    parts = (power * t ** (power - 1) * survival(law, X, t) for t in middle)
    return np.asarray(sum(parts) * horizon / N_TIMES)


def _variance(law: str, of: Of, X: Array, horizon: float) -> float:
    mean = conditional_mean(law, of, X, horizon).mean()
    if of == "survival":
        return float(mean * (1 - mean))
    return float(_integral(law, X, horizon, power=2).mean() - mean**2)


def _sharing(X: Array, mask: Array, rng: np.random.Generator) -> Array:
    """Other points with the same inputs of a subset, by the conditional normal law."""
    sigma, out = _sigma(), X.copy()
    known, rest = np.flatnonzero(mask), np.flatnonzero(~mask)
    slopes = sigma[np.ix_(rest, known)] @ np.linalg.inv(sigma[np.ix_(known, known)])
    left = sigma[np.ix_(rest, rest)] - slopes @ sigma[np.ix_(known, rest)]
    noise = rng.multivariate_normal(np.zeros(len(rest)), left, size=len(X))
    out[:, rest] = X[:, known] @ slopes.T + noise
    return out


@cache
def censoring_rate(law: str, share: float, dependent: bool) -> float:
    """Rate of exponential censoring that comes before the time for some share of the rows."""
    rng = np.random.default_rng(54321)
    X = inputs(rng, N_TRUTH)
    ratio = rng.exponential(size=N_TRUTH) / times(law, X, rng) / _tendency(X, dependent)
    # Censored if the exponential divided by the rate is below the time.
    return float(np.quantile(ratio, share))


def _tendency(X: Array, dependent: bool) -> Array:
    return np.exp(1.0 * X[:, 0]) if dependent else np.ones(len(X))


def _censored(
    law: str, n: int, share: float, seed: int, dependent: bool = False
) -> tuple[Array, Array, Array]:
    """Inputs, times and events of a table."""
    rng = np.random.default_rng([seed, n, int(100 * share)])
    X = inputs(rng, n)
    time = times(law, X, rng)
    scale = censoring_rate(law, share, dependent) * _tendency(X, dependent)
    end = rng.exponential(size=n) / scale
    return X, np.minimum(time, end), time <= end


def run(law: str, of: Of, setting: str, n: int, share: float, seed: int) -> Record:
    """One fit, compared with the truth."""
    true = truth(law, of)
    X, time, event = _censored(law, n, share, seed, setting in DEPENDENT)
    table = X if setting == "weighted" else "independent"
    y = survival_outcome(time, event, horizon=true.horizon, of=of, censoring=table)
    if setting == "uncensored":
        rows = round(n * y.unit_variance / float(y.values.var()))
        rng = np.random.default_rng([seed, n, int(100 * share), 1])
        X = inputs(rng, rows)
        known = times(law, X, rng)
        always = np.ones(rows, dtype=bool)
        y = survival_outcome(known, always, horizon=true.horizon, of=of)
    result = ShapleyEffects(random_state=seed).fit(X, y).result_
    low, high = result.confidence_interval()
    return {
        "errors": (result.effects - true.effects).tolist(),
        "covered": ((low <= true.effects) & (true.effects <= high)).tolist(),
        "explained": result.explained_variance,
        "truth": true.effects.tolist(),
        "n_rows": result.n_rows,
        "ratio": result.variance_ratio,
        "mean_off": (float(y.values.mean()) - true.mean) / true.variance**0.5,
        "unit": y.unit_variance / true.variance,
    }


KEYS = ["law", "of", "share", "n", "setting"]


def report(path: Path) -> str:
    """One line for each law, kind of outcome, share of censoring, number of rows and setting."""
    runs: dict[tuple[Any, ...], list[Record]] = {}
    for record in sorted(read(path), key=lambda record: [record[key] for key in KEYS]):
        runs.setdefault(tuple(record[key] for key in KEYS), []).append(record)
    figures = {key: _figures(some) for key, some in runs.items()}
    for key, row in figures.items():
        plain = figures.get((*key[:-1], "uncensored"))
        row["to uncensored"] = np.nan if plain is None else row["error"] / plain["error"]
    table = pd.DataFrame(figures).T
    return str(table.rename_axis(KEYS).round(3).to_string())


def _figures(runs: list[Record]) -> dict[str, float]:
    errors = np.array([run["errors"] for run in runs])
    return {
        "seeds": len(runs),
        "rows": _mean(runs, "n_rows"),
        "error": float(np.sqrt((errors**2).mean())),
        "bias of x0": float(errors[:, 0].mean()),
        "coverage": _mean(runs, "covered"),
        "explained": _mean(runs, "explained"),
        "true": float(np.sum(runs[0]["truth"])),
        "ratio": _mean(runs, "ratio"),
        "mean off": _mean(runs, "mean_off"),
        "unit": _mean(runs, "unit"),
    }


def _mean(runs: list[Record], name: str) -> float:
    return float(np.mean([run.get(name, np.nan) for run in runs]))


def rossi() -> str:
    """The summary of the effects on the time to a new arrest, up to a year."""
    X, week = read_real("rossi")
    y = survival_outcome(week, X["arrest"], horizon=52, time_unit="weeks")
    effects = ShapleyEffects(random_state=0).fit(X.drop(columns="arrest"), y)
    return effects.result_.summary()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--sizes", type=int, nargs="+", default=(1000, 4000))
    parser.add_argument("--shares", type=float, nargs="+", default=(0.3, 0.6))
    parser.add_argument("--laws", nargs="+", default=LAWS)
    parser.add_argument("--of", nargs="+", default=KINDS)
    parser.add_argument("--settings", nargs="+", default=SETTINGS)
    parser.add_argument("--out", type=Path, default=Path("survival.jsonl"))
    parser.add_argument("--report", type=Path)
    parser.add_argument("--rossi", action="store_true")
    given = parser.parse_args()
    if given.rossi:
        print(rossi())
        return
    if given.report is None:
        _fill(given)
    print(report(given.report or given.out))


def _fill(given: argparse.Namespace) -> None:
    """Run what the file does not have yet, seed by seed."""
    seeds = range(*given.seeds)
    runs = product(seeds, given.sizes, given.laws, given.of, given.settings)
    keys = (
        {"law": law, "of": of, "setting": setting, "n": n, "share": share, "seed": seed}
        for seed, n, law, of, setting in runs
        for share in ((DEPENDENT_SHARE,) if setting in DEPENDENT else given.shares)
    )
    fill(given.out, keys, run)


if __name__ == "__main__":
    main()
