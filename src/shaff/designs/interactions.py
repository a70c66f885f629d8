"""The active design for interactions: pairs of subsets that tell most about pairs of players."""

from __future__ import annotations

from typing import Any

from shaff._util.typing import BoolArray
from shaff.designs.gaussian_process import GaussianProcessDesign, default_tolerance
from shaff.gaussian_process.interaction_model import InteractionModel
from shaff.protocols import DesignContext
from shaff.subsets import Subsets

# Times the evaluations that effects are given: there are more pairs than players.
# Fewer, and interactions of many players stay unsure; more costs time (`benchmarks.interactions`).
SUBSETS_FACTOR = 2
# Candidates times pairs of players that are looked at together: memory only.
MAX_NUMBERS = 2**24


class InteractionDesign(GaussianProcessDesign):
    """A `GaussianProcessDesign` for the Shapley interaction indices in place of the values.

    Each time the pair {U, complement} with the largest expected fall of the summed posterior
    variance of all indices is added (docs/theory.md, section 13). It goes on from whatever was
    evaluated before.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.interactions import InteractionDesign
    >>> from shaff.protocols import Values
    >>> from shaff.subsets import Subsets
    >>> design = InteractionDesign(n_players=10, n_subsets=100, random_state=0)
    >>> len(design.propose(Values(Subsets.full(10), np.array([0.9]))).subsets)
    20
    """

    @classmethod
    def of(
        cls, context: DesignContext, n_subsets: int | None, tol: float | None
    ) -> InteractionDesign:
        """Return the design for what is known of the players.

        It stops at a tolerance unless only ``n_subsets`` was asked for.
        """
        if tol is None and n_subsets is None:
            tol = default_tolerance(context)
        return cls(
            context.n_players,
            SUBSETS_FACTOR * context.max_subsets if n_subsets is None else n_subsets,
            tol,
            context.relevance,
            context.seed,
            proxy=context.proxy,
        )

    def _candidates(self, n_pairs: int, seen: Subsets) -> BoolArray:
        """Draw fewer candidates if players are many: each has a number per pair of players."""
        n_indices = self.n_players * (self.n_players - 1) // 2
        return super()._candidates(n_pairs, seen)[: max(MAX_NUMBERS // n_indices, 2 * n_pairs)]

    def _make_model(self, n_players: int, **known: Any) -> InteractionModel:
        return InteractionModel(n_players, **known)
