"""Parquet files whose parts contradict each other are refused before polars reads them.

polars takes the numbers of rows and values in a file at their word. One changed bit makes it ask
for more memory than any machine has, which ends the process, or read fewer rows. Numbers that a
file holds twice (in its footer, and at the head of each page) are compared here, at the cost of a
look at each page's head. They are written in Thrift's compact protocol.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

from shaff.errors import InputError

MAGIC = b"PAR1"
_TAIL = 8  # length of the footer, and the mark again
# Fields of the format by number: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, PageHeader.
_FILE_ROWS, _GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_COLUMN = 3
_PATH, _VALUES, _FIRST_PAGE, _DICTIONARY = 3, 5, 9, 11
_UNPACKED, _PACKED, _PAGE, _DICTIONARY_PAGE, _PAGE_2 = 2, 3, 5, 7, 8
_DEEPEST = 30


def check_parquet(path: str | os.PathLike[str]) -> None:
    """Refuse a parquet file whose footer and pages do not agree.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> from shaff.data.sources.parquet_pages import check_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.parquet"
    ...     pl.DataFrame({"a": [1, 2]}).write_parquet(path)
    ...     check_parquet(path)
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < 2 * _TAIL:
            return  # polars says that it is none
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[-4:] != MAGIC:
                return
            try:
                _check_file(data)
            except (IndexError, KeyError, TypeError, ValueError) as error:
                raise InputError(f"cannot read {path}: it is damaged.") from error


def _check_file(data: mmap.mmap) -> None:
    length = int.from_bytes(data[-_TAIL:-4], "little")
    footer = _Thrift(data, len(data) - _TAIL - length).struct()
    groups = footer.get(_GROUPS, [])
    _agree(footer[_FILE_ROWS], sum(group[_GROUP_ROWS] for group in groups))
    for group in groups:
        for chunk in group[_COLUMNS]:
            if _COLUMN in chunk:  # not encrypted
                _check_column(data, chunk[_COLUMN], group[_GROUP_ROWS])


def _check_column(data: mmap.mmap, column: dict[int, Any], n_rows: int) -> None:
    is_flat = len(column[_PATH]) == 1
    if is_flat:
        _agree(column[_VALUES], n_rows)
    place, n_values = column[_FIRST_PAGE], 0
    if column.get(_DICTIONARY):
        place = min(place, column[_DICTIONARY])
    while n_values < column[_VALUES]:
        reader = _Thrift(data, place)
        page = reader.struct()
        in_page = page.get(_PAGE) or page.get(_PAGE_2)
        counted = in_page or page.get(_DICTIONARY_PAGE) or {1: 0}
        if min(page[_UNPACKED], page[_PACKED], counted[1]) < 0:
            raise ValueError("a negative size")
        n_values += in_page[1] if in_page else 0
        place = reader.place + page[_PACKED]
    _agree(n_values, column[_VALUES])


def _agree(one: int, other: int) -> None:
    if one != other or one < 0:
        raise ValueError(f"{one} is not {other}")


class _Thrift:
    """Reads values of the compact protocol from a place on; structs are dicts by field number."""

    def __init__(self, data: mmap.mmap, place: int) -> None:
        if place < 0:
            raise IndexError(place)
        self.data, self.place, self.depth = data, place, 0

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError("nested too deeply")
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        self.depth -= 1
        return fields

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _varint(self) -> int:
        found, shift = 0, 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                raise ValueError("a number of too many bytes")

    def _whole(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def _bytes(self, n: int) -> bytes:
        self.place += n
        if self.place > len(self.data):
            raise IndexError(self.place)
        return self.data[self.place - n : self.place]

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            return self._list()
        if kind == 12:
            return self.struct()
        raise ValueError(f"no type {kind}")

    def _list(self) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        return [self._value(head & 15) for _ in range(size)]
