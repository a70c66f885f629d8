"""What is computed about the data besides the effects, for the notes and the report.

A check looks at the data and returns plain facts; it writes no sentence. `run_checks` runs all of
them; `shaff.fitting.notes` says when a fact is worth a note, and in which words.
"""

from __future__ import annotations

from typing import Any

from shaff.data.summary import summarise
from shaff.fitting.checks.columns import constant_columns, row_number_columns
from shaff.fitting.checks.dependence import dependence
from shaff.fitting.checks.identities import find_identities
from shaff.fitting.checks.leaks import find_leaks
from shaff.fitting.checks.linear import linear_explained
from shaff.fitting.checks.performance import held_out_figures, own_score
from shaff.fitting.checks.spread import largest_output, outcome_spread
from shaff.fitting.checks.tails import tail_of_variance
from shaff.fitting.checks.twins import interchangeable, quadratics
from shaff.fitting.facts import Checks, Facts, Solution


def run_checks(facts: Facts) -> Checks:
    """Run the checks of a fit whose facts are collected but for these."""
    problem = facts.task.problem
    found = {} if facts.solution is None else _of_inputs(facts, facts.solution)
    if not facts.task.explains_outcome:  # whose leaks and tails would be those of a model
        return Checks(**found)
    # Tails of other losses than squared errors weigh less.
    share, n_rows = tail_of_variance(problem) if _is_of_squares(facts) else (0.0, 0)
    found |= {"constants": constant_columns(problem), "tail_share": share, "n_tail": n_rows}
    if (
        facts.is_simulated
    ):  # a function of its inputs, at points that were drawn, gives nothing away
        return Checks(**found)
    leaks = find_leaks(problem)
    found |= dependence(facts)
    return Checks(
        **found,
        leaks=leaks,
        identities=find_identities(problem, (*leaks.ordered, *leaks.separating)),
        row_numbers=row_number_columns(problem),
    )


def _of_inputs(facts: Facts, solution: Solution) -> dict[str, Any]:
    """What is said of inputs that have effects."""
    problem, measured = facts.task.problem, solution.measured
    n_rows = facts.selection.problem.n_measured if measured is None else measured.n_rows
    summary = facts.task.sampled.summarised(summarise(problem, facts.effects), n_rows)
    asked = facts.task.explains_outcome and solution.errors is not None
    squares = _is_of_squares(facts)
    return {
        "spread": outcome_spread(facts.selection.problem, solution) if squares else None,
        "held_out": {**(_performance(facts, solution) if asked else {}), **_of_model(facts)},
        "largest_output": largest_output(facts.selection.problem),
        "interchangeable": interchangeable(problem, facts.selection.kept),
        "quadratics": quadratics(problem),
        "summary": summary,
        "linear_explained": linear_explained(problem) if asked and squares else None,
    }


def _is_of_squares(facts: Facts) -> bool:
    """Whether effects are shares of the variance."""
    return facts.task.problem.loss == "squared_error"


def _of_model(facts: Facts) -> dict[str, float]:
    """What a given model itself explains of the outcome on held-out rows."""
    if facts.game is None:
        return {}
    own = facts.game.facts
    computed = own_score(facts.selection.problem, facts.game) if own.is_own_score else None
    found = computed if own.is_own_score else own.model_explains
    return {} if found is None else {"r2_of_model": found}


def _performance(facts: Facts, solution: Solution) -> dict[str, float]:
    """Figures of held-out rows; none of a surrogate, which learns what a model predicts."""
    game = facts.game
    if game is None or game.name.startswith("surrogate"):
        return {}
    return held_out_figures(facts.selection.problem, game, solution)
