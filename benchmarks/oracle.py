"""How near an oracle comes on the same rows: true conditional means, measured as shaff measures.

    python -m benchmarks.oracle --cases hinges bumps --n 1000 --seeds 0 5

The oracle knows E[f(X) | X_U] of every subset, so that its errors are those of the rows alone: what
no learner can do better than. Conditional means are averages over scrambled Sobol' points, taken
twice: the product of both residuals has the error of the mean itself.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from benchmarks.cases import CASES, MASKS, Case, effects_of
from shaff._util.typing import BoolArray, FloatArray

POINTS = 64
# Rows whose conditional means are computed at a time.
ROWS = 2000


def oracle_effects(case: Case, n: int, seed: int) -> FloatArray:
    """Effects from the values of all subsets by the true conditional means."""
    normals, _ = case.latent(n, seed)
    _, y = case.draw(n, seed)
    away = y - y.mean()
    values = np.zeros(len(MASKS))
    for m, mask in enumerate(MASKS[1:], start=1):
        first, second = (conditional_means(case, mask, normals, k) for k in (0, 1))
        values[m] = 1 - np.mean((y - first) * (y - second)) / (away @ away / (n - 1))
    return effects_of(values)


def conditional_means(case: Case, mask: BoolArray, normals: FloatArray, seed: int) -> FloatArray:
    """E[f | X_U] of each row, shape (n,)."""
    if mask.all():
        return case.signal(case.margins(normals))
    known, free = np.flatnonzero(mask), np.flatnonzero(~mask)
    across = case.correlation[np.ix_(free, known)]
    slopes = across @ np.linalg.inv(case.correlation[np.ix_(known, known)])
    rest = case.correlation[np.ix_(free, free)] - slopes @ across.T
    points = qmc.Sobol(len(free), rng=np.random.default_rng(seed)).random(POINTS).T
    draws = np.linalg.cholesky(rest) @ ndtri(np.clip(points, 1e-9, 1 - 1e-9))
    blocks = np.array_split(np.arange(normals.shape[1]), normals.shape[1] // ROWS + 1)
    return np.concatenate(
        [_means(case, known, free, normals[:, rows], slopes, draws) for rows in blocks]
    )


def _means(
    case: Case,
    known: FloatArray,
    free: FloatArray,
    normals: FloatArray,
    slopes: FloatArray,
    draws: FloatArray,
) -> FloatArray:
    n = normals.shape[1]
    z = np.empty((len(normals), n, POINTS))
    z[known] = normals[known][:, :, None]
    z[free] = (slopes @ normals[known])[:, :, None] + draws[:, None, :]
    f = case.signal(case.margins(z.reshape(len(z), -1)))
    return f.reshape(n, POINTS).mean(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--n", type=int, nargs="+", default=[1000])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 5))
    options = parser.parse_args()
    for name in options.cases:
        for n in options.n:
            seeds = range(*options.seeds)
            errors = [oracle_error(CASES[name], n, seed) for seed in seeds]
            print(f"{name:14s} n = {n}: oracle {np.mean(errors):.4f}", flush=True)


def oracle_error(case: Case, n: int, seed: int) -> float:
    """Sum of the absolute errors of the oracle's effects."""
    return float(np.abs(oracle_effects(case, n, seed) - case.effects).sum())


if __name__ == "__main__":
    main()
