"""Independent draws from the Shapley kernel, as in Williamson & Feng."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from shaff._util.typing import FloatArray, RandomState
from shaff.designs.sampling import FixedDesign, random_of_sizes
from shaff.protocols import DesignContext, DesignSetting
from shaff.subsets import Subsets


class KernelDrawsDesign(FixedDesign):
    """Subsets drawn with replacement in proportion to the Shapley kernel.

    A subset drawn several times is evaluated once and carries its count as weight, so that the
    least squares of step 3 weigh all draws equally.

    Parameters
    ----------
    n_players : int
    n_subsets : int
        Number of draws K. Duplicates make the evaluations fewer, complements twice as many.
    random_state : int, RandomState or None
    paired : bool
        Add the complement of each draw (the paper's pMC); `shaff.designs.monte_carlo` does so for
        a given number of evaluations.

    Examples
    --------
    >>> from shaff.designs.kernel_draws import KernelDrawsDesign
    >>> design = KernelDrawsDesign(n_players=10, n_subsets=60, random_state=0)
    >>> len(design.subsets) <= 60
    True
    """

    def __init__(
        self,
        n_players: int,
        n_subsets: int,
        random_state: RandomState = None,
        *,
        paired: bool = False,
    ) -> None:
        self.n_players, self.n_subsets, self.paired = n_players, n_subsets, paired
        self._rng = check_random_state(random_state)

    @cached_property
    def subsets(self) -> Subsets:
        """The whole design, each subset once, with the log of its count."""
        p = self.n_players
        if p < 2:
            return Subsets.from_masks(np.zeros((0, p), dtype=bool), np.zeros(0))
        drawn = self._rng.choice(np.arange(1, p), size=self.n_subsets, p=size_probabilities(p))
        masks = random_of_sizes(drawn, p, self._rng)
        subsets = Subsets.from_masks(masks, np.zeros(self.n_subsets))
        both = [subsets, subsets.complement()] if self.paired else [subsets]
        return Subsets.concatenate(both).unique()


def size_probabilities(n_players: int) -> FloatArray:
    """Mass of the Shapley kernel by size 1, ..., p - 1.

    Examples
    --------
    >>> from shaff.designs.kernel_draws import size_probabilities
    >>> size_probabilities(4).round(4).tolist()
    [0.3636, 0.2727, 0.3636]
    """
    sizes = np.arange(1, n_players)
    mass = 1 / (sizes * (n_players - sizes))
    return np.asarray(mass / mass.sum())


@dataclass(frozen=True)
class KernelDraws(DesignSetting):
    """``design="kernel_draws"``, or ``"paired_draws"``: half as many draws, with complements.

    Examples
    --------
    >>> from shaff.designs.kernel_draws import KernelDraws
    >>> KernelDraws(paired=True).name
    'paired_draws'
    """

    paired: bool = False

    @property
    def name(self) -> str:
        """The design's name, which depends on whether draws come in pairs."""
        return "paired_draws" if self.paired else "kernel_draws"

    def make(self, context: DesignContext) -> KernelDrawsDesign:
        """Return the design of ``context.max_subsets`` draws, complements included."""
        n_draws = context.max_subsets // 2 if self.paired else context.max_subsets
        return KernelDrawsDesign(context.n_players, n_draws, context.seed, paired=self.paired)
