"""A sample to grow learners on, and all other rows to measure them on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from shaff._typing import BoolArray, FloatArray, IntpArray
from shaff._words import counted, listed
from shaff.data.columns import MIN_ROWS, collected, is_frame
from shaff.data.lakes import open_lake
from shaff.data.new_rows import read_new_rows
from shaff.data.passes import (
    LakeRows,
    MemoryRows,
    Rows,
    Tally,
    group_shares,
    row_shares,
    sample_lake,
)
from shaff.data.problem import Given, Problem, Reading
from shaff.data.rows import draw_rows, n_given_rows, read_row_groups, sample_note
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

    given: Given
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
    n_columns_named : bool
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
        drawn = self.places[low:high] - block.first
        _check_same(X[drawn], problem.X[low:high])
        groups = block.given.row_groups
        by_group = None if groups is None else group_shares(groups, self.seed + 1)
        chance = row_shares(places, self.seed + 1) if by_group is None else by_group
        fold = np.floor(chance * n_folds).astype(np.intp)
        fold[drawn] = fold_of[low:high]
        weight = self._weight(block.given, len(X))
        kept = np.flatnonzero((weight > 0) & (fold >= 0) & self._is_asked(places, drawn))
        unit = None if groups is None else group_shares(groups, self.seed + 2) * UNITS
        return MeasuredRows(
            X[kept],
            read_more(block.given.y, problem.target)[kept],
            weight[kept],
            fold[kept],
            None if unit is None else np.floor(unit).astype(np.intp)[kept],
        )

    def _is_asked(self, places: IntpArray, drawn: IntpArray) -> BoolArray:
        if self.share >= 1:
            return np.ones(len(places), dtype=bool)
        asked = np.asarray(row_shares(places, self.seed + 3) < self.share)
        asked[drawn] = True
        return asked

    @staticmethod
    def _weight(given: Given, n_rows: int) -> FloatArray:
        if given.sample_weight is None:
            return np.ones(n_rows)
        return np.asarray(given.sample_weight, dtype=np.float64)


def _length(given: Given) -> int:
    return n_given_rows(given.X)


def _check_same(found: FloatArray, sample: FloatArray) -> None:
    if not np.array_equal(found, sample, equal_nan=True):
        raise InputError(
            "The rows came in another order when they were read again: sort them, or write them to "
            "a parquet file first."
        )


class Drawn(NamedTuple):
    """What is read as a problem, what is said about it, and what is measured besides.

    Parameters
    ----------
    given : Given
    reading : Reading
    rest : AllRows or None
        None: the rows of the problem are all that is measured.
    tally : Tally or None
        Of a lake.
    """

    given: Given
    reading: Reading
    rest: AllRows | None = None
    tally: Tally | None = None

    def noted(self, problem: Problem) -> Problem:
        """The problem with what there is to say of how its rows were drawn."""
        if self.tally is None and self.rest is None:
            return problem
        n_rows = self.rest.n_rows if self.tally is None else self.tally.n_rows  # type: ignore[union-attr]
        notes = problem.table.notes
        # A sample in memory has a note already, which is true without the rest only.
        if self.tally is None:
            notes = notes[1:]
        notes = (*self._how(len(problem.X), n_rows), *self._unseen(problem), *notes)
        return replace(problem, table=replace(problem.table, notes=notes), n_given=n_rows)

    def _how(self, n_sample: int, n_rows: int) -> tuple[str, ...]:
        if n_sample == n_rows:
            return ()
        if self.rest is None:
            return (sample_note(n_sample, n_rows),)
        others = "all rows" if self.rest.share >= 1 else "these and other rows"
        return (
            f"The learners were grown on a random sample of {n_sample} of the {n_rows} rows. What "
            f"they explain was measured on {others}, each predicted by a learner that has not "
            "seen it.",
        )

    def _unseen(self, problem: Problem) -> tuple[str, ...]:
        """Categories and classes of a lake that the sample does not hold."""
        if self.tally is None:
            return ()
        notes = []
        for name, levels in problem.table.levels.items():
            column = self.tally.columns.get(name)
            more = 0 if column is None or not column.levels else len(column.levels - set(levels))
            if more:
                what = counted(more, "category").replace("categorys", "categories")
                notes.append(f"Column {name!r} has {what} outside of the sample: read as missing.")
        lost = sorted(self.tally.classes.keys() - set(problem.target.classes or ()))
        if lost and problem.target.classes:
            notes.append(f"The sample has no row of {listed(lost)}: not explained.")
        return tuple(notes)


def draw(given: Given, reading: Reading, value_rows: ValueRows) -> Drawn:
    """Where X is a lake, a sample of its rows; and the other rows if they are to be measured.

    Parameters
    ----------
    given : Given
        X may be anything that `open_lake` takes; then the others are names of its columns.
    reading : Reading
        With ``max_rows=None`` all rows of a lake are measured.
    value_rows : {"sample", "all"} or int
        Rows that v is measured on.
    """
    lake = open_lake(given.X) if _is_named(given) else None
    if lake is None:
        held = Given(collected(given.X), collected(given.y), *given[2:])
        return Drawn(held, reading, _rest_in_memory(held, reading, value_rows))
    rows = LakeRows.named(lake, *given[1:])
    tally = Tally.of(rows, reading.seed)
    most = LAKE_SAMPLE if reading.max_rows is None else reading.max_rows
    sample = sample_lake(rows, tally, most, reading.seed)
    wanted = "all" if reading.max_rows is None else value_rows
    share = _share(wanted, len(sample.places), tally.n_rows)
    rest = AllRows(rows, sample.places, tally.n_rows, share, reading.seed, True)
    left = share > 0 and len(sample.places) < tally.n_rows
    return Drawn(sample.given, replace(reading, max_rows=None), rest if left else None, tally)


def _is_named(given: Given) -> bool:
    """Whether y is a name, or X is a path, which says nothing without one."""
    import os

    named = isinstance(given.y, str) or (
        isinstance(given.y, list | tuple) and given.y and all(isinstance(n, str) for n in given.y)
    )
    if isinstance(given.X, str | os.PathLike):
        return True
    return bool(named) and not is_frame(given.X) and open_lake(given.X) is not None


def _rest_in_memory(given: Given, reading: Reading, value_rows: ValueRows) -> AllRows | None:
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
