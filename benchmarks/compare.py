"""Comparisons: how often effects seem to differ that do not, and how often a change is found.

    python -m benchmarks.compare                       # all parts, into compare.jsonl
    python -m benchmarks.compare --parts halves --data linear --seeds 0 200 --out runs.jsonl
    python -m benchmarks.compare --report runs.jsonl

Each run leaves a line in the file; runs that the file already has are skipped.

- halves: two halves of one data set. How often any input differs (Holm, 5 %), in shares and in
  units of the variance, and how often the test of all inputs at once finds a difference.
- changed: the same, but in the second half one slope is doubled. How often it is found.
- overlap: two tables that share half of their rows, which `compare` recognises.
- outcomes: two outcomes on the same rows, the same signal with other noise of the same size.
- models: two learners on the same rows.

`overlap`, `outcomes` and `models` are paired; there the mean standard error is printed as a share
of what it would be if the rows were not known to be shared.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.lines import Record, fill, read
from shaff import Comparison, ShapleyEffects, compare
from shaff._util.typing import FloatArray

Signal = Callable[[FloatArray, float], FloatArray]
Draw = Callable[[int, np.random.Generator], FloatArray]

# Rows of each of the two, and the learner.
SETTINGS: dict[str, tuple[int, str]] = {
    "linear": (300, "smooth"),
    "curved": (500, "boosting"),
    "product": (500, "auto"),
    "categories": (300, "auto"),
    "heavy": (400, "smooth"),
    "classes": (600, "boosting"),
    "large": (2000, "boosting"),
}
PARTS = ("halves", "changed", "overlap", "outcomes", "models")


def correlated(n: int, rng: np.random.Generator) -> FloatArray:
    X = rng.standard_normal((n, 4))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]
    return X


def with_categories(n: int, rng: np.random.Generator) -> FloatArray:
    X = rng.standard_normal((n, 4))
    X[:, 1] = rng.integers(0, 3, n)
    return X


def linear(X: FloatArray, slope: float) -> FloatArray:
    return 0.6 * slope * X[:, 0] + X[:, 1] + 0.5 * X[:, 2]


def curved(X: FloatArray, slope: float) -> FloatArray:
    return 0.7 * slope * X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] ** 2


def product(X: FloatArray, slope: float) -> FloatArray:
    return 0.7 * slope * X[:, 0] + X[:, 1] * X[:, 2]


def by_category(X: FloatArray, slope: float) -> FloatArray:
    return 0.7 * slope * X[:, 0] + np.array([0.0, 1.0, 2.0])[X[:, 1].astype(int)] + 0.5 * X[:, 2]


DATA: dict[str, tuple[Draw, Signal]] = {
    "linear": (correlated, linear),
    "curved": (correlated, curved),
    "product": (correlated, product),
    "categories": (with_categories, by_category),
    "heavy": (correlated, linear),
    "classes": (correlated, linear),
    "large": (correlated, curved),
}


def outcome(data: str, signal: FloatArray, rng: np.random.Generator) -> Any:
    noise = rng.standard_normal(len(signal))
    if data == "heavy":
        noise = rng.standard_t(5, len(signal))
    if data == "classes":
        return np.where(1.5 * signal + rng.logistic(size=len(signal)) > 0, "yes", "no")
    return signal + noise


def fit(data: str, X: FloatArray, y: Any, learner: str | None = None) -> ShapleyEffects:
    frame = pd.DataFrame(X, columns=list("abcd"))
    if data == "categories":
        frame["b"] = frame["b"].map({0: "low", 1: "middle", 2: "high"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ShapleyEffects(learner or SETTINGS[data][1], random_state=0).fit(frame, y)


def run(part: str, data: str, seed: int) -> Record:
    rng = np.random.default_rng((seed, list(SETTINGS).index(data)))
    n, (draw, signal) = SETTINGS[data][0], DATA[data]
    X = draw(2 * n, rng)
    parts = [slice(0, n), slice(n, 2 * n)]
    learners: list[str | None] = [None, None]
    slopes = [1.0, 2.0 if part == "changed" else 1.0]
    if part == "overlap":
        parts = [slice(0, n), slice(n // 2, n // 2 + n)]
    if part in ("outcomes", "models"):
        parts = [slice(0, n)] * 2
    y = outcome(data, signal(X, 1.0), rng)
    ys = [y if slope == 1.0 else outcome(data, signal(X, slope), rng) for slope in slopes]
    if part == "outcomes":
        ys[1] = outcome(data, signal(X, 1.0), rng)
    if part == "models":
        learners = ["smooth", "boosting"]
    pair = [
        fit(data, X[rows], target[rows], learner)
        for rows, target, learner in zip(parts, ys, learners, strict=True)
    ]
    found = compare(*pair)
    apart = compare(*pair, same_rows=False)
    ratio = found.standard_errors.sum() / apart.standard_errors.sum()
    shares, variances = tests(found), tests(found.in_variance())
    return {**shares, **{f"variance_{k}": v for k, v in variances.items()},
            "paired": found.n_shared, "error_ratio": float(ratio)}  # fmt: skip


def tests(found: Comparison) -> Record:
    """P-values, adjusted, of the inputs in order, and of all at once."""
    return {"p": found.p_adjusted.round(5).tolist(), "joint": found.joint_p_value}


def report(records: list[Record]) -> None:
    """A line for each part and data set."""
    print("part, data, rows each, learner, runs: any input differs (Holm) in shares and in units "
          "of the variance; all at once; first input; error")  # fmt: skip
    for part in PARTS:
        for data, (n, learner) in SETTINGS.items():
            some = [r for r in records if (r["part"], r["data"]) == (part, data)]
            if some:
                print(f"{part}, {data}, {n}, {learner}, {len(some)}: {_rates(some)}")


def _rates(some: list[Record]) -> str:
    kinds = ("", "variance_")
    any_input = [np.mean([min(r[f"{k}p"]) < 0.05 for r in some]) for k in kinds]
    joint = [np.mean([r[f"{k}joint"] < 0.05 for r in some]) for k in kinds]
    first = [np.mean([r[f"{k}p"][0] < 0.05 for r in some]) for k in kinds]
    texts = [f"{one:.3f} / {other:.3f}" for one, other in (any_input, joint, first)]
    return "; ".join([*texts, f"{np.mean([r['error_ratio'] for r in some]):.2f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--data", nargs="+", choices=tuple(SETTINGS), default=tuple(SETTINGS))
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 200))
    parser.add_argument("--out", type=Path, default=Path("compare.jsonl"))
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    if given.report is None:
        keys = [
            {"part": part, "data": data, "seed": seed}
            for part in given.parts
            for data in given.data
            for seed in range(*given.seeds)
        ]
        fill(given.out, keys, run)
    report(read(given.report or given.out))


if __name__ == "__main__":
    main()
