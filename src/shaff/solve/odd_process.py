"""The Gaussian process over the subset cube that the solver and the active design share.

The Shapley value depends on a game v only through its odd part g(U) = v(U) - v(complement of U),
so the process models g alone (ALGORITHMS section 5). A pair {U, complement} is written as a row of
signs, +1 for the players of U and -1 for the others; the other member of the pair has the opposite
row and the value -g.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from threadpoolctl import ThreadpoolController

from shaff.subsets import BoolArray, FloatArray, IntArray, Subsets

# Relative to the largest covariance; the larger ones are for numerical accidents.
JITTERS = (1e-10, 1e-8, 1e-6, 1e-4)


@dataclass(frozen=True, eq=False)
class Proxy:
    """A cheap game close to v whose Shapley values are known, as one more term of the prior.

    Parameters
    ----------
    game : callable
        Values of a boolean matrix of shape (n_subsets, n_players).
    effects : float array of shape (n_players,)
        Its Shapley values; they sum to its value of the full set less that of the empty set.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.odd_process import Proxy
    >>> additive = Proxy(lambda masks: masks @ np.array([0.5, 0.25]), np.array([0.5, 0.25]))
    >>> additive.odd(np.array([[1.0, -1.0]])).tolist()
    [0.25]
    """

    game: Callable[[BoolArray], FloatArray]
    effects: FloatArray

    def odd(self, signs: FloatArray) -> FloatArray:
        """Odd part of the proxy game, shape (n_pairs,)."""
        return np.asarray(self.game(signs > 0) - self.game(signs < 0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Points:
    """Pairs of complementary subsets: where the process is observed or asked.

    Parameters
    ----------
    signs : float array of shape (n_pairs, n_players), entries +1 and -1
    proxy : float array of shape (n_pairs,)
        Odd part of the proxy game, 0 without one.
    """

    signs: FloatArray
    proxy: FloatArray

    @classmethod
    def make(cls, signs: FloatArray, proxy: Proxy | None = None) -> Points:
        """Points at these signs, with the proxy game evaluated there."""
        return cls(signs, np.zeros(len(signs)) if proxy is None else proxy.odd(signs))

    def __len__(self) -> int:
        return len(self.signs)

    def __getitem__(self, index: slice | IntArray | BoolArray) -> Points:
        return Points(self.signs[index], self.proxy[index])


@dataclass(frozen=True, eq=False)
class OddKernel:
    """Prior covariance of the odd part g of a game, and of its Shapley values.

    ``Cov(v(U), v(U')) = signal * prod_j exp(-rates_j [U_j != U'_j])`` plus a linear part
    ``sum_j c_j x_j / 2`` with ``c_j ~ N(0, linear)``, plus ``N(0, proxy)`` times the proxy game.

    Parameters
    ----------
    signal, linear : float
    rates : float array of shape (n_players,)
    proxy : float
    proxy_effects : float array of shape (n_players,)
        Shapley values of the proxy game, 0 without one.
    """

    signal: float
    rates: FloatArray
    linear: float
    proxy: float
    proxy_effects: FloatArray

    def covariance(self, a: Points, b: Points) -> FloatArray:
        """Cov(g(a), g(b)), shape (len(a), len(b))."""
        smooth = 2 * self.signal * decays(a.signs, b.signs, self.rates)[0]
        rest = self.linear * (a.signs @ b.signs.T) + self.proxy * np.outer(a.proxy, b.proxy)
        return np.asarray(smooth + rest, dtype=np.float64)

    def variance(self, a: Points) -> FloatArray:
        """Var(g(a)), shape (len(a),)."""
        same = -2 * self.signal * np.expm1(-self.rates.sum()) + self.linear * len(self.rates)
        return np.asarray(same + self.proxy * a.proxy**2, dtype=np.float64)

    def with_effects(self, a: Points) -> FloatArray:
        """Cov(effects, g(a)), shape (n_players, len(a)).

        The Shapley value is ``∫ E_S [v(S + i) - v(S - i)] dt`` with S made of coins of bias t, and
        the kernel is a product over players, so the expectation is a product of affine functions
        of t and the quadrature is exact.
        """
        t, weight = quadrature(len(self.rates))
        apart = np.exp(-self.rates)[:, None]
        inside, outside = t + (1 - t) * apart, (1 - t) + t * apart
        log_in, log_out = np.log(inside), np.log(outside)
        log_product = (log_in + log_out).sum(axis=0) / 2 + a.signs @ (log_in - log_out) / 2
        product = np.exp(log_product) * weight
        # The product runs over the other players: divide player i's own factor out again.
        rest = np.where(a.signs > 0, product @ (1 / inside).T, product @ (1 / outside).T)
        smooth = -2 * self.signal * np.expm1(-self.rates) * a.signs * rest
        others = self.linear * a.signs + self.proxy * np.outer(a.proxy, self.proxy_effects)
        return np.asarray((smooth + others).T, dtype=np.float64)

    @cached_property
    def effects_covariance(self) -> FloatArray:
        """Prior covariance of the Shapley values, shape (n_players, n_players)."""
        t, weight = quadrature(len(self.rates))
        # The integrand is symmetric in (t, t'): one triangle, counted twice, is enough.
        first, second = np.triu_indices(len(t))
        counts = np.where(first == second, 1.0, 2.0) * weight[first] * weight[second]
        t, u = t[first], t[second]
        equal = t * u + (1 - t) * (1 - u)
        factor = equal + np.exp(-self.rates)[:, None] * (1 - equal)
        product = np.exp(np.log(factor).sum(axis=0)) * counts
        jump = -np.expm1(-self.rates)[:, None] / factor
        covariance = (jump * (product * (2 * t - 1) * (2 * u - 1))) @ jump.T
        np.fill_diagonal(covariance, 2 * jump @ product)
        covariance = self.signal * covariance + self.linear * np.eye(len(self.rates))
        covariance += self.proxy * np.outer(self.proxy_effects, self.proxy_effects)
        return np.asarray(covariance, dtype=np.float64)


class OddPosterior:
    """The process given values of g at some points.

    Parameters
    ----------
    kernel : OddKernel
    points : Points
    noise : float array of shape (n_pairs,)
        Variance of the error of each value of g.
    """

    def __init__(self, kernel: OddKernel, points: Points, noise: FloatArray) -> None:
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
        """W with effects = W g, shape (n_players, n_pairs)."""
        solved = solve_triangular(self.factor, self.half, lower=True, trans=1, check_finite=False)
        return np.asarray(solved.T, dtype=np.float64)

    @property
    def covariance(self) -> FloatArray:
        """Posterior covariance of the effects, shape (n_players, n_players)."""
        return np.asarray(self.kernel.effects_covariance - self.half.T @ self.half)

    @property
    def variances(self) -> FloatArray:
        """Posterior variance of each effect, never negative, shape (n_players,)."""
        gained = np.einsum("kj,kj->j", self.half, self.half)
        left = np.maximum(np.diag(self.kernel.effects_covariance) - gained, 0.0)
        return np.asarray(left, dtype=np.float64)


def decays(a: FloatArray, b: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlation of v(U) with v(U') less, and plus, that with v(complement of U').

    That is prod exp(-rate) over the players where the signs differ -+ the same where they agree.
    """
    total, inner = rates.sum(), (a * rates) @ b.T
    size = np.abs(inner)
    larger = np.exp((size - total) / 2)
    # For small rates the two products cancel: expm1 keeps the digits of their difference.
    less_one = np.expm1(-size)
    return np.copysign(larger * less_one, inner), larger * (2 + less_one)


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


@lru_cache(maxsize=32)
def quadrature(n_players: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on [0, 1] for the Shapley integrand.

    The integrand is a polynomial of degree at most 2 * (n_players // 2) + 1, so that
    ``n_players // 2 + 1`` nodes are exact. A product of p affine functions with values in [0, 1]
    is also within 1e-15 of a polynomial of degree about sqrt(70 p), which saves nodes past 80.
    """
    n_nodes = min(n_players // 2 + 1, int(np.ceil(4.2 * np.sqrt(n_players))) + 2)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


@dataclass(frozen=True, eq=False)
class Pairing:
    """How the values of single subsets make values of pairs.

    The last value stands for the full set, and the last pair is {full, empty}.

    Parameters
    ----------
    first, second : int arrays of shape (n_pairs,)
        Positions of the two members of each pair in the list of subsets; -1 where the second is
        not in the list.
    signs : float array of shape (n_pairs + 1, n_players)
    n_values : int
    """

    first: IntArray
    second: IntArray
    signs: FloatArray
    n_values: int

    @classmethod
    def of(cls, subsets: Subsets) -> Pairing:
        """Pair the subsets up; a subset that occurs again is left out."""
        position: dict[bytes, int] = {}
        for index, key in enumerate(subsets.keys()):
            position.setdefault(key, index)
        others = subsets.complement().keys()
        partner = [position.get(key, -1) for key in others]
        pairs = [(i, partner[i]) for i in position.values() if partner[i] < 0 or i < partner[i]]
        first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        masks = np.vstack([subsets.masks()[first], np.ones((1, subsets.n_players), dtype=bool)])
        return cls(first, second, np.where(masks, 1.0, -1.0), len(subsets))

    @property
    def lonely(self) -> BoolArray:
        """Which pairs have one member only, shape (n_pairs,)."""
        return self.second < 0

    def even(self, v: FloatArray, v_all: float) -> FloatArray:
        """v(U) + v(complement) of the complete pairs, {full, empty} last."""
        whole = ~self.lonely
        return np.append(v[self.first[whole]] + v[self.second[whole]], v_all)

    def odd(self, v: FloatArray, v_all: float) -> FloatArray:
        """g of each pair; a missing v(complement) is taken to be mean even part - v(U)."""
        missing = self.even(v, v_all).mean() - v[self.first]
        other = np.where(self.lonely, missing, v[self.second])
        return np.append(v[self.first] - other, v_all)

    def to_values(self, weights: FloatArray) -> FloatArray:
        """Turn a map on pairs, shape (k, n_pairs + 1), into a map on the n_values + 1 values."""
        out = np.zeros((len(weights), self.n_values + 1))
        whole, lonely = ~self.lonely, self.lonely
        pair_weights = weights[:, :-1]
        out[:, self.first[whole]] = pair_weights[:, whole]
        out[:, self.second[whole]] = -pair_weights[:, whole]
        out[:, self.first[lonely]] = 2 * pair_weights[:, lonely]
        out[:, -1] = weights[:, -1]
        share = pair_weights[:, lonely].sum(axis=1, keepdims=True) / (whole.sum() + 1)
        members = np.concatenate([self.first[whole], self.second[whole], [self.n_values]])
        out[:, members] -= share
        return out


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread: these matrices are small and the cores are busy with values."""
    limiter: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limiter
