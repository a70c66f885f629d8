"""Every subset: exact, for few players."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff.designs.sampling import FixedDesign
from shaff.errors import InputError
from shaff.protocols import DesignContext, DesignSetting
from shaff.subsets import Subsets

# Lists of more subsets would not fit memory; to evaluate as many takes days.
# `benchmarks.memory` shows what a list costs.
MAX_PLAYERS, LARGEST_EVALUATED = 24, 16


class ExhaustiveDesign(FixedDesign):
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


@dataclass(frozen=True)
class Exhaustive(DesignSetting):
    """Every subset, for at most 16 players: ``design="exhaustive"``.

    Examples
    --------
    >>> from shaff.designs.exhaustive import Exhaustive
    >>> Exhaustive().solver
    'gaussian_process'
    """

    name = "exhaustive"
    solver = "gaussian_process"

    def make(self, context: DesignContext) -> ExhaustiveDesign:
        """Return the design for the number of players."""
        if context.n_players > LARGEST_EVALUATED:
            raise InputError(
                f'design="exhaustive" would evaluate 2^{context.n_players} subsets; it is '
                f"for at most {LARGEST_EVALUATED} inputs."
            )
        return ExhaustiveDesign(context.n_players)
