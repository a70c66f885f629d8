"""Values of trees whose unknown splits are averaged by cover: the expectation of TreeSHAP."""

from __future__ import annotations

from typing import Any

from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.errors import InputTypeError
from shaff.trees.kinds import is_tree_model
from shaff.values.models.held_out import HeldOutValues
from shaff.values.published.tree_expectation import held_out_expectation, no_background


class PathDependentValues(HeldOutValues):
    """``m_U(x)`` = walk of each tree that averages both sides, by cover, at splits outside of U.

    The "path-dependent" conditional expectation of TreeSHAP (Lundberg, Erion & Lee 2018), biased
    when columns depend on each other. Local in its publication; here it is evaluated as v(U) as in
    Table 4 of the paper. Each row is predicted by the trees that have not seen it (out of bag; a
    tree or forest without bags is cross-fitted), so that v is honest: over in-bag trees, whose
    leaves hold the row's own y, even a noise column would seem to explain.

    Parameters
    ----------
    problem : Problem
        Missing values are taken where the estimator takes them; estimators without out-of-bag
        rows are fitted on the folds of its ``cv``.
    estimator : scikit-learn tree or forest, optional
        By default the forest of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.subsets import Subsets
    >>> from shaff.trees.kinds import paper_forest
    >>> from shaff.values.published.path_dependent import PathDependentValues
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> problem = Problem.of(X, X[:, 0] > 0, random_state=0)
    >>> model = PathDependentValues(problem, paper_forest(20))
    >>> (model.values(Subsets.singletons(2)).v > 0.5).tolist()
    [True, False]
    """

    def __init__(self, problem: Problem, estimator: Any = None) -> None:
        super().__init__(problem, estimator)
        if not all(is_tree_model(model) for model in self._held_out.predictors):
            raise InputTypeError(
                "Path-dependent values need a decision tree or a forest of scikit-learn, "
                f"not {type(estimator).__name__}."
            )

    def _means(self, known: BoolArray, rows: FloatArray | None) -> FloatArray:
        return held_out_expectation(self._held_out, self.X, known, no_background(len(known)), rows)
