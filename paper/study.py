"""Run what a study still lacks, and keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic

from joblib import Parallel, delayed

from paper.growth import growth_tasks
from paper.plan import RETRAINED, Study
from paper.results import (
    CONVERGENCE_EXPERIMENTS,
    CONVERGENCE_ROWS,
    CONVERGENCE_SYSTEMS,
    convergence_tasks,
)
from paper.runs import Run, RunStore, Task
from paper.systems import run_task
from paper.tables import FIGURES, TABLES, PaperTable
from paper.theorem import theorem_tasks
from shaff._util.threads import one_thread

Tell = Callable[[Task, Run, int], None]


def table_tasks(study: Study, tables: Iterable[PaperTable] = TABLES) -> list[Task]:
    """Return the runs behind the tables."""
    cells = (
        row.tasks(study, experiment)
        for table in tables
        for row in table.rows
        for experiment in table.experiments
    )
    return [task for cell in cells for task in cell]


def _one_table(table: PaperTable, study: Study) -> list[Task]:
    return table_tasks(study, [table])


def figure_tasks(study: Study) -> list[Task]:
    """Return the runs behind the figures, the convergence plot included."""
    boxes = (
        study.tasks(system, experiment)
        for experiment, panels in FIGURES.items()
        for system in panels.values()
    )
    lines = (
        convergence_tasks(study, system, experiment, n_rows)
        for system in CONVERGENCE_SYSTEMS.values()
        for experiment in CONVERGENCE_EXPERIMENTS
        for n_rows in CONVERGENCE_ROWS
    )
    return [task for tasks in (*boxes, *lines) for task in tasks]


def chosen_tasks(study: Study, only: str | None = None) -> list[Task]:
    """Return the tasks of the whole study, or of one part of it: a name of `PARTS`."""
    if only is None:
        return all_tasks(study)
    return sorted(dict.fromkeys(PARTS[only](study)), key=_turn)


def all_tasks(study: Study) -> list[Task]:
    """Return all tasks, each once: first repetitions first, retrained systems at the end.

    A study that is stopped has then something to say about every fast system. Retraining on the
    hundred variables of 1b takes longer than all the rest and comes last.

    Examples
    --------
    >>> from paper.plan import QUICK
    >>> from paper.study import all_tasks
    >>> tasks = all_tasks(QUICK)
    >>> tasks[0].seed, len(set(tasks)) == len(tasks)
    (0, True)
    """
    parts = (table_tasks(study), figure_tasks(study), growth_tasks(study), theorem_tasks(study))
    return sorted(dict.fromkeys(task for part in parts for task in part), key=_turn)


# Parts of the study by name, for ``--only``.
PARTS: dict[str, Callable[[Study], list[Task]]] = {
    "table-2": growth_tasks,
    **{table.name: partial(_one_table, table) for table in TABLES},
    "figures": figure_tasks,
    "theorem": theorem_tasks,
}


def _turn(task: Task) -> tuple[bool, bool, int, int]:
    retrained = task.system in RETRAINED
    return retrained, retrained and task.experiment == "1b", task.seed, task.n_rows


def run_tasks(
    tasks: Iterable[Task],
    store: RunStore,
    *,
    n_jobs: int | None = None,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> None:
    """Run the tasks that the store lacks, in processes; every run is on disk once it is done.

    Parameters
    ----------
    tasks : iterable of Task
    store : RunStore
    n_jobs : int or None, default=None
        Number of runs at a time.
    seconds : float or None, default=None
        No run is started after this time.
    tell : callable or None, default=None
        Called after each run, as ``tell(task, run, n_left)``.
    """
    lacking = [task for task in tasks if store.get(task) is None]
    end = None if seconds is None else monotonic() + seconds
    # Handed out one by one, so that the deadline is checked before each.
    jobs = Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
    )
    started = (delayed(_named_run)(task) for task in lacking if end is None or monotonic() < end)
    for done, (task, run) in enumerate(jobs(started), start=1):
        store.add(task, run)
        if tell is not None:
            tell(task, run, len(lacking) - done)


def _named_run(task: Task) -> tuple[Task, Run]:
    # One thread per run: the runs share the cores.
    with one_thread():
        return task, run_task(task)
