"""Fit times of two versions of shaff, in pairs: is the new one slower?

    pip install --no-deps --target OLD /path/to/another/checkout
    python -m benchmarks.pairs OLD [--new NEW] [--pairs 7] [--case 1a] [--jobs 1]

OLD (and NEW, by default the installed version) is a folder with a package ``shaff`` in it. Fits are
made in processes of their own, old and new in turn, on the same data; a process imports, fits once
on a small table, and then measures the CPU time of one fit with the defaults. The figure is the
median over pairs of new over old: what else the machine does hits both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import numpy as np

MEASURE = """
import sys, time, warnings
warnings.simplefilter("ignore")
from shaff import ShapleyEffects
from shaff.datasets import experiment_1a, experiment_2, load_diabetes
case, seed, jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if case == "diabetes":
    X, y, _ = load_diabetes()
else:
    name, _, rows = case.partition(":")
    sizes = {"n": int(rows)} if rows else {}
    data = {"1a": experiment_1a, "2": experiment_2}[name](**sizes, random_state=seed)
    X, y = data.X, data.y
ShapleyEffects(random_state=0, n_jobs=jobs).fit(X[:100], y[:100])
start = time.process_time()
result = ShapleyEffects(random_state=seed, n_jobs=jobs).fit(X, y).result_
print(time.process_time() - start, result.effects.sum())
"""
# An experiment, with its number of rows where that is not the paper's.
CASES = ("diabetes", "1a:1000", "2:1000", "1a", "2")


def measure(folder: str | None, case: str, seed: int, jobs: int) -> float:
    """CPU seconds of one fit in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-c", MEASURE, case, str(seed), str(jobs)]
    # The folder that Python starts in comes first on its path.
    run = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return float(run.stdout.split()[0])


def ratios(old: str, new: str | None, case: str, n_pairs: int, jobs: int) -> list[float]:
    found = []
    for pair in range(n_pairs):
        seconds = {}
        # Each goes first every other time.
        for folder in (old, new) if pair % 2 else (new, old):
            seconds[folder] = measure(folder, case, pair, jobs)
        found.append(seconds[new] / seconds[old])
        print(f"  {case} pair {pair}: {seconds[old]:.2f} s, {seconds[new]:.2f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old")
    parser.add_argument("--new")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", nargs="*", default=CASES, choices=(*CASES, "2:100000"))
    options = parser.parse_args()
    for case in options.case:
        found = ratios(options.old, options.new, case, options.pairs, options.jobs)
        spread = ", ".join(f"{ratio:.2f}" for ratio in sorted(found))
        print(f"{case}: new / old CPU time {np.median(found):.3f} (pairs: {spread})", flush=True)


if __name__ == "__main__":
    main()
