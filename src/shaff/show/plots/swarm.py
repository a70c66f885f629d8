"""Where the points of a beeswarm stand, and their tints."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from shaff._util.typing import FloatArray, IntpArray

# More points hide each other, and weigh in files.
MAX_POINTS = 2000
# Points that share a place on the axis stand beside each other, within this height to both sides.
BINS, HEIGHT = 120, 0.42


def some_rows(n_rows: int) -> IntpArray:
    """Rows that are drawn: all, or as many as there is room for, evenly spread.

    Examples
    --------
    >>> from shaff.show.plots.swarm import some_rows
    >>> len(some_rows(10)), len(some_rows(100_000))
    (10, 2000)
    """
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_POINTS)).round().astype(np.intp))


def swarm(x: FloatArray) -> FloatArray:
    """Offsets by which points that would lie on each other stand apart: alternately to both sides
    of the middle, the farther the larger the crowd.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots.swarm import swarm
    >>> swarm(np.array([0.0, 1.0, 1.0])).round(2).tolist()
    [0.0, 0.0, -0.07]
    """
    if not len(x) or np.ptp(x) == 0:
        return np.linspace(-HEIGHT, HEIGHT, len(x)) if len(x) > 1 else np.zeros(len(x))
    place = np.minimum((BINS * (x - x.min()) / np.ptp(x)).astype(np.intp), BINS - 1)
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(x))
    rank[order] = np.arange(len(x)) - np.searchsorted(place[order], place[order], side="left")
    side = np.where(rank % 2 == 0, 1.0, -1.0)
    largest = max(np.bincount(place).max() / 2, 6.0)
    return np.asarray(side * np.ceil(rank / 2) * HEIGHT / largest + 0.0)


def ranks(x: FloatArray, is_category: bool) -> FloatArray:
    """Where entries stand among all, from 0 to 1; NaN for those that have no place.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots.swarm import ranks
    >>> ranks(np.array([3.0, 1.0, np.nan]), False).tolist()
    [0.75, 0.25, nan]
    """
    out = np.full(len(x), np.nan)
    known = np.isfinite(x)
    if known.any() and not is_category:
        out[known] = (rankdata(x[known]) - 0.5) / known.sum()
    return out
