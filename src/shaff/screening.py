"""Which columns may matter at all: a generous screen before the game when there are many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc
from scipy.stats import rankdata

from shaff._statistics import equal_means_p_value
from shaff._typing import BoolArray, FloatArray

# A null column passes a test with this probability, and no more than 0.14 columns are expected to
# pass it among all: a squared correlation past 10.2 / n up to 100 columns, more beyond.
LEVEL, FALSE_ALARMS = 0.0014, 0.14
# A split gain stands out if it is above the median by so many median absolute deviations, and so
# many times the mean: with many columns most gains are 0, and then any gain would.
GAIN_MADS, GAIN_MEANS = 4.0, 3.0


def screen(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    gains: npt.ArrayLike | None = None,
    categorical: npt.ArrayLike | None = None,
) -> BoolArray:
    """Columns worth playing for; the others get effect 0 and leave the game.

    A column is kept if, for any output, the squared correlation of y with the column, with its
    squared deviation from the mean, or with its ranks (y ranked too) exceeds ``10.2 / n``, n being
    the number of rows where the column is not missing (more than 10.2 beyond 100 columns, so that
    the number of false alarms does not grow); if y correlates that much with its being missing;
    for categories, if the means of y differ between the levels at the same level of significance;
    or if its split gain stands out (4 median absolute deviations above the median, and 3 times the
    mean). The screen is generous on purpose: a missed weak column costs 0.02 to 0.03, a kept null
    column only some evaluations. It sees no pure interaction of columns that are null by
    themselves unless the gains do.

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
    level = min(LEVEL, FALSE_ALARMS / columns.shape[1])
    kinds = np.zeros(columns.shape[1]) if categorical is None else np.asarray(categorical)
    kept = np.array(
        [
            _p_value(column, outputs, ranked, kind) < level
            for column, kind in zip(columns.T, kinds, strict=True)
        ],
        dtype=bool,
    )
    if gains is not None:
        kept |= _outlying(np.asarray(gains, dtype=np.float64))
    return kept if kept.any() else np.ones_like(kept)


def _p_value(
    column: FloatArray, outputs: FloatArray, ranked: FloatArray, categories: bool
) -> float:
    """The smallest of the tests of one column, each chi-square under independence."""
    there = ~np.isnan(column)
    p_values = [chdtrc(1, _score(there.astype(np.float64), outputs))]
    known = column[there]
    if len(known) and categories:
        p_values.append(np.float64(_means_differ(known, outputs[there])))
    elif len(known):
        features = (known, (known - known.mean()) ** 2)
        p_values += [chdtrc(1, _score(feature, outputs[there])) for feature in features]
        p_values.append(chdtrc(1, _score(rankdata(known), ranked[there])))
    return float(min(p_values))


def _score(feature: FloatArray, outputs: FloatArray) -> float:
    """Number of rows times the largest squared correlation with an output; 0 for a constant."""
    feature, outputs = feature - feature.mean(), outputs - outputs.mean(axis=0)
    norm = (feature @ feature) * (outputs**2).sum(axis=0)
    squared = np.divide((feature @ outputs) ** 2, norm, out=np.zeros_like(norm), where=norm > 0)
    return float(len(feature) * squared.max(initial=0.0))


def _means_differ(codes: FloatArray, outputs: FloatArray) -> float:
    """Smallest p-value of the F-tests of equal mean targets of the categories."""
    levels = np.unique(codes, return_inverse=True)[1]
    count = np.bincount(levels)
    centred = outputs - outputs.mean(axis=0)
    total = np.stack([np.bincount(levels, weights=output) for output in centred.T])
    between = (total**2 / count).sum(axis=1)
    within = (centred**2).sum(axis=0) - between
    return equal_means_p_value(between, within, len(count), len(codes))


def _outlying(gains: FloatArray) -> BoolArray:
    median = np.median(gains)
    spread = np.median(np.abs(gains - median))
    least = max(median + GAIN_MADS * spread, GAIN_MEANS * gains.mean())
    return np.asarray(gains > least)
