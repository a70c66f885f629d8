"""What moved the mean: parts of simulated changes against the known ones.

    python -m benchmarks.change                        # into change.jsonl
    python -m benchmarks.change --cases shift mix --rows 500 --learner boosting --seeds 0 40
    python -m benchmarks.change --report change.jsonl

Each run leaves a line in the file; runs that the file already has are skipped. Printed are, for
each part (four inputs, then the mechanism), bias and root mean squared error as shares of the
standard deviation of the outcome, the mean standard error over the actual one, and how many of the
95 % intervals hold the true part.

- shift: one of three inputs moves. slopes: none does, but one slope grows by half. both: two inputs
  move, one of which acts by its square, and there is a shift. mix: categories change their
  frequencies. product: two inputs move that act together, and the spread of a third grows.
  dependent: one of two correlated inputs moves, and the other does not.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import factorial, prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.lines import Record, fill, read
from shaff import explain_change
from shaff._util.typing import FloatArray

P = 4
CORRELATION = 0.6
N_TRUTH = 1_000_000
Function = Callable[[FloatArray], FloatArray]
# A sum of products: the functions of the inputs that are multiplied, by input.
Terms = list[dict[int, Function]]


class Case(NamedTuple):
    """Rows of table 0 or 1, and how their outcome comes about."""

    draw: Callable[[int, int, np.random.Generator], FloatArray]
    terms: Callable[[int], Terms]
    is_dependent: bool = False


def times(slope: float) -> Function:
    return lambda x: slope * x


def level(x: FloatArray) -> FloatArray:
    return np.array([0.0, 1.0, 2.5])[x.astype(int)]


def normal(n: int, rng: np.random.Generator, mean: tuple[float, ...] = (0, 0, 0, 0)) -> FloatArray:
    return rng.standard_normal((n, P)) + np.array(mean)


def draw_mix(table: int, n: int, rng: np.random.Generator) -> FloatArray:
    X = normal(n, rng)
    X[:, 0] = rng.choice(3, n, p=((0.6, 0.3, 0.1), (0.3, 0.3, 0.4))[table])
    return X


def draw_product(table: int, n: int, rng: np.random.Generator) -> FloatArray:
    X = normal(n, rng, (0.5 + 0.5 * table, 0.5 + 0.5 * table, 0, 0))
    X[:, 2] *= 1 + 0.3 * table
    return X


def draw_dependent(table: int, n: int, rng: np.random.Generator) -> FloatArray:
    X = normal(n, rng)
    X[:, 1] = CORRELATION * X[:, 0] + np.sqrt(1 - CORRELATION**2) * X[:, 1]
    X[:, 0] += 0.5 * table
    return X


CASES = {
    "shift": Case(
        lambda t, n, rng: normal(n, rng, (0.7 * t, 0, 0, 0)),
        lambda t: [{0: times(1.0)}, {1: times(1.0)}, {2: lambda x: np.sin(2 * x)}],
    ),
    "slopes": Case(
        lambda t, n, rng: normal(n, rng, (1, 0, 0, 0)),
        lambda t: [{0: times(1 + 0.5 * t)}, {1: times(1.0)}],
    ),
    "both": Case(
        lambda t, n, rng: normal(n, rng, (0.5 * t, -0.5 * t, 0, 0)),
        lambda t: [{0: times(1.0)}, {1: lambda x: x**2 / 1.4}, {2: lambda x: 0.5 * x + 0.3 * t}],
    ),
    "mix": Case(draw_mix, lambda t: [{0: level}, {1: times(0.7)}, {2: times(0.7)}]),
    "product": Case(
        draw_product,
        lambda t: [{0: times(1.0), 1: times(1.0)}, {2: lambda x: 0.6 * np.abs(x)}, {3: times(0.5)}],
    ),
    "dependent": Case(draw_dependent, lambda t: [{0: times(1.0)}, {1: times(1.0)}], True),
}


def signal(terms: Terms, X: FloatArray) -> FloatArray:
    return np.sum([prod(g(X[:, j]) for j, g in term.items()) for term in terms], axis=0)


def shapley(w: Callable[[frozenset[int]], float]) -> FloatArray:
    parts = np.zeros(P)
    for j in range(P):
        rest = [k for k in range(P) if k != j]
        for size in range(P):
            weight = factorial(size) * factorial(P - 1 - size) / factorial(P)
            parts[j] += weight * sum(
                w(frozenset({*some, j})) - w(frozenset(some)) for some in combinations(rest, size)
            )
    return parts


@cache
def truth(name: str) -> tuple[float, ...]:
    """True parts and that of the mechanism, from the means of each function in each table."""
    case, rng = CASES[name], np.random.default_rng(12345)
    rows = [case.draw(table, N_TRUTH, rng) for table in (0, 1)]
    moved = []
    for own in (0, 1):
        terms = case.terms(own)
        means = [[{j: float(g(X[:, j]).mean()) for j, g in term.items()} for term in terms]
                 for X in rows]  # fmt: skip

        def w(known: frozenset[int], own: int = own, means=means) -> float:
            if case.is_dependent:
                return _dependent(known, own)
            return sum(
                prod(means[1 - own if j in known else own][k][j] for j in term)
                for k, term in enumerate(means[own])
            )

        moved.append(shapley(w))
    parts = (moved[0] - moved[1]) / 2
    after, before = (float(signal(case.terms(t), rows[t]).mean()) for t in (1, 0))
    return (*parts.tolist(), after - before - float(parts.sum()))


def _dependent(known: frozenset[int], own: int) -> float:
    """Mean over the other table of the conditional mean in this one, for slopes 1 and 1."""
    moved = (1 - 2 * own) * 0.5  # of the first input, from this table to the other
    base = 0.5 * own
    if 0 not in known:
        return base
    # Alone, the first input also speaks for the second, with which it correlates.
    return base + moved * (1 if 1 in known else 1 + CORRELATION)


def run(case: str, rows: int, learner: str, seed: int) -> Record:
    rng = np.random.default_rng((seed, list(CASES).index(case)))
    tables, outcomes = [], []
    for table in (0, 1):
        X = CASES[case].draw(table, rows, rng)
        outcomes.append(signal(CASES[case].terms(table), X) + rng.standard_normal(rows))
        frame = pd.DataFrame(X, columns=list("abcd"))
        if case == "mix":
            frame["a"] = frame["a"].map({0: "low", 1: "middle", 2: "high"})
        tables.append(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = explain_change(*tables, outcomes, estimator=learner, random_state=seed)
    low, high = found.confidence_interval()
    spread = np.sqrt(np.mean([y.var() for y in outcomes]))
    return {"estimates": found.estimates.tolist(), "errors": found.standard_errors.tolist(),
            "low": low.tolist(), "high": high.tolist(), "spread": float(spread)}  # fmt: skip


def report(records: list[Record]) -> None:
    for key in dict.fromkeys((r["case"], r["rows"], r["learner"]) for r in records):
        some = [r for r in records if (r["case"], r["rows"], r["learner"]) == key]
        true, spread = np.array(truth(key[0])), np.mean([r["spread"] for r in some])
        columns = ("estimates", "errors", "low", "high")
        found, errors, low, high = (np.array([r[k] for r in some]) for k in columns)
        held = ((low <= true) & (true <= high)).mean(axis=0)
        off = (found - true) / spread
        rows = {
            "true": true / spread,
            "bias": off.mean(axis=0),
            "error": np.sqrt((off**2).mean(axis=0)),
            "stated": np.sqrt((errors**2).mean(axis=0)) / np.maximum(found.std(axis=0), 1e-12),
            "held": held,
        }
        print(f"{key[0]}, {key[1]} rows each, {key[2]}, {len(some)} runs: held {held.mean():.3f}")
        for name, values in rows.items():
            print(f"  {name:7}" + "".join(f"{value:8.3f}" for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=tuple(CASES), default=tuple(CASES))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 50))
    parser.add_argument("--out", type=Path, default=Path("change.jsonl"))
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    if given.report is None:
        keys = [
            {"case": case, "rows": given.rows, "learner": given.learner, "seed": seed}
            for seed in range(*given.seeds)
            for case in given.cases
        ]
        fill(given.out, keys, run)
    report(read(given.report or given.out))


if __name__ == "__main__":
    main()
