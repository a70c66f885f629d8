"""Step 3 by permutations: the mean of what each player adds when it joins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.typing import FloatArray, IntArray
from shaff.protocols import Effects, Proposal, SolverContext, SolverSetting
from shaff.solve.projection import project_to_simplex
from shaff.subsets import Subsets, prefixes


class PermutationSolver:
    """Average marginal contributions over given orders of the players.

    The orders are `Proposal.orders`. If every second order is the reverse of the one before, the
    two count as one draw in the covariance, which is None with a single draw. Orthogonal orders
    are taken as independent, which errs on the safe side.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.protocols import Proposal
    >>> from shaff.solve.permutations import PermutationSolver
    >>> from shaff.subsets import Subsets, prefixes
    >>> orders = np.array([[0, 1, 2], [2, 1, 0]])
    >>> subsets = Subsets.from_masks(prefixes(orders)).unique()
    >>> v = subsets.masks() @ np.array([0.25, 0.25, 0.5])
    >>> PermutationSolver().solve(Proposal(subsets, orders), v, 1.0).effects.tolist()
    [0.25, 0.25, 0.5]
    """

    def solve(self, proposal: Proposal, v: FloatArray, v_all: float) -> Effects:
        """Return effects, their linear map and their covariance over orders."""
        if proposal.orders is None:
            raise ValueError("the proposal has no orders to solve")
        orders = np.asarray(proposal.orders, dtype=np.int64)
        before, after = _positions(proposal.subsets, orders)
        # One more position holds the empty set, whose value is 0.
        values = np.concatenate([v, [v_all, 0.0]])
        n_orders, p = orders.shape
        marginal = np.empty((n_orders, p))
        np.put_along_axis(marginal, orders, values[after] - values[before], axis=1)
        linear_map = np.zeros((p, len(values)))
        np.add.at(linear_map, (orders, after), 1 / n_orders)
        np.add.at(linear_map, (orders, before), -1 / n_orders)
        raw = marginal.mean(axis=0)
        return Effects(
            project_to_simplex(raw, v_all), raw, linear_map[:, :-1], _covariance(orders, marginal)
        )


def _positions(subsets: Subsets, orders: IntArray) -> tuple[IntArray, IntArray]:
    """Find the subsets before and after each join in [v(subsets), v(all), 0]."""
    n_orders, p = orders.shape
    position = {key: index for index, key in enumerate(subsets.keys())}
    needed = Subsets.from_masks(prefixes(orders).reshape(-1, p)).keys()
    missing = [key for key in needed if key not in position]
    if missing:
        raise ValueError(f"{len(missing)} subsets of the orders have not been evaluated")
    inner = np.array([position[key] for key in needed], dtype=np.int64)
    inner = inner.reshape(n_orders, p - 1)
    full, empty = np.full((n_orders, 1), len(subsets)), np.full((n_orders, 1), len(subsets) + 1)
    return np.hstack([empty, inner]), np.hstack([inner, full])


def _covariance(orders: IntArray, marginal: FloatArray) -> FloatArray | None:
    if len(marginal) % 2 == 0 and (orders[1::2] == orders[::2, ::-1]).all():
        marginal = (marginal[::2] + marginal[1::2]) / 2
    if len(marginal) < 2:
        return None
    covariance = np.atleast_2d(np.cov(marginal, rowvar=False)) / len(marginal)
    return np.asarray(covariance, dtype=np.float64)


@dataclass(frozen=True)
class PermutationMeans(SolverSetting):
    """``solver="permutations"``, for designs of orders; see `PermutationSolver`.

    Examples
    --------
    >>> from shaff.solve.permutations import PermutationMeans
    >>> PermutationMeans().takes
    ('orders',)
    """

    name = "permutations"
    takes = ("orders",)

    def make(self, context: SolverContext) -> PermutationSolver:
        """Return the solver; the orders come with the proposal."""
        return PermutationSolver()
