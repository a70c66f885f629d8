"""Ctrl-C in a program: one line and exit code 130, whatever it interrupts.

Nothing but the smallest modules is imported here: this is in force before anything else is.
"""

from __future__ import annotations

import atexit
import os
import signal
from types import FrameType
from typing import Any

INTERRUPTED = 130


def end_at_once(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Say so, and end: for the time before there is anything to clean up, and after."""
    os.write(2, b"shaff: interrupted\n")
    os._exit(INTERRUPTED)


def is_ignored() -> bool:
    """Whether who started the program has Ctrl-C ignored, as ``nohup`` does."""
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN


class Interrupts:
    """Remembers Ctrl-C, which some imports turn into errors of their own.

    Parameters
    ----------
    ends : bool
        Whether the program ends after this, so that Ctrl-C ends it at once from then on; otherwise
        it is handled as before. Once ``is_told`` is set, the program ends with `INTERRUPTED`.

    Examples
    --------
    >>> import signal
    >>> from shaff._util.interrupts import Interrupts
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> with Interrupts(ends=False) as interrupts:
    ...     try:
    ...         signal.raise_signal(signal.SIGINT)
    ...     except KeyboardInterrupt:
    ...         interrupts.came
    True
    >>> restored = signal.signal(signal.SIGINT, before)
    """

    def __init__(self, ends: bool) -> None:
        self.came, self.is_told, self._ends = False, False, ends
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        if self._ends:
            atexit.register(self._leave)  # first of all, and so the last that is called
        try:
            self._before = None if is_ignored() else signal.signal(signal.SIGINT, self._note)
        except ValueError:  # not in the main thread, which alone is interrupted
            self._before = None
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def _leave(self) -> None:
        """End with the code of Ctrl-C: where it came while Python ran text as code, as libraries
        do when they are imported, Python would end by the signal, although it has been handled."""
        if self.is_told:
            os._exit(INTERRUPTED)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, end_at_once if self._ends else self._before)
