"""Settings from outside of shaff; in a module of their own, so that they can be pickled."""

from dataclasses import dataclass

import numpy as np

from shaff.designs.permutations import PermutationDesign
from shaff.protocols import (
    DesignSetting,
    Effects,
    SolverSetting,
    Values,
    ValueSetting,
)


class AdditiveValues:
    """A known game: the share of each player, and the subsets that were evaluated."""

    def __init__(self, shares, n_rows):
        self.shares, self.n_rows, self.asked = shares, n_rows, []

    @property
    def n_players(self):
        return len(self.shares)

    def values(self, subsets, *, influences=False):
        self.asked.extend(subsets.keys())
        v = subsets.masks() @ self.shares
        psi = np.zeros((len(v), self.n_rows), dtype=np.float32)
        return Values(subsets, v, psi if influences else None)

    def predict(self, subsets, rows=None):
        return np.zeros((len(subsets), self.n_rows, 1))


@dataclass(frozen=True)
class Additive(ValueSetting):
    largest: float = 0.5
    name = "additive"

    def make(self, problem):
        shares = self.largest / 2.0 ** np.arange(len(problem.players))
        return AdditiveValues(shares, len(problem.X))


@dataclass(frozen=True)
class OneOrder(DesignSetting):
    name = "one_order"
    solver = "permutations"
    gives = "orders"

    def make(self, context):
        return PermutationDesign(
            context.n_players, context.n_players - 1, "plain", random_state=context.seed
        )


class HalfSolver:
    """Half of the full value for each player: it only shows that the solver is called."""

    def solve(self, proposal, v, v_all):
        raw = np.full(proposal.subsets.n_players, v_all / 2)
        return Effects(raw, raw)


@dataclass(frozen=True)
class Half(SolverSetting):
    name = "half"
    takes = ("subsets",)

    def make(self, context):
        return HalfSolver()
