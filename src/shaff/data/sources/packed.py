"""The bytes of a file or of the standard input, unpacked, and never more than memory holds."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import select
import sys
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from shaff._util.memory import free_memory, in_gigabytes
from shaff.errors import InputError, UserError

STANDARD_INPUT = Path("-")
CHUNK = 1 << 20
# Packed bytes that are unpacked at a time: a few unpack to many thousand times as many.
PIECE = 1 << 12
_LOOK_SECONDS = 0.5
# For zlib: a header of gzip, whose checksum is compared. In zip archives: the mark of a secret.
_WITH_HEADER, _ENCRYPTED = 31, 1
# Text becomes a table by way of several copies.
COPIES = 4
# Tables shrink to a tenth or so when they are packed. What grows more than this, past a size that
# hurts nobody, is no table but a bomb.
MAX_GROWTH, HARMLESS = 200, 1 << 28


def read_bytes(path: Path) -> bytes:
    """Read all bytes of a file, or of the standard input for the path ``-``, unpacked.

    How they are packed (gzip, bzip2, xz, zstandard, a zip archive of one file) is seen from the
    first bytes.

    Examples
    --------
    >>> import gzip, tempfile
    >>> from pathlib import Path
    >>> from shaff.data.sources.packed import read_bytes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv.gz"
    ...     _ = path.write_bytes(gzip.compress(b"x,y"))
    ...     read_bytes(path)
    b'x,y'
    """
    if path == STANDARD_INPUT:
        raw = _read(_standard_input(), path, _allowed())
    else:
        check_size(path, path.stat().st_size)
        with path.open("rb") as file:
            raw = _read(file, path, _allowed())
    packing = next((packing for magic, packing in _PACKED.items() if raw.startswith(magic)), None)
    if packing is None:
        return raw
    # The shorter of two limits; a bomb is stopped long before memory is full.
    limit = min(_allowed(), max(HARMLESS, MAX_GROWTH * len(raw)))
    try:
        return packing(raw, path, limit)
    except (UserError, MemoryError):
        raise
    except Exception as error:  # damage shows in as many ways as there are libraries
        raise InputError(f"cannot read {path}: it is damaged or cut short ({error}).") from error


def check_size(path: Path, n_bytes: int) -> None:
    """Refuse a file that memory cannot hold, before it is read."""
    if n_bytes > _allowed():
        raise _too_large(path)


def _standard_input() -> IO[bytes] | io.RawIOBase:
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("cannot read the standard input: it is closed.")
    raw = getattr(sys.stdin.buffer, "raw", None)
    return sys.stdin.buffer if raw is None or os.name == "nt" else _Watched(raw)


class _Watched(io.RawIOBase):
    """A pipe or terminal that may be silent for long: Ctrl-C is looked for while it is.

    A signal that comes between Python's last look and a call that waits is not seen by that call.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def read(self, size: int = -1) -> bytes | None:
        while not select.select([self._raw], [], [], _LOOK_SECONDS)[0]:
            pass
        return self._raw.read(size)


def _allowed() -> int:
    free = free_memory()
    return sys.maxsize if free is None else free // COPIES


def called(path: Path) -> str:
    """Return the name of a file in messages."""
    return "the standard input" if path == STANDARD_INPUT else str(path)


def _too_large(path: Path) -> InputError:
    return InputError(
        f"{called(path)} is larger than memory allows ({in_gigabytes(_allowed())}), unpacked: "
        "make it a parquet file or a database table, of which a sample of the rows is read."
    )


def _read(stream: IO[bytes] | io.RawIOBase, path: Path, limit: int) -> bytes:
    out = bytearray()
    while chunk := stream.read(CHUNK):
        out += chunk
        if len(out) > limit:
            raise _too_large(path)
    return bytes(out)


class _Decompressor(Protocol):
    """Unpacks one frame, as the objects of zlib, bz2, lzma and zstandard do."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _unpack_frames(
    raw: bytes, path: Path, limit: int, new: Callable[[], _Decompressor], padding: bytes = b""
) -> bytes:
    """Unpack all frames that follow each other; the last must be whole, and nothing but padding
    may come after it."""
    out, place = bytearray(), 0
    while place < len(raw):
        place = _unpack_frame(raw, place, path, limit, new(), out)
        if padding and raw.startswith(padding, place):
            place = len(raw) - len(raw[place:].lstrip(padding))
    return bytes(out)


def _unpack_frame(
    raw: bytes, start: int, path: Path, limit: int, frame: _Decompressor, out: bytearray
) -> int:
    """Append what the frame at a place holds; returns the place after it."""
    for first in range(start, len(raw), PIECE):
        piece = raw[first : first + PIECE]
        out += frame.decompress(piece)
        if len(out) > limit:
            raise _too_large(path)
        if frame.eof:
            return first + len(piece) - len(frame.unused_data)
    raise EOFError("it ends within its packed data")


def _unpack_zip(raw: bytes, path: Path, limit: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise InputError(
                f"a zip archive must hold one table, this one holds {len(members)} files."
            )
        if members[0].flag_bits & _ENCRYPTED:
            raise InputError(f"cannot read {path}: it is encrypted; unpack it first.")
        with archive.open(members[0]) as stream:
            return _read(stream, path, limit)


def _zstandard_frame() -> _Decompressor:
    try:
        import zstandard
    except ImportError:
        raise InputError(
            'a file packed by zstandard needs zstandard: pip install "shaff[files]"'
        ) from None
    return zstandard.ZstdDecompressor().decompressobj()


def _gzip_frame() -> _Decompressor:
    return zlib.decompressobj(wbits=_WITH_HEADER)


_gzip = partial(_unpack_frames, new=_gzip_frame, padding=b"\0")
_bzip2 = partial(_unpack_frames, new=bz2.BZ2Decompressor)
_xz = partial(_unpack_frames, new=lzma.LZMADecompressor, padding=b"\0")
_zstandard = partial(_unpack_frames, new=_zstandard_frame)
_PACKED: dict[bytes, Callable[[bytes, Path, int], bytes]] = {
    b"\x1f\x8b": _gzip,
    b"BZh": _bzip2,
    b"\xfd7zXZ\x00": _xz,
    b"\x28\xb5\x2f\xfd": _zstandard,
    b"\x50\x2a\x4d\x18": _zstandard,  # pzstd begins with a frame to be skipped
    b"PK\x03\x04": _unpack_zip,
}
