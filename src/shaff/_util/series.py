"""Series in time: how far their correlation reaches, how long blocks must be, and unit roots."""

from __future__ import annotations

import math

import numpy as np

from shaff._util.typing import FloatArray

# Politis and White (2004), section 3: an autocorrelation counts as 0 below so many times
# sqrt(log10(n) / n), and so do all after it if this many in a row do.
_NEGLIGIBLE, _IN_A_ROW = 2.0, 5
# The level of 1 % of the test of Dickey and Fuller with a constant (MacKinnon 2010, table 2).
_UNIT_ROOT = (-3.43035, -6.5393, -16.786)
_TINY = np.finfo(float).tiny


def autocorrelations(x: FloatArray, n_lags: int) -> FloatArray:
    """Return the autocorrelations of a series at the lags 0, 1, ..., ``n_lags``.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.series import autocorrelations
    >>> autocorrelations(np.array([1.0, -1.0, 1.0, -1.0]), 2).tolist()
    [1.0, -0.75, 0.5]
    """
    centred = np.asarray(x, dtype=np.float64) - np.mean(x)
    products = [centred[lag:] @ centred[: len(centred) - lag] for lag in range(n_lags + 1)]
    return np.asarray(np.array(products) / max(float(products[0]), _TINY))


def correlation_length(x: FloatArray) -> int:
    """Return the lag after which the autocorrelations of a series are negligible.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.series import correlation_length
    >>> noise = np.random.default_rng(0).standard_normal(1000)
    >>> correlation_length(noise), correlation_length(np.convolve(noise, np.ones(5)))
    (0, 4)
    """
    n = len(x)
    most = min(math.ceil(math.sqrt(n)), n // 2)
    found = autocorrelations(x, min(most + _IN_A_ROW, n - 1))[1:]
    counts = np.abs(found) >= _NEGLIGIBLE * math.sqrt(math.log10(max(n, 2)) / n)
    quiet = (m for m in range(most) if not counts[m : m + _IN_A_ROW].any())
    return next(quiet, most)


def block_length(x: FloatArray) -> int:
    """Return the length of blocks whose sums tell the variance of the mean of a series: the
    automatic rule of Politis and White (2004, corrected in 2009) for circular blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.series import block_length
    >>> noise = np.random.default_rng(0).standard_normal(1000)
    >>> block_length(noise), block_length(np.convolve(noise, np.ones(20)))
    (1, 38)
    """
    n = len(x)
    most = math.ceil(min(3 * math.sqrt(n), n / 3))
    reach = min(2 * correlation_length(x), n - 1)
    lags = np.arange(1, reach + 1)
    # The flat-top window of Politis and Romano.
    window = np.clip(2 * (1 - lags / max(reach, 1)), 0.0, 1.0) * autocorrelations(x, reach)[1:]
    level, slope = 1 + 2 * window.sum(), 2 * (lags * window).sum()
    if level <= 0 or slope == 0:
        return 1
    length = math.ceil((1.5 * (slope / level) ** 2 * n) ** (1 / 3))
    return int(np.clip(length, 1, most))


def has_unit_root(x: FloatArray) -> bool:
    """Whether a series cannot be told from a random walk: the augmented test of Dickey and Fuller
    with a constant does not reject at 1 %.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.series import has_unit_root
    >>> noise = np.random.default_rng(0).standard_normal(500)
    >>> has_unit_root(noise), has_unit_root(noise.cumsum())
    (False, True)
    """
    n_lags = round((len(x) - 1) ** (1 / 3))
    n = len(x) - 1 - n_lags
    steps = np.diff(x)
    if n < 2 * (n_lags + 2) or not np.ptp(steps):
        return False
    past = [steps[n_lags - k : len(steps) - k] for k in range(1, n_lags + 1)]
    level = np.asarray(x[n_lags:-1] - np.mean(x))
    t = _last_t(np.column_stack([np.ones(n), *past, level]), steps[n_lags:])
    constant, once, twice = _UNIT_ROOT
    return bool(t > constant + once / n + twice / n**2)


def _last_t(columns: FloatArray, y: FloatArray) -> float:
    """The t-statistic of the last column in a regression of y on all."""
    scale = np.sqrt((columns**2).sum(axis=0))
    q, r = np.linalg.qr(columns / np.maximum(scale, _TINY))
    along = q.T @ y
    rest = max(float(y @ y - along @ along), _TINY)
    spread = math.sqrt(rest / max(len(y) - len(along), 1))
    return float(along[-1] * np.sign(r[-1, -1]) / spread)
