"""Checkpoints: values of subsets in files of a local or remote folder, from which a run resumes.

A file holds one block of subsets with their values. It is written whole or not at all, and its
format, length and hash are checked on reading: a file that is damaged, or of another format, is
ignored. Sums over rows that come in blocks are a file too, of which only the last is kept.
File names begin with a hash of data, model and settings, so that many runs may share a folder, and
runs with the same settings share the work.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import joblib
import numpy as np
import numpy.typing as npt

from shaff._util.files import replacing
from shaff.errors import InputError, StorageError
from shaff.protocols import Values
from shaff.subsets import Subsets

# The first bytes of a file; hash and length of the rest follow. Another version is another format.
FORMAT = b"shaff checkpoint 2\n"
SUFFIX, SUMS_SUFFIX = ".part", ".sums"
Arrays = dict[str, npt.NDArray[Any]]
_HEAD = len(FORMAT) + hashlib.sha256().digest_size + 8


class Store(Protocol):
    """A place that holds named bytes."""

    def names(self, prefix: str) -> list[str]:
        """Return the names that begin with the prefix, in order."""

    def read(self, name: str) -> bytes:
        """Return all bytes of that name."""

    def write(self, name: str, data: bytes) -> None:
        """Write bytes under that name, whole or not at all."""


class LocalStore:
    """A folder of this machine; it is created if it does not exist."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def names(self, prefix: str) -> list[str]:
        """Return the names of whole files: those being written begin with a dot."""
        found = self.folder.glob(f"{prefix}*{SUFFIX}")
        return sorted(path.name for path in found if path.is_file())

    def read(self, name: str) -> bytes:
        """Return all bytes of that name; none of a device, or of a file that claims another
        length."""
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(path)
        with path.open("rb") as file:
            head = file.read(_HEAD)
            is_whole = path.stat().st_size == _HEAD + int.from_bytes(head[-8:], "little")
            return head + file.read() if is_whole else head

    def write(self, name: str, data: bytes) -> None:
        """Write a temporary file and rename it."""
        with replacing(self.folder / name) as temporary:
            temporary.write_bytes(data)


class RemoteStore:
    """A folder of any file system that fsspec knows, such as ``s3://bucket/folder``.

    Objects of a bucket appear whole; elsewhere the hash detects a file that was cut off.
    """

    def __init__(self, address: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise InputError(
                f'checkpoint={address!r} is read by fsspec: pip install "shaff[distributed]".'
            ) from None
        try:
            self._system, self._root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise InputError(f"checkpoint={address!r}: {error}") from error
        self._system.makedirs(self._root, exist_ok=True)

    def names(self, prefix: str) -> list[str]:
        """Return the names as they are now, not as they were cached."""
        self._system.invalidate_cache()
        found = self._system.ls(self._root, detail=False)
        names = [str(path).rsplit("/", 1)[-1] for path in found]
        return sorted(n for n in names if n.startswith(prefix) and n.endswith(SUFFIX))

    def read(self, name: str) -> bytes:
        """Return all bytes of that name."""
        return bytes(self._system.cat_file(f"{self._root}/{name}"))

    def write(self, name: str, data: bytes) -> None:
        """Write the bytes in one go."""
        self._system.pipe_file(f"{self._root}/{name}", data)


class Checkpoint:
    """The evaluated blocks of one run.

    Parameters
    ----------
    place : path or address
        A local folder, or an address that fsspec can open.
    fingerprint : bytes
        Identity of the run; see `fingerprint`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from shaff.fitting.checkpoint import Checkpoint
    >>> from shaff.protocols import Values
    >>> from shaff.subsets import Subsets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Checkpoint(folder, b"run").save(Values(Subsets.full(3), np.array([0.5])), False)
    ...     [values.v.tolist() for values, with_rows in Checkpoint(folder, b"run").news()]
    [[0.5]]
    """

    def __init__(self, place: str | os.PathLike[str], fingerprint: bytes) -> None:
        self.place = os.fspath(place)
        self._prefix = hashlib.sha256(fingerprint).hexdigest()[:24]
        self._seen: set[str] = set()
        with self._words_for_errors("written to"):
            far = "://" in self.place
            self._store: Store = RemoteStore(self.place) if far else LocalStore(self.place)

    def news(self) -> Iterator[tuple[Values, bool]]:
        """Yield blocks saved since the last call, by this run or one that shares the folder.

        Each comes with whether it has influences.
        """
        with self._words_for_errors("read"):
            names = [n for n in self._store.names(self._prefix) if n not in self._seen]
        for name in names:
            self._seen.add(name)
            found = self._load(name)
            if found is not None:
                yield found

    def save(self, values: Values, influences: bool) -> None:
        """Write a block, whole or not at all."""
        name = self._name(values.subsets, influences) + SUFFIX
        self._write(name, _arrays_of(values, influences))
        self._seen.add(name)

    def save_sums(self, subsets: Subsets, sums: Arrays) -> None:
        """Write sums of these subsets over those that were saved before."""
        self._write(self._name(subsets) + SUMS_SUFFIX, sums)

    def load_sums(self, subsets: Subsets) -> Arrays | None:
        """Return the last sums that were saved, or None if there is no valid file."""
        return self._read(self._name(subsets) + SUMS_SUFFIX)

    def _name(self, subsets: Subsets, influences: bool = False) -> str:
        own = hashlib.sha256(bytes([influences]) + subsets.words.tobytes()).hexdigest()[:32]
        return f"{self._prefix}-{own}"

    def _load(self, name: str) -> tuple[Values, bool] | None:
        arrays = self._read(name)
        return None if arrays is None else values_of(arrays)

    def _write(self, name: str, arrays: Arrays) -> None:
        data = _to_bytes(arrays)
        with self._words_for_errors("written to"):
            self._store.write(name, data)

    def _read(self, name: str) -> Arrays | None:
        try:
            return open_file(self._store.read(name))
        except OSError:  # gone or unreadable: evaluated again
            return None

    @contextmanager
    def _words_for_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(
                f"The checkpoint {self.place} cannot be {what} ({reason}). Its contents are kept: "
                "fix this and run again to resume."
            ) from error


def _to_bytes(arrays: Arrays) -> bytes:
    body = io.BytesIO()
    np.savez(body, **arrays)  # type: ignore[arg-type]
    data = body.getvalue()
    return FORMAT + hashlib.sha256(data).digest() + len(data).to_bytes(8, "little") + data


def open_file(data: bytes) -> Arrays | None:
    """Return the arrays in a file, or None if it is damaged or of another format."""
    head, body = data[:_HEAD], data[_HEAD:]
    expected = FORMAT + hashlib.sha256(body).digest() + len(body).to_bytes(8, "little")
    if head != expected:
        return None
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as saved:
            return dict(saved)
    except Exception:  # a hash can be right for anything
        return None


def _arrays_of(values: Values, influences: bool) -> Arrays:
    arrays = {field.name: getattr(values, field.name) for field in fields(values)}
    known = {name: array for name, array in arrays.items() if array is not None}
    return {**known, "subsets": values.subsets.masks(), "with_rows": np.array(influences)}


# Dimensions of the arrays of a block, the first of which is that of the subsets.
_DIMENSIONS = {"subsets": 2, "v": 1, "influences": 2, "replicates": 2, "by_output": 2, "plain": 1,
               "runs": 2, "output_influences": 3, "means": 3, "stops": 2}  # fmt: skip


def values_of(arrays: Arrays) -> tuple[Values, bool] | None:
    """Return a block of values, and whether it has influences; None if it is not as expected."""
    blocks = {name: array for name, array in arrays.items() if name != "with_rows"}
    if (
        not {"subsets", "v", "with_rows"} <= arrays.keys()
        or not blocks.keys() <= _DIMENSIONS.keys()
    ):
        return None  # of a later version
    with_rows, masks = arrays["with_rows"], blocks.pop("subsets")
    is_sound = masks.dtype == bool and masks.ndim == 2 and with_rows.shape == ()
    if not is_sound or not all(_is_sound(blocks[name], name, len(masks)) for name in blocks):
        return None
    return Values(Subsets.from_masks(masks), **blocks), bool(with_rows)


def _is_sound(array: npt.NDArray[Any], name: str, n_subsets: int) -> bool:
    kinds = "iu" if name == "stops" else "f"
    return array.dtype.kind in kinds and array.ndim == _DIMENSIONS[name] and len(array) == n_subsets


def fingerprint(*parts: Any) -> bytes:
    """Return a hash of arrays, models and plain settings that is the same in every process.

    Examples
    --------
    >>> from shaff.fitting.checkpoint import fingerprint
    >>> fingerprint([1, 2], "a") == fingerprint([1, 2], "a")
    True
    """
    digest: str = joblib.hash(parts, hash_name="sha1")
    return digest.encode()
