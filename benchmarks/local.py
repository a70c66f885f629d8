"""Are the values of single rows right, fast and small? Against closed forms and shap.

    pip install shap lightgbm
    python -m benchmarks.local [--parts linear curved smooth directions evidence time memory
                               picture] [--seeds 5] [--runs local.jsonl]

- *linear*: y = X beta + noise, nine Gaussian inputs with correlations 0.5^|i-j|, 3000 rows. Exact
  values by the closed form of Gaussian conditional means.
- *curved*: four inputs that depend on each other along curves, a function with a jump, a wave and a
  product; exact values by numerical integration of the density.
- *smooth*: the same function of four Gaussian inputs, the home of Aas' Gaussian conditionals.
- *directions*: one of five shapes of an input among two others, 500 rows, ten seeds each.
- *evidence*: what is said of an input with two near copies, a weak one, the factors of a product
  and noise, from 100, 300 and 1000 rows, of numbers and of two classes.
- *time*: 10 000 rows x 15 columns, processor seconds of `explain` over those of `fit`.
- *memory*: peak of a process that fits 10 000 rows and explains 100 000.
- *picture*: a beeswarm drawn by shap from our object, as a file.

The error is the mean absolute difference from the exact values over 200 rows that were not there
in the fit. shap's explainer is the path-dependent one, of LightGBM. "Same learner" is that LightGBM
model, projected by shaff and imputed by Aas' conditionals. Runs that the file holds are not done
again: delete it after a change.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects
from shaff.datasets import experiment_2

ROWS, NEW = 3000, 200
BETA = np.array([0.9, 0.7, 0.2, 0.5, 0.1, 0.8, 0.4, 0.6, 0.3])
CORRELATIONS = 0.5 ** np.abs(np.subtract.outer(range(9), range(9)))
GAUSSIAN = 0.6 ** np.abs(np.subtract.outer(range(4), range(4)))
NOISE, JUMP = 0.3, 0.3


# Exact values -----------------------------------------------------------------------------------


def shapley(games: np.ndarray) -> np.ndarray:
    """Of games on all subsets, in the order of their bits: shape (n_players, n_rows)."""
    p = int(np.log2(len(games)))
    sizes = np.bitwise_count(np.arange(len(games)))
    out = np.zeros((p, games.shape[1]))
    for j in range(p):
        for k in np.flatnonzero(~(np.arange(len(games)) >> j) & 1):
            s = int(sizes[k])
            weight = factorial(s) * factorial(p - s - 1) / factorial(p)
            out[j] += weight * (games[k | 1 << j] - games[k])
    return out


def members(subset: int, p: int) -> list[int]:
    return [j for j in range(p) if subset >> j & 1]


def linear_values(X: np.ndarray) -> np.ndarray:
    games = np.zeros((2**9, len(X)))
    for k in range(1, 2**9):
        known = members(k, 9)
        inside = CORRELATIONS[np.ix_(known, known)]
        games[k] = X[:, known] @ np.linalg.solve(inside, CORRELATIONS[known] @ BETA)
    return shapley(games).T


def bent(X: np.ndarray) -> np.ndarray:
    """A product, a jump and a wave."""
    return X[..., 0] * X[..., 2] + 1.5 * (X[..., 1] > JUMP) + np.sin(2 * X[..., 3])


def curved_density(X: np.ndarray) -> np.ndarray:
    """Of inputs that follow each other along curves: a parabola, a line, a wave."""
    first, second, third, fourth = np.moveaxis(X, -1, 0)
    squares = first**2 + ((second - first**2 / 2) / 0.6) ** 2
    squares += ((third - 0.7 * second) / 0.7) ** 2
    squares += ((fourth - np.sin(1.5 * first)) / 0.5) ** 2
    return np.exp(-0.5 * squares)


def draw_curved(n: int, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal((n, 4))
    first = noise[:, 0]
    second = first**2 / 2 + 0.6 * noise[:, 1]
    third = 0.7 * second + 0.7 * noise[:, 2]
    return np.column_stack([first, second, third, np.sin(1.5 * first) + 0.5 * noise[:, 3]])


def gaussian_density(X: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * np.einsum("...i,ij,...j->...", X, np.linalg.inv(GAUSSIAN), X))


def integrated_values(X: np.ndarray, density: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """E[f(X) | X_U = x_U] by sums over a grid of the unknown inputs."""
    games = np.zeros((16, len(X)))
    # With nothing known all rows are alike.
    games[0] = expectation(X[0], [], density)
    for k in range(1, 15):
        games[k] = [expectation(x, members(k, 4), density) for x in X]
    games[15] = bent(X)
    return shapley(games).T


def expectation(x: np.ndarray, known: list[int], density: Any) -> float:
    """Steps are a small part of the deviations: sums of smooth functions are then exact to many
    digits, and those of a jump that lies midway between two nodes nearly so."""
    unknown = [j for j in range(4) if j not in known]
    axes = [grid_of(j, 50 if len(unknown) < 4 else 30) for j in unknown]
    grid = np.empty((*(len(axis) for axis in axes), 4))
    grid[...] = x
    for place, mesh in zip(unknown, np.meshgrid(*axes, indexing="ij"), strict=True):
        grid[..., place] = mesh
    weight = density(grid)
    return float((weight * bent(grid)).sum() / weight.sum())


def grid_of(column: int, nodes: int) -> np.ndarray:
    if column == 1:
        return JUMP + 0.1 * (np.arange(-45, 90) + 0.5)
    return np.linspace(-5.0, 8.0, nodes) if column == 2 else np.linspace(-5.0, 5.0, nodes)


# Cases ------------------------------------------------------------------------------------------


@cache
def case(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, outcome, new rows and their exact values."""
    rng = np.random.default_rng(1000 + seed)
    if name == "linear":
        X = rng.multivariate_normal(np.zeros(9), CORRELATIONS, ROWS + NEW)
        signal = X @ BETA
        noise = np.sqrt(BETA @ CORRELATIONS @ BETA * 0.05 / 0.95)
        truth = linear_values(X[ROWS:])
    else:
        if name == "curved":
            X, density = draw_curved(ROWS + NEW, rng), curved_density
        else:
            X = rng.multivariate_normal(np.zeros(4), GAUSSIAN, ROWS + NEW)
            density = gaussian_density
        signal, noise = bent(X), NOISE
        truth = integrated_values(X[ROWS:], density)
    y = signal + noise * rng.standard_normal(len(X))
    return X[:ROWS], y[:ROWS], X[ROWS:], truth


def lightgbm(p: int) -> Any:
    from lightgbm import LGBMRegressor

    share = 1 / 3 if p > 4 else 0.5
    return LGBMRegressor(random_state=0, verbose=-1, n_jobs=1, feature_fraction_bynode=share)


def by_shap(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    import shap

    return shap.TreeExplainer(lightgbm(X.shape[1]).fit(X, y)).shap_values(new)


def by_shaff(X: np.ndarray, y: np.ndarray, new: np.ndarray, estimator: Any = None) -> np.ndarray:
    local = ShapleyEffects(estimator, random_state=0, n_jobs=2).fit(X, y).explain(new)
    gap = np.abs(local.base + local.values.sum(axis=1) - local.predictions).max()
    assert gap < 1e-9, gap
    return local.values


def by_same_learner(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    return by_shaff(X, y, new, lightgbm(X.shape[1]))


def by_aas(X: np.ndarray, y: np.ndarray, new: np.ndarray, kind: str) -> np.ndarray:
    est = ShapleyEffects.preset(f"aas_{kind}", estimator=lightgbm(X.shape[1]), random_state=0)
    return est.fit(X, y).explain(new).values


WAYS: dict[str, Callable[..., np.ndarray]] = {
    "shaff": by_shaff,
    "shaff, boosting": partial(by_shaff, estimator="boosting"),
    "shaff, same learner": by_same_learner,
    "shap": by_shap,
    "aas_gaussian": partial(by_aas, kind="gaussian"),
    "aas_copula": partial(by_aas, kind="copula"),
    "aas_empirical": partial(by_aas, kind="empirical"),
}


def accuracy(part: str, way: str, seed: int) -> Record:
    warnings.simplefilter("ignore")
    X, y, new, truth = case(part, seed)
    found = WAYS[way](X, y, new)
    return {"error": float(np.abs(found - truth).mean()), "size": float(np.abs(truth).mean())}


# Directions -------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "increasing": lambda x: np.exp(1.5 * x),
    "decreasing": lambda x: -np.tanh(3 * x),
    "U-shaped": lambda x: x**2,
    "inverted U": lambda x: -np.abs(x - 0.1),
    "mixed": lambda x: np.sin(2 * np.pi * x),
}


def directions(part: str, way: str, seed: int) -> Record:
    """An input of the shape, one that goes up a little, one that does nothing."""
    rng = np.random.default_rng(2000 + seed)
    # An input that goes with the others has their direction: the useless one stands alone.
    rho = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]])
    X = 2 * norm.cdf(rng.multivariate_normal(np.zeros(3), rho, 500)) - 1
    shape = SHAPES[way](X[:, 0])
    y = shape / shape.std() + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(500)
    found = ShapleyEffects(random_state=seed).fit(X, y).result_.directions
    return {"found": found["x0"], "nothing": found["x2"]}


PLACES = {"real": (0,), "copies": (5, 6), "weak": (1,), "product": (2, 3), "noise": (4, 7)}
TRUE = {"real": "increasing", "copies": "increasing", "weak": "decreasing", "product": "mixed"}


def told(part: str, way: str, seed: int) -> Record:
    """Eight inputs: one with two near copies, a weak one, two that multiply, two of noise."""
    rng, (estimator, n_rows) = np.random.default_rng(9000 + seed), way.split()
    X = rng.standard_normal((int(n_rows), 8))
    X[:, [5, 6]] = 0.95 * X[:, :1] + 0.3 * X[:, [5, 6]]
    y = X[:, 0] - 0.3 * X[:, 1] + X[:, 2] * X[:, 3] + rng.standard_normal(len(X))
    outcome = np.where(y > 0, "b", "a") if seed % 4 == 3 else y
    found = ShapleyEffects(estimator, random_state=0).fit(X, outcome).result_.directions
    return {kind: [found[f"x{k}"] for k in places] for kind, places in PLACES.items()}


def show_told(records: list[Record]) -> None:
    """How often the direction is right, left open and wrong."""
    for kind in PLACES:
        said = [one for r in records for one in r[kind]]
        is_open = sum(one in ("unclear", "none") for one in said)
        right = sum(one == TRUE.get(kind) for one in said)
        print(f"  {kind}: {right} right, {is_open} left open, {len(said) - right - is_open} wrong")


# Time, memory, picture --------------------------------------------------------------------------


def timing(part: str, way: str, seed: int) -> Record:
    data, new = experiment_2(n=10_000, random_state=seed), experiment_2(10_000, random_state=99)
    start = time.process_time()
    est = ShapleyEffects(random_state=0, n_jobs=2).fit(data.X, data.y)
    middle = time.process_time()
    est.explain(new.X)
    return {"fit": middle - start, "explain": time.process_time() - middle}


MEMORY = """
import resource, sys
from shaff import ShapleyEffects
from shaff.datasets import experiment_2
data, new = experiment_2(int(sys.argv[1]), random_state=0), experiment_2(100_000, random_state=1)
est = ShapleyEffects(random_state=0, n_jobs=2).fit(data.X, data.y)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
local = est.explain(new.X)
assert abs(local.base + local.values.sum(axis=1) - local.predictions).max() < 1e-9
print(before / 2**20, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def memory(part: str, way: str, seed: int) -> Record:
    run = [sys.executable, "-c", MEMORY, way]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    return {"fit": float(said[0]), "peak": float(said[1])}


def picture(path: Path) -> None:
    """Of the curved case, by shap and by shaff."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import shap

    X, y, new, _ = case("linear", 0)
    local = ShapleyEffects(random_state=0, n_jobs=2).fit(X, y).explain(new)
    shap.plots.beeswarm(local.to_shap(), show=False)
    plt.tight_layout()
    plt.savefig(path)
    print(f"picture: {path}, drawn by shap {shap.__version__}")


# ------------------------------------------------------------------------------------------------

ERRORS = {"linear": ("shaff", "shaff, boosting", "shap"), "curved": tuple(WAYS),
          "smooth": tuple(WAYS)}  # fmt: skip
RUNS: dict[str, tuple[Callable[..., Record], tuple[str, ...]]] = {
    **{part: (accuracy, ways) for part, ways in ERRORS.items()},
    "directions": (directions, tuple(SHAPES)),
    "evidence": (told, tuple(f"{e} {n}" for e in ("boosting", "smooth") for n in (100, 300, 1000))),
    "time": (timing, ("10000",)),
    "memory": (memory, ("10000", "2000")),
}


def show(part: str, records: list[Record]) -> None:
    """A line each."""
    by_way = {way: [r for r in records if r["way"] == way] for way in RUNS[part][1]}
    if part in ERRORS:
        peer = np.mean([r["error"] for r in by_way["shap"]])
        size = np.mean([r["size"] for r in records])
        print(f"{part}: mean absolute exact value {size:.3f}, {len(by_way['shap'])} seeds")
        for way, some in by_way.items():
            error = np.mean([r["error"] for r in some])
            print(f"  {way}: error {error:.4f}, {error / peer:.2f} of shap's")
    elif part == "directions":
        right = {way: sum(r["found"] == way for r in some) for way, some in by_way.items()}
        nothing = sum(r["nothing"] in ("none", "unclear") for r in records)
        print(f"directions: {sum(right.values())} of {len(records)} right {right}; of the input "
              f"that does nothing {nothing}")  # fmt: skip
    elif part == "evidence":
        for way, some in by_way.items():
            print(f"evidence, {way} rows:")
            show_told(some)
    elif part == "time":
        ratio = np.median([r["explain"] / r["fit"] for r in records])
        print(f"time: 10 000 rows explained in {ratio:.2f} x the processor time of fit")
    else:
        for way, (r, *_) in by_way.items():
            print(f"memory: fitted on {way} rows {r['fit']:.2f} GB, 100 000 explained: peak "
                  f"{r['peak']:.2f} GB")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--parts", nargs="+", choices=[*RUNS, "picture"], default=[*RUNS, "picture"]
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=Path, default=Path("local.jsonl"))
    given = parser.parse_args()
    for part in given.parts:
        if part == "picture":
            picture(Path("local-by-shap.png"))
            continue
        run, ways = RUNS[part]
        seeds = {"directions": 10, "evidence": 8, "time": 1, "memory": 1}.get(part, given.seeds)
        keys = [
            {"part": part, "way": way, "seed": seed} for way, seed in product(ways, range(seeds))
        ]
        fill(given.runs, keys, run)
        show(part, [r for r in read(given.runs) if r["part"] == part])


if __name__ == "__main__":
    main()
