"""Penalised likelihood with a link: the fits of all folds side by side, for any set of features.

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
TOLERANCE = 1e-5
MAX_STEPS = 12
# The furthest that a step may carry a predictor: counts grow as its exponential.
LONGEST = 2.0
# How often the sums are made anew on the way to the fit of all features.
N_SUMS = 2


@dataclass(frozen=True, eq=False)
class Fits:
    """The rows as fits see them that are made side by side, such as one for each fold.

    Parameters
    ----------
    features : float array of shape (n_features, n_rows)
        The first is 1 everywhere.
    response : float array of shape (n_rows,)
    weight : float array of shape (n_fits, n_rows)
        0 for rows that a fit leaves out.
    link : Link
    """

    features: FloatArray
    response: FloatArray
    weight: FloatArray
    link: Link

    @property
    def total(self) -> FloatArray:
        """The weight of the rows of each fit."""
        return np.asarray(self.weight.sum(axis=1))

    def constants(self) -> FloatArray:
        """The fits without any feature, shape (n_fits, n_features)."""
        mean = self.weight @ self.response / self.total
        anywhere = np.average(self.response, weights=self.weight.max(axis=0))
        # As if one more row had the mean of all: some fits may know one class only.
        more = (anywhere - mean) / (1 + self.total)
        slopes = np.zeros((len(self.weight), len(self.features)))
        slopes[:, 0] = self.link.predictor(mean + more)
        return slopes

    def take(self, inside: IntpArray, n_fits: int) -> Fits:
        """The first fits, with some of the features."""
        return Fits(self.features[inside], self.response, self.weight[:n_fits], self.link)

    def descend(self, slopes: FloatArray, penalty: FloatArray, inverse: FloatArray) -> FloatArray:
        """Take steps from some slopes to those of the largest penalised likelihood.

        Parameters
        ----------
        slopes, penalty : float arrays of shape (n_fits, n_features)
        inverse : float array of shape (n_fits, n_features, n_features)
            About the inverse of the penalised information; 0 for features that a fit has not.
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
        """Newton's length of a step along predictors of shape (n_fits, n_rows)."""
        bend = np.einsum("kn,kn,kn->k", self.weight * self.link.variance(mean), along, along)
        furthest = np.maximum(np.abs(along).max(axis=1), np.finfo(float).tiny)
        newton = rise / np.maximum(bend + penalty, np.finfo(float).tiny)
        return np.asarray(np.minimum(newton, LONGEST / furthest))


@dataclass(frozen=True, eq=False)
class LinkSums:
    """Information about all features, and their moments with the working response.

    Parameters
    ----------
    information : float array of shape (n_fits, n_features, n_features)
    moment : float array of shape (n_fits, n_features)
    """

    information: FloatArray
    moment: FloatArray

    @classmethod
    def at(cls, fits: Fits, slopes: FloatArray, n_jobs: int | None) -> LinkSums:
        """Sum over the rows, at some slopes.

        The variance of a row is the mean of what the fits say, so that each row is summed once.
        """
        predictor = slopes @ fits.features
        mean = fits.link.mean(predictor)
        variance = fits.link.variance(mean).mean(axis=0)
        score = fits.weight * (fits.response - mean)
        moment = (fits.weight * variance * predictor + score) @ fits.features.T
        rows, patterns = _alike(fits.weight > 0)
        weight = fits.weight.max(axis=0) * variance
        tasks = [(fits.features, weight, some) for some in rows]
        grams = np.stack(run_in_threads(_weighted_gram, tasks, n_jobs))
        return cls(np.tensordot(patterns.astype(np.float64), grams, axes=1), moment)

    def take(self, inside: IntpArray, n_fits: int) -> LinkSums:
        """Those of the first fits and of some features."""
        some = self.information[:n_fits, inside[:, None], inside]
        return LinkSums(some, self.moment[:n_fits, inside])

    def inverse(self, penalty: FloatArray, allowed: BoolArray) -> FloatArray:
        """Inverse of the penalised information of the features that each fit has; 0 elsewhere."""
        both = allowed[:, :, None] & allowed[:, None, :]
        system = np.where(both, self.information, 0.0)
        diagonal = np.arange(system.shape[1])
        system[:, diagonal, diagonal] += np.where(allowed, penalty, 1.0)
        return np.where(both, np.linalg.inv(system), 0.0)

    def start(self, inverse: FloatArray) -> FloatArray:
        """The regression of the working response: near the fit of any set of features."""
        return np.asarray((inverse @ self.moment[:, :, None])[:, :, 0])


def _alike(trained: BoolArray) -> tuple[list[IntpArray], BoolArray]:
    """Rows that the same fits are trained on, and which fits these are: shape (n_fits, n_kinds)."""
    codes = (1 << np.arange(len(trained))) @ trained
    _, first, kind = np.unique(codes, return_index=True, return_inverse=True)
    return [np.flatnonzero(kind == k) for k in range(len(first))], trained[:, first]


def _weighted_gram(features: FloatArray, weight: FloatArray, rows: IntpArray) -> FloatArray:
    some = features[:, rows]
    return np.asarray((some * weight[rows]) @ some.T)


class FoldFits:
    """The fits of folds to any set of features.

    Parameters
    ----------
    fits : Fits
        One for each fold first.
    fold_of_fit : int array of shape (n_fits,)
    allowed : bool array of shape (n_folds, n_features)
        The features that each fold has; the first always.
    penalty : float
        That of the fits to all features; see `fit`.
    n_jobs : int or None
    """

    def __init__(
        self,
        fits: Fits,
        fold_of_fit: IntpArray,
        allowed: BoolArray,
        penalty: float,
        n_jobs: int | None,
    ) -> None:
        self.features, self._fits, self._allowed = fits.features, fits, allowed[fold_of_fit]
        self.everything, penalties = np.arange(len(fits.features)), np.full(len(allowed), penalty)
        slopes = fits.constants()
        # One unit of penalty: what the rows of a fit know of a feature of variance 1.
        self._unit = fits.link.variance(fits.link.mean(slopes[:, 0])) * fits.total
        for _ in range(N_SUMS):
            self._sums = LinkSums.at(fits, slopes[fold_of_fit], n_jobs)
            slopes = self.fit(self.everything, penalties, slopes[: len(allowed)])
        # The fits of the folds to all features.
        self.slopes = slopes

    def fit(
        self, inside: IntpArray, penalty: FloatArray, start: FloatArray | None = None
    ) -> FloatArray:
        """Slopes of some features, shape (n, n_inside), of the first n fits.

        Parameters
        ----------
        inside : int array
            Places of the features, 0 first.
        penalty : float array of shape (n,)
            Relative to what the rows know of a feature of variance 1.
        start : float array of shape (n, n_inside) or None
        """
        n = len(penalty)
        sums, allowed = self._sums.take(inside, n), self._allowed[:n, inside]
        by_feature = np.repeat((penalty * self._unit[:n])[:, None], len(inside), axis=1)
        by_feature[:, 0] = 0.0
        inverse = sums.inverse(by_feature, allowed)
        first = sums.start(inverse) if start is None else start
        return self._fits.take(inside, n).descend(first, by_feature, inverse)
