"""Linked values: penalised regressions of counts or two classes on curves, through a link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shaff._util.seeds import draw_seed
from shaff._util.threads import one_blas_thread, run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.link.fold_fits import FoldFits, Folds
from shaff.values.link.links import Link
from shaff.values.outcome import Outcome
from shaff.values.smooth.basis import (
    PAIR_SCALE,
    BasisSize,
    ColumnBasis,
    Products,
    likeliest,
    pairs_that_matter,
)
from shaff.values.smooth.leave_out import LeaveOutTarget

# Functions of a column, factors of its products, and features in all. A link needs few, as it
# bends the curves: fewer lose waves, more take time (`benchmarks.truth`, case count).
MAX_FUNCTIONS, MAX_FACTORS, MAX_FEATURES = 7, 3, 150
# Functions of single columns never take more than this share.
MAIN_SHARE = 0.7
# Relative to what the rows know of a feature; from the first on as long as the error falls.
PENALTIES = np.logspace(-1, -5, 9)
# The penalty of the curves that pairs are looked for beside.
CURVES_PENALTY = 1e-3


class LinkedFeatures:
    """A constant, functions of single columns and products of two.

    Parameters
    ----------
    X : float array of shape (n, n_columns)
    weight : float array of shape (n,)
    categorical : bool array of shape (n_columns,)
    """

    def __init__(self, X: FloatArray, weight: FloatArray, categorical: BoolArray) -> None:
        size = replace(BasisSize.of(len(X)), factors=MAX_FACTORS)
        room = int(np.clip(MAIN_SHARE * MAX_FEATURES / X.shape[1], 1, MAX_FUNCTIONS))
        self.bases = [
            ColumnBasis(x, weight, bool(c), room, size)
            for x, c in zip(X.T, categorical, strict=True)
        ]
        self.products = Products.union([])

    def of(self, X: FloatArray) -> FloatArray:
        """Features of some rows, shape (n_features, n_rows)."""
        functions = [basis.of(x) for basis, x in zip(self.bases, X.T, strict=True)]
        products = PAIR_SCALE * self.products.values([f.pair for f in functions])
        return np.vstack([np.ones(len(X)), *(f.main.T for f in functions), products])

    def owners(self) -> IntpArray:
        """The two columns of each feature but the first, shape (2, n_features - 1)."""
        sizes = [basis.n_functions for basis in self.bases]
        main = np.repeat(np.arange(len(sizes)), sizes)
        first = np.concatenate([main, self.products.first])
        return np.stack([first, np.concatenate([main, self.products.second])])


class LinkedValues:
    """v(U) of regressions through a link on the columns of U, cross-fitted.

    The features are the first smooth functions of each column and products of the pairs that
    matter, which each fold finds for itself. The penalty is that which is best for all columns on
    the other folds. Held-out rows are predicted on the scale of y.

    Parameters
    ----------
    problem : Problem
        With one output. The folds are those of `ProjectedBoosting`.
    link : Link
        See `shaff.values.link.links.find_link`.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.link.linked_values import LinkedValues
    >>> from shaff.values.link.links import LogLink
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (1000, 2))
    >>> y = rng.poisson(np.exp(3 + X[:, 0]))
    >>> linked = LinkedValues(Problem.of(X, y, random_state=0), LogLink())
    >>> linked.values(Subsets.from_indices([[0], [1]], 2)).v.round(1).tolist()
    [0.9, -0.0]
    """

    def __init__(self, problem: Problem, link: Link) -> None:
        self._problem, self._link, self.n_players = problem, link, len(problem.players)
        self._folds = problem.folds(problem.seed)
        self._outcome = Outcome.held_out(problem, self._folds)
        # The fits of subsets, for rows that are predicted later.
        self._slopes_of: dict[bytes, FloatArray] = {}
        with one_blas_thread:
            self._prepare()

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset."""
        errors = (self._problem.y[None] - self.predict(subsets)) ** 2
        return self._outcome.values(subsets, errors, influences)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means, shape (n_subsets, n_rows, 1).

        Rows of the data are predicted by the fold that held them out, other rows by the mean of
        the folds.
        """
        with one_blas_thread:
            if rows is None:
                tasks = [(inside,) for inside in self._features_of(subsets)]
                return np.stack(run_in_threads(self._held_out, tasks, self._problem.n_jobs))
            new = self._features.of(np.asarray(rows, dtype=np.float64))
            tasks = [(inside, new) for inside in self._features_of(subsets)]
            return np.stack(run_in_threads(self._elsewhere, tasks, self._problem.n_jobs))

    def _held_out(self, inside: IntpArray) -> FloatArray:
        return self._predict_held_out(inside, self._fit(inside))

    def _elsewhere(self, inside: IntpArray, features: FloatArray) -> FloatArray:
        """Predictions of other rows."""
        known = self._slopes_of.get(inside.tobytes())
        slopes = self._fit(inside) if known is None else known
        means = self._means(slopes @ features[inside], np.arange(len(slopes)))
        return self._link.outcome(means.mean(axis=0))[:, None]

    def _fit(self, inside: IntpArray) -> FloatArray:
        slopes = self._fits.fit(inside, self.penalties)
        self._slopes_of[inside.tobytes()] = slopes
        return slopes

    def _predict_held_out(self, inside: IntpArray, slopes: FloatArray) -> FloatArray:
        out = np.full(self._problem.y.shape, np.nan)
        for k, fold in enumerate(self._folds):
            features = self._fits.folds.features[inside[:, None], fold.test]
            out[fold.test, 0] = self._link.outcome(self._means(slopes[k] @ features, k))
        return out

    def _means(self, predictor: FloatArray, folds: int | IntpArray) -> FloatArray:
        """Means, no larger than any response that a fold was trained on."""
        largest = np.asarray(self._largest[folds])
        return np.asarray(np.minimum(self._link.mean(predictor), largest[..., None]))

    def _features_of(self, subsets: Subsets) -> list[IntpArray]:
        """Places of the features of each subset, that of the constant first."""
        masks = subsets.to_columns(self._problem.players, self._problem.X.shape[1]).masks()
        own = [mask[self._owners].all(axis=0) for mask in masks]
        return [np.append(0, 1 + np.flatnonzero(some)) for some in own]

    def _prepare(self) -> None:
        """Find pairs and penalties, on all columns."""
        problem = self._problem
        target = LeaveOutTarget.by_folds(
            problem.y, problem.weight, self._folds, problem.row_groups, draw_seed(problem.seed)
        )
        weight = np.stack([np.where(trained, problem.weight, 0.0) for trained in target.training])
        response = self._link.response(problem.y[:, 0])
        self._largest = np.where(weight > 0, response, -np.inf).max(axis=1)
        self._features = LinkedFeatures(problem.X, problem.weight, problem.categorical)
        self._fit_all(response, weight, None, CURVES_PENALTY)
        chosen = self._products(target)
        self._features.products = Products.union(chosen)
        self._fit_all(response, weight, chosen, PENALTIES[0])
        self.penalties = self._choose_penalties()

    def _fit_all(
        self, response: FloatArray, weight: FloatArray, chosen: list[Products] | None, penalty: float
    ) -> None:
        """Fit all features, of which folds may see some."""
        features = self._features
        folds = Folds(features.of(self._problem.X), response, weight, self._link)
        self._owners = features.owners()
        seen = np.stack([self._problem.visible(fold.train) for fold in self._folds])
        allowed = seen[:, self._owners].all(axis=1)
        if chosen is not None and len(features.products):
            inside = np.stack([features.products.among(some) for some in chosen])
            allowed[:, -len(features.products) :] &= inside
        allowed = np.column_stack([np.ones(len(allowed), dtype=bool), allowed])
        self._fits = FoldFits(folds, allowed, penalty, self._problem.n_jobs)

    def _products(self, target: LeaveOutTarget) -> list[Products]:
        """Products of the pairs that matter, for each fold as the others see it."""
        features, problem = self._features, self._problem
        everything = np.arange(len(self._fits.folds.features))
        residuals = problem.y - self._predict_held_out(everything, self._fits.slopes)
        factors = [b.of(x).pair for b, x in zip(features.bases, problem.X.T, strict=True)]
        products, room = Products.all(features.bases), MAX_FEATURES - len(everything)
        out = []
        for fold, trained in zip(self._folds, target.training, strict=True):
            weight = np.where(trained & (target.fold_of >= 0), target.weight, 0.0)
            own = products.of_columns(problem.visible(fold.train))
            found = pairs_that_matter(own, factors, residuals, weight, target.copies)
            out.append(likeliest(own.take(found), room))
        return out

    def _choose_penalties(self) -> FloatArray:
        """The penalty of each fold that is best for the others."""
        everything = np.arange(len(self._fits.folds.features))
        slopes, errors = self._fits.slopes, list[FloatArray]()
        for penalty in PENALTIES:
            slopes = self._fits.fit(everything, np.full(len(self._folds), penalty), slopes)
            squares = (self._problem.y - self._predict_held_out(everything, slopes)) ** 2
            errors.append(self._by_fold(squares))
            if len(errors) > 1 and errors[-1].sum() > errors[-2].sum():
                break
        table = np.stack(errors)
        others = table.sum(axis=1, keepdims=True) - table if table.shape[1] > 1 else table
        return PENALTIES[others.argmin(axis=0)]

    def _by_fold(self, squares: FloatArray) -> FloatArray:
        weight = self._problem.weight
        return np.array([weight[fold.test] @ squares[fold.test, 0] for fold in self._folds])
