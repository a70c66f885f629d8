"""From conditional means to values: what all value functions that predict have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.threads import one_thread, run_in_threads
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.outcome import Outcome

# Subsets at a time: memory only (`benchmarks.memory`).
BLOCK = 8


def refuse_missing(X: FloatArray, method: str) -> None:
    """Say in one sentence that a method cannot take missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.means import refuse_missing
    >>> refuse_missing(np.array([[np.nan]]), "Nearest neighbours")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    shaff.errors.InputError: Nearest neighbours cannot take missing values: ...
    """
    if np.isnan(X).any():
        raise InputError(
            f"{method} cannot take missing values: fill them in or use another method."
        )


class MeanValues(ABC):
    """Base of the value functions that evaluate conditional means.

    A subclass says in `_means` how ``m_U(x)`` is made; this class knows players, blocks, threads,
    values and influences.

    Parameters
    ----------
    problem : Problem
        Its ``n_jobs`` blocks of subsets are evaluated at once; the values do not depend on it.
    """

    _block = BLOCK

    def __init__(self, problem: Problem) -> None:
        self.X, self.players, self.n_jobs = problem.X, problem.players, problem.n_jobs
        self.n_players = len(problem.players)
        self.outcome = Outcome.of(problem.y, problem.sample_weight, problem.loss)

    @property
    def y(self) -> FloatArray:
        """The targets, shape (n_rows, n_outputs)."""
        return self.outcome.y

    @abstractmethod
    def _means(self, known: BoolArray, rows: FloatArray | None) -> FloatArray:
        """``m_U(x)`` of non-empty subsets of columns, shape (n_subsets, n_rows, n_outputs).

        ``rows=None``: the rows of X, each predicted out of sample (NaN where that cannot be)."""

    def _errors(self, known: BoolArray) -> FloatArray:
        """Loss of each row of X, shape (n_subsets, n_rows, n_outputs)."""
        return self.outcome.errors_of(self.y - self._means(known, None))

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset; see `shaff.protocols.ValueFunction`."""
        tasks = [(part, influences) for part in self._blocks(subsets)]
        return Values.concatenate(self._parallel(self._block_values, tasks))

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means, shape (n_subsets, n_rows, n_outputs); the empty set's are mean(y)."""
        points = None if rows is None else np.asarray(rows, dtype=np.float64)
        tasks = [(part, points) for part in self._blocks(subsets)]
        return np.concatenate(self._parallel(self._block_means, tasks))

    def _blocks(self, subsets: Subsets) -> list[Subsets]:
        starts = range(0, max(len(subsets), 1), self._block)
        return [subsets[start : start + self._block] for start in starts]

    def _parallel(self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        # One BLAS and OpenMP thread a block, so that the same bits come out for any n_jobs.
        with one_thread():
            return self._run(function, tasks)

    def _run(self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        return run_in_threads(function, tasks, self.n_jobs)

    def _columns(self, subsets: Subsets) -> BoolArray:
        return subsets.to_columns(self.players, self.X.shape[1]).masks()

    def _block_values(self, subsets: Subsets, influences: bool) -> Values:
        known = self._columns(subsets)
        errors = np.zeros((len(known), *self.y.shape))
        some = known.any(axis=1)
        if some.any():
            errors[some] = self._errors(known[some])
        return self.outcome.values(subsets, errors, influences)

    def _block_means(self, subsets: Subsets, rows: FloatArray | None) -> FloatArray:
        known = self._columns(subsets)
        n_rows = len(self.X if rows is None else rows)
        means = np.tile(self.y.mean(axis=0), (len(known), n_rows, 1))
        some = known.any(axis=1)
        if some.any():
            means[some] = self._means(known[some], rows)
        return means
