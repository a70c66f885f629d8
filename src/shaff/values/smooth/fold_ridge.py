"""Ridge regressions that hold out fold after fold, from sums over the rows of each.

The normal equations of a fold are sums over its training rows, and the squared error of its
held-out rows is a quadratic form in sums over these: both are made once for all features, and a
subset of the columns takes its part of them. Rows are read for what has been chosen only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shaff._util.lapack import solve_positive
from shaff._util.threads import run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray
from shaff.values.smooth.leave_out import PENALTIES, LeaveOutTarget

# The penalty that a search begins with; from there it goes where the error falls.
FIRST_PENALTY = 6
# Features up to which the systems of all folds are solved by one call: time only.
FEW_FEATURES = 48


@dataclass(frozen=True, eq=False)
class Regressions:
    """A regression of each fold: slopes of shape (n_folds, n_features, n_outputs), and constants
    of shape (n_folds, n_outputs)."""

    slopes: FloatArray
    constants: FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums over some rows of each fold, about their means.

    Parameters
    ----------
    weight : float array of shape (n_folds,)
    centre : float array of shape (n_folds, n_features + n_outputs)
        Means of the features, then of the outputs.
    products : float array of shape (n_folds, n_features + n_outputs, n_features + n_outputs)
    n_outputs : int
    """

    weight: FloatArray
    centre: FloatArray
    products: FloatArray
    n_outputs: int

    @classmethod
    def of(cls, sums: list[FloatArray], n_outputs: int) -> Moments:
        """From sums of products of (1, features, outputs) over the rows of each fold."""
        weight = np.maximum([fold[0, 0] for fold in sums], np.finfo(float).tiny)
        centre = np.array([fold[0, 1:] for fold in sums]) / weight[:, None]
        products = np.empty((len(sums), centre.shape[1], centre.shape[1]))
        for fold, mean, out in zip(sums, centre, products, strict=True):
            np.subtract(fold[1:, 1:], np.outer(fold[0, 1:], mean), out=out)
        return cls(weight, centre, products, n_outputs)

    def take(self, folds: IntArray, features: IntpArray) -> Moments:
        """Those of some folds and features, and of all outputs."""
        size = self.centre.shape[1]
        kept = np.append(features, np.arange(size - self.n_outputs, size))
        products = np.stack([self.products[k].take(kept, 0).take(kept, 1) for k in folds])
        return Moments(self.weight[folds], self.centre[folds][:, kept], products, self.n_outputs)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.centre.shape[1]) - self.n_outputs

    def fit(self, penalty: float) -> Regressions:
        """Ridge regressions of these rows; penalties are relative to their weight."""
        split = self.n_features
        slopes = np.zeros((len(self.weight), split, self.n_outputs))
        if split and np.isfinite(penalty):
            grams = self.products[:, :split, :split].copy()
            diagonal = np.arange(split)
            grams[:, diagonal, diagonal] += (penalty * self.weight)[:, None]
            slopes = _solve(grams, self.products[:, :split, split:])
        at_centre = np.einsum("kf,kfo->ko", self.centre[:, :split], slopes)
        return Regressions(slopes, self.centre[:, split:] - at_centre)

    def errors(self, lines: Regressions) -> FloatArray:
        """Summed squared error of each fold's regression in its rows here, shape (n_folds,)."""
        shape = len(self.weight), self.n_outputs, self.n_outputs
        minus = np.broadcast_to(-np.eye(self.n_outputs), shape)
        sides = np.concatenate([lines.slopes, minus], axis=1)
        away = np.einsum("kf,kfo->ko", self.centre, sides) + lines.constants
        spread = np.einsum("kfo,kfo->k", self.products @ sides, sides)
        return np.asarray(spread + self.weight * (away**2).sum(axis=1))


def _solve(grams: FloatArray, right: FloatArray) -> FloatArray:
    if grams.shape[1] <= FEW_FEATURES:
        return np.asarray(np.linalg.solve(grams, right), dtype=np.float64)
    return np.stack([solve_positive(gram, some) for gram, some in zip(grams, right, strict=True)])


class FoldBlock:
    """The rows that a fold holds out: 1, features and outcome, shape (1 + n_features + n_outputs,
    n_rows), those of the first half first.

    Parameters
    ----------
    features : float array of shape (n_features, n)
    target : LeaveOutTarget
    rows : int array
        Places of the rows, those of the first half first.
    """

    def __init__(self, features: FloatArray, target: LeaveOutTarget, rows: IntpArray) -> None:
        self.values = np.empty((1 + len(features) + target.y.shape[1], len(rows)))
        self.values[0] = 1.0
        np.take(features, rows, axis=1, out=self.values[1 : 1 + len(features)])
        self.values[1 + len(features) :] = target.y[rows].T
        self._weight = target.weight[rows]
        n_first = int(target.in_first[rows].sum())
        self._halves = slice(n_first), slice(n_first, None)

    def sums(self, half: int, used: BoolArray | None = None) -> FloatArray:
        """Weighted sums of products over one half, of all its rows or some."""
        rows = self._halves[half]
        weight = self._weight[rows] if used is None else self._weight[rows] * used[rows]
        return _weighted_gram(self.values[:, rows], weight)


def _weighted_gram(rows: FloatArray, weight: FloatArray) -> FloatArray:
    weighted = rows if (weight == 1).all() else rows * weight
    return np.asarray(weighted @ rows.T)


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """Moments of the rows that the folds hold out, of their training rows, and of both halves of
    these for the folds that tell the noise of a fit."""

    test: Moments
    train: Moments
    first: Moments
    second: Moments

    @classmethod
    def of(
        cls,
        blocks: list[FoldBlock],
        target: LeaveOutTarget,
        n_jobs: int | None = None,
    ) -> FoldMoments:
        """Sum over the rows of the folds; the last block has the rows that no fold holds out."""
        tasks = [(block, half) for block in blocks[: target.n_folds] for half in (0, 1)]
        halves = run_in_threads(FoldBlock.sums, tasks, n_jobs)
        sums = list(zip(halves[::2], halves[1::2], strict=True))
        if target.is_partition:
            total = [sum(fold[h] for fold in sums) for h in (0, 1)]
            training = [[total[h] - fold[h] for h in (0, 1)] for fold in sums]
        else:
            training = _training_sums(blocks, target, n_jobs)
        noisy = training[target.n_folds - target.n_noise_folds :]
        parts = (
            [first + second for first, second in sums],
            [first + second for first, second in training],
            [first for first, _ in noisy],
            [second for _, second in noisy],
        )
        n_outputs = target.y.shape[1]
        return cls(*run_in_threads(Moments.of, [(part, n_outputs) for part in parts], n_jobs))


def _training_sums(
    blocks: list[FoldBlock], target: LeaveOutTarget, n_jobs: int | None
) -> list[list[FloatArray]]:
    """Sums over the training rows of each fold, whatever these are, by half."""
    places = [*target.tests, target.unmeasured]

    def of_fold(train: BoolArray, half: int) -> FloatArray:
        parts = (b.sums(half, train[rows]) for b, rows in zip(blocks, places, strict=True))
        return sum(parts, np.zeros(()))

    tasks = [(train, half) for train in target.training for half in (0, 1)]
    found = run_in_threads(of_fold, tasks, n_jobs)
    return [list(fold) for fold in zip(found[::2], found[1::2], strict=True)]


class FoldRidge:
    """Held-out predictions of ridge regressions on sets of features.

    Parameters
    ----------
    features : float array of shape (n_features, n)
    target : LeaveOutTarget
        With folds.
    n_jobs : int or None, default=None
        Threads that sum over the rows.
    """

    def __init__(
        self, features: FloatArray, target: LeaveOutTarget, n_jobs: int | None = None
    ) -> None:
        self.target, self._n_features = target, len(features)
        tasks = [(features, target, rows) for rows in (*target.tests, target.unmeasured)]
        blocks = run_in_threads(FoldBlock, tasks, n_jobs)
        self._blocks = blocks[:-1]
        self.moments = FoldMoments.of(blocks, target, n_jobs)

    def residuals(self, fold: int, inside: IntpArray, lines: Regressions, at: int) -> FloatArray:
        """Residuals of the rows that a fold holds out, shape (n_rows, n_outputs)."""
        n_outputs = self.target.y.shape[1]
        # All features, most with slope 0: to read them takes less time than to copy some.
        slopes = np.zeros((1 + self._n_features + n_outputs, n_outputs))
        slopes[0], slopes[1 + inside] = -lines.constants[at], -lines.slopes[at]
        slopes[1 + self._n_features :] = np.eye(n_outputs)
        return np.asarray(self._blocks[fold].values.T @ slopes)


class FoldsLeftOut:
    """Ridge regressions of one set of features, at the penalties that a search comes by.

    Parameters
    ----------
    ridge : FoldRidge
    sets : list of (int array, list of int)
        Features, and the folds that have these.
    first_penalty : int
        Where the search begins.
    """

    def __init__(
        self,
        ridge: FoldRidge,
        sets: list[tuple[IntpArray, list[int]]],
        first_penalty: int = FIRST_PENALTY,
    ) -> None:
        self._ridge, self._sets = ridge, [(some, np.array(folds)) for some, folds in sets]
        self._set_of = {fold: k for k, (_, folds) in enumerate(sets) for fold in folds}
        self._taken: dict[tuple[str, int], Moments] = {}
        self._fitted: dict[tuple[str, int, int], Regressions] = {}
        self._errors: dict[int, FloatArray] = {}
        # The place of the best penalty over all folds.
        self.best = self._search(first_penalty, self._error)
        for fold in range(ridge.target.n_folds):
            self._search(self.best, partial(self._error_without, fold))
        self._tried = sorted(self._errors)
        self.penalties = PENALTIES[self._tried]
        self._by_fold = np.stack([self._errors[k] for k in self._tried])

    def errors(self, target: LeaveOutTarget) -> FloatArray:
        """Summed squared errors, shape (n_penalties, n_folds)."""
        assert target is self._ridge.target
        return self._by_fold

    def of_fold(
        self, place: int, fold: int, target: LeaveOutTarget
    ) -> tuple[FloatArray, FloatArray]:
        """Residuals of the rows of a fold, and what the noise of the fit adds to their squares.

        The noise in the fits of two halves is independent, so that on average the product of
        their residuals has the error of a regression without it.
        """
        assert target is self._ridge.target
        k = self._set_of[fold]
        inside, folds = self._sets[k]
        at = int(np.flatnonzero(folds == fold)[0])
        lines = self._lines("train", k, self._tried[place])
        whole = self._ridge.residuals(fold, inside, lines, at)
        if fold < target.n_folds - target.n_noise_folds:
            return whole, np.full(whole.shape, np.nan)
        first, second = (
            self._ridge.residuals(fold, inside, half, 0) for half in self._halves(k, fold, place)
        )
        return whole, whole**2 - first * second

    def _halves(self, k: int, fold: int, place: int) -> list[Regressions]:
        """The regressions of both halves of a fold's training rows."""
        inside, moments, target = self._sets[k][0], self._ridge.moments, self._ridge.target
        at = np.array([fold - (target.n_folds - target.n_noise_folds)])
        halves = [part.take(at, inside) for part in (moments.first, moments.second)]
        return [half.fit(PENALTIES[self._tried[place]]) for half in halves]

    def _lines(self, part: str, k: int, place: int) -> Regressions:
        """Regressions of a part of the training rows of the folds of a set."""
        key = part, k, place
        if key not in self._fitted:
            self._fitted[key] = self._moments(part, k).fit(PENALTIES[place])
        return self._fitted[key]

    def _moments(self, part: str, k: int) -> Moments:
        if (part, k) not in self._taken:
            moments: Moments = getattr(self._ridge.moments, part)
            inside, folds = self._sets[k]
            self._taken[part, k] = moments.take(folds, inside)
        return self._taken[part, k]

    def _search(self, place: int, error: Callable[[int], float]) -> int:
        """Go where the error falls, until both neighbours are worse."""
        while True:
            near = range(max(place - 1, 0), min(place + 2, len(PENALTIES)))
            best = min(near, key=error)
            if best == place:
                return place
            place = best

    def _error_without(self, fold: int, place: int) -> float:
        """The error that a fold goes by: that of the others, where there are any."""
        total = self._error(place)
        own = float(self._errors[place][fold])
        return total - own if self._ridge.target.n_folds > 1 else total

    def _error(self, place: int) -> float:
        if place not in self._errors:
            found = np.empty(self._ridge.target.n_folds)
            for k, (_, folds) in enumerate(self._sets):
                found[folds] = self._moments("test", k).errors(self._lines("train", k, place))
            self._errors[place] = found
        return float(self._errors[place].sum())
