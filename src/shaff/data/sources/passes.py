"""Passes over rows that come in blocks: what the columns hold, and a sample of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np

from shaff._util.arrays import slices
from shaff._util.missing import is_missing
from shaff._util.numbers import as_floats
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.problem import RawData
from shaff.data.sources.blocks import BlockSampler, RowCount
from shaff.data.sources.lakes import BLOCK_ROWS, Lake, check_columns, frames_of
from shaff.data.table import take_rows
from shaff.data.target import check_known, read_values
from shaff.errors import InputError, InputTypeError

# Categories of a column that are told apart while they are counted.
MAX_LEVELS = 10_000


class Rows(Protocol):
    """Rows with their outcome, weights and groups, in blocks that are the same each time."""

    def blocks(self) -> Iterator[RawData]:
        """Yield consecutive rows, in order; X is a frame or an array."""


@dataclass(frozen=True, eq=False)
class LakeRows:
    """Rows of a lake, with the parts that its columns play.

    Parameters
    ----------
    lake : Lake
        The table.
    target : tuple of str
        Columns of the outcome.
    sample_weight, row_groups : str or None, default=None
        Columns of the weights and of the group labels.
    size : int, default=32_768
        Largest number of rows in a block.
    """

    lake: Lake
    target: tuple[str, ...]
    sample_weight: str | None = None
    row_groups: str | None = None
    size: int = BLOCK_ROWS

    @classmethod
    def named(cls, lake: Lake, y: Any, sample_weight: Any, row_groups: Any) -> LakeRows:
        """Return the rows with the columns that the user names; refuse anything but names."""
        target = (y,) if isinstance(y, str) else y
        if not isinstance(target, Sequence) or not all(isinstance(name, str) for name in target):
            raise InputTypeError(f"y must be the name of a column of {lake.what}, or several.")
        for role, name in (("sample_weight", sample_weight), ("row_groups", row_groups)):
            if name is not None and not isinstance(name, str):
                raise InputTypeError(f"{role} must be the name of a column of {lake.what}.")
        rows = cls(lake, tuple(target), sample_weight, row_groups)
        check_columns(lake, rows._roles)
        if not rows.inputs or not target:
            raise InputError(f"y names {len(target)} columns, which leaves nothing to explain.")
        return rows

    @property
    def _roles(self) -> list[str]:
        return [*self.target, *(n for n in (self.sample_weight, self.row_groups) if n is not None)]

    @property
    def inputs(self) -> list[str]:
        """Columns that have no other part to play."""
        return [name for name in self.lake.names if name not in self._roles]

    def blocks(self) -> Iterator[RawData]:
        """Yield consecutive rows as frames and series of the lake's library."""
        inputs = self.inputs
        for frame in frames_of(self.lake, [*inputs, *self._roles], self.size):
            yield RawData(
                frame.select(inputs).to_native(),
                frame.select(list(self.target)).to_native(),
                None if self.sample_weight is None else frame[self.sample_weight].to_numpy(),
                None if self.row_groups is None else frame[self.row_groups].to_native(),
            )


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Rows that are in memory."""

    data: RawData
    n_rows: int
    size: int = BLOCK_ROWS

    def blocks(self) -> Iterator[RawData]:
        """Yield consecutive slices of the data."""
        for part in slices(self.n_rows, self.size):
            places = np.arange(part.start, part.stop)
            yield RawData(*(take_rows(part, places) for part in self.data))


@dataclass
class ColumnTally:
    """Values that all rows hold in one column.

    Parameters
    ----------
    n_missing : int, default=0
        Number of rows without a value.
    low, high : float or None, default=None
        Smallest and largest number; None in a column without numbers.
    levels : set of str or None
        Categories of a column that does not hold numbers; None if there are more than
        `MAX_LEVELS`.
    """

    n_missing: int = 0
    low: float | None = None
    high: float | None = None
    levels: set[str] | None = field(default_factory=set)

    def add(self, series: nw.Series[Any]) -> None:
        """Count the rows of a block."""
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            self._add_numbers(series)
            return
        known = series.drop_nulls()
        self.n_missing += len(series) - len(known)
        if self.levels is not None and series.dtype in (nw.String, nw.Categorical, nw.Enum):
            self.levels |= {str(v) for v in known.unique().to_list() if not is_missing(v)}
            self.levels = None if len(self.levels) > MAX_LEVELS else self.levels

    def _add_numbers(self, series: nw.Series[Any]) -> None:
        values = _as_floats(series)
        known = values[~np.isnan(values)]
        self.n_missing += len(values) - len(known)
        if len(known):
            low, high = float(known.min()), float(known.max())
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)


def _as_floats(series: nw.Series[Any]) -> FloatArray:
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


@dataclass
class Tally(RowCount):
    """Counts of all rows and of what they hold, from one pass.

    Parameters
    ----------
    n_rows, hashed
        As in `RowCount`.
    columns : dict of str to ColumnTally
        What each input holds, by its name.
    classes : dict of str to int
        How often each label of y occurs; empty if y holds numbers.
    """

    columns: dict[str, ColumnTally] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows, seed: int) -> Tally:
        """Count all rows; refuse a table without any."""
        tally = cls()
        for block in rows.blocks():
            tally._add_block(block, seed)
        if tally.n_rows == 0:
            raise InputError("There are no rows: the table is empty.")
        return tally

    def _add_block(self, block: RawData, seed: int) -> None:
        frame = nw.from_native(block.X, eager_only=True)
        self.add(len(frame), block.row_groups, seed)
        for series in frame.iter_columns():
            self.columns.setdefault(series.name, ColumnTally()).add(series)
        _has_weight(block)
        target = read_values(block.y)
        check_known(target)
        if target.dtype.kind in "OUSb":
            for label, count in Counter(map(str, target.reshape(-1).tolist())).items():
                self.classes[label] = self.classes.get(label, 0) + count


class LakeSample(NamedTuple):
    """The sampled rows, and their places among all rows."""

    data: RawData
    places: IntpArray


def sample_lake(rows: Rows, tally: Tally, max_rows: int, seed: int) -> LakeSample:
    """Sample rows in one pass that keeps no others; rows without weight are left out."""
    sampler, parts, places, first = BlockSampler(tally, max_rows, seed), [], [], 0
    for block in rows.blocks():
        sampled = sampler.rows(len(block.X), block.row_groups)
        sampled = sampled[_has_weight(block)[sampled]]
        parts.append(RawData(*(take_rows(part, sampled) for part in block)))
        places.append(sampled + first)
        first += len(block.X)
    sampler.check_all_seen()
    joined = RawData(*(_joined([part[k] for part in parts]) for k in range(4)))
    return LakeSample(joined, np.concatenate(places))


def _has_weight(block: RawData) -> BoolArray:
    if block.sample_weight is None:
        return np.ones(len(block.X), dtype=bool)
    weight = as_floats(block.sample_weight, "sample_weight")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError("sample_weight must be finite, non-negative, and not all zero.")
    return np.asarray(weight > 0)


def _joined(parts: list[Any]) -> Any:
    """Concatenate frames, series or arrays of one kind."""
    if parts[0] is None:
        return None
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    native = [nw.from_native(part, allow_series=True, eager_only=True) for part in parts]
    if isinstance(native[0], nw.Series):
        return nw.concat([part.alias("one").to_frame() for part in native])["one"].to_native()
    return nw.concat(native).to_native()
