"""Which players are worth playing for, by some rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from shaff._typing import BoolArray, FloatArray, IntpArray
from shaff.screening.tests import ColumnTests, player_p_values
from shaff.trees.binning import Bins
from shaff.trees.histogram_booster import Growth
from shaff.values.default_booster import default_booster

# A null column passes a test with this probability, and no more than 0.14 columns are expected to
# pass it among all: a squared correlation past 10.2 / n up to 100 columns, more beyond.
LEVEL, FALSE_ALARMS = 0.0014, 0.14
# A split gain stands out if it is above the median by so many median absolute deviations, and so
# many times the mean: with many columns most gains are 0, and then any gain would.
GAIN_MADS, GAIN_MEANS = 4.0, 3.0
# So many play whatever the tests say, and no more than so many.
FEWEST, MOST = 25, 60
# The booster whose gains are looked at: quick, and small trees.
SCOUT_TREES, SCOUT_RATE, SCOUT_LEAVES = 40, 0.2, 8


def screen(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    players: Sequence[IntpArray] | None = None,
    categorical: npt.ArrayLike | None = None,
    gains: npt.ArrayLike | None = None,
    fewest: int = FEWEST,
    most: int = MOST,
) -> BoolArray:
    """Players worth playing for.

    Each column is compared with y, and with what curves of the best columns leave of y, as it is,
    squared, by waves of its ranks, by its being missing, and for categories by the means in them.
    A player is kept if a test says so (at a level that lets 0.14 nulls pass at most), or if its
    share of the split gains stands out. The screen is generous on purpose: the best ``fewest``
    stay in any case. Of more than ``most`` the best stay.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Numeric; NaN is missing.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
    players : sequence of int arrays or None
        The columns of each; None means one a column.
    categorical : bool array of shape (n_columns,) or None
        Columns of category codes.
    gains : array of shape (n_columns,) or None
        Split gains of an ensemble fitted to y itself (not to the residuals of a linear fit), which
        see interactions of columns that are null by themselves.
    fewest, most : int

    Returns
    -------
    bool array of shape (n_players,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.screening import screen
    >>> X = np.random.default_rng(0).standard_normal((500, 5))
    >>> screen(X, X[:, 0] + X[:, 1] ** 2, fewest=2).tolist()
    [True, True, False, False, False]
    """
    columns = np.asarray(X, dtype=np.float64)
    n_columns = columns.shape[1]
    kinds = np.zeros(n_columns, dtype=bool) if categorical is None else np.asarray(categorical)
    members = [np.array([j]) for j in range(n_columns)] if players is None else players
    tests, outputs = ColumnTests(columns, kinds), np.asarray(y).reshape(len(columns), -1)
    p_values = found_p_values(tests, outputs, members, fewest)
    sure = p_values < min(LEVEL, FALSE_ALARMS / len(members))
    if gains is not None:
        shares = np.asarray(gains, dtype=np.float64)
        sure |= _outlying(np.array([shares[player].sum() for player in members]))
    order = np.lexsort([p_values, ~sure])
    kept = np.zeros(len(members), dtype=bool)
    kept[order[: int(np.clip(sure.sum(), fewest, most))]] = True
    return kept


def found_p_values(
    tests: ColumnTests, y: FloatArray, players: Sequence[IntpArray], n_best: int = FEWEST
) -> FloatArray:
    """The smaller of two p-values of each player: against y; and against what curves of the best
    columns leave, for those that show only then."""
    targets = _with_ranks(y)
    first = player_p_values(tests, targets, players)
    order = np.argsort(first, kind="stable")
    best, rest = order[:n_best], order[n_best:]
    if not len(rest) or not len(best):
        return first
    # No more columns than the rows can tell apart.
    room = max(1, len(y) // 40)
    columns = np.unique(np.concatenate([players[k] for k in best])[:room])
    left = tests.without(y, columns)
    second = player_p_values(tests, _with_ranks(left), players)
    out = first.copy()
    out[rest] = np.minimum(first[rest], second[rest])
    return out


def scout_gains(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    """Shares of the columns in the split gains of quick boosters on y, one an output."""
    booster = default_booster(len(X), SCOUT_RATE, SCOUT_LEAVES)
    bins = Bins.of(X, np.zeros(X.shape[1], dtype=bool))
    rows = bins.as_bytes(bins.encode(X))
    gains = np.zeros(X.shape[1])
    for k, target in enumerate(y.T):
        ensemble = Growth(booster, bins, rows, target, seed=seed + k).grow(SCOUT_TREES)
        gains += ensemble.column_gains() / max(float(target.var()), 1e-300)
    return gains


def _with_ranks(y: FloatArray) -> FloatArray:
    """Ranks do not mind long tails."""
    return np.hstack([y, rankdata(y, axis=0)])


def _outlying(gains: FloatArray) -> BoolArray:
    median = np.median(gains)
    spread = np.median(np.abs(gains - median))
    least = max(median + GAIN_MADS * spread, GAIN_MEANS * gains.mean())
    return np.asarray(gains > least)
