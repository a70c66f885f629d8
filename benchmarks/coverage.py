"""Are the error bars as long as they should be, and does the null test keep its level?

    python -m benchmarks.coverage [--quick] [--repeats 200] [--case linear] [--out coverage.jsonl]
    python -m benchmarks.coverage --case noise [--noise-rows 12 25]

Each data set leaves a line in the file, and what the file has is not run again.

Many data sets of 400 rows and eight inputs are drawn, and each is explained with the defaults of
`ShapleyEffects` and a budget of 60 of the 254 subsets. An interval is judged by how often it
covers the mean estimate over the data sets; beside it stands how often it covers the true effect,
bias of the model included. The inputs, in order:

- x1 and x2 depend on each other, x3 on neither: the large effects;
- x4 has an effect of exactly 0.02: the power of the null test;
- four have no effect: d1 and d2 correlate with each other, |x3| is a function of an input that
  has an effect, d3 is independent of everything. Tests that reject for them are false positives.

How often intervals cover the true effects of other functions: `benchmarks.truth`.

At the end come small tables of pure noise: how many of them find any significant effect.

The factors of `shaff.uncertainty.inference.training_factor` were set on other data
(`benchmarks.calibration`).
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects
from shaff._util.typing import FloatArray
from shaff.results.effects import EffectsResult

NAMES = ("x1", "x2", "x3", "x4", "d1", "d2", "|x3|", "d3")
N_ROWS, BUDGET, LEVEL, SIGNIFICANT = 400, 60, 0.95, 0.05
RHO, RHO_DUMMIES = 0.6, 0.8
# Shares of the variance of y: x1 and x2 together, x3, x4; the rest is noise.
PAIR, SINGLE, WEAK = 0.45, 0.25, 0.02
LARGE, DUMMIES, WEAK_ONE = slice(0, 3), slice(4, 8), 3
NOISE_ROWS, NOISE_COLUMNS = (60, 300), 4


@dataclass(frozen=True, eq=False)
class Case:
    """How y depends on x1, x2 and x3, and the true effects."""

    name: str
    linear: bool

    def draw(self, seed: int) -> tuple[FloatArray, FloatArray]:
        """Rows of one data set."""
        rng = np.random.default_rng([seed, self.linear])
        x1, x2 = correlated(rng, RHO)
        d1, d2 = correlated(rng, RHO_DUMMIES)
        x3, x4, d3, noise = rng.standard_normal((4, N_ROWS))
        y = self.signal(x1, x2, x3) + np.sqrt(WEAK) * x4
        y += np.sqrt(1 - PAIR - SINGLE - WEAK) * noise
        return np.column_stack([x1, x2, x3, x4, d1, d2, np.abs(x3), d3]), y

    def signal(self, x1: FloatArray, x2: FloatArray, x3: FloatArray) -> FloatArray:
        """Both terms have the variances `PAIR` and `SINGLE`."""
        if self.linear:
            pair = (2 * x1 + x2) / np.sqrt(5 + 4 * RHO)
            return np.sqrt(PAIR) * pair + np.sqrt(SINGLE) * x3
        pair = (x1 * x2 - RHO) / np.sqrt(1 + RHO**2)
        # The variance of sin(2x) is (1 - exp(-8)) / 2.
        wave = np.sin(2 * x3) * np.sqrt(2 / (1 - np.exp(-8)))
        return np.sqrt(PAIR) * pair + np.sqrt(SINGLE) * wave

    @property
    def effects(self) -> FloatArray:
        """True Shapley effects: the pair shares as a game of two, the others stand alone."""
        first, second = PAIR / 2, PAIR / 2
        if self.linear:
            alone = np.array([2 + RHO, 1 + 2 * RHO]) ** 2 / (5 + 4 * RHO) * PAIR
            first = (alone[0] + PAIR - alone[1]) / 2
            second = PAIR - first
        return np.array([first, second, SINGLE, WEAK, 0, 0, 0, 0])


CASES = {case.name: case for case in (Case("linear", True), Case("non-linear", False))}


def correlated(rng: np.random.Generator, rho: float) -> FloatArray:
    """Two standard normal variables."""
    factor = np.linalg.cholesky(np.array([[1, rho], [rho, 1]]))
    return np.asarray(factor @ rng.standard_normal((2, N_ROWS)), dtype=np.float64)


def explain(case: str, seed: int) -> Record:
    X, y = CASES[case].draw(seed)
    return figures(ShapleyEffects(n_subsets=BUDGET, random_state=seed).fit(X, y).result_)


def figures(result: EffectsResult) -> Record:
    low, high = result.confidence_interval(LEVEL)
    arrays = {
        "raw": result.raw_effects,
        "error": result.standard_errors,
        "low": low,
        "high": high,
        "p": result.null_test(adjust=None),
        "p_holm": result.null_test(),
        "explained": result.explained_variance,
        "explained_error": result.explained_variance_error,
    }
    return {name: np.asarray(array).tolist() for name, array in arrays.items()}


def covered(found: dict[str, FloatArray], target: FloatArray) -> FloatArray:
    """Share of the data sets whose interval holds the target, by player."""
    inside = (found["low"] <= target) & (target <= found["high"])
    return np.asarray(inside.mean(axis=0), dtype=np.float64)


def report(case: Case, records: list[Record]) -> None:
    names = ("raw", "error", "low", "high", "p", "p_holm", "explained", "explained_error")
    found = {name: np.array([record[name] for record in records]) for name in names}
    columns = {
        "true": case.effects,
        "mean": found["raw"].mean(axis=0),
        "sd": found["raw"].std(axis=0, ddof=1),
        "error bar": np.sqrt((found["error"] ** 2).mean(axis=0)),
        "cover mean": covered(found, found["raw"].mean(axis=0)),
        "cover true": covered(found, case.effects),
        "rejected": (found["p"] < SIGNIFICANT).mean(axis=0),
        "Holm": (found["p_holm"] < SIGNIFICANT).mean(axis=0),
    }
    print(f"\n{case.name}: {len(records)} data sets")
    print(f"{'':6s}" + "".join(f"{name:>12s}" for name in columns))
    for j, name in enumerate(NAMES):
        print(f"{name:6s}" + "".join(f"{column[j]:12.3f}" for column in columns.values()))
    verdict(columns, found)


def verdict(columns: dict[str, FloatArray], found: dict[str, FloatArray]) -> None:
    """The figures that have a bar, and those that stand beside them."""
    dummies, of_all = columns["rejected"][DUMMIES], found["explained"]
    inside = np.mean(np.abs(of_all - of_all.mean()) <= 1.96 * found["explained_error"])
    lines = {
        "coverage of the mean estimate, effects > 0.02": columns["cover mean"][LARGE].mean(),
        "coverage of the true effects": columns["cover true"][LARGE].mean(),
        "false positives at 5 %, four dummies": dummies.mean(),
        "power at an effect of 0.02": columns["rejected"][WEAK_ONE],
        "coverage of the mean explained variance": inside,
    }
    notes = ("", "", f"bar: 0.05; largest of the four {dummies.max():.3f}", "", "")
    for (name, figure), note in zip(lines.items(), notes, strict=True):
        print(f"{name:48s}{figure:6.3f}   {note}", flush=True)


def find_in_noise(noise_rows: int, seed: int) -> Record:
    """Is any effect significant, all tests taken together, where y depends on nothing?"""
    rng = np.random.default_rng([seed, noise_rows])
    X, y = rng.standard_normal((noise_rows, NOISE_COLUMNS)), rng.standard_normal(noise_rows)
    with warnings.catch_warnings():
        # That nothing is explained is what most of them should say.
        warnings.simplefilter("ignore", UserWarning)
        result = ShapleyEffects(random_state=seed).fit(X, y).result_
    return {"found": bool((result.null_test() < SIGNIFICANT).any())}


def report_noise(n_rows: int, records: list[Record]) -> None:
    found = np.mean([record["found"] for record in records])
    print(f"{f'pure noise, {n_rows} rows: data sets with an effect':48s}{found:6.3f}"
          f"   bar: 0.05; {len(records)} data sets", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200, help="data sets a case")
    parser.add_argument("--quick", action="store_true", help="20 data sets a case")
    parser.add_argument("--case", default="", help="only the case of this name")
    parser.add_argument("--noise-rows", type=int, nargs="+", default=NOISE_ROWS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("coverage.jsonl"))
    args = parser.parse_args()
    seeds = range(20 if args.quick else args.repeats)
    for case in CASES.values():
        if args.case in ("", case.name):
            fill(args.out, [{"case": case.name, "seed": k} for k in seeds], explain, args.jobs)
            report(case, [r for r in read(args.out) if r.get("case") == case.name])
    for n_rows in args.noise_rows if args.case in ("", "noise") else ():
        fill(args.out, [{"noise_rows": n_rows, "seed": k} for k in seeds], find_in_noise, args.jobs)
        report_noise(n_rows, [r for r in read(args.out) if r.get("noise_rows") == n_rows])


if __name__ == "__main__":
    main()
