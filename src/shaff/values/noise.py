"""What the noise of a fit adds to squared errors, where it is measured on some of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shaff._util.typing import FloatArray, IntArray, IntpArray

# Held-out rows that tell the noise of a fit. Fewer tell it by luck (`benchmarks.seeds`), more take
# time (`benchmarks.pairs`).
NOISE_ROWS = 1000


def n_noise_folds(tests: Sequence[IntArray] | Sequence[IntpArray]) -> int:
    """Number of folds, the last ones, whose held-out rows tell the noise of a fit.

    Of splits in time the last ones are trained on the most rows, and have the least noise.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.noise import n_noise_folds
    >>> n_noise_folds([np.arange(600)] * 5)
    2
    """
    after = np.cumsum([0, *(len(rows) for rows in tests[:0:-1])])
    return int((after < NOISE_ROWS).sum())


def spread_noise(noise: FloatArray, squares: FloatArray, weight: FloatArray) -> FloatArray:
    """Where the noise of a row is not known (NaN), take that of the others in proportion to their
    squared errors.

    Parameters
    ----------
    noise, squares : float arrays of shape (..., n_rows, n_outputs)
    weight : float array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.noise import spread_noise
    >>> noise, squares = np.array([[0.1], [np.nan]]), np.array([[1.0], [2.0]])
    >>> spread_noise(noise, squares, np.ones(2)).ravel().tolist()
    [0.1, 0.2]
    """
    known = ~np.isnan(noise)
    if known.all():
        return noise
    weights = np.where(known, weight[:, None], 0.0)
    total = (weights * squares).sum(axis=-2, keepdims=True)
    share = np.where(known, weights * noise, 0.0).sum(axis=-2, keepdims=True)
    return np.where(known, noise, share / np.where(total > 0, total, 1.0) * squares)
