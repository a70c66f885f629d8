"""Several value functions as one: their predictions stacked for each subset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from shaff._typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Game, ValueFunction, Values
from shaff.subsets import Subsets
from shaff.values.boosting import make_boosting
from shaff.values.forest import NO_SPLITS, make_forest
from shaff.values.outcome import Outcome
from shaff.values.projected_boosting import ProjectedBoosting
from shaff.values.ridge import RidgeValues

# Subsets at a time: the predictions of all parts are held for each.
BLOCK = 32


class StackedValues:
    """Value function: a non-negative combination of predictions, found anew for each subset.

    For one subset U the out-of-sample predictions of the parts are combined by non-negative least
    squares against y. The weights that a row's error is measured with come from the other folds,
    so stacking costs no optimism, however small the data.

    Parameters
    ----------
    parts : sequence of ValueFunction
        Their ``predict(subsets)`` must be out of sample; NaN where a part cannot predict a row.
    problem : Problem
    fold_of : int array of shape (n_rows,)
        The fold of each row; rows that belong together have one fold.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import experiment_1a
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.ridge import RidgeValues
    >>> from shaff.values.stack import StackedValues
    >>> exp = experiment_1a(n=500, random_state=0)
    >>> problem = Problem.of(exp.X, exp.y, random_state=0)
    >>> parts = [RidgeValues(problem, scale=s) for s in ("linear", "normal_scores")]
    >>> stack = StackedValues(parts, problem, np.arange(500) % 5)
    >>> stack.values(Subsets.full(15)).v.round(1).tolist()
    [0.9]
    """

    def __init__(
        self,
        parts: Sequence[ValueFunction],
        problem: Problem,
        fold_of: npt.NDArray[np.intp],
    ) -> None:
        self.parts = list(parts)
        self.outcome = Outcome.of(problem.y, problem.sample_weight)
        self.fold_of = fold_of

    @property
    def n_players(self) -> int:
        """Number of players."""
        return self.parts[0].n_players

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Price each subset."""
        blocks = [subsets[start : start + BLOCK] for start in range(0, len(subsets), BLOCK)]
        return Values.concatenate([self._price(block, influences) for block in blocks])

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Combined conditional means, shape (n_subsets, n_rows, n_outputs)."""
        held_out = self._held_out(subsets)
        if rows is None:
            return np.stack([self._combine(predictions) for predictions in held_out])
        new = np.stack([part.predict(subsets, rows) for part in self.parts], axis=1)
        everyone = np.ones(len(self.fold_of), dtype=bool)
        mixes = [self._mix(predictions, everyone) for predictions in held_out]
        return np.stack([mix.of(p) for mix, p in zip(mixes, new, strict=True)])

    def _held_out(self, subsets: Subsets) -> FloatArray:
        """Shape (n_subsets, n_parts, n_rows, n_outputs)."""
        return np.stack([part.predict(subsets) for part in self.parts], axis=1)

    def _price(self, subsets: Subsets, influences: bool) -> Values:
        means = np.stack([self._combine(predictions) for predictions in self._held_out(subsets)])
        return self.outcome.values(subsets, (self.outcome.y - means) ** 2, influences)

    def _combine(self, predictions: FloatArray) -> FloatArray:
        """Each row's combination as the other folds have it; NaN where a part has none."""
        combined: FloatArray = np.empty_like(predictions[0])
        for fold in np.unique(self.fold_of):
            rows = self.fold_of == fold
            combined[rows] = self._mix(predictions, ~rows).of(predictions[:, rows])
        return combined

    def _mix(self, predictions: FloatArray, rows: BoolArray) -> _Mix:
        """Non-negative least squares on some rows, about the mean of their y.

        Not about the mean of all: that knows the rows which are measured later, and would explain
        a share of 1/n of pure noise.
        """
        rows = rows & _usable(predictions)
        y, weight = self.outcome.y[rows], self.outcome.weight[rows]
        mean = np.average(y, axis=0, weights=weight)
        centred = predictions[:, rows] - mean
        weighted = centred * weight[:, None]
        gram = np.einsum("ank,bnk->ab", weighted, centred)
        moment = np.einsum("ank,nk->a", weighted, y - mean)
        values, vectors = np.linalg.eigh(gram)
        kept = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
        if not kept.any():
            return _Mix(np.zeros(len(moment)), mean)
        root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
        target = (vectors[:, kept].T @ moment) / np.sqrt(values[kept])
        return _Mix(np.asarray(nnls(root, target)[0]), mean)


@dataclass(frozen=True, eq=False)
class _Mix:
    """Weights of the parts, for their distances from the mean."""

    weights: FloatArray
    mean: FloatArray

    def of(self, predictions: FloatArray) -> FloatArray:
        """Predictions of shape (n_parts, n_rows, n_outputs), combined."""
        return np.asarray(self.mean + np.tensordot(self.weights, predictions - self.mean, 1))


def _usable(predictions: FloatArray) -> BoolArray:
    """Rows that all parts predict."""
    return np.asarray(~np.isnan(predictions).any(axis=(0, 2)))


def make_stack(problem: Problem) -> Game:
    """Ridge, projected forest and projected boosting, combined anew for each subset."""
    if problem.has_splits:
        raise InputError(NO_SPLITS)
    forest = make_forest(problem)
    return stacked(problem, make_boosting(problem), forest)


def stacked(problem: Problem, boosting: Game, forest: Game) -> Game:
    """The stack of a booster and a forest that are there already, with a ridge."""
    assert isinstance(boosting.values, ProjectedBoosting)
    fold_of = np.zeros(len(problem.X), dtype=np.intp)
    for k, fold in enumerate(boosting.values.folds):
        fold_of[fold.test] = k
    parts = [RidgeValues(problem), forest.values, boosting.values]
    note = "Stack of ridge, projected forest and projected boosting."
    return Game(
        StackedValues(parts, problem, fold_of),
        "stack",
        boosting.gains,
        forest.forest,
        (note, *boosting.notes),
    )
