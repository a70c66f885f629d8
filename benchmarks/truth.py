"""Errors, coverage of the true effects and false positives of the defaults, case by case.

    python -m benchmarks.truth --cases ishigami friedman --n 1000 --seeds 0 40 --out runs.jsonl
    python -m benchmarks.truth --report runs.jsonl
    python -m benchmarks.truth --report new.jsonl --against old.jsonl [--oracle]

Each data set of `benchmarks.cases` is explained by `ShapleyEffects(random_state=seed)` and leaves
one line in the file; runs that the file already has are skipped. The report has one row a case:

- error: sum of the absolute errors of the reported effects;
- bias v: explained variance less the true v(all);
- covers, length: 95 % intervals of the true effects above 0.02: how many hold them, how long;
- upper, v(all), differ: how many 95 % upper bounds of these effects, intervals of v(all) and
  intervals of differences of two of these effects hold the truth;
- note: how many results say that more rows would explain more;
- false +, below 0: inputs that are independent of everything: p-values under 0.05, and
  intervals that lie wholly below 0.

The last rows are means over the rows of the named cases, of the others, and of those that no
constant was chosen by. ``--against`` compares two files on the data sets that both have, with the
error of an oracle on the same rows (`benchmarks.oracle`) beside them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import CASES, Case
from benchmarks.lines import Record, fill, read
from benchmarks.oracle import oracle_error
from shaff import ShapleyEffects
from shaff.results.effects import EffectsResult

LEVEL, SIGNIFICANT, LARGE = 0.95, 0.05, 0.02
UNSURE = "More rows would help"
COLUMNS = ("runs", "error", "± se", "bias v", "covers", "length", "upper", "v(all)", "differ",
           "note", "false +", "below 0", "CPU s")  # fmt: skip


def run(case: str, n: int, seed: int) -> Record:
    """Explain one data set with the defaults."""
    X, y = CASES[case].draw(n, seed)
    started = time.process_time()
    with warnings.catch_warnings():
        # That little is explained is a figure of the report.
        warnings.simplefilter("ignore", UserWarning)
        result = ShapleyEffects(random_state=seed).fit(X, y).result_
    seconds = time.process_time() - started
    return {**figures(result), "cpu": round(seconds, 3)}


def figures(result: EffectsResult) -> Record:
    """What a run keeps of a result."""
    low, high = result.confidence_interval(LEVEL)
    return {
        "effects": plain(result.effects),
        "raw_effects": plain(result.raw_effects),
        "explained_variance": plain(result.explained_variance),
        "plain_effects": plain(
            result.raw_effects if result.plain_effects is None else result.plain_effects
        ),
        "plain_explained_variance": result.plain_explained_variance,
        "unsure": any(UNSURE in note for note in result.notes),
        # Earlier versions, which this is run with too, do not have these.
        "rise": plain(getattr(result, "learning_rise", None)),
        "rise_error": plain(getattr(result, "learning_rise_error", None)),
        "reach": plain(getattr(result, "reach", None)),
        "explained_variance_error": plain(result.explained_variance_error),
        "explained_interval": plain(result.explained_interval(LEVEL)),
        "upper": plain(result.upper_bound(LEVEL)),
        "differences": differences(result),
        "standard_errors": {name: plain(e) for name, e in (result.errors_by_source or {}).items()},
        "low": plain(low),
        "high": plain(high),
        "p_values": plain(result.null_test(adjust=None)),
        "estimator": result.estimator,
        "n_subsets": result.n_subsets,
    }


def differences(result: EffectsResult) -> list[list[float]]:
    """Low and high ends of the differences of all pairs."""
    pairs = combinations(range(len(result.names)), 2)
    found = (result.difference(i, j, LEVEL) for i, j in pairs)
    return [plain([one.low, one.high]) for one in found]


def plain(figure: Any) -> Any:
    return np.round(np.asarray(figure, dtype=float), 7).tolist()


def row(case: Case, records: list[Record]) -> list[float]:
    """The figures of `COLUMNS` of one case; NaN where a case has no nulls."""
    truth, explained = case.effects, case.values()[-1]
    large, nulls = truth > LARGE, list(case.nulls)
    low, high, p_values = (column(records, name) for name in ("low", "high", "p_values"))
    errors = np.abs(column(records, "effects") - truth).sum(axis=1)
    return [
        len(records),
        errors.mean(),
        errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan,
        column(records, "explained_variance").mean() - explained,
        coverage(case, records).mean(),
        (high - low)[:, large].mean(),
        (truth <= column(records, "upper"))[:, large].mean(),
        held(column(records, "explained_interval"), explained).mean(),
        of_differences(records, truth).mean(),
        column(records, "unsure").mean(),
        (p_values[:, nulls] < SIGNIFICANT).mean() if nulls else np.nan,
        (high[:, nulls] < 0).mean() if nulls else np.nan,
        column(records, "cpu").mean(),
    ]


def coverage(case: Case, records: list[Record]) -> np.ndarray:
    """Which intervals of effects above `LARGE` hold these."""
    ends = np.stack([column(records, "low"), column(records, "high")], axis=-1)
    return held(ends, case.effects)[:, case.effects > LARGE]


def held(intervals: np.ndarray, truth: np.ndarray | float) -> np.ndarray:
    """Whether intervals, whose ends are the last axis, hold the truth."""
    return (intervals[..., 0] <= truth) & (truth <= intervals[..., 1])


def of_differences(records: list[Record], truth: np.ndarray) -> np.ndarray:
    """Which intervals of differences of two large effects hold these."""
    pairs = list(combinations(range(len(truth)), 2))
    large = [k for k, (i, j) in enumerate(pairs) if min(truth[i], truth[j]) > LARGE]
    differences = np.array([truth[i] - truth[j] for i, j in pairs])
    return held(column(records, "differences")[:, large], differences[large])


def column(records: list[Record], name: str) -> np.ndarray:
    return np.array([record[name] for record in records])


def report(records: list[Record]) -> None:
    """One table a number of rows."""
    for n in sorted({record["n"] for record in records}, reverse=True):
        by_case = {
            name: [r for r in records if r["case"] == name and r["n"] == n] for name in CASES
        }
        rows = {name: row(CASES[name], found) for name, found in by_case.items() if found}
        print(f"\nn = {n}\n{'':18s}" + "".join(f"{name:>9s}" for name in COLUMNS))
        for name, entries in {**rows, **pooled(rows)}.items():
            print(f"{name:18s}{entries[0]:9.0f}" + "".join(map(shown, entries[1:])))


def pooled(rows: dict[str, list[float]]) -> dict[str, list[float]]:
    """Means over the named cases and over the others, without those that stand apart."""
    groups = {
        "named": [rows[name] for name in rows if CASES[name].named],
        "own, no parity": [rows[c.name] for c in own() if c.name in rows],
        "unseen": [rows[name] for name in rows if CASES[name].unseen],
        "all, no parity": [rows[name] for name in rows if not CASES[name].apart],
    }
    return {label: mean_row(np.array(group)) for label, group in groups.items() if group}


def own() -> list[Case]:
    return [c for c in CASES.values() if not (c.named or c.apart or c.unseen)]


def compare(new: list[Record], old: list[Record], oracle: bool) -> None:
    """Errors of two versions on the same data sets, case by case and in the mean."""
    key = ("case", "n", "seed")
    before = {tuple(r[k] for k in key): r for r in old}
    pairs = [(r, before[k]) for r in new if (k := tuple(r[name] for name in key)) in before]
    for n in sorted({r["n"] for r, _ in pairs}):
        some = [pair for pair in pairs if pair[0]["n"] == n]
        print(f"\nn = {n}\n{'':14s}   sets      old      new  new/old  covers   oracle  new/oracle")
        found = {c: compared(c, [p for p in some if p[0]["case"] == c], oracle) for c in CASES}
        lines = {case: figures for case, figures in found.items() if figures is not None}
        for case, figures in lines.items():
            print(f"{case:14s}" + "".join(map(shown, figures)))
        for label, chosen in {"all": list(lines), "unseen": unseen(lines)}.items():
            if chosen:
                sets, *rest = np.mean([lines[c] for c in chosen], axis=0)
                rest[2], rest[5] = rest[1] / rest[0], rest[1] / rest[4]
                print(f"mean, {label:8s}" + "".join(map(shown, [sets * len(chosen), *rest])))


def unseen(cases: Iterable[str]) -> list[str]:
    return [name for name in cases if CASES[name].unseen]


def compared(name: str, pairs: list[tuple[Record, Record]], oracle: bool) -> list[float] | None:
    """Number of sets, errors of both and their ratio, coverage of the new, the oracle's error."""
    if not pairs:
        return None
    case = CASES[name]
    new, old = ([p[k] for p in pairs] for k in (0, 1))
    error = [np.abs(column(r, "effects") - case.effects).sum(axis=1).mean() for r in (old, new)]
    covers = coverage(case, new).mean()
    best = np.nan
    if oracle:
        best = np.mean([oracle_error(case, r["n"], r["seed"]) for r in new])
    return [len(pairs), *error, error[1] / error[0], covers, best, error[1] / best]


def mean_row(rows: np.ndarray) -> list[float]:
    """Counts are summed, standard errors combined, the rest averaged where there is a figure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        means = np.nanmean(rows, axis=0)
    means[0] = rows[:, 0].sum()
    means[2] = np.sqrt((rows[:, 2] ** 2).sum()) / len(rows)
    return list(means)


def shown(figure: float) -> str:
    return f"{'-':>9s}" if np.isnan(figure) else f"{figure:9.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--n", type=int, default=1000, help="rows of a data set")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 40), help="first, and last + 1")
    parser.add_argument("--out", type=Path, default=Path("runs.jsonl"))
    parser.add_argument("--report", type=Path, help="only print the table of this file")
    parser.add_argument("--against", type=Path, help="compare it with this one")
    parser.add_argument("--oracle", action="store_true", help="with the error of the rows alone")
    args = parser.parse_args()
    if args.against is not None:
        compare(read(args.report or args.out), read(args.against), args.oracle)
        return
    if args.report is None:
        seeds = range(*args.seeds)
        keys = [{"case": case, "n": args.n, "seed": seed} for case in args.cases for seed in seeds]
        fill(args.out, keys, run)
    report(read(args.report or args.out))


if __name__ == "__main__":
    main()
