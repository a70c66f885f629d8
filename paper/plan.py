"""The sizes of a quick and of a full study."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Self

from paper.runs import Task

RETRAINED = frozenset({"williamson", "paths_retrained", "pairs_retrained"})
# The algorithm of the paper, and the defaults beside it, which take a few seconds.
PUBLISHED = frozenset({"shaff_published", "shaff"})
EXPERIMENT_ROWS = {"1a": 3000, "1b": 3000, "2": 10_000, "3": 2000}
N_SUBSETS = 500


@dataclass(frozen=True)
class Effort:
    """Repetitions and sizes.

    Parameters
    ----------
    repetitions, n_trees : int
    max_subsets : float
        Upper limit on the K of a table.
    max_rows : float
        Upper limit on the rows of an experiment.
    """

    repetitions: int
    n_trees: int
    max_subsets: float = inf
    max_rows: float = inf

    def limited(self, repetitions: int | None, n_trees: int | None) -> Self:
        """Return the same effort with at most these repetitions and trees."""
        return replace(
            self,
            repetitions=min(self.repetitions, repetitions or self.repetitions),
            n_trees=min(self.n_trees, n_trees or self.n_trees),
        )


@dataclass(frozen=True)
class Study:
    """A size of the whole reproduction.

    Parameters
    ----------
    published : Effort
        For the published algorithm.
    one_model : Effort
        For other systems that fit once.
    retrained : Effort
        For systems that fit a forest for every subset.
    fewer_trees : Effort
        For the published algorithm with fewer trees, which takes a fifth of the time.
    more_subsets : Effort
        For competitors that need more subsets than the paper gave them.
    convergence : Effort
        For errors by the number of rows.
    growth : Effort
        For the times of Table 2.
    seed : int
        Seed of the first repetition; the others follow.
    """

    published: Effort
    one_model: Effort
    retrained: Effort
    fewer_trees: Effort
    more_subsets: Effort
    convergence: Effort
    growth: Effort
    seed: int = 0

    def limited(
        self, repetitions: int | None = None, n_trees: int | None = None, seed: int = 0
    ) -> Self:
        """Return the same study with at most these repetitions and trees, from another seed."""
        return replace(
            self,
            published=self.published.limited(repetitions, n_trees),
            one_model=self.one_model.limited(repetitions, n_trees),
            retrained=self.retrained.limited(repetitions, n_trees),
            fewer_trees=self.fewer_trees.limited(repetitions, n_trees),
            more_subsets=self.more_subsets.limited(repetitions, n_trees),
            convergence=self.convergence.limited(repetitions, n_trees),
            seed=seed,
        )

    def effort(self, system: str) -> Effort:
        """The effort for a system in the tables and figures of the paper."""
        if system in PUBLISHED:
            return self.published
        return self.retrained if system in RETRAINED else self.one_model

    def tasks(
        self,
        system: str,
        experiment: str,
        n_subsets: int = N_SUBSETS,
        effort: Effort | None = None,
    ) -> list[Task]:
        """The runs behind one cell of a table, one per repetition.

        ``effort`` replaces that of the system, for instance to compare two on equal terms.
        """
        n_rows = EXPERIMENT_ROWS[experiment]
        return self.repeat(effort or self.effort(system), experiment, system, n_rows, n_subsets)

    def repeat(
        self, effort: Effort, experiment: str, system: str, n_rows: int, n_subsets: int
    ) -> list[Task]:
        """Return one task per repetition, within the limits of the effort."""
        n, k = int(min(n_rows, effort.max_rows)), int(min(n_subsets, effort.max_subsets))
        return [
            Task(experiment, system, self.seed + repetition, n, k, effort.n_trees)
            for repetition in range(effort.repetitions)
        ]


# The trees and K of the paper. Retrained systems fit K forests a repetition: with a hundred trees
# that takes an hour of one core, with 500 a day.
FULL = Study(
    published=Effort(30, n_trees=500),
    one_model=Effort(10, n_trees=500),
    retrained=Effort(3, n_trees=100),
    fewer_trees=Effort(30, n_trees=100),
    more_subsets=Effort(3, n_trees=100),
    convergence=Effort(5, n_trees=100),
    growth=Effort(1, n_trees=20),
)
QUICK = Study(
    published=Effort(2, n_trees=30, max_rows=1500),
    one_model=Effort(2, n_trees=30, max_rows=1500),
    retrained=Effort(1, n_trees=20, max_subsets=150, max_rows=800),
    fewer_trees=Effort(2, n_trees=10, max_rows=1500),
    more_subsets=Effort(1, n_trees=30, max_rows=1500),
    convergence=Effort(1, n_trees=30, max_subsets=200, max_rows=4000),
    growth=Effort(1, n_trees=10, max_subsets=200, max_rows=1000),
)
