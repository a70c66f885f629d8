"""Rows that depend on each other: false alarms of the checks, what they find, and tests with time.

    python -m benchmarks.dependence --seeds 0 20 --out dependence.jsonl
    python -m benchmarks.dependence --report dependence.jsonl

Each table is drawn by its kind and seed, explained with few subsets, and leaves one line in the
file; lines that the file already has are skipped. The report has one row a kind:

- independent rows: the share of tables in which a check gives a false alarm;
- planted dependence: the share of tables in which it is found (in `slow`, p < 0.05 is false);
- series with ``time=``: the share of tables in which an input that has nothing to do with the
  outcome has p < 0.05 (adjusted), and in which p-values are withheld.

Tables sorted by the outcome or by an input are among the independent ones: the order of their rows
is not looked at. The limits of the checks were set on seeds from 1000 on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.signal import lfilter

from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects

Array = npt.NDArray[Any]
Table = tuple[Any, Array]
Rng = np.random.Generator
SIGNIFICANT = 0.05
# A few words of the note of each check.
CHECKS = {"unit": "Make it the row groups", "twins": "have a twin", "series": "as in a series"}
COLUMNS = ("tables", *CHECKS, "p < 0.05", "withheld")


def _size(rng: Rng) -> int:
    """A number of rows between 200 and 4000, many small ones."""
    return int(200 * 20 ** rng.random())


def _inputs(rng: Rng, n: int, p: int | None = None) -> Array:
    p = int(rng.integers(3, 9)) if p is None else p
    mixing = rng.normal(size=(p, p)) / p
    return rng.normal(size=(n, p)) @ (np.eye(p) + mixing)


def _signal(X: Array) -> Array:
    return X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 0] * X[:, 2]


def _ar(rng: Rng, n: int, a: float, p: int | None = None) -> Array:
    noise = rng.normal(size=(n + 300, 1 if p is None else p))
    series = lfilter([1], [1, -a], noise, axis=0)[300:]
    return series[:, 0] if p is None else series


def _frame(X: Array, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({**{f"x{j}": x for j, x in enumerate(X.T)}, **more})


# Independent rows ------------------------------------------------------------------------------


def plain(rng: Rng) -> Table:
    """Numbers, bends and an interaction, normal noise."""
    X = _inputs(rng, _size(rng))
    return X, _signal(X) + rng.normal(size=len(X))


def noise(rng: Rng) -> Table:
    """An outcome that has nothing to do with the inputs."""
    X = _inputs(rng, _size(rng))
    return X, rng.normal(size=len(X))


def heavy(rng: Rng) -> Table:
    """Noise with heavy tails, and inputs too."""
    X = _inputs(rng, _size(rng))
    return np.sinh(X), _signal(X) + rng.standard_t(2, size=len(X))


def classes(rng: Rng) -> Table:
    """Two classes."""
    X = _inputs(rng, _size(rng))
    chance = 1 / (1 + np.exp(-_signal(X)))
    return X, np.where(rng.random(len(X)) < chance, "yes", "no")


def discrete(rng: Rng) -> Table:
    """A few levels in every column, so that most rows have a twin; a product, noise."""
    X = rng.integers(0, 4, size=(_size(rng), 4)).astype(float)
    return X, _signal(X) + rng.normal(size=len(X)) * rng.uniform(0.5, 2)


def factorial(rng: Rng) -> Table:
    """Three factors, all combinations with an outcome of their own, noise."""
    levels, n = (3, 4, 5), _size(rng) + 300
    X = np.column_stack([rng.integers(0, k, size=n) for k in levels]).astype(float)
    mains = [rng.normal(size=k) for k in levels]
    cells = 0.5 * rng.normal(size=levels)
    a, b, c = X.astype(int).T
    y = mains[0][a] + mains[1][b] + mains[2][c] + cells[a, b, c]
    return _frame(X).astype(str) if rng.random() < 0.5 else X, y + rng.normal(size=len(X))


def repeated(rng: Rng) -> Table:
    """Each design point several times, each time with noise of its own."""
    X = np.repeat(_inputs(rng, _size(rng) // 4 + 50), 4, axis=0)
    X = X[rng.permutation(len(X))]
    return X, _signal(X) + rng.normal(size=len(X))


def rounded(rng: Rng) -> Table:
    """Numbers with one digit, a count."""
    X = _inputs(rng, _size(rng), 3).round(0)
    return X, rng.poisson(np.exp(0.5 * np.clip(_signal(X), -4, 4))).astype(float)


def categories(rng: Rng) -> Table:
    """Categories with effects, and names that repeat and mean nothing."""
    X = _inputs(rng, _size(rng), 3)
    kind, name = rng.integers(0, 8, len(X)), rng.integers(0, max(len(X) // 8, 20), len(X))
    y = _signal(X) + rng.normal(size=8)[kind] + rng.normal(size=len(X))
    words = {"kind": [f"kind {k}" for k in kind], "name": [f"name {k}" for k in name]}
    return _frame(X, **words), y


def amounts(rng: Rng) -> Table:
    """Whole numbers that are amounts, under names of units: years of school, household size."""
    n = _size(rng)
    school, household = rng.integers(6, 19, n), rng.integers(1, 13, n)
    y = 0.15 * school + np.sqrt(household) + rng.normal(size=n)
    return _frame(_inputs(rng, n, 2), school=school, household=household), y


def by_input(rng: Rng) -> Table:
    """A table sorted by an input."""
    X, y = plain(rng)
    order = np.argsort(X[:, 0])
    return X[order], y[order]


def by_outcome(rng: Rng) -> Table:
    """A table sorted by the outcome."""
    X, y = plain(rng)
    order = np.argsort(y)
    return X[order], y[order]


# Planted dependence ----------------------------------------------------------------------------


def _repeated_rows(rng: Rng, n: int) -> Array:
    """Some of the rows two to five times, about n in all, in any order."""
    times = int(rng.integers(2, 6))
    return rng.permutation(np.repeat(np.arange(max(n // times, 60)), times))


def copies(rng: Rng) -> Table:
    """Each row two to five times."""
    X, y = noise(rng) if rng.random() < 0.5 else plain(rng)
    rows = _repeated_rows(rng, len(X))
    return X[rows], y[rows]


def twins(rng: Rng) -> Table:
    """Units of two to five rows with equal inputs, and a part of the outcome in common."""
    X, y = noise(rng) if rng.random() < 0.5 else plain(rng)
    rows = _repeated_rows(rng, len(X))
    return X[rows], y[rows] + rng.normal(size=len(rows))


def units(rng: Rng) -> Table:
    """Names that repeat, with a part of the outcome in common."""
    X = _inputs(rng, _size(rng) + 100, 4)
    n_units = len(X) // int(rng.integers(5, 15))
    unit = rng.integers(0, n_units, len(X))
    y = _signal(X) + rng.normal(size=n_units)[unit] + rng.normal(size=len(X))
    return _frame(X, place=[f"place {k}" for k in unit]), y


def panel(rng: Rng) -> Table:
    """A number of each person in any order of rows, with a part of the outcome in common."""
    X = _inputs(rng, _size(rng) + 100, 4)
    unit = rng.integers(0, len(X) // 8, len(X))
    y = _signal(X) + rng.normal(size=len(X))[unit] + rng.normal(size=len(X))
    return _frame(X, person=unit), y


def slow(rng: Rng) -> Table:
    """The series of `ar_time`, explained as if rows were independent."""
    return ar_time(rng)


def walks(rng: Rng) -> Table:
    """Random walks that have nothing to do with each other."""
    n = _size(rng)
    return rng.normal(size=(n, 2)).cumsum(axis=0), rng.normal(size=n).cumsum()


def seasonal(rng: Rng) -> Table:
    """A season that no input knows, as large as the noise."""
    X = _inputs(rng, _size(rng))
    season = np.sqrt(2) * np.sin(2 * np.pi * np.arange(len(X)) / rng.choice([4, 7, 12, 24, 52]))
    return X, _signal(X) + season + rng.normal(size=len(X))


def dated(rng: Rng) -> Table:
    """A series with dates, its rows in any order."""
    n = _size(rng)
    X, rest = _inputs(rng, n, 3), _ar(rng, n, 0.7)
    days = pd.date_range("2015-01-01", periods=n, freq="D")
    order = rng.permutation(n)
    return _frame(X[order], day=days[order]), (_signal(X) + rest)[order]


# Series, explained with time= ------------------------------------------------------------------


def ar_time(rng: Rng) -> Table:
    """Series with a coefficient of 0.9 that have nothing to do with each other, n = 1000."""
    return _ar(rng, 1000, 0.9, 1), _ar(rng, 1000, 0.9)


def ar_four_time(rng: Rng) -> Table:
    """The same with four inputs, n = 2000."""
    return _ar(rng, 2000, 0.9, 4), _ar(rng, 2000, 0.9)


def walks_time(rng: Rng) -> Table:
    """Random walks."""
    n = int(rng.integers(300, 2000))
    return rng.normal(size=(n, 1)).cumsum(axis=0), rng.normal(size=n).cumsum()


def changes_time(rng: Rng) -> Table:
    """Their differences."""
    X, y = walks_time(rng)
    return np.diff(X, axis=0), np.diff(y)


INDEPENDENT = (plain, noise, heavy, classes, discrete, factorial, repeated, rounded, categories,
               amounts, by_input, by_outcome)  # fmt: skip
PLANTED = (copies, twins, units, panel, slow, walks, seasonal, dated)
IN_TIME = (ar_time, ar_four_time, walks_time, changes_time)
KINDS: dict[str, Callable[[Rng], Table]] = {
    kind.__name__: kind for kind in (*INDEPENDENT, *PLANTED, *IN_TIME)
}


def run(kind: str, seed: int) -> Record:
    """Draw a table and explain it."""
    X, y = KINDS[kind](np.random.default_rng([seed, *kind.encode()]))
    time = np.arange(len(y)) if kind.endswith("_time") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = ShapleyEffects(n_subsets=8, random_state=seed).fit(X, y, time=time).result_
    record = {check: any(words in note for note in found.notes) for check, words in CHECKS.items()}
    p_value = None if found.p_values is None else float(found.null_test().min())
    return {**record, "n": len(y), "p_value": p_value}


def _line(records: list[Record]) -> tuple[float, ...]:
    known = [r["p_value"] for r in records if r["p_value"] is not None]
    return (
        len(records),
        *(np.mean([r[check] for r in records]) for check in CHECKS),
        sum(p < SIGNIFICANT for p in known) / len(records),
        1 - len(known) / len(records),
    )


def report(path: Path) -> None:
    """Print shares by kind, and those of all tables with independent rows."""
    records = read(path)
    print(f"{'':14}" + "".join(f"{column:>10}" for column in COLUMNS))
    for label, kinds in (("independent", INDEPENDENT), ("planted", PLANTED), ("time=", IN_TIME)):
        names = [kind.__name__ for kind in kinds]
        print(label)
        for name in [*names, "all"]:
            chosen = [
                r for r in records if r["kind"] == name or (name == "all" and r["kind"] in names)
            ]
            if chosen:
                n_tables, *shares = _line(chosen)
                print(f"  {name:12}{n_tables:>10}" + "".join(f"{s:>10.3f}" for s in shares))


def main() -> None:
    """Run what is asked for, or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 20))
    parser.add_argument("--out", type=Path, default=Path("dependence.jsonl"))
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    if options.report is None:
        seeds = range(*options.seeds)
        fill(options.out, [{"kind": k, "seed": s} for s in seeds for k in options.kinds], run)
    report(options.report or options.out)


if __name__ == "__main__":
    main()
