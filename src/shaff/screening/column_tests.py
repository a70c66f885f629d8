"""Quick tests of whether each column, or player, tells something about y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc
from scipy.stats import rankdata

from shaff._util.statistics import equal_means_p_value
from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray

RankArray = npt.NDArray[np.float32]
# Waves of a column's ranks that y is compared with, beside the column and its square.
# Fewer miss what turns more than once (`benchmarks.wide retention`).
WAVES = 4
# A block of columns is tested together where it has this many rows per column.
# Fewer rows, and the test finds noise (`benchmarks.wide nulls`).
ROWS_PER_COLUMN = 4
# Columns at a time: memory only (`benchmarks.wide time`).
BLOCK = 256
# Ridge penalty, a share of the rows, of the curves that are taken off before looking again.
# Smaller takes noise off, larger hides weak effects (`benchmarks.wide retention`).
CURVE_PENALTY = 0.05


class ColumnTests:
    """Tests of the columns of a table against any targets.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
        NaN is missing.
    categorical : bool array of shape (n_columns,)
    ranks : float32 array of the shape of X or None
        Ranks as `all_ranks` returns them; None computes them as they are needed.

    Notes
    -----
    A column of numbers is compared with y by their correlation, as it is, squared, and by waves of
    its ranks; a column of categories by the means of y in them; and its being missing counts too.
    Each comparison is chi-square with one degree of freedom, or F, where the column tells nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.screening.column_tests import ColumnTests
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> tests = ColumnTests(X, np.zeros(3, dtype=bool))
    >>> (tests.p_values(X[:, [0]] + X[:, [1]] ** 2) < 0.001).tolist()
    [True, True, False]
    """

    def __init__(
        self, X: FloatArray, categorical: BoolArray, ranks: RankArray | None = None
    ) -> None:
        self.X, self.categorical, self._ranks = X, categorical, ranks
        self._there = ~np.isnan(X)
        self._whole = bool(self._there.all())

    def take(self, rows: IntArray) -> ColumnTests:
        """Return tests of some rows, with their ranks among all rows: ranks do not depend on y."""
        ranks = None if self._ranks is None else self._ranks[rows]
        return ColumnTests(self.X[rows], self.categorical, ranks)

    def p_values(self, y: FloatArray) -> FloatArray:
        """Return the smallest p-value of each column against targets, shape (n_rows, n_targets)."""
        out = chdtrc(1, self._scores(y))
        for j in np.flatnonzero(self.categorical):
            known = self._there[:, j]
            if known.any():
                out[j] = min(float(out[j]), _means_differ(self.X[known, j], y[known]))
        return np.asarray(out)

    def _scores(self, y: FloatArray) -> FloatArray:
        """Number of rows times the largest squared correlation of each column's features."""
        targets = _unit_outputs(y)
        out = np.zeros(self.X.shape[1])
        for first in range(0, len(out), BLOCK):
            block = slice(first, first + BLOCK)
            for feature in self.features(block):
                squared = (_unit(feature).T @ targets) ** 2
                out[block] = np.maximum(out[block], squared.max(axis=1))
        return len(y) * out

    def features(self, columns: slice | IntpArray) -> list[FloatArray]:
        """Functions of columns, each of shape (n_rows, n_columns): centred, 0 where missing or
        where the column holds categories."""
        X, there = self.X[:, columns], self._there[:, columns]
        numeric = ~self.categorical[columns]
        ranks = scaled_ranks(X) if self._ranks is None else self._ranks[:, columns]
        centred = _without_unit(_centred(X, there), X)
        raw = [centred, _centred(centred**2, there)]
        raw += [_centred(wave, there) for wave in _waves(ranks)]
        missing = [] if self._whole else [_centred(there.astype(float), np.ones_like(there))]
        return [feature * numeric for feature in raw] + missing

    def without(self, y: FloatArray, columns: IntpArray) -> FloatArray:
        """Return the residuals of y from ridge regression on curves of some columns."""
        features = np.hstack([_unit(f) for f in self.features(columns)])
        features = features[:, (features**2).sum(axis=0) > 0]
        gram = features.T @ features + CURVE_PENALTY * np.eye(features.shape[1])
        centred = y - y.mean(axis=0)
        return np.asarray(centred - features @ np.linalg.solve(gram, features.T @ centred))


def scaled_ranks(X: FloatArray) -> FloatArray:
    """Share of the known entries of each column up to an entry; NaN where it is missing."""
    there = ~np.isnan(X)
    # Ranks among known entries alone take much longer.
    ranks = rankdata(X, axis=0) if there.all() else rankdata(X, axis=0, nan_policy="omit")
    return np.asarray(ranks / np.maximum(there.sum(axis=0), 1), dtype=np.float64)


def all_ranks(X: FloatArray) -> RankArray:
    """Return `scaled_ranks` of many columns, in single precision to save memory."""
    out = np.empty(X.shape, dtype=np.float32)
    for first in range(0, X.shape[1], BLOCK):
        out[:, first : first + BLOCK] = scaled_ranks(X[:, first : first + BLOCK])
    return out


def _waves(ranks: npt.NDArray[np.floating[Any]]) -> list[FloatArray]:
    """Cosines of 1, 2, ... half turns over the ranks: each from the two before it."""
    first = np.cos(np.pi * ranks.astype(np.float64))
    waves = [np.ones_like(first), first]
    while len(waves) <= WAVES:
        waves.append(2 * first * waves[-1] - waves[-2])
    return waves[1:]


def player_p_values(
    tests: ColumnTests, y: FloatArray, players: Sequence[IntpArray]
) -> npt.NDArray[np.float64]:
    """Return a p-value per player.

    It is that of its only column; with several columns, that of the best one, adjusted for their
    number, or of all together.
    """
    single = tests.p_values(y)
    out = np.ones(len(players))
    for k, columns in enumerate(players):
        out[k] = min(1.0, len(columns) * float(single[columns].min(initial=1.0)))
        if 1 < len(columns) <= len(y) / ROWS_PER_COLUMN:
            out[k] = min(out[k], _together(tests, y, columns))
    return out


def _together(tests: ColumnTests, y: FloatArray, columns: IntpArray) -> float:
    """Return the p-value of least squares on a block of columns."""
    basis, size, _ = np.linalg.svd(tests.features(columns)[0], full_matrices=False)
    rank = int((size > 1e-9 * max(size[0], 1e-300)).sum())
    explained = ((basis[:, :rank].T @ _unit_outputs(y)) ** 2).sum(axis=0).max()
    return float(chdtrc(rank, len(y) * explained)) if rank else 1.0


def _means_differ(codes: FloatArray, outputs: FloatArray) -> float:
    """Smallest p-value of the F-tests of equal mean targets of the categories."""
    levels = np.unique(codes, return_inverse=True)[1]
    count = np.bincount(levels)
    centred = outputs - outputs.mean(axis=0)
    total = np.stack([np.bincount(levels, weights=output) for output in centred.T])
    between = (total**2 / count).sum(axis=1)
    within = (centred**2).sum(axis=0) - between
    return equal_means_p_value(between, within, len(count), len(codes))


def _centred(x: FloatArray, there: BoolArray) -> FloatArray:
    known = np.where(there, x, 0.0)
    mean = known.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.asarray(np.where(there, x - mean, 0.0))


def _without_unit(centred: FloatArray, x: FloatArray) -> FloatArray:
    """Centred columns between -1 and 1; 0 where what is left of a column is rounding."""
    largest = np.abs(centred).max(axis=0, initial=0.0)
    size = np.nan_to_num(np.abs(x)).max(axis=0, initial=0.0)
    return np.asarray(centred / np.where(largest > 1e-12 * size, largest, np.inf))


def _unit_outputs(y: FloatArray) -> FloatArray:
    return _unit(_without_unit(y - y.mean(axis=0), y))


def _unit(x: FloatArray) -> FloatArray:
    """Centred columns of length 1, or 0 where they do not vary."""
    centred = x - x.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    least = 1e-12 * (1 + np.abs(x).max(axis=0, initial=0.0)) * np.sqrt(len(x))
    return np.asarray(centred / np.where(size > least, size, np.inf))
