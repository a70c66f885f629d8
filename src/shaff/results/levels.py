"""Results at their upper level: sums over the layers of an order, or over groups of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff.uncertainty.inference import null_p_values

if TYPE_CHECKING:
    from shaff.results.effects import EffectsResult


def summed_fields(result: EffectsResult) -> dict[str, Any]:
    """Return the fields of a result that change when the inputs of each part are one input.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.results.levels import summed_fields
    >>> summed_fields(example(hierarchy={"body": ("age", "bmi")}))["effects"].tolist()
    [0.4]
    """
    parts = result.parts
    sums = np.array([[name in members for name in result.names] for members in parts.values()])

    def add(array: FloatArray | None) -> FloatArray | None:
        return None if array is None else sums.astype(np.float64) @ array

    covariance = None
    if result.standard_errors is not None:
        covariance = sums @ result._total_covariance() @ sums.T
    outputs = result.per_output
    one_each = ("effects", "raw_effects", "plain_effects", "reach", "variance_covariances",
                "brier_effects")  # fmt: skip
    left_out = ("errors_by_source", "per_output_errors", "screened", "others", "directions",
                "curves", "data", "interactions", "subsets", "values", "weights",
                "hierarchy", "brier_errors")  # fmt: skip
    return {
        **dict.fromkeys(left_out),
        **{name: add(getattr(result, name)) for name in one_each},
        "names": tuple(parts),
        "covariance": covariance,
        "p_values": _p_values(result, sums, covariance),
        "first_order": _known_values(result, sums),
        "total": _totals(result, sums),
        "per_output": None if outputs is None else {k: add(v) for k, v in outputs.items()},
        "interchangeable": (),
        "game_names": (),
        "layers": (),
    }


def _p_values(
    result: EffectsResult, sums: FloatArray, covariance: FloatArray | None
) -> FloatArray | None:
    """Those of single inputs, and for several of them a test of the sum of their effects.

    Its variance includes what other models would have given, so that it errs on the safe side.
    """
    if result.p_values is None or covariance is None:
        return None
    together = null_p_values(sums @ result._plain, np.diag(covariance))
    own = np.array([result.p_values[members].min() for members in sums.astype(bool)])
    return np.where(sums.sum(axis=1) == 1, own, together)


def _totals(result: EffectsResult, sums: FloatArray) -> FloatArray | None:
    without = _known_values(result, ~sums.astype(bool))
    return None if without is None else result.explained_variance - without


def _known_values(result: EffectsResult, masks: FloatArray) -> FloatArray | None:
    """The values of subsets of the inputs, NaN where they were not evaluated; None if none was."""
    if result.subsets is None or result.values is None or result.layers:
        return None
    place = {subset.tobytes(): k for k, subset in enumerate(result.subsets)}
    found = [place.get(np.asarray(mask, dtype=bool).tobytes()) for mask in masks]
    values = np.array([np.nan if k is None else result.values[k] for k in found])
    values[~np.asarray(masks, dtype=bool).any(axis=1)] = 0.0
    return None if np.isnan(values).all() else values
