"""How well the full set of inputs predicts held-out rows, in the units of the outcome."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.fitting.facts import Solution
from shaff.protocols import Game, some_rows
from shaff.subsets import Subsets
from shaff.values.outcome import Outcome


def held_out_figures(problem: Problem, game: Game, solution: Solution) -> dict[str, float]:
    """Return the figures of the predictions of held-out rows, and of what they must beat.

    "rmse" and "rmse_of_mean" for one outcome of numbers, or "loss" and "loss_of_mean" (mean
    deviances) where another loss than squared errors is asked for; "accuracy",
    "accuracy_of_largest" and "auc" for classes; none for several outcomes, and where the values
    predict no rows.
    """
    if problem.target.classes is not None:
        return _of_classes(problem, game, solution)
    if problem.y.shape[1] > 1:
        return {}
    plain = solution.plain_explained_variance
    explained = solution.explained_variance if plain is None else plain
    if problem.loss != "squared_error":
        whole = Outcome.of(problem.y, problem.sample_weight, problem.loss).scale
        return {"loss": (1 - explained) * whole, "loss_of_mean": whole}
    variance = _variance(problem)
    return {
        "rmse": float(np.sqrt(max(1 - explained, 0.0) * variance)),
        "rmse_of_mean": float(np.sqrt(variance)),
    }


def own_score(problem: Problem, game: Game) -> float | None:
    """Return the share of the variance of the outcome that the predictions of held-out rows by the
    full set explain, without any correction; None where the values predict no rows."""
    predict = getattr(game.values, "predict", None)
    if predict is None:
        return None
    predicted = np.asarray(predict(Subsets.full(len(problem.players)))[0])
    known = np.isfinite(predicted).all(axis=1)
    weight = np.where(known, problem.weight, 0.0)
    missed = np.where(known[:, None], problem.y - predicted, 0.0)
    away = problem.y - np.average(problem.y, axis=0, weights=weight)
    return float(1 - (weight @ missed**2).sum() / (weight @ away**2).sum())


def _variance(problem: Problem) -> float:
    """The variance of the single outcome that its explained share is a share of."""
    unit, weight = problem.variance_unit, problem.weight
    if unit is not None:
        return unit.variance
    mean = np.average(problem.y, axis=0, weights=weight)
    return float(np.average((problem.y - mean) ** 2, weights=weight[:, None]))


def _of_classes(problem: Problem, game: Game, solution: Solution) -> dict[str, float]:
    found = _predictions(problem, game, solution)
    if found is None:
        return {}
    rows, predicted = found
    known = np.isfinite(predicted).all(axis=1) & (problem.weight[rows] > 0)
    y, weight = problem.y[rows][known], problem.weight[rows][known]
    if len(y) == 0:
        return {}
    return class_figures(y, predicted[known], weight)


def _predictions(
    problem: Problem, game: Game, solution: Solution
) -> tuple[npt.NDArray[np.intp], FloatArray] | None:
    """Rows and the predictions of their indicators by the full set, while held out."""
    if solution.values.means is not None:  # two classes: they are known, of some thousand rows
        means = solution.values.means[0].astype(np.float64)
        return some_rows(len(problem.X)), means + problem.y.mean()
    predict = getattr(game.values, "predict", None)
    if predict is None:
        return None
    predicted = np.asarray(predict(Subsets.full(len(problem.players)))[0])
    return np.arange(len(problem.X)), predicted


def class_figures(y: FloatArray, predicted: FloatArray, weight: FloatArray) -> dict[str, float]:
    """Return accuracy, that of always naming the largest class, and the area under the ROC curve.

    With more than two classes the area is the mean over the classes, each against the rest.

    Parameters
    ----------
    y, predicted : float arrays of shape (n_rows, n_outputs)
        Indicators of the classes and their predictions; of two classes that of the second.
    weight : float array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.checks.performance import class_figures
    >>> y, predicted = np.array([[0.0], [0.0], [1.0]]), np.array([[0.1], [0.6], [0.9]])
    >>> {k: round(v, 3) for k, v in class_figures(y, predicted, np.ones(3)).items()}
    {'accuracy': 0.667, 'accuracy_of_largest': 0.667, 'auc': 1.0}
    """
    if y.shape[1] == 1:
        y, predicted = np.hstack([1 - y, y]), np.hstack([1 - predicted, predicted])
    right = y.argmax(axis=1) == predicted.argmax(axis=1)
    areas = [
        roc_auc_score(is_class, score, sample_weight=weight)
        for is_class, score in zip(y.T, predicted.T, strict=True)
        if 0 < is_class.sum() < len(is_class)
    ]
    found = {
        "accuracy": float(np.average(right, weights=weight)),
        "accuracy_of_largest": float(np.average(y, axis=0, weights=weight).max()),
    }
    return {**found, "auc": float(np.mean(areas))} if areas else found
