"""Types of arrays and settings that are used everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
IntpArray = npt.NDArray[np.intp]
WordArray = npt.NDArray[np.uint64]
# The columns of each player: an input or a group of inputs.
Players = Sequence[IntpArray]
RandomState = int | np.random.RandomState | None

# Called with how much of a step is done, and with the whole of it.
Tell = Callable[[int, int], None]


def say_nothing(done: int, total: int) -> None:
    """Do nothing: the `Tell` of steps that nobody watches."""


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or numpy; truth values are not.

    Examples
    --------
    >>> from shaff._util.typing import is_whole
    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_list(value: object) -> TypeGuard[Collection[Any]]:
    """Whether a value lists others in an order, again and again: no text, mapping, set or iterator.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.typing import is_list
    >>> is_list(("a", "b")), is_list(np.array([1])), is_list("ab"), is_list({"a": 1})
    (True, True, False, False)
    """
    is_single = getattr(value, "ndim", 1) == 0 or isinstance(value, str | bytes)
    return isinstance(value, Collection) and not (is_single or isinstance(value, Mapping | Set))
