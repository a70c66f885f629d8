"""Copies of an input: equal to the last bit in everything that is reported, whatever the design."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shaff import ShapleyEffects
from shaff._util.alike import averaged, averaged_covariance, pair_kinds
from shaff.data.problem import Problem

N = 120
COPIES = [["a", "a2", "a3"], ["town", "town code"]]


def table(seed=0):
    """Three copies of a number, and two of a category, one of them under other names."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((N, 4)), columns=["a", "b", "c", "d"])
    town = rng.integers(3, size=N)
    X["town"] = np.array(["Ulm", "Bonn", "Kiel"])[town]
    X["a2"], X["town code"], X["a3"] = X["a"], np.array(["x", "z", "y"])[town], X["a"]
    y = X["a"] + X["b"] * X["c"] + (town == 1) + 0.5 * rng.standard_normal(N)
    return X, y


def assert_equal_for_copies(names, values):
    values = np.asarray(values)
    for group in COPIES:
        places = [names.index(name) for name in group]
        assert_array_equal(values[places], values[places[:1] * len(places)])


def reported(result):
    """Everything that a result has one number of per input."""
    yield from (result.effects, result.raw_effects, result.standard_errors, result.p_values)
    yield from (result.first_order, result.total, result.null_test())
    yield from (*result.confidence_interval(), *result.rank_intervals(), result.upper_bound())
    yield from (result.errors_by_source or {}).values()
    yield from (result.per_output or {}).values()
    yield from (result.per_output_errors or {}).values()
    if result.plain_effects is not None:
        yield result.plain_effects


@pytest.mark.parametrize(
    "design", ["gaussian_process", "leverage", "paired_draws", "monte_carlo", "permutations"]
)
def test_equal_whatever_the_design(design):
    X, y = table()
    est = ShapleyEffects("smooth", design=design, n_subsets=24, random_state=0).fit(X, y)
    result = est.result_
    for values in reported(result):
        assert_equal_for_copies(result.names, values)
    assert_equal_for_copies(result.names, result.covariance.diagonal())
    assert_equal_for_copies(result.names, est.explain().values.T)
    assert_equal_for_copies(result.names, est.explain(X.iloc[:7]).values.T)
    assert_allclose(result.effects.sum(), result.explained_variance, rtol=1e-12)
    curves = [result.curves[name] for name in COPIES[0]]
    assert_array_equal(curves[0], curves[1])


@pytest.mark.parametrize("learner", ["boosting", "forest", None])
def test_equal_for_every_learner(learner):
    X, y = table()
    result = ShapleyEffects(learner, n_subsets=24, random_state=0).fit(X, y).result_
    for values in reported(result):
        assert_equal_for_copies(result.names, values)


@pytest.mark.parametrize("classes", [True, False])
def test_equal_for_several_outputs(classes):
    X, y = table()
    outcome = np.digitize(y, [-0.5, 1]).astype(str) if classes else np.column_stack([y, y**2])
    est = ShapleyEffects("smooth", n_subsets=24, random_state=0).fit(X, outcome)
    result = est.result_
    for values in reported(result):
        assert_equal_for_copies(result.names, values)
    assert_equal_for_copies(result.names, est.explain().values.transpose(1, 0, 2))


def test_equal_interactions():
    X, y = table()
    est = ShapleyEffects("smooth", n_subsets=24, random_state=0).fit(X, y)
    found = est.interactions(n_subsets=40)
    place = [found.names.index(name) for name in ("a", "a2", "a3", "b", "town", "town code")]
    for matrix in (found.values, found.standard_errors):
        a, a2, a3, b, town, code = place
        assert matrix[a, b] == matrix[a2, b] == matrix[a3, b]
        assert matrix[a, town] == matrix[a3, code] == matrix[a2, town]
        assert matrix[a, a2] == matrix[a2, a3] == matrix[a, a3]


def test_equal_when_screened():
    """Copies enter by name together, also where the screen has room for only some of them."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((N, 30))).add_prefix("x")
    for k in range(4):
        X[f"copy{k}"] = X["x0"]
    y = X["x0"] + X["x1"] + rng.standard_normal(N)
    result = ShapleyEffects("smooth", screen=3, n_subsets=24, random_state=0).fit(X, y).result_
    places = [result.names.index(name) for name in ["x0", *(f"copy{k}" for k in range(4))]]
    assert len(set(result.effects[places])) == 1
    assert not result.is_screened[places].any()


def test_categories_under_other_names_are_copies():
    codes = np.array([[0, 2, 1, 0], [1, 0, 2, 1], [2, 1, 0, 0], [np.nan, np.nan, np.nan, 2]])
    problem = Problem.of(np.repeat(codes, 5, axis=0), np.arange(20.0), categorical=[1, 1, 1, 1])
    assert problem.distinct_columns().tolist() == [0, 3]
    numbers = Problem.of(np.repeat(codes, 5, axis=0), np.arange(20.0))
    assert numbers.distinct_columns().tolist() == [0, 1, 2, 3]


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=50, deadline=None)
def test_averages_are_the_mean_over_permutations_of_copies(labels, seed):
    kinds = np.unique(labels, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    values, root = rng.standard_normal(len(kinds)), rng.standard_normal((len(kinds), 9))
    averaging = (kinds[:, None] == kinds) / np.bincount(kinds)[kinds]
    assert_allclose(averaged(values, kinds), averaging @ values, atol=1e-12)
    assert_allclose(averaged(values, kinds).sum(), values.sum(), atol=1e-12)
    covariance = root @ root.T
    assert_allclose(
        averaged_covariance(covariance, kinds), averaging @ covariance @ averaging.T, atol=1e-12
    )
    pairs = pair_kinds(kinds)
    assert len(pairs) == len(kinds) * (len(kinds) - 1) // 2
