"""Penalised likelihood with a link: the fits of all folds at once, for any set of features.

Newton's method would sum over all rows a matrix of all features, in each step for each subset.
Here the sums are made once, at the fit of all features. As E[variance(mean) | X_U] is about the
variance at the mean given X_U, the part of them that belongs to a subset is nearly its own matrix:
it tells the start, and the direction of each step, whose length is Newton's. A few steps arrive
where Newton's method does, and each reads the rows twice, for all folds together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.threads import run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.values.link.links import Link

# Steps end when one would change the log-likelihood by less than this share of the rows' weight.
# Smaller takes time, larger leaves errors that the values show (`benchmarks.truth`).
TOLERANCE = 2e-5
MAX_STEPS = 12
# The furthest that a step may carry a predictor: counts grow as its exponential.
LONGEST = 2.0
# How often the sums are made anew on the way to the fit of all features.
N_SUMS = 3


@dataclass(frozen=True, eq=False)
class Folds:
    """The rows as the folds see them.

    Parameters
    ----------
    features : float array of shape (n_features, n_rows)
        The first is 1 everywhere.
    response : float array of shape (n_rows,)
    weight : float array of shape (n_folds, n_rows)
        0 where a fold is not trained on a row.
    link : Link
    """

    features: FloatArray
    response: FloatArray
    weight: FloatArray
    link: Link

    @property
    def total(self) -> FloatArray:
        """The weight that each fold is trained on."""
        return np.asarray(self.weight.sum(axis=1))

    def constants(self) -> FloatArray:
        """The fits without any feature, shape (n_folds, n_features)."""
        mean = self.weight @ self.response / self.total
        # As if the weight of one row had the average of all: a class may be missing in a fold.
        slack = self.response.mean() / (1 + self.total)
        slopes = np.zeros((len(self.weight), len(self.features)))
        slopes[:, 0] = self.link.predictor(mean * (1 - 1 / (1 + self.total)) + slack)
        return slopes

    def take(self, inside: IntpArray) -> Folds:
        """The same rows with some of the features."""
        return Folds(self.features[inside], self.response, self.weight, self.link)

    def descend(self, slopes: FloatArray, penalty: FloatArray, inverse: FloatArray) -> FloatArray:
        """Take steps from some slopes to those of the largest penalised likelihood.

        Parameters
        ----------
        slopes, penalty : float arrays of shape (n_folds, n_features)
        inverse : float array of shape (n_folds, n_features, n_features)
            About the inverse of the penalised information; 0 for features that a fold has not.
        """
        slopes, predictor = slopes.copy(), slopes @ self.features
        enough = TOLERANCE * self.total
        for _ in range(MAX_STEPS):
            mean = self.link.mean(predictor)
            score = self.weight * (self.response - mean)
            gradient = score @ self.features.T - penalty * slopes
            step = (inverse @ gradient[:, :, None])[:, :, 0]
            rise = (gradient * step).sum(axis=1)
            if (rise <= enough).all():
                break
            along = step @ self.features
            length = self._length(rise, along, mean, (penalty * step**2).sum(axis=1))
            slopes += length[:, None] * step
            predictor += length[:, None] * along
        return slopes

    def _length(
        self, rise: FloatArray, along: FloatArray, mean: FloatArray, penalty: FloatArray
    ) -> FloatArray:
        """Newton's length of a step along predictors of shape (n_folds, n_rows)."""
        bend = np.einsum("kn,kn,kn->k", self.weight * self.link.variance(mean), along, along)
        furthest = np.maximum(np.abs(along).max(axis=1), np.finfo(float).tiny)
        newton = rise / np.maximum(bend + penalty, np.finfo(float).tiny)
        return np.asarray(np.minimum(newton, LONGEST / furthest))


@dataclass(frozen=True, eq=False)
class Sums:
    """Information about all features, and their moments with the working response.

    Parameters
    ----------
    information : float array of shape (n_folds, n_features, n_features)
    moment : float array of shape (n_folds, n_features)
    """

    information: FloatArray
    moment: FloatArray

    @classmethod
    def at(cls, folds: Folds, slopes: FloatArray, n_jobs: int | None) -> Sums:
        """Sum over the rows, at some slopes."""
        predictor = slopes @ folds.features
        mean = folds.link.mean(predictor)
        weight = folds.weight * folds.link.variance(mean)
        moment = (weight * predictor + folds.weight * (folds.response - mean)) @ folds.features.T
        tasks = [(folds.features, some) for some in weight]
        return cls(np.stack(run_in_threads(_weighted_gram, tasks, n_jobs)), moment)

    def take(self, inside: IntpArray) -> Sums:
        """Those of some features."""
        return Sums(self.information[:, inside[:, None], inside], self.moment[:, inside])

    def inverse(self, penalty: FloatArray, allowed: BoolArray) -> FloatArray:
        """Inverse of the penalised information of the features that each fold has; 0 elsewhere."""
        both = allowed[:, :, None] & allowed[:, None, :]
        system = np.where(both, self.information, 0.0)
        diagonal = np.arange(system.shape[1])
        system[:, diagonal, diagonal] += np.where(allowed, penalty, 1.0)
        return np.where(both, np.linalg.inv(system), 0.0)

    def start(self, inverse: FloatArray) -> FloatArray:
        """The regression of the working response: near the fit of any set of features."""
        return np.asarray((inverse @ self.moment[:, :, None])[:, :, 0])


def _weighted_gram(features: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray((features * weight) @ features.T)


class FoldFits:
    """The fits of all folds to any set of features.

    Parameters
    ----------
    folds : Folds
    allowed : bool array of shape (n_folds, n_features)
        The features that each fold has; the first always.
    penalty : float
        That of the first fits, relative to the information of a row.
    n_jobs : int or None
    """

    def __init__(
        self, folds: Folds, allowed: BoolArray, penalty: float, n_jobs: int | None
    ) -> None:
        self.folds, self._allowed = folds, allowed
        self._everything = np.arange(len(folds.features))
        slopes = folds.constants()
        typical = folds.link.variance(folds.link.mean(slopes[:, 0]))
        # One unit of penalty: what all rows of a fold know of a feature of variance 1.
        self._unit = typical * folds.total
        for _ in range(N_SUMS):
            self._sums = Sums.at(folds, slopes, n_jobs)
            slopes = self.fit(self._everything, np.full(len(folds.weight), penalty), slopes)
        # The fits of all features.
        self.slopes = slopes

    def fit(
        self, inside: IntpArray, penalty: FloatArray, start: FloatArray | None = None
    ) -> FloatArray:
        """Slopes of some features, shape (n_folds, n_inside).

        Parameters
        ----------
        inside : int array
            Places of the features, 0 first.
        penalty : float array of shape (n_folds,)
        start : float array of shape (n_folds, n_inside) or None
        """
        sums, allowed = self._sums.take(inside), self._allowed[:, inside]
        by_feature = np.broadcast_to((penalty * self._unit)[:, None], allowed.shape).copy()
        by_feature[:, 0] = 0.0
        inverse = sums.inverse(by_feature, allowed)
        first = sums.start(inverse) if start is None else start
        return self.folds.take(inside).descend(first, by_feature, inverse)
