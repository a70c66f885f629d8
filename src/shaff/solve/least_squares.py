"""Step 3 of the paper: effects as the solution of a weighted least-squares problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import pinvh
from scipy.optimize import nnls

from shaff._util.typing import FloatArray
from shaff.protocols import Effects, Proposal, SolverContext, SolverSetting
from shaff.solve.exact import is_complete
from shaff.subsets import Subsets

# A subset whose residual is free by less than this has fixed the solution by itself.
# Less, and such a subset alone decides the error bar (`benchmarks.coverage`).
_LEAST_FREEDOM = 0.1


class LeastSquaresSolver:
    """Minimise ``sum_U weight(U) (v(U) - beta(U))^2`` subject to ``sum(beta) = v(all)``.

    Parameters
    ----------
    constrained : bool, default=True
        Also ask for ``beta >= 0``, as the paper does. ``Effects.raw`` is always the solution
        without that constraint, which is linear in the values.

    Notes
    -----
    Players that do not take part (`Proposal.active`) get effect 0: appendix B of the paper, where
    a variable in no drawn subset leaves the game, else the system is singular.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.protocols import Proposal
    >>> from shaff.solve.least_squares import LeastSquaresSolver
    >>> from shaff.subsets import Subsets
    >>> pairs = Proposal(Subsets.from_indices([[0], [1]], n_players=2))
    >>> LeastSquaresSolver().solve(pairs, np.array([0.5, 0.1]), 0.8).effects.round(6).tolist()
    [0.6, 0.2]
    """

    def __init__(self, constrained: bool = True) -> None:
        self.constrained = constrained

    def solve(self, proposal: Proposal, v: FloatArray, v_all: float) -> Effects:
        """Return effects of all players, and map and design error of the unconstrained solution."""
        subsets = proposal.subsets
        active = np.ones(subsets.n_players, bool) if proposal.active is None else proposal.active
        players = np.flatnonzero(active)
        rows = subsets.masks()[:, players].astype(np.float64)
        log_weight = subsets.regression_log_weight()
        weight = np.exp(log_weight - log_weight.max(initial=-np.inf))
        linear_map = np.zeros((subsets.n_players, len(subsets) + 1))
        linear_map[players] = _constrained_sum_map(rows, weight)
        raw = linear_map @ np.append(v, v_all)
        effects = raw
        if self.constrained:
            effects = np.zeros(subsets.n_players)
            effects[players] = _non_negative(rows, weight, v, v_all)
        return Effects(effects, raw, linear_map, design_covariance(subsets, v, raw, linear_map))


def design_covariance(
    subsets: Subsets, v: FloatArray, raw: FloatArray, linear_map: FloatArray
) -> FloatArray:
    """Design error of the least-squares solution, from its residuals.

    The sandwich estimate with leverage correction (HC2) over the draws, where a subset and its
    complement are one draw if all come in pairs. A subset that was drawn several times counts as
    one draw, and one that was sure to be drawn counts too, which errs on the safe side. What no
    sampler would ever draw, such as subsets that are on no path of a forest, it cannot know.
    """
    if is_complete(subsets):
        return np.zeros((len(raw), len(raw)))
    masks, weights = subsets.masks().astype(np.float64), linear_map[:, :-1].T
    pulls, leverage = weights * (v - masks @ raw)[:, None], (masks * weights).sum(axis=1)
    position = {key: index for index, key in enumerate(subsets.keys())}
    partner = np.array([position.get(key, -1) for key in subsets.complement().keys()])
    if (partner >= 0).all():
        first = np.flatnonzero(np.arange(len(partner)) < partner)
        second = partner[first]
        pulls, leverage = pulls[first] + pulls[second], leverage[first] + leverage[second]
    pulls /= np.sqrt(np.maximum(1 - leverage, _LEAST_FREEDOM))[:, None]
    return np.asarray(pulls.T @ pulls, dtype=np.float64)


def _constrained_sum_map(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """The map from ``[v(subsets), v(all)]`` to the solution: one solve of the KKT system."""
    n_players = rows.shape[1]
    gram = rows.T @ (weight[:, None] * rows)
    # Scaled so that the border of ones does not spoil the conditioning.
    scale = max(np.trace(gram) / max(n_players, 1), np.finfo(float).tiny)
    kkt = np.block(
        [[gram / scale, np.ones((n_players, 1))], [np.ones((1, n_players)), np.zeros((1, 1))]]
    )
    right = np.zeros((n_players + 1, len(rows) + 1))
    right[:-1, :-1] = rows.T * weight / scale
    right[-1, -1] = 1.0
    # Too few subsets leave directions open: the pseudo-inverse takes the shortest solution.
    return np.asarray((pinvh(kkt) @ right)[:-1], dtype=np.float64)


def _non_negative(rows: FloatArray, weight: FloatArray, v: FloatArray, v_all: float) -> FloatArray:
    """The solution with ``beta >= 0``, by reduction to non-negative least squares.

    With beta = T b and sum(b) = 1, the residual of a row is T (row - v/T) b. A further row of
    ones against 1 keeps b away from zero; the scale it leaves open is then fixed by the sum.
    """
    if v_all <= 0:
        return np.zeros(rows.shape[1])
    root = np.sqrt(weight)[:, None]
    system = np.vstack([root * (rows - v[:, None] / v_all), np.ones((1, rows.shape[1]))])
    target = np.append(np.zeros(len(rows)), 1.0)
    solution, _ = nnls(system, target)
    return np.asarray(solution / solution.sum() * v_all, dtype=np.float64)


@dataclass(frozen=True)
class LeastSquares(SolverSetting):
    """``solver="least_squares"``, with the paper's constraint unless it is turned off.

    Examples
    --------
    >>> from shaff.solve.least_squares import LeastSquares
    >>> LeastSquares().takes
    ('subsets', 'orders')
    """

    constrained: bool = True
    name = "least_squares"

    def make(self, context: SolverContext) -> LeastSquaresSolver:
        """Return the solver."""
        return LeastSquaresSolver(self.constrained)
