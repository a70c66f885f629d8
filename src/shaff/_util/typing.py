"""Names for the kinds of arrays and settings that every room speaks of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
IntpArray = npt.NDArray[np.intp]
WordArray = npt.NDArray[np.uint64]
# The columns of each player.
Players = Sequence[IntpArray]
RandomState = int | np.random.RandomState | None

# Told how much of a step is done, and of how much.
Tell = Callable[[int, int], None]


def say_nothing(done: int, total: int) -> None:
    """A `Tell` that nobody listens to."""
