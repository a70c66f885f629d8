"""Projected boosting: grown on folds of the data, or fitted elsewhere."""

from __future__ import annotations

from typing import Any

from shaff.data.problem import Problem
from shaff.protocols import Game, LearnerFacts
from shaff.values.boosting.projected_boosting import ProjectedBoosting


def make_boosting(
    problem: Problem, model: Any = None, like: ProjectedBoosting | None = None
) -> Game:
    """Make projected boosting, cross-fitted; ``model=None`` is the default booster.

    ``like`` is another run on the same data whose choices are taken over.
    """
    values = ProjectedBoosting(problem, estimator=model, like=like)
    facts = LearnerFacts(enough=values.start_ if values.n_trees_ == 0 else None)
    return Game(values, "boosting", values.gains, facts=facts)


def fitted_boosting(model: Any, problem: Problem) -> Game:
    """Project the trees of a fitted booster, on rows that it has not seen."""
    values = ProjectedBoosting.from_fitted(model, problem)
    return Game(values, "boosting", values.gains)
