"""Fitting a user's model on the rows of a problem."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from shaff._seeds import seeded
from shaff.data.problem import Problem
from shaff.data.target import as_target


def fit_model(model: Any, problem: Problem, X: Any = None) -> Any:
    """A clone with our seed and number of jobs wherever the model leaves them open."""
    copy = seeded(model, problem.seed)
    if copy.get_params(deep=False).get("n_jobs", 0) is None:
        copy.set_params(n_jobs=problem.n_jobs)
    weight = {} if problem.sample_weight is None else {"sample_weight": problem.sample_weight}
    rows = problem.X if X is None else X
    return copy.fit(rows, _as_model_target(copy, problem), **weight)


def _as_model_target(model: Any, problem: Problem) -> Any:
    if is_classifier(model) and problem.target.labels is not None:
        return problem.target.labels
    return as_target(problem.y)
