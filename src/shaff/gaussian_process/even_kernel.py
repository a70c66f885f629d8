"""The even part of a game, from which its pairwise interactions follow.

The Shapley interaction index of two players is the same in v and in its mirror image
U -> v(complement of U), so it depends on v only through the even part v(U) + v(complement). A
constant does not interact: the process models e(U) = v(U) + v(complement) - v(all), which is 0 at
the pair {full, empty}, and so needs no mean (docs/theory.md, section 13).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.gaussian_process.kernel import Points, coin_pairs, coin_products, decays

# Points at a time, for memory only.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class EvenKernel:
    """Prior covariance of the even part of a game, and of its Shapley interaction indices.

    It is that of `OddKernel` for the same process on v, whose linear part is odd. "Effects" are
    the indices of the pairs i < j here, in the order of `numpy.triu_indices`.

    Parameters
    ----------
    signal : float
    rates : float array of shape (n_players,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.gaussian_process.even_kernel import EvenKernel
    >>> from shaff.gaussian_process.kernel import Points
    >>> kernel = EvenKernel(1.0, np.array([0.5, 0.5]))
    >>> e = Points.make(np.array([[1.0, -1.0]]))
    >>> bool(np.allclose(kernel.with_effects(e), -kernel.covariance(e, e)))  # index = -e({1})
    True
    """

    signal: float
    rates: FloatArray

    def covariance(self, a: Points, b: Points) -> FloatArray:
        """Cov(e(a), e(b)), shape (len(a), len(b))."""
        full = self._full
        together = decays(a.signs, b.signs, self.rates)[1]
        one = decays(a.signs, full, self.rates)[1]
        other = decays(full, b.signs, self.rates)[1]
        return np.asarray(2 * self.signal * (together - one - other + self._at_full))

    def variance(self, a: Points) -> FloatArray:
        """Var(e(a)), shape (len(a),)."""
        one = decays(a.signs, self._full, self.rates)[1][:, 0]
        return np.asarray(4 * self.signal * (self._at_full - one), dtype=np.float64)

    def with_effects(self, a: Points) -> FloatArray:
        """Cov(indices, e(a)), shape (n_pairs_of_players, len(a)).

        The index is ``∫ E_S [v(S+i+j) - v(S+i) - v(S+j) + v(S)] dt`` with S made of coins of bias
        t: as in `OddKernel.with_effects`, with two players' factors in place of one.
        """
        at_full = self._with_indices(self._full)
        starts = range(0, len(a), _BLOCK)
        blocks = [self._with_indices(a.signs[k : k + _BLOCK]) - at_full for k in starts]
        return np.concatenate([np.zeros((0, at_full.shape[1])), *blocks]).T

    def _with_indices(self, signs: FloatArray) -> FloatArray:
        """Cov(indices, v(U) + v(complement)), shape (len(signs), n_pairs_of_players)."""
        inside, outside, product = coin_products(signs, self.rates)
        jump = -np.expm1(-self.rates)[:, None]
        # The jump of each player in the place of its own factor, which is divided out.
        ratio = np.where(signs[:, :, None] > 0, jump / inside, -jump / outside)
        both = (ratio * product[:, None, :]) @ ratio.transpose(0, 2, 1)
        first, second = self._pairs
        return np.asarray(2 * self.signal * both[:, first, second], dtype=np.float64)

    @cached_property
    def effects_variances(self) -> FloatArray:
        """Prior variance of each index, shape (n_pairs_of_players,)."""
        _, _, factor, product = coin_pairs(self.rates)
        jump = -2 * np.expm1(-self.rates)[:, None] / factor
        variances = self.signal * ((jump * product) @ jump.T)
        return np.asarray(variances[self._pairs], dtype=np.float64)

    @property
    def _pairs(self) -> tuple[IntpArray, IntpArray]:
        return np.triu_indices(len(self.rates), 1)

    @property
    def _full(self) -> FloatArray:
        return np.ones((1, len(self.rates)))

    @property
    def _at_full(self) -> float:
        return float(1 + np.exp(-self.rates.sum()))
