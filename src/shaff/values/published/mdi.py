"""Mean decrease in impurity: the importance that forests give away for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_regressor

from shaff._util.seeds import draw_seed, seeded
from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.data.target import as_target
from shaff.errors import InputTypeError
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.trees.kinds import is_bagged, is_forest, paper_forest
from shaff.values.outcome import Outcome


class MDIValues:
    """Share of the variance of y that the splits on each player remove in the training rows.

    Breiman's MDI, not scaled to sum to 1, so that it stands on the scale of Shapley effects. As a
    game it is additive, ``v(U) = sum of the shares in U``, so every design gives the shares back.
    It is measured in sample, and favours columns with many values.

    Parameters
    ----------
    problem : Problem
    estimator : scikit-learn forest, optional
        By default the forest of the paper.

    Attributes
    ----------
    shares : float array of shape (n_players,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.trees.kinds import is_bagged, is_forest, paper_forest
    >>> from shaff.values.published.mdi import MDIValues
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> problem = Problem.of(X, X[:, 0], random_state=0)
    >>> shares = MDIValues(problem, paper_forest(20)).shares
    >>> bool(shares[0] > 0.8), bool(shares[1] < 0.1)
    (True, True)
    """

    def __init__(self, problem: Problem, estimator: Any = None) -> None:
        outcome = Outcome.of(problem.y)
        model = seeded(paper_forest() if estimator is None else estimator, draw_seed(problem.seed))
        if not is_forest(model) or is_bagged(model) or not is_regressor(model):
            raise InputTypeError(f"MDI needs a forest of scikit-learn, not {type(model).__name__}.")
        trees = model.fit(problem.X, as_target(problem.y)).estimators_
        decreases = [tree.tree_.compute_feature_importances(normalize=False) for tree in trees]
        # The impurity of a tree is the mean over outputs of their variances.
        by_column = np.mean(decreases, axis=0) * outcome.y.shape[1] / outcome.variance
        self.shares = np.array([by_column[columns].sum() for columns in problem.players])
        self.n_players = len(self.shares)

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Sums of shares; an in-sample measure has no influences of rows to speak of."""
        return Values(subsets, subsets.masks() @ self.shares)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Not possible: the impurity tells of no conditional means."""
        raise InputTypeError("MDI has no conditional means to predict with.")
