"""Fit times of two versions of shaff, in pairs: is the new one slower?

    pip install --no-deps --target OLD /path/to/another/checkout
    python -m benchmarks.pairs OLD [--new NEW] [--pairs 7] [--case 1a 2:4900] [--jobs 1] [--forest]

OLD (and NEW, by default the installed version) is a folder with a package ``shaff`` in it. Fits are
made in processes of their own, old and new in turn, on the same data; a process imports, fits once
on a small table, and then measures the CPU and wall time of one fit with the defaults. The figures
are medians over pairs of new over old: what else the machine does hits both. ``--forest`` fits the
paper's forest of 500 trees in the same process, on one core, as a yardstick for both.
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
from shaff.datasets import experiment_1a, experiment_1b, experiment_2, load_diabetes
case, seed, jobs, forest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "True"
if case == "diabetes":
    X, y, _ = load_diabetes()
else:
    name, _, rows = case.partition(":")
    sizes = {"n": int(rows)} if rows else {}
    make = {"1a": experiment_1a, "1b": experiment_1b, "2": experiment_2}[name]
    data = make(**sizes, random_state=seed)
    X, y = data.X, data.y
ShapleyEffects(random_state=0, n_jobs=jobs).fit(X[:100], y[:100])
cpu, wall = time.process_time(), time.perf_counter()
result = ShapleyEffects(random_state=seed, n_jobs=jobs).fit(X, y).result_
found = [time.process_time() - cpu, time.perf_counter() - wall]
if forest:
    from sklearn.ensemble import RandomForestRegressor
    model = RandomForestRegressor(500, max_features=1 / 3, min_samples_leaf=5, n_jobs=1)
    cpu = time.process_time()
    model.fit(X, y)
    found.append(time.process_time() - cpu)
print(*found)
"""
# An experiment, with its number of rows where that is not the paper's.
CASES = ("diabetes", "1a:1000", "2:1000", "1a", "2")
FIGURES = ("CPU", "wall", "forest")


def measure(folder: str | None, case: str, seed: int, jobs: int, forest: bool) -> list[float]:
    """CPU and wall seconds of one fit in a process of its own, and of the forest."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-c", MEASURE, case, str(seed), str(jobs), str(forest)]
    # The folder that Python starts in comes first on its path.
    run = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in run.stdout.split()]


def pairs(
    old: str, new: str | None, case: str, n_pairs: int, jobs: int, forest: bool
) -> np.ndarray:
    """Seconds of shape (n_pairs, 2, n_figures): old and new, CPU and wall (and forest)."""
    found = []
    for pair in range(n_pairs):
        seconds = {}
        # Each goes first every other time.
        for folder in (old, new) if pair % 2 else (new, old):
            seconds[folder] = measure(folder, case, pair, jobs, forest)
        found.append([seconds[old], seconds[new]])
        cpu, wall = (f"{seconds[old][k]:.2f} / {seconds[new][k]:.2f} s" for k in (0, 1))
        print(f"  {case} pair {pair}: CPU {cpu}, wall {wall}", flush=True)
    return np.array(found)


def report(case: str, seconds: np.ndarray) -> None:
    """Medians, and the spread of the pairs."""
    for k, figure in enumerate(FIGURES[:2]):
        ratios = seconds[:, 1, k] / seconds[:, 0, k]
        spread = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        print(f"{case}: new / old {figure} time {np.median(ratios):.3f} (pairs: {spread})")
    if seconds.shape[2] > len(FIGURES) - 1:
        old, new = (np.median(seconds[:, k, 0] / seconds[:, k, 2]) for k in (0, 1))
        print(f"{case}: CPU time over that of the paper's forest: old {old:.2f}, new {new:.2f}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old")
    parser.add_argument("--new")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--forest", action="store_true")
    parser.add_argument("--case", nargs="*", default=CASES, metavar="EXPERIMENT[:ROWS]")
    options = parser.parse_args()
    for case in options.case:
        found = pairs(options.old, options.new, case, options.pairs, options.jobs, options.forest)
        report(case, found)


if __name__ == "__main__":
    main()
