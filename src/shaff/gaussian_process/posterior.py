"""The process given values: posterior means and variances of the effects."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from shaff._util.typing import FloatArray
from shaff.gaussian_process.kernel import OddKernel, Points

# Relative to the largest covariance; the larger ones are for numerical accidents.
# More would act as noise in the values (`benchmarks.designs`).
JITTERS = (1e-10, 1e-8, 1e-6, 1e-4)


class Kernel(Protocol):
    """Prior of one part of a game, odd or even, and of the effects that follow from it."""

    def covariance(self, a: Points, b: Points) -> FloatArray:
        """Covariance between values, shape (len(a), len(b))."""

    def variance(self, a: Points) -> FloatArray:
        """Variance of values, shape (len(a),)."""

    def with_effects(self, a: Points) -> FloatArray:
        """Covariance between effects and values, shape (n_effects, len(a))."""

    @property
    def effects_variances(self) -> FloatArray:
        """Variance of effects, shape (n_effects,)."""


class Posterior:
    """The process given values g of its part of the game at some points.

    Parameters
    ----------
    kernel : OddKernel or EvenKernel
    points : Points
    noise : float array of shape (n_pairs,)
        Variance of the error of each value of g.
    """

    def __init__(self, kernel: Kernel, points: Points, noise: FloatArray) -> None:
        self.kernel, self.points, self.noise = kernel, points, noise
        covariance = kernel.covariance(points, points)
        covariance[np.diag_indices_from(covariance)] += noise
        self.factor = stable_cholesky(covariance)
        # With L the factor of K: half = L^-1 B', so that the effects are half' L^-1 g.
        self.half = self.whiten(kernel.with_effects(points).T)

    def whiten(self, columns: FloatArray) -> FloatArray:
        """L^-1 times the columns, L the Cholesky factor of the covariance of the observations."""
        white = solve_triangular(self.factor, columns, lower=True, check_finite=False)
        return np.asarray(white, dtype=np.float64)

    @property
    def linear_map(self) -> FloatArray:
        """W with effects = W g, shape (n_effects, n_pairs)."""
        solved = solve_triangular(self.factor, self.half, lower=True, trans=1, check_finite=False)
        return np.asarray(solved.T, dtype=np.float64)

    @property
    def variances(self) -> FloatArray:
        """Posterior variance of each effect, never negative, shape (n_effects,)."""
        gained = np.einsum("kj,kj->j", self.half, self.half)
        left = np.maximum(self.kernel.effects_variances - gained, 0.0)
        return np.asarray(left, dtype=np.float64)


class OddPosterior(Posterior):
    """The posterior of the odd part, whose effects are the Shapley values; see `Posterior`."""

    def __init__(self, kernel: OddKernel, points: Points, noise: FloatArray) -> None:
        super().__init__(kernel, points, noise)
        self._prior = kernel.effects_covariance

    @property
    def covariance(self) -> FloatArray:
        """Posterior covariance of the effects, shape (n_players, n_players)."""
        return np.asarray(self._prior - self.half.T @ self.half)


def stable_cholesky(covariance: FloatArray) -> FloatArray:
    """Lower factor of a covariance with the least relative jitter that makes it definite."""
    scale = float(covariance.max(initial=0.0)) or 1.0
    for jitter in JITTERS:
        shifted = covariance.copy()
        shifted[np.diag_indices_from(shifted)] += jitter * scale
        try:
            factor = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return np.asarray(factor, dtype=np.float64)
    raise LinAlgError("the covariance of the values is not positive definite")
