"""Several value functions as one: their predictions stacked for each subset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from shaff.protocols import ValueFunction, Values
from shaff.subsets import BoolArray, FloatArray, Subsets
from shaff.values.variance import Outcome

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
    y : float array of shape (n_rows,) or (n_rows, n_outputs)
    fold_of : int array of shape (n_rows,)
        The fold of each row; rows that belong together have one fold.
    sample_weight : float array of shape (n_rows,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.datasets import experiment_1a
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.ridge import RidgeValues
    >>> from shaff.values.stack import StackedValues
    >>> exp = experiment_1a(n=500, random_state=0)
    >>> parts = [RidgeValues(exp.X, exp.y, scale=s) for s in ("linear", "normal_scores")]
    >>> stack = StackedValues(parts, exp.y, np.arange(500) % 5)
    >>> stack.values(Subsets.full(15)).v.round(1).tolist()
    [0.9]
    """

    def __init__(
        self,
        parts: Sequence[ValueFunction],
        y: FloatArray,
        fold_of: npt.NDArray[np.intp],
        sample_weight: FloatArray | None = None,
    ) -> None:
        self.parts = list(parts)
        self.outcome = Outcome.of(y, sample_weight)
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
            return np.stack([self._combine(predictions)[0] for predictions in held_out])
        new = np.stack([part.predict(subsets, rows) for part in self.parts], axis=1)
        everyone = np.ones(len(self.fold_of), dtype=bool)
        mixes = [self._mix(predictions, everyone) for predictions in held_out]
        return np.stack([mix.of(p) for mix, p in zip(mixes, new, strict=True)])

    def _held_out(self, subsets: Subsets) -> FloatArray:
        """Shape (n_subsets, n_parts, n_rows, n_outputs)."""
        return np.stack([part.predict(subsets) for part in self.parts], axis=1)

    def _price(self, subsets: Subsets, influences: bool) -> Values:
        combined = [self._combine(predictions) for predictions in self._held_out(subsets)]
        means = np.stack([mean for mean, _ in combined])
        usable = np.asarray(combined[0][1])
        squares = (self.outcome.y - means) ** 2
        errors = squares.sum(axis=2)
        v = self.outcome.explained(errors, usable)
        empty = subsets.sizes == 0
        v[empty] = 0.0
        by_output = self.outcome.explained_by_output(squares, usable)
        if by_output is not None:
            by_output[empty] = 0.0
        if not influences:
            return Values(subsets, v, by_output=by_output)
        errors = np.where(usable, errors, errors[:, usable].mean(axis=1, keepdims=True))
        psi = self.outcome.influences(errors, v)
        psi[empty] = 0.0
        return Values(subsets, v, psi, by_output=by_output)

    def _combine(self, predictions: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Each row's combination as the other folds have it, and which rows have one."""
        combined = np.empty_like(predictions[0])
        for fold in np.unique(self.fold_of):
            rows = self.fold_of == fold
            combined[rows] = self._mix(predictions, ~rows).of(predictions[:, rows])
        return combined, _usable(predictions)

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
