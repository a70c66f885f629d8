"""Maps between values of subsets and values of pairs of complements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.subsets import Subsets


@dataclass(frozen=True, eq=False)
class Pairing:
    """Pairs of complements in a list of subsets.

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
