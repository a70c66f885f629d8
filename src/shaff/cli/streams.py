"""The standard output: who reads it may have enough, as ``head`` has, which is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


def write(text: str) -> None:
    """Write text, unless nobody reads it."""
    if sys.stdout is None:  # closed from the beginning
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        hang_up()
    except OSError:  # a full disk, which would be told again at the end
        hang_up()
        raise


def flush() -> None:
    """Write what is still held back."""
    write("")


def settle() -> None:
    """Write what is still held back, or throw it away: there is another error to tell."""
    with suppress(OSError):
        flush()


def hang_up() -> None:
    """Send everything from now on nowhere, so that what is left to do is done in peace."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def without_native_errors() -> Iterator[None]:
    """Keep away what libraries write to the standard error by themselves, as Rust does before its
    panics become errors of Python; what Python writes there still arrives."""
    try:
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # there is no standard error
        yield
        return
    python = sys.stderr
    if _writes_to(python, 2):
        python.flush()
        sys.stderr = os.fdopen(
            os.dup(2), "w", buffering=1, encoding=python.encoding, errors=python.errors
        )
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        if sys.stderr is not python:
            sys.stderr.close()
            sys.stderr = python
        os.close(kept)
        os.close(nowhere)


def _writes_to(stream: Any, number: int) -> bool:
    """Whether a stream is that of the process, and not what took its place."""
    try:
        return bool(stream.fileno() == number)
    except (AttributeError, OSError, ValueError):
        return False
