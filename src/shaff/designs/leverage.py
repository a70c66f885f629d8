"""Leverage-score sampling: every subset size gets the same number of subsets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from shaff._util.typing import BoolArray, FloatArray, IntArray, RandomState
from shaff.designs.sampling import (
    FixedDesign,
    all_of_size,
    canonical,
    log_pairs_by_size,
    n_pairs_by_size,
    paired,
    random_of_sizes,
)
from shaff.protocols import DesignContext, DesignSetting
from shaff.subsets import Subsets, log_kernel_weight


class LeverageDesign(FixedDesign):
    """Pairs of complements drawn without replacement in proportion to their leverage scores.

    The leverage score of a subset in the Shapley regression depends on its size alone, and is
    the same in total for each size (Musco and Witter, 2025). So each size gets the same share of
    the subsets, sizes that are exhausted hand theirs on, and within a size the draw is uniform
    without replacement. The weight of a subset is the Shapley kernel's over its probability of
    being drawn, so that weighted least squares is consistent.

    Parameters
    ----------
    n_players : int
    n_subsets : int
        Subsets to evaluate (an even number is used); the empty and the full set do not count.
    random_state : int, RandomState or None

    Examples
    --------
    >>> from shaff.designs.leverage import LeverageDesign
    >>> design = LeverageDesign(n_players=10, n_subsets=60, random_state=0)
    >>> len(design.subsets), int((design.subsets.sizes == 1).sum())
    (60, 7)
    """

    def __init__(self, n_players: int, n_subsets: int, random_state: RandomState = None) -> None:
        self.n_players, self.n_subsets = n_players, n_subsets
        self._rng = check_random_state(random_state)

    @cached_property
    def subsets(self) -> Subsets:
        """The whole design, complements side by side, with its weights."""
        available = n_pairs_by_size(self.n_players)
        n_pairs = int(min(self.n_subsets // 2, available.sum()))
        expected = expected_counts(n_pairs, self.n_players)
        counts = round_at_random(expected, self._rng)
        masks, log_weights = [np.zeros((0, self.n_players), dtype=bool)], [np.zeros(0)]
        log_probability = log_probabilities(expected, self.n_players)
        for size, count in enumerate(counts, start=1):
            masks.append(draw_without_replacement(size, count, self.n_players, self._rng))
            weight = log_kernel_weight([size], self.n_players) - log_probability[size - 1]
            log_weights.append(np.repeat(weight, count))
        return paired(np.concatenate(masks), np.concatenate(log_weights))


def expected_counts(n_pairs: int, n_players: int) -> FloatArray:
    """Expected number of pairs by the size of the smaller member: equal, up to all there are."""
    available = n_pairs_by_size(n_players)
    # Of subsets of half the players, both members of a pair draw on the same size.
    share = np.where(2 * np.arange(1, len(available) + 1) == n_players, 0.5, 1.0)
    if n_pairs >= available.sum():
        return available
    # At this level even the last, half-size share alone would take all subsets.
    highest = 2.0 * n_pairs + 2.0 * float(available[np.isfinite(available)].max(initial=0.0))
    level = brentq(lambda c: float(np.minimum(available, c * share).sum() - n_pairs), 0, highest)
    counts = np.minimum(available, level * share)
    return np.asarray(counts * (n_pairs / max(counts.sum(), 1)), dtype=np.float64)


def log_probabilities(expected: FloatArray, n_players: int) -> FloatArray:
    """Logarithm of the chance that a pair of each size is drawn."""
    available = n_pairs_by_size(n_players)
    with np.errstate(divide="ignore"):  # a size that is never drawn
        # Counts of middle sizes are too large for a double from a thousand players on.
        by_logs = np.log(expected) - log_pairs_by_size(n_players)
        return np.where(np.isfinite(available), np.log(expected / available), by_logs)


def round_at_random(expected: FloatArray, rng: np.random.RandomState) -> IntArray:
    """Whole numbers with these expectations and exactly their sum (systematic sampling)."""
    total = np.concatenate([[0.0], np.cumsum(expected)])
    total[-1] = np.round(total[-1]) if len(expected) else 0.0
    # The shift of the grid is the only random number, so the sum is always the same.
    return np.diff(np.ceil(total - rng.random_sample() - 1e-9)).astype(np.int64)


def draw_without_replacement(
    size: int, count: int, n_players: int, rng: np.random.RandomState
) -> BoolArray:
    """Uniform draw of ``count`` distinct pairs whose smaller member has this size."""
    available = n_pairs_by_size(n_players)[size - 1]
    if available <= 4 * count:
        every = all_of_size(size, n_players)
        return every[np.sort(rng.permutation(len(every))[:count])]
    drawn = np.zeros((0, n_players), dtype=bool)
    while len(drawn) < count:
        more = random_of_sizes(np.full(count - len(drawn), size), n_players, rng)
        both = np.concatenate([drawn, canonical(more)])
        drawn = Subsets.from_masks(both).unique().masks()
    return drawn


@dataclass(frozen=True)
class Leverage(DesignSetting):
    """``design="leverage"``: see `LeverageDesign`.

    Examples
    --------
    >>> from shaff.designs.leverage import Leverage
    >>> Leverage().gives
    'subsets'
    """

    name = "leverage"

    def make(self, context: DesignContext) -> LeverageDesign:
        """Return the design of at most ``context.max_subsets`` subsets."""
        return LeverageDesign(context.n_players, context.max_subsets, context.seed)
