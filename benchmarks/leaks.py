"""Leaks and identities: which are found when planted, and what is said of tables without any.

    python -m benchmarks.leaks planted [--seeds 3]
    python -m benchmarks.leaks clean [--every-column]

`planted` puts twelve kinds of leaks and identities into real tables (`benchmarks.tables`) and
simulated ones, and prints how often all planted inputs are named, and how often others are.
`clean` prints all that is said of real tables, each with the outcome that it was published for, or
with each of its columns. The checks run without a fit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from benchmarks.tables import MORE, TABLES, read_table
from shaff.data.problem import Problem, RawData, ReadingOptions, read_problem
from shaff.errors import InputError
from shaff.fitting.checks.identities import find_identities
from shaff.fitting.checks.leaks import find_leaks

# Alarms that are right, and why.
TRUE = {
    "wage": "logwage is its logarithm",
    "birthweight": "bwghtlbs is the outcome in pounds, but for six typing errors",
    "mroz": "inlf says whether hours are above 0",
    "rossi": "arrest ends the weeks: without one they are 52",
    "senators": "end_date and reason are missing as long as the outcome is open",
    "fringe": "annearn = hrearn x annhrs, lannearn its logarithm",
    "job training": "log scrap = lscrap_1 + clscrap, last year's value and the change",
}
TOYS = ("diabetes", "breast_cancer", "iris", "wine", "digits")
BASES = (
    "auto", "boston", "carseats", "college", "credit", "wage", "fair", "grunfeld", "birthweight",
    "munnell", "gbsg2", "randhie", "body mass", "rossi",
)  # fmt: skip
SIMULATED = ((60, 5), (200, 40), (1000, 12), (5000, 30))


def read_toy(name: str) -> tuple[Any, Any]:
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    is_class = name != "diabetes"
    y = bunch.target.astype(str) if is_class else bunch.target
    return bunch.data, y


def problem_of(X: Any, y: Any) -> Problem:
    return read_problem(RawData(X, y), ReadingOptions(seed=0), np.asarray)


def said(X: Any, y: Any) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Inputs that give the outcome away alone, and those that do together."""
    problem = problem_of(X, y)
    leaks = find_leaks(problem)
    together = find_identities(problem, (*leaks.ordered, *leaks.separating))
    return leaks.names, [identity.names for identity in together]


# --- planted ---

Planted = tuple[dict[str, Any], Any]


def _positive(y: Any) -> Any:
    return y - y.min() + 0.1 * y.std()


def _written(rng: np.random.Generator, x: Any, y: Any) -> Any:
    """Numbers as they are, or with the digits that show a thousandth of the outcome's spread."""
    return x if rng.random() < 0.5 else np.round(x, max(0, int(np.ceil(3 - np.log10(y.std())))))


def logarithm(y: Any, rng: Any) -> Planted:
    y = _positive(y)
    return {"leak": _written(rng, np.log(y), np.log(y))}, y


def rank(y: Any, rng: Any) -> Planted:
    return {"leak": -pd.Series(y).rank().to_numpy()}, y


def other_units(y: Any, rng: Any) -> Planted:
    return {"leak": np.round(32 + 1.8 * y, max(0, int(np.ceil(2 - np.log10(y.std())))))}, y


def bands(y: Any, rng: Any) -> Planted:
    codes = np.digitize(y, np.unique(np.quantile(y, [0.25, 0.5, 0.75])))
    return {"leak": np.array(["a band", "d band", "b band", "c band"])[codes]}, y


def difference(y: Any, rng: Any) -> Planted:
    before = 5 * y.std() * rng.standard_normal(len(y))
    return {"leak": _written(rng, before + y, y), "leak 2": _written(rng, before, y)}, _written(
        rng, y, y
    )


def mean_of_two(y: Any, rng: Any) -> Planted:
    half = np.abs(y.std() * rng.standard_normal(len(y)))
    return {"leak": _written(rng, y - half, y), "leak 2": _written(rng, y + half, y)}, y


def sum_of_three(y: Any, rng: Any) -> Planted:
    a, b = y.std() * rng.standard_normal((2, len(y)))
    return {"leak": a, "leak 2": _written(rng, b, y), "leak 3": y - a - b}, y


def product(y: Any, rng: Any) -> Planted:
    y, number = _positive(y), rng.integers(1, 40, len(y)).astype(float)
    return {"leak": y / number, "leak 2": number}, y


def growth(y: Any, rng: Any) -> Planted:
    y, before = y / (4 * np.abs(y).max()), rng.lognormal(3, 1, len(y))
    return {"leak": before * (1 + y), "leak 2": before}, y


def log_and_hours(y: Any, rng: Any) -> Planted:
    y, hours = _positive(y), rng.lognormal(0, 1, len(y))
    return {"leak": np.log(y) - np.log(hours), "leak 2": hours}, y


def class_code(y: Any, rng: Any) -> Planted:
    kinds = np.digitize(y, np.unique(np.quantile(y, [0.3, 0.7])))
    code = 3 * kinds + rng.integers(3, size=len(y))  # several codes for each class
    return {"leak": np.array(list("kbzaxqmcf"))[code]}, np.array(["no", "may be", "yes"])[kinds]


def class_score(y: Any, rng: Any) -> Planted:
    is_high = y > y.mean()
    return {"leak": is_high + 0.9 * rng.random(len(y))}, np.where(is_high, "high", "low")


KINDS: tuple[Callable[[Any, Any], Planted], ...] = (
    logarithm, rank, other_units, bands, difference, mean_of_two, sum_of_three, product, growth,
    log_and_hours, class_code, class_score,
)  # fmt: skip


def bases() -> Iterator[tuple[str, Any, Any]]:
    """Inputs and an outcome of numbers, real and simulated."""
    known = {**TABLES, **MORE}
    for name in BASES:
        X, y = read_table(known[name])
        X = X.drop(columns=["logwage", "bwghtlbs", "arrest"], errors="ignore")  # see `TRUE`
        yield name, X.reset_index(drop=True), np.asarray(y, dtype=float)
    for n, p in SIMULATED:
        X = np.random.default_rng(n).standard_normal((n, p))
        y = X[:, 0] + X[:, 1] * X[:, 2] + np.random.default_rng(p).standard_normal(n)
        yield f"simulated {n} x {p}", pd.DataFrame(X).add_prefix("x"), y


def planted(n_seeds: int) -> None:
    print(f"{'kind':<16}instances   found   others named")
    tables = list(bases())
    total = np.zeros(3)
    for kind in KINDS:
        counts = np.zeros(3)
        for name, X, y in tables:
            for seed in range(n_seeds):
                found, others = _is_found(kind, X, y, seed)
                counts += 1, found, others
                if not found:
                    print(f"  missed: {kind.__name__} in {name}, seed {seed}")
        total += counts
        print(f"{kind.__name__:<16}{counts[0]:9.0f}{counts[1] / counts[0]:8.3f}{counts[2]:15.0f}")
    print(f"{'all':<16}{total[0]:9.0f}{total[1] / total[0]:8.3f}{total[2]:15.0f}")


def _is_found(kind: Callable[[Any, Any], Planted], X: Any, y: Any, seed: int) -> tuple[bool, bool]:
    """Whether all planted inputs are named, and whether others are."""
    columns, outcome = kind(y, np.random.default_rng(seed))
    alone, together = said(X.assign(**columns), outcome)
    named = {*alone, *(name for names in together for name in names)}
    is_one = len(columns) == 1 or any(set(columns) == set(names) for names in together)
    return set(columns) <= named and is_one, bool(named - set(columns))


# --- clean ---


def clean() -> Iterator[tuple[str, Any, Any]]:
    for name, table in {**TABLES, **MORE}.items():
        yield f"{name}: {table.target}", *read_table(table)
    for name in TOYS:
        yield name, *read_toy(name)


def every_column() -> Iterator[tuple[str, Any, Any]]:
    """Each column of each table as the outcome of the others, made ones too."""
    for title, X, y in clean():
        whole = X.assign(**{str(getattr(y, "name", None) or "y"): y})
        for target in whole.columns[:40]:
            known = whole.dropna(subset=[target])
            yield (
                f"{title.partition(':')[0]}: {target}",
                known.drop(columns=[target]),
                known[target],
            )


def list_clean(cases: Iterator[tuple[str, Any, Any]], *, only_alarms: bool) -> None:
    n_cases = n_alarms = n_true = 0
    for title, X, y in cases:
        try:
            alone, together = said(X, y)
        except InputError as error:
            print(f"{title:<40}not read: {error}")
            continue
        alarm = "; ".join([*(f"alone {name}" for name in alone), *map(str, together)])
        known = "" if only_alarms or not alarm else TRUE.get(title.partition(":")[0], "")
        n_cases, n_alarms, n_true = n_cases + 1, n_alarms + bool(alarm), n_true + bool(known)
        if alarm or not only_alarms:
            why = f" (right: {known})" if known else ""
            print(f"{title:<40}{X.shape[0]:>6} x {X.shape[1]:<4} {alarm or '-'}{why}", flush=True)
    right = "" if only_alarms else f", {n_true} of them right"
    print(f"{n_cases} tables, {n_alarms} with an alarm{right}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["planted", "clean"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--every-column", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "planted":
        planted(arguments.seeds)
    else:
        cases = every_column() if arguments.every_column else clean()
        list_clean(cases, only_alarms=arguments.every_column)


if __name__ == "__main__":
    main()
