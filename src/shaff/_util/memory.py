"""Free memory, so that a file that does not fit is refused and does not crash the process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Return the bytes that this process may still take, None if the system does not tell.

    Examples
    --------
    >>> from shaff._util.memory import free_memory
    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    return min(_limits(), default=None)


def in_gigabytes(n_bytes: float) -> str:
    """Return a size in gigabytes, as text.

    Examples
    --------
    >>> from shaff._util.memory import in_gigabytes
    >>> in_gigabytes(2.34e9), in_gigabytes(5e6)
    ('2.3 GB', '0.005 GB')
    """
    return f"{n_bytes / 1e9:.2g} GB"


def _limits() -> Iterator[int]:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", _MEMINFO.read_text(), re.M)
    except OSError:
        found = None
    if found:
        yield int(found[1]) * 1024
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit, used = ((_GROUP / f"memory.{name}").read_text() for name in ("max", "current"))
        yield max(int(limit) - int(used), 1)
    except (OSError, ValueError):  # no such group, or its limit is the word "max"
        return
