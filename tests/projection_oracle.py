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


def replay(ensemble, X, residual, n_train, weight, subset, learning_rate, shrinkage):
    """Residuals of all rows after the last tree; the first n_train rows are trained on."""
    data, residual = ensemble.as_read(X), np.array(residual, dtype=float)
    for root in ensemble.tree_offset[:-1]:
        cells = [reached_leaves(ensemble, root, x, subset) for x in data]
        total, mass = defaultdict(float), defaultdict(float)
        for i in range(n_train):
            total[cells[i]] += weight[i] * residual[i]
            mass[cells[i]] += weight[i]
        for i, cell in enumerate(cells):
            if mass[cell] > 0:
                residual[i] -= learning_rate * total[cell] / (mass[cell] + shrinkage)
    return residual
