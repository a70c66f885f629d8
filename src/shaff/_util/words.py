"""Parts of sentences that several modules write."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> from shaff._util.words import counted
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], limit: int = 8) -> str:
    """Return names in quotes; of many only the first few.

    Examples
    --------
    >>> from shaff._util.words import listed
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(map(repr, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def repeated(names: Sequence[str]) -> str | None:
    """Return the first name that stands there twice, or None.

    Examples
    --------
    >>> from shaff._util.words import repeated
    >>> repeated(["a", "b", "b"]), repeated(["a", "b"])
    ('b', None)
    """
    return next((name for name, count in Counter(names).items() if count > 1), None)


def column_sentence(names: Sequence[str], said: str) -> str:
    """Return a sentence about columns; ``said`` begins with "holds", "has" or "mixes".

    Examples
    --------
    >>> from shaff._util.words import column_sentence
    >>> column_sentence(["a", "b"], "holds dates.")
    "Columns 'a', 'b' hold dates."
    """
    if len(names) == 1:
        return f"Column {names[0]!r} {said}"
    verb, _, rest = said.partition(" ")
    plural = {"holds": "hold", "has": "have", "mixes": "mix"}[verb]
    return f"Columns {listed(names)} {plural} {rest}"


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def spelled(number: int) -> str:
    """Return a small number in letters.

    Examples
    --------
    >>> from shaff._util.words import spelled
    >>> spelled(3), spelled(40)
    ('three', '40')
    """
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def enumerated(words: Sequence[str]) -> str:
    """Join words by commas, with "and" before the last.

    Examples
    --------
    >>> from shaff._util.words import enumerated
    >>> enumerated(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def decimals(largest: float) -> int:
    """Return the digits after the point, at least 3, that show two digits of ``largest``.

    Examples
    --------
    >>> from shaff._util.words import decimals
    >>> decimals(0.4), decimals(0.012), decimals(0.0012)
    (3, 4, 5)
    """
    if not 0 < abs(largest) < math.inf:
        return 3
    return min(max(3, 2 - math.floor(math.log10(abs(largest)))), 8)


def percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent, with a narrow space that does not break.

    Examples
    --------
    >>> from shaff._util.words import percent
    >>> percent(0.256)
    '26\u202f%'
    """
    if 0 < share < 0.5 * 10 ** (-2 - digits):
        return f"< {10.0**-digits:g}\u202f%"
    return f"{100 * share:z.{digits}f}\u202f%".replace("-", "−")


def shortened(name: str, width: int = 32) -> str:
    """Cut a long name in the middle, since names of one family tend to differ at the end.

    Examples
    --------
    >>> from shaff._util.words import shortened
    >>> shortened("a long name of a column", 11)
    'a lon…olumn'
    """
    name = " ".join(name.split())
    if len(name) <= width:
        return name
    half = (width - 1) // 2
    return f"{name[:half].rstrip()}…{name[-half:].lstrip()}"
