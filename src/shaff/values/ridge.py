"""Cross-fitted ridge regressions as a value function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from shaff._util.threads import one_blas_thread, run_in_threads
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.boosting.linear_start import LinearStart, Scale, best_penalty, tried_start
from shaff.values.outcome import Outcome


class RidgeValues:
    """v(U) of a ridge regression on the columns of U, cross-fitted.

    Parameters
    ----------
    problem : Problem
        A missing value takes the column's mean inside the fold; categories are replaced by mean
        targets, learnt inside the fold. The folds are those of `ProjectedBoosting`.
    scale : {"linear", "normal_scores", "quadratic"}
        Whether columns enter as they are or as normal quantiles of their ranks.

    Examples
    --------
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import experiment_1a
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.ridge import RidgeValues
    >>> exp = experiment_1a(n=1000, random_state=0)
    >>> ridge = RidgeValues(Problem.of(exp.X, exp.y, random_state=0))
    >>> ridge.values(Subsets.full(15)).v.round(2).tolist()
    [0.95]
    """

    def __init__(self, problem: Problem, *, scale: Scale = "linear") -> None:
        data = self._data = problem
        self.n_players = len(problem.players)
        folds = problem.folds(problem.seed)
        self._outcome = Outcome.held_out(data, folds)
        with one_blas_thread:
            everything = np.ones((1, data.X.shape[1]), dtype=bool)
            tasks = [(data, fold, scale, everything) for fold in folds]
            found = run_in_threads(tried_start, tasks, data.n_jobs)
            self._starts = [start for start, _ in found]
            self.penalty, _ = best_penalty([errors for _, errors in found])

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset."""
        residuals = self._data.y[None] - self.predict(subsets)
        return self._outcome.evaluate(subsets, residuals, influences)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means, shape (n_subsets, n_rows, n_outputs).

        Rows of the data are predicted by the fold that held them out, other rows by the mean of
        the folds.
        """
        masks = subsets.to_columns(self._data.players, self._data.X.shape[1]).masks()
        with one_blas_thread:
            if rows is None:
                return self._predict_held_out(masks)
            new = np.asarray(rows, dtype=np.float64)
            parts = self._by_fold(lambda s: s.predict(masks, s.features(new), self.penalty))
        return np.asarray(np.mean(parts, axis=0).transpose(1, 2, 0))

    def _predict_held_out(self, masks: BoolArray) -> FloatArray:
        def predict(start: LinearStart) -> FloatArray:
            held_out = start.fold_features(self._data.X)[len(start.fold.train) :]
            return start.predict(masks, held_out, self.penalty)

        out = np.full((len(masks), *self._data.y.shape), np.nan)
        for start, predicted in zip(self._starts, self._by_fold(predict), strict=True):
            out[:, start.fold.test] = predicted.transpose(1, 2, 0)
        return out

    def _by_fold(self, function: Callable[[LinearStart], FloatArray]) -> list[FloatArray]:
        return run_in_threads(function, [(start,) for start in self._starts], self._data.n_jobs)
