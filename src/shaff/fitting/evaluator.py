"""Evaluation of subsets: each once, in blocks, on this machine or others, saved as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import fields, replace

import numpy as np

from shaff._util.typing import BoolArray
from shaff._util.work import current_engine, stream_tasks
from shaff.fitting.checkpoint import Checkpoint
from shaff.fitting.progress import Progress, Silent
from shaff.protocols import Design, Proposal, ValueFunction, Values
from shaff.subsets import Subsets

# Subsets between two looks at progress and checkpoint. More, and a stop loses more; fewer, and
# the kernels share less of a tree's preparation (`benchmarks.pairs`).
CHUNK = 64
# Subsets in a task that is sent elsewhere: fewer, as workers are not equally fast.
SENT = 32
# Where a subset was evaluated: a block of values, and the place in it; without influences (False)
# and with them (True).
Places = dict[bool, dict[bytes, tuple[Values, int]]]


def run_design(
    design: Design, history: Values, evaluate: Callable[[Proposal, int], Values]
) -> tuple[list[Proposal], Values]:
    """Let a design propose subsets, and evaluate them, in turn until it has no more to propose.

    Parameters
    ----------
    design : Design
    history : Values
        What has been evaluated before, the full set first.
    evaluate : callable
        ``evaluate(proposal, n_subsets) -> Values`` of the proposal's subsets, in their order;
        ``n_subsets`` is how many the history will hold then.

    Returns
    -------
    proposals : list of Proposal
    history : Values
        The history given, followed by the values of all proposals.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.exhaustive import ExhaustiveDesign
    >>> from shaff.fitting.evaluator import run_design
    >>> from shaff.protocols import Values
    >>> from shaff.subsets import Subsets
    >>> start = Values(Subsets.full(3), np.array([1.0]))
    >>> proposals, history = run_design(
    ...     ExhaustiveDesign(3), start, lambda proposal, _: Values(proposal.subsets, np.ones(6))
    ... )
    >>> len(proposals), len(history.v)
    (1, 7)
    """
    proposals: list[Proposal] = []
    while (proposal := design.propose(history)) is not None:
        more = evaluate(proposal, len(history.v) + len(proposal.subsets))
        history = Values.concatenate([history, more])
        proposals.append(proposal)
    return proposals, history


class Evaluator:
    """Evaluates each subset once, whoever asks for it.

    Parameters
    ----------
    values : ValueFunction
    checkpoint : Checkpoint or None, default=None
        Where blocks are saved, and found again by another run.
    progress : Progress or None, default=None
        What is told after each block; None means nothing. See also `reporting_to`.
    evaluated : Values or None, default=None
        Values that are known already, with influences.

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
        self._progress = progress or Silent()
        self.n_players = values.n_players
        # Whether values are reported with their correction.
        self.corrected = True
        self._found: Places = {False: {}, True: {}}
        # In the checkpoint; what this run has not asked for yet is not its own.
        self._saved: Places = {False: {}, True: {}}
        if evaluated is not None:
            _note(self._found[True], evaluated)

    @property
    def progress(self) -> Progress:
        """What is told after each block."""
        return self._progress

    def reporting_to(self, progress: Progress) -> Evaluator:
        """Return an evaluator that tells another progress bar, and shares all values with this."""
        other = copy(self)
        other._progress = progress
        return other

    @property
    def n_evaluated(self) -> int:
        """Number of subsets that have been evaluated."""
        return len(self._found[False].keys() | self._found[True].keys())

    def evaluate(
        self, subsets: Subsets, *, influences: bool = True, total: int | None = None
    ) -> Values:
        """Return the values in the order of the subsets, evaluating those that are not known yet.

        They are evaluated block by block; the values do not depend on the blocks. ``total`` is
        where the progress bar ends.
        """
        new = subsets[self._is_new(subsets, influences)].unique()
        new = new[~self._take_saved(new, influences)]
        for block in self._blocks(new, influences):
            if self.checkpoint:
                self.checkpoint.save(block, influences)
                self._forget_unlike(block, influences)
            self._recall(block)
            _note(self._found[influences], block)
            self._progress.update(self.n_evaluated, total)
        if self._is_new(subsets, influences).any():  # forgotten
            return self.evaluate(subsets, influences=influences, total=total)
        return self._reported(replace(self._gather(subsets, influences), subsets=subsets))

    def run(
        self, design: Design, start: Subsets, planned: int | None = None
    ) -> tuple[list[Proposal], Values]:
        """Evaluate some subsets, the full set first, and then what a design proposes.

        Parameters
        ----------
        design : Design
        start : Subsets
        planned : int or None, default=None
            Number of subsets that the progress bar expects in the end, those of ``start``
            included; None if it is not known.

        Returns
        -------
        proposals : list of Proposal
        history : Values
            All values so far, without influences.
        """

        def evaluate(proposal: Proposal, n_subsets: int) -> Values:
            total = max(planned or 0, n_subsets)
            values = self.evaluate(proposal.subsets, total=total).without_rows()
            if proposal.error is not None:
                self._progress.update(n_subsets, planned, f"error bar {proposal.error:.4f}")
            return values

        return run_design(design, self.evaluate(start).without_rows(), evaluate)

    def evaluated(self) -> Values:
        """Return the values of every subset so far, without influences, in order of evaluation."""
        found = {**self._found[True], **{k: v for k, v in self._found[False].items()
                                         if k not in self._found[True]}}  # fmt: skip
        return self._reported(
            Values.concatenate(
                [values[place : place + 1].without_rows() for values, place in found.values()]
            )
        )

    def _reported(self, values: Values) -> Values:
        return values if self.corrected else values.uncorrected()

    def n_new(self, subsets: Subsets) -> int:
        """Return how many of the subsets have not been evaluated yet."""
        return len(subsets[self._is_new(subsets, influences=False)].unique())

    def _is_new(self, subsets: Subsets, influences: bool) -> BoolArray:
        new = [self._find(key, influences) is None for key in subsets.keys()]
        return np.array(new, dtype=bool)

    def _find(self, key: bytes, influences: bool) -> tuple[Values, int] | None:
        found = self._found[True].get(key)
        return self._found[False].get(key) if found is None and not influences else found

    def _take_saved(self, new: Subsets, influences: bool) -> BoolArray:
        """Mark the subsets that another run has evaluated; they are this run's from now on."""
        if self.checkpoint is None or len(new) == 0:
            return np.zeros(len(new), dtype=bool)
        for values, with_rows in self.checkpoint.news():
            known = next(iter(self._saved[with_rows].values()), (values, 0))[0]
            if values.subsets.n_players == self.n_players and are_alike(values, known):
                self._recall(values)
                _note(self._saved[with_rows], values)
        # As the first run would have: a value is not the same bits with influences and without.
        saved = self._saved[influences]
        keys = new.keys()
        self._found[influences].update({key: saved[key] for key in keys if key in saved})
        return np.array([key in saved for key in keys], dtype=bool)

    def _forget_unlike(self, block: Values, influences: bool) -> None:
        """Forget saved values of another shape than those that were evaluated just now."""
        for places in (self._found[influences], self._saved[influences]):
            for key in [k for k, (values, _) in places.items() if not are_alike(values, block)]:
                del places[key]

    def _recall(self, values: Values) -> None:
        """Tell the value function, if it has a memory, what another process has evaluated for it,
        so that questions about further rows need no second evaluation."""
        recall = getattr(self._values, "recall", None)
        if recall is not None:
            recall(values)

    def _blocks(self, new: Subsets, influences: bool) -> Iterator[Values]:
        """Evaluate all subsets, and yield blocks of them in the order in which they are done."""
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
        """Collect known values in the order of the subsets; neighbours in a block go together."""
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


def are_alike(a: Values, b: Values) -> bool:
    """Whether blocks can be of one value function: what both have is of one shape a subset."""
    named = [(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.name != "subsets"]
    return all(x.shape[1:] == y.shape[1:] for x, y in named if x is not None and y is not None)


def _note(places: dict[bytes, tuple[Values, int]], values: Values) -> None:
    places.update({key: (values, place) for place, key in enumerate(values.subsets.keys())})


def _evaluate(values: ValueFunction, subsets: Subsets, influences: bool) -> Values:
    """Run one task: the value function is sent once; then subsets go, and values come back."""
    return values.values(subsets, influences=influences)


def _block_size(n_subsets: int, n_workers: int) -> int:
    """Return the largest size of a block with which all workers end at about the same time."""
    n_rounds = -(-n_subsets // (SENT * n_workers))
    return max(1, -(-n_subsets // max(1, n_rounds * n_workers)))
