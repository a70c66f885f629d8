"""Mean decrease in impurity: the importance that forests give away for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shaff.datasets import RandomState
from shaff.protocols import Effects
from shaff.values.arrays import Players, read_arrays
from shaff.values.held_out import as_target, draw_seed, paper_forest, seeded
from shaff.values.variance import Outcome


def mdi_effects(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    estimator: Any = None,
    *,
    players: Players | None = None,
    random_state: RandomState = None,
) -> Effects:
    """Share of the variance of y that the splits on each player remove in the training rows.

    Breiman's MDI, not scaled to sum to 1, so that it stands on the scale of Shapley effects. It
    is no value of a game: it is measured in sample, and favours columns with many values.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    y : array of shape (n_rows,) or (n_rows, n_outputs)
    estimator : scikit-learn forest, optional
        By default the forest of the paper.
    players : list of column-index arrays, optional
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.held_out import paper_forest
    >>> from shaff.values.mdi import mdi_effects
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> effects = mdi_effects(X, X[:, 0], paper_forest(20), random_state=0).effects
    >>> bool(effects[0] > 0.8), bool(effects[1] < 0.1)
    (True, True)
    """
    arrays = read_arrays(X, y, players, None, None)
    outcome = Outcome.of(arrays.y)
    model = seeded(paper_forest() if estimator is None else estimator, draw_seed(random_state))
    model.fit(arrays.X, as_target(arrays.y))
    decreases = [
        member.tree_.compute_feature_importances(normalize=False) for member in model.estimators_
    ]
    # The impurity of a tree is the mean over outputs of their variances.
    shares = np.mean(decreases, axis=0) * outcome.y.shape[1] / outcome.variance
    effects = np.array([shares[columns].sum() for columns in arrays.players])
    return Effects(effects, effects)
