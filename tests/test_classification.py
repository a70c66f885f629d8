"""Classes and several outputs: shares of the variance of indicators, jointly and one by one."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from xgboost import XGBClassifier

from shaff import ShapleyEffects, load_result
from shaff.data.problem import Problem
from shaff.data.target import read_target
from shaff.subsets import Subsets
from shaff.trees.boosters import as_regressor
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.outcome import Outcome

N = 400


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    return X, np.array(["low", "mid", "high"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]


CLASSIFIERS = [
    RandomForestClassifier(30, min_samples_leaf=5, class_weight="balanced"),
    HistGradientBoostingClassifier(max_iter=20, max_features=0.5, min_samples_leaf=5),
    LGBMClassifier(n_estimators=20, feature_fraction_bynode=0.5, min_child_samples=5),
    XGBClassifier(n_estimators=20, colsample_bynode=0.5),
    CatBoostClassifier(iterations=20, depth=4, rsm=0.5, verbose=0),
    "forest",
    "boosting",
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_three_classes(data, model):
    X, y = data
    result = ShapleyEffects(model, random_state=0).fit(X, y).result_
    assert (result.effects[:2] > 0.3).all()
    assert abs(result.raw_effects[2]) < 0.08
    assert list(result.per_output) == ["high", "low", "mid"]
    assert result.per_output["low"].argmax() == 0
    assert result.per_output["high"].argmax() == 1


@pytest.mark.parametrize("estimator", ["forest", "boosting", "stack"])
def test_the_joint_effects_are_means_of_those_of_the_outputs(data, estimator):
    X, labels = data
    result = ShapleyEffects(estimator, random_state=0).fit(X, labels).result_
    indicators = np.column_stack([labels == name for name in result.per_output]).astype(float)
    variance = Outcome.of(indicators).output_constants
    mean = variance @ np.array(list(result.per_output.values())) / variance.sum()
    np.testing.assert_allclose(mean, result.effects, atol=0.02)  # but for the sign constraint
    assert load_result(result.to_json()).per_output.keys() == result.per_output.keys()


def test_values_by_output_are_those_of_the_output_alone(data):
    X, _ = data
    y = np.column_stack([X[:, 0], 5 * X[:, 1] + X[:, 2]])
    subsets = Subsets.from_indices([[0], [1], [0, 1, 2], []], 3)
    settings = {"start": "constant", "shrinkage": 3.0, "early_stopping": False}
    joint = ProjectedBoosting(Problem.of(X, y, random_state=0), **settings)
    evaluated = joint.values(subsets)
    residual = y - joint.predict(subsets)
    variance = joint.outcome.output_constants
    expected = 1 - (residual**2).mean(axis=1) / variance
    expected[3] = 0.0
    np.testing.assert_allclose(expected @ variance / variance.sum(), evaluated.plain, atol=1e-10)
    np.testing.assert_allclose(
        evaluated.by_output @ variance / variance.sum(), evaluated.v, atol=1e-10
    )


def test_two_classes_are_a_number(data):
    X, _ = data
    rng = np.random.default_rng(1)
    flag = X[:, 0] + 0.5 * rng.standard_normal(N) > 0
    as_bool, as_number, as_text, as_category = (
        ShapleyEffects("forest", random_state=0).fit(X, y).effects_
        for y in (
            flag,
            flag.astype(float),
            np.where(flag, "yes", "no"),
            pd.Series(np.where(flag, "yes", "no"), dtype="category"),
        )
    )
    np.testing.assert_array_equal(as_bool, as_number)
    np.testing.assert_array_equal(as_bool, as_text)
    np.testing.assert_array_equal(as_bool, as_category)


def test_numbers_are_classes_to_a_classifier(data):
    X, _ = data
    y = np.digitize(X[:, 0], [-0.5, 0.5]) * 10
    model = RandomForestClassifier(30, min_samples_leaf=5, class_weight={0: 1.0, 10: 2.0, 20: 1.0})
    weight = np.ones(N)
    for settings in ({}, {"sample_weight": weight}):
        result = ShapleyEffects(model, random_state=0).fit(X, y, **settings).result_
        assert list(result.per_output) == ["0", "10", "20"]
        assert result.effects[0] > 0.7


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_a_rare_class(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    rare = rng.random(3000) < np.where(X[:, 0] > 1.5, 0.5, 0.005)
    result = ShapleyEffects(estimator, random_state=0).fit(X, np.where(rare, "ill", "well")).result_
    assert 0.02 < result.explained_variance < 0.6
    assert result.effects.argmax() == 0


def test_several_outputs_keep_their_names(data):
    X, _ = data
    y = pd.DataFrame({"first": X[:, 0], "second": X[:, 1] + X[:, 2], "still": 1.0})
    result = ShapleyEffects("boosting", random_state=0).fit(X, y).result_
    assert list(result.per_output) == ["first", "second", "still"]
    np.testing.assert_allclose(result.per_output["first"], [1, 0, 0], atol=0.05)
    np.testing.assert_allclose(result.per_output["second"], [0, 0.5, 0.5], atol=0.07)
    np.testing.assert_array_equal(result.per_output["still"], 0)


def test_one_class_is_constant(data):
    X, _ = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ShapleyEffects(random_state=0).fit(X, ["same"] * N).result_
    assert any("constant" in str(w.message) for w in caught)
    assert (result.effects == 0).all()


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (CatBoostClassifier, {"iterations": 50, "depth": 4, "rsm": 0.3}),
        (LGBMClassifier, {"n_estimators": 50, "min_data_in_leaf": 7, "extra_trees": True}),
        (XGBClassifier, {"n_estimators": 50, "colsample_bynode": 0.4}),
    ],
)
def test_classifiers_keep_their_settings(model, settings):
    kept = as_regressor(model(**settings)).get_params()
    assert {key: kept[key] for key in settings} == settings


def test_classes_have_one_name_in_every_container(data):
    X, y = data[0], np.digitize(data[0][:, 0], [-0.5, 0.5])
    model = RandomForestClassifier(10, random_state=0)
    for labels in (y, y.tolist(), pd.Series(y), pl.Series(y), y.astype(float)):
        result = ShapleyEffects(model, n_subsets=4, random_state=0).fit(X, labels).result_
        assert list(result.per_output) == ["0", "1", "2"]


def test_categories_of_numbers_are_classes(data):
    y = pd.Series(np.arange(len(data[0])) % 3).astype("category")
    assert read_target(y, len(y)).classes == ("0", "1", "2")
