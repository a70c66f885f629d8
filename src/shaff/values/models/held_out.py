"""Models together with the rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import has_fit_parameter

from shaff._util.seeds import draw_seed, seeded, unfitted
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.folds import make_folds
from shaff.data.problem import Problem
from shaff.data.target import as_target
from shaff.trees.bags import forest_bags
from shaff.trees.kinds import has_bags, paper_forest
from shaff.values.means import MeanValues

RowArray = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictors and, for each, the rows that it has not seen.

    The trees of a bagged forest with their out-of-bag rows, or one model per fold with the fold's
    rows. A row is predicted by the average of the predictors that have not seen it; any other
    point by the average of all.

    Parameters
    ----------
    predictors : list of fitted models
    rows : list of int arrays
    n_rows : int
    """

    predictors: list[Any]
    rows: list[RowArray]
    n_rows: int

    def apply(
        self,
        predict: Callable[[Any, npt.NDArray[Any]], FloatArray],
        training: npt.NDArray[Any],
        rows: npt.NDArray[Any] | None,
    ) -> FloatArray:
        """Average over the predictors of ``predict(predictor, points)``.

        Parameters
        ----------
        predict : callable
            Returns an array whose first axis runs over the points given to it.
        training : array of shape (n_rows, ...)
            What ``predict`` needs to know of the training rows.
        rows : array or None
            Points for all predictors; None means each training row, by those that have not seen
            it (NaN where there are none).
        """
        if rows is not None:
            return np.asarray(np.mean([predict(model, rows) for model in self.predictors], axis=0))
        pairs = list(zip(self.predictors, self.rows, strict=True))
        parts = [(unseen, predict(model, training[unseen])) for model, unseen in pairs]
        total = np.zeros((self.n_rows, *parts[0][1].shape[1:]))
        for unseen, part in parts:
            total[unseen] += part
        counts = np.bincount(np.concatenate(self.rows), minlength=self.n_rows)
        with np.errstate(invalid="ignore"):
            return np.asarray(total / counts.reshape(-1, *[1] * (total.ndim - 1)))

    def predict(self, training: FloatArray, rows: FloatArray | None) -> FloatArray:
        """Plain predictions of shape (n_rows, n_outputs); see `apply`."""
        return self.apply(model_output, training, rows)


@dataclass(frozen=True, eq=False)
class KnownModel:
    """A function of X that was not fitted to the data, so that all rows are held out.

    Parameters
    ----------
    function : callable
        From (n_rows, n_columns) to (n_rows,) or (n_rows, n_outputs).

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.models.held_out import KnownModel
    >>> KnownModel(lambda X: X.sum(axis=1)).predict(np.ones((2, 3))).tolist()
    [3.0, 3.0]
    """

    function: Callable[[FloatArray], FloatArray]

    def predict(self, X: FloatArray) -> FloatArray:
        """Outputs of the function."""
        return self.function(X)


def model_output(model: Any, X: FloatArray) -> FloatArray:
    """Predictions of a fitted model, always of shape (n_rows, n_outputs).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from shaff.values.models.held_out import model_output
    >>> model_output(DummyRegressor().fit([[0]], [2.0]), np.zeros((3, 1))).shape
    (3, 1)
    """
    if len(X) == 0:
        return np.zeros((0, getattr(model, "n_outputs_", 1)))
    return np.asarray(model.predict(X), dtype=np.float64).reshape(len(X), -1)


def fit_held_out(
    estimator: Any,
    X: FloatArray,
    y: FloatArray,
    *,
    cv: Any = None,
    seed: int = 0,
    sample_weight: FloatArray | None = None,
    row_groups: npt.NDArray[Any] | None = None,
) -> HeldOut:
    """Fit clones of an estimator so that every row has predictors that have not seen it.

    Forests and bagged models are fitted once and predict their out-of-bag rows; any other
    estimator is fitted on the complement of each fold.

    Parameters
    ----------
    estimator : scikit-learn regressor or KnownModel
        Not modified. Its ``random_state``, when None, is set to ``seed``.
    X : float array of shape (n_rows, n_columns)
    y : float array of shape (n_rows, n_outputs)
    cv : int, scikit-learn splitter or None
        None means five folds.
    seed : int
    sample_weight : float array of shape (n_rows,) or None
        Weights of the rows, for models of folds that take them.
    row_groups : array of shape (n_rows,) or None
        Rows of one group are in one fold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from shaff.values.models.held_out import fit_held_out
    >>> X = np.arange(10.0)[:, None]
    >>> held_out = fit_held_out(LinearRegression(), X, 2 * X)
    >>> len(held_out.predictors), held_out.predict(X, None)[3].round(6).tolist()
    (5, [6.0])
    """
    if isinstance(estimator, KnownModel):
        return HeldOut([estimator], [np.arange(len(X), dtype=np.int32)], len(X))
    model = seeded(estimator, seed)
    target = as_target(y)
    if has_bags(model):
        bags = forest_bags(model.fit(X, target), len(X))
        unseen = [np.flatnonzero(bag == 0).astype(np.int32) for bag in bags]
        return HeldOut(list(model.estimators_), unseen, len(X))
    folds = make_folds(len(X), cv, row_groups, seed, y=target)
    takes = sample_weight is not None and has_fit_parameter(model, "sample_weight")
    models = [
        unfitted(model).fit(
            X[fold.train],
            target[fold.train],
            **({"sample_weight": sample_weight[fold.train]} if takes else {}),  # type: ignore[index]
        )
        for fold in folds
    ]
    return HeldOut(models, [fold.test.astype(np.int32) for fold in folds], len(X))


class HeldOutValues(MeanValues):
    """Base of the value functions of one model, fitted once, that predicts held-out rows.

    Parameters
    ----------
    problem : Problem
        Estimators without out-of-bag rows are fitted on the folds of its ``cv``.
    estimator : scikit-learn regressor or KnownModel, optional
        By default the forest of the paper.
    """

    def __init__(self, problem: Problem, estimator: Any = None) -> None:
        super().__init__(problem)
        self._seed = draw_seed(problem.seed)
        estimator = paper_forest() if estimator is None else estimator
        self._held_out = fit_held_out(estimator, self.X, self.y, cv=problem.cv, seed=self._seed)

    def _rng(self, columns: BoolArray) -> np.random.Generator:
        """Generator of the draws for one subset, whatever else is evaluated."""
        return np.random.default_rng([self._seed, *np.packbits(columns)])
