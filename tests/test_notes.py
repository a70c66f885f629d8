"""Hints: each where it helps a person, none on a healthy table."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from shaff import ShapleyEffects

N = 240


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((N, 3)), columns=["a", "b", "c"])
    return X, X["a"] + X["b"] + rng.standard_normal(N), rng


def notes(X, y, **given):
    result = ShapleyEffects("smooth", n_subsets=10, random_state=0).fit(X, y, **given).result_
    return [
        note for note in result.notes if not note.startswith(("Smooth", "More rows", "A linear"))
    ]


def test_a_healthy_table_gets_no_hint():
    X, y, _ = rows()
    assert notes(X, y) == []


def test_leak():
    X, y, _ = rows()
    X["after"] = 3 * y + 1
    (note,) = notes(X, y.rename("price"))
    assert note == (
        "'after' puts the rows in the order of price, or the opposite, almost without exception: "
        "is it price on another scale (units, logarithm, rank, classes), or computed from it? "
        "Then leave it out."
    )


def test_identities_are_written_out():
    X, y, rng = rows()
    half = rng.random(N)
    X["high"], X["low"] = np.round(y + half, 2), np.round(y - half, 2)
    note, *_ = notes(X, y.rename("price"))
    assert note.startswith("In all rows price = 0.5 · 'high' + 0.5 · 'low', up to the digits")
    X["number"] = np.arange(N) % 7 + 1.0
    X["each"] = np.exp(y) / X["number"]
    note, *_ = notes(X[["a", "number", "each"]], np.exp(y).rename("cost"))
    assert note == (
        "In all rows cost = 'number' · 'each'. If that is how cost is defined, leave out 'number', "
        "'each': with them it is explained by definition."
    )


def test_inputs_that_nearly_explain_all_are_all_named():
    X, y, rng = rows()
    X["first"], X["second"] = y.to_numpy() + 0.2 * rng.standard_normal((2, N))
    note, *_ = notes(X, y)
    assert re.match(r"'(first|second)' alone explains 98.\d %, '(first|second)' alone", note)
    assert note.endswith("which is rare: make sure that they are known before y.")


def test_no_advice_to_take_the_logarithm_that_is_an_input():
    X, y, _ = rows()
    X["log"] = 2 * y
    found = notes(X, np.exp(2 * y))
    assert found[0].startswith("'log' puts the rows in the order of y")
    assert any("make up" in note for note in found)
    assert not any("try its logarithm" in note for note in found)


def test_squares_are_named():
    X, y, _ = rows()
    X["a squared"] = X["a"] ** 2
    assert any("functions of other inputs: 'a squared' of 'a'." in note for note in notes(X, y))


def test_row_numbers_constants_and_copies():
    X, y, rng = rows()
    X["id"] = rng.permutation(N) + 1
    X["one"] = 1.0
    X["again"] = X["a"]
    assert notes(X, y) == [
        "Column 'id' counts the rows: leave it out, unless their order matters.",
        "Interchangeable: 'a', 'again'. They carry the same information and share its credit "
        "equally.",
        "Column 'one' has one value only, which explains nothing: effect 0.",
    ]


@pytest.mark.filterwarnings("ignore:.*looks at all columns")
def test_a_model_that_uses_one_of_two_copies_does_not_share_equally():
    X, y, _ = rows()
    X["again"] = X["a"]
    y = 3 * X["a"].to_numpy() + y
    model = HistGradientBoostingRegressor(max_iter=50, random_state=0).fit(X[:120], y[:120])
    result = ShapleyEffects.from_fitted(model, X[120:], y[120:], random_state=0).result_
    (said,) = [note for note in result.notes if note.startswith("Interchangeable: 'a', 'again'")]
    assert "only the sum of their effects can be trusted" in said


@pytest.mark.parametrize("name", ["subject", "patient_id", "who"])
def test_repeated_units(name):
    X, y, rng = rows()
    unit = np.arange(N) // 4
    X[name] = unit
    X["sex"] = rng.integers(2, size=N // 4)[unit]
    y = y + 2 * rng.standard_normal(N // 4)[unit]
    (note,) = notes(X, y)
    assert f"--row-groups {name}" in note
    (note,) = notes(X, y, row_groups=unit)
    assert note.startswith(f"The rows are in {N // 4} groups")


def test_sorted_columns_and_coarse_numbers_are_no_units():
    X, y, rng = rows()
    X["year"] = np.arange(N) // 12
    X["age"] = rng.integers(20, 60, size=N)
    assert notes(X, y) == []


@pytest.mark.parametrize(
    ("shift", "advice"), [(1, "its logarithm"), (0, "of 1 + it"), (-9, "check")]
)
@pytest.mark.filterwarnings("ignore:Nothing is explained")  # two rows decide
def test_heavy_tails(shift, advice):
    X, y, _ = rows()
    y = np.round(np.exp(2 * y)) + shift
    (note, *_) = notes(X, y)
    assert note.startswith("2 rows of 240 make up")
    assert advice in note


@pytest.mark.filterwarnings("ignore:Nothing is explained")
def test_little_is_explained_and_nothing_is_sure():
    X, _, rng = rows()
    y = 0.25 * X["a"] + rng.standard_normal(N)
    found = notes(X, y)
    assert found[0].startswith("Little is explained (")
    assert found[1].startswith("The intervals are wide")


def test_text_that_is_nearly_unique():
    X, y, rng = rows()
    X["name"] = [f"n{i}" for i in rng.integers(10 * N, size=N)]
    assert any("another category in nearly every row" in note for note in notes(X, y))


@pytest.mark.parametrize("curved", [False, True])
def test_a_linear_model_is_enough(curved):
    X, y, rng = rows()
    y = X["a"] ** 2 + 0.1 * rng.standard_normal(N) if curved else y
    result = ShapleyEffects("smooth", n_subsets=10, random_state=0).fit(X, y).result_
    assert any(note.startswith("A linear model is enough") for note in result.notes) != curved
