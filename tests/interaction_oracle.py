"""Shapley interaction indices by their definition."""

from itertools import combinations
from math import factorial

import numpy as np


def interaction_indices(game, p):
    """Matrix of the indices of a game of boolean matrices, by enumeration of all subsets."""
    found = np.zeros((p, p))
    for i, j in combinations(range(p), 2):
        others = [k for k in range(p) if k not in (i, j)]
        for size in range(p - 1):
            weight = factorial(size) * factorial(p - size - 2) / factorial(p - 1)
            for rest in combinations(others, size):
                masks = np.zeros((4, p), dtype=bool)
                masks[:, list(rest)] = True
                masks[(0, 1), i] = masks[(0, 2), j] = True
                both, one, other, none = game(masks)
                found[i, j] += weight * (both - one - other + none)
    return found + found.T
