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
            f"{counted(n_others, 'screened input')} were not evaluated by name and are 0 in each "
            f"row. Their joint contribution is the value of {OTHERS!r}, the last input."
        )
