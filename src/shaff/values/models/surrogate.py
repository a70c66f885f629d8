"""Any fitted model: explained through the labels that it gives, or standing behind learners of
shaff that explain the outcome in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shaff.data.problem import Problem
from shaff.protocols import Game
from shaff.values.auto import make_auto
from shaff.values.models.asking import ask, explained_by_model, model_name
from shaff.values.models.fitting import fit_as_given, held_out_score


def make_surrogate(problem: Problem, model: Any) -> Game:
    """Fit a model of any kind, then explain what it says."""
    game = fitted_surrogate(fit_as_given(model, problem), problem)
    own = held_out_score(model, problem)
    return replace(game, facts=replace(game.facts, model_explains=own))


def fitted_surrogate(model: Any, problem: Problem, has_outcome: bool = False) -> Game:
    """Explain the labels that any fitted model gives to the rows.

    ``has_outcome`` says that the rows have outcomes, which the model is measured on.
    """
    target = ask(model, problem)
    score = explained_by_model(target, problem.target, problem.weight) if has_outcome else None
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


def explained_in_place(model: Any, problem: Problem, own: float | None) -> Game:
    """Explain the outcome by learners of shaff, in place of a model that cannot be projected, and
    which explains ``own`` by itself."""
    game = make_auto(problem)
    facts = replace(game.facts, in_place_of=model_name(model), model_explains=own)
    return replace(game, facts=facts)


def explained_by_itself(model: Any, problem: Problem) -> float | None:
    """Return the share of the variance of the outcome that a fitted model explains on the rows."""
    return explained_by_model(ask(model, problem), problem.target, problem.weight)
