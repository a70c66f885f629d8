"""``python -m benchmarks.peers.real``: shaff and its peers on real tables, where no truth is known.

Six tables of packages on PyPI; rows with missing values are left out, and levels are numbered,
so that every tool gets the same numbers. Three questions that need no truth:

- *agrees*: rank correlation with the importances of shaff, and with all others on average;
- *halves*: the part of the credit that moves when a tool sees the other half of the rows, the mean
  over several ways to halve them;
- *time*: processor time on all rows, imports not counted.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import spearmanr

from benchmarks.peers.data import Data
from benchmarks.peers.runs import wrong_credit
from benchmarks.peers.systems import EVERY as PEERS
from benchmarks.tables import read_real
from shaff._util.typing import FloatArray
from shaff.data.table import read_table

NAMES = ("auto", "boston", "carseats", "wage", "star98", "bikeshare")
TOOLS = ("shaff", "qshap", "shap", "shap, interventional", "permutation importance",
         "impurity of a forest", "EBM")  # fmt: skip
HALVINGS = 3


def table(name: str) -> tuple[Data, tuple[str, ...]]:
    """The complete rows, in numbers, and the names of the inputs."""
    frame, y = read_real(name)
    kept = frame.notna().all(axis=1)
    read = read_table(frame[kept].reset_index(drop=True))
    return Data(read.X, np.asarray(y[kept], dtype=float), np.zeros(0)), tuple(frame.columns)


def importances(tool: str, data: Data, seed: int) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.maximum(PEERS[tool].call(data, seed).values, 0.0)


def part(data: Data, rows: FloatArray) -> Data:
    return Data(data.X[rows], data.y[rows], data.effects, data.classes)


def between_halves(tool: str, data: Data) -> float:
    """The part of the credit that moves from one half of the rows to the other."""
    moved = []
    for seed in range(HALVINGS):
        order = np.random.default_rng(seed).permutation(len(data.y))
        halves = np.array_split(order, 2)
        first, second = (importances(tool, part(data, rows), seed) for rows in halves)
        moved.append(wrong_credit(first, second))
    return float(np.mean(moved))


def timed(tool: str, data: Data) -> tuple[FloatArray, float]:
    importances(tool, part(data, np.arange(120)), 0)  # imports
    started = time.process_time()
    return importances(tool, data, 0), time.process_time() - started


def lines(name: str, tools: Sequence[str]) -> Iterator[str]:
    data, inputs = table(name)
    yield f"\n## {name}: {len(data.y)} rows, {len(inputs)} inputs\n"
    yield "| | agrees with shaff | with the others | halves | time | its first three |"
    yield "|---|---|---|---|---|---|"
    found, seconds, moved = {}, {}, {}
    for tool in tools:
        try:
            moved[tool] = between_halves(tool, data)
            found[tool], seconds[tool] = timed(tool, data)
        except Exception as error:
            yield f"| {tool} | fails: {str(error).partition('. ')[0][:80]} | | | | |"
    for tool, values in found.items():
        ranks = {other: spearmanr(values, found[other]).statistic
                 for other in found if other != tool}  # fmt: skip
        top = ", ".join(inputs[j] for j in np.argsort(-values)[:3])
        ours = f"{ranks['shaff']:.2f}" if "shaff" in ranks else "–"
        others = np.mean([value for other, value in ranks.items() if other != "shaff"])
        yield (f"| {tool} | {ours} | {others:.2f} | {moved[tool]:.3f} "
               f"| {seconds[tool]:.1f} s | {top} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.real")
    parser.add_argument("--tables", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--tools", nargs="+", choices=PEERS, default=TOOLS)
    given = parser.parse_args()
    for name in given.tables:
        for line in lines(name, given.tools):
            print(line, flush=True)
        print(f"{name} done", file=sys.stderr)


if __name__ == "__main__":
    main()
