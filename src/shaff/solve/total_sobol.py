"""Total Sobol indices: the explained variance that is lost without each player."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.typing import FloatArray
from shaff.protocols import Effects, Proposal, SolverContext, SolverSetting
from shaff.subsets import Subsets


class TotalSobolSolver:
    """``v(all) - v(all without j)``; with projected forests the Sobol-MDA (Bénard et al. 2022).

    These are not Shapley effects: they do not sum to v(all), and a variable with a copy gets 0.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.protocols import Proposal
    >>> from shaff.subsets import Subsets
    >>> from shaff.solve.total_sobol import TotalSobolSolver
    >>> without = Proposal(Subsets.singletons(2).complement())
    >>> TotalSobolSolver().solve(without, np.array([0.25, 0.75]), 1.0).effects.tolist()
    [0.75, 0.25]
    """

    def solve(self, proposal: Proposal, v: FloatArray, v_all: float) -> Effects:
        """Return indices and their linear map; other subsets than all but one are left aside."""
        subsets, p = proposal.subsets, proposal.subsets.n_players
        position = {key: index for index, key in enumerate(subsets.keys())}
        linear_map = np.zeros((p, len(v) + 1))
        linear_map[:, -1] = 1.0
        for j, key in enumerate(Subsets.singletons(p).complement().keys()):
            # Without its only player the value is 0: nothing to subtract.
            if p > 1:
                linear_map[j, position[key]] = -1.0
        raw = linear_map @ np.append(v, v_all)
        return Effects(np.maximum(raw, 0.0), raw, linear_map)


@dataclass(frozen=True)
class TotalSobol(SolverSetting):
    """``solver="total_sobol"``, for the design of all players but one.

    Examples
    --------
    >>> from shaff.solve.total_sobol import TotalSobol
    >>> TotalSobol().takes
    ('all_but_one',)
    """

    name = "total_sobol"
    takes = ("all_but_one",)

    def make(self, context: SolverContext) -> TotalSobolSolver:
        """Return the solver."""
        return TotalSobolSolver()
