"""Data that do not fit in memory: effects from a folder of parquet, with all rows measured.

    python -m benchmarks.lake run    --out lake.jsonl --folder DATA [--rows 100000 1000000 10000000]
    python -m benchmarks.lake report --out lake.jsonl
    python -m benchmarks.lake --kernel

The folder is filled in blocks, by a seed each, and kept. Each fit runs in a process of its own and
leaves a line: CPU seconds, peak memory, data errors, and how far the effects are from the truth,
which is known in closed form: y is a sum over ten independent pairs of correlated normal columns
(products, waves, gates, squares, lines, steps), two columns each, beside ten columns without any
effect and noise of a fifth of the variance. `--kernel` times what new rows cost.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects
from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.values.boosting.projected_boosting import ProjectedBoosting

ROWS = (100_000, 1_000_000, 10_000_000)
FILE_ROWS = 250_000
N_NULLS = 10
NOISE = 0.2
Values = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two columns of a given correlation, and a share of the variance of y that is their own."""

    function: Callable[[FloatArray, FloatArray], FloatArray]
    # Variance that the first, the second and both explain, by the correlation.
    values: Callable[[float], Values]
    correlation: float
    share: float

    @property
    def effects(self) -> tuple[float, float]:
        first, second, both = self.values(self.correlation)
        one, other = (both + first - second) / 2, (both + second - first) / 2
        return self.share * one / both, self.share * other / both

    def draw(self, rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
        r = self.correlation
        a, b = rng.standard_normal((2, n))
        b = r * a + math.sqrt(1 - r**2) * b
        f = self.function(a, b) * math.sqrt(self.share / self.values(r)[2])
        return np.stack([a, b], axis=1), f


def wave_values(r: float) -> Values:
    alone = (1 - math.exp(-8)) / 2
    return alone, math.exp(-4 * (1 - r**2)) * (1 - math.exp(-8 * r**2)) / 2, alone


KINDS: dict[str, tuple[Callable[..., FloatArray], Callable[[float], Values]]] = {
    "product": (lambda a, b: a * b, lambda r: (2 * r**2, 2 * r**2, 1 + r**2)),
    "wave": (lambda a, b: np.sin(2 * a), wave_values),
    "gate": (lambda a, b: a * (b > 0), lambda r: (0.25, 0.0, 0.5)),  # of independent columns
    "squares": (
        lambda a, b: a**2 + b**2,
        lambda r: (2 * (1 + r**2) ** 2, 2 * (1 + r**2) ** 2, 4 + 4 * r**2),
    ),
    "line": (lambda a, b: a + b / 2, lambda r: ((1 + r / 2) ** 2, (r + 0.5) ** 2, 1.25 + r)),
    "step": (lambda a, b: 1.0 * (a > 0), lambda r: (0.25, math.asin(r**2) / (2 * math.pi), 0.25)),
}
PAIRS = [
    Pair(*KINDS[kind], correlation, share)
    for kind, correlation, share in (
        ("product", 0.5, 0.12),
        ("product", 0.0, 0.06),
        ("wave", 0.6, 0.10),
        ("gate", 0.0, 0.10),
        ("gate", 0.0, 0.04),
        ("squares", 0.4, 0.10),
        ("squares", 0.0, 0.06),
        ("line", 0.7, 0.12),
        ("line", 0.3, 0.04),
        ("step", 0.8, 0.06),
    )
]
TRUTH = np.array([effect for pair in PAIRS for effect in pair.effects] + [0.0] * N_NULLS)
NAMES = [f"x{j:02d}" for j in range(len(TRUTH))]


def draw(n: int, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    parts = [pair.draw(rng, n) for pair in PAIRS]
    X = np.hstack([*(columns for columns, _ in parts), rng.standard_normal((n, N_NULLS))])
    return X, sum(f for _, f in parts) + math.sqrt(NOISE) * rng.standard_normal(n)


def fill_folder(folder: Path, n_rows: int) -> None:
    """Files of one size after the other; those that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, first in enumerate(range(0, n_rows, FILE_ROWS)):
        path = folder / f"{k:04d}.parquet"
        if not path.exists():
            X, y = draw(min(FILE_ROWS, n_rows - first), seed=10_000 + k)
            frame = pl.DataFrame(X, schema=NAMES).with_columns(y=pl.Series(y))
            frame.write_parquet(path.with_suffix(".part"), row_group_size=65_536)
            path.with_suffix(".part").rename(path)


def run(n_rows: int, seed: int, folder: Path) -> Record:
    """In a process of its own, whose memory is its own."""
    data = folder / str(n_rows)
    fill_folder(data, n_rows)
    command = [sys.executable, "-m", "benchmarks.lake", "fit", "--folder", str(data)]
    done = subprocess.run([*command, "--seed", str(seed)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: Record = json.loads(done.stdout)
    return found


def fit(folder: Path, seed: int) -> Record:
    started = time.process_time()
    est = ShapleyEffects(max_rows=100_000, value_rows="all", n_jobs=2, random_state=seed)
    result = est.fit(folder, "y").result_
    assert result.errors_by_source is not None
    off = result.effects - TRUTH
    return {
        "cpu_seconds": time.process_time() - started,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "measured": result.n_rows,
        "grown": result.n_grown,
        "n_subsets": result.n_subsets,
        "v_all": result.explained_variance,
        "v_plain": result.plain_explained_variance,
        "largest_miss": float(np.abs(off).max()),
        "cumulative_miss": float(np.abs(off).sum()),
        "errors": {k: float(e[:20].mean()) for k, e in result.errors_by_source.items()},
        "v_error": result.explained_variance_error,
        "effects": result.effects.round(5).tolist(),
    }


def report(path: Path) -> None:
    runs = sorted(read(path), key=lambda r: (r["seed"], r["n_rows"]))
    before: Record | None = None
    for r in runs:
        print(
            f"{r['n_rows']:>9} rows, {r['n_subsets']} subsets: {r['cpu_seconds']:.0f} CPU s "
            f"({r['cpu_seconds'] / 120:.1f} minutes of two cores), peak {r['peak_gb']:.2f} GB, "
            f"v(all) {r['v_all']:.4f} (plain {r['v_plain']:.4f}, true {1 - NOISE:.4f}), largest "
            f"miss {r['largest_miss']:.4f}, data error {r['errors']['data']:.6f}, design "
            f"{r['errors']['design']:.6f}, algorithm {r['errors']['algorithm']:.6f}"
        )
        if before is not None and before["seed"] == r["seed"]:
            times, error = (r[k] / before[k] for k in ("cpu_seconds", "n_rows")), r["errors"]
            cpu, rows = times
            print(
                f"          {rows:.0f} times the rows: {cpu:.2f} times the CPU time, "
                f"{error['data'] / before['errors']['data']:.3f} times the data error"
            )
        before = r


def kernel() -> None:
    """CPU time of learning and of predicting, a row, tree and subset."""
    X, y = draw(30_000, 0)
    boosting = ProjectedBoosting(Problem.of(X[:20_000], y[:20_000], cv=2, random_state=0))
    model, cancel = boosting._models[0], np.zeros(1, np.uint8)
    rng, n_subsets = np.random.default_rng(0), 64
    masks = rng.random((n_subsets, X.shape[1])) < rng.random((n_subsets, 1))
    stops = np.full(n_subsets, boosting.n_trees_)
    for halves in (False, True):
        start = time.process_time()
        steps = model.learn(masks, stops, boosting.shrinkage_, cancel, halves=halves)
        learnt = time.process_time()
        rows = model.new_rows(X[20_000:])
        coded = time.process_time()
        steps.predict(rows, cancel)
        done = time.process_time()
        each = 1e9 / n_subsets / boosting.n_trees_ / 10_000
        what = "with halves" if halves else "all rows"
        print(
            f"{what}: learning {(learnt - start) * each:.2f} ns, "
            f"predicting {(done - coded) * each:.2f} ns a row, tree and subset; coding "
            f"{(coded - learnt) / 10_000 * 1e6:.1f} us a row; steps {steps.nbytes / 1e6:.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="?", choices=("run", "report", "fit"), default="report")
    parser.add_argument("--out", type=Path, default=Path("lake.jsonl"))
    parser.add_argument("--folder", type=Path, default=Path("build/lake"))
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernel", action="store_true")
    given = parser.parse_args()
    if given.kernel:
        kernel()
    elif given.command == "fit":
        print(json.dumps(fit(given.folder, given.seed)))
    elif given.command == "run":
        keys = [{"n_rows": n, "seed": given.seed} for n in given.rows]
        fill(given.out, keys, lambda n_rows, seed: run(n_rows, seed, given.folder))
        report(given.out)
    else:
        report(given.out)


if __name__ == "__main__":
    main()
