"""Columns of a frame that the user names: the outcome, weights, row groups, time, segments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw

from shaff.data.problem import RawData
from shaff.data.table import is_frame
from shaff.errors import InputError


def by_name(given: RawData) -> RawData:
    """Replace names of columns of X by the columns, which are inputs no longer.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.data.named import by_name
    >>> from shaff.data.problem import RawData
    >>> table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "day": [1, 2]})
    >>> given = by_name(RawData(table, "b", row_groups="day"))
    >>> list(given.X.columns), given.y.tolist()
    (['a'], [3.0, 4.0])
    """
    several = are_names(given.X, given.y)
    named = [*(given.y if several else ()), *(n for n in given[1:] if isinstance(n, str))]
    if not named:
        return given
    return RawData(
        without_columns(given.X, named),
        columns(given.X, list(given.y)) if several else _one(given.X, given.y, "y"),
        _one(given.X, given.sample_weight, "sample_weight"),
        _one(given.X, given.row_groups, "row_groups"),
        _one(given.X, given.time, "time"),
    )


def are_names(X: Any, y: Any) -> bool:
    """Whether y is a list of names of columns of X, and not of labels of classes."""
    is_list = isinstance(y, list | tuple) and len(y) and all(isinstance(n, str) for n in y)
    return bool(is_list and is_frame(X) and set(y) <= set(column_names(X)))


def column_names(X: Any) -> list[str]:
    """Return the names of the columns of a frame."""
    return list(nw.from_native(X, eager_only=True).columns)


def column(X: Any, name: str, argument: str) -> Any:
    """Return a column of a frame by its name; ``argument`` is who asked for it."""
    if not is_frame(X):
        raise InputError(f"{argument}={name!r} is the name of a column, but X has no names.")
    if name not in column_names(X):
        raise InputError(f"{argument}={name!r}: X has no such column.")
    return nw.from_native(X, eager_only=True)[name].to_native()


def without_columns(X: Any, names: Iterable[str]) -> Any:
    """Return a frame without some of its columns; anything else as it is."""
    left_out = set(names)
    if not left_out or not is_frame(X):
        return X
    frame = nw.from_native(X, eager_only=True)
    return frame.drop([name for name in frame.columns if name in left_out]).to_native()


def _one(X: Any, given: Any, argument: str) -> Any:
    return column(X, given, argument) if isinstance(given, str) else given


def columns(X: Any, names: list[str]) -> Any:
    """Return some columns of a frame, in this order.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.data.named import columns
    >>> list(columns(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), ["c", "a"]).columns)
    ['c', 'a']
    """
    frame = nw.from_native(X, eager_only=True)
    # By their places: a name need not be text.
    return frame[:, [frame.columns.index(name) for name in names]].to_native()
