"""Ridge regressions on smooth functions of columns and of their pairs.

A subset of columns has the functions whose columns are all in it. One Gram matrix serves all
subsets; one eigendecomposition a subset gives, at every penalty, the residual of each row without
that row, so that nothing is refitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.values.smooth.basis import (
    PAIR_SCALE,
    BasisSize,
    ColumnBasis,
    Products,
    doublings,
    likeliest,
    pairs_that_matter,
)
from shaff.values.smooth.fold_ridge import FoldRidge, FoldsLeftOut
from shaff.values.smooth.leave_out import (
    LeaveOutTarget,
    LeftOut,
    RowsLeftOut,
    Spectrum,
    choose,
    leave_out,
    ridge_slopes,
)

# The Gram matrix and its eigenvectors are what costs: features, and entries of their matrix.
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

    def prepare(self, rows: FloatArray) -> Any:
        """Return what `apply` needs about other rows."""

    def fit(self, mask: BoolArray, penalty: float) -> Any:
        """The regression of all rows on a subset."""

    def apply(self, fit: Any, prepared: Any) -> FloatArray:
        """Predictions of a fit at other rows, shape (n_rows, n_outputs)."""


class AnovaRidge:
    """Ridge regression on functions of one column and products of functions of two.

    Parameters
    ----------
    X : float array of shape (n, n_columns)
    target : LeaveOutTarget
    bases : list of ColumnBasis
    kind : {"line", "main"}
        What is made of a single column.
    products : list of Products
        One for each fold, for its rows; or one for all.
    views : bool array of shape (n_folds, n_columns) or None
        Columns that each fold may see; None means all.
    """

    def __init__(
        self,
        X: FloatArray,
        target: LeaveOutTarget,
        bases: list[ColumnBasis],
        kind: Literal["line", "main"],
        products: Sequence[Products] = (),
        views: BoolArray | None = None,
    ) -> None:
        self._target, self._bases, self._kind = target, bases, kind
        self._products = Products.union(products)
        features, self._owners = self._features(X)
        self._centre = features @ target.weight / target.total
        self._known = features - self._centre[:, None]
        self._gram = (self._known * target.weight) @ self._known.T
        self._ridge = None if target.folds is None else FoldRidge(self._known, target)
        self._allowed = self._allow(products, views)

    def _allow(self, products: Sequence[Products], views: BoolArray | None) -> BoolArray:
        """Mark the features of each fold."""
        allowed = np.ones((self._target.n_folds, self.n_features), dtype=bool)
        for k, some in enumerate(products):
            # One for all is a list of one.
            which = slice(None) if len(products) == 1 else k
            allowed[which, self.n_features - len(self._products) :] = self._products.among(some)
        return allowed if views is None else allowed & views[:, self._owners].all(axis=1)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self._known)

    @property
    def most_in_a_fold(self) -> int:
        """Number of features of the fold that has the most."""
        return int(self._allowed.sum(axis=1).max())

    def leave_out(self, mask: BoolArray) -> LeftOut:
        """Each row predicted without itself, or without its fold, at several penalties."""
        if self._ridge is None:
            return self._leave_out_rows(mask)
        return FoldsLeftOut(self._ridge, self._sets(mask))

    def _leave_out_rows(self, mask: BoolArray) -> RowsLeftOut:
        out = RowsLeftOut.empty(self._target)
        for inside, folds in self._sets(mask):
            rows = np.isin(self._target.fold_of, folds)
            gram = self._gram[np.ix_(inside, inside)]
            spectrum = Spectrum.of(self._known[inside], self._target, rows, gram)
            out.fill(rows, leave_out(spectrum, self._target.take(rows)))
        return out

    def prepare(self, rows: FloatArray) -> FloatArray:
        """Features of other rows."""
        return self._features(rows)[0] - self._centre[:, None]

    def fit(self, mask: BoolArray, penalty: float) -> FloatArray:
        """Slopes of all features, shape (n_features, n_outputs); the folds' features are taken in
        turn."""
        out = np.zeros((self.n_features, self._target.y.shape[1]))
        for inside, folds in self._sets(mask):
            gram = self._gram[np.ix_(inside, inside)]
            slopes = ridge_slopes(self._known[inside], self._target, penalty, gram)
            out[inside] += slopes * (len(folds) / len(self._allowed))
        return out

    def apply(self, fit: FloatArray, prepared: FloatArray) -> FloatArray:
        """Predictions at other rows."""
        used = np.flatnonzero(fit.any(axis=1))
        return np.asarray(self._target.mean + prepared[used].T @ fit[used])

    def _sets(self, mask: BoolArray) -> list[tuple[IntpArray, list[int]]]:
        """Features of a subset, with the folds that have these: mostly all have the same."""
        sets: dict[bytes, tuple[IntpArray, list[int]]] = {}
        own = mask[self._owners].all(axis=0)
        for fold, allowed in enumerate(self._allowed):
            inside = np.flatnonzero(own & allowed)
            sets.setdefault(inside.tobytes(), (inside, []))[1].append(fold)
        return list(sets.values())

    def _features(self, X: FloatArray) -> tuple[FloatArray, IntpArray]:
        """Features of rows, shape (n_features, n), and the two columns that each needs."""
        parts = [getattr(b, self._kind)(x).T for b, x in zip(self._bases, X.T, strict=True)]
        owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        factors = [b.pair(x) for b, x in zip(self._bases, X.T, strict=True)]
        parts.append(PAIR_SCALE * self._products.values(factors))
        pairs = np.stack([self._products.first, self._products.second])
        return np.vstack(parts), np.hstack([np.stack([owner, owner]), pairs])


def anova_models(
    X: FloatArray, target: LeaveOutTarget, categorical: BoolArray, views: BoolArray | None = None
) -> list[Model]:
    """Lines; curves; curves with the products of pairs that matter; with products of all pairs.

    Where pairs are few the last has them all, else the likeliest functions of each. Folds that
    may see some columns only (``views``) take as many decompositions: they do without the last.
    """
    n_seen = X.shape[1] if views is None else int(views.sum(axis=1).max())
    size, most_features = BasisSize.of(len(X)), MAX_FEATURES_BY_FOLD
    if views is None:
        most_features = MAX_FEATURES + int(MORE_FEATURES * doublings(len(X)))
    room = int(min(most_features, max(MAX_ENTRIES / len(X), 2 * n_seen)))
    most = max(1, int(MAIN_SHARE * room / n_seen))
    bases = [
        ColumnBasis(x, target.weight, bool(c), most, size)
        for x, c in zip(X.T, categorical, strict=True)
    ]
    curves = AnovaRidge(X, target, bases, "main", views=views)
    models: list[Model] = [AnovaRidge(X, target, bases, "line", views=views), curves]
    products, room = Products.all(bases), room - curves.most_in_a_fold
    found = found_products(X, products, bases, room, target, curves, views)
    for chosen in (found, [likeliest(products, room)] if views is None else []):
        if any(len(some) for some in chosen):
            models.append(AnovaRidge(X, target, bases, "main", chosen, views))
    return models


def found_products(
    X: FloatArray,
    products: Products,
    bases: list[ColumnBasis],
    room: int,
    target: LeaveOutTarget,
    curves: AnovaRidge,
    views: BoolArray | None = None,
) -> list[Products]:
    """Products of the pairs that matter, for each fold as the others see it."""
    residuals = choose([curves.leave_out(np.ones(X.shape[1], dtype=bool))], target).residuals
    factors = [b.pair(x) for b, x in zip(bases, X.T, strict=True)]
    out = []
    for k, trained in enumerate(target.training):
        weight = np.where(trained, target.weight, 0.0)
        own = products if views is None else products.of_columns(views[k])
        found = pairs_that_matter(own, factors, residuals, weight, target.copies)
        out.append(likeliest(own.take(found), room))
    return out
