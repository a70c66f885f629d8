"""Data sets of `benchmarks.wide`, with what is true of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray

Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Data:
    """A data set, and what is true of it: columns that have no effect, effects of some others."""

    X: Any
    y: FloatArray
    nulls: list[int]
    known: dict[int, float]


def signal(rng: Rng, n: int) -> tuple[FloatArray, FloatArray]:
    """Two inputs, and half of a variance of 1 that they explain: a line and a wave."""
    X = rng.standard_normal((n, 2))
    wave = np.sin(2 * X[:, 1]) * np.sqrt(2 / (1 - np.exp(-8)))
    return X, np.sqrt(0.3) * X[:, 0] + np.sqrt(0.2) * wave


def with_dummies(rng: Rng, dummies: FloatArray, noise: FloatArray | None = None) -> Data:
    """The signal, the dummies, and noise that is half of the variance."""
    X, mean = signal(rng, len(dummies))
    noise = rng.standard_normal(len(X)) if noise is None else noise / noise.std()
    X = np.column_stack([X, dummies])
    return Data(X, mean + np.sqrt(0.5) * noise, list(range(2, X.shape[1])), {})


def correlated(rng: Rng) -> Data:
    common = rng.standard_normal((300, 1))
    return with_dummies(rng, np.sqrt(0.8) * common + np.sqrt(0.2) * rng.standard_normal((300, 4)))


def copied(rng: Rng) -> Data:
    d = rng.standard_normal((300, 2))
    return with_dummies(rng, np.column_stack([d, d[:, 0], d[:, 0] + 0.01 * d[:, 1]]))


def t3(rng: Rng) -> Data:
    return with_dummies(rng, rng.standard_normal((300, 4)), rng.standard_t(3, 300))


def uneven(rng: Rng) -> Data:
    """The noise has a variance that a dummy drives."""
    d = rng.standard_normal((300, 4))
    return with_dummies(rng, d, np.exp(0.7 * d[:, 0]) * rng.standard_normal(300))


def factor(rng: Rng) -> Data:
    import pandas as pd

    data = with_dummies(rng, rng.standard_normal((300, 2)))
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    frame["level"] = [f"level {k}" for k in rng.integers(50, size=300)]
    return Data(frame, data.y, [2, 3, 4], {})


def noise(n: int, p: int) -> Callable[[Rng], Data]:
    def draw(rng: Rng) -> Data:
        return Data(rng.standard_normal((n, p)), rng.standard_normal(n), list(range(p)), {})

    return draw


def power(rng: Rng) -> Data:
    """Ten columns: effects of 0.2, 0.2, 0.07 and 0.03, and nulls."""
    X = rng.standard_normal((300, 10))
    y = X[:, :4] @ np.sqrt([0.2, 0.2, 0.07, 0.03]) + np.sqrt(0.5) * rng.standard_normal(300)
    return Data(X, y, list(range(4, 10)), {3: 0.03})


def wide(n: int, p: int, bent: bool) -> Callable[[Rng], Data]:
    """Effects of 0.12 (three), 0.03 (three) and 0.015 (three) among nulls.

    With bends every second effect is a wave, a square or a step of its column.
    """

    def draw(rng: Rng) -> Data:
        X, effects = rng.standard_normal((n, p)), np.repeat([0.12, 0.03, 0.015], 3)
        columns = rng.permutation(p)[: len(effects)]
        parts = [shape(k, X[:, j], bent) for k, j in enumerate(columns)]
        y = np.sqrt(effects) @ parts + np.sqrt(1 - effects.sum()) * rng.standard_normal(n)
        nulls = sorted(set(range(p)) - set(columns.tolist()))
        return Data(X, y, nulls, {int(j): float(e) for j, e in zip(columns, effects, strict=True)})

    return draw


def shape(k: int, x: FloatArray, bent: bool) -> FloatArray:
    """A function of a column with mean 0 and variance 1."""
    bends = (
        x,
        np.sin(2 * x) * np.sqrt(2 / (1 - np.exp(-8))),
        (x**2 - 1) / np.sqrt(2),
        np.where(x > 0, 1.0, -1.0),
    )
    return np.asarray(bends[k % len(bends)] if bent else x)


NULLS: dict[str, Callable[[Rng], Data]] = {
    "correlated": correlated,
    "copied": copied,
    "t3": t3,
    "uneven": uneven,
    "factor": factor,
    "noise60": noise(60, 4),
    "noise100": noise(100, 4),
    "power": power,
    "wide40": wide(300, 40, True),
    "wide200": wide(1000, 200, True),
}


# The null test was chosen on these; what is shown of it comes from those above.


def tune_product(rng: Rng) -> Data:
    """Uniform inputs, a product, uniform noise."""
    X = rng.uniform(-1, 1, (200, 8))
    y = X[:, 0] + 2 * X[:, 1] * X[:, 2] + 1.2 * rng.uniform(-1, 1, 200)
    return Data(X, y, [3, 4, 5, 6, 7], {})


def tune_skewed(rng: Rng) -> Data:
    """Long-tailed inputs and noise."""
    X = rng.exponential(size=(400, 5))
    return Data(X, np.sqrt(X[:, 0]) + 0.7 * rng.exponential(size=400), [1, 2, 3, 4], {})


def tune_classes(rng: Rng) -> Data:
    """A rare class."""
    X = rng.standard_normal((150, 6))
    chance = 1 / (1 + np.exp(2 - 1.5 * X[:, 0] - np.abs(X[:, 1])))
    return Data(X, (rng.random(150) < chance).astype(float), [2, 3, 4, 5], {})


def tune_noise(rng: Rng) -> Data:
    """Nothing but noise of long tails."""
    return Data(rng.standard_t(4, (80, 10)), rng.standard_t(4, 80), list(range(10)), {})


def tune_chain(rng: Rng) -> Data:
    """Thirty columns, those next to each other correlated, and all but the last useless."""
    X = rng.standard_normal((250, 30))
    for j in range(1, 28):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
    y = X[:, 28] + np.maximum(X[:, 29], 0) + 1.5 * rng.standard_normal(250)
    return Data(X, y, list(range(28)), {})


def tune_levels(rng: Rng) -> Data:
    """Little is explained, and a factor of six levels is useless."""
    import pandas as pd

    X = rng.standard_normal((200, 5))
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["level"] = [f"level {k}" for k in rng.integers(6, size=200)]
    return Data(frame, 0.4 * X[:, 0] + rng.laplace(size=200), [2, 3, 4, 5, 1], {})


def tune_weak(rng: Rng) -> Data:
    """Twelve columns, two of them with an effect of 0.03: a line and a step."""
    X = rng.standard_normal((350, 12))
    y = np.sqrt(0.4) * X[:, 0] + np.sqrt(0.03) * (X[:, 1] + np.sign(X[:, 2]))
    y += np.sqrt(0.54) * rng.standard_normal(350)
    return Data(X, y, list(range(3, 12)), {1: 0.03, 2: 0.03})


TUNING: dict[str, Callable[[Rng], Data]] = {
    "tune-product": tune_product,
    "tune-skewed": tune_skewed,
    "tune-classes": tune_classes,
    "tune-noise": tune_noise,
    "tune-chain": tune_chain,
    "tune-levels": tune_levels,
    "tune-weak": tune_weak,
}
