"""Rows in the order of time: blocks of neighbouring times, and folds made of them.

Rows that are close in time know each other's outcome. So the rows are cut into blocks as long as
the outcome correlates with itself; a fold holds out several blocks in a row, and leaves the blocks
next to them out of its training rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from shaff._util.numbers import unmasked
from shaff._util.series import block_length, correlation_length
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.folds import Splits, n_folds_of
from shaff.data.table import read_column, read_values
from shaff.errors import InputError

# Different times below which contiguous folds with gaps leave too little to learn from.
MIN_TIMES = 10
# Blocks that a variance is computed from at least: with fewer it is hardly known, and gaps take a
# larger share of the rows (`benchmarks.dependence`).
MIN_BLOCKS = 20
# A year, and maybe a quarter, month or week.
_PERIOD = re.compile(r"\d{4}(?:\D{0,2}\d{1,2})?")


def read_time(time: Any, n_rows: int) -> IntpArray | None:
    """Return the place of each row in time: 0 for the earliest, and the same for equal times.

    Examples
    --------
    >>> from shaff.data.time import read_time
    >>> days = ["2021-01-03", *(f"2021-02-{day:02}" for day in range(11, 20)), "2021-01-03"]
    >>> read_time(days[::-1], 11).tolist()
    [0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    """
    if time is None:
        return None
    values = _numbers(time)
    if values.shape != (n_rows,):
        raise InputError(f"time has shape {values.shape}: expected ({n_rows},).")
    if not np.isfinite(values).all():
        raise InputError("time is missing in some rows: leave them out, or fill them in.")
    times, places = np.unique(values, return_inverse=True)
    if len(times) < MIN_TIMES:
        raise InputError(
            f"time has {len(times)} different values, which is too few for blocks of time: give "
            f"at least {MIN_TIMES}, or take them as row_groups."
        )
    return places.astype(np.intp)


def _numbers(time: Any) -> FloatArray:
    """Times as numbers that keep their order."""
    series = nw.from_native(time, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        column = read_column(series, "time")
    else:
        array = np.asarray(unmasked(time))
        if array.ndim != 1:
            raise InputError(f"time has shape {array.shape}: expected one value per row.")
        if array.dtype.kind in "mM":  # to microseconds, which become Python's dates
            array = array.astype(f"{array.dtype.kind}8[us]")
        column = read_values(array.tolist(), "time")
    if column.is_category and not _are_periods(column.levels):
        raise InputError("time must hold numbers or dates, which have an order; it holds text.")
    return column.values


def _are_periods(labels: Sequence[Any]) -> bool:
    """Whether labels such as 2020-01 or 2020Q1 are in the order of time as they are in the order of
    letters, which is that of their codes."""
    texts = [str(label) for label in labels]
    return len({len(text) for text in texts}) == 1 and all(map(_PERIOD.fullmatch, texts))


def time_blocks(time: IntpArray, length: int) -> IntpArray:
    """Return the block of each row: stretches of ``length`` times in a row, or a little longer so
    that all are alike, and at least `MIN_BLOCKS` of them where there are as many times.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.time import time_blocks
    >>> np.bincount(time_blocks(np.arange(100), 3)).tolist() == [4] + [3] * 32
    True
    """
    n_times = int(time.max()) + 1
    n_blocks = max(n_times // max(length, 1), min(MIN_BLOCKS, n_times))
    ends = -(-np.arange(1, n_blocks + 1) * n_times // n_blocks)
    return np.searchsorted(ends, time, side="right").astype(np.intp)


def outcome_blocks(time: IntpArray, y: FloatArray) -> IntpArray:
    """Return blocks of rows that are as long as the outcome correlates with itself.

    ``y`` has shape (n_rows, n_outputs); the longest correlation decides.
    """
    length = max(correlation_length(series) for series in by_time(time, y.T))
    return time_blocks(time, length + 1)


def influence_blocks(time: IntpArray, influence: FloatArray) -> IntpArray:
    """Return blocks of rows whose influences sum to nearly independent numbers."""
    return time_blocks(time, block_length(_sums(time, influence)))


def n_blocks_wanted(time: IntpArray, influence: FloatArray) -> int:
    """Return how many blocks there are if they are as long as they should be."""
    sums = _sums(time, influence)
    return len(sums) // block_length(sums)


def _sums(time: IntpArray, rows: FloatArray) -> FloatArray:
    return np.bincount(time, weights=rows).astype(np.float64)


def by_time(time: IntpArray, rows: FloatArray) -> FloatArray:
    """Return the mean at each time of numbers of the rows, shapes (k, n_times) and (k, n_rows)."""
    size = np.bincount(time)
    return np.stack([np.bincount(time, weights=row) / size for row in rows])


def block_splits(blocks: IntpArray, cv: int | None) -> Splits:
    """Return folds of blocks in a row, without the blocks on both sides in their training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.time import block_splits
    >>> [(train.tolist(), test.tolist()) for train, test in block_splits(np.arange(6), 3)][1]
    ([0, 5], [2, 3])
    """
    n_blocks = int(blocks.max()) + 1
    size, n_rows = np.bincount(blocks), len(blocks)
    # By the number of rows up to the middle of each block: folds of equal size.
    middle = np.cumsum(size) - size / 2
    n_folds = n_folds_of(n_blocks, cv)
    fold = np.minimum((middle * n_folds / n_rows).astype(np.intp), n_folds - 1)
    splits = []
    for k in np.unique(fold):
        held = np.flatnonzero(fold == k)
        near = (blocks >= held[0] - 1) & (blocks <= held[-1] + 1)
        splits.append((np.flatnonzero(~near), np.flatnonzero(fold[blocks] == k)))
    if any(len(train) < 2 for train, _ in splits):
        raise InputError("time leaves no training rows beside a fold: give more times.")
    return splits
