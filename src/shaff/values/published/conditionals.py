"""Completions of rows: the unknown columns given the known ones (Aas, Jullum & Løland 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.special import ndtr, ndtri

from shaff._util.statistics import mid_ranks
from shaff._util.typing import BoolArray, FloatArray

RowIndex = npt.NDArray[np.intp] | None
# Memory only (`benchmarks.memory`).
POINTS_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class Completions:
    """Rows that agree with a point in its known columns.

    Parameters
    ----------
    rows : float array of shape (n_points, n_draws, n_columns)
    weights : float array of shape (n_points, n_draws) or None
        They sum to 1 for each point; None for independent draws of equal weight.
    """

    rows: FloatArray
    weights: FloatArray | None = None


class Completer(Protocol):
    """A way to complete points whose columns are known in part."""

    def complete(
        self, points: FloatArray, known: BoolArray, own: RowIndex, rng: np.random.Generator
    ) -> Completions:
        """``own`` names the training row that each point is, or is None for new points."""


def conditional_gaussian(covariance: FloatArray, known: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Regression of the unknown on the known columns, and a root of what it leaves.

    Returns
    -------
    slope : float array of shape (n_unknown, n_known)
    root : float array of shape (n_unknown, n_unknown)
        ``root @ root.T`` is the conditional covariance. Copies of a column are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.published.conditionals import conditional_gaussian
    >>> slope, root = conditional_gaussian(np.array([[1, 0.6], [0.6, 1]]), np.array([True, False]))
    >>> slope.round(6).tolist(), (root @ root.T).round(6).tolist()
    ([[0.6]], [[0.64]])
    """
    # Of standardised columns: what counts as a copy, and what the draws are, has no units.
    correlation, scale = _standardised(covariance)
    cross = correlation[np.ix_(~known, known)]
    slope = cross @ np.linalg.pinv(correlation[np.ix_(known, known)], hermitian=True)
    left = correlation[np.ix_(~known, ~known)] - slope @ cross.T
    eigenvalues, vectors = np.linalg.eigh((left + left.T) / 2)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    unknown = scale[~known, None]
    return slope * unknown / scale[known], root * unknown


def _standardised(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlations, and the standard deviations, 1 for columns that do not vary."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    return covariance / scale / scale[:, None], scale


class GaussianCompleter:
    """Draws from a Gaussian distribution given the known columns.

    Parameters
    ----------
    mean : float array of shape (n_columns,)
    covariance : float array of shape (n_columns, n_columns)
    n_draws : int

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.published.conditionals import GaussianCompleter
    >>> completer = GaussianCompleter(np.zeros(2), np.ones((2, 2)), n_draws=3)
    >>> known = np.array([True, False])
    >>> draws = completer.complete(np.array([[2.0, 0.0]]), known, None, np.random.default_rng(0))
    >>> draws.rows.round(6).tolist()
    [[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]]
    """

    def __init__(self, mean: FloatArray, covariance: FloatArray, n_draws: int) -> None:
        self.mean, self.covariance, self.n_draws = mean, covariance, n_draws

    def complete(
        self, points: FloatArray, known: BoolArray, own: RowIndex, rng: np.random.Generator
    ) -> Completions:
        """Independent draws for each point."""
        slope, root = conditional_gaussian(self.covariance, known)
        centre = self.mean[~known] + (points[:, known] - self.mean[known]) @ slope.T
        noise = rng.standard_normal((len(points), self.n_draws, len(root)))
        rows = np.repeat(points[:, None, :], self.n_draws, axis=1)
        rows[:, :, ~known] = centre[:, None, :] + noise @ root.T
        return Completions(rows)


class CopulaCompleter:
    """Draws from a Gaussian copula with the marginal distributions of the rows of X.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
    n_draws : int

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.published.conditionals import CopulaCompleter
    >>> X = np.exp(np.random.default_rng(0).normal(size=(50, 1)) * np.ones(2))
    >>> known, rng = np.array([True, False]), np.random.default_rng(0)
    >>> draws = CopulaCompleter(X, n_draws=1).complete(X[:1], known, None, rng)
    >>> bool(np.isclose(draws.rows[0, 0, 1], X[0, 0]))
    True
    """

    def __init__(self, X: FloatArray, n_draws: int) -> None:
        self._sorted = np.sort(X, axis=0)
        scores = self._scores(X)
        covariance = np.atleast_2d(np.cov(scores.T))
        self._gaussian = GaussianCompleter(scores.mean(axis=0), covariance, n_draws)

    def complete(
        self, points: FloatArray, known: BoolArray, own: RowIndex, rng: np.random.Generator
    ) -> Completions:
        """Independent draws for each point."""
        scores = self._gaussian.complete(self._scores(points), known, own, rng).rows
        rows = np.repeat(points[:, None, :], scores.shape[1], axis=1)
        levels = (np.arange(len(self._sorted)) + 0.5) / len(self._sorted)
        for j in np.flatnonzero(~known):
            rows[:, :, j] = np.interp(ndtr(scores[:, :, j]), levels, self._sorted[:, j])
        return Completions(rows)

    def _scores(self, points: FloatArray) -> FloatArray:
        n = len(self._sorted)
        ranks = [mid_ranks(column, x) for column, x in zip(self._sorted.T, points.T, strict=True)]
        return np.asarray(ndtri(np.clip(np.array(ranks).T / n, 0.5 / n, 1 - 0.5 / n)))


class EmpiricalCompleter:
    """Rows of X, weighted by their distance to the point in the known columns.

    The weight is ``exp(-D² / (2 bandwidth²))``, ``D²`` the squared Mahalanobis distance over the
    known columns divided by their number. The heaviest rows are kept: those that make up ``share``
    of all weight, at most ``n_draws``.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
    n_draws : int
    bandwidth : float
    share : float

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.published.conditionals import EmpiricalCompleter
    >>> X = np.array([[0.0, 5.0], [0.1, 6.0], [3.0, 7.0]])
    >>> known, rng = np.array([True, False]), np.random.default_rng(0)
    >>> near = EmpiricalCompleter(X, n_draws=2).complete(X[:1], known, np.array([0]), rng)
    >>> near.rows.tolist(), near.weights.round(6).tolist()
    ([[[0.0, 6.0], [0.0, 7.0]]], [[1.0, 0.0]])
    """

    def __init__(
        self, X: FloatArray, n_draws: int, bandwidth: float = 0.1, share: float = 0.95
    ) -> None:
        self.X, self.n_draws, self.bandwidth, self.share = X, min(n_draws, len(X)), bandwidth, share
        self._correlation, self._scale = _standardised(np.atleast_2d(np.cov(X.T)))

    def complete(
        self, points: FloatArray, known: BoolArray, own: RowIndex, rng: np.random.Generator
    ) -> Completions:
        """Weighted rows of X for each point, heaviest first; a training row never serves itself."""
        whitener = self._whitener(known)
        starts = range(0, len(points), POINTS_AT_ONCE)
        parts = [
            self._nearest(
                points[start : start + POINTS_AT_ONCE, known] @ whitener,
                self.X[:, known] @ whitener,
                None if own is None else own[start : start + POINTS_AT_ONCE],
            )
            for start in starts
        ]
        nearest = np.concatenate([part[0] for part in parts])
        rows = np.where(known, points[:, None, :], self.X[nearest])
        return Completions(rows, np.concatenate([part[1] for part in parts]))

    def _whitener(self, known: BoolArray) -> FloatArray:
        """Makes Euclidean distances of Mahalanobis ones, over the number of known columns."""
        inverse = np.linalg.pinv(self._correlation[np.ix_(known, known)], hermitian=True)
        eigenvalues, vectors = np.linalg.eigh(inverse)
        length = np.sqrt(np.maximum(eigenvalues, 0.0) / known.sum())
        return np.asarray(vectors * length / self._scale[known, None])

    def _nearest(
        self, points: FloatArray, train: FloatArray, own: RowIndex
    ) -> tuple[npt.NDArray[np.intp], FloatArray]:
        distance = cdist(points, train, "sqeuclidean")
        if own is not None:
            distance[np.arange(len(points)), own] = np.inf
        scaled = distance / (2 * self.bandwidth**2)
        nearest = np.argpartition(scaled, self.n_draws - 1, axis=1)[:, : self.n_draws]
        order = np.argsort(np.take_along_axis(scaled, nearest, axis=1), axis=1, kind="stable")
        nearest = np.take_along_axis(nearest, order, axis=1)
        # Relative to the nearest row, so that not all weights underflow far from the data.
        weights = np.exp(scaled.min(axis=1, keepdims=True) - scaled)
        kept = np.take_along_axis(weights, nearest, axis=1)
        before = np.cumsum(kept, axis=1) - kept
        kept[before >= self.share * weights.sum(axis=1, keepdims=True)] = 0.0
        return nearest, kept / kept.sum(axis=1, keepdims=True)
