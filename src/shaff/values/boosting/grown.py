"""Projected boosting: grown on folds of the data, or fitted elsewhere."""

from __future__ import annotations

from typing import Any

from shaff.data.problem import Problem
from shaff.protocols import Game
from shaff.values.boosting.projected_boosting import ProjectedBoosting

_TREES = "trees on top of it do not predict better."
_ENOUGH = {
    "constant": "No model predicts other rows better than their mean does.",
    "linear": f"A linear model is enough here: {_TREES}",
    "normal_scores": f"A linear model of the ranked inputs is enough here: {_TREES}",
    "quadratic": f"A model of straight lines and squares is enough here: {_TREES}",
}


def make_boosting(
    problem: Problem, model: Any = None, like: ProjectedBoosting | None = None
) -> Game:
    """Projected boosting, cross-fitted; None is the default booster.

    ``like``: another run on the same data, whose choices are taken over.
    """
    values = ProjectedBoosting(problem, estimator=model, like=like)
    return Game(values, "boosting", values.gains, None, _shape(values))


def fitted_boosting(model: Any, problem: Problem) -> Game:
    """The trees of a fitted booster, on rows that it has not seen."""
    values = ProjectedBoosting.from_fitted(model, problem)
    return Game(values, "boosting", values.gains)


def _shape(values: ProjectedBoosting) -> tuple[str, ...]:
    """What is enough when trees add nothing, in plain words."""
    return (_ENOUGH[values.start_],) if values.n_trees_ == 0 else ()
