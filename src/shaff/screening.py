"""Which columns may matter at all: a generous screen before the game when there are many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc
from scipy.stats import rankdata

from shaff.subsets import BoolArray, FloatArray

# A squared correlation with n observations past this over n: a chi-square(1) tail of 0.14 %. A
# column passes by any of several tests, so about one null column in a hundred stays.
CHI_SQUARE = 10.2
GAIN_MADS = 4.0


def screen(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    gains: npt.ArrayLike | None = None,
    categorical: npt.ArrayLike | None = None,
) -> BoolArray:
    """Columns worth playing for; the others get effect 0 and leave the game.

    A column is kept if, for any output, the squared correlation of y with the column, with its
    squared deviation from the mean, or with its ranks (y ranked too) exceeds ``10.2 / n``, n being
    the number of rows where the column is not missing; if y correlates that much with its being
    missing; or if its split gain is above the median by more than 4 median absolute deviations.
    A column of categories is kept if their mean targets differ by more than chance (at the level
    of the other tests), or by its gain.
    The screen is generous on purpose: a missed weak column costs 0.02 to 0.03, a kept null column
    only some evaluations. It sees no pure interaction of columns that are null by themselves
    unless the gains do.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Numeric; NaN is missing.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
    gains : array of shape (n_columns,) or None
        Split gains of an ensemble fitted to y itself (not to the residuals of a linear fit).
    categorical : bool array of shape (n_columns,) or None
        Columns of category codes.

    Returns
    -------
    bool array of shape (n_columns,)
        If nothing stands out all columns are kept: an empty game explains nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.screening import screen
    >>> X = np.random.default_rng(0).standard_normal((500, 5))
    >>> screen(X, X[:, 0] + X[:, 1] ** 2).tolist()
    [True, True, False, False, False]
    """
    columns = np.asarray(X, dtype=np.float64)
    outputs = np.asarray(y, dtype=np.float64).reshape(len(columns), -1)
    ranked = rankdata(outputs, axis=0)
    factors = np.zeros(columns.shape[1]) if categorical is None else np.asarray(categorical)
    kept = np.array(
        [
            _means_differ(column, outputs) if factor else _stands_out(column, outputs, ranked)
            for column, factor in zip(columns.T, factors, strict=True)
        ],
        dtype=bool,
    )
    if gains is not None:
        kept |= _outlying(np.asarray(gains, dtype=np.float64))
    return kept if kept.any() else np.ones_like(kept)


def _stands_out(column: FloatArray, outputs: FloatArray, ranked: FloatArray) -> bool:
    there = ~np.isnan(column)
    scores = [_score(there.astype(np.float64), outputs)]
    if there.any():
        known = column[there]
        scores.append(_score(known, outputs[there]))
        scores.append(_score((known - known.mean()) ** 2, outputs[there]))
        scores.append(_score(rankdata(known), ranked[there]))
    return max(scores) > CHI_SQUARE


def _means_differ(codes: FloatArray, outputs: FloatArray) -> bool:
    """F-test of equal mean targets of the categories; missing ones are a category."""
    levels = np.unique(codes, return_inverse=True)[1]
    count = np.bincount(levels)
    spare = len(codes) - len(count)
    if len(count) < 2 or spare < 1:
        return False
    centred = outputs - outputs.mean(axis=0)
    total = np.stack([np.bincount(levels, weights=output) for output in centred.T])
    between = (total**2 / count).sum(axis=1)
    within = (centred**2).sum(axis=0) - between
    ratio = between / (len(count) - 1) / np.maximum(within / spare, 1e-300)
    return bool((fdtrc(len(count) - 1, spare, ratio) < chdtrc(1, CHI_SQUARE)).any())


def _score(feature: FloatArray, outputs: FloatArray) -> float:
    """Number of rows times the largest squared correlation with an output; 0 for a constant."""
    feature, outputs = feature - feature.mean(), outputs - outputs.mean(axis=0)
    norm = (feature @ feature) * (outputs**2).sum(axis=0)
    squared = np.divide((feature @ outputs) ** 2, norm, out=np.zeros_like(norm), where=norm > 0)
    return float(len(feature) * squared.max(initial=0.0))


def _outlying(gains: FloatArray) -> BoolArray:
    median = np.median(gains)
    spread = np.median(np.abs(gains - median))
    return np.asarray((gains > median + GAIN_MADS * spread) & (gains > 0))
