"""A sample of rows that come in blocks, of which only the sampled rows are kept.

Which rows are sampled depends on the seed, their number and their order, not on the blocks that
they come in. Rows of one group are sampled together, by a hash of the group's label.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from shaff._util.labels import label_array, label_codes
from shaff._util.missing import is_missing
from shaff._util.typing import FloatArray, IntArray, IntpArray, Tell, say_nothing
from shaff._util.words import counted
from shaff.data.rows import draw_rows
from shaff.data.sources.lakes import Lake, frames_of
from shaff.errors import InputError

# Parts into which the labels of groups are hashed: the size of a sample is exact to one part.
_HASHED = 4096
_WORD = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass
class RowCount:
    """Numbers of rows, which are all that must be known before rows are sampled.

    Parameters
    ----------
    n_rows : int, default=0
        Number of all rows.
    hashed : int array of shape (4096,)
        Number of rows by the hash of their group; all 0 without groups.
    """

    n_rows: int = 0
    hashed: IntArray = field(default_factory=lambda: np.zeros(_HASHED, np.int64))

    def add(self, n_rows: int, row_groups: Any, seed: int) -> None:
        """Count the rows of a block; ``row_groups`` are their labels, or None."""
        self.n_rows += n_rows
        if row_groups is not None:
            parts = np.floor(group_shares(row_groups, seed) * _HASHED).astype(np.intp)
            self.hashed += np.bincount(parts, minlength=_HASHED)

    def group_share(self, max_rows: int) -> float:
        """Return the share below which groups are sampled (see `group_shares`).

        As many groups are taken as fit in ``max_rows``, and two hashed parts of them at least.
        """
        if self.n_rows <= max_rows or not self.hashed.any():
            return 1.0
        filled = np.flatnonzero(self.hashed)
        least = filled[min(1, len(filled) - 1)] + 1
        fitting = np.searchsorted(np.cumsum(self.hashed), max_rows, side="right")
        return float(max(least, fitting) / _HASHED)


class BlockSampler:
    """Chooses at most ``max_rows`` rows, block by block in the order of the table.

    Parameters
    ----------
    count : RowCount
        Counts of all rows, made with the same seed.
    max_rows : int
        Size of the sample; of a table that is no longer all rows are taken.
    seed : int
        Seed of the sample.

    Examples
    --------
    >>> from shaff.data.sources.blocks import BlockSampler, RowCount
    >>> sampler = BlockSampler(RowCount(100), max_rows=10, seed=0)
    >>> sum(len(sampler.rows(25)) for _ in range(4))
    10
    """

    def __init__(self, count: RowCount, max_rows: int, seed: int) -> None:
        self._count, self._seed, self._n_seen = count, seed, 0
        self._share = count.group_share(max_rows)
        self._places = None
        if count.n_rows > max_rows:
            self._places = draw_rows(count.n_rows, max_rows, None, seed)

    def rows(self, n_rows: int, row_groups: Any = None) -> IntpArray:
        """Return the places of the sampled rows within the next block of ``n_rows`` rows."""
        first, self._n_seen = self._n_seen, self._n_seen + n_rows
        if row_groups is not None:
            return np.flatnonzero(group_shares(row_groups, self._seed) < self._share)
        if self._places is None:
            return np.arange(n_rows)
        low, high = np.searchsorted(self._places, (first, first + n_rows))
        return self._places[low:high] - first

    def check_all_seen(self) -> None:
        """Refuse a table that has another length than when it was counted."""
        n_rows = self._count.n_rows
        if self._n_seen != n_rows:
            raise InputError(
                f"The table had {counted(n_rows, 'row')}, and {self._n_seen} when it was read "
                "again: it must not change meanwhile."
            )


def sample_frame(
    lake: Lake,
    n_rows: int,
    max_rows: int,
    seed: int,
    row_groups: str | None = None,
    tell: Tell = say_nothing,
) -> Any:
    """Return all columns of a sample of the rows of a lake, as a frame of its own library.

    Parameters
    ----------
    lake : Lake
        The table; one without rows has no sample.
    n_rows : int
        Number of its rows.
    max_rows : int
        Size of the sample.
    seed : int
        Seed of the sample.
    row_groups : str or None, default=None
        Column of labels; rows with the same label are sampled together.
    tell : callable, optional
        Called after each block with the number of rows read and of all rows.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff.data.sources.blocks import sample_frame
    >>> from shaff.data.sources.lakes import open_lake
    >>> lake = open_lake(pl.LazyFrame({"a": range(1000)}))
    >>> sample_frame(lake, 1000, max_rows=100, seed=0).shape
    (100, 1)
    """
    count = RowCount(n_rows) if row_groups is None else _grouped_count(lake, row_groups, seed)
    sampler = BlockSampler(count, max_rows, seed)
    parts, n_read = [], 0
    for frame in frames_of(lake, lake.names):
        labels = None if row_groups is None else frame[row_groups].to_native()
        parts.append(frame[sampler.rows(len(frame), labels).tolist()])
        n_read += len(frame)
        tell(n_read, n_rows)
    sampler.check_all_seen()
    return nw.concat(parts).to_native()


def _grouped_count(lake: Lake, row_groups: str, seed: int) -> RowCount:
    count = RowCount()
    for frame in frames_of(lake, [row_groups]):
        count.add(len(frame), frame[row_groups].to_native(), seed)
    return count


def group_shares(labels: Any, seed: int) -> FloatArray:
    """A number from 0 to 1 for each row, the same for all rows of a group.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.sources.blocks import group_shares
    >>> shares = group_shares(np.array(["a", "b", "a"]), seed=0)
    >>> bool(shares[0] == shares[2]), bool(shares[0] == shares[1])
    (True, False)
    """
    values = label_array(labels)
    if any(is_missing(label) for label in values.tolist()):
        raise InputError("row_groups has missing labels: give each such row a group of its own.")
    names, place = label_codes(values)
    salt = seed.to_bytes(8, "little", signed=True)
    hashed = [
        hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=6, salt=salt).digest()
        for name in names
    ]
    shares = np.array([int.from_bytes(digest, "little") / 2**48 for digest in hashed])
    return shares[place]


def row_shares(places: IntpArray, seed: int) -> FloatArray:
    """A number from 0 to 1 for each place of a row, whatever block it comes in.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.sources.blocks import row_shares
    >>> shares = row_shares(np.arange(10_000), seed=1)
    >>> bool(abs(shares.mean() - 0.5) < 0.02)
    True
    """
    mixed = np.asarray(places, dtype=np.uint64) + np.uint64(seed % 2**32) * np.uint64(2**31 - 1)
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(factor) & _WORD
    return np.asarray((mixed >> np.uint64(11)) / 2**53, dtype=np.float64)
