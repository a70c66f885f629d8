"""What two results must have in common to be compared."""

from __future__ import annotations

from typing import Any

from shaff._util.words import listed
from shaff.errors import InputError, InputTypeError
from shaff.results.effects import EffectsResult

_MEANINGS = {"outcome": "the outcome", "predictions": "the predictions of a model"}
# A solver that computes no Shapley effects.
_TOTAL = "total_sobol"


def read_result(given: Any, name: str) -> EffectsResult:
    """Return the result of a fitted estimator, or the result itself."""
    result = getattr(given, "result_", given)
    if not isinstance(result, EffectsResult):
        raise InputTypeError(f"{name} is neither a result of shaff nor a fitted ShapleyEffects.")
    if result.standard_errors is None:
        raise InputError(f"{name} has no standard errors: there is nothing to compare it by.")
    return result


def check_alike(a: EffectsResult, b: EffectsResult, *, other_outcome: bool) -> None:
    """Refuse results whose effects are shares of different things."""
    if a.explains != b.explains:
        one, other = _MEANINGS[a.explains], _MEANINGS[b.explains]
        raise InputError(
            f"a explains {one}, b {other}: their shares cannot be compared; fit both with the same "
            "explains."
        )
    if a.classes != b.classes:
        raise InputError(
            f"a explains {_kind(a)}, b {_kind(b)}: their shares are of different outcomes."
        )
    if a.outputs != b.outputs:
        raise InputError(
            f"a explains {_outcomes(a)}, b {_outcomes(b)}: their shares are of different outcomes."
        )
    if a.loss != b.loss:
        raise InputError(
            f'Shares of different losses cannot be compared: "{a.loss}" and "{b.loss}".'
        )
    if (a.layers, a.hierarchy) != (b.layers, b.hierarchy):
        raise InputError("The two share credit by different orders or groups of groups.")
    if (a.solver == _TOTAL) != (b.solver == _TOTAL):
        raise InputError("One of the two has total Sobol indices, the other Shapley effects.")
    if not (other_outcome or a.target == b.target or None in (a.target, b.target)):
        raise InputError(
            f"a explains {a.target!r}, b {b.target!r}: to compare them anyway, set "
            "other_outcome=True (--other-outcome)."
        )


def _outcomes(result: EffectsResult) -> str:
    return f"the outcomes {listed(result.outputs)} together" if result.outputs else "one outcome"


def _kind(result: EffectsResult) -> str:
    return f"the classes {', '.join(result.classes)}" if result.classes else "a number"
