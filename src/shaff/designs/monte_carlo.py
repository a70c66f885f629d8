"""Paired Monte-Carlo sampling from the Shapley kernel, as in kernelSHAP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from shaff._util.typing import FloatArray, RandomState
from shaff.designs.sampling import (
    FixedDesign,
    all_of_size,
    canonical,
    n_pairs_by_size,
    paired,
    random_of_sizes,
)
from shaff.protocols import DesignContext, DesignSetting
from shaff.subsets import Subsets, log_kernel_weight

# Draws to try for each pair that is wanted: past that, what is left is too unlikely to wait for.
# Fewer, and small games end with too few subsets; more only costs time (`benchmarks.designs`).
MAX_DRAWS_PER_PAIR = 20


class MonteCarloDesign(FixedDesign):
    """Pairs of complements drawn with replacement in proportion to the Shapley kernel.

    A pair drawn several times is evaluated once and carries its count as weight.

    Parameters
    ----------
    n_players : int
    n_subsets : int
        Distinct subsets to evaluate (an even number is used); the empty and the full set do not
        count.
    random_state : int, RandomState or None
    exhaust_borders : bool
        Take every subset of the smallest and largest sizes for as long as their share of
        the subsets covers them, and sample the rest (kernelSHAP's practice). False is the plain
        paired sampler of Covert and Lee (2021).

    Examples
    --------
    >>> from shaff.designs.monte_carlo import MonteCarloDesign
    >>> design = MonteCarloDesign(n_players=10, n_subsets=60, random_state=0)
    >>> len(design.subsets), int((design.subsets.sizes == 1).sum())
    (60, 10)
    """

    def __init__(
        self,
        n_players: int,
        n_subsets: int,
        random_state: RandomState = None,
        *,
        exhaust_borders: bool = True,
    ) -> None:
        self.n_players, self.n_subsets = n_players, n_subsets
        self.exhaust_borders = exhaust_borders
        self._rng = check_random_state(random_state)

    @cached_property
    def subsets(self) -> Subsets:
        """The whole design, complements side by side, with its weights."""
        p, available = self.n_players, n_pairs_by_size(self.n_players)
        n_pairs = int(min(self.n_subsets // 2, available.sum()))
        borders = self.exhaust_borders or n_pairs == available.sum()
        n_whole = count_whole_sizes(n_pairs, p) if borders else 0
        whole = [all_of_size(size, p) for size in range(1, n_whole + 1)]
        masks = np.concatenate([np.zeros((0, p), dtype=bool), *whole])
        log_weight = log_kernel_weight(masks.sum(axis=1), p)
        if len(masks) < n_pairs:
            drawn = self._sample(n_pairs - len(masks), n_whole)
            masks = np.concatenate([masks, drawn.masks()])
            log_weight = np.concatenate([log_weight, drawn.regression_log_weight()])
        return paired(masks, log_weight)

    def _sample(self, n_pairs: int, n_whole: int) -> Subsets:
        """Draw until ``n_pairs`` pairs are distinct; the draws share the mass of their sizes."""
        p, mass = self.n_players, pair_mass(self.n_players)[n_whole:]
        sizes = np.arange(n_whole + 1, len(mass) + n_whole + 1)
        draws = Subsets.from_masks(np.zeros((0, p), dtype=bool))
        for _ in range(MAX_DRAWS_PER_PAIR):
            drawn = self._rng.choice(sizes, size=n_pairs, p=mass / mass.sum())
            more = Subsets.from_masks(canonical(random_of_sizes(drawn, p, self._rng)))
            draws = Subsets.concatenate([draws, more])
            first = np.sort(np.unique(draws.words, axis=0, return_index=True)[1])
            if len(first) > n_pairs:
                # Stop right before the first pair too many.
                draws = draws[: first[n_pairs]]
                break
        each = np.log(mass.sum() / len(draws))
        return draws.with_log_weight(np.full(len(draws), each)).unique()


def pair_mass(n_players: int) -> FloatArray:
    """Kernel weight of one member, summed over the pairs of each smaller size."""
    sizes = np.arange(1, n_players // 2 + 1)
    both = (n_players - 1) / (sizes * (n_players - sizes))
    return np.where(2 * sizes == n_players, both / 2, both)


def count_whole_sizes(n_pairs: int, n_players: int) -> int:
    """How many border sizes have at most as many pairs as would be drawn of them."""
    mass, available = pair_mass(n_players), n_pairs_by_size(n_players)
    for n_whole in range(len(mass)):
        if n_pairs * mass[n_whole] / mass[n_whole:].sum() < available[n_whole] * (1 - 1e-9):
            return n_whole
        n_pairs -= int(available[n_whole])
    return len(mass)


@dataclass(frozen=True)
class MonteCarlo(DesignSetting):
    """``design="monte_carlo"``: see `MonteCarloDesign`.

    Examples
    --------
    >>> from shaff.designs.monte_carlo import MonteCarlo
    >>> MonteCarlo().gives
    'subsets'
    """

    name = "monte_carlo"

    def make(self, context: DesignContext) -> MonteCarloDesign:
        """Return the design of at most ``context.max_subsets`` subsets."""
        return MonteCarloDesign(context.n_players, context.max_subsets, context.seed)
