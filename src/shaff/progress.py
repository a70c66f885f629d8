"""What a long run tells while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from shaff._warn import warn


class Progress(Protocol):
    """What the evaluation tells while it runs."""

    def update(self, done: int, total: int | None, note: str = "") -> None:
        """Subsets priced so far, and of how many if that is known."""
        ...


class Silent:
    """``verbose=0``."""

    def update(self, done: int, total: int | None, note: str = "") -> None:
        """Say nothing."""


class _Bar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._task = bar.add_task("Shapley effects", total=None, note="")

    def update(self, done: int, total: int | None, note: str = "") -> None:
        # Without a note of its own an update leaves the last one standing.
        fields = {"note": note} if note else {}
        self._bar.update(self._task, completed=done, total=total, **fields)


@contextmanager
def progress_bar(verbose: int) -> Iterator[Progress]:
    """A bar with the time left on standard error, or nothing with ``verbose=0``."""
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
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[note]}"),
    ]
    with rich.Progress(*columns, console=Console(stderr=True)) as bar:
        yield _Bar(bar)
