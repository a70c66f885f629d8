"""Columns that say the same: copies, and near copies."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem

# Correlation from which on one column stands for another. Lower names neighbours that differ
# (tests/test_wide.py).
SAME = 0.99


def interchangeable(problem: Problem, players: IntpArray) -> tuple[tuple[str, ...], ...]:
    """Names of players of one column of numbers each that say nearly the same: in each group one
    of ``players``, and whoever correlates by 0.99 with it or with another of the group.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.twins import interchangeable
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> X = np.column_stack([X, 2 - X[:, 0]])
    >>> interchangeable(Problem.of(X, X[:, 1]), np.arange(4))
    (('x0', 'x3'),)
    """
    single = [len(p) == 1 and not problem.categorical[p[0]] for p in problem.players]
    numeric = np.flatnonzero(single)
    asked = np.intersect1d(numeric, players)
    if not len(asked):
        return ()
    units = _units(problem, numeric)
    own = units[:, np.searchsorted(numeric, asked)]
    first, second = np.nonzero(np.abs(own.T @ units) > SAME)
    n_players = len(problem.players)
    same = coo_array(
        (np.ones(len(first)), (asked[first], numeric[second])), shape=(n_players, n_players)
    )
    _, group_of = connected_components(same, directed=False)
    groups = [np.flatnonzero(group_of == g) for g in np.unique(group_of[asked])]
    return tuple(tuple(problem.player_names[k] for k in g) for g in groups if len(g) > 1)


def _units(problem: Problem, players: IntpArray) -> FloatArray:
    """Their columns, centred and of length 1; missing entries stand at the mean."""
    X = problem.X[:, [problem.players[k][0] for k in players]]
    there = ~np.isnan(X)
    mean = np.where(there, X, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    centred = np.where(there, X - mean, 0.0)
    size = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(size > 1e-12 * np.abs(mean), size, np.inf))
