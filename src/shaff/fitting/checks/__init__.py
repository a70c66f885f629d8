"""What is computed about the data besides the effects, for the notes and the report.

A check looks at the data and returns plain facts; it writes no sentence. `run_checks` runs all of
them; `shaff.fitting.notes` says when a fact is worth a note, and in which words.
"""

from __future__ import annotations

from shaff._util.threads import one_blas_thread
from shaff.data.problem import Problem
from shaff.data.sources.sampled import SampledData
from shaff.data.summary import DataSummary, summarise
from shaff.fitting.checks.columns import constant_columns, repeated_unit, row_number_columns
from shaff.fitting.checks.linear import linear_explained
from shaff.fitting.checks.tails import tail_of_variance
from shaff.fitting.checks.twins import interchangeable
from shaff.fitting.facts import Checks, Facts


@one_blas_thread
def run_checks(facts: Facts, *, of_outcome: bool) -> Checks:
    """Run all checks of a fit that has a solution.

    Parameters
    ----------
    facts : Facts
        Without checks yet.
    of_outcome : bool
        Whether the outcome that was given is explained. What a model predicts instead needs no
        warning about leaks or tails.
    """
    problem = facts.problem
    same = interchangeable(problem, facts.selection.kept)
    summary = _summary(facts)
    if not of_outcome:
        return Checks(same, summary)
    share, n_rows = tail_of_variance(problem)
    return Checks(
        same,
        summary,
        repeated_unit(problem),
        row_number_columns(problem),
        constant_columns(problem),
        share,
        n_rows,
        _linear(facts, problem),
    )


def _summary(facts: Facts) -> DataSummary | None:
    summary, solution = summarise(facts.problem, facts.effects), facts.solution
    measured = None if solution is None else solution.measured
    n_rows = facts.selection.problem.n_measured if measured is None else measured.n_rows
    sampled: SampledData = facts.sampled
    return sampled.summarised(summary, n_rows)


def _linear(facts: Facts, problem: Problem) -> float | None:
    """Least squares are asked only where something is explained and error bars are known."""
    solution = facts.solution
    if solution is None or solution.errors is None:
        return None
    return linear_explained(problem)
