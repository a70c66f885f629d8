"""Speed of the projected forest kernel: ``python -m benchmarks.kernel``.

All times are CPU times of one thread, the best of several repetitions, so that other work on the
machine spoils neither the times nor their ratios. Subsets are evaluated in blocks of 128, as
`ShapleyEffects` does; their sizes are uniform on 1, ..., p - 1. Data: experiment 1a.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from shaff.data.problem import Problem
from shaff.datasets import experiment_1a
from shaff.subsets import Subsets
from shaff.trees.growing import GrownForest
from shaff.values.forest.projected_forest import ProjectedForest

BLOCK = 128
REPETITIONS = 7


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def grow(X: np.ndarray, y: np.ndarray, n_trees: int) -> RandomForestRegressor:
    model = RandomForestRegressor(
        n_trees, max_features=1 / 3, min_samples_leaf=5, random_state=0, n_jobs=1
    )
    return model.fit(X, y)


def project(model: RandomForestRegressor, X: np.ndarray, y: np.ndarray) -> ProjectedForest:
    return ProjectedForest(Problem.of(X, y, n_jobs=1), GrownForest.of_fitted(model, len(X)))


def subsets_of_all_sizes(p: int, n_subsets: int = BLOCK) -> Subsets:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, p, n_subsets)
    return Subsets.from_indices([rng.permutation(p)[:size] for size in sizes], p)


def seconds_an_evaluation(prf: ProjectedForest, subsets: Subsets, repetitions: int) -> float:
    """Of one (tree, subset)."""
    best = min(cpu_seconds(lambda: prf.values(subsets)) for _ in range(repetitions))
    return best / (prf.forest.n_trees * len(subsets))


def evaluations_per_fit(n: int = 3000, n_trees: int = 30) -> None:
    exp = experiment_1a(n, random_state=0)
    prf = project(grow(exp.X, exp.y, n_trees), exp.X, exp.y)
    subsets = subsets_of_all_sizes(exp.X.shape[1], 2 * BLOCK)
    fits, evaluations = [], []
    for _ in range(REPETITIONS):  # in turns, so that both meet the same machine
        fits.append(cpu_seconds(lambda: grow(exp.X, exp.y, n_trees)) / n_trees)
        evaluations.append(seconds_an_evaluation(prf, subsets, 1))
    fit, evaluation = min(fits), min(evaluations)
    print(f"n = {n}, p = {exp.X.shape[1]}, {n_trees} trees")
    print(f"  RandomForestRegressor.fit     {1e3 * fit:8.2f} ms a tree")
    print(f"  projection on a subset        {1e6 * evaluation:8.1f} µs a tree and subset")
    print(f"  evaluations in the time of a fit {fit / evaluation:5.0f}   (to reach: 80, aim: 160)")


def growth(n_trees: int = 10) -> None:
    print("growth with n")
    scaled = []
    for n in (1000, 3000, 10_000, 30_000):
        exp = experiment_1a(n, random_state=0)
        prf = project(grow(exp.X, exp.y, n_trees), exp.X, exp.y)
        seconds = seconds_an_evaluation(prf, subsets_of_all_sizes(exp.X.shape[1]), 3)
        scaled.append(1e9 * seconds / (n * np.log(n)))
        print(f"  n = {n:6d}   {1e6 * seconds:9.1f} µs   {scaled[-1]:6.2f} ns / (n log n)")
    print(f"  largest / smallest {max(scaled) / min(scaled):.2f}   (at most 1.6)")


def half_of_the_splits(prf: ProjectedForest, n_subsets: int = BLOCK) -> Subsets:
    """Random subsets, each filled up until half of the forest's splits are on it."""
    p, rng = prf.X.shape[1], np.random.default_rng(0)
    feature = prf.forest.feature
    counts = np.bincount(feature[feature >= 0], minlength=p)
    members = []
    for _ in range(n_subsets):
        order = rng.permutation(p)
        size = np.abs(np.cumsum(counts[order]) - counts.sum() / 2).argmin() + 1
        members.append(order[:size])
    return Subsets.from_indices(members, p)


def against_columns(n: int = 3000, n_trees: int = 10) -> None:
    print("time against p, half of the splits on the subset (noise columns beside experiment 1a)")
    exp = experiment_1a(n, random_state=0)
    noise = np.random.default_rng(0).normal(size=(n, 1000))
    times = []
    for p in (15, 100, 1000):
        X = np.column_stack([exp.X, noise[:, : p - exp.X.shape[1]]])
        prf = project(grow(X, exp.y, n_trees), X, exp.y)
        subsets = half_of_the_splits(prf)
        feature = prf.forest.feature
        per_column = np.bincount(feature[feature >= 0], minlength=p)
        splits = (subsets.masks() @ per_column).mean() / n_trees
        times.append(seconds_an_evaluation(prf, subsets, 5))
        print(
            f"  p = {p:4d}   {1e6 * times[-1]:8.1f} µs   {splits:6.0f} splits on the subset a tree"
        )
    print(f"  largest / smallest {max(times) / min(times):.2f}   (at most 2)")


if __name__ == "__main__":
    evaluations_per_fit()
    growth()
    against_columns()
