"""Parcels: an object as one array of bytes, which every engine ships well, opened once a process.

What is heavy in an object (tables, codes, trees) is arrays. They stand behind each other in the
parcel, and those of the opened object are views on it: a parcel that is mapped from a file, or
that lies in the memory which the workers of a machine share, is never copied.
"""

from __future__ import annotations

import pickle
import secrets
import threading
from collections import OrderedDict
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

ByteArray = npt.NDArray[np.uint8]
# Arrays under this many bytes are not worth a view; what is written to, such as a flag, is small.
VIEW_BYTES = 4096
# Where arrays begin: as numpy aligns them at the most.
ALIGNMENT = 64
# Objects that a worker keeps open: the table, and the learners that are evaluated.
KEPT_OPEN = 4


def pack(thing: Any) -> ByteArray:
    """Return the bytes of an object.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.work.parcel import pack, unpack
    >>> unpack(pack({"a": np.arange(1000)}))["a"].sum()
    np.int64(499500)
    """
    views: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < VIEW_BYTES:
            return True  # stays within the pickle
        views.append(view)
        return False

    head = _cloudpickle().dumps(thing, protocol=5, buffer_callback=keep)
    parts = [memoryview(head), *views]
    sizes = np.array([len(parts), *(part.nbytes for part in parts)], dtype=np.int64)
    parcel = np.empty(_ends(sizes)[-1], dtype=np.uint8)
    parcel[: sizes.nbytes] = sizes.view(np.uint8)
    for start, part in zip(_starts(sizes), parts, strict=True):
        parcel[start : start + part.nbytes] = np.frombuffer(part, dtype=np.uint8)
    return parcel


def unpack(parcel: ByteArray) -> Any:
    """Return the object; its large arrays are views of the parcel."""
    n_parts = int(parcel[:8].view(np.int64)[0])
    sizes = np.array(parcel[: 8 * (n_parts + 1)]).view(np.int64)
    parts = [
        parcel[start : start + size].data
        for start, size in zip(_starts(sizes), sizes[1:], strict=True)
    ]
    return pickle.loads(parts[0], buffers=parts[1:])


def _cloudpickle() -> Any:
    """What joblib pickles with, so that models of a script or notebook travel too; up to joblib
    1.5 it is a part of joblib."""
    own = find_spec("cloudpickle") is None
    return import_module("joblib.externals.cloudpickle" if own else "cloudpickle")


def _starts(sizes: npt.NDArray[np.int64]) -> list[int]:
    ends = [sizes.nbytes, *_ends(sizes)]
    return [-(-end // ALIGNMENT) * ALIGNMENT for end in ends[:-1]]


def _ends(sizes: npt.NDArray[np.int64]) -> list[int]:
    ends, end = [], sizes.nbytes
    for size in sizes[1:].tolist():
        end = -(-end // ALIGNMENT) * ALIGNMENT + size
        ends.append(end)
    return ends


class _Opened:
    """The last few objects that this process has opened."""

    def __init__(self) -> None:
        self._things: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, source: str | ByteArray) -> Any:
        # Threads of one worker wait for the first of them to open it.
        with self._lock:
            if key not in self._things:
                self._things[key] = unpack(_bytes(source))
                while len(self._things) > KEPT_OPEN:
                    self._things.popitem(last=False)
            self._things.move_to_end(key)
            return self._things[key]


def _bytes(source: str | ByteArray) -> ByteArray:
    if isinstance(source, str):  # a file: pages that are written to become the process's own
        return np.asarray(np.memmap(source, dtype=np.uint8, mode="c"))
    return np.asarray(source)


_opened = _Opened()


def open_parcel(key: str, source: str | ByteArray) -> Any:
    """Return the object of a key, opened now if this process has not yet done so."""
    return _opened.get(key, source)


def new_key() -> str:
    """Return a name that no other parcel has."""
    return secrets.token_hex(8)
