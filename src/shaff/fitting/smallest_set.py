"""The smallest set of players that explains as much as all (docs/theory.md, "Selection"): forward
and backward steps, ranked by what the Gaussian process expects, and evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.uncertainty.inference import FLEXIBLE_FACTOR, data_covariance, mean_covariance

# Candidates of a step that are evaluated, those with the largest expected values. Fewer rest on the
# ranking of the process alone; more only take time (`benchmarks.selection search`).
FEW = 6
# Sizes beyond the first that is within the tolerance, so that a better road may show.
BEYOND = 2
# Values of one set by two sums differ by as much.
_ROUNDING = 1e-9


class Expectation(Protocol):
    """What is expected of v of subsets that were not evaluated."""

    def mean(self, known: BoolArray, v: FloatArray, asked: BoolArray) -> FloatArray:
        """Return the expected value of each subset that is asked for, given those known."""


@dataclass(frozen=True, eq=False)
class Step:
    """A set of players and its value.

    Parameters
    ----------
    mask : bool array of shape (n_players,)
    v : float
        What it explains on held-out rows.
    error : float
        Standard error of the difference to the value of reference.
    refit, refit_error : float
        The same of learners that were fitted on these players alone; NaN where none were.
    """

    mask: BoolArray
    v: float
    error: float
    refit: float = np.nan
    refit_error: float = np.nan

    @property
    def size(self) -> int:
        """Number of players."""
        return int(self.mask.sum())


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The value that a set is held against, and how far below it may lie.

    Parameters
    ----------
    v : float
    influences : float array of shape (n_rows,)
    tolerance : float or None
        Largest loss; None means one standard error of the loss, by rows in common.
    units : int array of shape (n_rows,) or None, default=None
        The independent observation that each row is part of.
    runs : float array of shape (n_runs,) or None, default=None
        The value by each of several runs with other splits and seeds.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.smallest_set import Yardstick
    >>> rows = np.array([0.3, -0.3, 0.3, -0.3])
    >>> yardstick = Yardstick(0.5, rows, None)
    >>> yardstick.error(rows), round(yardstick.error(np.zeros(4)), 3)
    (0.0, 0.173)
    >>> yardstick.allows(0.4, 0.173), yardstick.allows(0.3, 0.173)
    (True, False)
    """

    v: float
    influences: FloatArray
    tolerance: float | None
    units: npt.NDArray[np.intp] | None = None
    runs: FloatArray | None = None

    @classmethod
    def of(
        cls, values: Values, tolerance: float | None, units: npt.NDArray[np.intp] | None = None
    ) -> Yardstick:
        """Return the yardstick of one set, whose values have influences."""
        runs = None if values.runs is None else values.runs[0]
        return cls(float(values.v_plain[0]), _influences(values), tolerance, units, runs)

    def error(self, influences: FloatArray) -> float:
        """Return the standard error of the difference to a set, given influences on its value."""
        apart = (influences - self.influences)[None]
        return float(np.sqrt(data_covariance(apart, self.units)[0, 0]))

    def refit_error(self, values: Values) -> float:
        """Return the standard error of the difference to a set that has learners of its own.

        Other rows would have given other learners, and other splits too: neither cancels, as it
        does where the same learners evaluate both sets.
        """
        variance = FLEXIBLE_FACTOR * self.error(_influences(values)) ** 2
        own = None if values.runs is None else values.runs[0]
        if own is not None and self.runs is not None and len(own) == len(self.runs):
            variance += mean_covariance((own - self.runs)[None])[0, 0]
        return float(np.sqrt(variance))

    def allows(self, v: float, error: float) -> bool:
        """Return whether a value is within the tolerance, given the error of the difference."""
        return v >= self.v - (error if self.tolerance is None else self.tolerance) - _ROUNDING


def _influences(values: Values) -> FloatArray:
    assert values.influences is not None
    return np.asarray(values.influences[0], dtype=np.float64)


@dataclass(eq=False)
class SetSearch:
    """The best set of each size that forward and backward steps, and exchanges, have met.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(subsets, influences=...) -> Values``.
    model : Expectation or None
        Ranks candidates; None evaluates all of them.
    players : int array
        Players that a set may have.
    n_players : int
    yardstick : Yardstick
    known : Values
        What has been evaluated before.
    """

    evaluate: Callable[..., Values]
    model: Expectation | None
    players: IntpArray
    n_players: int
    yardstick: Yardstick
    known: Values
    _masks: list[BoolArray] = field(default_factory=list)
    _v: list[float] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)
    _best: dict[int, tuple[float, BoolArray]] = field(default_factory=dict)
    _steps: dict[bytes, Step] = field(default_factory=dict)

    def run(self) -> list[Step]:
        """Return the best set of each size, from the empty one to all players."""
        self._note(np.zeros((1, self.n_players), dtype=bool), np.zeros(1))
        self._note(self.known.subsets.masks(), self.known.v_plain)
        self._try(self._everyone[None])
        self._forward()
        self._backward()
        self._exchange()
        return [self._step(size) for size in range(len(self.players) + 1)]

    @property
    def _everyone(self) -> BoolArray:
        mask = np.zeros(self.n_players, dtype=bool)
        mask[self.players] = True
        return mask

    @property
    def _smallest(self) -> int:
        """The smallest size so far that is within the tolerance; all players otherwise."""
        sizes = [k for k in sorted(self._best) if self._is_within(k)]
        return sizes[0] if sizes else len(self.players)

    def _is_within(self, size: int) -> bool:
        step = self._step(size)
        return self.yardstick.allows(step.v, step.error)

    def _forward(self) -> None:
        """Add one player at a time, until the sets have been good enough for a while."""
        first = None
        for size in range(len(self.players)):
            if first is None and self._is_within(size):
                first = size
            if first is not None and size >= first + BEYOND:
                return
            self._try(self._larger(self._best[size][1]))

    def _backward(self) -> None:
        """Leave out one player at a time, until the sets have not been good enough for a while."""
        least = self._smallest
        for size in range(len(self.players), 1, -1):
            if size < least - BEYOND:
                return
            self._try(self._smaller(self._best[size][1]))
            if self._is_within(size - 1):
                least = min(least, size - 1)

    def _exchange(self) -> None:
        """Try to do with one player less, by exchanges, for as long as that works."""
        while (size := self._smallest) > 1:
            self._try(self._smaller(self._best[size][1]))
            while not self._is_within(size - 1):
                if not self._try(self._exchanged(self._best[size - 1][1])):
                    return

    def _larger(self, mask: BoolArray) -> BoolArray:
        return self._with(mask, self.players[~mask[self.players]])

    def _smaller(self, mask: BoolArray) -> BoolArray:
        return self._with(mask, np.flatnonzero(mask))

    def _with(self, mask: BoolArray, changed: IntpArray) -> BoolArray:
        """Sets that differ from one in a single player each."""
        masks = np.tile(mask, (len(changed), 1))
        masks[np.arange(len(changed)), changed] ^= True
        return masks

    def _exchanged(self, mask: BoolArray) -> BoolArray:
        return np.vstack([self._larger(smaller) for smaller in self._smaller(mask)])

    def _try(self, masks: BoolArray) -> bool:
        """Evaluate the most promising of some sets of one size; whether one is the best so far."""
        new = np.array([mask.tobytes() not in self._seen for mask in masks], dtype=bool)
        masks = self._promising(np.unique(masks[new], axis=0))
        if not len(masks):
            return False
        size = int(masks[0].sum())
        before = self._best[size][0] if size in self._best else -np.inf
        self._note(masks, self.evaluate(Subsets.from_masks(masks), influences=False).v_plain)
        return self._best[size][0] > before

    def _promising(self, masks: BoolArray) -> BoolArray:
        if self.model is None or len(masks) <= FEW:
            return masks
        expected = self.model.mean(np.stack(self._masks), np.array(self._v), masks)
        return masks[np.argsort(-expected, kind="stable")[:FEW]]

    def _note(self, masks: BoolArray, v: FloatArray) -> None:
        allowed = self._everyone
        for mask, value in zip(masks, v.tolist(), strict=True):
            if mask.tobytes() in self._seen:
                continue
            self._seen.add(mask.tobytes())
            self._masks.append(mask)
            self._v.append(value)
            size = int(mask.sum())
            if not (mask & ~allowed).any() and value > self._best.get(size, (-np.inf,))[0]:
                self._best[size] = (value, mask)

    def _step(self, size: int) -> Step:
        """The best set of a size, with the error of what it loses."""
        v, mask = self._best[size]
        key = mask.tobytes()
        if key not in self._steps:
            self._steps[key] = Step(mask, v, self._error(mask))
        return self._steps[key]

    def _error(self, mask: BoolArray) -> float:
        if not mask.any():  # the mean explains nothing, whatever the rows
            return self.yardstick.error(np.zeros_like(self.yardstick.influences))
        return self.yardstick.error(_influences(self.evaluate(Subsets.from_masks(mask))))


def smallest(
    path: list[Step], yardstick: Yardstick, refit: Callable[[BoolArray], Values]
) -> tuple[int, list[Step]]:
    """Return the smallest size of a path that is within the tolerance, checked by refits.

    Values of a subset come from learners that were fitted on all players. The set is checked by
    learners fitted on it alone: while they lose too much, the next larger one is taken.

    Parameters
    ----------
    path : list of Step
        The best set of each size, from the empty one to all players.
    yardstick : Yardstick
    refit : callable
        From the mask of a set to its value by learners that see nothing else.

    Returns
    -------
    size : int
    path : list of Step
        The path with what the refits have found.
    """
    path, last = list(path), len(path) - 1
    within = [yardstick.allows(step.v, step.error) for step in path]
    size = within.index(True) if any(within) else last
    while size > 0:
        path[size] = _refitted(path[size], yardstick, refit)
        if size == last or yardstick.allows(path[size].refit, path[size].refit_error):
            break
        size += 1
    return size, path


def _refitted(step: Step, yardstick: Yardstick, refit: Callable[[BoolArray], Values]) -> Step:
    values = refit(step.mask)
    error = yardstick.refit_error(values)
    return Step(step.mask, step.v, step.error, float(values.v_plain[0]), error)
