"""Arrays that nobody changes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray
from shaff.errors import InputError


def frozen(array: npt.ArrayLike | None, shape: tuple[int, ...], name: str) -> FloatArray | None:
    """A read-only copy of numbers that have this shape; null in JSON is NaN, None stays None.

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
