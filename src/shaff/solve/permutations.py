"""Step 3 by permutations: the mean of what each player adds when it joins."""

from __future__ import annotations

import numpy as np

from shaff.designs.permutations import prefixes
from shaff.protocols import Effects
from shaff.solve.projection import project_to_simplex
from shaff.subsets import FloatArray, IntArray, Subsets


class PermutationSolver:
    """Average marginal contributions over given orders of the players.

    Parameters
    ----------
    orders : int array of shape (n_orders, n_players)
        As in `shaff.designs.permutations.PermutationDesign.orders`. If every second order is the
        reverse of the one before, the two count as one draw in the covariance, which is None
        with a single draw. Orthogonal orders are taken as independent, which errs on the safe
        side.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.permutations import PermutationDesign
    >>> from shaff.solve.permutations import PermutationSolver
    >>> design = PermutationDesign(n_players=4, n_subsets=12, random_state=0)
    >>> v = design.subsets.masks() @ np.array([0.25, 0.25, 0.5, 0.0])
    >>> PermutationSolver(design.orders).solve(design.subsets, v, 1.0).effects.tolist()
    [0.25, 0.25, 0.5, 0.0]
    """

    def __init__(self, orders: IntArray) -> None:
        self.orders = np.asarray(orders, dtype=np.int64)

    def solve(self, subsets: Subsets, v: FloatArray, v_all: float) -> Effects:
        """Effects, their linear map and the covariance over orders."""
        before, after = self._positions(subsets)
        # One more position holds the empty set, which is worth 0.
        values = np.concatenate([v, [v_all, 0.0]])
        n_orders, p = self.orders.shape
        marginal = np.empty((n_orders, p))
        np.put_along_axis(marginal, self.orders, values[after] - values[before], axis=1)
        linear_map = np.zeros((p, len(values)))
        np.add.at(linear_map, (self.orders, after), 1 / n_orders)
        np.add.at(linear_map, (self.orders, before), -1 / n_orders)
        raw = marginal.mean(axis=0)
        return Effects(
            project_to_simplex(raw, v_all), raw, linear_map[:, :-1], self._covariance(marginal)
        )

    def _positions(self, subsets: Subsets) -> tuple[IntArray, IntArray]:
        """Where the subsets before and after each join stand in [v(subsets), v(all), 0]."""
        n_orders, p = self.orders.shape
        position = {key: index for index, key in enumerate(subsets.keys())}
        needed = Subsets.from_masks(prefixes(self.orders).reshape(-1, p)).keys()
        missing = [key for key in needed if key not in position]
        if missing:
            raise ValueError(f"{len(missing)} subsets of the orders have not been evaluated")
        inner = np.array([position[key] for key in needed], dtype=np.int64)
        inner = inner.reshape(n_orders, p - 1)
        full, empty = np.full((n_orders, 1), len(subsets)), np.full((n_orders, 1), len(subsets) + 1)
        return np.hstack([empty, inner]), np.hstack([inner, full])

    def _covariance(self, marginal: FloatArray) -> FloatArray | None:
        if len(marginal) % 2 == 0 and (self.orders[1::2] == self.orders[::2, ::-1]).all():
            marginal = (marginal[::2] + marginal[1::2]) / 2
        if len(marginal) < 2:
            return None
        covariance = np.atleast_2d(np.cov(marginal, rowvar=False)) / len(marginal)
        return np.asarray(covariance, dtype=np.float64)
