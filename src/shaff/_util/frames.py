"""Data frames of the library that the user chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.errors import InputError

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def make_frame(columns: Mapping[str, Sequence[str | None] | FloatArray], backend: Backend) -> Any:
    """Return a data frame or table of a library, which must be installed.

    Examples
    --------
    >>> from shaff._util.frames import make_frame
    >>> make_frame({"input": ["a", "b"]}, "polars").shape
    (2, 1)
    """
    import narwhals as nw

    if backend not in BACKENDS:
        raise InputError(f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}.")
    try:
        import_module(backend)
    except ImportError as error:
        message = f"to_frame({backend!r}) needs {backend}: pip install {backend}"
        raise ImportError(message) from error
    # Copies: polars and pyarrow may keep the buffer they are given, and ours are read-only.
    data = {
        name: column.copy() if isinstance(column, np.ndarray) else list(column)
        for name, column in columns.items()
    }
    return nw.from_dict(data, backend=backend).to_native()


def installed_backend() -> Backend:
    """Return the first library of data frames that is installed; pandas if there is none.

    Examples
    --------
    >>> from shaff._util.frames import BACKENDS, installed_backend
    >>> installed_backend() in BACKENDS
    True
    """
    return next((name for name in BACKENDS if find_spec(name) is not None), BACKENDS[0])


def sorted_columns(
    names: Sequence[str], columns: Mapping[str, FloatArray | None], order: IntpArray
) -> dict[str, Any]:
    """Return columns for `make_frame`: the inputs in an order, and the numbers that there are.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.frames import sorted_columns
    >>> sorted_columns(("a", "b"), {"effect": np.array([0.1, 0.3]), "low": None}, np.array([1, 0]))
    {'input': ['b', 'a'], 'effect': array([0.3, 0.1])}
    """
    known = {name: array[order] for name, array in columns.items() if array is not None}
    return {"input": [names[j] for j in order], **known}
