"""Mean decrease in impurity: the importance that forests give away for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from shaff.datasets import RandomState
from shaff.protocols import Values
from shaff.subsets import FloatArray, Subsets
from shaff.values.arrays import Players, read_arrays
from shaff.values.held_out import as_target, draw_seed, paper_forest, seeded
from shaff.values.variance import Outcome


class MDIValues:
    """Share of the variance of y that the splits on each player remove in the training rows.

    Breiman's MDI, not scaled to sum to 1, so that it stands on the scale of Shapley effects. As a
    game it is additive, ``v(U) = sum of the shares in U``, so every design gives the shares back.
    It is measured in sample, and favours columns with many values.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    y : array of shape (n_rows,) or (n_rows, n_outputs)
    estimator : scikit-learn forest, optional
        By default the forest of the paper.
    players : list of column-index arrays, optional
    random_state : int, RandomState or None

    Attributes
    ----------
    shares : float array of shape (n_players,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.held_out import paper_forest
    >>> from shaff.values.mdi import MDIValues
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> shares = MDIValues(X, X[:, 0], paper_forest(20), random_state=0).shares
    >>> bool(shares[0] > 0.8), bool(shares[1] < 0.1)
    (True, True)
    """

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        estimator: Any = None,
        *,
        players: Players | None = None,
        random_state: RandomState = None,
    ) -> None:
        arrays = read_arrays(X, y, players, None, None)
        outcome = Outcome.of(arrays.y)
        model = seeded(paper_forest() if estimator is None else estimator, draw_seed(random_state))
        if not isinstance(model, (RandomForestRegressor, ExtraTreesRegressor)):
            raise TypeError(f"MDI needs a forest of scikit-learn, not {type(model).__name__}.")
        trees = model.fit(arrays.X, as_target(arrays.y)).estimators_
        decreases = [tree.tree_.compute_feature_importances(normalize=False) for tree in trees]
        # The impurity of a tree is the mean over outputs of their variances.
        by_column = np.mean(decreases, axis=0) * outcome.y.shape[1] / outcome.variance
        self.shares = np.array([by_column[columns].sum() for columns in arrays.players])

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.shares)

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Sums of shares; an in-sample measure has no influences of rows to speak of."""
        return Values(subsets, subsets.masks() @ self.shares)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Not possible: the impurity tells of no conditional means."""
        raise TypeError("MDI has no conditional means to predict with.")
