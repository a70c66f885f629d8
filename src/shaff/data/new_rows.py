"""Further rows of a table that has been read, converted in the same way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from shaff._util.missing import is_missing
from shaff._util.numbers import as_floats
from shaff._util.typing import BoolArray, FloatArray
from shaff._util.words import column_sentence, listed
from shaff.data.remarks import Remark
from shaff.data.spelling import read_spelling
from shaff.data.table import (
    Table,
    check_table,
    is_frame,
    is_sparse,
    read_column,
    spelled_numbers,
)
from shaff.errors import InputError

# More of a text that was not there before says nothing about how the column is written.
KNOWN_TEXT = 1_000_000


class NewRows(NamedTuple):
    """Further rows of a table that has been read.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
        In the columns and category codes of the table.
    warnings : tuple of Remark
        Facts that the user is warned of.
    remarks : tuple of Remark
        Facts that only the notes state, after the warnings.
    """

    X: FloatArray
    warnings: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()


def read_new_rows(X: Any, table: Table, named: bool) -> NewRows:
    """Convert rows in the way that the rows of a table were converted.

    Parameters
    ----------
    X : array, sparse matrix or frame
        The rows. A frame may have its columns in any order, and further columns.
    table : Table
        The table that has been read.
    named : bool
        Whether the table was a frame, whose columns are matched by name.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.data.table import read_table
    >>> from shaff.data.new_rows import read_new_rows
    >>> table = read_table(pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}))
    >>> more = pd.DataFrame({"b": ["v", "w"], "a": [3.0, 4.0]})
    >>> read_new_rows(more, table, named=True).X.tolist()
    [[3.0, 1.0], [4.0, nan]]
    """
    check_table(X)
    read = _read_frame(X, table, named) if is_frame(X) else _read_matrix(X, table, named)
    if not len(read):
        raise InputError("There are no rows to explain: X is empty.")
    if np.isinf(read).any():
        names = [table.names[j] for j in np.flatnonzero(np.isinf(read).any(axis=0))]
        raise InputError(column_sentence(names, "holds infinite values (infinity): replace them."))
    unseen = _is_unseen(read, table)
    missing = np.isnan(read).any(axis=0) > np.isnan(table.X).any(axis=0)
    warnings = (
        *_remarks("new categories", unseen.any(axis=0), table),
        *_remarks("newly missing", missing, table),
    )
    read[unseen] = np.nan
    return NewRows(read, warnings, _seen(read, table.X))


def _read_matrix(X: Any, table: Table, named: bool) -> FloatArray:
    """Read rows without names, whose columns are those of the table in the same order."""
    if named and table.levels:
        raise InputError(
            "The effects were fitted on a frame with categories: pass the rows as such a frame, "
            f"with the columns {listed(table.names)}."
        )
    matrix = as_floats(X.toarray() if is_sparse(X) else X, "X").copy()
    if matrix.ndim != 2:
        raise InputError(
            f"X has {matrix.ndim} dimensions: pass a table of rows, of one row as X[:1]."
        )
    _check_number(matrix.shape[1], table)
    for j in np.flatnonzero(table.categorical):
        matrix[:, j] = _codes(matrix[:, j].tolist(), table.levels[table.names[j]])
    return matrix


def _check_number(n_columns: int, table: Table) -> None:
    if n_columns != len(table.names):
        raise InputError(
            f"The effects were fitted on {len(table.names)} columns; X has {n_columns}."
        )


def _read_frame(X: Any, table: Table, named: bool) -> FloatArray:
    """Read columns by name, or by place if the table had no names."""
    frame = nw.from_native(X, eager_only=True)
    places = {str(name): k for k, name in enumerate(frame.columns)}
    if not named:
        _check_number(len(places), table)
        places = dict(zip(table.names, places.values(), strict=True))
    lacking = [name for name in table.names if name not in places]
    if lacking:
        raise InputError(
            f"X lacks the {'column' if len(lacking) == 1 else 'columns'} {listed(lacking)}, "
            "which the effects were fitted on."
        )
    series = list(frame.iter_columns())
    out = np.empty((len(frame), len(table.names)))
    for j, name in enumerate(table.names):
        column = series[places[name]]
        if name in table.levels:
            out[:, j] = _codes(column.to_list(), table.levels[name])
        else:
            out[:, j] = _numbers(column, name, table.spelled.get(name))
    return out


def _codes(values: list[Any], levels: tuple[Any, ...]) -> FloatArray:
    """Return the codes of categories; a new category has the code after the last."""
    place, new = {str(level): float(k) for k, level in enumerate(levels)}, float(len(levels))
    return np.array([np.nan if is_missing(v) else place.get(str(v), new) for v in values])


def _numbers(column: nw.Series[Any], name: str, spelled: Mapping[str, int] | None) -> FloatArray:
    if spelled is not None and column.dtype == nw.String:
        values = column.to_list()
        # What the column held before goes on to decide how it is written.
        counts = Counter({text: KNOWN_TEXT * n for text, n in spelled.items()})
        counts.update(v for v in values if isinstance(v, str))
        spelling = read_spelling(counts)
        if spelling is not None and spelling.values:
            return spelled_numbers(values, spelling)
    read = read_column(column, name)
    if read.is_category and not np.isnan(read.values).all():
        raise InputError(f"Column {name!r} held numbers in fit; now it holds text.")
    return read.values


def _seen(rows: FloatArray, known: FloatArray) -> tuple[Remark, ...]:
    """Return the remark that all rows are rows of the fit, if no two of those are alike."""
    if len(rows) >= len(known):
        return ()
    before = {row.tobytes() for row in known}
    is_seen = len(before) == len(known) and all(row.tobytes() in before for row in rows)
    return (Remark("rows of the fit"),) if is_seen else ()


def _is_unseen(read: FloatArray, table: Table) -> BoolArray:
    """Mark entries with the code of a new category."""
    n_levels = [len(table.levels.get(name, ())) or np.inf for name in table.names]
    return np.asarray(read >= n_levels)


def _remarks(kind: str, is_concerned: npt.ArrayLike, table: Table) -> tuple[Remark, ...]:
    names = tuple(table.names[j] for j in np.flatnonzero(is_concerned))
    return (Remark(kind, names),) if names else ()
