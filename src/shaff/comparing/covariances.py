"""Covariances of differences of effects, in shares and in units of the variance of the outcome."""

from __future__ import annotations

from typing import Literal

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.comparing.shared_rows import Shared
from shaff.comparing.side import RowInfluences, Side

Units = Literal["share", "variance"]


def covariance_of_difference(sides: tuple[Side, Side], shared: Shared, units: Units) -> FloatArray:
    """Return the covariance of second minus first, shape (n_inputs, n_inputs).

    Independent results add up their covariances. Otherwise the observations that have a part in
    both count by the difference of their parts; what is not due to the rows adds up as before.
    """
    if shared.influences is None:
        return np.asarray(sum(_covariance(side, units) for side in sides))
    both = list(zip(sides, shared.influences, strict=True))
    labels = _common_units(shared)
    parts = [_by_unit(_rows(*one, units), k) for one, k in zip(both, labels, strict=True)]
    n_units = max(int(k.max()) for k in labels) + 1
    difference = np.zeros((len(parts[0][0]), n_units))
    for sign, (part, present) in zip((-1.0, 1.0), parts, strict=True):
        difference[:, present] += sign * part
    rest = sum(_not_by_rows(*one, units) for one in both)
    return np.asarray(difference @ difference.T + rest)


def _covariance(side: Side, units: Units) -> FloatArray:
    """Covariance of the effects of one result, or of their products with the variance."""
    if units == "share":
        return side.covariance
    assert side.spread is not None
    size, error, together = side.spread
    mixed = size * np.outer(side.raw, together)
    own = error**2 * np.outer(side.raw, side.raw)
    return np.asarray(size**2 * side.covariance + own + mixed + mixed.T)


def _rows(side: Side, rows: RowInfluences, units: Units) -> FloatArray:
    """Influences on the effects of one result, or on their products with the variance."""
    if units == "share":
        return rows.effects
    assert side.spread is not None
    return np.asarray(side.spread.variance * rows.effects + np.outer(side.raw, rows.variance))


def _not_by_rows(side: Side, rows: RowInfluences, units: Units) -> FloatArray:
    """Covariance that is due to subsets, trees and seeds."""
    part, _ = _by_unit(rows.effects, rows.units)
    rest = side.covariance - part @ part.T
    # Of equal numbers rounding may leave something below 0.
    rest[np.diag_indices(len(rest))] = np.maximum(np.diag(rest), 0.0)
    if units == "share":
        return np.asarray(rest)
    assert side.spread is not None
    return np.asarray(side.spread.variance**2 * rest)


def _by_unit(influences: FloatArray, units: IntpArray) -> tuple[FloatArray, IntpArray]:
    """Parts of the observations, whose squares add up to the covariance, and their codes."""
    present, codes = np.unique(units, return_inverse=True)
    sums = np.stack([np.bincount(codes, weights=row) for row in influences])
    n_units = len(present)
    scale = np.sqrt(n_units / max(n_units - 1, 1)) / influences.shape[1]
    return scale * (sums - sums.mean(axis=1, keepdims=True)), present


def _common_units(shared: Shared) -> tuple[IntpArray, IntpArray]:
    """The observation that each row is part of, under one code in both fits.

    A shared row belongs to the observation that it has in the first. Other rows of the second go
    with the shared ones of their own observation, where there are any.
    """
    assert shared.influences is not None
    first, own = (rows.units for rows in shared.influences)
    linked, where = np.unique(own[shared.second], return_index=True)
    partner = np.arange(own.max() + 1) + first.max() + 1
    partner[linked] = first[shared.first[where]]
    second = partner[own]
    second[shared.second] = first[shared.first]
    return first, second
