"""Work that travels: one function over many tasks, in threads or wherever joblib is told to.

By default tasks run in threads of this process. Inside
``with joblib.parallel_config(backend="loky" | "dask" | "ray" | "spark")`` they run there: what
all tasks share is shipped once, a task is a pure function of it and of its own few arguments, so
that it may be run again when a worker is lost, and the values are the same bits everywhere.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from typing import Any

import joblib
import numpy as np

from shaff._util.threads import Cancel, check_jobs, in_task, run_in_threads, thread_pool
from shaff._util.work.engines import Engine, Tasks, active_engine
from shaff._util.work.parcel import new_key, pack
from shaff._util.work.worker import TaskOutcome
from shaff.errors import UserError, WorkersLostError

__all__ = [
    "Engine",
    "current_engine",
    "engaged",
    "in_blocks",
    "run_tasks",
    "stream_outcomes",
    "stream_tasks",
]

# Times that lost work is sent anew when nothing came back in between.
# Fewer, and a restart of the cluster ends the run; more, and a task that kills its worker does so.
MAX_FAULTS = 3
# Seconds to wait before, twice as long each time: a cluster may be starting new workers.
PATIENCE = 1.0

# What has been shipped where, for as long as it lives here: the engine's place, key and handle.
_shipped: weakref.WeakKeyDictionary[Any, tuple[Any, str, Any]] = weakref.WeakKeyDictionary()
_current: ContextVar[Engine | None] = ContextVar("engine", default=None)


@contextmanager
def engaged(n_jobs: int | None, prefer: str = "threads") -> Iterator[None]:
    """Send tasks where ``joblib.parallel_config`` says, for as long as the block runs.

    Those that stay here share one set of threads, which end with the block.
    What other libraries ask of joblib inside stays in threads of this process: their tasks are
    many and small, and carry the table with each of them. ``prefer="processes"`` sends tasks to
    processes of this machine where joblib is told nothing.

    Examples
    --------
    >>> import joblib
    >>> from shaff._util.work import current_engine, engaged
    >>> with joblib.parallel_config(backend="loky"), engaged(n_jobs=2):
    ...     current_engine().name
    'loky'
    >>> current_engine() is None
    True
    """
    check_jobs(n_jobs)
    engine = active_engine(n_jobs, prefer)
    token = _current.set(engine)
    try:
        with _at_home(engine), thread_pool(n_jobs):
            yield
    finally:
        _current.reset(token)


def _at_home(engine: Engine | None) -> AbstractContextManager[Any]:
    """Keep what others ask of joblib in this process; without an engine it is there already."""
    return nullcontext() if engine is None else joblib.parallel_config(backend="threading")


def current_engine() -> Engine | None:
    """Return the engine that tasks are sent to; None for threads of this process, and in them."""
    return None if in_task() else _current.get()


def in_blocks(n_things: int, in_threads: int | None = None) -> list[range]:
    """So many things as tasks of about the same size: one each for threads, which take the next
    when they are done, or so many blocks as they are to have; for workers elsewhere two blocks
    each, since every task is a message."""
    engine = current_engine()
    wanted = (in_threads or n_things) if engine is None else 2 * engine.n_workers
    edges = np.linspace(0, n_things, min(n_things, wanted) + 1).astype(int)
    return [range(a, b) for a, b in pairwise(edges.tolist())]


def run_tasks(
    function: Callable[..., Any],
    shared: Any,
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    cancel: Cancel | None = None,
) -> list[Any]:
    """``function(shared, *task)`` of each task, in their order.

    Parameters
    ----------
    function : callable
        Of a module, and pure: what a lost worker was at is done again by another.
    shared : object
        Heavy and only read. One that can be referred to weakly is shipped once.
    tasks : sequence of tuples
        Light.
    n_jobs : int or None
    cancel : uint8 array of length 1 or None
        That the kernels of the function look at, for threads; see
        `shaff._util.threads.run_in_threads`.

    Examples
    --------
    >>> from shaff._util.work import run_tasks
    >>> run_tasks(list.index, [5, 7, 9], [(9,), (5,)], n_jobs=2)
    [2, 0]
    """
    engine = current_engine()
    if engine is None:
        return run_in_threads(partial(function, shared), tasks, n_jobs, cancel)
    found = dict(stream_tasks(engine, function, shared, tasks))
    return [found[number] for number in range(len(tasks))]


def stream_tasks(
    engine: Engine, function: Callable[..., Any], shared: Any, tasks: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, Any]]:
    """Yield the number and value of each finished task; raise errors of the function."""
    for number, outcome in stream_outcomes(engine, function, shared, tasks):
        yield number, outcome.get()


def stream_outcomes(
    engine: Engine, function: Callable[..., Any], shared: Any, tasks: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, TaskOutcome]]:
    """The same with the error of a task in its outcome; the others go on.

    What is lost with its workers is sent anew; the second time in a row one task alone, so that
    one which kills its workers is found out.
    """
    pending, faults = dict(enumerate(tasks)), list[BaseException]()
    while pending:
        first = next(iter(pending))
        some = dict(pending) if len(faults) < 2 else {first: pending[first]}
        try:
            for number, outcome in _attempt(engine, function, shared, some):
                faults.clear()
                del pending[number]
                yield number, outcome
        except UserError:  # of this machine, such as a full disk: to be mended first
            raise
        except (Exception, asyncio.CancelledError) as fault:
            faults.append(fault)
            _forget(shared)
            given_up = list(pending) if engine.is_gone else [first][: len(faults) > MAX_FAULTS]
            for number in given_up:
                del pending[number]
                yield number, TaskOutcome(error=WorkersLostError(_sentence(engine, faults[0])))
            if given_up:
                faults.clear()
            else:
                time.sleep(PATIENCE * 2 ** (len(faults) - 1))


def _attempt(
    engine: Engine, function: Callable[..., Any], shared: Any, tasks: Tasks
) -> Iterator[tuple[int, TaskOutcome]]:
    key, handle = _ship(engine, shared)
    for number, outcome in engine.run(key, handle, function, tasks):
        if not isinstance(outcome, TaskOutcome):
            raise TypeError(f"the engine returned {outcome!r}")
        yield number, outcome


def _ship(engine: Engine, shared: Any) -> tuple[str, Any]:
    with suppress(KeyError, TypeError):  # not yet, or nothing that can be looked up
        place, key, handle = _shipped[shared]
        if place == engine.place:
            return key, handle
    key, handle = new_key(), engine.ship(pack(shared))
    with suppress(TypeError):
        _shipped[shared] = engine.place, key, handle
    return key, handle


def _forget(shared: Any) -> None:
    """Forget what was shipped, which may be lost with the workers."""
    with suppress(TypeError):
        _shipped.pop(shared, None)


def _sentence(engine: Engine, fault: BaseException) -> str:
    """What was lost; the first fault of a row tells more than those it leads to."""
    words = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
    lost = (
        f"The scheduler ({engine.name}) is gone."
        if engine.is_gone
        else f"The workers ({engine.name}) were lost {MAX_FAULTS + 1} times in a row, as by lack "
        f"of memory or of a scheduler ({words})."
    )
    return f"{lost} What was saved in a checkpoint is kept: run again to go on from there."
