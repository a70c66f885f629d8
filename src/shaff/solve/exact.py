"""The Shapley values themselves, once every subset has been evaluated."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from shaff._util.typing import FloatArray, IntArray, IntpArray
from shaff.subsets import Subsets, n_owen_coalitions, owen_coalitions


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


def has_owen_coalitions(subsets: Subsets, unions: IntpArray) -> bool:
    """Return whether the list holds every subset that Owen values depend on.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.exact import has_owen_coalitions
    >>> from shaff.subsets import Subsets, owen_coalitions
    >>> unions = np.array([0, 0, 1, 1])
    >>> [has_owen_coalitions(s, unions) for s in (owen_coalitions(unions), Subsets.singletons(4))]
    [True, False]
    """
    if n_owen_coalitions(unions) > len(subsets):
        return False
    return set(owen_coalitions(unions).keys()) <= set(subsets.keys())


def owen_map(subsets: Subsets, unions: IntpArray) -> FloatArray:
    """W with Owen values = W @ [v(subsets), v(all)], for a list with all Owen coalitions.

    A subset counts for a player if it holds each of the other groups as a whole or not at all; its
    weight is that of a Shapley value over groups times that of one over the members of the group.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.exact import owen_map
    >>> from shaff.subsets import owen_coalitions
    >>> unions = np.array([0, 0, 1])
    >>> owen_map(owen_coalitions(unions), unions).shape
    (3, 7)
    """
    masks = np.vstack([subsets.masks(), np.ones((1, len(unions)), dtype=bool)])
    sizes = np.bincount(unions)
    held = np.stack([masks[:, unions == g].sum(axis=1) for g in range(len(sizes))], axis=1)
    whole = held == sizes
    torn = ~whole & (held > 0)
    others_whole = whole.sum(axis=1)[:, None] - whole
    counts = (torn.sum(axis=1)[:, None] - torn) == 0
    outer = np.where(counts, _entering(others_whole, len(sizes)), 0.0)
    inner = np.where(
        masks,
        _entering(held[:, unions] - 1, sizes[unions]),
        -_entering(held[:, unions], sizes[unions]),
    )
    return _first_only(np.asarray((outer[:, unions] * inner).T), subsets)


def _entering(n_before: IntArray, n_all: IntArray | int) -> FloatArray:
    """Chance that a player enters after a given set of ``n_before`` of ``n_all`` players; 0 where
    there are no such sets."""
    before, behind = np.clip(n_before, 0, None), np.clip(n_all - n_before - 1, 0, None)
    chance = np.exp(gammaln(before + 1) + gammaln(behind + 1) - gammaln(np.add(n_all, 1)))
    return np.asarray(np.where((n_before >= 0) & (n_before < n_all), chance, 0.0))


def _first_only(weights: FloatArray, subsets: Subsets) -> FloatArray:
    """Let a subset that occurs again count once."""
    seen: set[bytes] = set()
    for k, key in enumerate(subsets.keys()):
        if key in seen:
            weights[:, k] = 0.0
        seen.add(key)
    return weights
