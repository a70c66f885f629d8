"""The paper's experiments with their exact effects, and the data of the demo.

Experiments 2 and 3 are specified in the paper. It gives neither the coefficients nor the covariance
of experiment 1: those here (`COEFFICIENTS`, `Cov(X_i, X_j) = 0.5 ** |i - j|`) are ours.
In every experiment the noise is 5 % of the variance of y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from shaff._util.typing import BoolArray, FloatArray, RandomState
from shaff.subsets import Subsets

COEFFICIENTS: FloatArray = np.array([0.9, 0.7, 0.2, 0.5, 0.1, 0.8, 0.4, 0.6, 0.3, 1.0, 0.5])
NOISE_SHARE = 0.05
RHO_PRODUCT, RHO_SECOND = 0.9, 0.5


@dataclass(frozen=True, eq=False)
class Experiment:
    """Data of one of the paper's experiments, with its truth.

    Parameters
    ----------
    X : array or frame of shape (n, p)
        Inputs.
    y : array of shape (n,)
        Outcome: numbers, or labels of two classes.
    effects : float array of shape (p,)
        Exact Shapley effects; for numbers they sum to ``1 - NOISE_SHARE``.
    names : tuple of str
        Names of the inputs.
    game : callable
        ``game(masks)`` returns the exact ``v(U)`` of the rows of a boolean matrix of shape
        (n_subsets, p).

    Examples
    --------
    >>> from shaff.datasets import experiment_2
    >>> exp = experiment_2(n=100, random_state=0)
    >>> exp.X.shape, float(exp.effects.sum().round(6))
    ((100, 15), 0.95)
    """

    X: Any
    y: npt.NDArray[Any]
    effects: FloatArray
    names: tuple[str, ...]
    game: Callable[[BoolArray], FloatArray]

    def value(self, subsets: Subsets) -> FloatArray:
        """Return the exact ``v(U)`` of each subset, shape (n_subsets,)."""
        return self.game(subsets.masks())


def shapley_values(game: Callable[[BoolArray], FloatArray], n_players: int) -> FloatArray:
    """Return the Shapley values of a game by enumeration of its ``2 ** n_players`` subsets.

    Examples
    --------
    >>> from shaff.datasets import shapley_values
    >>> shapley_values(lambda masks: masks.all(axis=1).astype(float), 2).tolist()
    [0.5, 0.5]
    """
    masks = (np.arange(2**n_players)[:, None] >> np.arange(n_players) & 1).astype(bool)
    v, sizes = game(masks), masks.sum(axis=1)
    weight = np.array(
        [
            factorial(s) * factorial(n_players - s - 1) / factorial(n_players)
            for s in range(n_players)
        ]
    )
    without = [np.flatnonzero(~masks[:, i]) for i in range(n_players)]
    return np.array(
        [weight[sizes[s]] @ (v[s + 2**i] - v[s]) for i, s in enumerate(without)], dtype=np.float64
    )


def experiment_1a(n: int = 3000, random_state: RandomState = None) -> Experiment:
    """Linear, p = 15: eleven correlated Gaussian inputs, two copies of the second, two dummies.

    Examples
    --------
    >>> from shaff.datasets import experiment_1a
    >>> experiment_1a(n=50, random_state=0).effects[[1, 11, 12]].round(3).tolist()
    [0.052, 0.052, 0.052]
    """
    return _linear_experiment(n, 2, random_state)


def experiment_1b(n: int = 3000, random_state: RandomState = None) -> Experiment:
    """Experiment 1a with 85 more dummies: p = 100.

    Examples
    --------
    >>> from shaff.datasets import experiment_1b
    >>> experiment_1b(n=50, random_state=0).X.shape
    (50, 100)
    """
    return _linear_experiment(n, 87, random_state)


def experiment_2(n: int = 10_000, random_state: RandomState = None) -> Experiment:
    """Interactions, p = 15: two blocks of products switched by a sign, five dummies.

    Examples
    --------
    >>> from shaff.datasets import experiment_2
    >>> experiment_2(n=50, random_state=0).effects.argmax()
    np.int64(2)
    """
    rng = check_random_state(random_state)
    covariance = np.eye(15)
    for i, j, rho in (
        (0, 1, RHO_PRODUCT),
        (5, 6, RHO_PRODUCT),
        (3, 4, RHO_SECOND),
        (8, 9, RHO_SECOND),
    ):
        covariance[i, j] = covariance[j, i] = rho
    X = rng.multivariate_normal(np.zeros(15), covariance, size=n)
    signal = np.sqrt(3) * _switched_products(X[:, :5]) + _switched_products(X[:, 5:10])
    effects = np.zeros(15)
    effects[:10] = shapley_values(_interaction_game, 10)
    return Experiment(
        X, _with_noise(signal, _INTERACTION_VARIANCE, rng), effects, _names(15), _interaction_game
    )


def experiment_3(n: int = 2000, random_state: RandomState = None) -> Experiment:
    """Mixed, p = 6: two Gaussian inputs, one relevant and three irrelevant factors.

    X is a pandas frame; the factors have 3, 3, 10 and 100 levels, given as strings.

    Examples
    --------
    >>> from shaff.datasets import experiment_3
    >>> exp = experiment_3(n=50, random_state=0)
    >>> exp.effects.round(3).tolist()
    [0.317, 0.317, 0.317, 0.0, 0.0, 0.0]
    """
    import pandas as pd

    rng = check_random_state(random_state)
    numbers = rng.standard_normal((n, 2))
    factors = [rng.randint(levels, size=n) for levels in (3, 3, 10, 100)]
    signal = numbers[:, 0] * (factors[0] == 0) + numbers[:, 1] * (factors[0] == 1)
    names = _names(6)
    columns: dict[str, Any] = {names[0]: numbers[:, 0], names[1]: numbers[:, 1]}
    for name, codes in zip(names[2:4], factors[:2], strict=True):
        columns[name] = np.array(["a", "b", "c"])[codes]
    for name, codes in zip(names[4:], factors[2:], strict=True):
        columns[name] = np.array([f"level {code:02d}" for code in codes])
    effects = shapley_values(_mixed_game, 6)
    return Experiment(
        pd.DataFrame(columns), _with_noise(signal, 2 / 3, rng), effects, names, _mixed_game
    )


def discrete_experiment(
    n: int = 5000, binary: bool = False, random_state: RandomState = None
) -> Experiment:
    """Five dependent inputs with three levels each; not from the paper.

    The inputs form a Markov chain: each repeats the one before with probability 0.6. They act by
    main effects and interactions, so that all 243 cells differ; the effects are exact, by
    enumeration of the cells.

    Parameters
    ----------
    n : int, default=5000
        Number of rows.
    binary : bool, default=False
        Whether y is "no" or "yes", drawn with probabilities that depend on the cell, instead of
        a number with 5 % noise.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Returns
    -------
    Experiment
        X is a pandas frame of strings.

    Examples
    --------
    >>> from shaff.datasets import discrete_experiment
    >>> exp = discrete_experiment(n=50, random_state=0)
    >>> exp.X.iloc[0].tolist(), float(exp.effects.sum().round(6))
    (['mid', 'low', 'high', 'low', 'low'], 0.95)
    """
    import pandas as pd

    rng = check_random_state(random_state)
    cells, probability = _chain_cells()
    signal = _cell_means(cells)
    drawn = rng.choice(len(cells), size=n, p=probability)
    names = _names(cells.shape[1])
    X = pd.DataFrame(np.array(["low", "mid", "high"])[cells[drawn]], columns=list(names))
    centre = probability @ signal
    spread = float(probability @ (signal - centre) ** 2)
    if binary:
        signal = 1 / (1 + np.exp(-2 * (signal - centre) / np.sqrt(spread)))
        y: Any = np.where(rng.uniform(size=n) < signal[drawn], "yes", "no")
        share = float(probability @ signal)
        variance = share * (1 - share)
    else:
        y = _with_noise(signal[drawn], spread, rng)
        variance = spread / (1 - NOISE_SHARE)

    def game(masks: BoolArray) -> FloatArray:
        explained = [_cell_variance(cells, probability, signal, mask) for mask in masks]
        return np.array(explained) / variance

    return Experiment(X, y, shapley_values(game, cells.shape[1]), names, game)


def load_diabetes() -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Return X, y and names of scikit-learn's diabetes data (442 rows, 10 columns): the demo.

    Examples
    --------
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> X.shape, names[2]
    ((442, 10), 'bmi')
    """
    from sklearn import datasets

    bunch = datasets.load_diabetes(scaled=False)
    names = {"s1": "total cholesterol", "s2": "ldl", "s3": "hdl", "s4": "cholesterol/hdl",
             "s5": "log triglycerides", "s6": "glucose", "bp": "blood pressure"}  # fmt: skip
    return bunch.data, bunch.target, tuple(names.get(f, f) for f in bunch.feature_names)


def _names(p: int) -> tuple[str, ...]:
    return tuple(f"X{j + 1}" for j in range(p))


def _with_noise(signal: FloatArray, variance: float, rng: np.random.RandomState) -> FloatArray:
    sd = np.sqrt(variance * NOISE_SHARE / (1 - NOISE_SHARE))
    return np.asarray(signal + sd * rng.standard_normal(len(signal)), dtype=np.float64)


def _linear_covariance() -> FloatArray:
    lag = np.abs(np.subtract.outer(np.arange(11), np.arange(11)))
    return np.asarray(0.5**lag, dtype=np.float64)


def _linear_game(masks: BoolArray) -> FloatArray:
    """v(U) = c_U' Sigma_UU^-1 c_U / Var(Y) with c = Sigma beta; a copy of X2 counts as X2."""
    covariance = _linear_covariance()
    c = covariance @ COEFFICIENTS
    variance = COEFFICIENTS @ c / (1 - NOISE_SHARE)
    originals = masks[:, :11].copy()
    originals[:, 1] |= masks[:, 11:13].any(axis=1)
    distinct, inverse = np.unique(originals, axis=0, return_inverse=True)
    v = [
        c[u] @ np.linalg.solve(covariance[np.ix_(u, u)], c[u]) if u.any() else 0.0 for u in distinct
    ]
    return np.asarray(np.array(v)[inverse.ravel()] / variance, dtype=np.float64)


def _linear_experiment(n: int, n_dummies: int, random_state: RandomState) -> Experiment:
    rng = check_random_state(random_state)
    covariance = _linear_covariance()
    inputs = rng.multivariate_normal(np.zeros(11), covariance, size=n)
    X = np.hstack([inputs, inputs[:, [1, 1]], rng.standard_normal((n, n_dummies))])
    effects = np.zeros(X.shape[1])
    # Dummies change no other player's Shapley value, so 13 players are enumerated.
    effects[:13] = shapley_values(_linear_game, 13)
    y = _with_noise(inputs @ COEFFICIENTS, float(COEFFICIENTS @ covariance @ COEFFICIENTS), rng)
    return Experiment(X, y, effects, _names(X.shape[1]), _linear_game)


def _chain_cells() -> tuple[npt.NDArray[np.intp], FloatArray]:
    """The cells of five 3-level inputs, shape (243, 5), and their probabilities in the chain."""
    cells = np.stack(np.meshgrid(*[np.arange(3)] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    step = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    first = np.array([0.5, 0.3, 0.2])
    return cells, first[cells[:, 0]] * step[cells[:, :-1], cells[:, 1:]].prod(axis=1)


def _cell_means(cells: npt.NDArray[np.intp]) -> FloatArray:
    """Main effects that are not monotone in the level, and two interactions."""
    tables = np.array([[0, 2, 1], [1, 0, 2], [2, 2, 0], [0, 1, 0], [1, 0, 0]], dtype=float)
    main = tables[np.arange(5), cells].sum(axis=1)
    return np.asarray(main + 2 * (cells[:, 0] == cells[:, 3]) - 1.5 * (cells[:, 2] == cells[:, 4]))


def _cell_variance(
    cells: npt.NDArray[np.intp], probability: FloatArray, signal: FloatArray, mask: BoolArray
) -> float:
    """Variance of the mean signal given the masked inputs."""
    known = cells[:, mask] @ 3 ** np.arange(mask.sum())
    weight = np.bincount(known, weights=probability)
    total = np.bincount(known, weights=probability * signal)
    means = total / np.where(weight > 0, weight, 1.0)
    return float(weight @ (means - probability @ signal) ** 2)


def _switched_products(block: FloatArray) -> FloatArray:
    switch = block[:, 2] > 0
    return 3 * block[:, 0] * block[:, 1] * switch + block[:, 3] * block[:, 4] * ~switch


def _block_value(u: BoolArray) -> FloatArray:
    """Var(E[block | U]) of 3 A 1[s] + B 1[not s]: docs/theory.md, section 12, a = 3, b = 1."""
    a, b, rho1, rho2 = 3.0, 1.0, RHO_PRODUCT, RHO_SECOND
    second_moment = [
        np.choose(known.sum(axis=1), [rho**2, 3 * rho**2, 1 + 2 * rho**2])
        for known, rho in ((u[:, :2], rho1), (u[:, 3:5], rho2))
    ]
    e_a, e_b = second_moment
    known_switch = a**2 * e_a / 2 + b**2 * e_b / 2 - (a * rho1 + b * rho2) ** 2 / 4
    unknown_switch = (a**2 * (e_a - rho1**2) + b**2 * (e_b - rho2**2)) / 4
    return np.asarray(np.where(u[:, 2], known_switch, unknown_switch), dtype=np.float64)


_FULL_BLOCK: npt.NDArray[np.bool_] = np.ones((1, 5), dtype=bool)
_INTERACTION_VARIANCE = float(4 * _block_value(_FULL_BLOCK)[0])


def _interaction_game(masks: BoolArray) -> FloatArray:
    explained = 3 * _block_value(masks[:, :5]) + _block_value(masks[:, 5:10])
    return np.asarray(explained / _INTERACTION_VARIANCE * (1 - NOISE_SHARE), dtype=np.float64)


def _mixed_game(masks: BoolArray) -> FloatArray:
    known = masks[:, 0].astype(float) + masks[:, 1]
    explained = known * np.where(masks[:, 2], 1 / 3, 1 / 9)
    return np.asarray(explained / (2 / 3) * (1 - NOISE_SHARE), dtype=np.float64)
