"""Missing values, as each library writes them."""

from __future__ import annotations

from decimal import Decimal
from numbers import Number
from typing import Any


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, numpy's masked or pandas' NA, which has no truth value
    when compared.

    Examples
    --------
    >>> from shaff._util.missing import is_missing
    >>> is_missing(float("nan")), is_missing("")
    (True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()  # one kind of which cannot be compared
    return isinstance(value, Number) and bool(value != value)
