"""Parts of sentences that several modules say."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> from shaff._words import counted
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], limit: int = 8) -> str:
    """Names in quotes, the first few of many.

    Examples
    --------
    >>> from shaff._words import listed
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(map(repr, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def column_sentence(names: Sequence[str], said: str) -> str:
    """A sentence of one or several columns; ``said`` begins with "holds", "has" or "mixes".

    Examples
    --------
    >>> from shaff._words import column_sentence
    >>> column_sentence(["a", "b"], "holds dates.")
    "Columns 'a', 'b' hold dates."
    """
    if len(names) == 1:
        return f"Column {names[0]!r} {said}"
    verb, _, rest = said.partition(" ")
    plural = {"holds": "hold", "has": "have", "mixes": "mix"}[verb]
    return f"Columns {listed(names)} {plural} {rest}"
