"""The odd-part process when effects are Owen values: players in groups that stay together.

The Owen value of j in group G is ``∫∫ E [v(T + S + j) - v(T + S - j)] dt du``: T is the union of
the other groups, each whole with probability t, and S are members of G, each with probability u.
The kernel is a product over players, hence over groups. So the covariance with a value of v is the
product of an integral over t, with groups in the place of players, and of one over u, with the
members of G alone; the quadrature of both is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.gaussian_process.kernel import (
    OddKernel,
    coin_covariance,
    coin_pairs,
    coin_rests,
    quadrature,
)


@dataclass(frozen=True, eq=False)
class OwenKernel(OddKernel):
    """An `OddKernel` whose effects are the Owen values of players in groups.

    Parameters
    ----------
    unions : int array of shape (n_players,)
        Codes 0, 1, ... of the groups.
    """

    unions: IntpArray

    @classmethod
    def of(cls, kernel: OddKernel, unions: IntpArray) -> OwenKernel:
        """Return the same prior of the game, for effects of players in groups."""
        known = {field.name: getattr(kernel, field.name) for field in fields(OddKernel)}
        return cls(**known, unions=unions)

    @cached_property
    def _members(self) -> list[IntpArray]:
        return [np.flatnonzero(self.unions == g) for g in range(self.unions.max() + 1)]

    def _of_others(self, signs: FloatArray) -> FloatArray:
        return np.asarray(self._within(signs) * self._across(signs)[:, self.unions])

    def _within(self, signs: FloatArray) -> FloatArray:
        """The integral over the other members of each player's group."""
        rests = np.empty_like(signs)
        for members in self._members:
            rests[:, members] = coin_rests(signs[:, members], self.rates[members])
        return rests

    def _across(self, signs: FloatArray) -> FloatArray:
        """The integral over the groups besides each, shape (len(signs), n_groups)."""
        t, weight = quadrature(len(self._members))
        outside = np.stack([self._distance(signs, m, -1.0) for m in self._members])[:, :, None]
        inside = np.stack([self._distance(signs, m, 1.0) for m in self._members])[:, :, None]
        factor = t * np.exp(-outside) + (1 - t) * np.exp(-inside)
        # No division by the own factor: far from both ends it underflows to 0.
        ones = np.ones((1, *factor.shape[1:]))
        before = np.cumprod(np.concatenate([ones, factor[:-1]]), axis=0)
        behind = np.cumprod(np.concatenate([ones, factor[:0:-1]]), axis=0)[::-1]
        return np.asarray(((before * behind) @ weight).T)

    def _distance(self, signs: FloatArray, members: IntpArray, sign: float) -> FloatArray:
        """Sum of the rates of the members that have this sign."""
        return np.asarray((signs[:, members] == sign) @ self.rates[members])

    def _effects_correlation(self) -> FloatArray:
        whole = np.array([self.rates[members].sum() for members in self._members])
        t, u, factor, product = coin_pairs(whole)
        turned = product * (2 * t - 1) * (2 * u - 1)
        apart = ((turned / factor) @ (1 / factor).T)[np.ix_(self.unions, self.unions)]
        # A group that is in or out as a whole meets one of whose members a player is to join.
        jump = -np.expm1(-self.rates) * self._within(np.ones((1, len(self.rates))))[0]
        covariance = apart * np.outer(jump, jump)
        same = (1 / factor) @ product
        for g, members in enumerate(self._members):
            inner = coin_covariance(self.rates[members])
            covariance[np.ix_(members, members)] = inner * same[g]
        return np.asarray(covariance)
