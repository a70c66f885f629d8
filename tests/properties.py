"""What must not change an answer, and for which learners: the tables that `test_properties` reads.

`CLAIMS` says for each learner and each preset what a change of the table may do to its answer:
nothing at all (`EXACT`), no more than a number (rounding), end in a sentence (`REFUSED`), or, for a
reason that stands there, give the answer of other draws.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression

from shaff import ShapleyEffects
from shaff.fitting.presets import PRESETS
from shaff.trees.kinds import paper_forest
from shaff.values.registry import LEARNERS

# Numbers on this grid are moved by whole numbers, and scaled by powers of 2, without rounding.
GRID = 2.0**-16


@dataclass(frozen=True)
class Table:
    """Inputs, outcome, what else `fit` takes, and the names of the inputs that are compared."""

    X: pd.DataFrame | pl.DataFrame | np.ndarray
    y: np.ndarray
    names: tuple[str, ...]
    rows: dict[str, np.ndarray] = field(default_factory=dict)


def draw_table(seed: int, n: int = 60) -> Table:
    """Two inputs that depend on each other, one of few values, a category, and noise."""
    rng = np.random.default_rng(seed)
    Z = np.round(rng.standard_normal((n, 4)) / GRID) * GRID
    X = pd.DataFrame({"a": Z[:, 0], "b": Z[:, 0] + Z[:, 1], "few": np.round(2 * Z[:, 2])})
    town = rng.integers(3, size=n)
    X["town"] = np.array(["Ulm", "Bonn", "Kiel"])[town]
    y = X["a"] + X["b"] * X["few"] / 2 + (town == 1) + 0.5 * Z[:, 3]
    return Table(X, np.round(y.to_numpy() / GRID) * GRID, tuple(X.columns))


def without_town(table: Table) -> Table:
    return replace(table, X=table.X.drop(columns="town"), names=("a", "b", "few"))


# Changes: two tables whose answers are compared --------------------------------------------------

Pair = tuple[Table, Table]
NUMBERS = ["a", "b", "few"]


def _with_numbers(table, change, y):
    X = table.X.copy()
    X[NUMBERS] = change(X[NUMBERS])
    return table, replace(table, X=X, y=y)


def units_of_2(table: Table, rng: np.random.Generator) -> Pair:
    """Powers of 2 as units: nothing is rounded."""
    factors, of_y = np.ldexp(1.0, rng.integers(-30, 30, size=3)), int(rng.integers(-12, 12))
    return _with_numbers(table, lambda numbers: numbers * factors, np.ldexp(table.y, of_y))


def units(table: Table, rng: np.random.Generator) -> Pair:
    factors, of_y = 10.0 ** rng.uniform(-6, 6, size=3), 10.0 ** rng.uniform(-6, 6)
    return _with_numbers(table, lambda numbers: numbers * factors, table.y * of_y)


def origins(table: Table, rng: np.random.Generator) -> Pair:
    """Whole numbers as origins: nothing is rounded."""
    shifts, of_y = rng.integers(-5000, 5000, size=3), int(rng.integers(-5000, 5000))
    return _with_numbers(table, lambda numbers: numbers + shifts, table.y + of_y)


def order_of_rows(table: Table, rng: np.random.Generator) -> Pair:
    order = rng.permutation(len(table.y))
    return table, replace(table, X=_rows_of(table, order), y=table.y[order])


def _rows_of(table, rows):
    return table.X.iloc[rows].reset_index(drop=True)


def order_of_columns(table: Table, rng: np.random.Generator) -> Pair:
    return table, replace(table, X=table.X[rng.permutation(table.X.columns)])


def names_of_columns(table: Table, rng: np.random.Generator) -> Pair:
    words = rng.permutation(["x", "α", "size", "_"])[: len(table.names)]
    new = tuple(f"{word} {k}" for k, word in enumerate(words))
    return table, replace(table, X=table.X.set_axis(list(new), axis=1), names=new)


def names_of_levels(table: Table, rng: np.random.Generator) -> Pair:
    new = dict(zip(["Ulm", "Bonn", "Kiel"], rng.permutation(["p", "q", "r"]), strict=True))
    return table, replace(table, X=table.X.assign(town=table.X["town"].map(new)))


def container(table: Table, rng: np.random.Generator) -> Pair:
    """Polars, Arrow, or an array, which holds no text."""
    frame = pl.from_dict({name: table.X[name].to_list() for name in table.X.columns})
    kind = rng.integers(3)
    if kind < 2:
        return table, replace(table, X=frame if kind else frame.to_arrow())
    numbers = without_town(table) if "town" in table.X else table
    return numbers, replace(numbers, X=numbers.X.to_numpy(), names=("x0", "x1", "x2"))


def repeats_for_weights(table: Table, rng: np.random.Generator) -> Pair:
    """Copies of a row stay together: they are the row, so many times."""
    weight = rng.integers(1, 4, size=len(table.y))
    row_of = np.repeat(np.arange(len(weight)), weight)
    repeated = replace(table, X=_rows_of(table, row_of), y=table.y[row_of])
    weighted = replace(table, rows={"sample_weight": weight})
    return weighted, replace(repeated, rows={"row_groups": row_of})


def copies(table: Table, rng: np.random.Generator) -> Pair:
    """An input and its copy change places."""
    name = str(rng.choice(table.X.columns))
    both = replace(table, X=table.X.assign(copy=table.X[name]), names=(name, "copy"))
    return both, replace(both, names=("copy", name))


CHANGES: dict[str, Callable[[Table, np.random.Generator], Pair]] = {
    change.__name__: change
    for change in (units_of_2, units, origins, order_of_rows, order_of_columns, names_of_columns,
                   names_of_levels, container, repeats_for_weights, copies)
}  # fmt: skip


# Learners -----------------------------------------------------------------------------------------

# Some of the subsets only, so that which of them are evaluated is a part of the answer.
QUICK = {"n_subsets": 6, "random_state": 0}
NO_MODEL = ("broto", "broto_sampled")


def _preset(name):
    model = {} if name in NO_MODEL else {"estimator": paper_forest(10)}
    budget = {} if PRESETS[name].n_subsets is None else {"n_subsets": 8}
    return ShapleyEffects.preset(name, **model, **budget, random_state=0)


MAKERS: dict[str, Callable[[], ShapleyEffects]] = {
    **{name: partial(ShapleyEffects, name, **QUICK) for name in LEARNERS},
    "given forest": partial(ShapleyEffects, RandomForestRegressor(10, min_samples_leaf=5), **QUICK),
    "given booster": partial(
        ShapleyEffects, HistGradientBoostingRegressor(max_iter=10, max_features=0.5), **QUICK
    ),
    "refitted": partial(ShapleyEffects, LinearRegression(), **QUICK),
    "as_published": partial(
        ShapleyEffects.as_published, estimator=paper_forest(10), random_state=0
    ),
    **{name: partial(_preset, name) for name in PRESETS},
}
# A linear model takes no text.
NUMBERS_ONLY = ("refitted",)


# Claims -------------------------------------------------------------------------------------------

EXACT, ROUNDING, REFUSED = 0.0, 1e-6, "refused"
# Trees of scikit-learn compare in single precision, its boosters add gradients in it: a value at a
# threshold may change sides when it is moved.
SINGLE = 0.1
BY_RANGE = "Trees of scikit-learn take a column whose values differ by less than 1e-7 for constant."
BY_PLACE = "Folds, bags and halves are drawn by the places of the rows."
BY_COLUMN = "Models of the user's and those of publications draw columns by their places."
BY_COUNT = "The booster counts rows, not weights, in its bins and leaves."
BY_UNITS = "A linear model of scikit-learn loses columns that are a million times smaller."
NO_TEXT = "A linear model takes no text."

# The learners of shaff.
OWN = {
    "units_of_2": EXACT,
    "units": ROUNDING,
    "origins": ROUNDING,
    "order_of_rows": BY_PLACE,
    "order_of_columns": EXACT,
    "names_of_columns": EXACT,
    "names_of_levels": EXACT,
    "container": EXACT,
    "repeats_for_weights": EXACT,
    "copies": EXACT,
}
# Models of the user's, which are grown on the table as it is.
GIVEN = {
    **OWN,
    "units": SINGLE,
    "origins": SINGLE,
    "order_of_columns": BY_COLUMN,
    "copies": BY_COLUMN,
}
# Systems of other publications.
PUBLISHED = {
    **GIVEN,
    "units_of_2": BY_RANGE,
    "units": BY_RANGE,
    "repeats_for_weights": REFUSED,
}
LINEAR = {"units_of_2": BY_UNITS, "units": BY_UNITS, "names_of_levels": NO_TEXT}
CLAIMS: dict[str, dict[str, float | str]] = {
    **dict.fromkeys(LEARNERS, OWN),
    **dict.fromkeys(PRESETS, PUBLISHED),
    "given forest": GIVEN,
    "given booster": {**GIVEN, "repeats_for_weights": BY_COUNT},
    "refitted": {**GIVEN, **LINEAR, "origins": ROUNDING, "repeats_for_weights": ROUNDING},
    "as_published": GIVEN,
}
