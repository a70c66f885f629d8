"""The standard output: who reads it may have enough, as ``head`` has, which is no error."""

from __future__ import annotations

import os
import sys


def write(text: str) -> None:
    """Write text, unless nobody reads it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        hang_up()


def flush() -> None:
    """Write what is still held back."""
    write("")


def hang_up() -> None:
    """Send everything from now on nowhere, so that what is left to do is done in peace."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
