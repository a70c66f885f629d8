"""Notes about what simpler models would have done."""

from __future__ import annotations

from collections.abc import Iterator

from shaff.fitting.facts import Facts
from shaff.fitting.notes.cautions import LITTLE
from shaff.uncertainty.shortfall import SKILL

_TREES = "trees on top of it do not predict better."
_ENOUGH = {
    "constant": "No model predicts held-out rows better than the mean does.",
    "linear": f"A linear model is enough here: {_TREES}",
    "normal_scores": f"A linear model of the ranked inputs is enough here: {_TREES}",
    "quadratic": f"A model of straight lines and squares is enough here: {_TREES}",
}


def simpler_is_enough(facts: Facts) -> Iterator[str]:
    """Least squares explains no less than the learners, or trees add nothing to their start."""
    enough = None if facts.game is None else facts.game.facts.enough
    if _least_squares_is_enough(facts):
        yield (
            "A linear model is enough here: on held-out rows it explains "
            f"{facts.checks.linear_explained:.3f}, as much as learners of curves and interactions "
            "do, within their error."
        )
    elif enough is not None:
        yield _ENOUGH[enough]


def _least_squares_is_enough(facts: Facts) -> bool:
    """Whether least squares explains as much as the learners do uncorrected, within their error."""
    solution, linear = facts.solution, facts.checks.linear_explained
    if solution is None or solution.errors is None or linear is None:
        return False
    plain = solution.plain_explained_variance
    explained = solution.explained_variance if plain is None else plain
    error = solution.errors.explained_variance_error
    has_skill = explained >= max(LITTLE, SKILL * error)
    return has_skill and linear >= explained - error
