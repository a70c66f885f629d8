"""Notes of comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shaff._util.words import listed


def left_out(names: Sequence[str]) -> Iterator[str]:
    """Inputs that only one of two results has."""
    if names:
        yield f"Left out, since only one of the two has them by name: {listed(names)}."
