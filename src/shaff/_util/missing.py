"""What counts as missing, in whatever library's words."""

from __future__ import annotations

from numbers import Number
from typing import Any


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, which alone has no truth value when compared.

    Examples
    --------
    >>> from shaff._util.missing import is_missing
    >>> is_missing(float("nan")), is_missing("")
    (True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number) and bool(value != value)
