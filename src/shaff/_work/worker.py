"""What happens in a worker: one task, alone with one thread, and what came of it."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joblib import parallel_config
from threadpoolctl import threadpool_limits

from shaff._work.parcel import ByteArray, open_parcel


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a task returned, or the error that it raised; whatever else comes is a fault."""

    value: Any = None
    error: Exception | None = None

    def get(self) -> Any:
        """The value, or the error raised here."""
        if self.error is not None:
            raise self.error
        return self.value


def work(key: str, source: str | ByteArray, function: Callable[..., Any], *task: Any) -> Outcome:
    """``function(shared, *task)`` in a worker.

    Nothing but the arguments decides the value, so that a task may be run again elsewhere.

    Examples
    --------
    >>> from shaff._work.parcel import pack
    >>> from shaff._work.worker import work
    >>> work("a key", pack([3, 4]), list.index, 4).get()
    1
    """
    try:
        with _one_thread, parallel_config(backend="sequential"):
            return Outcome(function(open_parcel(key, source), *task))
    except Exception as error:
        return Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Errors that cannot be sent are told by their words."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _OneThread:
    """Holds BLAS and OpenMP to one thread while any task runs: workers may run several at once,
    and the first to end must not let go for the others."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


_one_thread = _OneThread()
