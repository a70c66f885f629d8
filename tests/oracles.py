"""Slow, readable versions of every kernel: what the fast ones are checked against."""

from __future__ import annotations

from collections import Counter

import numpy as np


def goes_left(tree, node, x):
    """Scikit-learn's routing rule for one row."""
    value = np.float32(x[tree.feature[node]])
    if np.isnan(value):
        return bool(tree.missing_go_to_left[node])
    return value <= tree.threshold[node]


def projected_tree_prediction(tree, subset, query, X, y, weight, min_node_size):
    """Algorithm 1 of the paper for one tree and one query, word for word.

    `weight` holds the in-bag multiplicity (times the sample weight) of each row of X.
    """
    samples = np.flatnonzero(weight > 0)
    nodes_level = [0]
    while nodes_level:
        nodes_child = []
        for node in nodes_level:
            left, right = tree.children_left[node], tree.children_right[node]
            if left < 0:
                continue
            if tree.feature[node] in subset:
                side = goes_left(tree, node, query)
                nodes_child.append(left if side else right)
                samples_child = np.array(
                    [i for i in samples if goes_left(tree, node, X[i]) == side], int
                )
            else:
                nodes_child += [left, right]
                samples_child = samples
            if weight[samples_child].sum() < min_node_size:
                return np.average(y[samples], axis=0, weights=weight[samples])
            samples = samples_child
        nodes_level = nodes_child
    return np.average(y[samples], axis=0, weights=weight[samples])


def projected_forest_sums(trees, bags, subset, X, y, row_weight, min_node_size):
    """Sums over the trees of the out-of-bag predictions and of their squares."""
    total, squares = np.zeros(y.shape), np.zeros(y.shape)
    for tree, bag in zip(trees, bags, strict=True):
        for i in np.flatnonzero(bag == 0):
            m = projected_tree_prediction(
                tree.tree_, subset, X[i], X, y, bag * row_weight, min_node_size
            )
            total[i] += m
            squares[i] += m**2
    return total, squares


def path_subset_counts(trees, player_of=None):
    """Number of root-to-leaf paths in which each set of variables is the set of some prefix.

    `player_of` maps columns to the players that own them; by default each column is its own.
    """
    counts = Counter()
    for tree in (fitted.tree_ for fitted in trees):
        stack = [(0, [])]
        while stack:
            node, splits = stack.pop()
            if tree.children_left[node] < 0:
                counts.update({frozenset(splits[:k]) for k in range(1, len(splits) + 1)})
                continue
            column = int(tree.feature[node])
            splits = [*splits, column if player_of is None else player_of[column]]
            stack += [(tree.children_left[node], splits), (tree.children_right[node], splits)]
    return counts
