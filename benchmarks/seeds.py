"""Real tables, one seed after the other: how much of the answer is luck?

    pip install --no-deps ISLP
    python -m benchmarks.seeds [--tables Hitters Auto] [--seeds 10] [--out seeds.jsonl]
    python -m benchmarks.seeds --report seeds.jsonl

The same table is explained by `ShapleyEffects(random_state=seed)` for several seeds; a fit leaves a
line in the file, and what the file has is skipped. The report has, for each table: the spread of
the raw effects over seeds beside the total error bar and beside what the result itself says that
subsets, trees and luck leave open (root mean squares over players), and how often the same player
comes first, with its lead over the second in error bars.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects
from shaff.results.effects import EffectsResult

# Table: its outcome, and columns that are names or row numbers.
TABLES = {
    "diabetes": ("target", ()),
    "Hitters": ("Salary", ()),
    "Carseats": ("Sales", ()),
    "Auto": ("mpg", ("name",)),
    "Credit": ("Balance", ("ID",)),
    "Boston": ("medv", ()),
}
NOT_DATA = ("design", "ensemble", "algorithm")


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Inputs and outcome, complete rows only."""
    outcome, dropped = TABLES[name]
    if name == "diabetes":
        table = load_diabetes(as_frame=True).frame
    else:
        package = find_spec("ISLP")
        if package is None or not package.submodule_search_locations:
            raise SystemExit("This table is in ISLP: pip install --no-deps ISLP")
        file = Path(package.submodule_search_locations[0]) / "data" / f"{name}.csv"
        table = pd.read_csv(file, na_values="?").dropna()
    unnamed = [column for column in table if str(column).startswith("Unnamed")]
    table = table.drop(columns=[*unnamed, *(c for c in dropped if c in table)])
    return table.drop(columns=outcome), table[outcome]


def run(table: str, seed: int) -> Record:
    X, y = load(table)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = ShapleyEffects(random_state=seed).fit(X, y).result_
    seconds = time.process_time() - started
    return {**figures(result), "cpu": round(seconds, 2)}


def figures(result: EffectsResult) -> Record:
    errors = result.errors_by_source or {}
    luck = np.sqrt(sum(np.square(errors[source]) for source in NOT_DATA if source in errors))
    return {
        "names": result.names,
        "effects": result.raw_effects.tolist(),
        "error": np.asarray(result.standard_errors).tolist(),
        "luck": luck.tolist(),
        "explained": result.explained_variance,
    }


def report(records: list[Record]) -> None:
    print(f"{'':10s}{'seeds':>6s}{'/ total':>9s}{'/ stated':>9s}{'first':>14s}{'of':>4s}"
          f"{'lead':>7s}{'explained':>17s}{'CPU s':>7s}")  # fmt: skip
    for name in dict.fromkeys(record["table"] for record in records):
        print(line(name, [record for record in records if record["table"] == name]))


def line(name: str, records: list[Record]) -> str:
    effects, error, luck = (np.array([r[k] for r in records]) for k in ("effects", "error", "luck"))
    spread = np.sqrt((effects.var(axis=0, ddof=1)).sum())
    total, stated = (np.sqrt((e**2).mean(axis=0).sum()) for e in (error, luck))
    first, count = Counter(records[0]["names"][row.argmax()] for row in effects).most_common(1)[0]
    mean = np.sort(effects.mean(axis=0))[::-1]
    lead = (mean[0] - mean[1]) / error.mean(axis=0)[effects.mean(axis=0).argmax()]
    explained = [record["explained"] for record in records]
    cpu = np.mean([record["cpu"] for record in records])
    return (f"{name:10s}{len(records):6d}{spread / total:9.2f}{spread / stated:9.2f}{first:>14s}"
            f"{count:4d}{lead:7.1f}{np.mean(explained):9.3f} ± {np.std(explained):.3f}"
            f"{cpu:7.1f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("seeds.jsonl"))
    parser.add_argument("--report", type=Path, help="only print the table of this file")
    options = parser.parse_args()
    if options.report is None:
        seeds = range(options.seeds)
        keys = [{"table": table, "seed": seed} for table in options.tables for seed in seeds]
        fill(options.out, keys, run)
    report(read(options.report or options.out))


if __name__ == "__main__":
    main()
