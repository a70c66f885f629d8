"""Bins of the columns: where the trees of the default booster may cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.errors import InputError
from shaff.trees.coding import MISSING, CodeArray, Coding
from shaff.trees.ensemble import Ensemble

# A bin is one byte in the core, and one value stands for what is missing.
MAX_BINS = 255
# Quantiles of more rows cut no better, and sorting takes time (`benchmarks.large`).
MAX_SORTED_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class Bins:
    """At most 255 bins per column, about equally full; a category is a bin of its own.

    Parameters
    ----------
    cuts : tuple of float arrays, one a column
        Bin b ends at ``cuts[b]``, which belongs to it; none for a column of categories.
    categories : mapping of column to a sorted int array
        Categories of the rows that the bins were made of; others count as missing.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.trees.binning import Bins
    >>> X = np.array([[1.0, 7.0], [2.0, 7.0], [2.0, np.nan], [4.0, 5.0]])
    >>> bins = Bins.of(X, np.array([False, True]))
    >>> bins.cuts[0].tolist(), bins.categories[1].tolist(), bins.n_bins.tolist()
    ([1.5, 3.0], [5, 7], [3, 2])
    >>> bins.as_bytes(bins.encode(X)).tolist()
    [[0, 1, 1, 2], [1, 1, 2, 0]]
    """

    cuts: tuple[FloatArray, ...]
    categories: Mapping[int, IntArray]

    @classmethod
    def of(cls, X: FloatArray, categorical: BoolArray, weight: FloatArray | None = None) -> Bins:
        """Make bins from the values of some rows; weights count as repeated rows."""
        step = -(-len(X) // MAX_SORTED_ROWS)
        weight = np.ones(len(X)) if weight is None else weight
        none = np.zeros(0)
        cuts = tuple(
            none if categorical[j] else _quantile_cuts(X[::step, j], weight[::step])
            for j in range(X.shape[1])
        )
        categories = {int(j): _categories(X[:, j], int(j)) for j in np.flatnonzero(categorical)}
        return cls(cuts, categories)

    @property
    def n_bins(self) -> npt.NDArray[np.int32]:
        """Bins of each column, without that of missing values."""
        sizes = [len(cuts) + 1 for cuts in self.cuts]
        for column, known in self.categories.items():
            sizes[column] = len(known)
        return np.array(sizes, dtype=np.int32)

    @property
    def categorical(self) -> npt.NDArray[np.uint8]:
        """Mask of the columns of categories, as 0 and 1."""
        return np.isin(np.arange(len(self.cuts)), list(self.categories)).astype(np.uint8)

    def encode(self, X: FloatArray) -> CodeArray:
        """Codes of rows as `Coding` has them: numbers of bins, but categories by themselves."""
        return Coding.of(self.no_trees(), self.cuts).encode(X)

    def no_trees(self) -> Ensemble:
        """An ensemble that sees rows as these bins do, and has no tree yet."""
        return Ensemble.from_trees(
            [],
            len(self.cuts),
            base_score=0.0,
            learning_rate=1.0,
            shrinkage=0.0,
            known_categories=self.categories,
        )

    def as_bytes(self, codes: CodeArray) -> npt.NDArray[np.uint8]:
        """Numbers of bins as the core has them: those of categories are their places, and what is
        missing comes after the last."""
        out = np.empty(codes.shape, dtype=np.uint8)
        for column, (code, n_bins) in enumerate(zip(codes, self.n_bins, strict=True)):
            known = self.categories.get(column)
            places = code if known is None else np.searchsorted(known, code)
            out[column] = np.where(code == MISSING, n_bins, places)
        return out


def _quantile_cuts(x: FloatArray, weight: FloatArray) -> FloatArray:
    """Cuts between all neighbouring values if these are few, else at quantiles."""
    present = ~np.isnan(x) & (weight > 0)
    order = np.argsort(x[present])
    x, weight = x[present][order], weight[present][order]
    is_first = np.append(True, x[1:] != x[:-1])[: len(x)]
    distinct = x[is_first]
    if len(distinct) <= MAX_BINS:
        # Halves are added: a sum of two large numbers may overflow.
        return np.asarray(distinct[1:] / 2 + distinct[:-1] / 2)
    below = np.cumsum(weight)
    wanted = np.arange(1, MAX_BINS) / MAX_BINS * below[-1]
    # Where a share ends just between two rows, the cut is half way, whatever the last digit says.
    ends = [np.searchsorted(below, wanted * (1 + slack)) for slack in (-1e-12, 1e-12)]
    low, high = (x[np.minimum(end, len(x) - 1)] for end in ends)
    return np.unique(low / 2 + high / 2)


def _categories(x: FloatArray, column: int) -> IntArray:
    known = np.unique(x[~np.isnan(x)]).astype(np.int64)
    if len(known) > MAX_BINS:
        raise InputError(f"Column {column} has {len(known)} categories, more than {MAX_BINS}.")
    return known
