"""The cases: tables with true effects, as every peer gets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.cases import CASES
from shaff._util.typing import FloatArray
from shaff.data.table import read_table
from shaff.datasets import (
    Experiment,
    experiment_1a,
    experiment_1b,
    experiment_2,
    experiment_3,
    shapley_values,
)


@dataclass(frozen=True, eq=False)
class Data:
    """A table and its true effects; ``classes`` says whether y holds two classes, 0 and 1."""

    X: FloatArray
    y: FloatArray
    effects: FloatArray
    classes: bool = False


Draw = Callable[[int, int], Data]


def of_experiment(make: Callable[[int, int], Experiment]) -> Draw:
    """An experiment of the paper; factors as codes in their natural order, for tools that know
    numbers only."""

    def draw(n: int, seed: int) -> Data:
        found = make(n, seed)
        return Data(read_table(found.X).X, found.y, found.effects)

    return draw


def of_case(name: str) -> Draw:
    def draw(n: int, seed: int) -> Data:
        case = CASES[name]
        X, y = case.draw(n, seed)
        return Data(X, y, case.effects, case.binary)

    return draw


# Probability of 1 by the three inputs of `discrete`; the second and third mostly agree.
LEVELS = 3
AGREE = 0.7


def discrete(n: int, seed: int) -> Data:
    """Two classes by three inputs of three levels each and a fourth that is noise; the truth is a
    sum over all cells."""
    rng = np.random.default_rng([seed, 4])
    first, second, noise = rng.integers(LEVELS, size=(3, n))
    third = np.where(rng.random(n) < AGREE, second, rng.integers(LEVELS, size=n))
    X = np.column_stack([first, second, third, noise]).astype(np.float64)
    y = (rng.random(n) < probability(first, second, third)).astype(np.float64)
    return Data(X, y, discrete_effects(), classes=True)


def probability(first: FloatArray, second: FloatArray, third: FloatArray) -> FloatArray:
    return 0.1 + 0.3 * (first == 2) + 0.4 * (second == third) * (first > 0) + 0.1 * (third == 0)


def discrete_effects() -> FloatArray:
    cells = np.array(np.meshgrid(*[np.arange(LEVELS)] * 3, indexing="ij")).reshape(3, -1)
    same = np.where(cells[1] == cells[2], AGREE, 0.0)
    weight = (same + (1 - AGREE) / LEVELS) / LEVELS**2
    mean = probability(*cells)
    overall = weight @ mean
    variance = overall * (1 - overall)

    def value(mask: FloatArray) -> float:
        key = (cells[:3][mask[:3]] * LEVELS ** np.arange(mask[:3].sum())[:, None]).sum(axis=0)
        mass = np.bincount(key, weight)
        means = np.bincount(key, weight * mean) / np.where(mass > 0, mass, 1)
        return float(mass @ (means - overall) ** 2 / variance)

    return shapley_values(lambda masks: np.array([value(mask) for mask in masks]), 4)


EVERY: dict[str, Draw] = {
    "1a": of_experiment(experiment_1a),
    "1b": of_experiment(experiment_1b),
    "2": of_experiment(experiment_2),
    "3": of_experiment(experiment_3),
    "ishigami": of_case("ishigami"),
    "friedman": of_case("friedman"),
    "g-Sobol": of_case("g-Sobol"),
    "discrete": discrete,
    "count": of_case("count"),
}
ROWS = {name: (1000, 10_000) if name in ("1a", "2") else (1000,) for name in EVERY}
QUICK = {"1a": (1000,), "2": (1000,), "friedman": (1000,)}
