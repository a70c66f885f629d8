"""Ridge regressions that hold out fold after fold, from sums over the rows of each.

The normal equations of a fold are sums over its training rows, and the squared error of its
held-out rows is a quadratic form in sums over these: both are made once for all features, and a
subset of the columns takes its part of them. Rows are read for what has been chosen only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.lapack import solve_positive
from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray
from shaff.values.smooth.leave_out import PENALTIES, LeaveOutTarget

# The penalty that a search begins with; from there it goes where the error falls.
FIRST_PENALTY = 6
# Features up to which the systems of all folds are solved by one call: time only.
FEW_FEATURES = 48


@dataclass(frozen=True, eq=False)
class Lines:
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
    def of(cls, sums: FloatArray, n_outputs: int) -> Moments:
        """From sums of products of (1, features, outputs)."""
        weight = np.maximum(sums[:, 0, 0], np.finfo(float).tiny)
        centre = sums[:, 0, 1:] / weight[:, None]
        products = sums[:, 1:, 1:] - sums[:, 0, 1:, None] * centre[:, None, :]
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
        return self.centre.shape[1] - self.n_outputs

    def fit(self, penalty: float) -> Lines:
        """Ridge regressions of these rows; penalties are relative to their weight."""
        split = self.n_features
        slopes = np.zeros((len(self.weight), split, self.n_outputs))
        if split and np.isfinite(penalty):
            grams = self.products[:, :split, :split].copy()
            diagonal = np.arange(split)
            grams[:, diagonal, diagonal] += (penalty * self.weight)[:, None]
            slopes = _solve(grams, self.products[:, :split, split:])
        at_centre = np.einsum("kf,kfo->ko", self.centre[:, :split], slopes)
        return Lines(slopes, self.centre[:, split:] - at_centre)

    def errors(self, lines: Lines) -> FloatArray:
        """Summed squared error of each fold's regression in its rows here, shape (n_folds,)."""
        split, minus = self.n_features, np.broadcast_to(
            -np.eye(self.n_outputs), (len(self.weight), self.n_outputs, self.n_outputs)
        )
        sides = np.concatenate([lines.slopes, minus], axis=1)
        away = np.einsum("kf,kfo->ko", self.centre, sides) + lines.constants
        spread = np.einsum("kfo,kfo->k", self.products @ sides, sides)
        return np.asarray(spread + self.weight * (away**2).sum(axis=1))


def _solve(grams: FloatArray, right: FloatArray) -> FloatArray:
    if grams.shape[1] <= FEW_FEATURES:
        return np.linalg.solve(grams, right)
    return np.stack([solve_positive(gram, some) for gram, some in zip(grams, right, strict=True)])


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """Moments of the rows that the folds hold out, of their training rows, and of both halves of
    these for the folds that tell the noise of a fit."""

    test: Moments
    train: Moments
    first: Moments
    second: Moments

    @classmethod
    def of(cls, features: FloatArray, target: LeaveOutTarget) -> FoldMoments:
        """Sum over the rows of the target, with features of shape (n_features, n)."""
        rows = np.vstack([np.ones(features.shape[1]), features, target.y.T])

        def sums(some: BoolArray) -> FloatArray:
            return np.asarray((rows[:, some] * target.weight[some]) @ rows[:, some].T)

        halves = target.in_first, ~target.in_first
        folds = [target.fold_of == k for k in range(target.n_folds)]
        test = [np.stack([sums(fold & half) for fold in folds]) for half in halves]
        if target.is_partition:
            first, second = (part.sum(axis=0) - part for part in test)
        else:
            first, second = (
                np.stack([sums(train & half) for train in target.training]) for half in halves
            )
        n_noise = target.n_noise_folds
        parts = (test[0] + test[1], first + second, first[:n_noise], second[:n_noise])
        return cls(*(Moments.of(part, target.y.shape[1]) for part in parts))


class FoldRidge:
    """Held-out predictions of ridge regressions on sets of features.

    Parameters
    ----------
    features : float array of shape (n_features, n)
    target : LeaveOutTarget
        With folds.
    """

    def __init__(self, features: FloatArray, target: LeaveOutTarget) -> None:
        self.target = target
        self.moments = FoldMoments.of(features, target)
        self._blocks = [features[:, rows] for rows in target.tests]

    def rows(self, fold: int, inside: IntpArray) -> tuple[FloatArray, FloatArray]:
        """Features and outcome of the rows that a fold holds out."""
        return self._blocks[fold].take(inside, 0), self.target.y[self.target.tests[fold]]


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
        self._fitted: dict[tuple[str, int, int], Lines] = {}
        self._errors: dict[int, FloatArray] = {}
        # The place of the best penalty over all folds.
        self.best = self._search(first_penalty)
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
        features, y = self._ridge.rows(fold, inside)
        at = int(np.flatnonzero(folds == fold)[0])
        line = self._lines("train", k, self._tried[place])
        whole = y - features.T @ line.slopes[at] - line.constants[at]
        if fold >= target.n_noise_folds:
            return whole, np.full(whole.shape, np.nan)
        first, second = (
            y - features.T @ half.slopes[0] - half.constants[0]
            for half in self._halves(k, fold, place)
        )
        return whole, whole**2 - first * second

    def _halves(self, k: int, fold: int, place: int) -> list[Lines]:
        """The regressions of both halves of a fold's training rows."""
        inside, moments = self._sets[k][0], self._ridge.moments
        halves = [part.take(np.array([fold]), inside) for part in (moments.first, moments.second)]
        return [half.fit(PENALTIES[self._tried[place]]) for half in halves]

    def _lines(self, part: str, k: int, place: int) -> Lines:
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

    def _search(self, place: int) -> int:
        """Go where the error falls, until both neighbours are worse."""
        while True:
            near = range(max(place - 1, 0), min(place + 2, len(PENALTIES)))
            best = min(near, key=self._error)
            if best == place:
                return place
            place = best

    def _error(self, place: int) -> float:
        if place not in self._errors:
            found = np.empty(self._ridge.target.n_folds)
            for k, (_, folds) in enumerate(self._sets):
                found[folds] = self._moments("test", k).errors(self._lines("train", k, place))
            self._errors[place] = found
        return float(self._errors[place].sum())
