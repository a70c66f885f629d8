"""Fitting a user's model on the rows of a problem; a forest also in parts, here or elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from shaff._util import threads
from shaff._util.seeds import seeded
from shaff._util.work import current_engine, in_blocks, run_tasks
from shaff.data.problem import Problem
from shaff.data.target import as_target
from shaff.trees.kinds import is_bagged

# Parts of a forest for each thread: fewer, and threads wait for the last; more, and each part
# looks at the rows again (`benchmarks.chain`).
PARTS = 4


def fit_model(model: Any, problem: Problem, X: Any = None) -> Any:
    """Fit a clone, with our seed and number of jobs wherever the model leaves them open."""
    copy = seeded(model, problem.seed)
    if copy.get_params(deep=False).get("n_jobs", 0) is None:
        copy.set_params(n_jobs=problem.n_jobs)
    weight = {} if problem.sample_weight is None else {"sample_weight": problem.sample_weight}
    rows = problem.X if X is None else X
    return copy.fit(rows, _as_model_target(copy, problem), **weight)


def fit_forest(model: Any, problem: Problem) -> Any:
    """Fit a forest of scikit-learn as `fit_model` does; in parts, if there are several workers.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import load_diabetes
    >>> from shaff.values.models.fitting import fit_forest
    >>> X, y, _ = load_diabetes()
    >>> len(fit_forest(RandomForestRegressor(3), Problem.of(X, y)).estimators_)
    3
    """
    seeds = seeded(model, problem.seed)
    n_threads = _n_threads(seeds, problem.n_jobs)
    if not _has_parts(seeds) or (current_engine() is None and n_threads == 1):
        return fit_model(model, problem)
    blocks = in_blocks(seeds.n_estimators, PARTS * n_threads)
    tasks = [(seeds, block.start, block.stop) for block in blocks]
    parts = run_tasks(_fit_part, problem, tasks, problem.n_jobs)
    whole = parts[0]
    for part in parts[1:]:
        whole.estimators_ += part.estimators_
    return whole.set_params(**model.get_params(deep=False))


def _n_threads(model: Any, n_jobs: int | None) -> int:
    """Our number of threads; one for a model that has a number of its own."""
    return threads.n_threads(n_jobs) if model.get_params(deep=False).get("n_jobs", 0) is None else 1


def _has_parts(model: Any) -> bool:
    """Whether trees after the first ones can be grown by themselves: bags of trees have no way to,
    a random state that moves on cannot be sent, and weights of classes would warn."""
    whole_seed = isinstance(model.random_state, int | np.integer)
    return not is_bagged(model) and whole_seed and getattr(model, "class_weight", None) is None


def _fit_part(problem: Problem, model: Any, first: int, end: int) -> Any:
    """The trees from ``first`` on: scikit-learn passes over the seeds of those that a warm start
    has already, and looks at nothing but their number."""
    part = clone(model).set_params(n_estimators=end, warm_start=True, oob_score=False, n_jobs=1)
    if first:
        part.estimators_ = [None] * first
    part.fit(problem.X, _as_model_target(part, problem))
    del part.estimators_[:first]
    return part


def _as_model_target(model: Any, problem: Problem) -> Any:
    if is_classifier(model) and problem.target.labels is not None:
        return problem.target.labels
    return as_target(problem.y)
