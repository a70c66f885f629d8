"""Projected boosting as docs/theory.md, section 4, says it, one row, leaf and cell at a time."""

from __future__ import annotations

from collections import defaultdict

import numpy as np


def reached_leaves(ensemble, root, x, subset):
    """The set of leaves that a row can reach when splits outside the subset go both ways."""
    reached, stack = set(), [int(root)]
    while stack:
        node = stack.pop()
        column = int(ensemble.feature[node])
        if column < 0:
            reached.add(node)
        elif column in subset:
            left = ensemble.goes_left(node, x[[column]])[0]
            stack.append(int(ensemble.left[node] if left else ensemble.right[node]))
        else:
            stack += [int(ensemble.left[node]), int(ensemble.right[node])]
    return frozenset(reached)


def slope_columns(ensemble, tree, subset):
    """Up to three numeric columns of a tree, those of the largest gains first."""
    gains = {}
    for node in range(*ensemble.tree_offset[tree : tree + 2]):
        column = int(ensemble.feature[node])
        if column in subset and ensemble.category_set[node] < 0:
            gains[column] = gains.get(column, 0.0) + ensemble.gain[node]
    return sorted(gains, key=gains.get, reverse=True)[:3]


def step_of(x, residual, weight, shrinkage, slope_shrinkage):
    """What a cell steps by, as a function of x; the rows are its training rows.

    Without slopes x has no columns.
    """
    mass = weight.sum()
    if mass <= 0:
        return lambda x: np.zeros(len(x))
    constant = weight @ residual / (mass + shrinkage)
    if x.shape[1] == 0 or mass < 2 * x.shape[1] + 5:
        return lambda x: np.full(len(x), constant)
    mean = weight @ x / mass
    gram = (x - mean).T @ (weight[:, None] * (x - mean))
    moment = (x - mean).T @ (weight * residual)
    slopes = np.linalg.solve(gram + slope_shrinkage * np.eye(x.shape[1]), moment)
    return lambda x: constant + (x - mean) @ slopes


def replay(
    ensemble, X, residual, n_train, weight, subset, learning_rate, shrinkage, *,
    values=None, slope_shrinkage=None, in_range=None
):  # fmt: skip
    """Residuals of all rows after the last tree; the first n_train rows are trained on.

    With values, shape (n_columns, n_rows), steps are linear. Rows that are not trained on are
    clipped to the range of those in_range, by default the training rows with a weight.
    """
    data, residual = ensemble.as_read(X), np.array(residual, dtype=float)
    weight = np.asarray(weight, dtype=float)[:n_train]
    in_range = np.flatnonzero(weight > 0) if in_range is None else in_range
    for tree, root in enumerate(ensemble.tree_offset[:-1]):
        cells = [reached_leaves(ensemble, root, x, subset) for x in data]
        columns = [] if values is None else slope_columns(ensemble, tree, subset)
        x = np.zeros((len(X), 0)) if values is None else values[columns].T.astype(float)
        members = defaultdict(list)
        for i, cell in enumerate(cells):
            members[cell].append(i)
        for rows in map(np.array, members.values()):
            own, known = rows[rows < n_train], np.intersect1d(rows, in_range)
            if len(known) == 0:
                continue
            step = step_of(x[own], residual[own], weight[own], shrinkage, slope_shrinkage)
            at = x[rows].copy()
            clipped = np.clip(at, x[known].min(axis=0), x[known].max(axis=0))
            at[rows >= n_train] = clipped[rows >= n_train]
            residual[rows] -= learning_rate * step(at)
    return residual
