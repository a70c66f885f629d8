"""The bytes of a file or of the standard input, unpacked, and never more than memory holds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from shaff._util.memory import free_memory, in_gigabytes
from shaff.errors import InputError

STANDARD_INPUT = Path("-")
CHUNK = 1 << 20
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
        raw = _read(sys.stdin.buffer, path, _allowed())
    else:
        check_size(path, path.stat().st_size)
        with path.open("rb") as file:
            raw = _read(file, path, _allowed())
    opener = next((opener for magic, opener in _PACKED.items() if raw.startswith(magic)), None)
    if opener is None:
        return raw
    # The shorter of two limits; a bomb is stopped long before memory is full.
    limit = min(_allowed(), max(HARMLESS, MAX_GROWTH * len(raw)))
    try:
        with opener(io.BytesIO(raw)) as stream:
            return _read(stream, path, limit)
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot read {path}: it is damaged or cut short ({error}).") from error


def check_size(path: Path, n_bytes: int) -> None:
    """Refuse a file that memory cannot hold, before it is read."""
    if n_bytes > _allowed():
        raise _too_large(path)


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


def _read(stream: IO[bytes], path: Path, limit: int) -> bytes:
    out = bytearray()
    while chunk := stream.read(CHUNK):
        out += chunk
        if len(out) > limit:
            raise _too_large(path)
    return bytes(out)


def _open_zip(file: IO[bytes]) -> IO[bytes]:
    archive = zipfile.ZipFile(file)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise InputError(f"a zip archive must hold one table, this one holds {len(names)} files.")
    return archive.open(names[0])


def _open_zstandard(file: IO[bytes]) -> Any:
    try:
        import zstandard
    except ImportError:
        raise InputError(
            'a file packed by zstandard needs zstandard: pip install "shaff[files]"'
        ) from None
    return zstandard.ZstdDecompressor().stream_reader(file)


_PACKED: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _open_zstandard,
    b"PK\x03\x04": _open_zip,
}
