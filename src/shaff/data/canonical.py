"""One form for equal data: columns in an order of their own, copies of a row as its weight.

The order in which a table happens to have its columns decides what random draws hit, and how ties
are resolved. Learners that see the columns in the order of what is in them give the same answer
for the same table, however it was put together.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shaff._util.arrays import count_rows
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.problem import Problem

# Rows whose ranks tell columns apart: with more, numbers that differ by rounding only are met.
KEY_ROWS = 256


class InColumnOrder(NamedTuple):
    """A problem whose columns and players are in the order of what is in them.

    Parameters
    ----------
    problem : Problem
    columns : int array of shape (n_columns,)
        Places that its columns had.
    players : int array of shape (n_players,)
        Places that its players had.
    """

    problem: Problem
    columns: IntpArray
    players: IntpArray


def in_column_order(problem: Problem) -> InColumnOrder:
    """Order the columns of a problem, and its players, by what is in them.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.canonical import in_column_order
    >>> from shaff.data.problem import Problem
    >>> X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20.0)
    >>> one = in_column_order(Problem.of(X, y)).problem
    >>> other = in_column_order(Problem.of(X[:, ::-1], y)).problem
    >>> bool((one.X == other.X).all())
    True
    """
    columns = column_order(problem.X, problem.categorical)
    place = np.argsort(columns)
    members = [np.sort(place[player]) for player in problem.players]
    players = np.array(sorted(range(len(members)), key=lambda k: members[k].tolist()), np.intp)
    table = replace(
        problem.table,
        X=np.ascontiguousarray(problem.X[:, columns]),
        names=tuple(problem.table.names[j] for j in columns),
        categorical=problem.categorical[columns],
    )
    ordered = replace(
        problem,
        frame=table.X,
        table=table,
        players=[members[k] for k in players],
        player_names=tuple(problem.player_names[k] for k in players),
    )
    return InColumnOrder(ordered, columns, players)


def column_order(X: FloatArray, categorical: BoolArray) -> IntpArray:
    """Return an order of the columns that depends neither on their places nor on their units.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.canonical import column_order
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> numbers = np.zeros(3, dtype=bool)
    >>> bool((column_order(X, numbers) == column_order(1e9 * X + 7, numbers)).all())
    True
    """
    rows = np.linspace(0, len(X) - 1, min(KEY_ROWS, len(X))).astype(np.intp)
    keys = [_key(x, rows, is_category) for x, is_category in zip(X.T, categorical, strict=True)]
    times = Counter(keys)
    # Who has all this in common differs in other rows, or is a copy, whose order does not matter.
    last = [_digest(x) if times[key] > 1 else b"" for x, key in zip(X.T, keys, strict=True)]
    full = list(zip(keys, last, strict=True))
    return np.array(sorted(range(len(full)), key=full.__getitem__), dtype=np.intp)


def _key(x: FloatArray, rows: IntpArray, is_category: bool) -> tuple[bool, bytes, float]:
    return bool(is_category), _digest(_ranks(x[rows])), _middle(x)


def _ranks(x: FloatArray) -> IntpArray:
    """Places of the entries among the different ones; missing entries come after the others."""
    return np.unique(x, return_inverse=True)[1].astype(np.intp)


def _middle(x: FloatArray) -> float:
    """Where the mean stands between the ends: increasing functions of a column differ in it."""
    known = x[~np.isnan(x)] / 4  # the difference of large numbers may overflow
    width = float(np.ptp(known)) if len(known) else 0.0
    return float(np.mean((known - known.min()) / width)) if width > 0 else 0.0


def _digest(x: FloatArray | IntpArray) -> bytes:
    plain = np.ascontiguousarray(x + 0)  # zeros have two signs
    return hashlib.blake2b(plain.tobytes(), digest_size=16).digest()


def with_copies_joined(problem: Problem) -> Problem:
    """Return the problem with equal rows of a group as one row of their joint weight.

    Copies that are never parted say what a whole weight says. Groups of one row each are none, and
    neither are weights of 1. The rows stay if the user's splitter, which counts them, decides what
    is held out, or if weights do not count rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.canonical import with_copies_joined
    >>> from shaff.data.problem import Problem
    >>> X, y, unit = [[1.0], [1.0], [2.0]], [5.0, 5.0, 5.0], [0, 0, 1]
    >>> joined = with_copies_joined(Problem.of(X, y, row_groups=unit))
    >>> joined.X.ravel().tolist(), joined.weight.tolist(), joined.row_of.tolist()
    ([1.0, 2.0], [2.0, 1.0], [0, 0, 1])
    """
    if problem.has_splits or not count_rows(problem.weight):
        return problem
    joined = problem if problem.row_groups is None else _joined(problem)
    plain = (joined.weight == 1).all()
    return replace(joined, sample_weight=None) if plain else joined


def _joined(problem: Problem) -> Problem:
    groups = problem.row_groups
    assert groups is not None
    first, row_of = distinct_rows(np.column_stack([groups, problem.y, problem.X]))
    if len(first) < len(groups):
        weight = np.bincount(row_of, problem.weight).astype(np.float64)
        problem = replace(problem.take(first), sample_weight=weight, row_of=row_of)
    alone = problem.row_groups is not None and len(np.unique(groups)) == len(first)
    return replace(problem, row_groups=None) if alone else problem


def distinct_rows(rows: FloatArray) -> tuple[IntpArray, IntpArray]:
    """Return the first of equal rows each, in order, and the place of each row among them.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.canonical import distinct_rows
    >>> first, place = distinct_rows(np.array([[2.0], [1.0], [2.0]]))
    >>> first.tolist(), place.tolist()
    ([0, 1], [0, 1, 0])
    """
    # Zeros have two signs and NaN many forms.
    plain = np.ascontiguousarray(np.where(np.isnan(rows), np.nan, rows + 0.0))
    whole = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()
    _, first, kind = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[kind.ravel()]
