"""Any table to a numeric matrix: names, categories, missing values, groups of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from shaff.subsets import BoolArray, FloatArray

MIN_ROWS = 10
Groups = Mapping[str, Sequence[str | int]]


@dataclass(frozen=True, eq=False)
class Table:
    """A table as numbers.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
        NaN where a value is missing. Categories are codes: 0, 1, ... in order of their names.
    names : tuple of str
    categorical : bool array of shape (n_columns,)
    notes : tuple of str
        What was done to columns that are not plain numbers.
    """

    X: FloatArray
    names: tuple[str, ...]
    categorical: BoolArray
    notes: tuple[str, ...] = ()


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns that narwhals reads."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def read_table(X: Any, categorical: str | Sequence[str | int] = "auto") -> Table:
    """Read a frame, or a matrix that has been checked already.

    ``categorical="auto"`` takes strings and categorical types as categories; a list names the
    columns that are categories whatever their type.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.columns import read_table
    >>> table = read_table(pd.DataFrame({"a": [1, 2, None], "b": ["u", "v", "u"]}))
    >>> table.X.tolist(), table.categorical.tolist()
    ([[1.0, 0.0], [2.0, 1.0], [nan, 0.0]], [False, True])
    """
    if not is_frame(X):
        matrix = np.asarray(X, dtype=np.float64)
        names = tuple(f"x{j}" for j in range(matrix.shape[1]))
        chosen = _chosen_categories(categorical, names)
        table = Table(matrix, names, np.array([name in chosen for name in names]))
    else:
        table = _read_frame(_unique_frame(X), categorical)
    _check_columns(table)
    return table


def _unique_frame(X: Any) -> nw.DataFrame[Any]:
    names = [str(name) for name in getattr(X, "columns", [])]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Column {double!r} occurs more than once: rename one of them.")
    return nw.from_native(X, eager_only=True)


def _read_frame(frame: nw.DataFrame[Any], categorical: str | Sequence[str | int]) -> Table:
    names = tuple(str(name) for name in frame.columns)
    chosen = _chosen_categories(categorical, names)
    columns, kinds, notes = [], [], []
    for name, original in zip(names, frame.columns, strict=True):
        values, kind = _read_column(frame[original], name, name in chosen)
        columns.append(values)
        kinds.append(kind == "categories")
        if kind == "dates":
            notes.append(f"Column {name!r} holds dates: read as numbers (days since 1970).")
    matrix = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    return Table(matrix, names, np.array(kinds, dtype=bool), tuple(notes))


def _chosen_categories(categorical: str | Sequence[str | int], names: tuple[str, ...]) -> set[str]:
    if isinstance(categorical, str):
        if categorical != "auto":
            raise ValueError(f'categorical={categorical!r}: pass "auto" or a list of columns.')
        return set()
    return {names[j] for j in (_column_index(c, names, "categorical") for c in categorical)}


def _column_index(column: str | int, names: tuple[str, ...], argument: str) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if whole and 0 <= int(column) < len(names):
        return int(column)
    raise ValueError(f"{argument} names the column {column!r}, which the data do not have.")


def _read_column(column: nw.Series[Any], name: str, chosen: bool) -> tuple[FloatArray, str]:
    dtype = column.dtype
    if chosen or dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return _codes(column, name), "categories"
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _numbers(column), "numbers"
    if dtype in (nw.Date, nw.Datetime):
        days = (column.cast(nw.Datetime("us")).dt.timestamp("us")).to_numpy()
        return np.asarray(days, dtype=np.float64) / 86_400e6, "dates"
    if dtype == nw.Duration:
        return np.asarray(column.dt.total_microseconds().to_numpy(), dtype=np.float64), "numbers"
    raise TypeError(f"Column {name!r} holds {dtype}, which shaff cannot read: drop or convert it.")


def _numbers(column: nw.Series[Any]) -> FloatArray:
    if column.null_count() == 0:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    return np.array([np.nan if v is None else float(v) for v in column.to_list()])


def _codes(column: nw.Series[Any], name: str) -> FloatArray:
    values = column.to_list()
    missing = np.array([v is None or v != v for v in values])
    labels = np.array(["" if gone else str(v) for v, gone in zip(values, missing, strict=True)])
    codes = np.full(len(values), np.nan)
    if not missing.all():
        codes[~missing] = np.unique(labels[~missing], return_inverse=True)[1]
    return codes


def _check_columns(table: Table) -> None:
    for j, name in enumerate(table.names):
        column = table.X[:, j]
        if np.isinf(column).any():
            raise ValueError(f"Column {name!r} holds infinite values (infinity): replace them.")
        if len(column) and np.isnan(column).all():
            raise ValueError(f"Column {name!r} has no value at all (only NaN): drop it.")


def read_players(
    groups: Groups | None, names: tuple[str, ...]
) -> tuple[list[npt.NDArray[np.intp]], tuple[str, ...]]:
    """The columns of each player and the players' names; ungrouped columns stand alone.

    Examples
    --------
    >>> from shaff.columns import read_players
    >>> read_players({"both": ["a", "c"]}, ("a", "b", "c"))[1]
    ('both', 'b')
    """
    if groups is None:
        return [np.array([j]) for j in range(len(names))], names
    if not isinstance(groups, Mapping):
        raise TypeError("groups must map the name of each group to its list of columns.")
    group_of: dict[int, str] = {}
    for label, columns in groups.items():
        for j in (_column_index(c, names, f"groups[{label!r}]") for c in columns):
            if j in group_of:
                raise ValueError(f"Column {names[j]!r} is in two groups.")
            group_of[j] = str(label)
    members: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        if j not in group_of and name in groups:
            raise ValueError(f"The group {name!r} has the name of a column outside of it.")
        members.setdefault(group_of.get(j, name), []).append(j)
    return [np.array(columns) for columns in members.values()], tuple(members)
