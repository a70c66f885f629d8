"""Effects in an order of layers: each layer is solved by itself.

The effect of a player of a layer is its Shapley value in ``v(P + S) - v(P)``, P all players of
earlier layers and S a subset of its own. Layers add up to v(all).
"""

from __future__ import annotations

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.data.structure import PLAIN, Layer, layers_of
from shaff.protocols import (
    DesignError,
    Effects,
    Proposal,
    Solver,
    SolverContext,
    SolverSetting,
)
from shaff.solve.projection import project_to_simplex
from shaff.subsets import Subsets


class LayeredSolver:
    """The solvers of all layers, as one linear map.

    Parameters
    ----------
    layers : tuple of Layer
    solvers : list of Solver
        Of each layer; those of a single player are not asked.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import layers_of
    >>> from shaff.protocols import Proposal
    >>> from shaff.solve.gaussian_process import GaussianProcessSolver
    >>> from shaff.solve.layered import LayeredSolver
    >>> from shaff.subsets import Subsets
    >>> solver = LayeredSolver(layers_of(np.array([1, 0])), [GaussianProcessSolver()] * 2)
    >>> first = Proposal(Subsets.from_masks([[0, 1]]))
    >>> solver.solve(first, np.array([0.25]), 1.0).effects.tolist()
    [0.75, 0.25]
    """

    def __init__(self, layers: tuple[Layer, ...], solvers: list[Solver]) -> None:
        self.layers, self.solvers = layers, solvers

    def solve(self, proposal: Proposal, v: FloatArray, v_all: float) -> Effects:
        """Return effects, their linear map, and the errors that the design of each layer leaves."""
        values = np.append(v, v_all)
        places = _Places(proposal.subsets)
        n_players = proposal.subsets.n_players
        weights, covariance = np.zeros((n_players, len(values))), np.zeros((n_players, n_players))
        errors = []
        for layer, solver in zip(self.layers, self.solvers, strict=True):
            found = _solved(solver, layer, places, values)
            assert found.linear_map is not None
            weights[layer.members] = places.spread(layer, found.linear_map)
            if found.covariance is not None:
                covariance[np.ix_(layer.members, layer.members)] = found.covariance
            errors.append(found.design)
        raw = weights @ values
        design = self._design_error(errors, places, n_players)
        return Effects(project_to_simplex(raw, v_all), raw, weights, covariance, design)

    def _design_error(
        self, errors: list[DesignError | None], places: _Places, n_players: int
    ) -> DesignError:
        """Errors of all layers, each by the residuals of its own."""
        known = [(layer, e) for layer, e in zip(self.layers, errors, strict=True) if e is not None]
        variances, maps, owners = np.zeros(n_players), [places.nothing], [np.zeros(0, dtype=int)]
        layer_of = np.full(n_players, -1)
        for k, (layer, error) in enumerate(known):
            variances[layer.members], layer_of[layer.members] = error.variances, k
            maps.append(places.spread(layer, error.residual_map))
            owners.append(np.full(len(error.residual_map), k))
        concerns = layer_of[:, None] == np.concatenate(owners)
        return DesignError(variances, np.concatenate(maps), concerns)


def _solved(solver: Solver, layer: Layer, places: _Places, values: FloatArray) -> Effects:
    """Effects of the members of a layer, from the values of its own game."""
    start = 0.0 if not layer.before.any() else values[places.of(layer.before)]
    total = float(values[places.of(layer.after)] - start)
    if len(layer.members) == 1:
        return Effects(np.array([total]), np.array([total]), np.ones((1, 1)))
    inside = places.inside(layer)
    subsets = Subsets.from_masks(layer.taken(places.masks[inside]))
    return solver.solve(Proposal(subsets), values[inside] - start, total)


class _Places:
    """Where the subsets of layers stand among the values; the full set is the last."""

    def __init__(self, subsets: Subsets) -> None:
        full = np.ones((1, subsets.n_players), dtype=bool)
        self.masks = np.vstack([subsets.masks(), full])

    @property
    def nothing(self) -> FloatArray:
        """A map of no rows."""
        return np.zeros((0, len(self.masks)))

    def of(self, mask: BoolArray) -> int:
        """Return the place of one subset."""
        return int(np.flatnonzero((self.masks == mask).all(axis=1))[0])

    def inside(self, layer: Layer) -> IntArray:
        """Return the places of the subsets of a layer, its ends not among them."""
        return layer.places(self.masks)

    def spread(self, layer: Layer, weights: FloatArray) -> FloatArray:
        """Turn a map from the values of a layer, its full set last, into one from all values."""
        out = np.zeros((len(weights), len(self.masks)))
        out[:, self.inside(layer)] = weights[:, :-1]
        out[:, self.of(layer.after)] += weights[:, -1]
        if layer.before.any():
            out[:, self.of(layer.before)] -= weights.sum(axis=1)
        return out


def make_solver(setting: SolverSetting, context: SolverContext) -> Solver:
    """Return the solver of a game, or one solver for each layer where it has an order.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import Structure
    >>> from shaff.protocols import SolverContext
    >>> from shaff.solve.gaussian_process import BayesianQuadrature
    >>> from shaff.solve.layered import make_solver
    >>> ordered = SolverContext(structure=Structure(np.array([0, 1, 1])))
    >>> type(make_solver(BayesianQuadrature(), ordered)).__name__
    'LayeredSolver'
    """
    if context.structure.order is None:
        return setting.make(context)
    layers = layers_of(context.structure.order)
    return LayeredSolver(layers, [setting.make(_context(layer, context)) for layer in layers])


def _context(layer: Layer, context: SolverContext) -> SolverContext:
    relevance, proxy = context.relevance, context.proxy
    return SolverContext(
        None if relevance is None else relevance[layer.members],
        None if proxy is None else proxy.given(layer.before, layer.members),
        PLAIN,
    )
