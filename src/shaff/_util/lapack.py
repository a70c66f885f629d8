"""LAPACK without Python's lock: scipy's own wrappers hold it, so that threads would wait in turn."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from shaff._util.typing import FloatArray


@cache
def _routine(name: str, n_arguments: int) -> Any:
    """A routine of LAPACK; calls by ctypes let other threads run."""
    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [
        ctypes.py_object
    ]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


def solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system by Cholesky; ``matrix`` is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.lapack import solve_positive
    >>> solve_positive(np.diag([2.0, 4.0]), np.array([[2.0], [2.0]])).tolist()
    [[1.0], [0.5]]
    """
    n, n_right = right.shape
    # LAPACK stores column by column: a symmetric matrix is its own transpose.
    solution = np.array(right.T, dtype=np.float64, order="C")
    size, columns, info = ctypes.c_int(n), ctypes.c_int(n_right), ctypes.c_int(0)
    upper = ctypes.c_char(b"U")
    _routine("dposv", 8)(
        ctypes.byref(upper),
        ctypes.byref(size),
        ctypes.byref(columns),
        matrix.ctypes.data,
        ctypes.byref(size),
        solution.ctypes.data,
        ctypes.byref(size),
        ctypes.byref(info),
    )
    if info.value != 0:
        raise np.linalg.LinAlgError("A matrix is not positive definite.")
    return solution.T
