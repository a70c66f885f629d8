"""Losses that explained shares are measured by: one small class each, of pure functions.

All of them are Bregman losses: whatever the loss, the best prediction from some of the inputs is
the conditional mean. So the same conditional means serve every loss, and only how far they are from
the outcome is measured in another way (docs/theory.md, section 8).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from shaff._util.typing import FloatArray
from shaff.data.target import Target
from shaff.errors import InputError

# Conditional means are kept above this share of the mean of the outcome, and probabilities of a
# class above this share of its rate. Smaller, and a few means that learners of squares put at 0
# decide the loss; larger, and outcomes that are all but certain are told too late
# (`benchmarks.losses floors`).
FLOOR = 0.1
# Variance of an outcome of this loss is the mean to this power, as LightGBM and XGBoost take it.
TWEEDIE_POWER = 1.5


class Loss(ABC):
    """How far a conditional mean is from the outcome."""

    name: str

    @abstractmethod
    def of(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Loss of each row and output; the loss of a row is their sum over outputs, the last axis.

        The means are inside of the range of the loss."""

    @abstractmethod
    def half_curvature(self, mean: FloatArray) -> FloatArray:
        """Half of the second derivative of the loss by the mean, where it equals the outcome."""

    @abstractmethod
    def check(self, target: Target) -> None:
        """Refuse an outcome that the loss does not allow."""

    def limits(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest conditional mean, by the mean of each output, shape (n_outputs,)."""
        return FLOOR * mean, np.full_like(mean, np.inf)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class SquaredError(Loss):
    """``(y - m)**2``: what is explained is a share of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.losses import SquaredError
    >>> SquaredError().of(np.array([1.0]), np.array([3.0])).tolist()
    [4.0]
    """

    name: str = "squared_error"

    def of(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Squared errors."""
        return np.asarray((y - mean) ** 2)

    def half_curvature(self, mean: FloatArray) -> FloatArray:
        """1: a squared error bends everywhere alike."""
        return np.ones_like(mean)

    def limits(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """None."""
        return np.full_like(mean, -np.inf), np.full_like(mean, np.inf)

    def check(self, target: Target) -> None:
        """Any outcome is allowed."""


@dataclass(frozen=True)
class LogLoss(Loss):
    """Minus the log-probability of the class that a row has.

    Of two classes y is the indicator of the second. Of several, the part of class k is
    ``m_k - y_k - y_k log(m_k)``: a loss of its own, and as probabilities add up to 1 the parts add
    up to the log-loss of the row.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.losses import LogLoss
    >>> LogLoss().of(np.array([[1.0], [0.0]]), np.array([[0.5], [0.1]])).round(3).ravel().tolist()
    [0.693, 0.105]
    """

    name: str = "log_loss"

    def of(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Log-loss of two classes, or the part of each of several."""
        if mean.shape[-1] == 1:
            return np.asarray(-np.where(y > 0.5, np.log(mean), np.log1p(-mean)))
        return np.asarray(mean - y - y * np.log(mean))

    def half_curvature(self, mean: FloatArray) -> FloatArray:
        """Half of 1 / (m (1 - m)) of two classes, of 1 / m for each of several."""
        return np.asarray(0.5 / (mean * (1 - mean) if mean.shape[-1] == 1 else mean))

    def limits(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By the rate of the rarest class."""
        rarest = min(mean.min(), (1 - mean).min()) if len(mean) == 1 else mean.min()
        least = np.full_like(mean, FLOOR * rarest)
        return least, 1 - least

    def check(self, target: Target) -> None:
        """Refuse what are no classes."""
        if target.classes is None:
            raise InputError(
                'loss="log_loss" needs classes: y holds numbers. Use "squared_error", or "poisson" '
                "for counts."
            )


@dataclass(frozen=True)
class Deviance(Loss):
    """Unit deviance of a Tweedie distribution, whose variance is its mean to some power: 1 is
    Poisson's, 2 that of gamma distributions.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.losses import Deviance
    >>> Deviance("poisson", 1.0).of(np.array([0.0, 2.0]), np.array([1.0, 2.0])).tolist()
    [2.0, 0.0]
    """

    name: str
    power: float

    def of(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Unit deviances, as `sklearn.metrics.mean_tweedie_deviance` averages them."""
        p = self.power
        if p == 1:
            return np.asarray(2 * (xlogy(y, y / mean) - y + mean))
        if p == 2:
            return np.asarray(2 * (np.log(mean / y) + y / mean - 1))
        own = y ** (2 - p) / ((1 - p) * (2 - p))
        return np.asarray(2 * (own - y * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p)))

    def half_curvature(self, mean: FloatArray) -> FloatArray:
        """``m ** -power``."""
        return np.asarray(mean**-self.power)

    def check(self, target: Target) -> None:
        """Refuse classes, and numbers that the distribution does not have."""
        if target.classes is not None:
            raise InputError(
                f'loss="{self.name}" needs numbers: y holds classes. Use "log_loss" or '
                '"squared_error".'
            )
        least = float(target.y.min())
        if least < 0:
            raise InputError(f'loss="{self.name}" needs y of at least 0; y goes down to {least:g}.')
        if least == 0 and self.power >= 2:
            raise InputError(f'loss="{self.name}" needs y above 0; some are 0.')
        if (target.y.max(axis=0) == 0).any():
            raise InputError(f'loss="{self.name}" needs some y above 0; an output is always 0.')


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        SquaredError(),
        LogLoss(),
        Deviance("poisson", 1.0),
        Deviance("gamma", 2.0),
        Deviance("tweedie", TWEEDIE_POWER),
    )
}


def find_loss(name: object) -> Loss:
    """Return the loss of that name; ``"tweedie:1.7"`` is Tweedie's with another power than 1.5.

    Examples
    --------
    >>> from shaff.values.losses import find_loss
    >>> find_loss("tweedie:1.7").power
    1.7
    """
    text = name if isinstance(name, str) else ""
    if text in LOSSES:
        return LOSSES[text]
    kind, _, power = text.partition(":")
    if kind == "tweedie":
        return Deviance(text, _power(name, power))
    known = ", ".join(f'"{one}"' for one in LOSSES)
    raise InputError(f'loss={name!r} is unknown: use {known}, or "tweedie:1.7" for that power.')


def _power(name: object, text: str) -> float:
    try:
        power = float(text)
    except ValueError:
        power = np.nan
    if not 1 < power < 2:
        raise InputError(
            f'loss={name!r}: the power of "tweedie" is a number between 1 ("poisson") and 2 '
            '("gamma").'
        )
    return power


@dataclass(frozen=True, eq=False)
class LimitedLoss:
    """A loss of conditional means that are kept inside of its range.

    Learners of squares may predict a probability below 0; what they say there is that it is small.

    Parameters
    ----------
    loss : Loss
    least, largest : float arrays of shape (n_outputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.losses import LimitedLoss, find_loss
    >>> limited = LimitedLoss.of(find_loss("poisson"), np.array([2.0]))
    >>> limited.inside(np.array([[-1.0], [3.0]])).ravel().tolist()
    [0.2, 3.0]
    """

    loss: Loss
    least: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, loss: Loss, mean: FloatArray) -> LimitedLoss:
        """The limits follow from the mean of each output."""
        return cls(loss, *loss.limits(mean))

    def inside(self, means: FloatArray) -> FloatArray:
        """Means inside of the range; probabilities of several classes add up to 1."""
        inside = np.clip(means, self.least, self.largest)
        if isinstance(self.loss, LogLoss) and inside.shape[-1] > 1:
            inside /= inside.sum(axis=-1, keepdims=True)
        return np.asarray(inside)

    def errors(self, y: FloatArray, residuals: FloatArray) -> FloatArray:
        """Losses by residuals ``y - m``, outputs on the last axis; NaN where these are."""
        if isinstance(self.loss, SquaredError):
            return np.asarray(residuals**2)
        return self.loss.of(y, self.inside(y - residuals))

    def noise(self, y: FloatArray, residuals: FloatArray, noise: FloatArray) -> FloatArray:
        """What the noise of a fit adds to the losses, by what it adds to squared errors.

        To second order, and on average over outcomes, that is half of the curvature times the
        latter; a mean at a limit stays there, and adds nothing.
        """
        if isinstance(self.loss, SquaredError):
            return noise
        means = y - residuals
        free = (means > self.least) & (means < self.largest)
        return np.where(free, self.loss.half_curvature(self.inside(means)) * noise, 0.0)


def check_loss(name: str, target: Target) -> None:
    """Refuse an outcome that a loss does not allow.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.target import Target
    >>> from shaff.values.losses import check_loss
    >>> check_loss("gamma", Target(np.zeros((3, 1))))
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: loss="gamma" needs y above 0; some are 0.
    """
    find_loss(name).check(target)
