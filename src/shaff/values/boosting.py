"""Projected boosting: grown on folds of the data, or fitted elsewhere."""

from __future__ import annotations

from typing import Any

from shaff.data.problem import Problem
from shaff.protocols import Game
from shaff.values.projected_boosting import ProjectedBoosting


def make_boosting(
    problem: Problem, model: Any = None, like: ProjectedBoosting | None = None
) -> Game:
    """Projected boosting, cross-fitted; None is the default booster.

    ``like``: another run on the same data, whose choices are taken over.
    """
    values = ProjectedBoosting(problem, estimator=model, like=like)
    start = f"start of boosting: {values.start_.replace('_', ' ')}, {values.n_trees_} trees a fold."
    return Game(values, "boosting", values.gains, None, (start.capitalize(),))


def fitted_boosting(model: Any, problem: Problem) -> Game:
    """The trees of a fitted booster, on rows that it has not seen."""
    values = ProjectedBoosting.from_fitted(model, problem)
    return Game(values, "boosting", values.gains)
