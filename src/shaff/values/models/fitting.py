"""Fitting a user's model on the rows of a problem; a forest also in parts, here or elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from shaff._util import threads
from shaff._util.seeds import seeded
from shaff._util.threads import one_thread
from shaff._util.typing import FloatArray
from shaff._util.work import current_engine, in_blocks, run_tasks
from shaff.data.problem import Problem
from shaff.data.target import as_target
from shaff.errors import as_fitting_errors
from shaff.trees.boosters import on_one_thread
from shaff.trees.kinds import is_bagged
from shaff.values.models.asking import ask, explained_by_model, model_name
from shaff.values.models.probabilities import IndicatorModel

# Parts of a forest for each thread: fewer, and threads wait for the last; more, and each part
# looks at the rows again (`benchmarks.chain`).
PARTS = 4


def fit_model(model: Any, problem: Problem, X: Any = None) -> Any:
    """Fit a clone, with our seed and number of jobs wherever the model leaves them open."""
    copy = seeded(model, problem.seed)
    if _takes_jobs(copy):
        copy.set_params(n_jobs=problem.n_jobs)
    rows = problem.X if X is None else X
    return copy.fit(rows, _as_model_target(copy, problem), **_weight(copy, problem))


def _takes_jobs(model: Any) -> bool:
    """Whether a model leaves its number of jobs open; logistic regression no longer has any."""
    is_open = model.get_params(deep=False).get("n_jobs", 0) is None
    return is_open and not type(model).__module__.startswith("sklearn.linear_model")


def _weight(model: Any, problem: Problem) -> dict[str, FloatArray]:
    """The weights of the rows, for a model that takes them."""
    takes = problem.sample_weight is not None and has_fit_parameter(model, "sample_weight")
    return {"sample_weight": problem.weight} if takes else {}


def fit_as_given(model: Any, problem: Problem) -> Any:
    """Fit a clone to the rows as they were given, or say in one sentence why it cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.models.fitting import fit_as_given
    >>> fit_as_given(Ridge(), Problem.of([[np.nan], [1.0]], [0.0, 1.0]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: Ridge cannot be fitted to these rows (ValueError: Input X contains...
    """
    with as_fitting_errors(model_name(model)):
        return fit_model(model, problem, problem.frame)


def held_out_score(model: Any, problem: Problem) -> float | None:
    """Return the share of the variance of the outcome that a model explains on held-out rows: each
    fold's by a clone that was fitted to the others; None if it predicts something else, or names
    classes without their probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.models.fitting import held_out_score
    >>> X = np.arange(20.0)[:, None]
    >>> round(held_out_score(LinearRegression(), Problem.of(X, 2 * X[:, 0])), 6)
    1.0
    """
    if is_classifier(model) and not hasattr(model, "predict_proba"):
        return None
    alone = on_one_thread(model)
    fitted = IndicatorModel.of(alone, problem) if is_classifier(model) else alone
    said, weight = np.zeros_like(problem.y), np.zeros(len(problem.y))
    with one_thread():
        for fold in problem.folds(problem.seed):
            train, test = (problem.take(rows.astype(np.intp)) for rows in (fold.train, fold.test))
            found = ask(fit_model(fitted, train, train.frame), test).y
            if found.shape[1:] != said.shape[1:]:
                return None
            said[fold.test], weight[fold.test] = found, problem.weight[fold.test]
    return explained_by_model(replace(problem.target, y=said), problem.target, weight)


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
