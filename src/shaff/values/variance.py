"""One place for the definition of v: explained variance from out-of-sample errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shaff.subsets import FloatArray


def count_rows(weight: FloatArray) -> bool:
    """Whether weights count rows: whole numbers do, others have no unit.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.variance import count_rows
    >>> count_rows(np.array([2.0, 1.0])), count_rows(np.array([0.5, 1.0]))
    (True, False)
    """
    return np.array_equal(weight, np.round(weight))


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
    >>> from shaff.values.variance import Outcome
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

    def explained(
        self, errors: FloatArray, usable: npt.NDArray[np.bool_] | None = None
    ) -> FloatArray:
        """v of each subset from the rows' squared errors, shape (n_subsets, n_rows).

        ``usable`` marks the rows that have an out-of-sample error.
        """
        weight = self.weight if usable is None else np.where(usable, self.weight, 0.0)
        mean_error = _row_sums(np.where(weight > 0, errors, 0.0) * weight) / weight.sum()
        return np.asarray(1 - mean_error / self.variance, dtype=np.float64)

    def explained_by_output(
        self, errors: FloatArray, usable: npt.NDArray[np.bool_] | None = None
    ) -> FloatArray | None:
        """v of each subset for each output alone, shape (n_subsets, n_outputs).

        ``errors`` has the shape (n_subsets, n_rows, n_outputs). None with one output, where v
        says it all; 0 for an output that does not vary.
        """
        if errors.shape[2] == 1:
            return None
        weight = self.weight if usable is None else np.where(usable, self.weight, 0.0)
        known = np.where((weight > 0)[:, None], errors, 0.0)
        mean_error = (known * weight[:, None]).sum(axis=1) / weight.sum()
        variance = self.output_variances
        varies = variance > 0
        return np.asarray(np.where(varies, 1 - mean_error / np.where(varies, variance, 1.0), 0.0))

    def influences(self, errors: FloatArray, v: FloatArray) -> npt.NDArray[np.float32]:
        """Influence of each row on v (ALGORITHMS section 6), centred, times its weight."""
        psi = ((1 - v[:, None]) * self.squares - errors) / self.variance
        # Centred before it is weighted: a row of weight 2 then counts as two rows.
        psi -= (_row_sums(psi * self.weight) / self.weight.sum())[:, None]
        psi *= self.weight / self.weight.mean()
        return psi.astype(np.float32)


def _row_sums(matrix: FloatArray) -> FloatArray:
    """Sum of each row by itself: the bits of a matrix product depend on the number of rows."""
    return np.asarray(np.ascontiguousarray(matrix).sum(axis=1), dtype=np.float64)
