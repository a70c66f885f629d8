"""What ridge regressions have in common: scales of their columns, and the penalised system."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from shaff._util.typing import FloatArray


def weighted_means(X: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weighted mean of each column over its rows without NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.ridge import weighted_means
    >>> weighted_means(np.array([[1.0, np.nan], [4.0, 2.0]]), np.array([2.0, 1.0])).tolist()
    [2.0, 2.0]
    """
    present = ~np.isnan(X)
    total = np.maximum(weight @ present, 1e-300)
    return np.asarray(weight @ np.where(present, X, 0.0) / total)


def usable_scales(mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the standard deviations to divide by; inf, which leaves 0, for constant columns.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.ridge import usable_scales
    >>> usable_scales(np.array([0.0, 0.1]), np.array([1e-30, 1e-17])).tolist()
    [1e-30, inf]
    """
    return np.where(spread > 1e-12 * np.abs(mean), spread, np.inf)


def penalised_solve(gram: FloatArray, right: FloatArray, penalty: float) -> FloatArray:
    """Solve ``(gram + penalty I) x = right`` for a positive definite system.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.ridge import penalised_solve
    >>> penalised_solve(3 * np.eye(2), np.array([2.0, 4.0]), 1.0).tolist()
    [0.5, 1.0]
    """
    penalised = gram.copy()
    penalised.flat[:: len(gram) + 1] += penalty
    return np.asarray(cho_solve(cho_factor(penalised, overwrite_a=True), right))
