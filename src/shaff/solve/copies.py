"""Players that are copies of each other have equal effects.

Where v(U + i) = v(U + j) for every U without i and j, the Shapley values of i and j are equal. An
incomplete list of subsets treats them differently, since it has U + i but not U + j. The mean over
the copies is as good an estimate of each of them, with the same sum and a smaller variance.
"""

from __future__ import annotations

from dataclasses import replace

from shaff._util.alike import all_differ, averaged, averaged_covariance
from shaff._util.typing import IntpArray
from shaff.protocols import Effects


def shared_by_copies(effects: Effects, kinds: IntpArray) -> Effects:
    """Return effects that are equal, to the last bit, for players of the same kind.

    Parameters
    ----------
    effects : Effects
    kinds : int array of shape (n_players,)
        Copies have equal codes, which are 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.protocols import Effects
    >>> from shaff.solve.copies import shared_by_copies
    >>> uneven = Effects(np.array([0.5, 0.25, 0.125]), np.array([0.5, 0.25, 0.125]))
    >>> shared_by_copies(uneven, np.array([0, 1, 1])).effects.tolist()
    [0.5, 0.1875, 0.1875]
    """
    if all_differ(kinds):
        return effects
    weights, covariance, design = effects.linear_map, effects.covariance, effects.design
    return replace(
        effects,
        effects=averaged(effects.effects, kinds),
        raw=averaged(effects.raw, kinds),
        linear_map=None if weights is None else averaged(weights, kinds),
        covariance=None if covariance is None else averaged_covariance(covariance, kinds),
        # The variance of a mean is at most the mean of the variances.
        design=design and replace(design, variances=averaged(design.variances, kinds)),
    )
