"""One task in a worker, with one thread, and its outcome."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joblib import parallel_config

from shaff._util.threads import one_thread
from shaff._util.work.parcel import ByteArray, open_parcel


@dataclass(frozen=True, eq=False)
class TaskOutcome:
    """The value that a task returned, or the error that it raised."""

    value: Any = None
    error: Exception | None = None

    def get(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


def work(
    key: str, source: str | ByteArray, function: Callable[..., Any], *task: Any
) -> TaskOutcome:
    """``function(shared, *task)`` in a worker.

    Nothing but the arguments decides the value, so that a task may be run again elsewhere.

    Examples
    --------
    >>> from shaff._util.work.parcel import pack
    >>> from shaff._util.work.worker import work
    >>> work("a key", pack([3, 4]), list.index, 4).get()
    1
    """
    try:
        with one_thread(), parallel_config(backend="sequential"):
            return TaskOutcome(function(open_parcel(key, source), *task))
    except Exception as error:
        return TaskOutcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Replace an error that cannot be pickled by one with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
