"""From words on the command line to data: which columns play which part."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shaff._util.seeds import draw_seed
from shaff._util.words import counted, listed
from shaff.cli.outcomes import OutcomeWords
from shaff.cli.streams import without_native_errors
from shaff.data.outcome import DerivedOutcome
from shaff.data.remarks import Remark
from shaff.data.sources.files import Source, TableFile, read_source, with_types
from shaff.data.sources.packed import called
from shaff.errors import InputError
from shaff.fitting.progress import progress_bar

if TYPE_CHECKING:
    import polars as pl

# How spreadsheets and R call the row numbers that they save.
_UNNAMED = ("", "_duplicated_0", "Unnamed: 0", "rownames", "__UNNAMED__0")


@dataclass(frozen=True)
class ColumnRoles:
    """Parts that columns play, in the user's words.

    Parameters
    ----------
    target : str
        Column of the outcome.
    drop, only, categorical, group : sequence of str, default=()
        Each a column, or several separated by commas; ``group`` has "name=" before them.
    row_groups, weight, by, time : str or None, default=None
        Columns of group labels, of weights, of segments and of times.
    order : str or None, default=None
        Layers of inputs, separated by semicolons.
    classes : bool, default=False
        Whether the outcome holds classes although they are written as numbers.
    drop_missing_target : bool, default=False
        Whether rows without an outcome are left out; they are refused otherwise.
    outcome : OutcomeWords, default=OutcomeWords()
        What is explained of the target, if it is not the target itself.
    """

    target: str
    drop: Sequence[str] = ()
    only: Sequence[str] = ()
    categorical: Sequence[str] = ()
    group: Sequence[str] = ()
    row_groups: str | None = None
    weight: str | None = None
    classes: bool = False
    drop_missing_target: bool = False
    by: str | None = None
    time: str | None = None
    outcome: OutcomeWords = field(default_factory=OutcomeWords)
    order: str | None = None


@dataclass(frozen=True, eq=False)
class TableInputs:
    """Data and settings for `ShapleyEffects`, and remarks on how they were read."""

    X: pl.DataFrame
    y: pl.Series | DerivedOutcome
    rows: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    by: pl.Series | None = None
    # Numbers of the rows in the file, from 1 on; None if a sample was read.
    numbers: npt.NDArray[np.intp] | None = None


def read_inputs(
    source: Source, roles: ColumnRoles, max_rows: int, seed: int, verbose: int = 0
) -> TableInputs:
    """Read the table and select its columns by the parts they play."""
    with without_native_errors(), progress_bar(verbose, "Reading rows") as progress:
        # The seed that `ShapleyEffects` makes of its random_state: `fit` samples the same rows.
        sample_seed = draw_seed(seed)
        table = read_source(source, max_rows, sample_seed, roles.row_groups, progress.update)
    if table.frame.height == 0:
        raise InputError(f"{called(source.paths[0])} has no rows.")
    names = table.frame.columns
    _known(names, roles.target, "--target")
    special = _special(names, roles)
    chosen, numbered = _chosen(table, roles, special)
    categorical = _columns(names, roles.categorical, "--categorical")
    inputs = [name for name in chosen if name not in special]
    table = with_types(_selected(table, [*inputs, *special]), categorical, source.order)
    is_sample = table.n_rows > table.frame.height
    has_target = _has_value(table.frame[roles.target]).to_numpy()
    numbers = None if is_sample else 1 + np.flatnonzero(has_target)
    frame, missing = _with_target(table.frame, roles)
    inputs, empty = _without_empty(frame, inputs)
    if not inputs:
        raise InputError(f"no column is left to explain {roles.target!r} with.")
    settings: dict[str, Any] = {}
    if categorical:
        settings["categorical"] = [name for name in categorical if name in inputs]
    if roles.group:
        settings["groups"] = _groups(inputs, roles.group)
    if roles.order is not None:
        settings["order"] = _order(inputs, settings.get("groups", {}), roles.order)
    return TableInputs(
        frame.select(inputs),
        roles.outcome.outcome(frame, _target(frame[roles.target], roles.classes)),
        _rows(frame, roles),
        settings,
        (*missing, *table.remarks, *numbered, *empty),
        None if roles.by is None else frame[roles.by],
        numbers,
    )


def _special(names: Sequence[str], roles: ColumnRoles) -> list[str]:
    """Return the columns of outcome, groups, weights, segments and time, which are not inputs."""
    special = [roles.target]
    named = {"--row-groups": roles.row_groups, "--weight": roles.weight, "--by": roles.by,
             "--time": roles.time, **roles.outcome.columns}  # fmt: skip
    for option, name in named.items():
        if name is None:
            continue
        if _known(names, name, option) == roles.target:
            raise InputError(f"{option}: {name!r} is the target.")
        special.append(name)
    return list(dict.fromkeys(special))


def _chosen(
    table: TableFile, roles: ColumnRoles, special: Sequence[str]
) -> tuple[list[str], tuple[Remark, ...]]:
    """Return the columns to explain by, and a remark on row numbers saved with the table."""
    names = table.frame.columns
    only = _columns(names, roles.only, "--only")
    dropped = _columns(names, roles.drop, "--drop")
    for option, words in (("--drop", dropped), ("--only", only)):
        if roles.target in words:
            part = "left out" if option == "--drop" else "explained by itself"
            raise InputError(f"{option}: {roles.target!r} is the target, which cannot be {part}.")
    if only:
        return [name for name in only if name not in dropped], ()
    first = names[0]
    if first in _UNNAMED and first not in special and _numbers_rows(table.frame[first]):
        return [name for name in names[1:] if name not in dropped], (Remark("row numbers"),)
    return [name for name in names if name not in dropped], ()


def _numbers_rows(column: pl.Series) -> bool:
    """Whether each row has another value, as saved row numbers and row names have."""
    return column.n_unique() == len(column)


def _selected(table: TableFile, names: Sequence[str]) -> TableFile:
    from dataclasses import replace

    return replace(table, frame=table.frame.select(list(dict.fromkeys(names))))


def _without_empty(frame: pl.DataFrame, inputs: list[str]) -> tuple[list[str], tuple[Remark, ...]]:
    """Return the columns with any value, and a remark on those without."""
    empty = {name: None for name in inputs if _is_empty(frame[name])}
    if not empty:
        return inputs, ()
    return [name for name in inputs if name not in empty], (Remark("empty", tuple(empty)),)


def _is_empty(column: pl.Series) -> bool:
    # The largest number is NaN only if all are: no expression, of which many columns need many.
    largest = column.max() if column.dtype.is_float() else None
    return column.null_count() == len(column) or largest != largest


def _has_value(column: pl.Series) -> pl.Series:
    there = column.is_not_null()
    return there & ~column.is_nan().fill_null(True) if column.dtype.is_float() else there


def _with_target(
    frame: pl.DataFrame, roles: ColumnRoles
) -> tuple[pl.DataFrame, tuple[Remark, ...]]:
    """Return the rows that have an outcome, and a remark on those left out."""
    has_target = _has_value(frame[roles.target])
    n_missing = int((~has_target).sum())
    if not n_missing:
        return frame, ()
    rows = counted(n_missing, "row")
    if n_missing == frame.height:
        raise InputError(f"target {roles.target!r} has no value at all.")
    if not roles.drop_missing_target:
        raise InputError(
            f"target {roles.target!r} is missing in {rows}: leave them out by "
            "--drop-missing-target, or fill them in."
        )
    left_out = Remark("missing target", (roles.target,), {"n_rows": n_missing})
    return frame.filter(has_target), (left_out,)


def _target(column: pl.Series, classes: bool) -> pl.Series:
    import polars as pl

    if not classes or column.dtype == pl.Boolean:
        return column
    if column.dtype.is_float() and (column == column.round()).all():
        column = column.cast(pl.Int64)  # so that a class is "1", not "1.0"
    return column.cast(pl.String)


def _rows(frame: pl.DataFrame, roles: ColumnRoles) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    if roles.row_groups is not None:
        column = frame[roles.row_groups]
        if not _has_value(column).all():
            raise InputError(f"--row-groups: {roles.row_groups!r} is missing in some rows.")
        rows["row_groups"] = column
    if roles.time is not None:
        column = frame[roles.time]
        if not _has_value(column).all():
            raise InputError(f"--time: {roles.time!r} is missing in some rows.")
        rows["time"] = column
    if roles.weight is not None:
        column = frame[roles.weight]
        if not column.dtype.is_numeric() or not _has_value(column).all():
            raise InputError(f"--weight: {roles.weight!r} must hold a number in every row.")
        rows["sample_weight"] = column.to_numpy()
    return rows


def _groups(inputs: Sequence[str], words: Sequence[str]) -> dict[str, Any]:
    """Groups by name; ``UPPER::NAME`` is a group in a group."""
    groups: dict[str, Any] = {}
    for word in words:
        name, equals, columns = (part.strip() for part in word.partition("="))
        if not equals or not name or not columns:
            raise InputError(f"--group: write {word!r} as NAME=COLUMN,COLUMN.")
        *uppers, name = (part.strip() for part in name.split("::"))
        if len(uppers) > 1 or not all([*uppers, name]):
            raise InputError(f"--group: write {word!r} as UPPER::NAME=COLUMN,COLUMN.")
        inside = groups.setdefault(uppers[0], {}) if uppers else groups
        if not isinstance(inside, dict) or name in inside:
            raise InputError(f"--group: {name!r} is named twice.")
        inside[name] = _columns(inputs, [columns], "--group")
    return groups


def _order(inputs: Sequence[str], groups: dict[str, Any], words: str) -> list[list[str]]:
    """Layers of inputs, which are separated by semicolons; a layer names groups or columns."""
    known = [*groups, *inputs]
    layers = [layer.strip() for layer in words.split(";")]
    # A name may hold a comma itself.
    parts = [[layer] if layer in known else layer.split(",") for layer in layers]
    if not all(name.strip() for part in parts for name in part):
        raise InputError(f'--order: write {words!r} as layers of inputs, such as "age,sex;bmi".')
    return [[_known(known, name.strip(), "--order") for name in part] for part in parts]


def _columns(names: Sequence[str], words: Sequence[str], option: str) -> list[str]:
    found: list[str] = []
    for word in words:
        # A name may hold a comma itself.
        parts = [word] if word in names else [part.strip() for part in word.split(",")]
        found.extend(_known(names, part, option) for part in parts if part)
    return list(dict.fromkeys(found))


def _known(names: Sequence[str], name: str, option: str) -> str:
    if name in names:
        return name
    folded = {column.strip().casefold(): column for column in names}
    close = difflib.get_close_matches(name.strip().casefold(), folded, n=1)
    hint = f"did you mean {folded[close[0]]!r}?" if close else f"there are {listed(names)}."
    raise InputError(f"{option}: no column is named {name!r}; {hint}")
