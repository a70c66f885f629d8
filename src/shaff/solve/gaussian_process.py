"""Step 3 by Bayesian quadrature: a Gaussian process over the subset cube."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray, IntpArray
from shaff.gaussian_process.linear_game import Proxy
from shaff.gaussian_process.model import OVERCONFIDENCE, OddModel
from shaff.protocols import DesignError, Effects, Proposal, SolverContext, SolverSetting
from shaff.solve.exact import has_owen_coalitions, is_complete, owen_map, shapley_map
from shaff.solve.projection import project_to_simplex
from shaff.subsets import Subsets


class GaussianProcessSolver:
    """Posterior mean of the Shapley values under a Gaussian process on the game.

    The estimate is linear in the values and sums to v(all) exactly. Subsets should come with
    their complements; for one that does not, the complement's value is guessed as the mean of
    v(U) + v(complement) over the complete pairs minus v(U), with the spread of that sum as its
    error. A subset given twice counts once. A complete list of subsets is solved exactly.

    Parameters
    ----------
    noise : float, array of shape (n_subsets,) or None
        Standard deviation of the error of the values that is independent between subsets; None
        learns one for all of them.
    proxy : Proxy or None
        A game close to v with known Shapley values.
    relevance : array of shape (n_players,) or None
        Rough importance of the players, such as split gains of an ensemble.
    unions : int array of shape (n_players,) or None
        Groups of the players, whose Owen values are estimated in place of the Shapley values.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.protocols import Proposal
    >>> from shaff.solve.gaussian_process import GaussianProcessSolver
    >>> from shaff.subsets import Subsets
    >>> alone = Subsets.singletons(4)
    >>> subsets = Subsets.concatenate([alone, alone.complement()])
    >>> v = subsets.masks() @ np.array([0.4, 0.3, 0.2, 0.0])
    >>> GaussianProcessSolver().solve(Proposal(subsets), v, 0.9).effects.round(2).tolist()
    [0.4, 0.3, 0.2, 0.0]
    """

    def __init__(
        self,
        noise: npt.ArrayLike | None = None,
        proxy: Proxy | None = None,
        relevance: npt.ArrayLike | None = None,
        unions: IntpArray | None = None,
    ) -> None:
        self.noise, self.proxy, self.relevance, self.unions = noise, proxy, relevance, unions

    def solve(self, proposal: Proposal, v: FloatArray, v_all: float) -> Effects:
        """Return effects, their linear map and the calibrated covariance of their design error."""
        subsets, values = proposal.subsets, np.asarray(v, dtype=np.float64)
        p = subsets.n_players
        exact = self._exact_map(subsets)
        if exact is not None:
            linear_map, covariance = exact, np.zeros((p, p))
            design = DesignError(np.zeros(p), np.zeros((0, len(subsets) + 1)))
        else:
            known = {"proxy": self.proxy, "relevance": self.relevance, "unions": self.unions}
            model = OddModel(p, noise=self.noise, **known)  # type: ignore[arg-type]
            with one_blas_thread:
                fit = model.fit(subsets, values, v_all)
                linear_map, covariance = fit.linear_map, fit.covariance
                variances = OVERCONFIDENCE * fit.posterior.variances
                design = DesignError(variances, fit.residual_map)
        raw = linear_map @ np.append(values, v_all)
        return Effects(project_to_simplex(raw, v_all), raw, linear_map, covariance, design)

    def _exact_map(self, subsets: Subsets) -> FloatArray | None:
        """The map of a list that leaves nothing open; None if it does."""
        if self.unions is not None:
            known = has_owen_coalitions(subsets, self.unions)
            return owen_map(subsets, self.unions) if known else None
        return shapley_map(subsets) if is_complete(subsets) else None


@dataclass(frozen=True)
class BayesianQuadrature(SolverSetting):
    """``solver="gaussian_process"``: Bayesian quadrature, see `GaussianProcessSolver`.

    Examples
    --------
    >>> from shaff.solve.gaussian_process import BayesianQuadrature
    >>> BayesianQuadrature().linear_game
    True
    """

    name = "gaussian_process"
    linear_game = True

    def make(self, context: SolverContext) -> GaussianProcessSolver:
        """Return the solver for what is known of the players."""
        return GaussianProcessSolver(
            proxy=context.proxy, relevance=context.relevance, unions=context.structure.unions
        )
