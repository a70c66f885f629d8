"""Effects by their definitions, slowly: averages over all allowed orders, the potential of a game.

Games are arrays of 2 ** p values; player j is in subset A if ``A >> j & 1``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, permutations

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntpArray


def mean_gains(v: FloatArray, allowed: Callable[[tuple[int, ...]], bool]) -> FloatArray:
    """What each player adds to those before it, on average over the allowed orders."""
    n_players = len(v).bit_length() - 1
    total: FloatArray = np.zeros(n_players)
    n_orders = 0
    for order in permutations(range(n_players)):
        if not allowed(order):
            continue
        known, n_orders = 0, n_orders + 1
        for player in order:
            total[player] += v[known | 1 << player] - v[known]
            known |= 1 << player
    return total / n_orders


def layered_effects(v: FloatArray, layers: IntpArray) -> FloatArray:
    """Average over the orders in which layers follow each other."""
    return mean_gains(v, lambda order: list(layers[list(order)]) == sorted(layers))


def owen_effects(v: FloatArray, unions: IntpArray) -> FloatArray:
    """Average over the orders in which the members of each group stay together."""

    def together(order: tuple[int, ...]) -> bool:
        met = [union for union, _ in groupby(unions[list(order)])]
        return len(met) == len(set(met))

    return mean_gains(v, together)


def marginal_effects(v: FloatArray, small: float = 0.0) -> FloatArray:
    """The proportional value of what is lost without each set, nothing less than ``small``."""
    n_players, full = len(v).bit_length() - 1, len(v) - 1
    loss = [max(v[full] - v[full ^ A], small) for A in range(full + 1)]
    P = [1.0] * (full + 1)
    for A in range(1, full + 1):
        P[A] = loss[A] / sum(1 / P[A ^ 1 << j] for j in range(n_players) if A >> j & 1)
    return np.array([P[full] / P[full ^ 1 << j] for j in range(n_players)])


def as_set_function(v: FloatArray) -> Callable[[BoolArray], FloatArray]:
    """A game as `shaff.solve_game` takes it."""
    return lambda masks: np.asarray(v[masks @ (1 << np.arange(masks.shape[1]))])


def quadratic_game(
    A: FloatArray, b: FloatArray, covariance: FloatArray, noise: float
) -> FloatArray:
    """v of all subsets for y = x'Ax + b'x + noise with normal x, in closed form.

    Given x_U the mean of x is m with covariance M over rows, and that of y is m'Am + b'm plus a
    constant, whose variance is 2 tr(AMAM) + b'Mb.
    """
    n_players = len(b)
    explained = np.zeros(2**n_players)
    for code in range(1, 2**n_players):
        U = [j for j in range(n_players) if code >> j & 1]
        across = covariance[:, U]
        M = across @ np.linalg.solve(covariance[np.ix_(U, U)], across.T)
        explained[code] = 2 * np.trace(A @ M @ A @ M) + b @ M @ b
    return explained / (explained[-1] + noise**2)
