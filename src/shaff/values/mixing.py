"""Predictions of several learners as one: non-negative least squares against y."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.values.outcome import Outcome

# What is added to the diagonal of parts that say the same, relative to its largest entry.
JITTER = 1e-10


@dataclass(frozen=True, eq=False)
class Mix:
    """Weights of the parts of some subsets, for their distances from the mean.

    Parameters
    ----------
    weights : float array of shape (n_subsets, n_parts)
    mean : float array of shape (n_subsets, n_outputs)
    """

    weights: FloatArray
    mean: FloatArray

    def of(self, predictions: FloatArray) -> FloatArray:
        """Combine predictions of shape (n_subsets, n_parts, n_rows, n_outputs)."""
        mean = self.mean[:, None, :]
        away = predictions - mean[:, None]
        return np.asarray(mean + (self.weights[:, :, None, None] * away).sum(axis=1))

    def __getitem__(self, index: slice) -> Mix:
        return Mix(self.weights[index], self.mean[index])


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over some rows for each subset: moments of y and of the parts' predictions, both about a
    common centre, which keeps their digits.

    Parameters
    ----------
    weight : float array of shape (n_subsets,)
    y : float array of shape (n_subsets, n_outputs)
    parts : float array of shape (n_subsets, n_parts, n_outputs)
    gram : float array of shape (n_subsets, n_parts, n_parts)
    moment : float array of shape (n_subsets, n_parts)
    """

    weight: FloatArray
    y: FloatArray
    parts: FloatArray
    gram: FloatArray
    moment: FloatArray

    @classmethod
    def of(cls, parts: FloatArray, y: FloatArray, weight: FloatArray) -> Sums:
        """Sum over rows: parts of shape (n_subsets, n_parts, n_rows, n_outputs), weights of shape
        (n_subsets, n_rows)."""
        flat = parts.reshape(*parts.shape[:2], -1)
        weighted = (parts * weight[:, None, :, None]).reshape(flat.shape)
        return cls(
            weight.sum(axis=1),
            weight @ y,
            (parts * weight[:, None, :, None]).sum(axis=2),
            weighted @ flat.transpose(0, 2, 1),
            (weighted @ np.ascontiguousarray(y).reshape(-1, 1))[:, :, 0],
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: Sums) -> Sums:
        return Sums(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

    def mix(self, centre: FloatArray) -> Mix:
        """Non-negative least squares about the mean of y in these rows.

        Not about the mean of all: that knows the rows which are measured later, and would explain
        a share of 1/n of pure noise.
        """
        mean = self.y / np.maximum(self.weight, np.finfo(float).tiny)[:, None]
        across = (self.parts * mean[:, None]).sum(axis=2)
        size = self.weight * (mean**2).sum(axis=1)
        gram = self.gram - across[:, :, None] - across[:, None, :] + size[:, None, None]
        return Mix(non_negative(gram, self.moment - across), centre + mean)


class Predictions:
    """The predictions of all parts for some subsets, about a common centre.

    Parameters
    ----------
    predictions : float array of shape (n_subsets, n_parts, n_rows, n_outputs)
        NaN where a part cannot predict a row.
    outcome : Outcome
    """

    def __init__(self, predictions: FloatArray, outcome: Outcome) -> None:
        self._predictions, self._weight = predictions, outcome.weight
        self._centre = np.average(outcome.y, axis=0, weights=outcome.weight)
        self._y = outcome.y - self._centre
        self._usable: BoolArray = np.asarray(~np.isnan(predictions).any(axis=(1, 3)))

    def mix(self) -> Mix:
        """Combine the parts by all rows."""
        return self._sums(np.ones(len(self._weight), dtype=bool)).mix(self._centre)

    def combine(self, fold_of: IntpArray) -> tuple[FloatArray, FloatArray]:
        """Each row's combination as the other folds have it, shape (n_subsets, n_rows, n_outputs),
        NaN where a part has none; and the weights of the parts in it, shape (n_subsets, n_parts,
        n_rows)."""
        shape = self._predictions.shape
        combined, weights = np.full((shape[0], *shape[2:]), np.nan), np.zeros(shape[:3])
        for rows, mix in self._mixes(fold_of):
            combined[:, rows] = mix.of(self._predictions[:, :, rows])
            weights[:, :, rows] = mix.weights[:, :, None]
        return combined, weights

    def _mixes(self, fold_of: IntpArray) -> Iterator[tuple[IntpArray, Mix]]:
        """The rows of each fold, and how the others combine the parts."""
        folds = [fold_of == fold for fold in range(int(fold_of.max()) + 1)]
        sums = [self._sums(rows) for rows in folds]
        total = sums[0]
        for more in sums[1:]:
            total = total + more
        for rows, own in zip(folds, sums, strict=True):
            yield np.flatnonzero(rows), (total - own).mix(self._centre)

    def _sums(self, rows: BoolArray) -> Sums:
        usable = self._usable[:, rows]
        parts = self._predictions[:, :, rows] - self._centre
        parts = np.where(usable[:, None, :, None], parts, 0.0)
        return Sums.of(parts, self._y[rows], np.where(usable, self._weight[rows], 0.0))


def non_negative(gram: FloatArray, moment: FloatArray) -> FloatArray:
    """Non-negative least squares from normal equations, for many systems at once.

    The best of all sets of parts whose plain least squares has no negative weight: parts are few.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.mixing import non_negative
    >>> non_negative(np.eye(2)[None], np.array([[2.0, -1.0]])).round(6).tolist()
    [[2.0, 0.0]]
    """
    n_systems, n_parts = moment.shape
    best, gain = np.zeros((n_systems, n_parts)), np.zeros(n_systems)
    jitter = JITTER * np.maximum(np.diagonal(gram, axis1=1, axis2=2).max(axis=1), 1e-300)
    for support in product((False, True), repeat=n_parts):
        some = np.flatnonzero(support)
        if not len(some):
            continue
        system = gram[:, some[:, None], some] + jitter[:, None, None] * np.eye(len(some))
        weights = np.linalg.solve(system, moment[:, some, None])[:, :, 0]
        found = (moment[:, some] * weights).sum(axis=1)
        better = (weights >= 0).all(axis=1) & (found > gain)
        gain = np.where(better, found, gain)
        best[better] = 0.0
        best[np.ix_(better, some)] = weights[better]
    return best
