"""Categories, classes and frames on data whose effects are known.

``python -m benchmarks.data`` runs experiment 3 of the paper by default and as published, and the
discrete experiment as regression and as classification, in pandas and in polars.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable

import numpy as np
import polars as pl

from shaff import ShapleyEffects
from shaff.datasets import Experiment, discrete_experiment, experiment_3

NULL_FACTORS = [3, 4, 5]


def fit(kind: Callable[..., ShapleyEffects], exp: Experiment, seed: int) -> ShapleyEffects:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(random_state=seed, n_jobs=2).fit(exp.X, exp.y)


def mixed(name: str, kind: Callable[..., ShapleyEffects], n_seeds: int, limit: float) -> bool:
    """Experiment 3: raw effects of the three irrelevant factors and the cumulative error."""
    raw, errors = [], []
    for seed in range(n_seeds):
        exp = experiment_3(random_state=seed)
        est = fit(kind, exp, seed)
        raw.append(est.result_.raw_effects[NULL_FACTORS])
        errors.append(np.abs(est.effects_ - exp.effects).sum())
    nulls, error = np.mean(raw, axis=0), float(np.mean(errors))
    shown = ", ".join(f"{value:+.4f}" for value in nulls)
    print(f"experiment 3, {name}: raw X4, X5, X6 {shown} (limit 0.01); error {error:.3f} "
          f"(limit {limit})", flush=True)  # fmt: skip
    return bool(np.abs(nulls).max() <= 0.01 and error <= limit)


def discrete(binary: bool, n_seeds: int, limit: float = 0.05) -> bool:
    """The discrete experiment: cumulative error, and the same effects from both libraries."""
    errors, same = [], True
    for seed in range(n_seeds):
        exp = discrete_experiment(binary=binary, random_state=seed)
        est = fit(ShapleyEffects, exp, seed)
        polars = ShapleyEffects(random_state=seed, n_jobs=2).fit(pl.from_pandas(exp.X), exp.y)
        same &= bool((est.effects_ == polars.effects_).all())
        errors.append(np.abs(est.effects_ - exp.effects).sum())
    name = "binary" if binary else "regression"
    print(f"discrete, {name}: error {np.mean(errors):.3f} (limit {limit}); pandas and polars "
          f"{'agree to the bit' if same else 'DIFFER'}", flush=True)  # fmt: skip
    return bool(np.mean(errors) <= limit and same)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    n_seeds = parser.parse_args().seeds
    passed = [
        mixed("defaults", ShapleyEffects, n_seeds, 0.10),
        mixed("as published", ShapleyEffects.as_published, n_seeds, 0.15),
        discrete(binary=False, n_seeds=max(1, n_seeds // 3)),
        discrete(binary=True, n_seeds=max(1, n_seeds // 3)),
    ]
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
