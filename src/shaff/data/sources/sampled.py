"""A sample to grow learners on, and all other rows to measure them on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.named import by_name
from shaff.data.new_rows import read_new_rows
from shaff.data.problem import Problem, RawData, ReadingOptions
from shaff.data.remarks import Remark
from shaff.data.rows import SAMPLED, draw_rows, n_given_rows, read_row_groups, sampled
from shaff.data.sources.blocks import group_shares, row_shares
from shaff.data.sources.lakes import open_lake
from shaff.data.sources.passes import (
    LakeRows,
    MemoryRows,
    Rows,
    Tally,
    sample_lake,
)
from shaff.data.summary import ColumnSummary, DataSummary
from shaff.data.table import MIN_ROWS, collected, is_frame
from shaff.data.target import read_more
from shaff.errors import InputError

# Rows of a lake that learners are grown on where no number is given.
LAKE_SAMPLE = 100_000
# Groups of rows are counted together in so many parts, whose sums are independent: more take memory
# in proportion to the subsets, fewer make error bars uncertain.
UNITS = 4096
ValueRows = Literal["sample", "all"] | int


class MeasuredRows(NamedTuple):
    """Rows as the learners of a problem are measured on them.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
        In the columns and codes of the problem as it was read.
    y : float array of shape (n_rows, n_outputs)
    weight : float array of shape (n_rows,)
    fold : int array of shape (n_rows,)
        Which has not seen the row.
    unit : int array of shape (n_rows,) or None
        Below `UNITS`; rows of one group have the same. None: each row is one of its own.
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray
    fold: IntpArray
    unit: IntpArray | None


class RawBlock(NamedTuple):
    """Consecutive rows as they were given, and the place of the first."""

    given: RawData
    first: int


@dataclass(frozen=True, eq=False)
class AllRows:
    """Every row, those of the sample too, each assigned to a fold that has not seen it.

    A row of the sample goes to the fold that holds it out, any other to one by a hash of its place
    or of its group, so that each row is measured by one model, as in the sample.

    Parameters
    ----------
    rows : Rows
    places : int array
        Of the rows of the sample, in their order.
    n_rows : int
    share : float
        Of the other rows that are measured.
    seed : int
    named : bool
        Whether columns go by name.
    """

    rows: Rows
    places: IntpArray
    n_rows: int
    share: float
    seed: int
    named: bool

    def blocks(self) -> Iterator[RawBlock]:
        """All rows in order."""
        first = 0
        for given in self.rows.blocks():
            yield RawBlock(given, first)
            first += _length(given)

    def read(
        self, block: RawBlock, problem: Problem, fold_of: IntpArray, n_folds: int
    ) -> MeasuredRows:
        """Rows that are measured, with a fold each; ``fold_of`` the rows of the sample, -1 if none
        has held one out."""
        X = read_new_rows(block.given.X, problem.table, self.named).X
        places = block.first + np.arange(len(X))
        low, high = np.searchsorted(self.places, (block.first, block.first + len(X)))
        drawn, groups = self.places[low:high] - block.first, block.given.row_groups
        _check_same(X[drawn], problem.X[low:high])
        fold = self._parts(places, groups, n_folds, self.seed + 1)
        fold[drawn] = fold_of[low:high]
        unit = None if groups is None else self._parts(places, groups, UNITS, self.seed + 2)
        y, weight = read_more(block.given.y, problem.target), self._weight(block.given, len(X))
        kept = np.flatnonzero((weight > 0) & (fold >= 0) & self._is_asked(places, drawn))
        of_unit = None if unit is None else unit[kept]
        return MeasuredRows(X[kept], y[kept], weight[kept], fold[kept], of_unit)

    @staticmethod
    def _parts(places: IntpArray, groups: Any, n_parts: int, seed: int) -> IntpArray:
        """Rows, or groups of them, in so many parts by chance."""
        chance = row_shares(places, seed) if groups is None else group_shares(groups, seed)
        return np.floor(chance * n_parts).astype(np.intp)

    def _is_asked(self, places: IntpArray, drawn: IntpArray) -> BoolArray:
        if self.share >= 1:
            return np.ones(len(places), dtype=bool)
        asked = np.asarray(row_shares(places, self.seed + 3) < self.share)
        asked[drawn] = True
        return asked

    @staticmethod
    def _weight(given: RawData, n_rows: int) -> FloatArray:
        if given.sample_weight is None:
            return np.ones(n_rows)
        return np.asarray(given.sample_weight, dtype=np.float64)


def _length(given: RawData) -> int:
    return n_given_rows(given.X)


def _check_same(found: FloatArray, sample: FloatArray) -> None:
    if not np.array_equal(found, sample, equal_nan=True):
        raise InputError(
            "The rows came in another order when they were read again: sort them, or write them to "
            "a parquet file first."
        )


class SampledData(NamedTuple):
    """What is read as a problem, what is said about it, and what is measured besides.

    Parameters
    ----------
    given : RawData
    reading : ReadingOptions
    rest : AllRows or None
        None: the rows of the problem are all that is measured.
    tally : Tally or None
        Of a lake.
    asked : RawData or None
        The data as they were given, where columns go by name.
    """

    given: RawData
    reading: ReadingOptions
    rest: AllRows | None = None
    tally: Tally | None = None
    asked: RawData | None = None

    def with_remarks(self, problem: Problem) -> Problem:
        """The problem, with remarks on how its rows were sampled from all rows."""
        known = self.tally or self.rest
        if known is None:
            return problem
        # That all is computed on the sample is true only if no other rows are measured.
        others = (remark for remark in problem.table.remarks if remark.kind != SAMPLED)
        remarks = (
            *self._sampling(len(problem.X), known.n_rows),
            *self._unsampled(problem),
            *others,
        )
        return replace(problem, table=replace(problem.table, remarks=remarks), n_given=known.n_rows)

    def summarised(self, summary: DataSummary | None, n_measured: int) -> DataSummary | None:
        """What is said of the columns, by all rows of a lake if all were measured."""
        if summary is None or self.tally is None or n_measured < self.tally.n_rows:
            return summary
        columns = tuple(self._of_all_rows(column) for column in summary.columns)
        return replace(summary, n_rows=self.tally.n_rows, columns=columns)

    def _of_all_rows(self, column: ColumnSummary) -> ColumnSummary:
        assert self.tally is not None
        found = self.tally.columns[column.name]
        if found.low is None or found.high is None or column.kind == "category":
            return column._replace(n_missing=found.n_missing)
        return column._replace(n_missing=found.n_missing, low=found.low, high=found.high)

    def _sampling(self, n_sample: int, n_rows: int) -> tuple[Remark, ...]:
        if n_sample == n_rows:
            return ()
        remark = sampled(n_sample, n_rows)
        if self.rest is None:
            return (remark,)
        details = {**remark.details, "all_measured": self.rest.share >= 1}
        return (Remark("grown on sample", details=details),)

    def _unsampled(self, problem: Problem) -> tuple[Remark, ...]:
        """Remarks on categories and classes of a lake that the sample lacks."""
        if self.tally is None:
            return ()
        remarks = []
        for name, levels in problem.table.levels.items():
            column = self.tally.columns.get(name)
            more = 0 if column is None or not column.levels else len(column.levels - set(levels))
            if more:
                details = {"n_categories": more}
                remarks.append(Remark("unsampled categories", (name,), details))
        lost = sorted(self.tally.classes.keys() - set(problem.target.classes or ()))
        if lost and problem.target.classes:
            remarks.append(Remark("unsampled classes", details={"classes": tuple(lost)}))
        return tuple(remarks)


def draw(given: RawData, reading: ReadingOptions, value_rows: ValueRows) -> SampledData:
    """Where X is a lake, a sample of its rows; and the other rows if they are to be measured.

    Parameters
    ----------
    given : RawData
        X may be anything that `open_lake` takes; then the others are names of its columns, as they
        may be for a frame.
    reading : ReadingOptions
        With ``max_rows=None`` all rows of a lake are measured.
    value_rows : {"sample", "all"} or int
        Rows that v is measured on.
    """
    lake = open_lake(given.X) if _may_be_lake(given) else None
    if lake is None:
        collected_data = RawData(collected(given.X), collected(given.y), *given[2:])
        held = by_name(collected_data)
        rest = _rest_in_memory(held, reading, value_rows)
        asked = None if held is collected_data else given
        return SampledData(held, reading, rest, asked=asked)
    rows = LakeRows.named(lake, *given[1:])
    tally = Tally.of(rows, reading.seed)
    most = LAKE_SAMPLE if reading.max_rows is None else reading.max_rows
    sample = sample_lake(rows, tally, most, reading.seed)
    wanted = "all" if reading.max_rows is None else value_rows
    share = _share(wanted, len(sample.places), tally.n_rows)
    rest = AllRows(rows, sample.places, tally.n_rows, share, reading.seed, True)
    left = share > 0 and len(sample.places) < tally.n_rows
    reading = replace(reading, max_rows=None)
    return SampledData(sample.given, reading, rest if left else None, tally, given)


def _may_be_lake(given: RawData) -> bool:
    """Whether y is by name, or X is a path, which says nothing without one."""
    several = isinstance(given.y, list | tuple) and all(isinstance(name, str) for name in given.y)
    return several or isinstance(given.y, str) or isinstance(given.X, str | os.PathLike)


def _rest_in_memory(
    given: RawData, reading: ReadingOptions, value_rows: ValueRows
) -> AllRows | None:
    n_rows = n_given_rows(given.X)
    if value_rows == "sample" or reading.max_rows is None or n_rows <= reading.max_rows:
        return None
    groups = read_row_groups(given.row_groups, n_rows)
    places = draw_rows(n_rows, reading.max_rows, groups, reading.seed)
    if given.sample_weight is not None:
        places = places[np.asarray(given.sample_weight, dtype=np.float64)[places] > 0]
    share = _share(value_rows, len(places), n_rows)
    rows = MemoryRows(given, n_rows)
    return AllRows(rows, places, n_rows, share, reading.seed, is_frame(given.X)) if share else None


def _share(value_rows: ValueRows, n_sample: int, n_rows: int) -> float:
    """Of the rows outside of the sample that are measured."""
    if value_rows == "sample" or n_rows <= n_sample:
        return 0.0
    if value_rows == "all":
        return 1.0
    return float(np.clip((value_rows - n_sample) / (n_rows - n_sample), 0.0, 1.0))


def check_value_rows(value_rows: Any) -> None:
    """Refuse anything but "sample", "all" or a number of rows."""
    whole = isinstance(value_rows, int | np.integer) and not isinstance(value_rows, bool)
    if value_rows in ("sample", "all") or (whole and value_rows >= MIN_ROWS):
        return
    raise InputError(
        f'value_rows={value_rows!r}: use "sample", "all", or a number of at least {MIN_ROWS}.'
    )
