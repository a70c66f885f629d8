"""Projected boosting: grown on folds of the data, or fitted elsewhere."""

from __future__ import annotations

from typing import Any

from shaff.data.problem import Problem
from shaff.protocols import Game, LearnerFacts
from shaff.trees.boosters import loss_of
from shaff.trees.ensemble import Ensemble
from shaff.values.boosting.projected_boosting import ProjectedBoosting


def make_boosting(
    problem: Problem, model: Any = None, like: ProjectedBoosting | None = None
) -> Game:
    """Make projected boosting, cross-fitted; ``model=None`` is the default booster.

    ``like`` is another run on the same data whose choices are taken over.
    """
    values = ProjectedBoosting(problem, estimator=model, like=like)
    enough = values.start_ if values.n_trees_ == 0 else None
    return Game(values, "boosting", values.gains, facts=_facts(model, enough))


def fitted_boosting(model: Any, problem: Problem, ensemble: Ensemble) -> Game:
    """Project the trees that were read of a fitted booster, on rows that it has not seen."""
    values = ProjectedBoosting.from_fitted(model, problem, ensemble=ensemble)
    return Game(values, "boosting", values.gains, facts=_facts(model))


def _facts(model: Any, enough: str | None = None) -> LearnerFacts:
    loss = "squared_error" if model is None else loss_of(model)
    own = None if loss == "squared_error" else (type(model).__name__, loss)
    return LearnerFacts(enough=enough, own_loss=own)
