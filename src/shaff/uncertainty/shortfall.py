"""How far upper ends reach beyond the estimates, because learners fall short of the truth.

What a learner explains is less than what can be explained, never more: errors by the rows go both
ways, this one goes up. Two things tell how much is missing: the correction, which knows what the
learners' own variance takes, and the rise of v(all) from half of the rows to all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray
from shaff.protocols import Values
from shaff.uncertainty.inference import data_covariance

# Upper ends of effects reach beyond the corrected value by so many times the correction, and by so
# many times what v(all) has gained since there were half as many rows. Smaller, and intervals cover
# less than they say; larger, and they are longer than they need be (`benchmarks.truth`).
CORRECTION_REACH, RISE_REACH = 1.0, 1.0
# The same for v(all), whose standard error is small beside what is missing: where the latter falls
# with the root of the rows, it is three times the rise.
EXPLAINED_CORRECTION_REACH, EXPLAINED_RISE_REACH = 2.0, 3.0
# A rise is told if it is this many times its error, and as large as this.
# Less, and it is told of learners that are done (`benchmarks.truth`, friedman); more, and it is not
# told of those that are not (parity, sine product).
CLEAR, LARGE = 1.0, 0.02


# v(all), in its standard errors, from which on there is skill: 5 % of noise has as much. Without
# it, a correction would make something of nothing.
SKILL = 1.645


class Rise(NamedTuple):
    """What v(all) has gained since there were half as many rows.

    Parameters
    ----------
    estimate, error : float
        With its standard error: both values are of the same rows.

    Examples
    --------
    >>> from shaff.uncertainty.shortfall import Rise
    >>> Rise(0.05, 0.01).is_clear, Rise(0.05, 0.06).is_clear
    (True, False)
    """

    estimate: float
    error: float

    @classmethod
    def between(cls, half: Values, now: Values, units: npt.NDArray[np.intp] | None) -> Rise:
        """Return the rise from one evaluation of the full set to another, with influences."""
        assert now.influences is not None
        assert half.influences is not None
        psi = now.influences.astype(np.float64) - half.influences
        error = float(np.sqrt(data_covariance(psi, units)[0, 0]))
        return cls(float(now.v[0] - half.v[0]), error)

    @property
    def is_clear(self) -> bool:
        """Whether more rows would clearly explain more."""
        return self.estimate > CLEAR * self.error and self.estimate > LARGE


class Reach(NamedTuple):
    """How far upper ends reach beyond the larger of the corrected and the plain value.

    Parameters
    ----------
    effects : float array of shape (n_players,)
    explained_variance : float
    """

    effects: FloatArray
    explained_variance: float


def reach(
    raw: FloatArray, plain: FloatArray, explained: float, plain_explained: float, rise: Rise | None
) -> Reach:
    """Return how far the upper ends of effects and of v(all) reach.

    The rise is divided among the effects as v(all) is.

    Parameters
    ----------
    raw, plain : float arrays of shape (n_players,)
        Effects with and without correction.
    explained, plain_explained : float
        v(all) with and without correction.
    rise : Rise or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.shortfall import reach
    >>> effects, total = reach(np.array([0.5, 0.2]), np.array([0.4, 0.2]), 0.7, 0.6, None)
    >>> effects.round(3).tolist(), round(total, 3)
    ([0.1, 0.0], 0.2)
    """
    gained = 0.0 if rise is None else max(rise.estimate, 0.0)
    positive = np.maximum(raw, 0.0)
    shares = positive / max(float(positive.sum()), np.finfo(float).tiny)
    effects = CORRECTION_REACH * np.maximum(raw - plain, 0.0) + RISE_REACH * gained * shares
    corrected = max(explained - plain_explained, 0.0)
    together = EXPLAINED_CORRECTION_REACH * corrected + EXPLAINED_RISE_REACH * gained
    return Reach(np.asarray(effects), together)
