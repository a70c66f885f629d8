"""Shapley interaction indices of all pairs of players, as linear maps of the values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray
from shaff.gaussian_process.interaction_model import InteractionModel
from shaff.gaussian_process.linear_game import Proxy
from shaff.solve.exact import is_complete
from shaff.subsets import Subsets


def solve_interactions(
    subsets: Subsets,
    v: FloatArray,
    v_all: float,
    proxy: Proxy | None = None,
    relevance: npt.ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the map from values to indices, and the design variance of each index.

    Parameters
    ----------
    subsets : Subsets
        Neither the empty nor the full set. Those that come without their complements are not
        used, unless all subsets are there: then the map is exact.
    v : float array of shape (n_subsets,)
    v_all : float
    proxy, relevance
        See `GaussianProcessSolver`.

    Returns
    -------
    linear_map : float array of shape (n_pairs, n_subsets + 1)
        On [v(subsets), v(all)]; pairs of players in the order of `numpy.triu_indices`.
    variances : float array of shape (n_pairs,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.interactions import solve_interactions
    >>> from shaff.subsets import Subsets
    >>> solve_interactions(Subsets.singletons(2), np.array([0.2, 0.3]), 0.9)[0].tolist()
    [[-1.0, -1.0, 1.0]]
    """
    p = subsets.n_players
    if is_complete(subsets):
        return interaction_map(subsets), np.zeros(p * (p - 1) // 2)
    model = InteractionModel(p, proxy=proxy, relevance=relevance)
    with one_blas_thread:
        fit = model.fit(subsets, v, v_all)
        return fit.linear_map, fit.variances


def interaction_map(subsets: Subsets) -> FloatArray:
    """The Shapley interaction indices of a complete list, by their definition.

    The index of i and j is the mean of v(S+i+j) - v(S+i) - v(S+j) + v(S) over the subsets S of the
    others, all sizes of S weighing the same.

    Examples
    --------
    >>> from shaff.designs.exhaustive import ExhaustiveDesign
    >>> from shaff.solve.interactions import interaction_map
    >>> interaction_map(ExhaustiveDesign(3).subsets).shape
    (3, 7)
    """
    p, masks = subsets.n_players, subsets.masks()
    first, second = np.triu_indices(p, 1)
    n_of_pair = masks[:, first].astype(np.int64) + masks[:, second]
    others = subsets.sizes[:, None] - n_of_pair
    weight = np.exp(gammaln(others + 1) + gammaln(p - others - 1) - gammaln(p))
    inner = np.where(n_of_pair == 1, -weight, weight).T
    return np.hstack([inner, np.full((len(first), 1), 1 / (p - 1))])
