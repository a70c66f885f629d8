"""The Gaussian process over the subset cube that the solver and the active design share.

The Shapley value depends on a game v only through its odd part g(U) = v(U) - v(complement of U),
so the process models g alone (docs/theory.md, section 7). A pair {U, complement} is written as a
row of signs, +1 for the players of U and -1 for the others; the other member of the pair has the
opposite row and the value -g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.gaussian_process.linear_game import Proxy


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
        rest = self._of_others(a.signs)
        smooth = -2 * self.signal * np.expm1(-self.rates) * a.signs * rest
        others = self.linear * a.signs + self.proxy * np.outer(a.proxy, self.proxy_effects)
        return np.asarray((smooth + others).T, dtype=np.float64)

    def _of_others(self, signs: FloatArray) -> FloatArray:
        """What the other players contribute to the covariance of effects and values, shape
        (len(signs), n_players)."""
        return coin_rests(signs, self.rates)

    def _effects_correlation(self) -> FloatArray:
        """Prior covariance of the effects by the smooth part, for a signal of 1."""
        return coin_covariance(self.rates)

    @cached_property
    def effects_covariance(self) -> FloatArray:
        """Prior covariance of the effects, shape (n_players, n_players)."""
        covariance = self._effects_correlation()
        covariance = self.signal * covariance + self.linear * np.eye(len(self.rates))
        covariance += self.proxy * np.outer(self.proxy_effects, self.proxy_effects)
        return np.asarray(covariance, dtype=np.float64)

    @property
    def effects_variances(self) -> FloatArray:
        """Prior variance of each Shapley value, shape (n_players,)."""
        return np.diag(self.effects_covariance)


def decays(a: FloatArray, b: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlation of v(U) with v(U') minus, and plus, that with v(complement of U').

    That is prod exp(-rate) over the players where the signs differ -+ the same where they agree.
    """
    total, inner = rates.sum(), (a * rates) @ b.T
    size = np.abs(inner)
    larger = np.exp((size - total) / 2)
    # For small rates the two products cancel: expm1 keeps the digits of their difference.
    less_one = np.expm1(-size)
    return np.copysign(larger * less_one, inner), larger * (2 + less_one)


def coin_products(
    signs: FloatArray, rates: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Factors of the kernel between each subset and one made of coins of bias t.

    That of a player inside and outside of the subset, shape (n_players, n_nodes), and their
    product over all players, times the weight of the node, shape (len(signs), n_nodes).
    """
    t, weight = quadrature(len(rates))
    apart = np.exp(-rates)[:, None]
    inside, outside = t + (1 - t) * apart, (1 - t) + t * apart
    log_in, log_out = np.log(inside), np.log(outside)
    log_product = (log_in + log_out).sum(axis=0) / 2 + signs @ (log_in - log_out) / 2
    return inside, outside, np.exp(log_product) * weight


def coin_rests(signs: FloatArray, rates: FloatArray) -> FloatArray:
    """The integral over t of the product of `coin_products` without the factor of each player,
    shape (len(signs), n_players)."""
    inside, outside, product = coin_products(signs, rates)
    # The product runs over all players: divide player i's own factor out again.
    rest = np.where(signs > 0, product @ (1 / inside).T, product @ (1 / outside).T)
    return np.asarray(rest, dtype=np.float64)


def coin_covariance(rates: FloatArray) -> FloatArray:
    """Prior covariance of the Shapley values of a game with this kernel."""
    t, u, factor, product = coin_pairs(rates)
    jump = -np.expm1(-rates)[:, None] / factor
    covariance = (jump * (product * (2 * t - 1) * (2 * u - 1))) @ jump.T
    np.fill_diagonal(covariance, 2 * jump @ product)
    return np.asarray(covariance, dtype=np.float64)


def coin_pairs(rates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Pairs of biases, the factor of each player between two subsets made of such coins, shape
    (n_players, n_pairs), and the product over all players, times the weight of the pair."""
    t, weight = quadrature(len(rates))
    # The integrand is symmetric in (t, t'): one triangle, counted twice, is enough.
    first, second = np.triu_indices(len(t))
    counts = np.where(first == second, 1.0, 2.0) * weight[first] * weight[second]
    t, u = t[first], t[second]
    equal = t * u + (1 - t) * (1 - u)
    factor = equal + np.exp(-rates)[:, None] * (1 - equal)
    return t, u, factor, np.exp(np.log(factor).sum(axis=0)) * counts


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
