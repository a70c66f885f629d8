"""Columns that say the same: copies, near copies, and functions of each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem

# Correlation from which on one column stands for another. Lower names neighbours that differ
# (tests/test_wide.py).
SAME = 0.99
# Rows that are looked at first, and columns whose squares are: for time only.
FIRST_ROWS, SQUARE_COLUMNS = 1000, 300
# Different values of a category per row: with more, each row has its own, and all columns would be
# functions of it.
MOST_VALUES = 0.5
# Errors of numbers with all their digits, relative to their spread.
EXACT = 1e-7


def interchangeable(problem: Problem, players: IntpArray) -> tuple[tuple[str, ...], ...]:
    """Names of players of one column each that say the same: in each group one of ``players``, and
    whoever stands for it or for another of the group.

    Numbers do if they correlate by 0.99, or if one is an increasing or decreasing function of the
    other; a category and another column, if each value of one goes with one value of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.twins import interchangeable
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> X = np.column_stack([X, 2 - X[:, 0], np.exp(3 * X[:, 1])])
    >>> interchangeable(Problem.of(X, X[:, 1]), np.arange(4))
    (('x0', 'x3'), ('x1', 'x4'))
    """
    single = np.array([len(player) == 1 for player in problem.players])
    if not single[players].any():
        return ()
    pairs = [*_correlated(problem, players), *_same_ranks(problem), *_one_to_one(problem)]
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    n_players = len(problem.players)
    same = coo_array((np.ones(len(first)), (first, second)), shape=(n_players, n_players))
    _, group_of = connected_components(same, directed=False)
    groups = [np.flatnonzero(group_of == g) for g in np.unique(group_of[players])]
    return tuple(tuple(problem.player_names[k] for k in g) for g in groups if len(g) > 1)


def quadratics(problem: Problem) -> tuple[tuple[str, str], ...]:
    """Names of columns that are quadratic functions of another, such as its square, with the other;
    not if they are interchangeable, since either will do then.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.twins import quadratics
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> X[:, 2] = 1 - X[:, 0] ** 2
    >>> quadratics(Problem.of(X, X[:, 1]))
    (('x2', 'x0'),)
    """
    players = _single(problem, numbers=True)
    columns = np.array([problem.players[k][0] for k in players], dtype=np.intp)
    if not 2 <= len(columns) <= SQUARE_COLUMNS:
        return ()
    X = problem.X[:FIRST_ROWS, columns]
    known = np.flatnonzero(~np.isnan(X).any(axis=0) & (np.ptp(X, axis=0) > 0))
    found = []
    for k in known:
        for j in _quadratic_in(X[:, k], X, known):
            one, other = problem.X[:, columns[j]], problem.X[:, columns[k]]
            if j != k and _is_quadratic(one, other) and not _is_monotone(one, other):
                found.append((problem.table.names[columns[j]], problem.table.names[columns[k]]))
    return tuple(found)


def _single(problem: Problem, *, numbers: bool) -> list[int]:
    """Players of one column, of numbers or of any kind."""
    players = enumerate(problem.players)
    return [
        k for k, p in players if len(p) == 1 and not (numbers and problem.categorical[p[0]])
    ]  # fmt: skip


def _correlated(problem: Problem, players: IntpArray) -> Iterator[tuple[int, int]]:
    """Pairs of players whose numbers are nearly the same line."""
    numeric = np.array(_single(problem, numbers=True), dtype=np.intp)
    asked = np.intersect1d(numeric, players)
    if not len(asked):
        return
    units = _units(problem, numeric)
    own = units[:, np.searchsorted(numeric, asked)]
    first, second = np.nonzero(np.abs(own.T @ units) > SAME)
    yield from zip(asked[first].tolist(), numeric[second].tolist(), strict=True)


def _same_ranks(problem: Problem) -> Iterator[tuple[int, int]]:
    """Pairs of players whose numbers are monotone functions of each other."""
    yield from _with_equal_keys(problem, _single(problem, numbers=True), _ranks_key)


def _one_to_one(problem: Problem) -> Iterator[tuple[int, int]]:
    """Pairs of players, one of them a category, whose values go together."""
    pairs = _with_equal_keys(problem, _single(problem, numbers=False), _values_key)
    for one, other in pairs:
        columns = problem.players[one][0], problem.players[other][0]
        if problem.categorical[list(columns)].any():
            yield one, other


def _with_equal_keys(
    problem: Problem, players: list[int], key: Callable[[FloatArray], bytes | None]
) -> Iterator[tuple[int, int]]:
    """Pairs of players whose columns have equal keys, on some rows first."""
    column = {k: problem.X[:, problem.players[k][0]] for k in players}
    for likely in _by_key(players, lambda k: key(column[k][:FIRST_ROWS])):
        for group in _by_key(likely, lambda k: key(column[k])):
            yield from ((group[0], k) for k in group[1:])


def _by_key(players: list[int], key: Callable[[int], bytes | None]) -> list[list[int]]:
    groups: dict[bytes, list[int]] = defaultdict(list)
    for player in players:
        own = key(player)
        if own is not None:
            groups[own].append(player)
    return [group for group in groups.values() if len(group) > 1]


def _ranks_key(x: FloatArray) -> bytes | None:
    """The same for a column and its increasing and decreasing functions; None for constants."""
    values, ranks = np.unique(x, return_inverse=True)
    is_known = ~np.isnan(x)
    top = len(values) - 1 - (not is_known.all())
    if top < 1:
        return None
    up = np.where(is_known, ranks, -1)
    return min(up.tobytes(), np.where(is_known, top - ranks, -1).tobytes())


def _values_key(x: FloatArray) -> bytes | None:
    """The same for columns whose values go together, whatever they are; None if most occur once."""
    values, first, own = np.unique(x, return_index=True, return_inverse=True)
    if not 1 < len(values) <= MOST_VALUES * len(x):
        return None
    return np.argsort(np.argsort(first))[own].tobytes()


def _quadratic_in(x: FloatArray, X: FloatArray, known: IntpArray) -> list[int]:
    """Columns that are quadratic functions of one, by some rows."""
    others = X[:, known] - X[:, known].mean(axis=0)
    basis = np.linalg.qr(_powers(x))[0]
    left = ((others - basis @ (basis.T @ others)) ** 2).sum(axis=0)
    return [int(j) for j in known[left <= EXACT**2 * (others**2).sum(axis=0)]]


def _is_quadratic(y: FloatArray, x: FloatArray) -> bool:
    if np.isnan(x).any() or np.isnan(y).any() or len(np.unique(x[:FIRST_ROWS])) < 4:
        return False
    basis = np.linalg.qr(_powers(x))[0]
    return bool(np.abs(y - basis @ (basis.T @ y)).max() <= 10 * EXACT * np.ptp(y))


def _powers(x: FloatArray) -> FloatArray:
    unit = (x - x.mean()) / x.std()
    return np.stack([np.ones(len(x)), unit, unit**2], axis=1)


def _is_monotone(y: FloatArray, x: FloatArray) -> bool:
    return _ranks_key(x) == _ranks_key(y)


def _units(problem: Problem, players: IntpArray) -> FloatArray:
    """Their columns, centred and of length 1; missing entries stand at the mean."""
    X = problem.X[:, [problem.players[k][0] for k in players]]
    there = ~np.isnan(X)
    mean = np.where(there, X, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    centred = np.where(there, X - mean, 0.0)
    size = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(size > 1e-12 * np.abs(mean), size, np.inf))
