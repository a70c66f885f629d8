"""LAPACK without Python's lock: scipy's wrappers hold it, so that threads would wait in turn."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from shaff._util.typing import FloatArray

# LAPACK stores column by column: what it takes for the upper side is the lower one here.
_SIDE = ctypes.c_char(b"U")


@cache
def _routine(name: str, n_arguments: int) -> Any:
    """A routine of LAPACK; calls by ctypes let other threads run."""
    capsules: Any = cython_lapack.__pyx_capi__
    capsule = capsules[name]
    python = ctypes.pythonapi
    name_of, pointer_of = python.PyCapsule_GetName, python.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


def _call(name: str, *arguments: int | FloatArray) -> None:
    """Call a routine for one side of a symmetric matrix; numbers and arrays go by address."""
    numbers = [ctypes.c_int(a) if isinstance(a, int) else a for a in arguments]
    places = [ctypes.byref(a) if isinstance(a, ctypes.c_int) else a.ctypes.data for a in numbers]
    info = ctypes.c_int(0)
    _routine(name, len(places) + 2)(ctypes.byref(_SIDE), *places, ctypes.byref(info))
    if info.value != 0:
        raise np.linalg.LinAlgError("A matrix is not positive definite.")


def solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system by Cholesky; ``matrix`` is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.lapack import solve_positive
    >>> solve_positive(np.diag([4.0, 16.0]), np.array([[4.0], [8.0]])).tolist()
    [[1.0], [0.5]]
    """
    n, n_right = right.shape
    matrix = np.ascontiguousarray(matrix)
    solution = np.array(right.T, dtype=np.float64, order="C")
    _call("dposv", n, n_right, matrix, n, solution, n)
    return solution.T


def invert_positive(matrix: FloatArray) -> tuple[FloatArray, float]:
    """The inverse of a positive definite matrix, and the log of the root of its determinant.

    ``matrix`` is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.lapack import invert_positive
    >>> inverse, log_root = invert_positive(np.diag([1.0, 4.0]))
    >>> inverse.tolist(), round(float(np.exp(log_root)), 6)
    ([[1.0, 0.0], [0.0, 0.25]], 2.0)
    """
    n = len(matrix)
    factor = np.ascontiguousarray(matrix)
    _call("dpotrf", n, factor, n)
    log_root = float(np.log(np.diag(factor)).sum())
    _call("dpotri", n, factor, n)
    lower = np.tril(factor)
    return lower + np.tril(lower, -1).T, log_root
