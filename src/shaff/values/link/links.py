"""Links: how the mean of a count, or of two classes, follows from a sum of curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from shaff._util.typing import FloatArray

# Counts repeat: more rows than this for each distinct outcome.
# Fewer, and rounded measurements are asked too, which takes time (`benchmarks.pairs`).
ROWS_PER_COUNT = 10
# How far a multiple of the unit of a count may be from a whole number: rounding only.
WHOLE = 1e-6
# Predictors beyond this are as far as predictors go: means stay finite.
LARGEST_PREDICTOR = 30.0


@dataclass(frozen=True)
class LogLink:
    """Counts: the logarithm of the mean is a sum of curves, and the variance grows as the mean.

    Parameters
    ----------
    unit : float
        The difference of one in y.
    """

    unit: float = 1.0
    words = "log-linear curves"

    def response(self, y: FloatArray) -> FloatArray:
        """Outcomes as numbers of units."""
        return np.round(y / self.unit)

    def outcome(self, mean: FloatArray) -> FloatArray:
        """Means in the unit of y."""
        return mean * self.unit

    def mean(self, predictor: FloatArray) -> FloatArray:
        """Mean of the response."""
        return np.asarray(np.exp(np.minimum(predictor, LARGEST_PREDICTOR)))

    def variance(self, mean: FloatArray) -> FloatArray:
        """Variance of the response, up to a factor."""
        return mean

    def predictor(self, mean: FloatArray) -> FloatArray:
        """The predictor of a mean."""
        return np.log(mean)


@dataclass(frozen=True)
class LogitLink:
    """Two classes: the logarithm of the odds is a sum of curves.

    Parameters
    ----------
    first, second : float
        The two outcomes.
    """

    first: float = 0.0
    second: float = 1.0
    words = "logistic curves"

    def response(self, y: FloatArray) -> FloatArray:
        """1 for the second class, 0 for the first."""
        return np.asarray(y == self.second, dtype=np.float64)

    def outcome(self, mean: FloatArray) -> FloatArray:
        """Means in the unit of y."""
        return self.first + (self.second - self.first) * mean

    def mean(self, predictor: FloatArray) -> FloatArray:
        """Probability of the second class."""
        return np.asarray(expit(predictor))

    def variance(self, mean: FloatArray) -> FloatArray:
        """Variance of the response."""
        return mean * (1 - mean)

    def predictor(self, mean: FloatArray) -> FloatArray:
        """The predictor of a probability."""
        return np.asarray(logit(mean))


Link = LogLink | LogitLink


def find_link(y: FloatArray) -> Link | None:
    """The link of an outcome: none unless it has two values, or counts.

    Counts are non-negative multiples of a unit, most of which occur many times.

    Parameters
    ----------
    y : float array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.link.links import find_link
    >>> find_link(np.array([0.0, 2.0, 2.0]))
    LogitLink(first=0.0, second=2.0)
    >>> find_link(np.arange(100) % 4 / 2.0)
    LogLink(unit=0.5)
    >>> find_link(np.arange(100.0)) is None
    True
    """
    values = np.unique(y)
    if len(values) == 2:
        return LogitLink(float(values[0]), float(values[1]))
    if len(values) < 3 or values[0] < 0 or len(values) * ROWS_PER_COUNT > len(y):
        return None
    unit = float(np.diff(values).min())
    counts = values / unit
    return LogLink(unit) if np.abs(counts - np.round(counts)).max() < WHOLE else None
