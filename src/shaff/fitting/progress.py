"""Progress bars of a long run: reading, growing, evaluating, each with the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from shaff._util.warn import warn
from shaff.data.problem import Problem
from shaff.protocols import Game


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


@contextmanager
def progress_bar(verbose: int, step: str = "Evaluating subsets") -> Iterator[Progress]:
    """Show a bar with the time left on standard error, or nothing with ``verbose=0``."""
    if not verbose:
        yield Silent()
        return
    try:
        from rich import progress as rich
        from rich.console import Console
    except ImportError:
        warn('verbose=1 draws its progress bar with rich: pip install "shaff[cli]".')
        yield Silent()
        return
    columns = [
        rich.TextColumn("{task.description:<17}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[note]}"),
    ]
    with rich.Progress(*columns, console=Console(stderr=True)) as bar:
        yield _Bar(bar, step)


def with_progress(
    make: Callable[[Problem], Game], verbose: int, in_steps: bool = True
) -> Callable[[Problem], Game]:
    """Return the same maker of a value function, with a progress bar while learners grow.

    ``in_steps`` says that the maker reports how far it is. One that sends the problem to other
    processes cannot, since a bar cannot be sent.
    """

    def make_and_tell(problem: Problem) -> Game:
        with progress_bar(verbose, "Growing learners") as progress:
            return make(replace(problem, tell=progress.update) if in_steps else problem)

    return make_and_tell if verbose else make
