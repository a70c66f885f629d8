"""Values of a model with its unknown columns drawn from their marginal distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.trees.kinds import is_tree_model
from shaff.values.models.held_out import HeldOutValues, model_output
from shaff.values.published.tree_expectation import BackgroundArray, held_out_expectation

# Memory only (`benchmarks.memory`).
ROWS_AT_ONCE = 200_000


class MarginalValues(HeldOutValues):
    """``m_U(x)`` = average of the model over rows that share x's columns in U only.

    The conditional expectation of kernelSHAP (Lundberg & Lee 2017), SAGE and Covert & Lee (2020),
    right only when the columns in U are independent of the others. The model is fitted once; each
    row is evaluated with models that have not seen it (out-of-bag trees, or the model of its fold),
    as in docs/theory.md, section 1. The draws of the unknown columns are rows of X: fresh ones for
    every subset, the same for all rows. With m draws the published estimate, kept here, exceeds
    the squared error by about 1/m of the variance of the model over the draws.

    Parameters
    ----------
    problem : Problem
        Missing values are taken where the estimator takes them; estimators without out-of-bag
        rows are fitted on the folds of its ``cv``.
    estimator : scikit-learn regressor, optional
        By default the forest of the paper. Forests and trees of scikit-learn are evaluated in one
        walk of each tree for all rows and draws; other models on all completed rows.
    n_background : int or None
        Number of draws m (30 in the paper's experiments); None takes all rows of X.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from shaff.data.problem import Problem
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.published.marginal import MarginalValues
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> problem = Problem.of(X, 2 * X[:, 0])
    >>> model = MarginalValues(problem, LinearRegression(), n_background=None)
    >>> model.values(Subsets.singletons(2)).v.round(2).tolist()
    [1.0, 0.0]
    """

    def __init__(
        self, problem: Problem, estimator: Any = None, *, n_background: int | None = 30
    ) -> None:
        super().__init__(problem, estimator)
        self.n_background = n_background

    def _means(self, known: BoolArray, rows: FloatArray | None) -> FloatArray:
        background = np.stack([self._background(columns) for columns in known])
        if all(is_tree_model(model) for model in self._held_out.predictors):
            return held_out_expectation(self._held_out, self.X, known, background, rows)
        return np.stack(
            [
                self._completed_means(columns, self.X[draws], rows)
                for columns, draws in zip(known, background, strict=True)
            ]
        )

    def _background(self, columns: BoolArray) -> BackgroundArray:
        n = len(self.X)
        if self.n_background is None or self.n_background >= n:
            return np.arange(n, dtype=np.int32)
        return self._rng(columns).choice(n, self.n_background, replace=False).astype(np.int32)

    def _completed_means(
        self, columns: BoolArray, draws: FloatArray, rows: FloatArray | None
    ) -> FloatArray:
        def mean_output(model: Any, points: FloatArray) -> FloatArray:
            size = max(1, ROWS_AT_ONCE // len(draws))
            parts = [
                model_output(model, _completed(points[i : i + size], draws, columns))
                for i in range(0, len(points), size)
            ]
            outputs = np.concatenate(parts)
            mean: FloatArray = outputs.reshape(len(points), len(draws), -1).mean(axis=1)
            return mean

        return self._held_out.apply(mean_output, self.X, rows)


def _completed(points: FloatArray, draws: FloatArray, columns: BoolArray) -> FloatArray:
    """Each point with each draw in its unknown columns, shape (n_points * n_draws, n_columns)."""
    rows = np.where(columns, points[:, None, :], draws[None, :, :])
    return rows.reshape(-1, points.shape[1])
