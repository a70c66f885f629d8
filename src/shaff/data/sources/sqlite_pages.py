"""How many columns the rows of a SQLite table have, whatever its definition says.

The definition of a table is the text of its CREATE TABLE, without a checksum. Where one bit makes a
comma another character, two columns are one, of a type of four words, and SQLite passes over the
rest of each row. The rows know how many values they hold.
"""

from __future__ import annotations

import mmap
from pathlib import Path

_FILE_HEAD = 100  # before the head of the first page
_PAGE_SIZE = slice(16, 18)
_LEAF, _INNER = 13, 5  # kinds of pages of a table
_LEAF_HEAD, _INNER_HEAD = 8, 12
_DEEPEST = 20


def n_stored_columns(path: Path, root: int) -> int | None:
    """Return the number of values in the first row of a table; None where that cannot be told.

    Parameters
    ----------
    path : path
        A file of SQLite.
    root : int
        Number of the table's first page, from 1 on; 0 if it has none, as virtual tables.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> from contextlib import closing
    >>> from pathlib import Path
    >>> from shaff.data.sources.sqlite_pages import n_stored_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.sqlite"
    ...     with closing(sqlite3.connect(path)) as database, database:
    ...         _ = database.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
    ...     n_stored_columns(path, 2)
    2
    """
    log = path.with_name(f"{path.name}-wal")
    if root < 1 or (log.exists() and log.stat().st_size):  # newer pages stand in the log
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _in_first_row(data, root)
        except IndexError:
            return None


def _in_first_row(data: mmap.mmap, page: int) -> int | None:
    size = int.from_bytes(data[_PAGE_SIZE], "big")
    size = 1 << 16 if size == 1 else size
    for _ in range(_DEEPEST):
        start = (page - 1) * size
        head = start + (_FILE_HEAD if page == 1 else 0)
        kind, n_cells = data[head], _number(data, head + 3, 2)
        if kind not in (_LEAF, _INNER) or n_cells == 0:
            return None
        is_leaf = kind == _LEAF
        cell = start + _number(data, head + (_LEAF_HEAD if is_leaf else _INNER_HEAD), 2)
        if is_leaf:
            return _in_row(data, cell, start + size)
        page = _number(data, cell, 4)
    return None


def _in_row(data: mmap.mmap, place: int, end: int) -> int | None:
    """Values of the row at a place; None if its head goes on in another page."""
    _, place = _varint(data, place)  # bytes of the row
    _, start = _varint(data, place)  # its number
    length, place = _varint(data, start)
    if start + length > end:
        return None
    n_values = 0
    while place < start + length:
        _, place = _varint(data, place)
        n_values += 1
    return n_values


def _number(data: mmap.mmap, place: int, n_bytes: int) -> int:
    if place + n_bytes > len(data):
        raise IndexError(place)
    return int.from_bytes(data[place : place + n_bytes], "big")


def _varint(data: mmap.mmap, place: int) -> tuple[int, int]:
    """A number of up to nine bytes, seven bits each, and the place after it."""
    found = 0
    for k in range(8):
        found = found << 7 | data[place + k] & 127
        if data[place + k] < 128:
            return found, place + k + 1
    return found << 8 | data[place + 8], place + 9
