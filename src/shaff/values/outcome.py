"""One place for the definition of v: from the rows' out-of-sample errors to `Values`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shaff._typing import BoolArray, FloatArray
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.data.rows import count_rows
from shaff.errors import InputError
from shaff.protocols import Values
from shaff.subsets import Subsets


@dataclass(frozen=True, eq=False)
class Outcome:
    """The targets with their weights and variance.

    Parameters
    ----------
    y : float array of shape (n_rows, n_outputs)
    weight : float array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.outcome import Outcome
    >>> Outcome.of(np.array([[0.0], [2.0]])).variance
    2.0
    """

    y: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, y: FloatArray, sample_weight: FloatArray | None = None) -> Outcome:
        """Targets of shape (n,) or (n, n_outputs); no weights means ones."""
        y = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        return cls(y, weight)

    @classmethod
    def held_out(cls, problem: Problem, folds: Sequence[Fold]) -> Outcome:
        """Of the rows that some fold holds out; the others have weight 0.

        The folds are no replicates of an ensemble: a value without the rows of one fold differs
        by those rows, whose error the influences tell already.
        """
        measured = np.zeros(len(problem.y), dtype=bool)
        for fold in folds:
            measured[fold.test] = True
        outcome = cls(problem.y, np.where(measured, problem.weight, 0.0))
        if outcome.weight.sum() <= 0:
            raise InputError("The rows that are held out have no weight.")
        return outcome

    @property
    def output_variances(self) -> FloatArray:
        """Sample variance of each output, shape (n_outputs,)."""
        n = self.weight.sum() if count_rows(self.weight) else float(len(self.weight))
        mean = np.average(self.y, axis=0, weights=self.weight)
        squares = np.average((self.y - mean) ** 2, axis=0, weights=self.weight)
        return np.asarray(squares * n / max(n - 1, 1), dtype=np.float64)

    @property
    def squares(self) -> FloatArray:
        """Squared distance of each row to the mean, summed over the outputs."""
        mean = np.average(self.y, axis=0, weights=self.weight)
        return np.asarray(((self.y - mean) ** 2).sum(axis=1), dtype=np.float64)

    @property
    def variance(self) -> float:
        """Sample variance (n - 1), summed over the outputs; integer weights count rows."""
        return float(self.output_variances.sum())

    def values(self, subsets: Subsets, errors: FloatArray, influences: bool = False) -> Values:
        """Values of subsets from the squared errors of their conditional means.

        Parameters
        ----------
        subsets : Subsets
        errors : float array of shape (n_subsets, n_rows, n_outputs)
            NaN where a row has no out-of-sample prediction; such rows drop out for all of the
            subsets, and count as average ones in the influences.
        influences : bool
            Also return each row's influence on v (ALGORITHMS section 6).

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
        summed, variance = errors.sum(axis=2), self.variance
        worthless = subsets.sizes == 0 if variance > 0 else np.ones(len(subsets), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            v = self.explained(summed, usable)
            by_output = self._explained_by_output(errors, usable)
            psi = self._influences(summed, v, usable) if influences else None
        for array in (v, by_output, psi):
            if array is not None:
                array[worthless] = 0.0
        return Values(subsets, v, psi, by_output=by_output)

    def explained(self, errors: FloatArray, usable: BoolArray) -> FloatArray:
        """v of each subset from the rows' squared errors, shape (n_subsets, n_rows)."""
        weight = np.where(usable, self.weight, 0.0)
        mean_error = _row_sums(np.where(usable, errors, 0.0) * weight) / weight.sum()
        return np.asarray(1 - mean_error / self.variance, dtype=np.float64)

    def _explained_by_output(self, errors: FloatArray, usable: BoolArray) -> FloatArray | None:
        """v of each subset for each output alone, shape (n_subsets, n_outputs); None with one
        output, where v says it all; 0 for an output that does not vary."""
        if errors.shape[2] == 1:
            return None
        weight = np.where(usable, self.weight, 0.0)
        known = np.where(usable[:, None], errors, 0.0)
        mean_error = (known * weight[:, None]).sum(axis=1) / weight.sum()
        variance = self.output_variances
        varies = variance > 0
        return np.asarray(np.where(varies, 1 - mean_error / np.where(varies, variance, 1.0), 0.0))

    def _influences(
        self, errors: FloatArray, v: FloatArray, usable: BoolArray
    ) -> npt.NDArray[np.float32]:
        """Influence of each row on v (ALGORITHMS section 6), centred, times its weight."""
        variance = self.variance
        filled = np.where(usable, errors, (1 - v[:, None]) * variance)
        psi = ((1 - v[:, None]) * self.squares - filled) / variance
        # Centred before it is weighted: a row of weight 2 then counts as two rows.
        psi -= (_row_sums(psi * self.weight) / self.weight.sum())[:, None]
        psi *= self.weight / self.weight.mean()
        return psi.astype(np.float32)


def _row_sums(matrix: FloatArray) -> FloatArray:
    """Sum of each row by itself: the bits of a matrix product depend on the number of rows."""
    return np.asarray(np.ascontiguousarray(matrix).sum(axis=1), dtype=np.float64)
