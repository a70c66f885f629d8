"""Runs of a study so far, by system and experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from paper.plan import N_SUBSETS, RETRAINED, Effort, Study
from paper.runs import Run, RunStore, Task
from shaff._util.typing import FloatArray

CONVERGENCE_ROWS = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
CONVERGENCE_SYSTEMS = {"SHAFF": "shaff_published", "shaff, defaults": "shaff"}
CONVERGENCE_EXPERIMENTS = ("1a", "2")


Runs = tuple[Run, ...]


@dataclass(frozen=True, eq=False)
class Repetitions:
    """Runs on the same data, a tuple a repetition, and the trees of their forests."""

    runs: list[Runs]
    n_trees: int

    def __str__(self) -> str:
        return f"({len(self.runs)}, {self.n_trees} trees)"

    def of(self, number: int, name: str) -> FloatArray:
        """An attribute of one of the systems, by repetition."""
        return np.array([getattr(runs[number], name) for runs in self.runs])


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of a study that have been done.

    Parameters
    ----------
    study : Study
    store : RunStore
    """

    study: Study
    store: RunStore

    def found(self, tasks: Iterable[Task]) -> list[Run]:
        """Return the runs of those tasks that have been run."""
        return [run for task in tasks if (run := self.store.get(task)) is not None]

    def pairs(self, system: str, other: str, experiment: str) -> Repetitions:
        """Return runs of two systems on the same data and in the same sizes.

        The sizes are those of the second system, or its runs with fewer trees, if there are more.
        """
        return self._most(other, lambda effort: self._pairs(system, other, experiment, effort))

    def _pairs(self, system: str, other: str, experiment: str, effort: Effort) -> list[Runs]:
        both = zip(
            *(self.study.tasks(name, experiment, effort=effort) for name in (system, other)),
            strict=True,
        )
        found = [(self.store.get(task), self.store.get(its)) for task, its in both]
        return [(run, its) for run, its in found if run is not None and its is not None]

    def single(self, system: str, experiment: str) -> Repetitions:
        """Return runs of one system, or those with fewer trees, if there are more."""
        return self._most(system, lambda effort: self._single(system, experiment, effort))

    def _single(self, system: str, experiment: str, effort: Effort) -> list[Runs]:
        return [(run,) for run in self.found(self.study.tasks(system, experiment, effort=effort))]

    def _most(self, system: str, runs: Callable[[Effort], list[Runs]]) -> Repetitions:
        own, fewer = self.study.effort(system), self.study.fewer_trees
        efforts = (own,) if system in RETRAINED else (own, fewer)
        found = [Repetitions(runs(effort), effort.n_trees) for effort in efforts]
        return max(found, key=lambda repetitions: len(repetitions.runs))

    def converging(self, system: str, experiment: str, n_rows: int) -> list[Run]:
        """Return the runs behind one point of the convergence plot."""
        return self.found(convergence_tasks(self.study, system, experiment, n_rows))

    def effects(self, system: str, experiment: str) -> FloatArray | None:
        """Estimated effects, shape (n_repetitions, n_variables), or None without a run."""
        runs = self.found(self.study.tasks(system, experiment))
        return np.array([run.effects for run in runs]) if runs else None

    def curves(self) -> list[Curve]:
        """The lines of the convergence plot that have points."""
        lines = []
        for experiment in CONVERGENCE_EXPERIMENTS:
            for label, system in CONVERGENCE_SYSTEMS.items():
                runs = {n: self.converging(system, experiment, n) for n in CONVERGENCE_ROWS}
                errors = {n: [run.error for run in found] for n, found in runs.items() if found}
                lines.append(Curve(label, experiment, errors))
        return [line for line in lines if line.errors]


@dataclass(frozen=True)
class Curve:
    """Errors of a system on an experiment by the number of rows."""

    label: str
    experiment: str
    errors: dict[int, list[float]]


def convergence_tasks(study: Study, system: str, experiment: str, n_rows: int) -> list[Task]:
    """The runs at one number of rows; none if that is more than the study has time for."""
    if n_rows > study.convergence.max_rows:
        return []
    return study.repeat(study.convergence, experiment, system, n_rows, N_SUBSETS)
