"""The paper's constraint on reported effects: none is negative, and they sum to v(all)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray


def project_to_simplex(raw: npt.ArrayLike, total: float) -> FloatArray:
    """Euclidean projection of ``raw`` on ``{b >= 0, sum(b) = total}``.

    When nothing is explained (``total <= 0``) the effects are all 0.

    Examples
    --------
    >>> from shaff.solve.projection import project_to_simplex
    >>> project_to_simplex([0.75, 0.5, -0.25], 1.0).tolist()
    [0.625, 0.375, 0.0]
    """
    values = np.asarray(raw, dtype=np.float64)
    if total <= 0:
        return np.zeros_like(values)
    descending = np.sort(values)[::-1]
    # The threshold leaves the k largest values positive, for the largest k that allows it.
    thresholds = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    threshold = thresholds[descending > thresholds][-1]
    return np.asarray(np.maximum(values - threshold, 0.0), dtype=np.float64)
