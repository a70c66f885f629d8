"""Kaplan-Meier curves up to a horizon, and the pseudo-values of functionals of them.

A functional is a sum over the steps of the curve with given coefficients: the value at the horizon
has a 1 at the last step, the restricted mean has the lengths of the steps. All pseudo-values
together take one sort and a few passes over rows and steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntpArray


@dataclass(frozen=True, eq=False)
class Curve:
    """The survival curve of censored times: a step function from 0 to a horizon.

    Step 0 begins at time 0, and one step at each different time up to the horizon.

    Parameters
    ----------
    starts : float array of shape (n_steps,)
        Where the steps begin; the first is 0.
    horizon : float
    place : int array of shape (n_rows,)
        The step that begins at the time of each row; ``n_steps`` if that is beyond the horizon.
    event : bool array of shape (n_rows,)
        Whether the row has its event then; it is censored otherwise.
    weights : float array of shape (n_rows, n_intervals)
        Weights of the rows, in each of some intervals of time.
    interval : int array of shape (n_steps,)
        The interval that each step begins in.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.outcomes.kaplan_meier import Curve
    >>> time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
    >>> curve = Curve.of(time, event, horizon=3.0)
    >>> curve.survival.tolist()
    [1.0, 0.75, 0.75, 0.375]
    >>> curve.total(curve.at_horizon), curve.total(curve.powers_of_time(1))
    (0.375, 2.5)
    """

    starts: FloatArray
    horizon: float
    place: IntpArray
    event: BoolArray
    weights: FloatArray
    interval: IntpArray

    @classmethod
    def of(
        cls,
        time: FloatArray,
        event: BoolArray,
        horizon: float,
        weights: FloatArray | None = None,
        edges: FloatArray | None = None,
    ) -> Curve:
        """Return the curve; ``edges`` end all but the last of the intervals of the weights."""
        known = np.unique(time[time <= horizon])
        starts = np.append(0.0, known)
        if weights is None or edges is None:
            weights, edges = np.ones((len(time), 1)), np.zeros(0)
        place = 1 + np.searchsorted(known, time)
        return cls(starts, horizon, place, event, weights, np.searchsorted(edges, starts))

    # Functionals ----------------------------------------------------------------------------------

    @property
    def at_horizon(self) -> FloatArray:
        """Coefficients of the value at the horizon."""
        return np.asarray(np.eye(1, len(self.starts), len(self.starts) - 1)[0])

    def powers_of_time(self, power: int) -> FloatArray:
        """Coefficients of the mean of min(T, horizon) to some power."""
        return np.asarray(np.diff(np.append(self.starts, self.horizon) ** power))

    def total(self, coefficients: FloatArray) -> float:
        """Return the functional of the curve."""
        return float(coefficients @ self.survival)

    # The curve ------------------------------------------------------------------------------------

    @cached_property
    def at_risk(self) -> FloatArray:
        """Weight of the rows at risk where each step begins."""
        later = np.cumsum(self._weight_by_step(np.ones_like(self.event))[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(later[self.interval, np.arange(len(self.starts))])

    @cached_property
    def events(self) -> FloatArray:
        """Weight of the rows that have their event where each step begins."""
        now = self._weight_by_step(self.event)
        return np.asarray(now[self.interval, np.arange(len(self.starts))])

    def _weight_by_step(self, rows: BoolArray) -> FloatArray:
        """Weights summed by the place of the rows, shape (n_intervals, n_steps + 1)."""
        n_places = len(self.starts) + 1
        each = [np.bincount(self.place[rows], w[rows], n_places) for w in self.weights.T]
        return np.stack(each)

    @cached_property
    def hazard(self) -> FloatArray:
        """Share of the rows at risk that have their event where each step begins."""
        return self.events / self.at_risk

    @cached_property
    def survival(self) -> FloatArray:
        """The curve on each step."""
        return np.asarray(np.cumprod(1 - self.hazard), dtype=np.float64)

    def _to_come(self, coefficients: FloatArray) -> FloatArray:
        """The functional from each step on, if the curve were 1 on that step; 0 past the last.

        Where nobody is left the curve is carried on.
        """
        alive = self.survival > 0
        parts = (coefficients * self.survival, coefficients)
        after, carried = (part[::-1].cumsum()[::-1] for part in parts)
        divisor = np.where(alive, self.survival, 1.0)
        return np.append(np.where(alive, after / divisor, carried), 0.0)

    # Pseudo-values --------------------------------------------------------------------------------

    def jackknife(self, coefficients: FloatArray) -> FloatArray:
        """Return n times the functional minus n - 1 times that without each row.

        Rows must have weight 1. Without a row the curve has one row less at risk up to its time,
        which is the same for all rows, and is proportional to the whole curve from there on.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff.outcomes.kaplan_meier import Curve
        >>> time = np.array([1.0, 2.0, 3.0])
        >>> curve = Curve.of(time, np.ones(3, dtype=bool), horizon=2.5)
        >>> curve.jackknife(curve.powers_of_time(1)).round(9).tolist()
        [1.0, 2.0, 2.5]
        """
        fewer, n = np.maximum(self.at_risk - 1, 1.0), len(self.place)
        before = np.cumprod(1 - np.minimum(self.events / fewer, 1.0))
        so_far = np.append(0.0, np.cumsum(coefficients * before))
        k = np.minimum(self.place, len(self.starts) - 1)
        others = np.where(self.at_risk[k] > 1, (self.events[k] - self.event) / fewer[k], 0.0)
        rest = before[k - 1] * (1 - others) * self._to_come(coefficients)[self.place]
        without = so_far[self.place] + rest
        return np.asarray(n * self.total(coefficients) - (n - 1) * without)

    def influence_values(self, coefficients: FloatArray) -> FloatArray:
        """Return the functional plus the influence of each row: pseudo-values for any weights.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff.outcomes.kaplan_meier import Curve
        >>> time = np.array([1.0, 2.0, 3.0])
        >>> curve = Curve.of(time, np.ones(3, dtype=bool), horizon=2.5)
        >>> curve.influence_values(curve.powers_of_time(1)).round(9).tolist()
        [1.0, 2.0, 2.5]
        """
        n, n_steps = len(self.place), len(self.starts)
        before = np.append(1.0, self.survival[:-1])
        # What one more event at the beginning of a step takes away.
        lost = n * before * self._to_come(coefficients)[:n_steps] / self.at_risk
        expected = np.zeros((self.weights.shape[1], n_steps + 1))
        expected[self.interval, np.arange(n_steps)] = lost * self.hazard
        k = np.minimum(self.place, n_steps - 1)
        upto = np.cumsum(expected, axis=1)[:, k]
        has_event = self.event & (self.place < n_steps)
        own = np.where(has_event, self.weights[np.arange(n), self.interval[k]] * lost[k], 0.0)
        return np.asarray(self.total(coefficients) - own + (self.weights * upto.T).sum(axis=1))
