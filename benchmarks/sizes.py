"""Time and error of the defaults from 100 to 100 000 rows: nothing may jump at some number of rows.

    python -m benchmarks.sizes --cases 2 friedman --n 100 300 1000 3000 10000 --seeds 0 3 \
        --out sizes.jsonl [--plot sizes.png]

Each fit leaves a line in the file; those that it has are skipped. Between neighbouring sizes the
median CPU time may grow by the ratio of the rows to the power 1.3, and must not fall by more; the
report says where it does.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.cases import CASES
from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects
from shaff._util.typing import FloatArray
from shaff.datasets import experiment_1a, experiment_1b, experiment_2

EXPERIMENTS = {"1a": experiment_1a, "1b": experiment_1b, "2": experiment_2}
SIZES = (100, 200, 400, 800, 1500, 1900, 2100, 3000, 4900, 5100, 10_000, 12_000, 13_000, 30_000)
POWER = 1.3


def data(case: str, n: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X, y and the true effects."""
    if case in EXPERIMENTS:
        made = EXPERIMENTS[case](n=n, random_state=seed)
        return made.X, made.y, made.effects
    return *CASES[case].draw(n, seed), CASES[case].effects


def run(case: str, n: int, seed: int) -> Record:
    """Fit the defaults on one core."""
    X, y, effects = data(case, n, seed)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = ShapleyEffects(random_state=seed, n_jobs=1).fit(X, y).result_
    seconds = time.process_time() - started
    error = float(np.abs(result.effects - effects).sum())
    return {"error": round(error, 5), "cpu": round(seconds, 3), "estimator": result.estimator}


def medians(records: list[Record], case: str) -> dict[int, tuple[float, float]]:
    """CPU seconds and error of a case, by number of rows."""
    sizes = sorted({r["n"] for r in records if r["case"] == case})
    some = {n: [r for r in records if r["case"] == case and r["n"] == n] for n in sizes}
    return {
        n: tuple(float(np.median([r[name] for r in some[n]])) for name in ("cpu", "error"))
        for n in sizes
    }


def report(records: list[Record]) -> None:
    for case in dict.fromkeys(r["case"] for r in records):
        found = medians(records, case)
        print(f"\n{case}\n{'rows':>8s} {'CPU s':>8s} {'error':>8s}")
        for n, (cpu, error) in found.items():
            print(f"{n:8d} {cpu:8.2f} {error:8.4f}")
        for (n, (cpu, _)), (more, (longer, _)) in pairwise(found.items()):
            most = (more / n) ** POWER
            if not 1 / most <= longer / cpu <= most:
                print(f"  jump from {n} to {more} rows: {longer / cpu:.2f} times the time")


def plot(records: list[Record], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for case in dict.fromkeys(r["case"] for r in records):
        found = medians(records, case)
        for k, axis in enumerate(axes):
            axis.loglog(list(found), [pair[k] for pair in found.values()], "o-", label=case, ms=3)
    for axis, label in zip(axes, ("CPU seconds, one core", "sum of absolute errors"), strict=True):
        axis.set(xlabel="rows", ylabel=label)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*EXPERIMENTS, *CASES]
    parser.add_argument("--cases", nargs="+", choices=names, default=["2", "friedman"])
    parser.add_argument("--n", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3))
    parser.add_argument("--out", type=Path, default=Path("sizes.jsonl"))
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    keys = [
        {"case": case, "n": n, "seed": seed}
        for case in args.cases
        for n in args.n
        for seed in range(*args.seeds)
    ]
    fill(args.out, keys, run)
    records = read(args.out)
    report(records)
    if args.plot is not None:
        plot(records, args.plot)


if __name__ == "__main__":
    main()
