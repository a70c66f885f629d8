"""What a result says: headline, table and notes of 30 tables, to compare between two versions.

    python -m benchmarks.pages [--only auto] > after.txt
    python -m benchmarks.pages --real            # headline and notes of 58 real tables
    (cd OLD && python -m benchmarks.pages) > before.txt; diff before.txt after.txt

Real tables (`benchmarks.tables`) and simulated ones, such that nearly every note is said of one of
them. Names of modules that have moved since are looked for in both places.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from benchmarks.tables import MORE, TABLES, read_real
from shaff import ShapleyEffects
from shaff.datasets import discrete_experiment, experiment_1a, experiment_2, load_diabetes

HOMES = ("shaff.show.sentences", "shaff.wording")


def sentences() -> Any:
    """The module that words a result, wherever it is."""
    for home in HOMES:
        try:
            return import_module(home)
        except ModuleNotFoundError:
            continue
    raise SystemExit("This version of shaff words results in no place that is known here.")


def fitted(X: Any, y: Any, rows: dict[str, Any] | None = None, **settings: Any) -> Any:
    return ShapleyEffects(**{"random_state": 0, **settings}).fit(X, y, **(rows or {})).result_


def of_experiment(make: Callable[..., Any], n: int, **settings: Any) -> Any:
    data = make(n=n, random_state=0)
    return fitted(data.X, data.y, **settings)


def normal(n_rows: int, n_columns: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n_rows, n_columns))


def copies() -> Any:
    X = normal(300, 3)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["a again"], frame["constant"], frame["row"] = frame.a, 1.0, np.arange(300)
    return fitted(frame, X[:, 0] + X[:, 1] + normal(300, 1, 1)[:, 0])


def constant() -> Any:
    return fitted(normal(60, 3), np.ones(60))


def noise() -> Any:
    return fitted(normal(200, 4), normal(200, 1, 1)[:, 0])


def few() -> Any:
    X = normal(40, 3)
    return fitted(X, X[:, 0] + normal(40, 1, 1)[:, 0])


def wide() -> Any:
    X = normal(300, 40)
    return fitted(X, X[:, :4].sum(axis=1) + normal(300, 1, 1)[:, 0])


def several_outputs() -> Any:
    X = normal(300, 4)
    return fitted(X, np.column_stack([X[:, 0], X[:, 1] * X[:, 2]]) + normal(300, 2, 1))


def sampled() -> Any:
    X = normal(2000, 4)
    return fitted(X, X[:, 0] * X[:, 1], max_rows=300)


def all_rows() -> Any:
    X = normal(2000, 4)
    return fitted(X, X[:, 0] * X[:, 1], max_rows=300, value_rows="all")


def grouped_rows() -> Any:
    X = normal(300, 4)
    return fitted(X, X[:, 0] + X[:, 1] ** 2, {"row_groups": np.arange(300) // 10})


def groups() -> Any:
    X, y, names = load_diabetes()
    return fitted(pd.DataFrame(X, columns=names), y, groups={"blood": names[4:]})


def surrogate() -> Any:
    X, y, _ = load_diabetes()
    model = LinearRegression().fit(X, y)
    return ShapleyEffects.from_fitted(model, X, y, random_state=0).result_


def own_forest() -> Any:
    X, y, _ = load_diabetes()
    model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
    return ShapleyEffects.from_fitted(model, X, y, rows="training", random_state=0).result_


def leak() -> Any:
    X = normal(300, 3)
    return fitted(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "leak": X[:, 0] + X[:, 1]}),
                  X[:, 0] + X[:, 1])  # fmt: skip


MADE: dict[str, Callable[[], Any]] = {
    "experiment 1a": lambda: of_experiment(experiment_1a, 600),
    "experiment 2": lambda: of_experiment(experiment_2, 400),
    "discrete": lambda: of_experiment(discrete_experiment, 500),
    "copies": copies,
    "constant": constant,
    "noise": noise,
    "few rows": few,
    "wide": wide,
    "several outputs": several_outputs,
    "sampled": sampled,
    "all rows": all_rows,
    "grouped rows": grouped_rows,
    "groups": groups,
    "surrogate": surrogate,
    "own forest": own_forest,
    "leak": leak,
}


def real(name: str) -> Any:
    return fitted(*read_real(name), n_subsets=60)


def page(name: str, whole: bool = True) -> list[str]:
    """All that is said of one table, or headline and notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = MADE[name]() if name in MADE else real(name)
    words = sentences()
    return [
        f"=== {name}",
        words.headline(result),
        words.explained(result),
        *((words.how(result), result.summary()) if whole else ()),
        *(f"note: {note}" for note in result.notes),
        *sorted({f"warning: {warning.message}" for warning in caught}),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[*TABLES, *MADE])
    parser.add_argument("--real", action="store_true", help="all real tables: headline and notes")
    options = parser.parse_args()
    for name in [*TABLES, *MORE] if options.real else options.only:
        print("\n".join(page(name, whole=not options.real)), flush=True)


if __name__ == "__main__":
    main()
