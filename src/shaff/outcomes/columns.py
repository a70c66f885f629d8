"""Columns that outcomes are computed from, checked."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from shaff._util.numbers import as_floats
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.target import read_values
from shaff.errors import InputError


def numbers(given: Any, argument: str) -> FloatArray:
    """Return one finite number per row.

    Examples
    --------
    >>> from shaff.outcomes.columns import numbers
    >>> numbers([1, 2.5], "time").tolist()
    [1.0, 2.5]
    """
    values = read_values(given)
    if len(values) == 0:
        raise InputError(f"{argument} has no rows.")
    if values.ndim != 1 or values.dtype.kind not in "iufb":
        raise InputError(f"{argument} must hold one number per row.")
    found = as_floats(values, argument)
    if not np.isfinite(found).all():
        raise InputError(f"{argument} has missing or infinite values: drop those rows.")
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
        raise InputError(f"{argument} must hold 0 and 1, or False and True: got {shown}.")
    return np.array(as_list, dtype=bool)


def check_lengths(**columns: FloatArray | BoolArray) -> None:
    """Refuse columns that do not have equally many rows."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        parts = " and ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(f"Each row needs both: {parts} rows.")


def name_of(given: Any, otherwise: str) -> str:
    """Return the name of a series, or another name for columns without one."""
    native = nw.from_native(given, allow_series=True, pass_through=True)
    name = native.name if isinstance(native, nw.Series) else None
    return str(name) if name not in (None, "") else otherwise
