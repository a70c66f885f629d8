"""Are orders, hierarchies and proportional marginal effects what they are said to be?

    python -m benchmarks.questions exact [--games 50]
    python -m benchmarks.questions coverage [--seeds 20] [--n 1000] [--case linear curved]
    python -m benchmarks.questions draws [--seeds 5]

`exact` compares effects of random games, all of whose subsets are evaluated, with averages over all
orders (of up to 6 players), and with the recursion of the proportional value.

`coverage` fits data sets with six normal inputs whose conditional variances are known in closed
form: how often 95 % intervals hold the truth, for effects in an order, for Owen effects, those of
their upper groups, and for proportional marginal effects. Input x1 is a proxy of x0, which acts on
y alone; its proportional marginal effect is 0. "curved" has squares and products besides. Nothing
was tuned on these cases.

`draws` shows how much the intervals of proportional marginal effects move with another set of
draws, for several numbers of them.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.definitions import (
    as_set_function,
    layered_effects,
    marginal_effects,
    owen_effects,
    quadratic_game,
)
from shaff import ShapleyEffects, solve_game
from shaff._util.typing import FloatArray
from shaff.fitting import marginal
from shaff.solve.marginal import monotone_losses, potential, zero_sets

LAYERS = np.array([0, 1, 0, 1, 2, 2])
UNIONS = np.array([0, 0, 1, 1, 2, 3])
NAMES = [f"x{j}" for j in range(6)]
ORDER = [["x0", "x2"], ["x1", "x3"], ["x4", "x5"]]
GROUPS = {"first": {"x0": [0], "x1": [1]}, "second": {"x2": [2], "x3": [3]}}
NOISE = 1.0
# In place of a loss of 0, whose effects are rounded to 0.
SMALL = 1e-9


def truth(case: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Quadratic part, linear part and covariance of the inputs."""
    covariance = np.eye(6)
    for i, j, correlation in ((0, 1, 0.8), (2, 3, 0.6), (0, 2, 0.4), (1, 2, 0.32), (0, 3, 0.24),
                              (1, 3, 0.192)):  # fmt: skip
        covariance[i, j] = covariance[j, i] = correlation
    slopes = np.array([1.0, 0.0, 0.8, 0.5, 0.0, 0.6])
    bends = np.zeros((6, 6))
    if case == "curved":
        bends[0, 0], bends[2, 5], bends[5, 2] = 0.4, 0.35, 0.35
    return bends, slopes, covariance


def draw(case: str, n: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Draw a data set of a case."""
    bends, slopes, covariance = truth(case)
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(6), covariance, size=n)
    y = np.einsum("ij,jk,ik->i", X, bends, X) + X @ slopes + NOISE * rng.standard_normal(n)
    return X, y


def fitted(X: FloatArray, y: FloatArray, seed: int) -> dict[str, Any]:
    """Results for each question."""
    ordered = ShapleyEffects(order=ORDER, random_state=seed).fit(X, y).result_
    nested = ShapleyEffects(groups=GROUPS, random_state=seed).fit(X, y)
    return {
        "order": ordered,
        "owen": nested.result_,
        "owen groups": nested.result_.upper_level(),
        "pme": nested.proportional_marginal_effects(),
    }


def coverage(cases: list[str], n: int, n_seeds: int) -> None:
    """Print how often intervals hold the truth, and how long they are."""
    for case in cases:
        v = quadratic_game(*truth(case), NOISE)
        owen = owen_effects(v, UNIONS)
        wanted = {
            "order": layered_effects(v, LAYERS),
            "owen": owen,
            "owen groups": np.bincount(UNIONS, owen),
            "pme": marginal_effects(v, SMALL).round(6),
        }
        held: dict[str, list[FloatArray]] = {name: [] for name in wanted}
        for seed in range(n_seeds):
            for name, result in fitted(*draw(case, n, seed), seed).items():
                low, high = result.confidence_interval()
                places = [result.names.index(each) for each in _names(result)]
                ends = np.stack([low, high, result.effects])[:, places]
                held[name].append(np.vstack([ends, wanted[name]]))
        for name, found in held.items():
            _print_coverage(case, name, np.array(found))


def _names(result: Any) -> list[str]:
    """Names in the order of the truth."""
    return NAMES if len(result.names) == len(NAMES) else ["first", "second", "x4", "x5"]


def _print_coverage(case: str, name: str, found: FloatArray) -> None:
    low, high, effects, wanted = found.transpose(1, 0, 2)
    inside = (low <= wanted) & (wanted <= high)
    print(
        f"{case:7} {name:12} coverage {inside.mean():.3f} (by input "
        f"{' '.join(f'{c:.2f}' for c in inside.mean(axis=0))}); length "
        f"{(high - low).mean():.3f}; error {np.abs(effects - wanted).mean():.4f}"
    )
    if name == "pme":
        proxy = effects[:, 1]
        print(f"{case:7} proxy: mean {proxy.mean():.4f}, largest {proxy.max():.4f}, truth 0, "
              f"covered in {inside[:, 1].mean():.2f}")  # fmt: skip


def exact(n_games: int) -> None:
    """Print the largest difference to the definitions over random games."""
    rng, worst = np.random.default_rng(0), dict.fromkeys(("order", "owen", "pme"), 0.0)
    for _ in range(n_games):
        p = int(rng.integers(2, 7))
        v = np.append(0.0, rng.standard_normal(2**p - 1))
        parts = np.unique(rng.integers(0, 3, p), return_inverse=True)[1]
        lists = [np.flatnonzero(parts == k).tolist() for k in range(parts.max() + 1)]
        game, monotone = as_set_function(v), _monotone(rng, p)
        found = solve_game(game, p, order=lists).effects - layered_effects(v, parts)
        worst["order"] = max(worst["order"], float(np.abs(found).max()))
        found = solve_game(game, p, groups=lists).effects - owen_effects(v, parts)
        worst["owen"] = max(worst["owen"], float(np.abs(found).max()))
        w = monotone_losses(monotone).w
        found = potential(w, zero_sets(w, np.zeros(2**p))).effects() - marginal_effects(monotone)
        worst["pme"] = max(worst["pme"], float(np.abs(found).max()))
    for name, difference in worst.items():
        print(f"{name:6} differs from its definition by {difference:.1e} over {n_games} games")


def _monotone(rng: np.random.Generator, p: int) -> FloatArray:
    parts = rng.uniform(0.1, 1.0, 2**p)
    parts[0] = 0.0
    codes = np.arange(2**p)
    return np.array([parts[codes & code == codes].sum() for code in codes])


def draws(n_seeds: int) -> None:
    """Print how far upper ends near 0 move when the draws are others."""
    X, y = draw("curved", 1000, 0)
    est = ShapleyEffects(random_state=0).fit(X, y)
    for n in (100, 200, 400, 800):
        marginal.N_DRAWS, ends = n, []
        for seed in range(n_seeds):
            est._fitted_game.selection.problem.__dict__["seed"] = seed
            ends.append(est.proportional_marginal_effects().confidence_interval().high)
        mean, spread = np.mean(ends, axis=0), np.std(ends, axis=0)
        print(f"{n:4} draws: upper ends {mean.round(4)} move by {spread.round(4)}")


def main() -> None:
    """Run the part that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["exact", "coverage", "draws"])
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--case", nargs="+", default=["linear", "curved"])
    asked = parser.parse_args()
    if asked.part == "exact":
        exact(asked.games)
    elif asked.part == "draws":
        draws(min(asked.seeds, 10))
    else:
        coverage(asked.case, asked.n, asked.seeds)


if __name__ == "__main__":
    main()
