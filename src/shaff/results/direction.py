"""The shape of an effect: which way an outcome goes as an input grows.

The values that an input has in many rows are averaged over slices of the input. What the averages
do from slice to slice is the shape; around it the values scatter, since what an input says depends
on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.optimize import isotonic_regression

from shaff._util.typing import FloatArray

Direction = Literal["increasing", "decreasing", "U-shaped", "inverted U", "mixed", "none"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
# Fewer slices hide a turn, more are noise (`benchmarks.local --directions`, for all of these).
MAX_SLICES, MIN_ROWS_A_SLICE, MIN_ROWS = 20, 15, 20
# The curve must have this share of the values' variance, else the others decide what it says.
CURVE_SHARE = 0.2
# A shape may leave this share of the curve's variance, beyond its noise.
LEFT_OVER = 0.1
# Values of this root mean square, in standard deviations of y, are nothing: what a fit on n rows
# makes of noise falls with the root of n.
NEGLIGIBLE, NEGLIGIBLE_BY_ROOT = 0.02, 2.0
# What goes up and down is what noise looks like: it must be as many times larger.
NOISY = 2.5


@dataclass(frozen=True, eq=False)
class Shape:
    """How the values of an input go with the input.

    Parameters
    ----------
    direction : str
        One of `DIRECTIONS`.
    x, y : float arrays of shape (n_slices,)
        Mean of the input and of its values in each slice.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.results.direction import Shape
    >>> x = np.linspace(-1, 1, 200)
    >>> [Shape.of(x, y, 0.01).direction for y in (x**3, -x, x**2, np.sin(9 * x), 0 * x)]
    ['increasing', 'decreasing', 'U-shaped', 'mixed', 'none']
    """

    direction: Direction
    x: FloatArray
    y: FloatArray

    @property
    def curve(self) -> FloatArray:
        """Both, shape (2, n_slices)."""
        return np.stack([self.x, self.y])

    @classmethod
    def of(cls, x: FloatArray, values: FloatArray, negligible: float) -> Shape | None:
        """From the input and its values in some rows; None where they are too few.

        ``negligible`` is a root mean square of the values that is nothing.
        """
        known = np.isfinite(x) & np.isfinite(values)
        x, values = x[known], values[known]
        if len(x) < MIN_ROWS or np.ptp(x) == 0:
            return None
        curve, size = _Curve.of(x, values), float(np.sqrt(np.mean(values**2)))
        found = curve.direction(float(values.var()))
        is_noise = size <= (NOISY if found == "mixed" else 1.0) * negligible
        return cls("none" if is_noise else found, curve.x, curve.y)


def negligible(n_rows: int, spread: float) -> float:
    """The root mean square below which values are nothing, in a fit on so many rows.

    Examples
    --------
    >>> from shaff.results.direction import negligible
    >>> negligible(10_000, 2.0)
    0.04
    """
    return spread * max(NEGLIGIBLE, NEGLIGIBLE_BY_ROOT / float(np.sqrt(n_rows)))


@dataclass(frozen=True, eq=False)
class _Curve:
    """Means in slices; the noise is the mean variance of the means."""

    x: FloatArray
    y: FloatArray
    weight: FloatArray
    noise: float

    @classmethod
    def of(cls, x: FloatArray, values: FloatArray) -> _Curve:
        slice_of = _slices(x)
        count = np.bincount(slice_of).astype(np.float64)
        means = np.bincount(slice_of, weights=values) / count
        within = np.bincount(slice_of, weights=(values - means[slice_of]) ** 2)
        noise = float((within / np.maximum(count - 1, 1)).sum() / len(x))
        return cls(np.bincount(slice_of, weights=x) / count, means, count / len(x), noise)

    def direction(self, variance: float) -> Direction:
        """The simplest shape that leaves little of the curve."""
        total = self._left(np.full(len(self.y), self.weight @ self.y))
        if total - self.noise < CURVE_SHARE * variance:
            return "mixed"
        most = LEFT_OVER * total + self.noise
        for up, down in ((self._monotone, self._antitone), (self._valley, self._hill)):
            rising, falling = up(), down()
            if min(rising, falling) <= most:
                names: tuple[Direction, Direction] = ("increasing", "decreasing")
                if up == self._valley:
                    names = ("U-shaped", "inverted U")
                return names[int(falling < rising)]
        return "mixed"

    def _left(self, fit: FloatArray) -> float:
        return float(self.weight @ (self.y - fit) ** 2)

    def _monotone(self) -> float:
        return self._left(_increasing(self.y, self.weight))

    def _antitone(self) -> float:
        return self._left(-_increasing(-self.y, self.weight))

    def _valley(self) -> float:
        """The best of all that fall up to a slice and rise from it on."""
        return min(self._left(_valley(self.y, self.weight, k)) for k in range(1, len(self.y)))

    def _hill(self) -> float:
        return min(self._left(-_valley(-self.y, self.weight, k)) for k in range(1, len(self.y)))


def _increasing(y: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(isotonic_regression(y, weights=weight).x)


def _valley(y: FloatArray, weight: FloatArray, turn: int) -> FloatArray:
    falling = -_increasing(-y[:turn], weight[:turn])
    return np.concatenate([falling, _increasing(y[turn:], weight[turn:])])


def _slices(x: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The slice of each row: equal entries share one, and slices hold about as many rows each."""
    n_slices = int(np.clip(len(x) // MIN_ROWS_A_SLICE, 2, MAX_SLICES))
    distinct, place = np.unique(x, return_inverse=True)
    if len(distinct) <= n_slices:
        return place
    cuts = np.quantile(x, np.linspace(0, 1, n_slices + 1)[1:-1])
    return np.unique(np.searchsorted(cuts, x, side="left"), return_inverse=True)[1]
