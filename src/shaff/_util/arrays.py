"""Read-only arrays, and places in arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray
from shaff.errors import InputError


def frozen(array: npt.ArrayLike | None, shape: tuple[int, ...], name: str) -> FloatArray | None:
    """Return a read-only copy of numbers that have this shape; None within is NaN, None stays None.

    Examples
    --------
    >>> from shaff._util.arrays import frozen
    >>> frozen([1, None], (2,), "effects").tolist()
    [1.0, nan]
    """
    if array is None:
        return None
    copy = np.array(array, dtype=np.float64)
    if copy.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {copy.shape}.")
    copy.setflags(write=False)
    return copy


def slices(n: int, size: int) -> list[slice]:
    """Return consecutive slices of at most ``size`` that cover ``n`` places.

    Examples
    --------
    >>> from shaff._util.arrays import slices
    >>> slices(5, 3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def count_rows(weight: FloatArray) -> bool:
    """Whether weights count rows: whole numbers do, other weights have no unit.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.arrays import count_rows
    >>> count_rows(np.array([2.0, 1.0])), count_rows(np.array([0.5, 1.0]))
    (True, False)
    """
    return np.array_equal(weight, np.round(weight))
