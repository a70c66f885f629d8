"""Any fitted model: explained through the labels that it gives, or standing behind learners of
shaff that explain the outcome in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Game
from shaff.values.auto import make_auto
from shaff.values.models.asking import ask, explained_by_model, model_name
from shaff.values.models.fitting import fit_model
from shaff.values.models.resampling import resample_rows


def make_surrogate(problem: Problem, model: Any) -> Game:
    """Fit a model of any kind, then explain what it says."""
    return fitted_surrogate(fit_model(model, problem, problem.frame), problem)


def fitted_surrogate(
    model: Any, problem: Problem, n_labelled: int | None = None, has_outcome: bool = False
) -> Game:
    """Explain the labels that any fitted model gives to the rows, or to more rows like them.

    ``has_outcome`` says that the rows have outcomes, which the model is measured on.
    """
    target = ask(model, problem)
    score = explained_by_model(target, problem.target, problem.weight) if has_outcome else None
    if n_labelled is not None and n_labelled > len(problem.X):
        problem = _with_more_rows(problem, n_labelled)
        target = ask(model, problem)
    labelled = replace(problem, target=target)
    labelled.check_varies()
    game = make_auto(labelled)
    facts = replace(
        game.facts,
        explains_model=model_name(model),
        n_labelled=len(problem.X),
        model_explains=score,
    )
    return replace(game, name=f"surrogate {game.name}", facts=facts, problem=labelled)


def explained_in_place(model: Any, problem: Problem) -> Game:
    """Explain the outcome by learners of shaff, in place of a model that cannot be projected."""
    problem.check_varies()
    own = explained_by_itself(model, problem)
    game = make_auto(problem)
    facts = replace(game.facts, in_place_of=model_name(model), model_explains=own)
    return replace(game, facts=facts)


def explained_by_itself(model: Any, problem: Problem) -> float | None:
    """Return the share of the variance of the outcome that a fitted model explains on the rows."""
    return explained_by_model(ask(model, problem), problem.target, problem.weight)


def _with_more_rows(problem: Problem, n_rows: int) -> Problem:
    if problem.categorical.any():
        raise InputError("n_labelled draws further rows of numbers; X has categories.")
    more = resample_rows(problem.X, n_rows - len(problem.X), problem.categorical, problem.seed)
    X = np.vstack([problem.X, more])
    cv = None if problem.has_splits else problem.cv
    longer = replace(problem, sample_weight=None, row_groups=None, cv=cv)
    return longer.with_matrix(X)
