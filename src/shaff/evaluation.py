"""Long evaluations: in chunks, with a progress bar, and saved as they go."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import joblib
import numpy as np

from shaff._files import replacing
from shaff._warn import warn
from shaff.protocols import ValueFunction, Values
from shaff.subsets import BoolArray, Subsets

CHUNK = 64


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


class Checkpoint:
    """Priced chunks as files: written whole or not at all, found again by their content.

    The name of a file is a hash of the run (``fingerprint``: data, model, settings) and of the
    chunk's subsets, so another run never reads it by mistake.
    """

    def __init__(self, directory: str | os.PathLike[str], fingerprint: bytes) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.fingerprint = fingerprint

    def among(self, players: BoolArray) -> Checkpoint:
        """For subsets of some of the players only, which have other numbers then."""
        return Checkpoint(self.directory, self.fingerprint + players.tobytes())

    def _path(self, subsets: Subsets, influences: bool) -> Path:
        digest = hashlib.sha256(self.fingerprint + bytes([influences]) + subsets.words.tobytes())
        return self.directory / f"{digest.hexdigest()[:32]}.npz"

    def load(self, subsets: Subsets, influences: bool) -> Values | None:
        """The chunk's values, if a run has saved them; a damaged file counts as none."""
        try:
            path = self._path(subsets, influences)
            with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                values = Values(subsets, **{name: saved[name] for name in saved})
        except (OSError, ValueError, TypeError, EOFError, BadZipFile, zlib.error):
            return None
        return values if len(values.v) == len(subsets) else None

    def save(self, values: Values, influences: bool) -> None:
        """Write the chunk whole or not at all."""
        arrays = {field.name: getattr(values, field.name) for field in fields(values)}
        del arrays["subsets"]
        with replacing(self._path(values.subsets, influences)) as temporary:
            np.savez(temporary, **{name: a for name, a in arrays.items() if a is not None})


def fingerprint(*parts: Any) -> bytes:
    """A hash of arrays, models and plain settings, the same in every process."""
    digest: str = joblib.hash(parts, hash_name="sha1")
    return digest.encode()


def evaluate(
    value_function: ValueFunction,
    subsets: Subsets,
    *,
    influences: bool = False,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
    done: int = 0,
    total: int | None = None,
) -> Values:
    """Price the subsets chunk by chunk; the result does not depend on the chunks."""
    progress = progress or Silent()
    parts = []
    for start in range(0, len(subsets), CHUNK):
        chunk = subsets[start : start + CHUNK]
        values = checkpoint.load(chunk, influences) if checkpoint else None
        if values is None:
            values = value_function.values(chunk, influences=influences)
            if checkpoint:
                checkpoint.save(values, influences)
        parts.append(values)
        progress.update(done + start + len(chunk), total)
    return Values.concatenate(parts)
