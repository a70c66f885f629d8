"""Features of regressions through a link: a few functions of each column, and products."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.values.smooth.basis import (
    PAIR_SCALE,
    BasisSize,
    ColumnBasis,
    ColumnFunctions,
    Products,
)

# Waves of a column, and factors of its products; of the functions as many as these. A link needs
# few, as it bends the curves: fewer lose waves, more take time (`benchmarks.truth`, case count).
SIZE = BasisSize(waves=8, score_waves=8, pair_waves=4, pair_score_waves=4, factors=3)
MAX_FUNCTIONS, MAX_FEATURES = 10, 150
# Entries of the features of all rows: memory (`benchmarks.memory`).
MAX_ENTRIES = 3 * 10**7
# Quantiles of a column that shape its functions: more take time only.
N_QUANTILES = 1000
# Functions of single columns never take more than this share.
MAIN_SHARE = 0.7


class LinkedFeatures:
    """A constant, functions of single columns and products of two.

    Parameters
    ----------
    bases : list of ColumnBasis
    products : Products
    """

    def __init__(self, bases: list[ColumnBasis], products: Products) -> None:
        self._bases, self.products = bases, products

    def of(self, X: FloatArray) -> FloatArray:
        """Features of some rows, shape (n_features, n_rows)."""
        return self.of_functions(functions_of(self._bases, X))

    def of_functions(self, functions: list[ColumnFunctions]) -> FloatArray:
        """Features of some rows by the functions of their columns."""
        products = PAIR_SCALE * self.products.values([f.pair for f in functions])
        one = np.ones(len(functions[0].main))
        return np.vstack([one, *(f.main.T for f in functions), products])

    @cached_property
    def owners(self) -> IntpArray:
        """The two columns of each feature but the first, shape (2, n_features - 1)."""
        sizes = [basis.n_functions for basis in self._bases]
        main = np.repeat(np.arange(len(sizes)), sizes)
        first = np.concatenate([main, self.products.first])
        return np.stack([first, np.concatenate([main, self.products.second])])


def functions_of(bases: list[ColumnBasis], X: FloatArray) -> list[ColumnFunctions]:
    """What the bases make of the columns of some rows."""
    return [basis.of(x) for basis, x in zip(bases, X.T, strict=True)]


def room_for(problem: Problem) -> int:
    """How many features there may be."""
    return min(MAX_FEATURES, MAX_ENTRIES // len(problem.X))


def column_bases(problem: Problem) -> list[ColumnBasis]:
    """Bases of all columns."""
    by_column = MAIN_SHARE * room_for(problem) / problem.X.shape[1]
    most = int(np.clip(by_column, 1, MAX_FUNCTIONS))
    alike = np.ones(N_QUANTILES)
    columns = zip(problem.X.T, problem.categorical, strict=True)
    return [
        ColumnBasis.fit(_quantiles(x, problem.weight), alike, bool(c), most, SIZE)[0]
        for x, c in columns
    ]


def _quantiles(x: FloatArray, weight: FloatArray) -> FloatArray:
    """Entries of a column that stand for all, missing ones by their share."""
    order = np.argsort(x, kind="stable")
    upto = np.cumsum(weight[order])
    wanted = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES * upto[-1]
    return np.asarray(x[order[np.searchsorted(upto, wanted)]])
