"""Helpers that the designs share: random subsets of given sizes, whole sizes, and new subsets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations

import numpy as np
from scipy.special import gammaln

from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.protocols import Proposal, Values
from shaff.subsets import Subsets


class FixedDesign(ABC):
    """Base of the designs that are one list of subsets, whatever their values turn out to be."""

    @property
    @abstractmethod
    def subsets(self) -> Subsets:
        """The whole design."""

    def propose(self, history: Values) -> Proposal | None:
        """Propose the whole design, except for what the history holds."""
        return unseen(self.subsets, history)


def random_of_sizes(sizes: IntArray, n_players: int, rng: np.random.RandomState) -> BoolArray:
    """Draw one uniform subset of each size, shape (len(sizes), n_players)."""
    ranks = rng.random_sample((len(sizes), n_players)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < np.asarray(sizes)[:, None])


def all_of_size(size: int, n_players: int) -> BoolArray:
    """Return every subset of one size, or one of each pair if complements have that size too."""
    members = np.array(list(combinations(range(n_players), size)), dtype=np.int64)
    masks = np.zeros((len(members), n_players), dtype=bool)
    np.put_along_axis(masks, members, True, axis=1)
    return masks[masks[:, 0]] if 2 * size == n_players else masks


def canonical(masks: BoolArray) -> BoolArray:
    """Return the smaller member of each pair; of two equal sizes, the one with player 0."""
    sizes, p = masks.sum(axis=1), masks.shape[1]
    flip = (2 * sizes > p) | ((2 * sizes == p) & ~masks[:, 0])
    return np.asarray(masks ^ flip[:, None])


def log_pairs_by_size(n_players: int) -> FloatArray:
    """Logarithm of the number of pairs {U, complement} by the size of the smaller member."""
    sizes = np.arange(1, n_players // 2 + 1)
    log_count = gammaln(n_players + 1) - gammaln(sizes + 1) - gammaln(n_players - sizes + 1)
    return np.asarray(log_count - np.log(2) * (2 * sizes == n_players), dtype=np.float64)


def n_pairs_by_size(n_players: int) -> FloatArray:
    """Number of pairs {U, complement} by the size 1, 2, ... of the smaller member.

    Counts past 2^53 are rounded; past 1e300 they are infinite, which leaves room to add them up.
    """
    log_count = log_pairs_by_size(n_players)
    count = np.exp(np.where(log_count < np.log(1e300), log_count, np.inf))
    return np.asarray(np.where(count < 2**50, np.round(count), count), dtype=np.float64)


def paired(masks: BoolArray, log_weight: FloatArray | None = None) -> Subsets:
    """Each subset followed by its complement, both with the same weight."""
    both = np.stack([masks, ~masks], axis=1).reshape(-1, masks.shape[1])
    return Subsets.from_masks(both, None if log_weight is None else np.repeat(log_weight, 2))


def unseen(subsets: Subsets, history: Values) -> Proposal | None:
    """Propose the subsets that the history does not hold; None if it holds all."""
    seen = set(history.subsets.keys())
    keys = subsets.keys()
    new = np.array([key not in seen for key in keys], dtype=bool)
    return Proposal(subsets[new]) if new.any() else None
