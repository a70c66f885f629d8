"""Leaks, identities and columns that are functions of each other, without a fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from benchmarks.leaks import KINDS, _is_found
from shaff.data.problem import Problem, RawData, ReadingOptions, read_problem
from shaff.fitting.checks.identities import find_identities
from shaff.fitting.checks.leaks import find_leaks
from shaff.fitting.checks.twins import interchangeable, quadratics

N = 300


def frame(seed=0, n=N, p=6):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, p))).add_prefix("x")
    return X, (X["x0"] + X["x1"] * X["x2"] + rng.standard_normal(n)).to_numpy(), rng


def read(X, y):
    return read_problem(RawData(X, y), ReadingOptions(seed=0))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_planted_inputs_are_found_and_no_others(kind):
    X, y, _ = frame()
    assert _is_found(kind, X, y, seed=5) == (True, False)


@pytest.mark.parametrize("seed", range(20))
def test_noise_raises_no_alarm(seed):
    """Few rows, many columns, coarse numbers and categories, numbers and classes."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([15, 40, 200]))
    X = pd.DataFrame(rng.standard_normal((n, 25))).add_prefix("x")
    X["coarse"], X["rare"] = rng.integers(3, size=n), (np.arange(n) == n // 2) * 1.0
    X["town"] = rng.choice(list("abcdef"), n)
    y = X["x0"].to_numpy() + rng.standard_normal(n)
    for outcome in (y, np.round(y), np.where(y > 0, "yes", "no"), (y > 1) * 1.0):
        problem = read(X, outcome)
        assert find_leaks(problem).names == ()
        assert find_identities(problem) == ()


def test_copies_of_rows_prove_nothing():
    X, y, _ = frame()
    many = pd.concat([X] * 4, ignore_index=True)
    assert find_leaks(read(many, np.tile(y, 4))).names == ()


def test_indicators_that_exclude_each_other_are_no_leaks():
    rng = np.random.default_rng(0)
    region = rng.integers(4, size=N)
    X = pd.DataFrame({f"region {k}": (region == k) * 1.0 for k in range(3)})
    problem = read(X, (region == 3) * 1.0)
    assert find_leaks(problem).names == ()
    (identity,) = find_identities(problem)  # together they do say it
    assert set(identity.names) == set(X.columns)
    assert_allclose([term.weight for term in identity.terms], -1)


def test_each_of_several_identities_is_named():
    X, y, rng = frame()
    a, b = rng.standard_normal((2, N))
    X = X.assign(a=a, rest=y - a, b=b, less=b - y)
    found = {frozenset(identity.names) for identity in find_identities(read(X, y))}
    assert found == {frozenset(["a", "rest"]), frozenset(["b", "less"])}


def test_few_typing_errors_do_not_hide_a_leak():
    X, y, _ = frame()
    pounds = 2.2 * y
    pounds[[7, 90]] = pounds[[90, 7]] + 30
    assert find_leaks(read(X.assign(pounds=pounds), y)).ordered == ("pounds",)
    nearly = y + 0.05 * np.random.default_rng(1).standard_normal(N)
    assert find_leaks(read(X.assign(nearly=nearly), y)).names == ()


def test_few_typing_errors_do_not_hide_an_identity():
    X, y, rng = frame()
    X["part"] = rng.standard_normal(N)
    X["rest"] = y - X["part"]
    X.loc[[3, 50], "rest"] += 2.0
    (identity,) = find_identities(read(X, y))
    assert set(identity.names) == {"part", "rest"}
    assert identity.n_exceptions == 2
    assert_allclose([term.weight for term in identity.terms], 1)


def test_a_few_large_outcomes_do_not_make_an_identity_of_the_rest():
    X, _, rng = frame()
    y = rng.integers(2, size=N).astype(float)
    y[:2] = 10_000
    assert find_identities(read(X.round(1), y)) == ()


def test_missing_entries_do_not_hide_leaks_and_identities():
    X, y, rng = frame()
    X = X.assign(part=rng.standard_normal(N))
    X["rest"], X["log"] = y - X["part"], y**3
    for name in ("rest", "log", "x0", "x3"):
        X.loc[rng.random(N) < 0.1, name] = np.nan
    problem = read(X, y)
    assert find_leaks(problem).ordered == ("log",)
    (identity,) = find_identities(problem, ["log"])
    assert set(identity.names) == {"part", "rest"}


def test_many_columns_and_few_rows():
    """Least squares fits anything there; pairs are found all the same."""
    X, y, rng = frame(n=60, p=100)
    assert find_identities(read(X, y)) == ()
    X["high"] = y + 1 + rng.random(60)
    X["low"] = 2 * y - X["high"]
    (identity,) = find_identities(read(X, y))
    assert set(identity.names) == {"high", "low"}


def test_functions_of_each_other_are_interchangeable():
    X, y, rng = frame()
    town = rng.integers(5, size=N)
    X = X.assign(
        name=np.array(["Ulm", "Bonn", "Kiel", "Jena", "Köln"])[town],
        code=np.array([40.0, 7, 22, 13, 99])[town],
        other=rng.choice(list("abcde"), N),
        exper=rng.integers(0, 40, N),
        both=-np.exp(X["x3"]),
    )
    X["expersq"], X["x4 squared"] = X["exper"] ** 2, X["x4"] ** 2
    problem = read(X, y)
    found = interchangeable(problem, np.arange(len(problem.players)))
    assert set(found) == {("x3", "both"), ("name", "code"), ("exper", "expersq")}
    assert quadratics(problem) == (("x4 squared", "x4"),)


def test_nothing_is_said_of_several_outputs():
    X, y, _ = frame()
    problem = Problem.of(X, np.column_stack([y, X["x0"]]))
    assert find_leaks(problem).names == find_identities(problem) == ()
