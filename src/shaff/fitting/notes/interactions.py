"""Notes of interactions."""

from __future__ import annotations

from collections.abc import Iterator

from shaff._util.words import counted


def screened(n_others: int, n_inputs: int) -> Iterator[str]:
    """Interactions of screened inputs are not known."""
    if n_others:
        yield (
            f"{counted(n_others, 'input')} of {n_inputs} were screened: they are evaluated "
            "together, and their interactions are not estimated but shown as 0."
        )
