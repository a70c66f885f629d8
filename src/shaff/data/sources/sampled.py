"""A sample that learners are grown on, and all other rows, on which they are measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from shaff._util.numbers import as_floats
from shaff._util.typing import BoolArray, FloatArray, IntpArray, is_whole
from shaff.data.folds import check_names_all_rows
from shaff.data.named import by_name
from shaff.data.new_rows import read_new_rows
from shaff.data.outcome import DerivedOutcome
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

# Rows of a lake that learners are grown on if ``max_rows`` is None.
LAKE_SAMPLE = 100_000
# Groups of rows are counted together in so many parts, whose sums are independent: more take memory
# in proportion to the subsets, fewer make error bars uncertain.
UNITS = 4096
ValueRows = Literal["sample", "all"] | int


class MeasuredRows(NamedTuple):
    """Rows on which the learners of a problem are measured.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
        Inputs, in the columns and category codes of the problem as it was read.
    y : float array of shape (n_rows, n_outputs)
        Outcomes.
    weight : float array of shape (n_rows,)
        Weights, all positive.
    fold : int array of shape (n_rows,)
        Fold whose learner has not seen the row.
    unit : int array of shape (n_rows,) or None
        Independent unit of the row, below `UNITS`; rows of one group share it. None if each row
        is a unit of its own.
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray
    fold: IntpArray
    unit: IntpArray | None


class RawBlock(NamedTuple):
    """Consecutive rows as the user gave them, and the place of the first among all."""

    data: RawData
    first: int


@dataclass(frozen=True, eq=False)
class AllRows:
    """Every row, those of the sample too, each assigned to a fold that has not seen it.

    A row of the sample goes to the fold that holds it out, any other to one by a hash of its place
    or of its group, so that each row is measured by one model, as in the sample.

    Parameters
    ----------
    rows : Rows
        All rows, in blocks.
    places : int array
        Places of the sampled rows, ascending.
    n_rows : int
        Number of all rows.
    share : float
        Share of the other rows that are measured, from 0 to 1.
    seed : int
        Seed of all choices.
    named : bool
        Whether columns are matched by name.
    """

    rows: Rows
    places: IntpArray
    n_rows: int
    share: float
    seed: int
    named: bool

    def blocks(self) -> Iterator[RawBlock]:
        """Yield all rows, in order."""
        first = 0
        for data in self.rows.blocks():
            yield RawBlock(data, first)
            first += n_given_rows(data.X)

    def read(
        self, block: RawBlock, problem: Problem, fold_of: IntpArray, n_folds: int
    ) -> MeasuredRows:
        """Return the rows of a block that are measured, each with its fold.

        ``fold_of`` is the fold that holds out each sampled row, -1 if there is none.
        """
        X = read_new_rows(block.data.X, problem.table, self.named).X
        places = block.first + np.arange(len(X))
        low, high = np.searchsorted(self.places, (block.first, block.first + len(X)))
        sampled_rows, groups = self.places[low:high] - block.first, block.data.row_groups
        _check_same(X[sampled_rows], problem.X[low:high])
        fold = self._parts(places, groups, n_folds, self.seed + 1)
        fold[sampled_rows] = fold_of[low:high]
        unit = None if groups is None else self._parts(places, groups, UNITS, self.seed + 2)
        y, weight = read_more(block.data.y, problem.target), self._weight(block.data, len(X))
        kept = np.flatnonzero((weight > 0) & (fold >= 0) & self._is_measured(places, sampled_rows))
        of_unit = None if unit is None else unit[kept]
        return MeasuredRows(X[kept], y[kept], weight[kept], fold[kept], of_unit)

    @staticmethod
    def _parts(places: IntpArray, groups: Any, n_parts: int, seed: int) -> IntpArray:
        """Assign rows, or whole groups of rows, to parts at random."""
        chance = row_shares(places, seed) if groups is None else group_shares(groups, seed)
        return np.floor(chance * n_parts).astype(np.intp)

    def _is_measured(self, places: IntpArray, sampled_rows: IntpArray) -> BoolArray:
        if self.share >= 1:
            return np.ones(len(places), dtype=bool)
        measured = np.asarray(row_shares(places, self.seed + 3) < self.share)
        measured[sampled_rows] = True
        return measured

    @staticmethod
    def _weight(data: RawData, n_rows: int) -> FloatArray:
        if data.sample_weight is None:
            return np.ones(n_rows)
        return as_floats(data.sample_weight, "sample_weight")


def _check_same(found: FloatArray, sample: FloatArray) -> None:
    if not np.array_equal(found, sample, equal_nan=True):
        raise InputError(
            "The rows came in another order when they were read again: sort them, or write them to "
            "a parquet file first."
        )


class SampledData(NamedTuple):
    """Rows that become a problem, and the rows that are measured besides.

    Parameters
    ----------
    data : RawData
        The rows that learners are grown on.
    options : ReadingOptions
        How they are read.
    rest : AllRows or None, default=None
        All rows, if more than those of the problem are measured.
    tally : Tally or None, default=None
        Counts of all rows of a lake; None for a table in memory.
    column_names : RawData or None, default=None
        The data as they were given, where columns go by name.
    """

    data: RawData
    options: ReadingOptions
    rest: AllRows | None = None
    tally: Tally | None = None
    column_names: RawData | None = None

    def with_remarks(self, problem: Problem) -> Problem:
        """Return the problem with remarks on how its rows were sampled."""
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
        """Return the summary of the columns, over all rows of a lake if all were measured."""
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


def draw(data: RawData, options: ReadingOptions, value_rows: ValueRows) -> SampledData:
    """Return the rows that learners are grown on, and those that v is measured on besides.

    Of a lake a sample is drawn; a table in memory is kept whole here, with the columns that go by
    name taken out of X, and sampled when it is read (`shaff.data.rows.sample_rows`).

    Parameters
    ----------
    data : RawData
        The user's data. X may be anything that `open_lake` takes; then the others are names of
        its columns, as they may be for a frame.
    options : ReadingOptions
        How rows are read. With ``max_rows=None`` all rows of a lake are measured.
    value_rows : {"sample", "all"} or int
        Rows that v is measured on: the sample, all, or about this many.
    """
    lake = open_lake(data.X) if _may_be_lake(data) else None
    if lake is None:
        collected_data = RawData(*map(collected, data))
        held = by_name(collected_data)
        rest_in_memory = _rest_in_memory(held, options, value_rows)
        names = None if held is collected_data else data
        return SampledData(held, options, rest_in_memory, column_names=names)
    _check_in_memory(data)
    rows = LakeRows.named(lake, *data[1:4])
    tally = Tally.of(rows, options.seed)
    most = LAKE_SAMPLE if options.max_rows is None else options.max_rows
    sample = sample_lake(rows, tally, most, options.seed)
    check_names_all_rows(options.cv, len(sample.places) < tally.n_rows)
    measured = "all" if options.max_rows is None else value_rows
    share = _share(measured, len(sample.places), tally.n_rows)
    rest = AllRows(rows, sample.places, tally.n_rows, share, options.seed, True)
    left = share > 0 and len(sample.places) < tally.n_rows
    options = replace(options, max_rows=None)
    return SampledData(sample.data, options, rest if left else None, tally, data)


def _check_in_memory(data: RawData) -> None:
    if data.time is not None:
        raise InputError("time needs a table in memory: read it into a frame first.")


def _may_be_lake(data: RawData) -> bool:
    """Whether y names columns, or X is a path, for which y must do so."""
    several = isinstance(data.y, list | tuple) and all(isinstance(name, str) for name in data.y)
    return several or isinstance(data.y, str) or isinstance(data.X, str | os.PathLike)


def _rest_in_memory(
    data: RawData, options: ReadingOptions, value_rows: ValueRows
) -> AllRows | None:
    n_rows = n_given_rows(data.X)
    if value_rows != "sample" and data.time is not None:
        raise InputError("time is measured on the sample only: leave out value_rows.")
    if value_rows == "sample" or options.max_rows is None or n_rows <= options.max_rows:
        return None
    if isinstance(data.y, DerivedOutcome):
        what = data.y.description
        raise InputError(f"value_rows: {what} is measured on the sample only; leave it out.")
    groups = read_row_groups(data.row_groups, n_rows)
    places = draw_rows(n_rows, options.max_rows, groups, options.seed)
    if data.sample_weight is not None:
        places = places[as_floats(data.sample_weight, "sample_weight")[places] > 0]
    share = _share(value_rows, len(places), n_rows)
    rows = MemoryRows(data, n_rows)
    return AllRows(rows, places, n_rows, share, options.seed, is_frame(data.X)) if share else None


def _share(value_rows: ValueRows, n_sample: int, n_rows: int) -> float:
    """Return the share of the rows outside of the sample that are measured."""
    if value_rows == "sample" or n_rows <= n_sample:
        return 0.0
    if value_rows == "all":
        return 1.0
    return float(np.clip((value_rows - n_sample) / (n_rows - n_sample), 0.0, 1.0))


def check_value_rows(value_rows: Any) -> None:
    """Refuse anything but "sample", "all" or a number of rows."""
    if value_rows in ("sample", "all") or (is_whole(value_rows) and value_rows >= MIN_ROWS):
        return
    raise InputError(
        f'value_rows={value_rows!r}: use "sample", "all", or a number of at least {MIN_ROWS}.'
    )
