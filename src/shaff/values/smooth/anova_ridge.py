"""Ridge regressions on smooth functions of columns and of their pairs.

A subset of columns has the functions whose columns are all in it. Sums over the rows are made once,
for all models and all subsets. Where each row is left out by itself, one eigendecomposition a
subset gives its residual at every penalty, so that nothing is refitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from shaff._util.threads import run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.values.smooth.basis import (
    PAIR_SCALE,
    BasisSize,
    ColumnBasis,
    ColumnFunctions,
    Products,
    doublings,
    likeliest,
    pairs_that_matter,
)
from shaff.values.smooth.fold_ridge import FIRST_PENALTY, FoldRidge, FoldsLeftOut
from shaff.values.smooth.leave_out import (
    LeaveOutTarget,
    LeftOut,
    RowsLeftOut,
    Spectrum,
    choose,
    leave_out,
    ridge_slopes,
)

# The Gram matrix and its factors are what costs: features, with few rows and each time that these
# double, and entries of their matrix.
# Fewer lose pairs, more take time with the third power (`benchmarks.truth`, `benchmarks.values`).
MAX_FEATURES, MORE_FEATURES = 300, 50
MAX_ENTRIES = 3 * 10**7
# Where each fold sees columns of its own, and needs a decomposition of its own.
MAX_FEATURES_BY_FOLD = 200
# Functions of single columns never take more than this share.
# Larger, and pairs have no room; smaller, and columns lose their waves (`benchmarks.truth`).
MAIN_SHARE = 0.6


class Model(Protocol):
    """A way to regress y on any subset of the columns."""

    def leave_out(self, mask: BoolArray) -> LeftOut:
        """Each row predicted without itself, or without its fold, at several penalties."""

    def known_features(self) -> FloatArray:
        """Features of the rows that the model was made from, on all columns, shape (n_features,
        n)."""

    def prepare(self, rows: FloatArray) -> Any:
        """Return what `apply` needs about other rows."""

    def fit(self, mask: BoolArray, penalty: float) -> Any:
        """The regression of all rows on a subset."""

    def apply(self, fit: Any, prepared: Any) -> FloatArray:
        """Predictions of a fit at other rows, shape (n_rows, n_outputs)."""


class Columns(NamedTuple):
    """The bases of all columns, and the functions of the rows that these were made from."""

    bases: list[ColumnBasis]
    functions: list[ColumnFunctions]

    @classmethod
    def of(
        cls,
        X: FloatArray,
        weight: FloatArray,
        categorical: BoolArray,
        by_column: int,
        n_jobs: int | None = None,
    ) -> Columns:
        """Make the bases, at most ``by_column`` functions each, in threads."""
        size = BasisSize.of(len(X))
        tasks = [
            (x, weight, bool(c), by_column, size) for x, c in zip(X.T, categorical, strict=True)
        ]
        found = run_in_threads(ColumnBasis.fit, tasks, n_jobs)
        return cls([basis for basis, _ in found], [functions for _, functions in found])


class AnovaFeatures:
    """The features of several models: lines, functions of one column, products of two columns.

    Parameters
    ----------
    columns : Columns
    target : LeaveOutTarget
    products : Products
    n_jobs : int or None, default=None
        Threads that sum over the rows of the folds.
    """

    def __init__(
        self,
        columns: Columns,
        target: LeaveOutTarget,
        products: Products,
        n_jobs: int | None = None,
    ) -> None:
        self.target, self._bases, self._products = target, columns.bases, products
        self.kinds, self.owners = self._kinds_and_owners(columns.functions)
        self.known = self._features(columns.functions)
        self._centre = self.known @ target.weight / target.total
        self.known -= self._centre[:, None]
        self.ridge = None if target.folds is None else FoldRidge(self.known, target, n_jobs)

    @cached_property
    def gram(self) -> FloatArray:
        """Weighted products of the features, over all rows."""
        return np.asarray((self.known * self.target.weight) @ self.known.T)

    def of(self, rows: FloatArray) -> FloatArray:
        """Features of other rows, shape (n_features, n_rows)."""
        functions = [basis.of(x) for basis, x in zip(self._bases, rows.T, strict=True)]
        return self._features(functions) - self._centre[:, None]

    def _features(self, functions: list[ColumnFunctions]) -> FloatArray:
        lines = [f.line.T for f in functions]
        curves = [f.main.T for f in functions]
        return np.vstack(
            [*lines, *curves, PAIR_SCALE * self._products.values([f.pair for f in functions])]
        )

    def _kinds_and_owners(self, functions: list[ColumnFunctions]) -> tuple[IntpArray, IntpArray]:
        """0 for lines, 1 for curves and 2 for products; and the two columns that each needs."""
        columns = np.arange(len(functions))
        lines = np.repeat(columns, [f.line.shape[1] for f in functions])
        curves = np.repeat(columns, [f.main.shape[1] for f in functions])
        first = np.concatenate([lines, curves, self._products.first])
        second = np.concatenate([lines, curves, self._products.second])
        sizes = [len(lines), len(curves), len(self._products)]
        return np.repeat(np.arange(3), sizes), np.stack([first, second])

    def lines(self) -> BoolArray:
        """Mark the features of the columns as they are."""
        return np.asarray(self.kinds == 0)

    def curves(self) -> BoolArray:
        """Mark the functions of one column."""
        return np.asarray(self.kinds == 1)

    def with_products(self, some: Products) -> BoolArray:
        """Mark the functions of one column, and some of the products."""
        out = self.curves()
        out[self.kinds == 2] = self._products.among(some)
        return out


class AnovaRidge:
    """Ridge regression on some of the features.

    Parameters
    ----------
    features : AnovaFeatures
    allowed : bool array of shape (n_folds, n_features)
        The features of each fold.
    """

    def __init__(self, features: AnovaFeatures, allowed: BoolArray) -> None:
        self._features, self.allowed = features, allowed
        self.target = features.target
        # Where a search begins: what is best for all columns is near what is best for some.
        self._first_penalty = FIRST_PENALTY
        if features.ridge is not None:
            everything = np.ones(features.owners.max() + 1, dtype=bool)
            self._first_penalty = FoldsLeftOut(features.ridge, self._sets(everything)).best

    def leave_out(self, mask: BoolArray) -> LeftOut:
        """Each row predicted without itself, or without its fold, at several penalties."""
        ridge = self._features.ridge
        if ridge is None:
            return self._leave_out_rows(mask)
        return FoldsLeftOut(ridge, self._sets(mask), self._first_penalty)

    def _leave_out_rows(self, mask: BoolArray) -> RowsLeftOut:
        out = RowsLeftOut.empty(self.target)
        for inside, folds in self._sets(mask):
            rows = np.isin(self.target.fold_of, folds)
            gram = self._features.gram[np.ix_(inside, inside)]
            spectrum = Spectrum.of(self._features.known[inside], self.target, rows, gram)
            out.fill(rows, leave_out(spectrum, self.target.take(rows)))
        return out.within_others(self.target)

    def known_features(self) -> FloatArray:
        """Features that any fold has."""
        return self._features.known[self.allowed.any(axis=0)]

    def prepare(self, rows: FloatArray) -> FloatArray:
        """Features of other rows."""
        return self._features.of(rows)

    def fit(self, mask: BoolArray, penalty: float) -> FloatArray:
        """Slopes of all features, shape (n_features, n_outputs); the folds' features are taken in
        turn."""
        out = np.zeros((self.allowed.shape[1], self.target.y.shape[1]))
        for inside, folds in self._sets(mask):
            gram = self._features.gram[np.ix_(inside, inside)]
            slopes = ridge_slopes(self._features.known[inside], self.target, penalty, gram)
            out[inside] += slopes * (len(folds) / len(self.allowed))
        return out

    def apply(self, fit: FloatArray, prepared: FloatArray) -> FloatArray:
        """Predictions at other rows."""
        used = np.flatnonzero(fit.any(axis=1))
        return np.asarray(self.target.mean + prepared[used].T @ fit[used])

    def _sets(self, mask: BoolArray) -> list[tuple[IntpArray, list[int]]]:
        """Features of a subset, with the folds that have these: mostly all have the same."""
        sets: dict[bytes, tuple[IntpArray, list[int]]] = {}
        own = mask[self._features.owners].all(axis=0)
        for fold, allowed in enumerate(self.allowed):
            inside = np.flatnonzero(own & allowed)
            sets.setdefault(inside.tobytes(), (inside, []))[1].append(fold)
        return list(sets.values())


@dataclass(frozen=True)
class _Room:
    """How many features there may be."""

    features: int
    seen: int

    @classmethod
    def of(cls, X: FloatArray, views: BoolArray | None) -> _Room:
        seen = X.shape[1] if views is None else int(views.sum(axis=1).max())
        most = MAX_FEATURES_BY_FOLD
        if views is None:
            most = MAX_FEATURES + int(MORE_FEATURES * doublings(len(X)))
        return cls(int(min(most, max(MAX_ENTRIES / len(X), 2 * seen))), seen)

    @property
    def by_column(self) -> int:
        """Functions of a column, at most."""
        return max(1, int(MAIN_SHARE * self.features / self.seen))


def anova_models(
    X: FloatArray,
    target: LeaveOutTarget,
    categorical: BoolArray,
    views: BoolArray | None = None,
    n_jobs: int | None = None,
) -> list[AnovaRidge]:
    """Lines; curves; curves with the products of pairs that matter; with products of all pairs.

    Where pairs are few the last has them all, else the likeliest functions of each. Folds that
    may see some columns only (``views``) take as many decompositions: they do without the last.
    """
    room = _Room.of(X, views)
    columns = Columns.of(X, target.weight, categorical, room.by_column, n_jobs)
    curves = AnovaFeatures(columns, target, Products.union([]), n_jobs)
    main = AnovaRidge(curves, curves.curves() & _seen(curves, views))
    left = room.features - int(main.allowed.sum(axis=1).max())
    products = Products.all(columns.bases)
    sets = [
        found_products(columns, products, left, main, views, n_jobs),
        [likeliest(products, left)] * target.n_folds if views is None else [],
    ]
    union = Products.union([some for chosen in sets for some in chosen])
    return _models(AnovaFeatures(columns, target, union, n_jobs), sets, views, n_jobs)


def _models(
    features: AnovaFeatures,
    sets: list[list[Products]],
    views: BoolArray | None,
    n_jobs: int | None,
) -> list[AnovaRidge]:
    """Models on shared features: lines, curves, and one for each set of products by fold."""
    seen = _seen(features, views)
    marks = [features.lines() & seen, features.curves() & seen]
    for some in sets:
        if any(len(products) for products in some):
            marks.append(np.stack([features.with_products(p) for p in some]) & seen)
    return run_in_threads(AnovaRidge, [(features, allowed) for allowed in marks], n_jobs)


def _seen(features: AnovaFeatures, views: BoolArray | None) -> BoolArray:
    """Features that each fold may see, shape (n_folds, n_features)."""
    if views is None:
        return np.ones((features.target.n_folds, len(features.kinds)), dtype=bool)
    return np.asarray(views[:, features.owners].all(axis=1))


def found_products(
    columns: Columns,
    products: Products,
    room: int,
    curves: AnovaRidge,
    views: BoolArray | None = None,
    n_jobs: int | None = None,
) -> list[Products]:
    """Products of the pairs that matter, for each fold as the others see it."""
    target = curves.target
    everything = np.ones(len(columns.bases), dtype=bool)
    residuals = choose([curves.leave_out(everything)], target).residuals
    factors = [functions.pair for functions in columns.functions]

    def of_fold(fold: int, trained: BoolArray) -> Products:
        weight = np.where(trained & (target.fold_of >= 0), target.weight, 0.0)
        own = products if views is None else products.of_columns(views[fold])
        found = pairs_that_matter(own, factors, residuals, weight, target.copies)
        return likeliest(own.take(found), room)

    return run_in_threads(of_fold, list(enumerate(target.training)), n_jobs)
