"""Values without the learner's bias, no luck of the seed, intervals that reach the truth."""

import json

import numpy as np
import pandas as pd
import pytest
from boosters import catboost, hist_gradient_boosting, lightgbm, xgboost

from shaff import ForestValues, ShapleyEffects, load_result
from shaff.data.problem import Problem
from shaff.designs import find_design
from shaff.protocols import DesignContext
from shaff.results.effects import EffectsResult
from shaff.subsets import Subsets
from shaff.trees.boosters import read_ensemble
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.making import make_values
from shaff.values.outcome import Outcome

RNG = np.random.default_rng


def wavy(n=300, p=4, seed=0):
    rng = RNG(seed)
    X = rng.normal(size=(n, p))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


# A constant explains nothing ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Nothing is explained")
def test_noise_holds_no_finding():
    """With a constant model of 0 trees all six players had p < 0.001."""
    rng = RNG(2)
    X, y = rng.normal(size=(200, 6)), rng.normal(size=200)
    for estimator in (None, "boosting"):
        result = ShapleyEffects(estimator, random_state=2).fit(X, y).result_
        assert result.explained_variance <= 1e-12
        assert result.p_values.min() > 0.05


@pytest.mark.parametrize("groups", [None, np.arange(60) // 3])
@pytest.mark.parametrize("weight", [None, np.arange(60) % 3 + 1.0])
def test_the_constant_that_was_learnt_without_a_row_explains_0(groups, weight):
    problem = Problem.of(np.zeros((60, 1)), RNG(0).normal(size=60), sample_weight=weight,
                         row_groups=groups)  # fmt: skip
    folds = np.arange(60) % 5 if groups is None else groups % 5
    w, y = problem.weight, problem.y
    means = np.array([np.average(y[folds != k, 0], weights=w[folds != k]) for k in range(5)])
    errors = (y - means[folds][:, None])[None] ** 2
    v = Outcome.by_fold(problem, folds).values(Subsets.full(1), errors).v
    np.testing.assert_allclose(v, 0, atol=1e-12)


def test_leaving_one_row_out_and_learning_nothing_explains_0():
    y = RNG(1).normal(size=50)
    problem = Problem.of(np.zeros((50, 1)), y)
    others = (y.sum() - y) / 49
    errors = ((y - others) ** 2).reshape(1, 50, 1)
    assert abs(Outcome.left_out(problem).values(Subsets.full(1), errors).v[0]) < 1e-12


def test_published_systems_keep_the_sample_variance():
    X, y = wavy(100)
    plain = ForestValues(error="plain")
    forest = make_values(plain, Problem.of(X, y, random_state=0)).values
    assert forest.outcome.variance == pytest.approx(y.var(ddof=1))


# Boosting that looks twice -----------------------------------------------------------------------


def test_a_rare_class_is_not_lost_among_noise():
    rng = RNG(0)
    X = rng.normal(size=(4000, 3))
    y = (rng.uniform(size=4000) < 1 / (1 + np.exp(5.5 - 2.2 * X[:, 0]))).astype(float)
    boosting = ProjectedBoosting(Problem.of(X, y, random_state=0))
    values = boosting.values(Subsets.from_indices([[0, 1, 2], [0]], 3))
    assert values.plain[0] > values.plain[1] - 0.04
    assert values.plain[0] > 0.15


def test_a_signal_without_main_effects_is_not_vetoed():
    found = []
    for seed in range(3):
        X = RNG(seed).normal(size=(800, 4))
        y = np.sign(X[:, 0] * X[:, 1]) + 0.3 * RNG(seed).normal(size=800)
        found.append(ProjectedBoosting(Problem.of(X, y, random_state=seed)).explained_variance())
    assert min(found) > 0.4


# Copies, categories, fitted models ---------------------------------------------------------------


@pytest.mark.parametrize("estimator", [None, "forest", "boosting"])
def test_copies_of_columns_share_alike(estimator):
    rng = RNG(0)
    town = rng.integers(4, size=200)
    X = pd.DataFrame({"town": np.array(list("abcd"))[town], "x": rng.normal(size=200)})
    X["again"], X["x2"] = X["town"], X["x"]
    y = np.array([0.0, 2.0, 1.0, 3.0])[town] + X["x"] + 0.5 * rng.normal(size=200)
    effects = ShapleyEffects(estimator, random_state=0).fit(X, y).effects_
    assert abs(effects[0] - effects[2]) < 0.01
    assert abs(effects[1] - effects[3]) < 0.01
    assert effects.min() > 0.1


def test_a_column_of_names_does_not_wreck_a_forest():
    rng = RNG(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300)})
    y = X["x"] ** 2 + X["z"] + 0.3 * rng.normal(size=300)
    without = ShapleyEffects("forest", random_state=0).fit(X, y).explained_variance_
    # A name tells its row's y as a car's name tells its make: two rows have the same one.
    X["name"] = [f"n{k // 2}" for k in np.argsort(np.argsort(y))]
    with_name = ShapleyEffects("forest", random_state=0).fit(X, y).explained_variance_
    assert with_name > without - 0.03


@pytest.mark.parametrize("booster", [hist_gradient_boosting, lightgbm, xgboost, catboost])
def test_training_rows_are_recognised(booster):
    X, y = wavy(200)
    model = booster().fit(X[:150], y[:150])
    ensemble = read_ensemble(model)
    assert ensemble.has_seen(X[:150])
    assert not ensemble.has_seen(X[50:])


def test_from_fitted_says_that_the_trees_have_seen_the_rows():
    X, y = wavy(200)
    model = hist_gradient_boosting(max_features=0.5).fit(X, y)
    with pytest.warns(UserWarning, match="the rows that HistGradientBoostingRegressor was trained"):
        ShapleyEffects.from_fitted(model, X, y, random_state=0)
    greedy = hist_gradient_boosting().fit(X, y)
    with pytest.warns(UserWarning, match="looks at all columns at every split"):
        ShapleyEffects.from_fitted(greedy, *wavy(100, seed=1), random_state=0)


# The stack, its runs and its correction ----------------------------------------------------------


def test_the_default_averages_learners_and_splits():
    X, y = wavy(150)
    result = ShapleyEffects(random_state=0, n_subsets=14).fit(X, y).result_
    assert result.estimator == "stack"
    assert set(result.errors_by_source) == {"data", "design", "ensemble", "algorithm"}
    assert (result.errors_by_source["algorithm"] > 0).all()
    assert result.explained_variance > result.plain_explained_variance


def test_the_default_is_the_same_for_many_rows_and_for_splits():
    X, y = wavy(5100)
    assert ShapleyEffects(random_state=0).fit(X, y).result_.estimator == "stack"
    X, y, splits = X[:300], y[:300], np.array_split(np.arange(300), 3)
    cv = [(np.setdiff1d(np.arange(300), test), test) for test in splits]
    assert ShapleyEffects(cv=cv, random_state=0).fit(X, y).result_.estimator == "stack"


def test_one_split_leaves_no_rows_to_weigh_learners_by():
    X, y = wavy(100)
    splits = [(np.arange(50), np.arange(50, 100))]
    assert ShapleyEffects(cv=splits, random_state=0).fit(X, y).result_.estimator == "boosting"


def test_half_data_products_are_the_error_without_the_noise_of_the_steps():
    """On pure noise the plain value is negative by that noise and by the cells that fit it; the
    correction takes off the first."""
    plain, corrected = [], []
    for seed in range(10):
        rng = RNG(seed)
        X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
        model = hist_gradient_boosting(max_features=0.5, max_iter=40)
        boosting = ProjectedBoosting(
            Problem.of(X, y, random_state=seed), estimator=model, start="constant",
            shrinkage=1.0, early_stopping=False,
        )  # fmt: skip
        values = boosting.values(Subsets.full(3))
        plain.append(values.plain[0])
        corrected.append(values.v[0])
    assert np.mean(plain) < -0.05
    assert np.mean(plain) / 1.3 < np.mean(corrected) < 0.02


def test_runs_tell_the_luck_of_the_seed():
    X, y = wavy(120)
    fits = [ShapleyEffects(random_state=seed, n_subsets=14).fit(X, y).result_ for seed in range(5)]
    spread = np.std([r.raw_effects for r in fits], axis=0, ddof=1)
    stated = np.mean([r.errors_by_source["algorithm"] for r in fits], axis=0)
    total = np.mean([r.standard_errors for r in fits], axis=0)
    assert np.sqrt((spread**2).sum() / (stated**2).sum()) < 2.5
    assert np.sqrt((spread**2).sum() / (total**2).sum()) < 0.35


# Intervals ---------------------------------------------------------------------------------------


def result(**more):
    settings = {
        "names": ("a", "b"), "effects": [0.4, 0.0], "raw_effects": [0.4, -0.3],
        "explained_variance": 0.4, "n_rows": 99, "n_subsets": 2, "estimator": "stack",
        "design": "exhaustive", "solver": "least_squares", "errors_by_source": {"data": [0.1, 0.1]},
    }  # fmt: skip
    return EffectsResult(**{**settings, **more})


def test_intervals_span_plain_and_corrected_and_reach_0():
    low, high = result(plain_effects=[0.3, -0.35]).confidence_interval()
    np.testing.assert_allclose(low, [0.104, -0.546], atol=1e-3)
    np.testing.assert_allclose(high, [0.596, 0.196], atol=1e-3)
    assert (result().confidence_interval().high > 0).all()


def test_upper_bound():
    np.testing.assert_allclose(result().upper_bound(0.95), [0.564, 0.164], atol=1e-3)
    for bad in (0, 1.0, -1):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            result().upper_bound(bad)
    with pytest.raises(ValueError, match="no standard errors"):
        result(errors_by_source=None).upper_bound()


def test_results_of_the_first_format_are_read():
    content = json.loads(result().to_json())
    for name in ("plain_effects", "plain_explained_variance", "per_output_errors"):
        del content[name]
    content["format_version"] = 1
    old = load_result(json.dumps(content))
    assert old.effects.tolist() == [0.4, 0.0]
    assert old.plain_effects is None
    again = load_result(result(plain_effects=[0.3, 0.1]).to_json())
    assert again.plain_effects.tolist() == [0.3, 0.1]


def test_effects_per_class_have_errors():
    X, y = wavy(200)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    found = ShapleyEffects("smooth", random_state=0).fit(X, labels).result_
    assert set(found.per_output_errors) == set(found.per_output) == {"a", "b", "c"}
    for errors in found.per_output_errors.values():
        assert (errors > 0).all()
        assert errors.max() < 0.3


# Design ------------------------------------------------------------------------------------------


def test_the_tolerance_follows_the_data_error():
    def tolerance(data_error, **asked):
        context = DesignContext(20, asked.get("n_subsets"), asked.get("tol"), 0)
        context = DesignContext(**{**context.__dict__, "data_error": data_error})
        return find_design("auto").make(context).tol

    assert tolerance(np.inf) == 0.003
    assert tolerance(0.005) == pytest.approx(0.0025)
    assert tolerance(1e-6) == 0.0003
    assert tolerance(0.005, tol=0.01) == 0.01
    assert tolerance(0.005, n_subsets=100) is None


def test_a_player_worth_more_than_all_gets_a_note():
    rng = RNG(0)
    X = rng.normal(size=(60, 12))
    y = X[:, 0] + 0.8 * rng.normal(size=60)
    notes = ShapleyEffects("forest", random_state=0).fit(X, y).result_.notes
    assert any(note.startswith("'x0' alone explains") for note in notes)
