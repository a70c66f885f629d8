"""Long evaluations: in chunks, with a progress bar, and saved as they go."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shaff.protocols import ValueFunction, Values
from shaff.subsets import Subsets

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
        warnings.warn(
            'verbose=1 draws its progress bar with rich: pip install "shaff[cli]".', stacklevel=4
        )
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

    def _path(self, subsets: Subsets, influences: bool) -> Path:
        digest = hashlib.sha256(self.fingerprint + bytes([influences]) + subsets.words.tobytes())
        return self.directory / f"{digest.hexdigest()[:32]}.npz"

    def load(self, subsets: Subsets, influences: bool) -> Values | None:
        """The chunk's values, if a run has saved them."""
        path = self._path(subsets, influences)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as saved:
            arrays = (saved.get(name) for name in ("influences", "replicates", "by_output"))
            return Values(subsets, saved["v"], *arrays)

    def save(self, values: Values, influences: bool) -> None:
        """Write the chunk to a temporary file, then move it into place."""
        names = ("v", "influences", "replicates", "by_output")
        arrays = {name: getattr(values, name) for name in names}
        handle, temporary = tempfile.mkstemp(dir=self.directory, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **{k: a for k, a in arrays.items() if a is not None})
            os.replace(temporary, self._path(values.subsets, influences))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def fingerprint(*parts: Any) -> bytes:
    """A hash of arrays and plain settings."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.shape}{part.dtype}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(repr(part).encode())
    return digest.digest()


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
