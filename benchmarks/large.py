"""1 000 000 rows x 50 columns from a parquet file: time, memory, error bars.

Run ``python -m benchmarks.large``; the file is made first, batch by batch, and is not timed.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from shaff import ShapleyEffects
from shaff.results.effects import EffectsResult

N_ROWS, N_COLUMNS, BATCH = 1_000_000, 50, 100_000
MAX_SECONDS, MAX_GIGABYTES = 600, 4.0


def batch(rng: np.random.Generator, n_rows: int) -> pl.DataFrame:
    """Correlated neighbours, ten columns that matter, two of them in an interaction."""
    noise = rng.standard_normal((n_rows, N_COLUMNS + 1))
    X = (noise[:, 1:] + noise[:, :-1]) / np.sqrt(2)
    y = X[:, :8] @ np.linspace(1, 0.3, 8) + 2 * X[:, 8] * (X[:, 9] > 0)
    y += 1.5 * rng.standard_normal(n_rows)
    return pl.DataFrame(X, schema=[f"x{j}" for j in range(N_COLUMNS)]).with_columns(y=pl.Series(y))


def write_file(path: Path, n_rows: int = N_ROWS) -> None:
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    first = batch(rng, BATCH).to_arrow()
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for _ in range(n_rows // BATCH - 1):
            writer.write_table(batch(rng, BATCH).to_arrow().cast(first.schema))


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def explain(path: Path, n_jobs: int) -> EffectsResult:
    est = ShapleyEffects(random_state=0, n_jobs=n_jobs, verbose=int(sys.stderr.isatty()))
    return est.fit(path, "y").result_


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        write_file(path)
        print(f"{N_ROWS} rows x {N_COLUMNS} columns, {path.stat().st_size / 2**20:.0f} MB on disk")
        start = time.perf_counter()
        result = explain(path, n_jobs=2)
        seconds, memory = time.perf_counter() - start, peak_gigabytes()
    print(result.summary(max_inputs=12))
    print(f"{seconds:.0f} s (limit {MAX_SECONDS}), {memory:.2f} GB (limit {MAX_GIGABYTES:.0f})")
    assert result.standard_errors is not None
    ok = seconds <= MAX_SECONDS and memory <= MAX_GIGABYTES
    print("passed" if ok else "FAILED")
    sys.exit(not ok)


if __name__ == "__main__":
    main()
