"""Columns that outcomes are computed from, checked."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from shaff._util.numbers import as_float, as_floats, is_number
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.target import read_values
from shaff.errors import InputError, InputTypeError


def numbers(given: Any, argument: str) -> FloatArray:
    """Return one finite number per row.

    Examples
    --------
    >>> from shaff.outcomes.columns import numbers
    >>> numbers([1, 2.5], "time").tolist()
    [1.0, 2.5]
    """
    values, said = read_values(given), _said(given, argument)
    if values.ndim != 1 or (len(values) and values.dtype.kind not in "iufb"):
        raise InputError(f"{said} must hold one number per row.")
    if len(values) == 0:
        raise InputError(f"{said} has no rows.")
    found = as_floats(values, said)
    if not np.isfinite(found).all():
        raise InputError(f"{said} has missing or infinite values: drop those rows.")
    return found


def flags(given: Any, argument: str) -> BoolArray:
    """Return whether each row has an event, from booleans or from 0 and 1.

    Examples
    --------
    >>> from shaff.outcomes.columns import flags
    >>> flags([0, 1.0], "event").tolist(), flags([True, False], "event").tolist()
    ([False, True], [True, False])
    """
    values = read_values(given)
    as_list = values.tolist() if values.ndim == 1 else [None]
    if not all(value in (0, 1) for value in as_list):
        odd = next(value for value in as_list if value not in (0, 1))
        shown = "several columns or a missing value" if odd is None else repr(odd)
        raise InputError(
            f"{_said(given, argument)} must hold 0 and 1, or False and True: got {shown}."
        )
    return np.array(as_list, dtype=bool)


def one_number(given: Any, argument: str) -> float:
    """Return a single number.

    Examples
    --------
    >>> from shaff.outcomes.columns import one_number
    >>> one_number(52, "horizon")
    52.0
    """
    if not is_number(given) or isinstance(given, bool | np.bool_):
        raise InputTypeError(f"{argument} must be a number, not {given!r}.")
    return as_float(given)


def check_lengths(**columns: FloatArray | BoolArray) -> None:
    """Refuse columns that do not have equally many rows."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        parts = " and ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(f"Each row needs both: {parts} rows.")


def _said(given: Any, argument: str) -> str:
    """What a column is called in a sentence: the argument, and its own name if it has another."""
    name = name_of(given, argument)
    return argument if name == argument else f"{argument} ({name!r})"


def name_of(given: Any, otherwise: str) -> str:
    """Return the name of a series, or another name for columns without one."""
    native = nw.from_native(given, allow_series=True, pass_through=True)
    name = native.name if isinstance(native, nw.Series) else None
    return str(name) if name not in (None, "") else otherwise
