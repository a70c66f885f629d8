"""Notes about what simpler models would have done."""

from __future__ import annotations

from collections.abc import Iterator

from shaff.fitting.facts import Facts
from shaff.fitting.notes.cautions import LITTLE


def linear_is_enough(facts: Facts) -> Iterator[str]:
    """Least squares explains no less than the learners, within their error."""
    if explains_as_much(facts):
        yield (
            f"A linear model is enough here: it explains {facts.checks.linear_explained:.3f} out "
            "of sample, no less than learners that bend and interact, within their error."
        )


def explains_as_much(facts: Facts) -> bool:
    """Whether least squares explains as much as the learners, of what they explain uncorrected."""
    solution, linear = facts.solution, facts.checks.linear_explained
    if solution is None or solution.errors is None or linear is None:
        return False
    plain = solution.plain_explained_variance
    explained = solution.explained_variance if plain is None else plain
    return explained >= LITTLE and linear >= explained - solution.errors.explained_variance_error
