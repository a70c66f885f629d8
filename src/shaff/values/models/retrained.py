"""Values of models fitted anew on the columns of each subset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from shaff._util.seeds import draw_seed
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.trees.kinds import paper_forest, with_depth
from shaff.values.means import MeanValues
from shaff.values.models.held_out import fit_held_out


class RetrainedValues(MeanValues):
    """``m_U`` = a clone of the estimator fitted on the columns in U.

    Williamson & Feng (2020), with the settings of the paper's experiments: forests are evaluated by
    their out-of-bag error and their depth is limited when U has one or two columns, which they
    overfit otherwise. Other estimators are cross-fitted. `predict` fits again for rows of its own.

    Parameters
    ----------
    problem : Problem
        Missing values are taken where the estimator takes them; estimators without out-of-bag
        rows are fitted on the folds of its ``cv``.
    estimator : scikit-learn regressor, optional
        By default the forest of the paper.
    small_depth : int or None
        Depth of forests on at most two columns; None for no limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from shaff.data.problem import Problem
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.models.retrained import RetrainedValues
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> problem = Problem.of(X, 2 * X[:, 0], random_state=0)
    >>> model = RetrainedValues(problem, LinearRegression())
    >>> (model.values(Subsets.singletons(2)).v > 0.5).tolist()
    [True, False]
    """

    _block = 1

    def __init__(
        self, problem: Problem, estimator: Any = None, *, small_depth: int | None = 6
    ) -> None:
        super().__init__(problem)
        self.estimator = paper_forest() if estimator is None else estimator
        self.small_depth, self.cv = small_depth, problem.cv
        self._seed = draw_seed(problem.seed)

    def _run(self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        """Run in processes: fits of models in Python would wait for each other in threads."""
        jobs = (delayed(function)(*task) for task in tasks)
        return list(Parallel(n_jobs=self.n_jobs, prefer="processes")(jobs))

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
        return with_depth(self.estimator, self.small_depth)
