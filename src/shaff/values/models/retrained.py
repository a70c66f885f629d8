"""Values of models fitted anew on the columns of each subset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from shaff._util.seeds import draw_seed
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.trees.kinds import paper_forest, with_depth
from shaff.values.means import MeanValues
from shaff.values.models.held_out import fit_held_out

# Models of scikit-learn that are fitted in no time, by module, and steps that may stand before
# them: hundreds of subsets take some thousand fits.
_QUICK = (
    "sklearn.linear_model.",
    "sklearn.discriminant_analysis",
    "sklearn.naive_bayes",
    "sklearn.neighbors.",
    "sklearn.tree.",
    "sklearn.dummy",
)
_STEPS = ("sklearn.preprocessing.", "sklearn.impute.")
# Rows times columns up to which they are: twice as many take twice as long, and there is no end to
# it.
MAX_CELLS = 100_000


def is_quickly_fitted(model: Any, problem: Problem) -> bool:
    """Whether a model is fitted so quickly that each subset may have a fit of its own.

    Linear models, discriminant analysis, naive Bayes, nearest neighbours and single trees of
    scikit-learn are, alone or behind scalers and imputers, for columns of numbers and up to 100 000
    entries. Models that choose settings by cross-validation are not, but for ridge regression; and
    classifiers need probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LassoCV, Ridge
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.models.retrained import is_quickly_fitted
    >>> problem = Problem.of(np.eye(3), np.arange(3.0))
    >>> is_quickly_fitted(Ridge(), problem), is_quickly_fitted(LassoCV(), problem)
    (True, False)
    """
    *before, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    tells = not is_classifier(last) or hasattr(last, "predict_proba")
    searches = type(last).__name__.endswith("CV") and not type(last).__name__.startswith("Ridge")
    return (
        problem.X.size <= MAX_CELLS
        and not problem.categorical.any()
        and _is_from(last, _QUICK)
        and tells
        and not searches
        and all(_is_from(step, _STEPS) and not _is_by_hand(step) for step in before)
    )


def _is_from(model: Any, modules: tuple[str, ...]) -> bool:
    return type(model).__module__.startswith(modules)


def _is_by_hand(step: Any) -> bool:
    """Whether a step may look for columns that a subset lacks, or cannot be sent to a process."""
    return isinstance(step, FunctionTransformer)


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
        self._weight, self._row_groups = problem.sample_weight, problem.row_groups
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
        held_out = fit_held_out(
            estimator,
            X,
            self.y,
            cv=self.cv,
            seed=self._seed,
            sample_weight=self._weight,
            row_groups=self._row_groups,
        )
        return held_out.predict(X, None if rows is None else rows[:, columns])

    def _estimator_for(self, n_columns: int) -> Any:
        if n_columns > 2 or self.small_depth is None:
            return self.estimator
        return with_depth(self.estimator, self.small_depth)
