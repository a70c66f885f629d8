"""The rows of the paper's tables: a way to choose subsets x a way to evaluate them."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from paper.runs import Run, Task
from paper.theorem import theorem_experiment, theorem_system
from shaff.datasets import (
    COEFFICIENTS,
    NOISE_SHARE,
    Experiment,
    experiment_1a,
    experiment_1b,
    experiment_2,
    experiment_3,
)
from shaff.designs import ForestPaths
from shaff.estimator import ShapleyEffects
from shaff.fitting.presets import PRESETS
from shaff.trees.kinds import paper_forest
from shaff.values.published.systems import SYSTEMS as VALUE_FUNCTIONS
from shaff.values.published.systems import PublishedValues, find_values

EXPERIMENTS: dict[str, Callable[[int, int], Experiment]] = {
    "1a": experiment_1a,
    "1b": experiment_1b,
    "2": experiment_2,
    "3": experiment_3,
}

# From the forest of the paper and K to what is fitted.
System = Callable[[RandomForestRegressor, int], ShapleyEffects]


def _defaults(forest: RandomForestRegressor, n_subsets: int) -> ShapleyEffects:
    """shaff as it comes: neither the forest nor the number of subsets is used."""
    return ShapleyEffects()


def _published(forest: RandomForestRegressor, n_subsets: int) -> ShapleyEffects:
    design = ForestPaths(n_draws=n_subsets, paired_weights="published")
    return ShapleyEffects.as_published(estimator=forest, design=design)


def _along_paths(values: str) -> System:
    """Subsets from forest paths (pIS): K draws and their complements, the paper's weights."""

    def make(forest: RandomForestRegressor, n_subsets: int) -> ShapleyEffects:
        evaluated_by = PublishedValues(values, forest, paths_of=forest)
        design = ForestPaths(n_draws=n_subsets, paired_weights="published")
        return ShapleyEffects(evaluated_by, design=design, solver="least_squares")

    return make


def _in_pairs(values: str) -> System:
    """Subsets from the Shapley kernel (pMC): K draws and their complements."""

    def make(forest: RandomForestRegressor, n_subsets: int) -> ShapleyEffects:
        evaluated_by = PublishedValues(values, forest)
        return ShapleyEffects(
            evaluated_by, design="paired_draws", solver="least_squares", n_subsets=2 * n_subsets
        )

    return make


def _preset(name: str) -> System:
    def make(forest: RandomForestRegressor, n_subsets: int) -> ShapleyEffects:
        settings: dict[str, Any] = {}
        if PRESETS[name].values != "neighbours":
            settings["estimator"] = forest
        if PRESETS[name].n_subsets is not None:
            settings["n_subsets"] = n_subsets
        return ShapleyEffects.preset(name, **settings)

    return make


SYSTEMS: dict[str, System] = {
    "shaff": _defaults,
    "shaff_published": _published,
    "paths_retrained": _along_paths("retrained"),
    "paths_marginal": _along_paths("marginal"),
    "paths_tree_shap": _along_paths("path_dependent"),
    "pairs_projected": _in_pairs("projected_forest"),
    "pairs_retrained": _in_pairs("retrained"),
    "williamson": _preset("williamson"),
    "sage": _preset("sage"),
    "broto": _preset("broto"),
    "mdi": _preset("mdi"),
}


def run_task(task: Task) -> Run:
    """Draw the data of a task, run its system, and compare with the exact effects.

    Examples
    --------
    >>> from paper.runs import Task
    >>> from paper.systems import run_task
    >>> run = run_task(Task("1a", "pairs_projected", 0, n_rows=200, n_subsets=40, n_trees=10))
    >>> len(run.effects), 0 < run.error < 1
    (15, True)
    """
    experiment = draw_experiment(task)
    if task.experiment == "theorem":
        return _run(theorem_system(task), task, experiment)
    forest = paper_forest(task.n_trees)
    if task.experiment == "1b":
        forest.set_params(max_features=1.0)
    return _run(SYSTEMS[task.system](forest, task.n_subsets), task, experiment)


def _run(model: ShapleyEffects, task: Task, experiment: Experiment) -> Run:
    model = model.set_params(random_state=task.seed)
    for name in VALUE_FUNCTIONS:
        find_values(name)  # imported before the clock starts
    start = process_time()
    result = model.fit(experiment.X, experiment.y).result_
    seconds = process_time() - start
    error = float(np.abs(result.effects - experiment.effects).sum())
    effects = [float(effect) for effect in result.effects]
    return Run(effects, error, seconds, result.explained_variance, result.n_subsets)


def draw_experiment(task: Task) -> Experiment:
    """The data of a task: an experiment of the paper, or ``p=...`` columns to measure time on."""
    if task.experiment == "theorem":
        return theorem_experiment(task.n_rows, task.seed)
    if task.experiment in EXPERIMENTS:
        return EXPERIMENTS[task.experiment](task.n_rows, task.seed)
    return linear_experiment(task.n_rows, int(task.experiment.removeprefix("p=")), task.seed)


def linear_experiment(n: int, p: int, seed: int) -> Experiment:
    """Independent inputs of any number, the first eleven with experiment 1's coefficients.

    Examples
    --------
    >>> from paper.systems import linear_experiment
    >>> linear_experiment(50, 30, 0).X.shape
    (50, 30)
    """
    rng = np.random.default_rng(seed)
    beta = np.zeros(p)
    beta[: len(COEFFICIENTS)] = COEFFICIENTS[:p]
    effects = (1 - NOISE_SHARE) * beta**2 / (beta @ beta)
    X = rng.standard_normal((n, p))
    noise = np.sqrt(beta @ beta * NOISE_SHARE / (1 - NOISE_SHARE)) * rng.standard_normal(n)
    names = tuple(f"X{j + 1}" for j in range(p))
    return Experiment(X, X @ beta + noise, effects, names, lambda masks: masks @ effects)
