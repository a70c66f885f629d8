"""One place for the definition of v: from the rows' out-of-sample errors to `Values`.

What counts as an error is a loss (`shaff.values.losses`): squared errors unless asked otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.statistics import n_rows_of
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Values, some_rows
from shaff.subsets import Subsets
from shaff.values.losses import LimitedLoss, LogLoss, Loss, SquaredError, find_loss

# Influences of single outputs are kept up to so many numbers per block of subsets.
# Memory only (`benchmarks.memory`).
MAX_OUTPUT_INFLUENCES = 2**27


def explained_share(error: FloatArray, constant: float | FloatArray) -> FloatArray:
    """Return v, the share of the variance that predictions explain: 1 - error / constant.

    Parameters
    ----------
    error : float array of shape (n_subsets, ...)
        Squared errors of the predictions, or other losses, summed or averaged over the rows.
    constant : float or float array that broadcasts with it
        Errors of the constant that explains nothing, over the same rows. Where it has
        none, as y does not vary, there is nothing to explain: the share is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.outcome import explained_share
    >>> explained_share(np.array([0.5, 2.0]), 2.0).tolist()
    [0.75, 0.0]
    """
    varies = np.asarray(constant) > 0
    return np.where(varies, 1 - error / np.where(varies, constant, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of the rows, their weights, and the constant that explains nothing.

    Parameters
    ----------
    y : float array of shape (n_rows, n_outputs)
    weight : float array of shape (n_rows,)
    constant : float array of shape (n_rows, n_outputs)
        Losses of the constant that a value function is compared with; by default squared errors.
    output_constants : float array of shape (n_outputs,)
        Weighted mean of ``constant`` over all rows.
    limited : LimitedLoss or None
        The loss; None means squared errors.
    squared : Outcome or None
        The same by squared errors, where the loss is another.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.outcome import Outcome
    >>> Outcome.of(np.array([[0.0], [2.0]])).variance
    2.0
    """

    y: FloatArray
    weight: FloatArray
    constant: FloatArray
    output_constants: FloatArray
    limited: LimitedLoss | None = None
    squared: Outcome | None = None

    @classmethod
    def of(
        cls, y: FloatArray, sample_weight: FloatArray | None = None, loss: str = "squared_error"
    ) -> Outcome:
        """Compare with the mean of all rows and the sample variance (n - 1), as in the paper.

        Targets of shape (n,) or (n, n_outputs); no weights means ones; whole ones count rows.
        """
        y = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        away = y - np.average(y, axis=0, weights=weight)
        return cls._about(y, weight, away, loss, n_rows_of(weight))

    @classmethod
    def left_out(cls, problem: Problem) -> Outcome:
        """Compare with the mean of the other rows, or of the rows of other groups.

        A learner that leaves a row out and learns nothing predicts that mean: it explains 0.
        """
        y, weight = np.ascontiguousarray(problem.y), problem.weight
        if problem.row_groups is not None:
            return cls.by_fold(problem, np.unique(problem.row_groups, return_inverse=True)[1])
        total = weight.sum()
        rest = np.maximum(total - weight, np.finfo(float).tiny)
        away = (y - np.average(y, axis=0, weights=weight)) * (total / rest)[:, None]
        return cls._about(y, weight, away, problem.loss)

    @classmethod
    def by_fold(cls, problem: Problem, fold_of: IntpArray) -> Outcome:
        """Compare with the mean of the rows of the other folds."""
        y, weight = np.ascontiguousarray(problem.y), problem.weight
        size = np.bincount(fold_of, weights=weight)
        total = np.stack([np.bincount(fold_of, weights=weight * t) for t in y.T], axis=1)
        rest = np.maximum(size.sum() - size, np.finfo(float).tiny)
        means = (total.sum(axis=0) - total) / rest[:, None]
        return cls._about(y, weight, y - means[fold_of], problem.loss)

    @classmethod
    def held_out(cls, problem: Problem, folds: Sequence[Fold]) -> Outcome:
        """Compare held-out rows with the mean of the training rows of their fold; rows that no fold
        holds out have weight 0.

        The folds are no replicates of an ensemble: a value without the rows of one fold differs
        by those rows, whose error the influences tell already.
        """
        weight, away = np.zeros(len(problem.y)), np.zeros(problem.y.shape)
        for fold in folds:
            weight[fold.test] = problem.weight[fold.test]
            train = problem.weight[fold.train]
            mean = train @ problem.y[fold.train] / train.sum()
            away[fold.test] = problem.y[fold.test] - mean
        if weight.sum() <= 0:
            raise InputError("The rows that are held out have no weight.")
        return cls._about(problem.y, weight, away, problem.loss)

    @classmethod
    def _about(
        cls,
        y: FloatArray,
        weight: FloatArray,
        away: FloatArray,
        loss: str,
        n: float | None = None,
    ) -> Outcome:
        """Compare with constants that the rows are ``away`` from; with the number of rows, of which
        the constant has seen all, their mean loss is that of n - 1."""

        def average(losses: FloatArray) -> FloatArray:
            mean = np.average(losses, axis=0, weights=weight)
            return np.asarray(mean if n is None else mean * n / max(n - 1, 1), dtype=np.float64)

        squares, asked = away**2, find_loss(loss)
        squared = cls(y, weight, squares, average(squares))
        if isinstance(asked, SquaredError):
            return squared
        limited = LimitedLoss.of(asked, np.average(y, axis=0, weights=weight))
        losses = limited.errors(y, away)
        return cls(y, weight, losses, average(losses), limited, squared)

    @property
    def sample(self) -> IntpArray:
        """Rows whose conditional means are kept."""
        return some_rows(len(self.y))

    def means_of(self, residuals: FloatArray) -> FloatArray:
        """Conditional means of `sample`, by residuals of shape (n_subsets, n_rows, n_outputs); NaN
        for rows that are not measured."""
        rows = self.sample
        return np.where(
            self.weight[rows, None] > 0, self.y[rows] - residuals[:, rows], np.float64(np.nan)
        )

    @property
    def loss(self) -> Loss:
        """What is measured of each row."""
        return SquaredError() if self.limited is None else self.limited.loss

    @property
    def variance(self) -> float:
        """Mean squared error of the constant, summed over the outputs."""
        return self.scale if self.squared is None else self.squared.scale

    @property
    def scale(self) -> float:
        """Mean loss of the constant, summed over the outputs: what values are shares of."""
        return float(self.output_constants.sum())

    def errors_of(self, residuals: FloatArray) -> FloatArray:
        """Losses by residuals of shape (n_subsets, n_rows, n_outputs)."""
        if self.limited is None:
            return np.asarray(residuals**2)
        return self.limited.errors(self.y, residuals)

    def noise_of(self, residuals: FloatArray, noise: FloatArray) -> FloatArray:
        """What noise adds to the losses, by what it adds to squared errors."""
        return noise if self.limited is None else self.limited.noise(self.y, residuals, noise)

    def evaluate(
        self,
        subsets: Subsets,
        residuals: FloatArray,
        influences: bool = False,
        noise: Sequence[FloatArray] = (),
        means: FloatArray | None = None,
    ) -> Values:
        """Values of subsets from the residuals ``y - m`` of their conditional means m.

        Parameters
        ----------
        subsets : Subsets
        residuals : float array of shape (n_subsets, n_rows, n_outputs)
            NaN as in `values`.
        influences : bool
        noise : sequence of float arrays of the shape of the residuals
            What each of some learners adds to the squared errors by its own variance; the values
            are corrected for it.
        means : float array of shape (n_subsets, n_some_rows, n_outputs) or None
            As in `values`.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff.subsets import Subsets
        >>> from shaff.values.outcome import Outcome
        >>> outcome = Outcome.of(np.array([-1.0, 1.0, 0.0]))
        >>> outcome.evaluate(Subsets.full(2), np.full((1, 3, 1), 0.5)).v.tolist()
        [0.75]
        """
        errors = self.errors_of(residuals)
        corrected = None
        for part in noise:
            before = errors if corrected is None else corrected
            corrected = before - self.noise_of(residuals, part)
        values = self.values(subsets, errors, influences, corrected, means)
        return self._with_squares(values, residuals, noise)

    def _with_squares(
        self, values: Values, residuals: FloatArray, noise: Sequence[FloatArray]
    ) -> Values:
        """Beside a log-loss, what is explained of the squared errors (Brier scores)."""
        if self.squared is None or not isinstance(self.loss, LogLoss):
            return values
        found = self.squared.evaluate(
            values.subsets, residuals, values.influences is not None, noise
        )
        return replace(values, squared=found.v, squared_influences=found.influences)

    def values(
        self,
        subsets: Subsets,
        errors: FloatArray,
        influences: bool = False,
        corrected: FloatArray | None = None,
        means: FloatArray | None = None,
    ) -> Values:
        """Values of subsets from the losses of their conditional means, as `evaluate` finds them.

        Parameters
        ----------
        subsets : Subsets
        errors : float array of shape (n_subsets, n_rows, n_outputs)
            NaN where a row has no out-of-sample prediction; such rows drop out for all of the
            subsets, and count as average ones in the influences.
        influences : bool
            Also return each row's influence on v (docs/theory.md, section 8).
        corrected : float array of shape (n_subsets, n_rows, n_outputs) or None
            The errors minus what the variance of the learner adds to them.
        means : float array of shape (n_subsets, n_some_rows, n_outputs) or None
            Conditional means of `sample`, to be kept beside influences with a single output.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff.subsets import Subsets
        >>> from shaff.values.outcome import Outcome
        >>> outcome = Outcome.of(np.array([-1.0, 1.0, 0.0]))
        >>> errors = np.array([0.5, 0.5, np.nan]).reshape(1, 3, 1)
        >>> outcome.values(Subsets.full(2), errors).v.tolist()
        [0.5]
        """
        usable = np.isfinite(errors).all(axis=(0, 2)) & (self.weight > 0)
        best = errors if corrected is None else corrected
        found: dict[str, npt.NDArray[Any] | None] = {
            "plain": self.explained(errors.sum(axis=2), usable),
            "v": self.explained(best.sum(axis=2), usable),
            "by_output": self._explained_by_output(best, usable),
        }
        if influences:
            found["influences"] = self._influences(errors.sum(axis=2), usable)
            found["output_influences"] = self._output_influences(errors, usable)
        if corrected is None:
            del found["plain"]
        self._nothing_for_nothing(subsets, found)
        if influences and means is not None and means.shape[2] == 1:
            found["means"] = (means - self.y.mean()).astype(np.float32)
        return Values(subsets, **{name: a for name, a in found.items() if a is not None})

    def _nothing_for_nothing(
        self, subsets: Subsets, found: Mapping[str, npt.NDArray[Any] | None]
    ) -> None:
        """Set the value of the empty set to 0, and all values if y does not vary."""
        worthless = subsets.sizes == 0 if self.scale > 0 else np.ones(len(subsets), dtype=bool)
        for array in found.values():
            if array is not None:
                array[worthless] = 0.0

    def explained(self, errors: FloatArray, usable: BoolArray) -> FloatArray:
        """v of each subset from the rows' losses, shape (n_subsets, n_rows)."""
        weight = np.where(usable, self.weight, 0.0)
        mean_error = _row_sums(np.where(usable, errors, 0.0) * weight) / weight.sum()
        return explained_share(mean_error, self.scale)

    def _explained_by_output(self, errors: FloatArray, usable: BoolArray) -> FloatArray | None:
        """v of each subset for each output alone, shape (n_subsets, n_outputs); None with one
        output, where v says it all; 0 for an output that does not vary."""
        if errors.shape[2] == 1:
            return None
        weight = np.where(usable, self.weight, 0.0)
        known = np.where(usable[:, None], errors, 0.0)
        mean_error = (known * weight[:, None]).sum(axis=1) / weight.sum()
        return explained_share(mean_error, self.output_constants)

    def _influences(self, errors: FloatArray, usable: BoolArray) -> npt.NDArray[np.float32]:
        """Influence of each row on v, shape (n_subsets, n_rows)."""
        return self._influence(errors, usable, self.constant.sum(axis=1), self.scale)

    def _output_influences(
        self, errors: FloatArray, usable: BoolArray
    ) -> npt.NDArray[np.float32] | None:
        """Influence of each row on the values of each output, shape (n_subsets, n_outputs,
        n_rows); None if that is too much to keep."""
        if errors.shape[2] == 1 or errors.size > MAX_OUTPUT_INFLUENCES:
            return None
        parts = [
            self._influence(errors[:, :, k], usable, self.constant[:, k], scale)
            for k, scale in enumerate(self.output_constants)
        ]
        return np.stack(parts, axis=1)

    def _influence(
        self, errors: FloatArray, usable: BoolArray, constant: FloatArray, scale: float
    ) -> npt.NDArray[np.float32]:
        """Centred influences (docs/theory.md, section 8), times the row's weight."""
        if scale <= 0:
            return np.zeros(errors.shape, dtype=np.float32)
        weight = np.where(usable, self.weight, 0.0)
        missed = _row_sums(np.where(usable, errors, 0.0) * weight) / weight.sum() / scale
        filled = np.where(usable, errors, missed[:, None] * scale)
        psi = (missed[:, None] * constant - filled) / scale
        # Centred before it is weighted: a row of weight 2 then counts as two rows.
        psi -= (_row_sums(psi * self.weight) / self.weight.sum())[:, None]
        psi *= self.weight / self.weight.mean()
        return np.asarray(psi, dtype=np.float32)


def _row_sums(matrix: FloatArray) -> FloatArray:
    """Sum of each row by itself: the bits of a matrix product depend on the number of rows."""
    return np.asarray(np.ascontiguousarray(matrix).sum(axis=1), dtype=np.float64)
