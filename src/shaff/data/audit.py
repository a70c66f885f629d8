"""A hash of the data of a fit, by which a reviewer sees that a table is the one that was used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.row_keys import column_keys
from shaff.data.table import Table
from shaff.data.target import Target

Part = tuple[list[Any], bytes]
DIGEST_SIZE = 16  # bytes; nobody finds two tables with the same 128 bits by chance


def data_hash(table: Table, target: Target, sample_weight: FloatArray | None = None) -> str:
    """Return the BLAKE2b hash of inputs, outcome and weights as they were read.

    Each column, in order, adds a line of JSON (what it is, its kind, its name) and its entries in
    the order of the rows, as little-endian floats of 64 bits, or as 64-bit keys of the names of
    categories. The library that held the table is no part of it, nor is the name of the outcome,
    which arrays do not have.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.audit import data_hash
    >>> from shaff.data.table import Table
    >>> from shaff.data.target import Target
    >>> table = Table(np.array([[1.0], [2.0]]), ("a",), np.zeros(1, bool))
    >>> data_hash(table, Target(np.array([[0.0], [1.0]])))
    '29e8011c671ee7e47ceab7accccb833a'
    """
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for heading, entries in _parts(table, target, sample_weight):
        digest.update(json.dumps(heading).encode() + b"\n")
        digest.update(entries)
    return digest.hexdigest()


def _parts(table: Table, target: Target, weight: FloatArray | None) -> Iterator[Part]:
    """Headings and entries, one column at a time: a copy of the table would take its memory."""
    for j, name in enumerate(table.names):
        if name in table.levels:
            yield ["input", "category", name], column_keys(table, name).astype("<u8").tobytes()
        else:
            yield ["input", "number", name], _number_bytes(table.X[:, j])
    for column in target.y.T:
        yield ["outcome", *(target.classes or ())], _number_bytes(column)
    if weight is not None:
        yield ["weight"], _number_bytes(weight)


def _number_bytes(numbers: FloatArray) -> bytes:
    """One bit pattern for each number: one NaN, and no negative zero."""
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).astype("<f8").tobytes()
