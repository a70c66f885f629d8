"""Threads: kernels that Ctrl-C ends before it reaches the caller, and BLAS held to one."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ContextDecorator, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import threadpoolctl
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from shaff._util.typing import is_whole
from shaff.errors import InputError

Cancel = npt.NDArray[np.uint8]
Tasks = Sequence[tuple[Any, ...]]
Recorder = Callable[[Callable[..., Any], Tasks], list[Any]]
# scikit-learn says so in one thread while another, inside it, has emptied the filters for a moment.
FALSE_ALARM = "`sklearn.utils.parallel.delayed` should be used with"
# What a task of several subsets takes besides, in the time that one more subset takes. Less, and
# work is cut for threads that it does not pay for; more, and some have none (`benchmarks.chain`).
PREPARATION = 3
# Seconds of work in all tasks of a call from which on threads share it. Less, and handing tasks
# over takes longer than they do; more, and cores wait (`benchmarks.cores`).
WORTH_SHARING = 0.002
# Seconds after which a waiting thread looks for Ctrl-C.
LOOK_UP = 0.2


class _Own(threading.local):
    """What this thread is at: the call whose task it runs, if any."""

    call: _Call | None = None


class _Call:
    """One call of `run_in_threads`: threads take its tasks in turn, in their order.

    When a task fails no further one is begun, and those before it are waited for: the error is that
    of the first task that fails, whichever fails sooner. Then the kernels of later tasks are ended.
    """

    def __init__(self, function: Callable[..., Any], tasks: Tasks, cancel: Cancel | None) -> None:
        self._function, self._tasks = function, tasks
        self._found: list[Any] = [None] * len(tasks)
        self._errors: dict[int, BaseException] = {}
        self._running, self._n_taken, self._is_ended = set[int](), 0, False
        self._cancels: dict[int, Cancel] = {}
        self._changed = threading.Condition()
        # What the tasks have taken so far, in seconds of processor time.
        self.seconds = 0.0
        self._watch(cancel)

    def run(self, pool: ThreadPoolExecutor, n_threads: int) -> list[Any]:
        """Return what the tasks return, once no thread is at any of them."""
        try:
            for _ in range(n_threads):
                pool.submit(self._work)
            self._wait_for(lambda: self._is_done)
        except BaseException:
            self._end()
            self._wait_for(lambda: not self._running)
            raise
        if self._errors:
            # Popped: the error knows this frame, which would know the error.
            raise self._errors.pop(min(self._errors))
        return self._found

    def run_nested(
        self, function: Callable[..., Any], tasks: Tasks, cancel: Cancel | None
    ) -> list[Any]:
        """Run another call inside one of the tasks, in its thread; it ends when this one does."""
        self._watch(cancel)
        found = []
        for task in tasks:
            if self._is_ended:
                raise KeyboardInterrupt
            found.append(function(*task))
        return found

    def _watch(self, cancel: Cancel | None) -> None:
        """Set a flag when the call ends; it is reset once, since other tasks may have it too."""
        if cancel is None:
            return
        with self._changed:
            if id(cancel) not in self._cancels:
                cancel[0] = self._is_ended
            self._cancels[id(cancel)] = cancel

    def _work(self) -> None:
        _own.call = self
        try:
            while (number := self._take()) is not None:
                self._do(number)
        finally:
            _own.call = None

    def _take(self) -> int | None:
        with self._changed:
            if self._is_ended or self._errors or self._n_taken == len(self._tasks):
                return None
            number, self._n_taken = self._n_taken, self._n_taken + 1
            self._running.add(number)
            return number

    def _do(self, number: int) -> None:
        error, started = None, time.thread_time()
        try:
            self._found[number] = self._function(*self._tasks[number])
        except BaseException as raised:
            error = raised
        with self._changed:
            self._running.remove(number)
            self.seconds += time.thread_time() - started
            if error is not None:
                self._errors[number] = error
            if self._errors and min(self._errors) < min(self._running, default=len(self._tasks)):
                self._end()
            self._changed.notify_all()

    @property
    def _is_done(self) -> bool:
        return not self._running and bool(self._errors or self._n_taken == len(self._tasks))

    def _end(self) -> None:
        """Begin no further task, and end the kernels that were given a flag."""
        with self._changed:
            self._is_ended = True
            for cancel in self._cancels.values():
                cancel[0] = 1

    def _wait_for(self, predicate: Callable[[], bool]) -> None:
        with self._changed:
            # By turns: not everywhere does Ctrl-C end a wait.
            while not self._changed.wait_for(predicate, timeout=LOOK_UP):
                pass


class _Pool:
    """The threads of a fit, and how long the tasks of its functions take."""

    def __init__(self, size: int) -> None:
        # Begun as they are needed.
        self.executor = ThreadPoolExecutor(size, "shaff", self._begin)
        self._threads: list[threading.Thread] = []
        # Seconds of a task when the function was last called, by its code.
        self._seconds: dict[Any, float] = {}

    def _begin(self) -> None:
        """What each thread does first: other libraries keep to threads in it as well."""
        self._threads.append(threading.current_thread())
        parallel_config(backend="threading")

    def end(self) -> None:
        """Wait until the threads have ended, also those that the executor does not know of.

        Ctrl-C may meet it after it has begun a thread and before it has noted that.
        """
        self.executor.shutdown()
        for thread in self._threads:
            thread.join()

    def run(
        self, function: Callable[..., Any], tasks: Tasks, cancel: Cancel | None, n_threads: int
    ) -> list[Any]:
        """Run the tasks in threads, or here where they are known to be short.

        Where they run changes nothing but time.
        """
        code = _code_of(function)
        if self._seconds.get(code, np.inf) * len(tasks) < WORTH_SHARING:
            started = time.thread_time()
            found = _run_here(function, tasks, cancel)
            seconds = time.thread_time() - started
        else:
            call = _Call(function, tasks, cancel)
            found = call.run(self.executor, n_threads)
            seconds = call.seconds
        self._seconds[code] = seconds / len(tasks)
        return found


def _code_of(function: Callable[..., Any]) -> Any:
    """What bound methods, closures and partial functions of one definition have in common."""
    inner = function.func if isinstance(function, partial) else function
    return getattr(inner, "__code__", getattr(inner, "__qualname__", type(inner)))


_own = _Own()
_pool: ContextVar[_Pool | None] = ContextVar("pool", default=None)
# What runs the tasks of a call in place of threads, so that they can be measured.
recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def in_task() -> bool:
    """Whether this thread runs a task of `run_in_threads` beside others."""
    return _own.call is not None


def check_jobs(n_jobs: object) -> None:
    """Refuse anything but None and whole numbers other than 0.

    Examples
    --------
    >>> from shaff._util.threads import check_jobs
    >>> check_jobs(-1)
    """
    if n_jobs is not None and not (is_whole(n_jobs) and n_jobs != 0):
        raise InputError(
            f"n_jobs={n_jobs!r}: expected None, a number of threads, or -1 for all cores."
        )


def n_threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` stands for here; inside of a task one.

    None is what ``joblib.parallel_config`` says, or 1; -1 all cores, -2 all but one. The workers of
    a cluster that joblib may know of are not counted.

    Examples
    --------
    >>> import joblib
    >>> from shaff._util.threads import n_threads
    >>> n_threads(None), n_threads(3)
    (1, 3)
    >>> with joblib.parallel_config(n_jobs=2):
    ...     n_threads(None)
    2
    """
    if in_task():
        return 1
    backend, _ = get_active_backend()
    if getattr(backend, "supports_sharedmem", False):
        return int(effective_n_jobs(n_jobs))
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))


def block_size(n_subsets: int, n_times: int, n_jobs: int | None, most: int) -> int:
    """How many subsets make a task, so that threads are soon done and do little twice.

    Parameters
    ----------
    n_subsets : int
    n_times : int
        Tasks that each subset is part of, such as one a fold.
    n_jobs : int or None
        See `n_threads`.
    most : int
        The largest size.

    Examples
    --------
    >>> from shaff._util.threads import block_size
    >>> [block_size(60, 5, n_jobs, most=64) for n_jobs in (1, 2, 16)]
    [60, 30, 20]
    """
    n_workers = n_threads(n_jobs)

    def cost(size: int) -> float:
        n_tasks = n_times * -(-n_subsets // size)
        slowest = -(-n_tasks // n_workers) * (PREPARATION + size)
        # Cores may have other work: what all threads take counts too.
        return slowest + (n_tasks * PREPARATION + n_times * n_subsets) / n_workers

    return min(range(max(1, min(n_subsets, most)), 0, -1), key=cost)


@contextmanager
def thread_pool(n_jobs: int | None) -> Iterator[None]:
    """Let all calls of `run_in_threads` inside share their threads, which end with the block.

    Examples
    --------
    >>> import threading
    >>> from shaff._util.threads import run_in_threads, thread_pool
    >>> with thread_pool(n_jobs=2):
    ...     run_in_threads(max, [(1, 2), (4, 3)], n_jobs=2)
    [2, 4]
    >>> [thread for thread in threading.enumerate() if thread.name.startswith("shaff")]
    []
    """
    pool = _Pool(n_threads(n_jobs))
    token = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(token)
        pool.end()


def run_in_threads(
    function: Callable[..., Any],
    tasks: Tasks,
    n_jobs: int | None,
    cancel: Cancel | None = None,
) -> list[Any]:
    """Call the function on each task, in order of the tasks.

    When a call fails or the user interrupts, `cancel` is set, which ends the kernels that were
    given it, and the error is raised once they have: a thread that is still in a kernel when the
    interpreter exits would abort the process. The error is that of the first task that fails.

    A task may itself call this function: its own tasks run one after the other in its thread.

    Parameters
    ----------
    function : callable
    tasks : sequence of tuples
        Its arguments. A single task runs in the calling thread.
    n_jobs : int or None
        See `n_threads`.
    cancel : uint8 array of length 1 or None, default=None
        Flag that the kernels of the function look at.

    Examples
    --------
    >>> from shaff._util.threads import run_in_threads
    >>> run_in_threads(max, [(1, 2), (4, 3)], n_jobs=2)
    [2, 4]
    """
    if _own.call is not None:
        return _own.call.run_nested(function, tasks, cancel)
    record = recorder.get()
    if record is not None and len(tasks) > 1:
        return record(function, tasks)
    n = min(n_threads(n_jobs), len(tasks))
    if n <= 1:
        return _run_here(function, tasks, cancel)
    bound = _pool.get()
    with _no_false_alarms(), thread_pool(n) if bound is None else nullcontext():
        pool = _pool.get()
        assert pool is not None
        return pool.run(function, tasks, cancel, n)


def _run_here(function: Callable[..., Any], tasks: Tasks, cancel: Cancel | None) -> list[Any]:
    """Call the function in this thread; the flag tells what it would tell elsewhere."""
    flag = np.zeros(1, np.uint8) if cancel is None else cancel
    flag[0] = 0
    try:
        return [function(*task) for task in tasks]
    except BaseException:
        flag[0] = 1
        raise


@contextmanager
def _no_false_alarms() -> Iterator[None]:
    """Pass on all warnings of the threads but one, and restore the filters."""
    with warnings.catch_warnings(record=True) as caught:
        try:
            yield
        finally:
            heard = [w for w in caught if not str(w.message).startswith(FALSE_ALARM)]
    for w in heard:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


class _OneBlasThread(ContextDecorator):
    """Holds BLAS to one thread while any thread of the process is inside: fits may run side by
    side, and the first to end must not let go for the others.

    How many threads share a product of matrices decides its last digits, so that all of a fit is
    inside; and the cores are busy with values.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(1, user_api="blas")
                _let_others_set_limits()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()
                _let_others_set_limits()


def _let_others_set_limits() -> None:
    """Since version 3.8 threadpoolctl hears one thread only, the first to set a limit, until it is
    told that this one is done; here the last to leave may be another."""
    controller: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(controller, "clear_controlling_thread"):
        controller.clear_controlling_thread()


one_blas_thread = _OneBlasThread()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread; OpenMP counts its threads per thread of the process."""
    with one_blas_thread, threadpool_limits(1, user_api="openmp"):
        yield
