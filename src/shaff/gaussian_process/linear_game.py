"""Proxy games with known Shapley values; the linear R² game is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from shaff._util.typing import BoolArray, FloatArray, IntpArray

# Less, and copies of a column make the systems singular; more, and the game is another one
# (`benchmarks.designs`). Subsets at a time: memory only.
RIDGE = 1e-6
BLOCK = 256
# Entries of the matrices that are factorised at a time. Memory only.
MAX_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class Proxy:
    """A cheap game close to v whose Shapley values are known, as one more term of the prior.

    Parameters
    ----------
    game : callable
        Values of the subsets in a boolean matrix of shape (n_subsets, n_players).
    effects : float array of shape (n_players,)
        Its Shapley values; they sum to its value of the full set minus that of the empty set.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.gaussian_process.linear_game import Proxy
    >>> additive = Proxy(lambda masks: masks @ np.array([0.5, 0.25]), np.array([0.5, 0.25]))
    >>> additive.odd(np.array([[1.0, -1.0]])).tolist()
    [0.25]
    """

    game: Callable[[BoolArray], FloatArray]
    effects: FloatArray

    def odd(self, signs: FloatArray) -> FloatArray:
        """Odd part of the proxy game, shape (n_pairs,)."""
        return np.asarray(self.game(signs > 0) - self.game(signs < 0), dtype=np.float64)

    def scaled(self, factor: float) -> Proxy:
        """Return the game times a factor."""
        return Proxy(partial(_times, factor, self.game), factor * self.effects)

    def given(self, before: BoolArray, members: IntpArray) -> Proxy:
        """Return the proxy of some players when those in ``before`` are known, and no others are.

        Its effects are those of the members, which must be an average over such orders.
        """

        def game(masks: BoolArray) -> FloatArray:
            everyone = np.tile(before, (len(masks), 1))
            everyone[:, members] = masks
            return self.game(everyone)

        return Proxy(game, self.effects[members])


def _times(factor: float, game: Callable[[BoolArray], FloatArray], masks: BoolArray) -> FloatArray:
    return factor * game(masks)


def linear_proxy(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: FloatArray | None = None,
    n_orders: int = 2000,
    *,
    order: IntpArray | None = None,
    unions: IntpArray | None = None,
) -> Proxy:
    """The share of the variance of y that least squares on the columns of a subset explains.

    Its Shapley values are means over random orders and their reverses: one Cholesky factor of the
    correlation matrix in the order of the players gives all that they add one after another. They
    sum to the game's value of the full set exactly, and the error left in the shares is small
    beside what the Gaussian process corrects anyway.

    Parameters
    ----------
    X : array of shape (n_rows, n_players)
        Without missing values; constant columns explain nothing.
    y : array of shape (n_rows,)
    sample_weight : float array of shape (n_rows,) or None
    n_orders : int
        Orders, half of them reverses. The seed is fixed: the same data give the same proxy.
    order : int array of shape (n_players,) or None, default=None
        Layers of the players, which follow each other in all orders.
    unions : int array of shape (n_players,) or None, default=None
        Groups of the players, which stay together in all orders.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.gaussian_process.linear_game import linear_proxy
    >>> X = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 3)))[0]
    >>> proxy = linear_proxy(X - X.mean(axis=0), X @ [1.0, 1.0, 0.0])
    >>> bool(abs(proxy.effects.sum() - proxy.game(np.ones((1, 3), dtype=bool))[0]) < 1e-9)
    True
    """
    weight = np.ones(len(np.asarray(y))) if sample_weight is None else sample_weight
    columns = _standardised(np.asarray(X, dtype=np.float64), weight)
    target = _standardised(np.asarray(y, dtype=np.float64)[:, None], weight)[:, 0]
    weighted = columns * weight[:, None] / weight.sum()
    correlation = weighted.T @ columns + RIDGE * np.eye(columns.shape[1])
    with_y = weighted.T @ target

    game = partial(_in_blocks, correlation, with_y)
    orders = _random_orders(len(with_y), n_orders // 2, order, unions)
    return Proxy(game, _mean_gains(correlation, with_y, orders))


def _in_blocks(correlation: FloatArray, with_y: FloatArray, masks: BoolArray) -> FloatArray:
    blocks = np.array_split(masks, len(masks) // BLOCK + 1)
    return np.concatenate([_explained(correlation, with_y, block) for block in blocks])


def _standardised(columns: FloatArray, weight: FloatArray) -> FloatArray:
    centred = columns - np.average(columns, axis=0, weights=weight)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=weight))
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    return np.asarray(scaled, dtype=np.float64)


def _explained(correlation: FloatArray, with_y: FloatArray, masks: BoolArray) -> FloatArray:
    # Players outside of the subset get a row of the identity: all systems have one size.
    systems = np.where(masks[:, :, None] & masks[:, None, :], correlation, np.eye(len(with_y)))
    right = np.where(masks, with_y, 0.0)
    solved = np.linalg.solve(systems, right[:, :, None])[:, :, 0]
    return np.asarray((solved * right).sum(axis=1), dtype=np.float64)


def _random_orders(
    n_players: int, n_pairs: int, order: IntpArray | None, unions: IntpArray | None
) -> IntpArray:
    """Draw orders of the players, and add the reverse of each, shape (2 n_pairs, n_players)."""
    rng = check_random_state(0)
    orders = np.array([rng.permutation(n_players) for _ in range(n_pairs)])
    orders = orders.reshape(n_pairs, n_players)
    if unions is not None:
        ranks = np.array([rng.permutation(unions.max() + 1) for _ in range(n_pairs)])
        orders = _sorted_by(np.take_along_axis(ranks, unions[orders], axis=1), orders)
    orders = np.concatenate([orders, orders[:, ::-1]])
    return orders if order is None else _sorted_by(order[orders], orders)


def _sorted_by(keys: IntpArray, orders: IntpArray) -> IntpArray:
    """Sort each order by its keys; equal keys keep their places."""
    return np.take_along_axis(orders, np.argsort(keys, axis=1, kind="stable"), axis=1)


def _mean_gains(correlation: FloatArray, with_y: FloatArray, orders: IntpArray) -> FloatArray:
    p, total = len(with_y), np.zeros(len(with_y))
    for some in np.array_split(orders, len(orders) * p * p // MAX_ENTRIES + 1):
        factors = np.linalg.cholesky(correlation[some[:, :, None], some[:, None, :]])
        gains = np.linalg.solve(factors, with_y[some][:, :, None])[:, :, 0] ** 2
        total += np.bincount(some.ravel(), weights=gains.ravel(), minlength=p)
    return np.asarray(total / len(orders), dtype=np.float64)
