"""Local values by definition: enumeration of all subsets, and closed forms."""

from math import factorial

import numpy as np

from shaff.subsets import Subsets


def all_masks(p):
    return (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)


def shapley(games):
    """Shapley values of games of shape (2 ** p, ...), in the order of `all_masks`."""
    p = int(np.log2(len(games)))
    masks = all_masks(p)
    out = np.zeros((p, *games.shape[1:]))
    for j in range(p):
        for k in np.flatnonzero(~masks[:, j]):
            s = masks[k].sum()
            weight = factorial(s) * factorial(p - s - 1) / factorial(p)
            out[j] += weight * (games[k | 1 << j] - games[k])
    return out


def enumerated(est, rows, base):
    """Values of a fitted estimator's rows, by its own conditional means of every subset; shape
    (n_rows, n_players, n_outputs)."""
    fitted = est._fitted_game
    values = fitted.game.values
    masks = all_masks(values.n_players)
    games = np.empty((len(masks), len(rows), np.size(base)))
    games[0] = base
    games[1:] = values.predict(Subsets.from_masks(masks[1:]), rows[:, fitted.columns])
    out = np.empty((len(rows), values.n_players, np.size(base)))
    out[:, fitted.selection.kept] = shapley(games).transpose(1, 0, 2)
    return out


def linear_gaussian(beta, covariance, X):
    """Values of rows where y = X beta + noise and X is Gaussian with mean 0."""
    masks = all_masks(len(beta))
    games = np.zeros((len(masks), len(X)))
    for k, known in enumerate(masks[1:], 1):
        inside = covariance[np.ix_(known, known)]
        games[k] = X[:, known] @ np.linalg.solve(inside, covariance[known] @ beta)
    return shapley(games).T
