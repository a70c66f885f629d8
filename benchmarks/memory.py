"""Peak memory of ``ShapleyEffects.fit``: ``python -m benchmarks.memory [n_rows]``.

A process of its own fits on n = 100 000 rows, p = 30 columns, 100 trees, 200 subsets. Its peak
resident memory, less what it held after the imports, is set against 1.5 x (forest + data) + 500 MB.
Data: X and y as float64. Forest: the nodes and values of scikit-learn's trees, 20 times those of
the first 5.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from shaff import ShapleyEffects

N_COLUMNS, N_TREES, N_SUBSETS = 30, 100, 200
MEGABYTE = 1e6


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


def make_data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    X[:, 1:] = 0.5 * X[:, :-1] + np.sqrt(0.75) * X[:, 1:]
    return X, X[:, ::3].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n_rows)


def forest(n_trees: int) -> RandomForestRegressor:
    return RandomForestRegressor(n_trees, max_features=1 / 3, min_samples_leaf=5, random_state=0)


def measure(n_rows: int) -> None:
    """In the process that is measured."""
    before = peak_megabytes()
    X, y = make_data(n_rows)
    est = ShapleyEffects(
        forest(N_TREES), n_subsets=N_SUBSETS, n_jobs=2, random_state=0, verbose=0
    ).fit(X, y)
    print(peak_megabytes() - before, est.result_.n_subsets)


def forest_bytes(X: np.ndarray, y: np.ndarray) -> int:
    trees = forest(5).fit(X, y).estimators_
    states = [tree.tree_.__getstate__() for tree in trees]
    return N_TREES // 5 * sum(s["nodes"].nbytes + s["values"].nbytes for s in states)


def main(n_rows: int) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", str(n_rows), "measure"],
        capture_output=True,
        text=True,
        check=True,
    )
    peak, n_subsets = run.stdout.split()
    X, y = make_data(n_rows)
    data, trees = (X.nbytes + y.nbytes) / MEGABYTE, forest_bytes(X, y) / MEGABYTE
    limit = 1.5 * (trees + data) + 500
    print(f"n = {n_rows}, p = {N_COLUMNS}, {N_TREES} trees, {n_subsets} subsets evaluated")
    print(f"data {data:.0f} MB, forest {trees:.0f} MB: limit {limit:.0f} MB")
    print(f"peak of fit {float(peak):.0f} MB: {'within' if float(peak) <= limit else 'OVER'}")


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    if sys.argv[2:] == ["measure"]:
        measure(rows)
    else:
        main(rows)
