"""Small statistics that several rooms need: counts of rows, ranks, equal means, pairs."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc, ndtri

from shaff._util.arrays import count_rows
from shaff._util.typing import FloatArray, IntpArray


def n_rows_of(weight: FloatArray) -> float:
    """Return the number of rows: the sum of whole weights, which count rows; others have no unit.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.statistics import n_rows_of
    >>> n_rows_of(np.array([2.0, 1.0])), n_rows_of(np.array([0.5, 1.0]))
    (3.0, 2.0)
    """
    return float(weight.sum()) if count_rows(weight) else float(len(weight))


def mid_ranks(reference: FloatArray, x: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Return the rank of each entry of `x` in the sorted `reference`; ties take the middle rank.

    Weights of the entries of `reference` count as repeats.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.statistics import mid_ranks
    >>> mid_ranks(np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 2.5])).tolist()
    [2.0, 3.0]
    >>> mid_ranks(np.array([1.0, 2.0]), np.array([2.0]), weight=np.array([1.0, 2.0])).tolist()
    [2.0]
    """
    below = np.searchsorted(reference, x, side="left")
    upto = np.searchsorted(reference, x, side="right")
    if weight is None:
        return np.asarray((below + upto) / 2)
    total = np.append(0.0, np.cumsum(weight))
    return np.asarray((total[below] + total[upto]) / 2)


def normal_scores(
    reference: FloatArray, x: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Return normal quantiles of the ranks of `x` among the entries of `reference`; NaN stays NaN.

    Weights of the entries of `reference` count as repeats.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.statistics import normal_scores
    >>> normal_scores(np.array([1.0, 2.0, 3.0]), np.array([2.0, np.nan])).round(3).tolist()
    [0.0, nan]
    """
    there = np.flatnonzero(~np.isnan(reference))
    order = there[np.argsort(reference[there], kind="stable")]
    if len(order) == 0:
        return np.full(len(x), np.nan)
    times = np.ones(len(order)) if weight is None else weight[order]
    n_known = float(times.sum())
    # Values between two ranks take the middle; the ends stay finite.
    share = (mid_ranks(reference[order], x, times) + 0.25) / (n_known + 0.5)
    clipped = np.clip(share, 0.5 / (n_known + 1), 1 - 0.5 / (n_known + 1))
    return np.where(np.isnan(x), np.nan, ndtri(clipped))


def equal_means_p_value(
    between: FloatArray | float, within: FloatArray | float, n_groups: int, n_rows: int
) -> float:
    """Return the smallest p-value of the F-tests of equal group means, from sums of squares.

    Examples
    --------
    >>> from shaff._util.statistics import equal_means_p_value
    >>> round(equal_means_p_value(4.0, 10.0, n_groups=2, n_rows=12), 3)
    0.073
    """
    spare = n_rows - n_groups
    if n_groups < 2 or spare < 1:
        return 1.0
    ratio = between / (n_groups - 1) / np.maximum(within / spare, 1e-300)
    return float(np.min(fdtrc(n_groups - 1, spare, ratio)))


def symmetric(pairs: FloatArray, n: int) -> FloatArray:
    """Return the numbers of all pairs of n things as a symmetric matrix with diagonal 0.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.statistics import symmetric
    >>> symmetric(np.array([0.5]), 2).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    half = np.zeros((n, n))
    half[np.triu_indices(n, 1)] = pairs
    return half + half.T


def by_strongest_pair(matrix: FloatArray) -> IntpArray:
    """Order the rows of a symmetric matrix by their largest entry; partners follow each other.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.statistics import by_strongest_pair, symmetric
    >>> by_strongest_pair(symmetric(np.array([0.1, 0.0, -0.2]), 3)).tolist()
    [1, 2, 0]
    """
    one, other = np.triu_indices(len(matrix), 1)
    if not len(one):
        return np.arange(len(matrix))
    order = np.argsort(-np.abs(matrix[one, other]), kind="stable")
    in_turn = np.stack([one[order], other[order]], axis=1).ravel()
    return in_turn[np.sort(np.unique(in_turn, return_index=True)[1])]
