"""Keys of rows and columns, by which the same data are recognised in two tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray, IntpArray
from shaff.data.table import Table

Keys = npt.NDArray[np.uint64]

# The finaliser of splitmix64: every bit of a number reaches every bit of its key.
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def number_keys(numbers: FloatArray) -> Keys:
    """Return a key for each number; equal numbers have equal keys, and so have missing ones.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.row_keys import number_keys
    >>> keys = number_keys(np.array([1.0, 0.0, -0.0, np.nan]))
    >>> len(set(keys.tolist()))
    3
    """
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)  # one NaN, and no negative zero
    return _mixed(np.ascontiguousarray(plain, dtype=np.float64).view(np.uint64))


def row_keys(table: Table, names: Sequence[str], outcome: FloatArray | None = None) -> Keys:
    """Return a key for each row, of its entries in some columns and perhaps of its outcome.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.row_keys import row_keys
    >>> from shaff.data.table import Table
    >>> rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    >>> keys = row_keys(Table(rows, ("a", "b"), np.zeros(2, bool)), ["a", "b"])
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    columns = [column_keys(table, name) for name in names]
    if outcome is not None:
        columns += list(number_keys(outcome).T)
    keys = np.zeros(len(table.X), dtype=np.uint64)
    for column in columns:  # not a plain sum, in which columns could change places
        keys = _mixed(keys + column + _GOLDEN)
    return keys


def column_keys(table: Table, name: str) -> Keys:
    """Return a key for each entry of a column; those of categories come from their names, because
    the code of a category depends on which others a table has."""
    j = table.names.index(name)
    column, levels = table.X[:, j], table.levels.get(name)
    if levels is None:
        return number_keys(column)
    known = np.array([_text_key(str(level)) for level in (*levels, "")], dtype=np.uint64)
    return known[np.where(np.isnan(column), len(levels), column).astype(np.intp)]


def column_digests(table: Table) -> dict[str, str]:
    """Return a digest of each column, which does not depend on the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.row_keys import column_digests
    >>> from shaff.data.table import Table
    >>> column = np.array([[1.0], [2.0], [2.0]])
    >>> tables = [Table(rows, ("a",), np.zeros(1, bool)) for rows in (column, column[::-1])]
    >>> column_digests(tables[0]) == column_digests(tables[1])
    True
    """
    return {name: f"{int(column_keys(table, name).sum()):016x}" for name in table.names}


def repeats(keys: Keys) -> IntpArray:
    """Return how often each key has occurred before.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.row_keys import repeats
    >>> repeats(np.array([7, 8, 7], dtype=np.uint64)).tolist()
    [0, 0, 1]
    """
    order = np.argsort(keys, kind="stable")
    arranged = keys[order]
    is_new = np.append(True, arranged[1:] != arranged[:-1])
    first = np.maximum.accumulate(np.where(is_new, np.arange(len(keys)), 0))
    counts = np.empty(len(keys), dtype=np.intp)
    counts[order] = np.arange(len(keys)) - first
    return counts


def _mixed(keys: Keys) -> Keys:
    for shift, factor in _STEPS:
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return keys


def _text_key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
