"""How much of each table a quick and a full study run."""

from __future__ import annotations

from dataclasses import dataclass

from shaff.paper.runs import Task
from shaff.paper.tables import EXPERIMENT_ROWS, Row, Table

RETRAINED = frozenset({"williamson", "paths_retrained", "pairs_retrained"})


@dataclass(frozen=True)
class Effort:
    """Repetitions and sizes for systems that fit one model, or one a subset.

    Parameters
    ----------
    repetitions, n_trees : int
    max_subsets : int
        Upper limit on the K of a table.
    max_rows : int
        Upper limit on the rows of an experiment.
    """

    repetitions: int
    n_trees: int
    max_subsets: int = 3000
    max_rows: int = 10_000


@dataclass(frozen=True)
class Study:
    """A size of the whole reproduction.

    Parameters
    ----------
    one_model : Effort
        For systems that fit once.
    retrained : Effort
        For systems that fit a forest for every subset.
    """

    one_model: Effort
    retrained: Effort

    def effort(self, system: str) -> Effort:
        """The effort for a system."""
        return self.retrained if system in RETRAINED else self.one_model

    def tasks(self, row: Row, experiment: str) -> list[Task]:
        """The runs behind one cell of a table; the seeds are 0, 1, ... ."""
        effort = self.effort(row.system)
        return [
            Task(
                experiment,
                row.system,
                seed,
                min(EXPERIMENT_ROWS[experiment], effort.max_rows),
                min(row.n_subsets, effort.max_subsets),
                effort.n_trees,
            )
            for seed in range(effort.repetitions)
        ]

    def table_tasks(self, table: Table) -> list[Task]:
        """The runs behind a table, first repetitions first, so that a part of it says something."""
        cells = [self.tasks(row, name) for row in table.rows for name in table.experiments]
        return sorted((task for cell in cells for task in cell), key=lambda task: task.seed)


FULL = Study(Effort(repetitions=30, n_trees=500), Effort(repetitions=3, n_trees=100))
QUICK = Study(
    Effort(repetitions=2, n_trees=100, max_subsets=1000, max_rows=3000),
    Effort(repetitions=1, n_trees=20, max_subsets=100, max_rows=1500),
)
