"""Linked values: penalised regressions of counts or two classes on curves, through a link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shaff._util.seeds import draw_seed
from shaff._util.threads import one_blas_thread, run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.link.features import LinkedFeatures, column_bases, functions_of, room_for
from shaff.values.link.fold_fits import Fits, FoldFits
from shaff.values.link.links import Link
from shaff.values.noise import spread_noise
from shaff.values.outcome import Outcome
from shaff.values.smooth.basis import (
    ColumnBasis,
    ColumnFunctions,
    Products,
    likeliest,
    pairs_that_matter,
)
from shaff.values.smooth.leave_out import LeaveOutTarget

# Relative to what the rows know of a feature; from the first on as long as the error falls.
PENALTIES = np.logspace(-1, -5, 7)
# The penalty of the curves that pairs are looked for beside.
CURVES_PENALTY = 1e-3
# Folds beyond which there are no linked values: each has a system of its own.
MAX_FOLDS = 20
# New rows at a time: memory only (`benchmarks.local --memory`).
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Training:
    """The fits that are made side by side: one a fold; then, for the last folds, which tell the
    noise of a fit, one of each half of their training rows.

    Parameters
    ----------
    target : LeaveOutTarget
        With folds.
    """

    target: LeaveOutTarget

    @property
    def n_noisy(self) -> int:
        """Number of folds that tell the noise of a fit."""
        return self.target.n_noise_folds

    @cached_property
    def fold_of_fit(self) -> IntpArray:
        """The fold of each fit."""
        folds = np.arange(self.target.n_folds)
        noisy = folds[len(folds) - self.n_noisy :]
        return np.concatenate([folds, noisy, noisy])

    @cached_property
    def weight(self) -> FloatArray:
        """Weights of the rows in each fit, shape (n_fits, n_rows)."""
        whole = np.stack([np.where(rows, self.target.weight, 0.0) for rows in self.target.training])
        noisy, first = whole[len(whole) - self.n_noisy :], self.target.in_first
        return np.concatenate([whole, np.where(first, noisy, 0.0), np.where(first, 0.0, noisy)])


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
    >>> (linked.values(Subsets.from_indices([[0], [1]], 2)).v > 0.8).tolist()
    [True, False]
    """

    def __init__(self, problem: Problem, link: Link) -> None:
        self._problem, self._link, self.n_players = problem, link, len(problem.players)
        folds = problem.folds(problem.seed)
        self._outcome, seed = Outcome.held_out(problem, folds), draw_seed(problem.seed)
        self._target = LeaveOutTarget.by_folds(
            problem.y, problem.weight, folds, problem.row_groups, seed
        )
        self._training = Training(self._target)
        self._visible = np.stack([problem.visible(fold.train) for fold in folds])
        # The fits of subsets, for rows that are predicted later.
        self._slopes_of: dict[bytes, FloatArray] = {}
        with one_blas_thread:
            self._prepare()

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset; the correction takes off what the noise of the fits adds."""
        (means,), noise = self.runs_and_noise(subsets)
        residuals, kept = self._problem.y - means, means[:, self._outcome.sample]
        return self._outcome.evaluate(subsets, residuals, influences, [noise], kept)

    def runs_and_noise(self, subsets: Subsets) -> tuple[FloatArray, FloatArray]:
        """Held-out predictions, shape (1, n_subsets, n_rows, 1), and what the noise of the fits
        adds to their squared errors, shape (n_subsets, n_rows, 1)."""
        with one_blas_thread:
            tasks = [(inside,) for inside in self._features_of(subsets)]
            found = run_in_threads(self._held_out, tasks, self._problem.n_jobs)
        return np.stack([means for means, _ in found])[None], np.stack(
            [noise for _, noise in found]
        )

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means, shape (n_subsets, n_rows, 1).

        Rows of the data are predicted by the fold that held them out, other rows by the mean of
        the folds.
        """
        if rows is None:
            return np.asarray(self.runs_and_noise(subsets)[0][0])
        new = np.asarray(rows, dtype=np.float64)
        starts = range(0, max(len(new), 1), ROWS_AT_ONCE)
        with one_blas_thread:
            blocks = [self._of_new(subsets, new[k : k + ROWS_AT_ONCE]) for k in starts]
        return np.concatenate(blocks, axis=1)

    def _of_new(self, subsets: Subsets, rows: FloatArray) -> FloatArray:
        """Predictions of rows that are not of the data."""
        features = self._features.of(rows)
        tasks = [(inside, features) for inside in self._features_of(subsets)]
        return np.stack(run_in_threads(self._elsewhere, tasks, self._problem.n_jobs))

    def _held_out(self, inside: IntpArray) -> tuple[FloatArray, FloatArray]:
        """Predictions of the rows without their folds, and their noise."""
        slopes = self._fit(inside)
        means = self._means_without(inside, slopes)
        return means, self._noise(inside, slopes, means)

    def _elsewhere(self, inside: IntpArray, features: FloatArray) -> FloatArray:
        """Predictions of other rows."""
        known = self._slopes_of.get(inside.tobytes())
        slopes = self._fit(inside) if known is None else known
        each = [self._means(k, slopes[k], features[inside]) for k in range(self._target.n_folds)]
        return np.asarray(np.mean(each, axis=0))[:, None]

    def _fit(self, inside: IntpArray) -> FloatArray:
        slopes = self._fits.fit(inside, self.penalties[self._training.fold_of_fit])
        self._slopes_of[inside.tobytes()] = slopes[: self._target.n_folds]
        return slopes

    def _means_without(self, inside: IntpArray, slopes: FloatArray) -> FloatArray:
        """Predictions of the rows without their folds; NaN for rows that are not measured."""
        out = np.full(self._problem.y.shape, np.nan)
        for k, rows in enumerate(self._target.tests):
            out[rows, 0] = self._means(k, slopes[k], self._features_at(inside, rows))
        return out

    def _noise(self, inside: IntpArray, slopes: FloatArray, means: FloatArray) -> FloatArray:
        """What noise adds to squared errors: the noise in the fits of two halves is independent, so
        that on average the product of their residuals has none."""
        y, target = self._problem.y, self._target
        out, squares = np.full(y.shape, np.nan), (y - means) ** 2
        n, n_noisy = target.n_folds, self._training.n_noisy
        for k in range(n - n_noisy, n):
            rows = target.tests[k]
            features = self._features_at(inside, rows)
            halves = (self._means(k, slopes[at], features) for at in (k + n_noisy, k + 2 * n_noisy))
            first, second = (y[rows, 0] - half for half in halves)
            out[rows, 0] = squares[rows, 0] - first * second
        measured = target.fold_of >= 0
        noise = np.zeros(y.shape)
        noise[measured] = spread_noise(out[measured], squares[measured], target.weight[measured])
        return noise

    def _features_at(self, inside: IntpArray, rows: IntpArray) -> FloatArray:
        return self._fits.features[inside[:, None], rows]

    def _means(self, fold: int, slopes: FloatArray, features: FloatArray) -> FloatArray:
        """Means in the unit of y, none larger than any response that the fold was trained on."""
        mean = self._link.mean(slopes @ features)
        return self._link.outcome(np.minimum(mean, self._largest[fold]))

    def _features_of(self, subsets: Subsets) -> list[IntpArray]:
        """Places of the features of each subset, that of the constant first."""
        masks = subsets.to_columns(self._problem.players, self._problem.X.shape[1]).masks()
        own = [mask[self._features.owners].all(axis=0) for mask in masks]
        return [np.append(0, 1 + np.flatnonzero(some)) for some in own]

    def _prepare(self) -> None:
        """Find pairs and penalties, on all columns."""
        problem = self._problem
        self._response = self._link.response(problem.y[:, 0])
        trained = self._training.weight[: self._target.n_folds] > 0
        self._largest = np.where(trained, self._response, -np.inf).max(axis=1)
        bases = column_bases(problem)
        functions = functions_of(bases, problem.X)
        none = [Products.union([])] * self._target.n_folds
        self._fit_all(bases, functions, none, CURVES_PENALTY)
        self._fit_all(bases, functions, self._products(bases, functions), PENALTIES[0])
        self.penalties = self._choose_penalties()

    def _fit_all(
        self,
        bases: list[ColumnBasis],
        functions: list[ColumnFunctions],
        chosen: list[Products],
        penalty: float,
    ) -> None:
        """Fit all features: functions of the columns that a fold sees, and its products."""
        products, training = Products.union(chosen), self._training
        self._features = LinkedFeatures(bases, products)
        values = self._features.of_functions(functions)
        allowed: BoolArray = np.ones((self._target.n_folds, len(values)), dtype=bool)
        allowed[:, 1:] = self._visible[:, self._features.owners].all(axis=1)
        for fold, some in zip(allowed, chosen, strict=True):
            fold[len(values) - len(products) :] &= products.among(some)
        fits = Fits(values, self._response, training.weight, self._link)
        n_jobs = self._problem.n_jobs
        self._fits = FoldFits(fits, training.fold_of_fit, allowed, penalty, n_jobs)

    def _products(
        self, bases: list[ColumnBasis], functions: list[ColumnFunctions]
    ) -> list[Products]:
        """Products of the pairs that matter, for each fold as the others see it."""
        target, factors = self._target, [f.pair for f in functions]
        means = self._means_without(self._fits.everything, self._fits.slopes)
        residuals = np.where(target.fold_of[:, None] >= 0, target.y - means, 0.0)
        products = Products.all(bases)
        room = room_for(self._problem) - len(self._fits.everything)
        out = []
        for visible, trained in zip(self._visible, target.training, strict=True):
            weight = np.where(trained & (target.fold_of >= 0), target.weight, 0.0)
            own = products.of_columns(visible)
            found = pairs_that_matter(own, factors, residuals, weight, target.copies)
            out.append(likeliest(own.take(found), room))
        return out

    def _choose_penalties(self) -> FloatArray:
        """The penalty of each fold that is best for the others."""
        slopes, errors = self._fits.slopes, list[FloatArray]()
        for penalty in PENALTIES:
            slopes = self._fits.fit(self._fits.everything, np.full(len(slopes), penalty), slopes)
            errors.append(self._errors(slopes))
            if len(errors) > 1 and errors[-1].sum() > errors[-2].sum():
                break
        table = np.stack(errors)
        others = table.sum(axis=1, keepdims=True) - table if table.shape[1] > 1 else table
        return np.asarray(PENALTIES[others.argmin(axis=0)])

    def _errors(self, slopes: FloatArray) -> FloatArray:
        """Squared errors of the fits of all features, summed over the rows of each fold."""
        target = self._target
        squares = (target.y - self._means_without(self._fits.everything, slopes)) ** 2
        return np.array([target.weight[rows] @ squares[rows, 0] for rows in target.tests])
