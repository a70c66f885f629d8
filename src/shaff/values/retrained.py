"""Values of models fitted anew on the columns of each subset."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import BaseDecisionTree

from shaff.datasets import RandomState
from shaff.subsets import BoolArray, FloatArray
from shaff.values.arrays import Players
from shaff.values.held_out import draw_seed, fit_held_out, paper_forest
from shaff.values.pricing import MeanValues


class RetrainedValues(MeanValues):
    """``m_U`` = a clone of the estimator fitted on the columns in U.

    Williamson & Feng (2020), with the settings of the paper's experiments: forests are priced by
    their out-of-bag error and their depth is limited when U has one or two columns, which they
    overfit otherwise. Other estimators are cross-fitted. `predict` fits again for rows of its own.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Missing values are taken where the estimator takes them.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
    estimator : scikit-learn regressor, optional
        By default the forest of the paper.
    players : list of column-index arrays, optional
    small_depth : int or None
        Depth of forests on at most two columns; None for no limit.
    cv : int, scikit-learn splitter or None
        Folds for estimators without out-of-bag rows.
    n_jobs : int, optional
        Subsets fitted at once, in processes; leave the estimator's own ``n_jobs`` at None.
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.retrained import RetrainedValues
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> model = RetrainedValues(X, 2 * X[:, 0], LinearRegression(), random_state=0)
    >>> (model.values(Subsets.singletons(2)).v > 0.5).tolist()
    [True, False]
    """

    _prefer = "processes"
    _block = 1

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        estimator: Any = None,
        *,
        players: Players | None = None,
        small_depth: int | None = 6,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(X, y, players=players, n_jobs=n_jobs)
        self.estimator = paper_forest() if estimator is None else estimator
        self.small_depth, self.cv = small_depth, cv
        self._seed = draw_seed(random_state)

    def _means(self, known: BoolArray, rows: FloatArray | None) -> FloatArray:
        return np.stack([self._refit(columns, rows) for columns in known])

    def _refit(self, columns: BoolArray, rows: FloatArray | None) -> FloatArray:
        # Folds are the same for all subsets, so that their values are compared on equal terms.
        X = self.X[:, columns]
        estimator = self._estimator_for(int(columns.sum()))
        held_out = fit_held_out(estimator, X, self.y, cv=self.cv, seed=self._seed)
        return held_out.predict(X, None if rows is None else rows[:, columns])

    def _estimator_for(self, n_columns: int) -> Any:
        if n_columns > 2 or self.small_depth is None:
            return self.estimator
        return _with_depth(self.estimator, self.small_depth)


def _with_depth(estimator: Any, depth: int) -> Any:
    """A clone of a forest with trees of at most this depth; other estimators stay as they are."""
    if isinstance(estimator, BaggingRegressor) and isinstance(
        estimator.estimator, BaseDecisionTree
    ):
        name, limit = "estimator__max_depth", estimator.estimator.max_depth
    elif isinstance(estimator, (RandomForestRegressor, ExtraTreesRegressor)):
        name, limit = "max_depth", estimator.max_depth
    else:
        return estimator
    return clone(estimator).set_params(**{name: depth if limit is None else min(depth, limit)})
