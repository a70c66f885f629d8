"""Projected boosting with linear leaves: the learner as a whole, against the slow oracle."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from boosters import hist_gradient_boosting, messy_data
from numpy.testing import assert_allclose, assert_array_equal
from projection_oracle import replay

from shaff.data.problem import Problem
from shaff.subsets import Subsets
from shaff.trees.scaling import Scaling
from shaff.values.boosting import default_booster
from shaff.values.boosting.projected_boosting import ProjectedBoosting

SOME = Subsets.from_indices([[], [0], [1, 2], [0, 2, 4], [0, 1, 2, 3, 4]], n_players=5)


def constant_leaves(monkeypatch):
    """From here on, the default has steps alone."""
    monkeypatch.setattr(default_booster, "SLOPE_RATIO", None)


def table(n=200):
    """Numbers with gaps, a column of three categories and one of too many to split on."""
    X, y = messy_data(n)
    rng = np.random.default_rng(1)
    X[:, 3], X[:, 4] = rng.integers(3, size=n), rng.integers(40, size=n)
    return X, y + (X[:, 3] == 1) * np.nan_to_num(X[:, 0]), np.arange(5) >= 3


@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_predictions_are_those_of_the_oracle(weighted):
    X, y, categorical = table()
    y = np.column_stack([y, np.nan_to_num(X[:, 0])])
    weight = np.random.default_rng(2).integers(0, 4, len(y)) if weighted else None
    problem = Problem.of(X, y, categorical=categorical, sample_weight=weight, cv=2, random_state=0)
    boosting = ProjectedBoosting(problem, start="constant", shrinkage=2.0, early_stopping=False)
    assert boosting.n_trees_ > 0
    predicted = boosting.predict(SOME)
    for model in boosting._models:
        rows, n_train = model.fold.rows, len(model.fold.train)
        for k, coding in enumerate(model.codings):
            # The trees see the first categories as they are, the others as mean targets.
            assert model.columns.categorical.tolist() == [False, False, False, True, False]
            seen = np.vstack([model.train_X(k), model.columns.other(X[model.fold.test], k)])
            own = model.data.weight[model.fold.train]
            scaling = Scaling.of(seen[:n_train], model.columns.categorical, own)
            start = y[rows, k] - np.average(y[model.fold.train, k], weights=own)
            for mask, found in zip(SOME.masks(), predicted, strict=True):
                left = replay(
                    coding.ensemble, seen, start, n_train, own, set(np.flatnonzero(mask)),
                    coding.ensemble.learning_rate, 2.0, values=scaling.apply(seen),
                    slope_shrinkage=2.0 * default_booster.SLOPE_RATIO,
                )  # fmt: skip
                # Rows without weight are not predicted.
                counts = model.data.weight[model.fold.test] > 0
                expected = (y[model.fold.test, k] - left[n_train:])[counts]
                assert_allclose(found[model.fold.test, k][counts], expected, atol=1e-8)


@pytest.mark.parametrize("start", ["constant", "linear"])
def test_new_rows_are_predicted_like_held_out_ones(start):
    X, y, categorical = table()
    half = np.arange(len(y)) % 2 == 0

    class OneFold:
        def split(self, X, y=None, groups=None):
            yield np.flatnonzero(half), np.flatnonzero(~half)

    problem = Problem.of(X, y, categorical=categorical, cv=OneFold(), random_state=0)
    boosting = ProjectedBoosting(problem, start=start, shrinkage=3.0)
    held_out = boosting.predict(SOME)[:, ~half]
    assert_allclose(boosting.predict(SOME, X[~half]), held_out, atol=1e-9)


def test_nothing_is_extrapolated():
    X, y, categorical = table()
    problem = Problem.of(X, y, categorical=categorical, cv=2, random_state=0)
    boosting = ProjectedBoosting(problem, start="constant", shrinkage=3.0)
    largest = np.where(categorical, X[0], np.nanmax(X, axis=0))
    far = np.where(categorical, X[0], 1e9)
    at_end, beyond = boosting.predict(SOME, np.stack([largest, far])).transpose(1, 0, 2)
    assert_allclose(beyond, at_end)
    assert np.abs(beyond - y.mean()).max() < 3 * np.ptp(y)


def test_lines_explain_more_than_steps(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] * (X[:, 1] > 0) + 0.1 * rng.normal(size=600)
    problem = Problem.of(X, y, random_state=0)
    lines = ProjectedBoosting(problem, start="constant").explained_variance()
    constant_leaves(monkeypatch)
    steps = ProjectedBoosting(problem, start="constant").explained_variance()
    assert lines > steps + 0.005


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_same_bits_wherever_trees_grow(backend):
    X, y, categorical = table()

    def values():
        problem = Problem.of(X, y, categorical=categorical, cv=2, n_jobs=2, random_state=0)
        return ProjectedBoosting(problem, start="constant").values(SOME, influences=True)

    here = values()
    with joblib.parallel_config(backend=backend, n_jobs=2):
        there = values()
    assert_array_equal(here.v, there.v)
    assert_array_equal(here.influences, there.influences)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_portable_loops_give_the_same_bits(monkeypatch, weighted):
    X, y, categorical = table(403)
    weight = np.random.default_rng(2).integers(0, 4, len(y)) if weighted else None

    def run():
        problem = Problem.of(X, y, categorical=categorical, sample_weight=weight, random_state=0)
        boosting = ProjectedBoosting(problem, start="constant")
        return [boosting.values(SOME).v, boosting.predict(SOME), boosting.predict(SOME, X)]

    fast = run()
    monkeypatch.setenv("SHAFF_PORTABLE", "1")
    for found, expected in zip(run(), fast, strict=True):
        assert found.tobytes() == expected.tobytes()


def test_another_run_takes_the_choice_over(monkeypatch):
    """Also where the default is another, such as in another process."""
    X, y, _ = table()
    problem = Problem.of(X, y, cv=2, random_state=0)
    first = ProjectedBoosting(problem, start="constant")
    constant_leaves(monkeypatch)
    copy = pickle.loads(pickle.dumps(first))
    for other in (copy, ProjectedBoosting(problem, like=first)):
        assert_array_equal(other.values(SOME).v, first.values(SOME).v)


def test_boosters_of_others_have_constant_leaves(monkeypatch):
    X, y = messy_data(n=120)
    grown, problem = hist_gradient_boosting(max_features=0.5), Problem.of(X, y, cv=2)
    model = hist_gradient_boosting(max_features=0.5).fit(*messy_data(seed=3))

    def found():
        fitted = ProjectedBoosting.from_fitted(model, problem, shrinkage=2.0)
        refitted = ProjectedBoosting(problem, estimator=grown, start="constant", shrinkage=2.0)
        return np.concatenate([fitted.values(SOME).v, refitted.values(SOME).v])

    beside_lines = found()
    constant_leaves(monkeypatch)
    assert_array_equal(beside_lines, found())


def test_leaves_are_linear_unless_asked():
    make = default_booster.default_booster
    assert make(500).slope_ratio == default_booster.SLOPE_RATIO > 0
    assert make(500, slopes=False).slope_ratio is None
    assert make(500).max_leaf_nodes == default_booster.FEW_LEAVES
    assert make(100_000).max_leaf_nodes == default_booster.MANY_LEAVES
    small = make(500, 0.4, 3)
    assert (small.learning_rate, small.max_leaf_nodes) == (0.4, 3)


def test_extreme_numbers_and_empty_columns_have_no_slopes():
    X = np.array([[1e300, np.nan, 2.0], [-1e300, np.nan, 2.0], [1.7e308, np.nan, 2.0]])
    values = Scaling.of(X, np.zeros(3, dtype=bool)).apply(X)
    assert np.isfinite(values).all()
    assert not values[1:].any()


def test_values_far_out_are_clipped_and_weights_are_repeated_rows():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(50, 2)), rng.integers(0, 3, 50)
    none = np.zeros(2, dtype=bool)
    repeated = Scaling.of(np.repeat(X, weight, axis=0), none)
    scaling = Scaling.of(X, none, weight.astype(float))
    assert_allclose(scaling.mean, repeated.mean)
    assert_allclose(scaling.scale, repeated.scale)
    assert scaling.apply(np.array([[1e9, -1e9]])).tolist() == [[6.0], [-6.0]]
