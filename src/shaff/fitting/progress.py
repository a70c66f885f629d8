"""Progress bars of a long run: reading, growing, evaluating, each with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Protocol

from shaff._util.warn import warn
from shaff.data.problem import Problem
from shaff.protocols import Game

# Seconds between two lines where no bar can be drawn.
A_MINUTE = 60.0


class Progress(Protocol):
    """A receiver of progress reports."""

    def update(self, done: int, total: int | None, note: str = "") -> None:
        """Report how much is done, and of how much if that is known."""


class Silent:
    """No progress bar: ``verbose=0``."""

    def update(self, done: int, total: int | None, note: str = "") -> None:
        """Show nothing."""


class _Bar:
    def __init__(self, bar: Any, step: str) -> None:
        self._bar = bar
        self._task = bar.add_task(step, total=None, note="")

    def update(self, done: int, total: int | None, note: str = "") -> None:
        # Without a note of its own an update leaves the last one standing.
        fields = {"note": note} if note else {}
        self._bar.update(self._task, completed=done, total=total, **fields)

    def __reduce__(self) -> tuple[type[Silent], tuple[()]]:
        # A bar can be sent neither to other processes nor into files.
        return Silent, ()


class ProgressLines:
    """Progress where no bar can be drawn: a line a minute on standard error.

    Examples
    --------
    >>> import itertools, sys
    >>> from shaff.fitting.progress import ProgressLines
    >>> clock = itertools.count(0, 45).__next__
    >>> progress = ProgressLines("Reading rows", clock, stream=sys.stdout)
    >>> for done in range(4):
    ...     progress.update(done, 9)
    shaff: Reading rows: 1 of 9
    shaff: Reading rows: 3 of 9
    """

    def __init__(
        self, step: str, clock: Callable[[], float] = time.monotonic, stream: Any = None
    ) -> None:
        self._step, self._clock, self._stream = step, clock, stream
        self._said_at = clock()

    def update(self, done: int, total: int | None, note: str = "") -> None:
        """Write a line if the last one is a minute old."""
        now = self._clock()
        if now - self._said_at < A_MINUTE:
            return
        self._said_at = now
        known = f"{done} of {total}" if total else str(done)
        said = f"shaff: {self._step}: {known}" + (f" ({note})" if note else "")
        print(said, file=self._stream or sys.stderr, flush=True)

    def __reduce__(self) -> tuple[type[Silent], tuple[()]]:
        return Silent, ()


@contextmanager
def progress_bar(verbose: int, step: str = "Evaluating subsets") -> Iterator[Progress]:
    """Show a bar with the time left on standard error; a line a minute if that is no terminal, and
    nothing with ``verbose=0``."""
    if not verbose:
        yield Silent()
        return
    console = _terminal()
    if console is None:
        yield ProgressLines(step)
        return
    from rich import progress as rich

    columns = [
        rich.TextColumn("{task.description:<17}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("elapsed,"),
        rich.TimeRemainingColumn(),
        rich.TextColumn("left"),
        rich.TextColumn("{task.fields[note]}"),
    ]
    with rich.Progress(*columns, console=console) as bar:
        yield _Bar(bar, step)


def _terminal() -> Any:
    """Return a console on which a bar moves; None for files and pipes, for notebooks without
    widgets, about which rich would warn, and without rich."""
    try:
        from rich.console import Console
    except ImportError:
        if sys.stderr.isatty():
            warn('verbose=1 draws its progress bar with rich: pip install "shaff[cli]".')
        return None
    console = Console(stderr=True)
    if console.is_jupyter:
        return console if find_spec("ipywidgets") is not None else None
    return console if console.is_terminal else None


def with_progress(
    make: Callable[[Problem], Game],
    verbose: int,
    in_steps: bool = True,
    step: str = "Growing learners",
) -> Callable[[Problem], Game]:
    """Return the same maker of a value function, with a progress bar while learners grow, or a
    model is asked about rows before.

    ``in_steps`` says that the maker reports how far it is. One that sends the problem to other
    processes cannot, since a bar cannot be sent.
    """

    def make_and_tell(problem: Problem) -> Game:
        with progress_bar(verbose, step) as progress:
            return make(replace(problem, tell=progress.update) if in_steps else problem)

    return make_and_tell if verbose else make
