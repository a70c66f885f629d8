"""Random games outside the paper's experiments, with their exact Shapley values.

Settings of the Gaussian process are judged on these, so that they are not tuned to the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shaff._util.typing import BoolArray, FloatArray
from shaff.datasets import shapley_values

Game = Callable[[BoolArray], FloatArray]


@dataclass(frozen=True, eq=False)
class KnownGame:
    """A game and its Shapley values."""

    name: str
    game: Game
    effects: FloatArray

    @property
    def n_players(self) -> int:
        return len(self.effects)


def random_game(kind: str, n_players: int, seed: int) -> KnownGame:
    """A game of one of the kinds of ``KINDS``; the values are exact, by enumeration."""
    game = KINDS[kind](n_players, np.random.default_rng(seed))
    return KnownGame(kind, game, shapley_values(game, n_players))


def linear_gaussian(n_players: int, rng: np.random.Generator) -> Game:
    """R^2 of a linear model on inputs with a random factor covariance; a third are dummies."""
    loadings = rng.normal(size=(n_players, 3)) * rng.uniform(0.3, 1.5)
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.2, 1.0, n_players))
    c = covariance @ (rng.normal(size=n_players) * (rng.random(n_players) < 0.67))
    variance = c @ np.linalg.solve(covariance, c) / 0.95

    def game(masks: BoolArray) -> FloatArray:
        return np.array([_explained(covariance, c, u) for u in masks]) / variance

    return _remembered(game)


def _explained(covariance: FloatArray, c: FloatArray, u: BoolArray) -> float:
    return float(c[u] @ np.linalg.solve(covariance[np.ix_(u, u)], c[u])) if u.any() else 0.0


def _remembered(game: Game) -> Game:
    """Look the values up after the first enumeration: the solves are slow one by one."""
    table: dict[int, FloatArray] = {}

    def lookup(masks: BoolArray) -> FloatArray:
        p = masks.shape[1]
        if p not in table:
            table[p] = game((np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool))
        return table[p][masks @ (1 << np.arange(p))]

    return lookup


def sparse_interactions(n_players: int, rng: np.random.Generator) -> Game:
    """Sum of products over random groups of one to four players, with positive weights."""
    groups = [rng.choice(n_players, size=rng.integers(1, 5), replace=False) for _ in range(12)]
    weights = rng.dirichlet(np.ones(12))

    def game(masks: BoolArray) -> FloatArray:
        return np.sum(
            [w * masks[:, g].all(axis=1) for g, w in zip(groups, weights, strict=True)], 0
        )

    return game


def coverage(n_players: int, rng: np.random.Generator) -> Game:
    """Share of 40 weighted items that some member covers: submodular, like redundant inputs."""
    covers = rng.random((n_players, 40)) < rng.uniform(0.02, 0.3, (n_players, 1))
    weights = rng.dirichlet(np.ones(40))

    def game(masks: BoolArray) -> FloatArray:
        return ((masks @ covers.astype(float)) > 0) @ weights

    return game


def largest(n_players: int, rng: np.random.Generator) -> Game:
    """The largest of the members' worths (the airport game): copies of one another."""
    worth = rng.random(n_players) ** 2

    def game(masks: BoolArray) -> FloatArray:
        return (masks * worth).max(axis=1)

    return game


def soft_majority(n_players: int, rng: np.random.Generator) -> Game:
    """A smooth threshold on a weighted sum of members: interactions of every order."""
    weights, steepness = rng.dirichlet(np.ones(n_players)), rng.uniform(4, 12)

    def sigmoid(x: FloatArray) -> FloatArray:
        return 1 / (1 + np.exp(-steepness * (x - 0.5)))

    def game(masks: BoolArray) -> FloatArray:
        low, high = sigmoid(np.zeros(1)), sigmoid(np.ones(1))
        return (sigmoid(masks @ weights) - low) / (high - low)

    return game


KINDS: dict[str, Callable[[int, np.random.Generator], Game]] = {
    "linear Gaussian": linear_gaussian,
    "sparse interactions": sparse_interactions,
    "coverage": coverage,
    "largest": largest,
    "soft majority": soft_majority,
}
