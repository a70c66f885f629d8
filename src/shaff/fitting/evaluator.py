"""Evaluates subsets: each once, in blocks, here or elsewhere, with progress, saved as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shaff._util.typing import BoolArray
from shaff._util.work import current_engine, stream_tasks
from shaff.fitting.checkpoint import Checkpoint
from shaff.fitting.progress import Progress, Silent
from shaff.protocols import ValueFunction, Values
from shaff.subsets import Subsets

# Subsets between two looks at progress and checkpoint. More, and a stop loses more; fewer, and
# the kernels share less of a tree's preparation (`benchmarks.pairs`).
CHUNK = 64
# Subsets in a task that is sent elsewhere: fewer, as workers are not equally fast.
SENT = 32
# Where a subset was evaluated: a block of values, and the place in it; without influences (False)
# and with them (True).
Places = dict[bool, dict[bytes, tuple[Values, int]]]


class Evaluator:
    """Evaluates each subset once, whoever asks for it.

    Parameters
    ----------
    values : ValueFunction
    checkpoint : Checkpoint or None
        Where blocks are saved, and found again by another run.
    progress : Progress or None
    evaluated : Values or None
        What has been evaluated already, with influences.

    Examples
    --------
    >>> from shaff.datasets import experiment_1a
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.evaluator import Evaluator
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.ridge import RidgeValues
    >>> exp = experiment_1a(n=100, random_state=0)
    >>> evaluator = Evaluator(RidgeValues(Problem.of(exp.X, exp.y, random_state=0)))
    >>> twice = [evaluator.evaluate(Subsets.full(15)).v[0] for _ in range(2)]
    >>> evaluator.n_evaluated, bool(twice[0] == twice[1])
    (1, True)
    """

    def __init__(
        self,
        values: ValueFunction,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
        evaluated: Values | None = None,
    ) -> None:
        self._values, self.checkpoint = values, checkpoint
        self.progress = progress or Silent()
        self.n_players = values.n_players
        self._found: Places = {False: {}, True: {}}
        # In the checkpoint; what this run has not asked for yet is not its own.
        self._saved: Places = {False: {}, True: {}}
        if evaluated is not None:
            _note(self._found[True], evaluated)

    @property
    def n_evaluated(self) -> int:
        """Subsets that have been evaluated."""
        return len(self._found[False].keys() | self._found[True].keys())

    def evaluate(
        self, subsets: Subsets, *, influences: bool = True, total: int | None = None
    ) -> Values:
        """Values in the order of the subsets; those that are not known yet block by block.

        The values do not depend on the blocks. ``total`` is what the progress bar is to end at.
        """
        new = subsets[self._is_new(subsets, influences)].unique()
        new = new[~self._take_saved(new, influences)]
        for block in self._blocks(new, influences):
            if self.checkpoint:
                self.checkpoint.save(block, influences)
            self._recall(block)
            _note(self._found[influences], block)
            self.progress.update(self.n_evaluated, total)
        return replace(self._gather(subsets, influences), subsets=subsets)

    def n_new(self, subsets: Subsets) -> int:
        """How many of the subsets have not been evaluated yet."""
        return len(subsets[self._is_new(subsets, influences=False)].unique())

    def _is_new(self, subsets: Subsets, influences: bool) -> BoolArray:
        new = [self._find(key, influences) is None for key in subsets.keys()]
        return np.array(new, dtype=bool)

    def _find(self, key: bytes, influences: bool) -> tuple[Values, int] | None:
        found = self._found[True].get(key)
        return self._found[False].get(key) if found is None and not influences else found

    def _take_saved(self, new: Subsets, influences: bool) -> BoolArray:
        """Which of the subsets another run has evaluated; they are this run's from now on."""
        if self.checkpoint is None or len(new) == 0:
            return np.zeros(len(new), dtype=bool)
        for values, with_rows in self.checkpoint.news():
            self._recall(values)
            _note(self._saved[with_rows], values)
        # As the first run would have: a value is not the same bits with influences and without.
        saved = self._saved[influences]
        keys = new.keys()
        self._found[influences].update({key: saved[key] for key in keys if key in saved})
        return np.array([key in saved for key in keys], dtype=bool)

    def _recall(self, values: Values) -> None:
        """Tell the value function, if it has a memory, what another process has evaluated for it,
        so that questions about further rows need no second evaluation."""
        recall = getattr(self._values, "recall", None)
        if recall is not None:
            recall(values)

    def _blocks(self, new: Subsets, influences: bool) -> Iterator[Values]:
        """Evaluates of all subsets, in whatever order they are done."""
        engine = current_engine()
        if engine is None:
            for start in range(0, len(new), CHUNK):
                yield self._values.values(new[start : start + CHUNK], influences=influences)
            return
        size = _block_size(len(new), engine.n_workers)
        tasks = [(new[start : start + size], influences) for start in range(0, len(new), size)]
        for _, values in stream_tasks(engine, _evaluate, self._values, tasks):
            yield values

    def _gather(self, subsets: Subsets, influences: bool) -> Values:
        """What was evaluated, in the order of the subsets; neighbours in a chunk at once."""
        runs: list[tuple[Values, int, int]] = []
        for key in subsets.keys():
            found = self._find(key, influences)
            assert found is not None
            values, place = found
            if runs and runs[-1][0] is values and runs[-1][2] == place:
                runs[-1] = (values, runs[-1][1], place + 1)
            else:
                runs.append((values, place, place + 1))
        parts = [values[first:end] for values, first, end in runs]
        if not influences:
            parts = [part.without_rows() for part in parts]
        return Values.concatenate(parts)


def _note(places: dict[bytes, tuple[Values, int]], values: Values) -> None:
    places.update({key: (values, place) for place, key in enumerate(values.subsets.keys())})


def _evaluate(values: ValueFunction, subsets: Subsets, influences: bool) -> Values:
    """One task: the value function is shipped once, subsets go there and prices come back."""
    return values.values(subsets, influences=influences)


def _block_size(n_subsets: int, n_workers: int) -> int:
    """As large as may be, such that all workers are done at about the same time."""
    n_rounds = -(-n_subsets // (SENT * n_workers))
    return max(1, -(-n_subsets // max(1, n_rounds * n_workers)))
