"""Test of whether a player tells anything at all: predictions with it against those without
(docs/theory.md, section 8)."""

from __future__ import annotations

import numpy as np

from shaff._util.typing import FloatArray
from shaff.uncertainty.inference import Units, data_covariance, null_p_values

# Two rows in different folds learn from each other, and each is measured on what it taught the
# other: such a sum of products has twice the variance that it has given the models. Less, and up to
# 12 % of nulls are rejected at 5 % (`benchmarks.wide nulls`).
PAIRS_FACTOR = 2.0
# Share of the level for the test of nested predictions; the test of the effect has the rest. More,
# and effects that show neither alone nor last are never found; less takes power (`benchmarks.wide
# nulls`).
NESTED_SHARE = 0.9
# Predictions are kept in single precision: a learner that says the mean in every row moves none.
_ROUNDING = 1e-6


def gains(y: FloatArray, without: FloatArray, added: FloatArray) -> FloatArray:
    """Return what a player adds to the prediction of each row, times the residual without it.

    For a player that tells nothing this is 0 on average, whatever a model makes of it. The squared
    error would fall by twice as much minus the square of what was added, which is a loss even
    where there is nothing to gain.

    Parameters
    ----------
    y : float array of shape (n_rows,)
    without, added : float arrays of shape (n_players, n_rows)
        Predictions out of sample without each player, and with it.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.null_test import gains
    >>> gains(np.array([1.0, -1.0]), np.zeros((1, 2)), np.array([[0.5, 0.5]])).tolist()
    [[0.5, -0.5]]
    """
    moved = np.asarray(added - without, dtype=np.float64)
    moved[np.abs(moved) < _ROUNDING * np.nanmax(np.abs(y), initial=0.0)] = 0.0
    return np.asarray(moved * (y - without), dtype=np.float64)


def nested_p_values(
    gains: FloatArray, weight: FloatArray, row_groups: Units | None = None
) -> FloatArray:
    """One-sided p-values of "the gains are 0 on average", shape (n_players,).

    Parameters
    ----------
    gains : float array of shape (n_players, n_rows)
        NaN where a row is not predicted.
    weight : float array of shape (n_rows,)
    row_groups : int array of shape (n_rows,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.null_test import nested_p_values
    >>> rows = np.array([[1.0, 3.0, 2.0, 2.0], [1.0, -1.0, 1.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
    >>> nested_p_values(rows, np.ones(4)).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    known = np.isfinite(gains).all(axis=0)
    weight, gains = np.where(known, weight, 0.0), np.where(known, gains, 0.0)
    mean = gains @ weight / weight.sum()
    influences = (gains - mean[:, None]) * (weight / weight.mean())
    return null_p_values(mean, PAIRS_FACTOR * np.diag(data_covariance(influences, row_groups)))


def joint_p_values(nested: FloatArray, of_effects: FloatArray) -> FloatArray:
    """Combine the p-values of two tests, each of which gets its share of the level.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.null_test import joint_p_values
    >>> joint_p_values(np.array([0.009, 0.9]), np.array([0.4, 0.001])).round(6).tolist()
    [0.01, 0.01]
    """
    best = np.minimum(nested / NESTED_SHARE, of_effects / (1 - NESTED_SHARE))
    return np.asarray(np.minimum(best, 1.0), dtype=np.float64)
