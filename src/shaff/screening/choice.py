"""The screen: which players are kept, by tests and split gains on some rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray
from shaff.screening.column_tests import ColumnTests, player_p_values
from shaff.trees.binning import Bins
from shaff.trees.histogram_booster import Growth
from shaff.values.boosting.default_booster import default_booster

# A null column passes a test with this probability, and no more than 0.14 columns are expected to
# pass it among all: a squared correlation past 10.2 / n up to 100 columns, more beyond.
# Stricter, and weak effects are lost (`benchmarks.wide retention`).
LEVEL, FALSE_ALARMS = 0.0014, 0.14
# A split gain stands out if it is above the median of those that are not 0 by so many median
# absolute deviations, and so many times their mean: with many columns most gains are 0, and beside
# those any gain would. Lower, and noise plays by name (`benchmarks.wide time`).
GAIN_MADS, GAIN_MEANS = 4.0, 3.0
# A fold keeps at least so many, whatever the tests say, and at most so many; and so many play by
# name, unless tests are sure of more.
# Fewer lose weak effects (`benchmarks.wide retention`), more take time (`benchmarks.wide time`).
FEWEST, MOST = 25, 60
# Many rows carry more columns, among them those that only tell something in company, which no test
# of one column sees: fewer rows per column, and small tables learn from noise; more, and products
# of columns that are null alone are lost (`benchmarks.lake`).
ROWS_PER_KEPT = 1000
# The booster whose gains are looked at: quick, and small trees. Fewer, and bent effects are lost
# (`benchmarks.wide retention`).
SCOUT_TREES, SCOUT_RATE, SCOUT_LEAVES = 40, 0.2, 8


def fewest_of(n_rows: int) -> int:
    """Return how many players a screen of that many rows keeps, whatever the tests say.

    Examples
    --------
    >>> from shaff.screening.choice import fewest_of
    >>> [fewest_of(n_rows) for n_rows in (300, 40_000, 80_000)]
    [25, 40, 60]
    """
    return int(np.clip(n_rows // ROWS_PER_KEPT, FEWEST, MOST))


@dataclass(frozen=True, eq=False)
class Screened:
    """Outcome of one screen for each player.

    Parameters
    ----------
    kept : bool array of shape (n_players,)
        Whether the player is kept.
    sure : bool array of shape (n_players,)
        Whether it is kept because a test is significant.
    p_values : float array of shape (n_players,)
        Smallest p-value of its tests.
    """

    kept: BoolArray
    sure: BoolArray
    p_values: FloatArray


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
    """Select the players that may have an effect.

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
        Columns of each player; None means that each column is a player.
    categorical : bool array of shape (n_columns,) or None
        Columns of category codes.
    gains : array of shape (n_columns,) or None
        Split gains of an ensemble fitted to y itself (not to the residuals of a linear fit), which
        see interactions of columns that are null by themselves.
    fewest, most : int, default=25 and 60
        Smallest and largest number of players to keep.

    Returns
    -------
    bool array of shape (n_players,)
        Whether each player is kept.

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
    shares = None if gains is None else np.asarray(gains, dtype=np.float64)
    return choose(p_values, members, shares, fewest, most).kept


def choose(
    p_values: FloatArray,
    players: Sequence[IntpArray],
    gains: FloatArray | None,
    fewest: int,
    most: int,
) -> Screened:
    """Choose the players to keep from their p-values and the split gains of the columns."""
    sure = found = p_values < min(LEVEL, FALSE_ALARMS / len(players))
    if gains is not None:
        found = sure | _outlying(np.array([gains[player].sum() for player in players]))
    order = np.lexsort([p_values, ~found])
    kept = np.zeros(len(players), dtype=bool)
    kept[order[: int(np.clip(found.sum(), fewest, most))]] = True
    return Screened(kept, sure & kept, p_values)


def named(folds: Sequence[Screened], most: int = MOST) -> BoolArray:
    """Select the players that play by name: those that any fold keeps.

    If these are more than ``most``, they are those that are significant in some fold, and then
    those that most folds keep: columns that one or two folds keep for want of better ones are
    mostly noise.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.screening.choice import Screened, named
    >>> kept = [np.array([True, True, False]), np.array([True, False, True])]
    >>> sure = [np.zeros(3, dtype=bool), np.array([False, False, True])]
    >>> folds = [Screened(k, s, np.full(3, 0.5)) for k, s in zip(kept, sure)]
    >>> named(folds).tolist(), named(folds, most=2).tolist()
    ([True, True, True], [True, False, True])
    """
    votes = np.sum([fold.kept for fold in folds], axis=0)
    sure = np.any([fold.sure for fold in folds], axis=0)
    evidence = np.sum([np.log(np.maximum(fold.p_values, 1e-300)) for fold in folds], axis=0)
    order = np.lexsort([evidence, -votes, ~sure])
    out = np.zeros(len(votes), dtype=bool)
    out[order[: max(most, int(sure.sum()))]] = True
    return np.asarray(out & (votes > 0))


def found_p_values(
    tests: ColumnTests, y: FloatArray, players: Sequence[IntpArray], n_best: int = FEWEST
) -> FloatArray:
    """Return the smaller of two p-values of each player.

    One is of its tests against y, the other of those against the residuals of y on curves of the
    best columns, where some effects show only.
    """
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


class Scout:
    """Quick boosters for the screen.

    Their split gains see interactions of columns that are null by themselves. The columns are cut
    into bins once, by all rows: bins do not depend on y.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
    """

    def __init__(self, X: FloatArray) -> None:
        self._bins = Bins.of(X, np.zeros(X.shape[1], dtype=bool))
        self._rows = self._bins.as_bytes(self._bins.encode(X))

    def gains(self, rows: IntArray, y: FloatArray, seed: int) -> FloatArray:
        """Return shares of the columns in the split gains of boosters on some rows, summed over
        the outputs."""
        booster = default_booster(len(rows), SCOUT_RATE, SCOUT_LEAVES, slopes=False)
        own = np.ascontiguousarray(self._rows[:, rows])
        gains = np.zeros(len(own))
        for k, target in enumerate(y[rows].T):
            growth = Growth(booster, self._bins, own, target, seed=seed + k)
            gains += growth.grow(SCOUT_TREES).column_gains() / max(float(target.var()), 1e-300)
        return gains


def _with_ranks(y: FloatArray) -> FloatArray:
    """Add the ranks of each output, which long tails do not affect."""
    return np.hstack([y, rankdata(y, axis=0)])


def _outlying(gains: FloatArray) -> BoolArray:
    some = gains[gains > 0]
    if not len(some):
        return np.zeros(len(gains), dtype=bool)
    median = np.median(some)
    spread = np.median(np.abs(some - median))
    return np.asarray(gains > max(median + GAIN_MADS * spread, GAIN_MEANS * some.mean()))
