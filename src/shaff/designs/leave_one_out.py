"""All players but one: the subsets of total Sobol indices."""

from __future__ import annotations

from dataclasses import dataclass

from shaff.designs.sampling import FixedDesign
from shaff.protocols import DesignContext, DesignSetting
from shaff.subsets import Subsets


class LeaveOneOutDesign(FixedDesign):
    """The complement of each player, for `shaff.solve.total_sobol.TotalSobolSolver`.

    Parameters
    ----------
    n_players : int

    Examples
    --------
    >>> from shaff.designs.leave_one_out import LeaveOneOutDesign
    >>> LeaveOneOutDesign(3).subsets.masks().astype(int).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players

    @property
    def subsets(self) -> Subsets:
        """The whole design; a single player leaves the empty set, which needs no evaluation."""
        complements = Subsets.singletons(self.n_players).complement()
        return complements[complements.sizes > 0]


@dataclass(frozen=True)
class LeaveOneOut(DesignSetting):
    """``design="leave_one_out"``, for total Sobol indices.

    Examples
    --------
    >>> from shaff.designs.leave_one_out import LeaveOneOut
    >>> LeaveOneOut().solver
    'total_sobol'
    """

    name = "leave_one_out"
    solver = "total_sobol"
    gives = "all_but_one"

    def make(self, context: DesignContext) -> LeaveOneOutDesign:
        """Return the design for the number of players."""
        return LeaveOneOutDesign(context.n_players)
