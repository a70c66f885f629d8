"""Every subset: exact, for few players."""

from __future__ import annotations

import numpy as np

from shaff.designs.sampling import unseen
from shaff.protocols import Values
from shaff.subsets import Subsets

MAX_PLAYERS = 24


class ExhaustiveDesign:
    """All ``2 ** n_players - 2`` subsets between the empty and the full one, each once.

    Parameters
    ----------
    n_players : int
        At most 24.

    Examples
    --------
    >>> from shaff.designs.exhaustive import ExhaustiveDesign
    >>> len(ExhaustiveDesign(4).subsets)
    14
    """

    def __init__(self, n_players: int) -> None:
        if n_players > MAX_PLAYERS:
            raise ValueError(f"the exhaustive design takes at most {MAX_PLAYERS} players")
        self.n_players = n_players

    @property
    def subsets(self) -> Subsets:
        """The whole design."""
        codes = np.arange(1, 2**self.n_players - 1)[:, None]
        return Subsets.from_masks((codes >> np.arange(self.n_players)) & 1)

    def propose(self, history: Values) -> Subsets | None:
        """Every subset that the history does not hold."""
        return unseen(self.subsets, history)
