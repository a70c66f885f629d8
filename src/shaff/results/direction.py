"""The shape of an effect: which way an outcome goes as an input grows.

The values that an input has in many rows are averaged over slices of the input. What the averages
do from slice to slice is the shape; around it the values scatter, since what an input says depends
on the others.

Whether a shape can be told is asked of the outcome: values of held-out rows that are noise do not
go with the outcome of these rows, nor with what is left of it by the others (`evidence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.optimize import isotonic_regression

from shaff._util.typing import FloatArray, IntpArray
from shaff.uncertainty.inference import data_covariance

Direction = Literal[
    "increasing", "decreasing", "U-shaped", "inverted U", "mixed", "unclear", "none"
]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
# Fewer slices hide a turn, more are noise (`benchmarks.local --directions`, for all of these).
MAX_SLICES, MIN_ROWS_A_SLICE, MIN_ROWS = 20, 15, 20
# The curve must have this share of the values' variance, else the others decide what it says.
CURVE_SHARE = 0.2
# A shape may leave this share of the curve's variance, beyond its noise.
LEFT_OVER = 0.1
# Values of this root mean square, in standard deviations of y, are next to nothing.
NEGLIGIBLE = 0.02
# Where the outcome cannot be asked: what a fit on n rows makes of noise falls with the root of n.
NOISE_BY_ROOT = 2.0
# Standard errors by which values go with the outcome, alone or beside the others: two questions at
# 5 % together. And by which their curve does: more, since other rows of a slice have seen a row
# (`benchmarks.local --parts evidence`: lower, and noise has a direction).
VALUES_BEYOND, CURVE_BEYOND = 2.24, 3.0
# What is known of an input: nothing, that it has an effect, and that its curve is real.
NOTHING, SOMETHING, CURVE = 0, 1, 2
# Steps against the direction of a curve, as a share of its range, that a reader does not see.
UNSEEN = 0.05


@dataclass(frozen=True, eq=False)
class Shape:
    """How the values of an input go with the input.

    Parameters
    ----------
    direction : str
        One of `DIRECTIONS`.
    x, y : float arrays of shape (n_slices,)
        Mean of the input and of its values in each slice.
    error : float array of shape (n_slices,)
        Standard error of these means, from the scatter of the values in the slice.
    known : int or None
        What `evidence` has said; None if it was not asked.

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
    error: FloatArray
    known: int | None = None

    @property
    def curve(self) -> FloatArray:
        """Both, shape (2, n_slices)."""
        return np.stack([self.x, self.y])

    @property
    def words(self) -> str:
        """The direction; with "on the whole" where the curve has visible steps against it."""
        one_way = {"increasing": 1.0, "decreasing": -1.0}.get(self.direction)
        if one_way is None:
            return self.direction
        against = -np.minimum(one_way * np.diff(self.y), 0.0).sum()
        is_clean = against <= UNSEEN * np.ptp(self.y)
        return self.direction if is_clean else f"{self.direction} on the whole"

    @classmethod
    def of(
        cls, x: FloatArray, values: FloatArray, negligible: float, known: int | None = None
    ) -> Shape | None:
        """From the input and its values in some rows; None where they are too few.

        ``negligible`` is a root mean square of the values that is next to nothing; ``known`` is
        what `evidence` says.
        """
        there = np.isfinite(x) & np.isfinite(values)
        x, values = x[there], values[there]
        if len(x) < MIN_ROWS or np.ptp(x) == 0:
            return None
        curve, size = _Curve.of(x, values), float(np.sqrt(np.mean(values**2)))
        found = curve.direction(float(values.var()))
        if not known:
            found = "none" if size <= negligible else found if known is None else "unclear"
        elif known == SOMETHING and found != "mixed":
            found = "unclear"
        return cls(found, curve.x, curve.y, curve.error, known)


def evidence(
    x: FloatArray,
    values: FloatArray,
    outcomes: Sequence[FloatArray],
    row_groups: IntpArray | None = None,
) -> int:
    """Return what held-out rows tell of an input: `NOTHING`, `SOMETHING` or `CURVE`.

    Parameters
    ----------
    x, values : float arrays of shape (n_rows,)
        The input, and its values in rows that the learners had not seen.
    outcomes : sequence of float arrays of shape (n_rows,)
        The outcome of these rows, and if known what predictions without the input leave of it: one
        of them must go with the values. Inputs that say the same leave nothing to each other, and
        some inputs tell something only beside others.
    row_groups : int array of shape (n_rows,) or None
        Rows that belong together count as one.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.results.direction import CURVE, NOTHING, evidence
    >>> x, noise = np.random.default_rng(0).standard_normal((2, 200))
    >>> evidence(x, x, [x + noise]) == CURVE, evidence(x, noise, [x]) == NOTHING
    (True, True)
    """
    there = np.isfinite(x) & np.isfinite(values) & np.isfinite(outcomes).all(axis=0)
    x, values, outcomes = x[there], values[there], [y[there] for y in outcomes]
    if len(x) < MIN_ROWS or np.ptp(x) == 0:
        return NOTHING
    groups = None if row_groups is None else row_groups[there]

    def beyond(of: FloatArray, least: float) -> bool:
        return max(_deviations(of, y, groups) for y in outcomes) > least

    if not beyond(values, VALUES_BEYOND):
        return NOTHING
    return CURVE if beyond(_Curve.of(x, values).at_rows, CURVE_BEYOND) else SOMETHING


def _deviations(values: FloatArray, y: FloatArray, row_groups: IntpArray | None) -> float:
    """How many standard errors the slope of y on values is above 0."""
    values, y = values - values.mean(), y - y.mean()
    square = float(values @ values)
    if square <= 0:
        return 0.0
    scores = values * (y - (values @ y / square) * values)
    error = float(np.sqrt(data_covariance(scores[None], row_groups)[0, 0])) * len(values)
    return float(values @ y) / max(error, float(np.finfo(float).tiny))


def evidence_by_size(size: float, n_rows: int, spread: float) -> int:
    """Return the same where there is no outcome to ask: by the root mean square of the values.

    Examples
    --------
    >>> from shaff.results.direction import CURVE, evidence_by_size
    >>> evidence_by_size(0.1, 10_000, 2.0) == CURVE
    True
    """
    return CURVE if size > NOISE_BY_ROOT * spread / float(np.sqrt(n_rows)) else NOTHING


def negligible(spread: float) -> float:
    """The root mean square below which values are next to nothing.

    Examples
    --------
    >>> from shaff.results.direction import negligible
    >>> negligible(2.0)
    0.04
    """
    return NEGLIGIBLE * spread


def direction_words(direction: str, classes: tuple[str, ...]) -> str:
    """Return a direction as tables show it: with two classes, towards which of them.

    Examples
    --------
    >>> from shaff.results.direction import direction_words
    >>> direction_words("increasing", ("no", "yes")), direction_words("decreasing", ("no", "yes"))
    ('towards yes', 'towards no')
    >>> direction_words("increasing", ())
    'increasing'
    """
    if len(classes) != 2:
        return direction
    first, second = classes
    said = {
        "increasing": f"towards {second}",
        "decreasing": f"towards {first}",
        "U-shaped": f"{second} at both ends",
        "inverted U": f"{second} in the middle",
    }
    return said.get(direction, direction)


@dataclass(frozen=True, eq=False)
class _Curve:
    """Means in slices, and the slice of each row; the noise is the mean variance of the means."""

    x: FloatArray
    y: FloatArray
    weight: FloatArray
    error: FloatArray
    slice_of: IntpArray

    @classmethod
    def of(cls, x: FloatArray, values: FloatArray) -> _Curve:
        slice_of = _slices(x)
        count = np.bincount(slice_of).astype(np.float64)
        means = np.bincount(slice_of, weights=values) / count
        within = np.bincount(slice_of, weights=(values - means[slice_of]) ** 2)
        error = np.sqrt(within / np.maximum(count - 1, 1) / count)
        own = np.bincount(slice_of, weights=x) / count
        return cls(own, means, count / len(x), error, slice_of)

    @property
    def noise(self) -> float:
        return float(self.weight @ self.error**2)

    @property
    def at_rows(self) -> FloatArray:
        """The mean of its slice, for each row."""
        return np.asarray(self.y[self.slice_of])

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


def _slices(x: FloatArray) -> IntpArray:
    """The slice of each row: equal entries share one, and slices hold about as many rows each."""
    n_slices = int(np.clip(len(x) // MIN_ROWS_A_SLICE, 2, MAX_SLICES))
    distinct, place = np.unique(x, return_inverse=True)
    if len(distinct) <= n_slices:
        return place
    cuts = np.quantile(x, np.linspace(0, 1, n_slices + 1)[1:-1])
    return np.unique(np.searchsorted(cuts, x, side="left"), return_inverse=True)[1]
