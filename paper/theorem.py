"""Theorem 1 as it is stated: its forest, with n, M and K growing together, and K fixed beside it.

Assumption A3 asks that M grows and that n M / K vanishes. With five variables the draws are cheap,
since there are 30 subsets to evaluate however many draws there are.
"""

from __future__ import annotations

import math

import numpy as np

from paper.plan import Study
from paper.runs import RunStore, Task
from shaff._util.typing import BoolArray, FloatArray
from shaff.datasets import Experiment, shapley_values
from shaff.designs import ForestPaths
from shaff.estimator import ShapleyEffects
from shaff.values.forest.theory import TheoryForest

ROWS = (200, 800, 3200, 12_800)
FIXED = 20
# Five correlated normal inputs of a line: the exact effects are a matter of linear algebra.
SLOPES = np.array([1.0, 0.7, 0.5, 0.3, 0.0])
CORRELATION = np.where(np.eye(5, dtype=bool), 1.0, 0.4)
NOISE = 0.05
GROWING, STILL = "theory", "theory_fixed"


def trees(n_rows: int) -> int:
    """M, which grows like the fourth root of n."""
    return int(20 * math.sqrt(math.sqrt(n_rows / ROWS[0])))


def draws(n_rows: int) -> int:
    """K, which outgrows n M."""
    return int(n_rows * trees(n_rows) * np.log(n_rows) / np.log(ROWS[0]))


def theorem_experiment(n: int, seed: int) -> Experiment:
    """Rows of the line, and its exact effects.

    Examples
    --------
    >>> from paper.theorem import theorem_experiment
    >>> round(float(theorem_experiment(50, 0).effects.sum()), 6)
    0.95
    """
    rng = np.random.default_rng([seed, 11])
    X = rng.multivariate_normal(np.zeros(5), CORRELATION, size=n)
    variance = SLOPES @ CORRELATION @ SLOPES
    noise = np.sqrt(variance * NOISE / (1 - NOISE)) * rng.standard_normal(n)
    names = tuple(f"X{j + 1}" for j in range(5))
    return Experiment(X, X @ SLOPES + noise, shapley_values(_game, 5), names, _game)


def _game(masks: BoolArray) -> FloatArray:
    variance = SLOPES @ CORRELATION @ SLOPES
    return np.array([(1 - NOISE) * _explained(mask) / variance for mask in masks])


def _explained(mask: BoolArray) -> float:
    """Variance of the line given the inputs of a subset."""
    if not mask.any():
        return 0.0
    cross = CORRELATION[mask] @ SLOPES
    return float(cross @ np.linalg.solve(CORRELATION[np.ix_(mask, mask)], cross))


def theorem_tasks(study: Study) -> list[Task]:
    """The runs within the effort for convergence: K as A3 asks, and K fixed."""
    effort = study.convergence
    return [
        Task("theorem", system, study.seed + repetition, n, k, trees(n))
        for n in ROWS
        if n <= effort.max_rows
        for repetition in range(effort.repetitions)
        for system, k in ((GROWING, draws(n)), (STILL, FIXED))
    ]


def theorem_system(task: Task) -> ShapleyEffects:
    """SHAFF on the forest of the theorem."""
    design = ForestPaths(n_draws=task.n_subsets, paired_weights="published")
    forest = TheoryForest(task.n_trees, gamma=0.05, delta=0.05)
    return ShapleyEffects(forest, design=design, solver="least_squares")


def theorem_markdown(study: Study, store: RunStore) -> str:
    """Mean error by n, in two lines."""
    lines = ["| rows n | trees M | draws K | error | error, K = 20 |", "|---|---|---|---|---|"]
    for n in ROWS:
        cells = [_mean(study, store, n, system) for system in (GROWING, STILL)]
        lines.append(f"| {n} | {trees(n)} | {draws(n)} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def _mean(study: Study, store: RunStore, n: int, system: str) -> str:
    tasks = [task for task in theorem_tasks(study) if (task.n_rows, task.system) == (n, system)]
    errors = [run.error for task in tasks if (run := store.get(task)) is not None]
    return f"{np.mean(errors):.3f} ({len(errors)})" if errors else "no run"
