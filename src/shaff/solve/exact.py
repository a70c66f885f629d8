"""The Shapley values themselves, once every subset has been evaluated."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from shaff._util.typing import FloatArray
from shaff.subsets import Subsets


def is_complete(subsets: Subsets) -> bool:
    """Return whether the list holds every subset but the empty and the full one, once.

    Examples
    --------
    >>> from shaff.solve.exact import is_complete
    >>> from shaff.subsets import Subsets
    >>> is_complete(Subsets.singletons(2)), is_complete(Subsets.singletons(3))
    (True, False)
    """
    n_players = subsets.n_players
    # Past 40 players no list is complete, and 2 ** p would be a needlessly large number.
    return n_players < 40 and len(subsets) == len(set(subsets.keys())) == 2**n_players - 2


def shapley_map(subsets: Subsets) -> FloatArray:
    """W with Shapley values = W @ [v(subsets), v(all)] for a complete list.

    Examples
    --------
    >>> from shaff.solve.exact import shapley_map
    >>> from shaff.subsets import Subsets
    >>> (2 * shapley_map(Subsets.singletons(2))).round(12).tolist()
    [[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]
    """
    p, sizes, masks = subsets.n_players, subsets.sizes, subsets.masks()
    joining = np.exp(gammaln(sizes) + gammaln(p - sizes + 1) - gammaln(p + 1))
    leaving = np.exp(gammaln(sizes + 1) + gammaln(p - sizes) - gammaln(p + 1))
    inner = np.where(masks, joining[:, None], -leaving[:, None]).T
    return np.hstack([inner, np.full((p, 1), 1 / p)])
