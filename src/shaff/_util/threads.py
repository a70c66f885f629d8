"""Threads: kernels that Ctrl-C ends before it reaches the caller, and BLAS held to one."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import threadpoolctl
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

Cancel = npt.NDArray[np.uint8]
# scikit-learn says so in one thread while another, inside it, has emptied the filters for a moment.
FALSE_ALARM = "`sklearn.utils.parallel.delayed` should be used with"


class _Running:
    """Count of the tasks that are under way."""

    def __init__(self) -> None:
        self._count, self._changed = 0, threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait_for_none(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._count == 0)


def run_in_threads(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    cancel: Cancel,
) -> list[Any]:
    """Call the function on each task, in order of the tasks.

    When a call fails or the user interrupts, `cancel` is set, which ends the kernels that were
    given it, and the error is raised once they have: a thread that is still in a kernel when the
    interpreter exits would abort the process.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.threads import run_in_threads
    >>> run_in_threads(max, [(1, 2), (4, 3)], n_jobs=2, cancel=np.zeros(1, np.uint8))
    [2, 4]
    """
    cancel[0] = 0
    running = _Running()

    def call(*task: Any) -> Any:
        with running:
            if cancel[0]:
                raise KeyboardInterrupt
            return function(*task)

    try:
        with _no_false_alarms():
            parallel = Parallel(n_jobs=n_jobs, require="sharedmem")
            return list(parallel(delayed(call)(*task) for task in tasks))
    except BaseException:
        cancel[0] = 1
        running.wait_for_none()
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
