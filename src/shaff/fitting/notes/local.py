"""Notes of local effects."""

from __future__ import annotations

from collections.abc import Iterator

from shaff._util.words import counted
from shaff.screening import OTHERS


def unpredictable_rows(n_rows: int) -> Iterator[str]:
    """Rows that every learner has seen."""
    if n_rows:
        yield f"{counted(n_rows, 'row')} cannot be predicted out of sample: NaN."


def screened(n_others: int) -> Iterator[str]:
    """Inputs that take part as one have no value of their own."""
    if n_others:
        yield (
            f"{counted(n_others, 'screened input')} did not take part by name: 0 in each row. What "
            f"they say together is the value of {OTHERS!r}, the last."
        )
