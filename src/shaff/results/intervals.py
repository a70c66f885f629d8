"""Intervals, ranks and differences: how certain a result is."""

from __future__ import annotations

from typing import NamedTuple

from scipy.special import ndtri

from shaff._util.typing import FloatArray, IntpArray


class ConfidenceInterval(NamedTuple):
    """Bounds of one interval per input.

    Parameters
    ----------
    low, high : float arrays of shape (n_inputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.results.intervals import ConfidenceInterval
    >>> low, high = ConfidenceInterval(np.array([0.1]), np.array([0.3]))
    """

    low: FloatArray
    high: FloatArray

    @classmethod
    def spanning(
        cls, estimates: FloatArray, errors: FloatArray, level: float
    ) -> ConfidenceInterval:
        """Return normal intervals from the lowest to the highest estimate, shape (n_ways, n)."""
        half = float(ndtri((1 + level) / 2)) * errors
        return cls(estimates.min(axis=0) - half, estimates.max(axis=0) + half)


class RankInterval(NamedTuple):
    """Best and worst rank of each input that the data leave open; 1 is the largest effect.

    Parameters
    ----------
    best, worst : int arrays of shape (n_inputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.results.intervals import RankInterval
    >>> best, worst = RankInterval(np.array([1, 2]), np.array([1, 2]))
    """

    best: IntpArray
    worst: IntpArray


class Difference(NamedTuple):
    """How much larger one effect is than another.

    Parameters
    ----------
    estimate, standard_error : float
    low, high : float
        Bounds of the interval of the difference.
    p_value : float
        Two-sided p-value of "the two effects are equal".

    Examples
    --------
    >>> from shaff.results.intervals import Difference
    >>> Difference(0.1, 0.02, 0.06, 0.14, 1e-6).estimate
    0.1
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float
