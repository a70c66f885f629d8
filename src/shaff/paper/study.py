"""Run what a study still lacks, and keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from joblib import Parallel, delayed

from shaff.paper.plan import Study
from shaff.paper.runs import Run, RunStore, Task
from shaff.paper.systems import run_task
from shaff.paper.tables import TABLES, Table


def missing_tasks(study: Study, store: RunStore, tables: Iterable[Table] = TABLES) -> list[Task]:
    """The tasks of the tables without a run, each once, first repetitions first.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shaff.paper.plan import QUICK
    >>> from shaff.paper.runs import RunStore
    >>> from shaff.paper.study import missing_tasks
    >>> store = RunStore(pathlib.Path(tempfile.mkdtemp()) / "runs.json")
    >>> {task.seed for task in missing_tasks(QUICK, store)[:5]}
    {0}
    """
    tasks = {task.key: task for table in tables for task in study.table_tasks(table)}
    lacking = [task for task in tasks.values() if store.get(task) is None]
    return sorted(lacking, key=lambda task: task.seed)


def run_study(
    study: Study,
    store: RunStore,
    *,
    tables: Iterable[Table] = TABLES,
    n_jobs: int | None = None,
    tell: Callable[[Task, Run], None] | None = None,
) -> None:
    """Run the missing tasks in parallel processes; every run is on disk once it is done."""
    tasks = missing_tasks(study, store, tables)
    jobs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for task, run in jobs(delayed(_named_run)(task) for task in tasks):
        store.add(task, run)
        if tell is not None:
            tell(task, run)


def _named_run(task: Task) -> tuple[Task, Run]:
    return task, run_task(task)
