"""Evaluation on all rows of learners that were grown on a sample: one pass, in blocks.

Blocks are read and coded here; their sums are computed in threads or wherever tasks are sent. Sums
are added in the order of the rows, so that they are the same bits everywhere, and may be saved
after any block.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from shaff._util.threads import n_threads
from shaff._util.typing import FloatArray
from shaff._util.work import current_engine, run_tasks
from shaff.data.problem import Problem
from shaff.data.sources.sampled import UNITS, AllRows, MeasuredRows
from shaff.fitting.checkpoint import Arrays, Checkpoint
from shaff.fitting.progress import Progress
from shaff.protocols import RowPass, Values
from shaff.subsets import Subsets
from shaff.uncertainty.inference import Covariances
from shaff.values.sums import ErrorSums

# Blocks of rows for each thread or worker, which are held at a time: fewer, and they wait for each
# other; more take memory.
WAITING = 2
# Seconds between two saves: the most work that a stop loses.
SAVED_EVERY = 20.0


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of some subsets over all rows.

    Parameters
    ----------
    values : Values
        Values over all rows, without influences.
    covariances : list of float arrays of shape (n_subsets, n_subsets)
        Covariance of v, then that of each output where it is known.
    n_rows : int
        Number of rows measured.
    """

    values: Values
    covariances: list[FloatArray]
    n_rows: int

    def errors_of(self, subsets: Subsets) -> Covariances:
        """Return data errors of some of the subsets, in their order."""
        place = {key: k for k, key in enumerate(self.values.subsets.keys())}
        chosen = np.array([place[key] for key in subsets.keys()])
        return Covariances([c[np.ix_(chosen, chosen)] for c in self.covariances])


class RowsToMeasure(NamedTuple):
    """All rows as the value function knows them.

    Parameters
    ----------
    rest : AllRows
        All rows of the source, the sample included.
    problem : Problem
        The sample, as it was read.
    as_played : callable
        Map from rows of the problem to rows of the value function.
    """

    rest: AllRows
    problem: Problem
    as_played: Callable[[FloatArray], FloatArray]

    @property
    def n_units(self) -> int | None:
        """Number of groups of rows, None without groups; see `MeasuredRows`."""
        return None if self.problem.row_groups is None else UNITS

    def blocks(self, evaluated: RowPass) -> Iterator[MeasuredRows]:
        """Yield blocks of rows in order, each row with the model that predicts it."""
        fold_of, n_folds = evaluated.fold_of, evaluated.n_folds
        for block in self.rest.blocks():
            rows = self.rest.read(block, self.problem, fold_of, n_folds)
            yield rows._replace(X=self.as_played(rows.X))


@dataclass
class SoFar:
    """Sums over the first blocks and a hash of their rows, from which another run resumes."""

    sums: ErrorSums
    n_blocks: int = 0
    seen: bytes = b""

    def add(self, rows: MeasuredRows, sums: ErrorSums) -> None:
        """Add the next block."""
        self.sums.merge(sums)
        self.n_blocks += 1
        self.seen = _hash(self.seen, rows)

    def arrays(self) -> Arrays:
        """Return all that is to be saved."""
        seen = np.frombuffer(self.seen, dtype=np.uint8)
        return {**self.sums.arrays(), "n_blocks": np.array(self.n_blocks), "seen": seen}

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> SoFar:
        """Restore what was saved."""
        return cls(ErrorSums.of_arrays(arrays), int(arrays["n_blocks"]), arrays["seen"].tobytes())

    def is_like(self, arrays: Arrays) -> bool:
        """Whether arrays have the names, shapes and kinds of these."""
        own = {**self.arrays(), "seen": np.zeros(hashlib.sha256().digest_size, dtype=np.uint8)}
        return own.keys() == arrays.keys() and all(
            array.shape == arrays[name].shape and array.dtype.kind == arrays[name].dtype.kind
            for name, array in own.items()
        )

    def has_seen(self, blocks: Iterator[MeasuredRows]) -> bool:
        """Read as many blocks as were summed; return whether they are the same rows."""
        seen = b""
        for rows in islice(blocks, self.n_blocks):
            seen = _hash(seen, rows)
        return seen == self.seen


def _hash(before: bytes, rows: MeasuredRows) -> bytes:
    digest = hashlib.sha256(before)
    for part in rows:
        if part is not None:
            digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def measure(
    rows: RowsToMeasure,
    values: Any,
    subsets: Subsets,
    progress: Progress,
    checkpoint: Checkpoint | None = None,
) -> Measured:
    """Evaluate subsets on all rows.

    Parameters
    ----------
    rows : RowsToMeasure
    values : ValueFunction
        One that has a method ``over_rows``.
    subsets : Subsets
    progress : Progress
    checkpoint : Checkpoint or None, default=None
        Where sums are saved, and found again by another run.
    """
    evaluated: RowPass = values.over_rows(subsets)
    so_far, blocks = _resume(rows, evaluated, subsets, checkpoint)
    saved_at = time.monotonic()
    for block, sums in _summed(evaluated, blocks, rows.n_units, rows.problem.n_jobs):
        so_far.add(block, sums)
        progress.update(so_far.sums.n_rows, rows.rest.n_rows, "rows measured")
        if checkpoint is not None and time.monotonic() > saved_at + SAVED_EVERY:
            checkpoint.save_sums(subsets, so_far.arrays())
            saved_at = time.monotonic()
    if checkpoint is not None:
        checkpoint.save_sums(subsets, so_far.arrays())
    found = so_far.sums
    return Measured(found.values(subsets), found.covariances(), found.n_rows)


def _resume(
    rows: RowsToMeasure, evaluated: RowPass, subsets: Subsets, checkpoint: Checkpoint | None
) -> tuple[SoFar, Iterator[MeasuredRows]]:
    """Return what another run has summed over these rows, and the blocks that are left."""
    n_outputs = rows.problem.y.shape[1]
    nothing = SoFar(ErrorSums(len(subsets), n_outputs, evaluated.n_folds, rows.n_units))
    saved = None if checkpoint is None else checkpoint.load_sums(subsets)
    if saved is not None and nothing.is_like(saved):
        so_far, blocks = SoFar.of_arrays(saved), rows.blocks(evaluated)
        if so_far.has_seen(blocks):
            return so_far, blocks
    return nothing, rows.blocks(evaluated)


def _summed(
    evaluated: RowPass, blocks: Iterator[MeasuredRows], n_units: int | None, n_jobs: int | None
) -> Iterator[tuple[MeasuredRows, ErrorSums]]:
    """Yield each block with its sums, in order; only a few blocks are held at a time."""
    engine = current_engine()
    n_workers = n_threads(n_jobs) if engine is None else engine.n_workers
    while batch := list(islice(blocks, WAITING * n_workers)):
        if engine is None:
            evaluated.learn(n_jobs)
        tasks = [(rows, n_units) for rows in batch]
        sums = run_tasks(_sum, evaluated, tasks, n_jobs, evaluated.cancel)
        yield from zip(batch, sums, strict=True)


def _sum(evaluated: RowPass, rows: MeasuredRows, n_units: int | None) -> ErrorSums:
    """Run one task: the models are sent once; then rows go, and sums come back."""
    sums: ErrorSums = evaluated.sums(rows, n_units)
    return sums
