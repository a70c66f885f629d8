"""Numbers of any library as floating-point numbers, without silent losses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Complex, Number, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.missing import is_missing
from shaff._util.typing import FloatArray
from shaff.errors import InputError, first_line

# Floating-point numbers hold integers up to this one exactly.
EXACT = 2.0**53
# Rounding to one part in this many of the range of a column changes nothing that is learnt of it.
_PARTS = 2**20
# Unless fewer than this share of the integers are left.
_FEW = 0.5


def is_number(value: object) -> bool:
    """Whether a value is a real number of any kind, also a decimal or a fraction.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.numbers import is_number
    >>> is_number(np.float32(1)), is_number(np.complex64(1)), is_number("1")
    (True, False, False)
    """
    return isinstance(value, Number) and (isinstance(value, Real) or not isinstance(value, Complex))


def as_float(value: Any) -> float:
    """Return a number as a float: NaN if it is missing, infinity if it is beyond all floats.

    Examples
    --------
    >>> from shaff._util.numbers import as_float
    >>> as_float(-(10**400)), as_float(None)
    (-inf, nan)
    """
    if is_missing(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _object_floats(array: npt.NDArray[Any]) -> FloatArray:
    """Each object as a float; as a ufunc, numpy would warn of every NaN."""
    floats = np.array([as_float(value) for value in array.reshape(-1)], dtype=np.float64)
    return floats.reshape(array.shape)


def as_floats(values: Any, name: str) -> FloatArray:
    """Return an array as floats, NaN where a value is missing or masked.

    Refused is what is not real numbers, and integers that floats cannot tell apart.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.numbers import as_floats
    >>> as_floats(np.ma.array([1, -999], mask=[False, True]), "y").tolist()
    [1.0, nan]
    >>> as_floats([1j], "sample_weight")
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: sample_weight must hold real numbers: it holds complex ones.
    """
    # As objects: numpy rounds integers of a list that are of different signs and sizes.
    array = np.asarray(unmasked(values), dtype=object if isinstance(values, list) else None)
    if array.dtype.kind == "c" or (array.dtype.kind == "O" and _has_complex(array)):
        raise InputError(f"{name} must hold real numbers: it holds complex ones.")
    try:
        is_plain = array.dtype.kind != "O"
        floats = np.asarray(array, dtype=np.float64) if is_plain else _object_floats(array)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {first_line(error)}.") from error
    check_digits(array, floats, name)
    return floats


def check_digits(values: Any, floats: FloatArray, name: str) -> None:
    """Refuse integers that differ by more than their floats do; see `merges`."""
    if np.abs(floats).max(initial=0.0, where=np.isfinite(floats)) <= EXACT:
        return
    exact = np.asarray(values, dtype=object if isinstance(values, list) else None)
    if exact.dtype.kind not in "iuO" or exact.shape != floats.shape:
        return
    columns = zip(exact.reshape(len(exact), -1).T, floats.reshape(len(floats), -1).T, strict=True)
    if any(merges(column, rounded) for column, rounded in columns):
        raise InputError(
            f"{name} holds integers beyond 2**53 that floating-point numbers cannot tell apart: "
            "subtract a constant, or pass them as text if they are labels."
        )


def _has_complex(array: npt.NDArray[Any]) -> bool:
    return any(isinstance(v, Complex) and not isinstance(v, Real) for v in array.reshape(-1))


def unmasked(array: Any) -> Any:
    """Return a masked array of numpy, or a list of masked rows or numbers, as a plain one, with NaN
    or None in the place of what is masked; anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.numbers import unmasked
    >>> unmasked(np.ma.array(["a", "b"], mask=[False, True])).tolist()
    ['a', None]
    """
    if isinstance(array, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in array):
        return [_item(value) for value in array]
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype.names is not None or not np.ma.is_masked(array):
        return np.asarray(array.data)
    if array.dtype.kind == "f":
        return array.filled(np.nan)
    if array.dtype.kind in "iu" and not _is_beyond(array.compressed()):
        return np.ma.filled(array.astype(np.float64), np.nan)
    plain = array.data.astype(object)
    plain[np.ma.getmaskarray(array)] = None
    return plain


def _item(value: Any) -> Any:
    """An item of a list: a masked number, a masked row, or anything else."""
    if value is np.ma.masked:
        return None
    plain = unmasked(value)
    return plain.item() if isinstance(plain, np.ndarray) and plain.ndim == 0 else plain


def _is_beyond(whole: npt.NDArray[Any]) -> bool:
    return len(whole) > 0 and max(abs(int(whole.min())), abs(int(whole.max()))) > EXACT


def merges(whole: Iterable[Any], floats: FloatArray) -> bool:
    """Whether integers that differ have become the same floats, by a rounding that is not small
    beside their range, or that leaves few of them: one number far from the others widens a range.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.numbers import merges
    >>> ids = 2**60 + 8 * np.arange(200)
    >>> merges(ids, ids.astype(float)), merges(ids // 2**20, (ids // 2**20).astype(float))
    (True, False)
    """
    known = floats[np.isfinite(floats)]
    largest = np.abs(known).max(initial=0.0)
    if largest <= EXACT:
        return False
    values = whole.tolist() if isinstance(whole, np.ndarray) else whole
    n_distinct = len({int(v) for v in values if not is_missing(v) and v == v // 1})
    is_small = np.ptp(known) >= _PARTS * np.spacing(largest)
    return len(np.unique(known)) < (_FEW * n_distinct if is_small else n_distinct)
