"""Learners that were grown on a sample, measured on all rows: one pass, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

from shaff._threads import Cancel, run_in_threads
from shaff._typing import FloatArray
from shaff.data.drawn import UNITS, AllRows, RawBlock
from shaff.data.problem import Problem
from shaff.inference import Covariances
from shaff.progress import Progress
from shaff.protocols import RowPass, Values
from shaff.subsets import Subsets
from shaff.values.sums import ErrorSums

# Blocks of rows that wait for each thread: fewer, and threads wait for the reader; more take
# memory.
WAITING = 2


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of some subsets over all rows.

    Parameters
    ----------
    values : Values
        Without influences.
    covariances : list of float arrays of shape (n_subsets, n_subsets)
        Of v, then of each output where they are known.
    n_rows : int
    """

    values: Values
    covariances: list[FloatArray]
    n_rows: int

    def errors_of(self, subsets: Subsets) -> Covariances:
        """Data errors of some of the subsets, in their order."""
        place = {key: k for k, key in enumerate(self.values.subsets.keys())}
        chosen = np.array([place[key] for key in subsets.keys()])
        return Covariances([c[np.ix_(chosen, chosen)] for c in self.covariances])


def measure(
    rest: AllRows,
    problem: Problem,
    as_played: Callable[[FloatArray], FloatArray],
    values: Any,
    subsets: Subsets,
    progress: Progress,
) -> Measured:
    """Price subsets on all rows.

    Parameters
    ----------
    rest : AllRows
    problem : Problem
        As it was read.
    as_played : callable
        From rows of the problem to rows as the value function knows them.
    values : ValueFunction
        With `over_rows`.
    subsets : Subsets
    progress : Progress
    """
    priced: RowPass = values.over_rows(subsets)
    fold_of, n_units = priced.fold_of, None if problem.row_groups is None else UNITS

    def sum_block(block: RawBlock) -> ErrorSums:
        rows = rest.read(block, problem, fold_of, priced.n_folds)
        sums: ErrorSums = priced.sums(rows._replace(X=as_played(rows.X)), n_units)
        return sums

    total = ErrorSums(len(subsets), problem.y.shape[1], priced.n_folds, n_units)
    with threadpool_limits(1, user_api="blas"):
        for sums in _in_batches(sum_block, rest.blocks(), problem.n_jobs):
            total.merge(sums)
            progress.update(total.n_rows, rest.n_rows, "rows measured")
    found = total.values(subsets)
    return Measured(found, total.covariances(), total.n_rows)


def _in_batches(
    function: Callable[[Any], Any], blocks: Iterable[Any], n_jobs: int | None
) -> Iterator[Any]:
    """Results in the order of the blocks, of which only a few are held at a time."""
    cancel: Cancel = np.zeros(1, dtype=np.uint8)
    size, batch = WAITING * effective_n_jobs(n_jobs), []
    for block in blocks:
        batch.append((block,))
        if len(batch) == size:
            yield from run_in_threads(function, batch, n_jobs, cancel)
            batch = []
    yield from run_in_threads(function, batch, n_jobs, cancel)
