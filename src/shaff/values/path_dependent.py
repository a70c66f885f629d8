"""Values of trees whose unknown splits are averaged by cover: the expectation of TreeSHAP."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from shaff.datasets import RandomState
from shaff.subsets import BoolArray, FloatArray
from shaff.values.arrays import Players
from shaff.values.held_out import draw_seed, fit_held_out, paper_forest
from shaff.values.pricing import MeanValues
from shaff.values.tree_expectation import held_out_expectation, is_tree_model, no_background


class PathDependentValues(MeanValues):
    """``m_U(x)`` = walk of each tree that averages both sides, by cover, at splits outside of U.

    The "path-dependent" conditional expectation of TreeSHAP (Lundberg, Erion & Lee 2018), biased
    when columns depend on each other. Local in its publication; here it is priced as v(U) as in
    Table 4 of the paper. Each row is predicted by the trees that have not seen it (out of bag; a
    tree or forest without bags is cross-fitted), so that v is honest: over in-bag trees, whose
    leaves hold the row's own y, even a noise column would seem to explain.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Missing values are taken where the estimator takes them.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
    estimator : scikit-learn tree or forest, optional
        By default the forest of the paper.
    players : list of column-index arrays, optional
    cv : int, scikit-learn splitter or None
        Folds for estimators without out-of-bag rows.
    n_jobs : int, optional
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.held_out import paper_forest
    >>> from shaff.values.path_dependent import PathDependentValues
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = PathDependentValues(X, X[:, 0] > 0, paper_forest(20), random_state=0)
    >>> (model.values(Subsets.singletons(2)).v > 0.5).tolist()
    [True, False]
    """

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        estimator: Any = None,
        *,
        players: Players | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(X, y, players=players, n_jobs=n_jobs)
        estimator = paper_forest() if estimator is None else estimator
        seed = draw_seed(random_state)
        self._held_out = fit_held_out(estimator, self.X, self.y, cv=cv, seed=seed)
        if not all(is_tree_model(model) for model in self._held_out.predictors):
            raise TypeError(
                "Path-dependent values need a decision tree or a forest of scikit-learn, "
                f"not {type(estimator).__name__}."
            )

    def _means(self, known: BoolArray, rows: FloatArray | None) -> FloatArray:
        return held_out_expectation(self._held_out, self.X, known, no_background(len(known)), rows)
