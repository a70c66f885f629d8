"""Smooth functions of one column and of two, with a variance that says how likely each is.

A ridge regression on these functions is a Gaussian prior over them: smooth functions vary much,
wiggly ones little, so nothing has to be selected. Only the columns' values shape the functions,
never y; the one exception is `pairs_that_matter`, to be asked without the rows that are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtri

from shaff._util.typing import BoolArray, FloatArray, IntpArray

# Rows from which on functions become richer, and how often they do so.
# Sooner, and noise is fitted; later, and curves fall short (`benchmarks.truth`).
FEW_ROWS, MOST_DOUBLINGS = 1000, 3.5
# Normal scores beyond this are as far as scores go.
LARGEST_SCORE = 3.5
# Heavy tails decide the fit without it (`benchmarks.truth`, log-normal).
CLIP = 6.0
# An indicator of half of the rows then has the variance of a standardised column.
INDICATOR_SCALE = 2.0
# Fewer lose levels, more take time (`benchmarks.data`).
MAX_LEVELS = 64
# Directions of less variance than this share of the first are rounding.
RANK_TOLERANCE = 1e-10
# What a constant column is divided by, whatever its unit.
TINY = 1e-300
# A product has half of the scale that its factors would give it.
# Larger, and pairs of noise are fitted; smaller, and products are shrunk (`benchmarks.truth`).
PAIR_SCALE = 0.5
# Columns times factors whose products are thought of at all: with many columns fewer factors.
# More takes time and finds chance pairs (`benchmarks.values`).
MAX_FACTORS = 300
# A pair of columns without an interaction is found this rarely, all pairs together.
# Looser, and pairs of noise are fitted; stricter, and weak products are lost (`benchmarks.truth`).
SCREEN_LEVEL = 0.01


@dataclass(frozen=True)
class BasisSize:
    """How rich the functions of a column are.

    Parameters
    ----------
    waves : int
        Cosine waves of the rank of a column.
    score_waves : int
        Cosine waves of its normal score, which bend where the tails are.
    pair_waves, pair_score_waves : int
        Those that make the factors of products.
    factors : int
        Factors of a column, at most.
    """

    waves: int
    score_waves: int
    pair_waves: int
    pair_score_waves: int
    factors: int

    @classmethod
    def of(cls, n_rows: int) -> BasisSize:
        """Many rows carry more functions.

        Examples
        --------
        >>> from shaff.values.smooth.basis import BasisSize
        >>> [BasisSize.of(n_rows).waves for n_rows in (500, 4000, 100_000)]
        [10, 12, 14]
        """
        more = round(doublings(n_rows))
        return cls(10 + more, 10 + more, 6 + more, 6 + more, 7 + more)


def doublings(n_rows: int) -> float:
    """How often the number of rows has doubled since there were enough for any richer functions.

    Examples
    --------
    >>> from shaff.values.smooth.basis import doublings
    >>> doublings(100), doublings(4000)
    (0.0, 2.0)
    """
    return float(np.clip(np.log2(n_rows / FEW_ROWS), 0.0, MOST_DOUBLINGS))


class Ranks:
    """Where values stand among those of a column: shares of the weight below, in (0, 1)."""

    def __init__(self, x: FloatArray, weight: FloatArray) -> None:
        order = np.argsort(x, kind="stable")
        self._sorted = x[order]
        self._below = np.concatenate([[0.0], np.cumsum(weight[order])])
        inside = self._middle(x)
        self._ends = inside.min(), inside.max()

    def __call__(self, x: FloatArray) -> FloatArray:
        """Ties and values between two ranks take the middle; the ends stay inside."""
        return np.clip(self._middle(x), *self._ends)

    def _middle(self, x: FloatArray) -> FloatArray:
        below = self._below[np.searchsorted(self._sorted, x, side="left")]
        upto = self._below[np.searchsorted(self._sorted, x, side="right")]
        return np.asarray((below + upto) / (2 * self._below[-1]))


class ColumnFunctions(NamedTuple):
    """What is made of a column, each of shape (n, n_functions)."""

    line: FloatArray
    main: FloatArray
    pair: FloatArray


class NumericColumn:
    """The column as it is, its normal score and cosine waves of its rank.

    A missing entry has the value 0 in all of them, their mean, and an indicator of its own.
    """

    def __init__(
        self,
        x: FloatArray,
        weight: FloatArray,
        size: BasisSize,
        plain_scale: float = 1.0,
    ) -> None:
        known = ~np.isnan(x) & (weight > 0)
        self._size, self._plain_scale = size, plain_scale
        self._x, self._weight = x[known], weight[known]
        self._missing = float(weight @ np.isnan(x) / weight.sum())
        if len(self._x):
            self._mean = float(np.average(self._x, weights=self._weight))
            variance = np.average((self._x - self._mean) ** 2, weights=self._weight)
            self._scale = max(float(np.sqrt(variance)), 1e-12 * abs(self._mean), TINY)
            self._ranks = Ranks(self._x, self._weight)
            self._centre = np.average(self._curves(self._x), axis=0, weights=self._weight)

    def main(self, x: FloatArray) -> FloatArray:
        """Functions of the column, shape (n, n_functions)."""
        return self.functions(x).main

    def functions(self, x: FloatArray) -> ColumnFunctions:
        """The column itself, functions of it, and factors of its products with others."""
        size, curves = self._size, self._centred(x)
        line, scores = curves[:, :1], curves[:, 2 + size.waves :][:, : size.pair_score_waves]
        pair = np.column_stack([curves[:, 1 : 2 + size.pair_waves], np.sqrt(2.0) * scores])
        if self._missing not in (0.0, 1.0):
            indicator = INDICATOR_SCALE * (np.isnan(x) - self._missing)
            line, curves = np.column_stack([line, indicator]), np.column_stack([curves, indicator])
        return ColumnFunctions(line, curves, pair)

    def _centred(self, x: FloatArray) -> FloatArray:
        out = np.zeros((len(x), self._n_curves))
        known = ~np.isnan(x)
        if len(self._x):
            out[known] = self._curves(x[known]) - self._centre
        return out

    @property
    def _n_curves(self) -> int:
        return 2 + self._size.waves + self._size.score_waves

    def _curves(self, x: FloatArray) -> FloatArray:
        u = self._ranks(x)
        score = ndtri(u)
        standardised = np.clip((x - self._mean) / self._scale, -CLIP, CLIP)
        plain = self._plain_scale * np.column_stack([standardised, score])
        return np.column_stack([plain, _rank_waves(u, self._size), _score_waves(score, self._size)])


def _rank_waves(rank: FloatArray, size: BasisSize) -> FloatArray:
    k = np.arange(1, size.waves + 1)
    return np.asarray(np.sqrt(2.0) * np.cos(np.pi * rank[:, None] * k) / k**1.5)


def _score_waves(score: FloatArray, size: BasisSize) -> FloatArray:
    """Waves of the same size as those of the ranks, over scores that most rows have."""
    k = np.arange(1, size.score_waves + 1)
    place = np.clip(score / LARGEST_SCORE, -1.0, 1.0)[:, None] / 2 + 0.5
    return np.asarray(np.cos(np.pi * k * place) / np.maximum(k / 2, 1.0) ** 1.5)


class CategoryColumn:
    """Indicators of the levels; one for missing entries. Rare levels have little variance, which
    is what shrinks them; beyond `MAX_LEVELS` the rarest have none. Of two levels that are as
    frequent, the one that comes first in the rows is first: names decide nothing."""

    def __init__(self, x: FloatArray, weight: FloatArray) -> None:
        codes = _codes(x)
        levels, first, position = np.unique(codes, return_index=True, return_inverse=True)
        share = np.bincount(position, weights=weight) / weight.sum()
        frequent = np.lexsort((first, -share))[:MAX_LEVELS]
        self._levels, self._share = levels[frequent], share[frequent]

    def main(self, x: FloatArray) -> FloatArray:
        """Centred indicators, shape (n, n_levels)."""
        return np.asarray(INDICATOR_SCALE * ((_codes(x)[:, None] == self._levels) - self._share))

    def functions(self, x: FloatArray) -> ColumnFunctions:
        """Levels have no line, and factors of products are the same functions."""
        levels = self.main(x)
        return ColumnFunctions(levels, levels, levels)


def _codes(x: FloatArray) -> FloatArray:
    """Category codes, with a number for missing entries: NaN equals nothing."""
    return np.where(np.isnan(x), -1.0, x)


@dataclass(frozen=True, eq=False)
class Axes:
    """Principal axes of some functions: the same ridge regression with the fewest features."""

    rotation: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, functions: FloatArray, weight: FloatArray, most: int) -> Axes:
        """Return the axes of the largest variance, in falling order."""
        covariance = functions.T @ (functions * weight[:, None]) / weight.sum()
        values, vectors = np.linalg.eigh(covariance)
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = (values > RANK_TOLERANCE * max(values[0], 1.0))[:most].nonzero()[0]
        return cls(vectors[:, kept], values[kept])


class ColumnBasis:
    """What is made of one column: its line, its functions, and its factors of products."""

    def __init__(
        self,
        column: NumericColumn | CategoryColumn,
        functions: ColumnFunctions,
        weight: FloatArray,
        most: int,
        size: BasisSize,
    ) -> None:
        self._column = column
        self._main = Axes.of(functions.main, weight, most)
        self._pair = Axes.of(functions.pair, weight, size.factors)
        self._line = Axes.of(functions.line, weight, most)
        self.pair_variances = self._pair.variances

    @classmethod
    def fit(
        cls, x: FloatArray, weight: FloatArray, categorical: bool, most: int, size: BasisSize
    ) -> tuple[ColumnBasis, ColumnFunctions]:
        """Return the basis of a column, and the functions of its own entries."""
        column = CategoryColumn(x, weight) if categorical else NumericColumn(x, weight, size)
        functions = column.functions(x)
        basis = cls(column, functions, weight, most, size)
        return basis, basis._in_axes(functions)

    @property
    def n_functions(self) -> int:
        """Number of functions of the column."""
        return len(self._main.variances)

    def of(self, x: FloatArray) -> ColumnFunctions:
        """Functions of some entries, in their axes: those of the largest variance first."""
        return self._in_axes(self._column.functions(x))

    def _in_axes(self, functions: ColumnFunctions) -> ColumnFunctions:
        line, main, pair = functions
        return ColumnFunctions(
            line @ self._line.rotation, main @ self._main.rotation, pair @ self._pair.rotation
        )


@dataclass(frozen=True, eq=False)
class Products:
    """Which factors are multiplied: two columns and a factor of each, all of shape (n_products,).

    Parameters
    ----------
    first, second : int arrays
        Columns, ``first < second``.
    left, right : int arrays
        Factor of the first column, factor of the second.
    variances : float array
        Variance of the product if the columns were independent.
    """

    first: IntpArray
    second: IntpArray
    left: IntpArray
    right: IntpArray
    variances: FloatArray

    @classmethod
    def all(cls, bases: list[ColumnBasis]) -> Products:
        """Every product of two factors of different columns."""
        variances = [b.pair_variances[: MAX_FACTORS // len(bases)] for b in bases]
        column = np.repeat(np.arange(len(bases)), [len(v) for v in variances])
        factor = np.concatenate([np.arange(len(v)) for v in variances])
        variance = np.concatenate(variances)
        a, b = np.triu_indices(len(column), 1)
        a, b = a[column[a] < column[b]], b[column[a] < column[b]]
        products = variance[a] * variance[b]
        return cls(column[a], column[b], factor[a], factor[b], products)

    @classmethod
    def union(cls, parts: Sequence[Products]) -> Products:
        """The products of several, each once."""
        keys = np.concatenate([np.zeros((0, 4), dtype=np.intp), *(part.keys for part in parts)])
        variances = np.concatenate([np.zeros(0), *(part.variances for part in parts)])
        distinct, first = np.unique(keys, axis=0, return_index=True)
        a, b, left, right = distinct.T
        return cls(a, b, left, right, variances[first])

    @property
    def keys(self) -> IntpArray:
        """Columns and factors, shape (n_products, 4)."""
        return np.stack([self.first, self.second, self.left, self.right], axis=1)

    def among(self, others: Products) -> BoolArray:
        """Return which of these products are in another set too."""
        theirs = {tuple(key) for key in others.keys.tolist()}
        return np.array([tuple(key) in theirs for key in self.keys.tolist()], dtype=bool)

    def __len__(self) -> int:
        return len(self.first)

    def take(self, kept: BoolArray) -> Products:
        """Some of the products."""
        first, second, left, right = self.keys[kept].T
        return Products(first, second, left, right, self.variances[kept])

    def of_columns(self, columns: BoolArray) -> Products:
        """Products of two of these columns."""
        return self.take(columns[self.first] & columns[self.second])

    def values(self, factors: list[FloatArray]) -> FloatArray:
        """The products, one a row: shape (n_products, n)."""
        out = np.empty((len(self), len(factors[0]) if factors else 0))
        for row in range(len(self)):
            left = factors[self.first[row]][:, self.left[row]]
            right = factors[self.second[row]][:, self.right[row]]
            np.multiply(left, right, out=out[row])
        return out


def likeliest(products: Products, room: int) -> Products:
    """The products of the largest variance, as many as there is room for.

    Products of the same variance stay or go together: then a copy of a column has what the
    column has.
    """
    return products.take(_largest(products.variances, room))


def _largest(variances: FloatArray, room: int) -> BoolArray:
    positive = np.sort(variances[variances > 0])[::-1]
    if len(positive) <= room:
        return variances > 0
    # Twins may differ in the last bits.
    return np.asarray(variances > positive[max(room, 0)] * (1 + 1e-6))


def pairs_that_matter(
    products: Products,
    factors: list[FloatArray],
    residual: FloatArray,
    weight: FloatArray,
    copies: float = 1.0,
) -> BoolArray:
    """Products of the pairs of columns whose interaction is plain in residuals of the main parts.

    A pair's statistic sums the squared t-values of its products: of all, and of those that one
    main factor has part in.

    Parameters
    ----------
    residual : float array of shape (n, n_outputs)
    weight : float array of shape (n,)
        0 for rows that must not have a say.
    copies : float
        How many units of weight say the same: rows of a group, copies of a row.
    """
    start = np.concatenate([[0], np.cumsum([f.shape[1] for f in factors])])
    a, b = start[products.first] + products.left, start[products.second] + products.right
    pair = products.first * len(factors) + products.second
    groups = [np.full(len(pair), True), products.left + products.right <= 1]
    level = SCREEN_LEVEL / max(len(np.unique(pair)) * len(groups) * residual.shape[1], 1)
    found = np.zeros(len(products), dtype=bool)
    for error in residual.T:
        t2 = _squared_t(np.hstack(factors), error, weight)[a, b] / copies
        found |= np.any([_p_values(t2 * use, pair, use) < level for use in groups], axis=0)
    return found


def _p_values(t2: FloatArray, pair: IntpArray, use: BoolArray) -> FloatArray:
    """P-value of the pair that each product belongs to."""
    total = np.bincount(pair, weights=t2)
    freedom = np.bincount(pair, weights=use)
    return np.asarray(chdtrc(np.maximum(freedom, 1.0), total)[pair])


def _squared_t(factors: FloatArray, error: FloatArray, weight: FloatArray) -> FloatArray:
    """Squared t-value of the covariance of a residual with each product of two factors."""
    moment = (factors * (weight * error)[:, None]).T @ factors
    spread = (factors**2 * (weight * error**2)[:, None]).T @ factors**2
    return np.asarray(moment**2 / np.maximum(spread, 1e-300))
