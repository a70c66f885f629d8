"""`ForestValues`: the forest it was before it had a setting, with the error that is asked for."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from shaff import ForestPaths, ForestValues, ShapleyEffects
from shaff.datasets import experiment_1a
from shaff.errors import InputError, InputTypeError

FOREST = RandomForestRegressor(20, min_samples_leaf=5)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(150)


def fitted(estimator, rows, **settings):
    settings = {"n_subsets": 12, "random_state": 0, **settings}
    return ShapleyEffects(estimator, **settings).fit(*rows).result_


def same(one, other):
    np.testing.assert_array_equal(one.raw_effects, other.raw_effects)
    np.testing.assert_array_equal(one.standard_errors, other.standard_errors)
    assert (one.estimator, one.names) == (other.estimator, other.names)


@pytest.mark.parametrize("forest", [None, FOREST], ids=["default", "given"])
def test_without_options_it_is_the_forest_itself(rows, forest):
    same(fitted(ForestValues(forest), rows), fitted("forest" if forest is None else forest, rows))


def test_the_plain_error_is_larger(rows):
    unbiased, plain = (fitted(ForestValues(FOREST, error=e), rows) for e in ("unbiased", "plain"))
    assert plain.explained_variance < unbiased.explained_variance - 0.01


def test_the_default_forest_sees_a_copy_once_and_a_given_one_twice(rows):
    X, y = rows
    copied = np.column_stack([X, X[:, 0]])
    default = fitted(ForestValues(error="plain"), (copied, y), n_subsets=30)
    assert default.effects[0] == pytest.approx(default.effects[4], rel=1e-9)
    given = fitted(ForestValues(FOREST, error="plain"), (copied, y), n_subsets=30)
    assert given.effects[0] != pytest.approx(given.effects[4], rel=1e-3)


def test_the_default_forest_is_screened_by_fold(rows):
    X, y = rows
    many = np.hstack([X, np.random.default_rng(1).standard_normal((150, 24))])
    same(fitted(ForestValues(), (many, y), n_subsets=40), fitted("forest", (many, y), n_subsets=40))


def test_a_classifier_in_it_reads_numbers_as_classes(rows):
    X, y = rows
    classes = np.digitize(y, [-0.5, 0.5]).astype(float)
    forest = RandomForestClassifier(20, min_samples_leaf=5)
    result = fitted(ForestValues(forest), (X, classes), n_subsets=10)
    assert set(result.per_output) == {"0", "1", "2"}
    same(result, fitted(forest, (X, classes), n_subsets=10))


def test_clones_have_the_same_parameters_and_results(rows):
    est = ShapleyEffects(ForestValues(FOREST, error="plain"), n_subsets=10, random_state=0)
    twin = clone(est)
    setting = twin.get_params()["estimator"]
    assert setting is not est.estimator
    assert (setting.error, setting.model.n_estimators) == ("plain", 20)
    assert setting.model is not FOREST
    same(est.fit(*rows).result_, twin.fit(*rows).result_)
    assert "ForestValues(model=RandomForestRegressor" in repr(twin)
    assert not hasattr(FOREST, "estimators_")


def test_the_error_is_part_of_a_checkpoint(rows, tmp_path):
    found = [
        fitted(ForestValues(FOREST, error=error), rows, n_subsets=10, checkpoint=tmp_path)
        for error in ("plain", "unbiased", "plain")
    ]
    assert found[0].explained_variance != found[1].explained_variance
    same(found[0], found[2])
    assert len({path.name.split("-")[0] for path in tmp_path.glob("*.part")}) == 2


def test_as_published_measures_any_forest_by_the_plain_error():
    exp = experiment_1a(n=150, random_state=0)
    design = ForestPaths(40, "published")
    assert ShapleyEffects.as_published(estimator=FOREST).estimator.error == "plain"
    assert ShapleyEffects.as_published(estimator="forest").estimator.error == "plain"
    assert ShapleyEffects.as_published(estimator="boosting").estimator == "boosting"
    asked = ForestValues(FOREST, error="unbiased")
    assert ShapleyEffects.as_published(estimator=asked).estimator is asked
    published = ShapleyEffects.as_published(estimator=FOREST, design=design, random_state=0)
    by_hand = ShapleyEffects(
        ForestValues(FOREST, error="plain"), design=design, solver="least_squares", random_state=0
    )
    same(published.fit(exp.X, exp.y).result_, by_hand.fit(exp.X, exp.y).result_)


def test_a_fitted_forest_has_its_error_too(rows):
    X, y = rows
    model = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(X[:75], y[:75])
    unbiased, as_it_is, plain = (
        ShapleyEffects.from_fitted(given, X[75:], y[75:], n_subsets=10, random_state=0).result_
        for given in (ForestValues(model), model, ForestValues(model, error="plain"))
    )
    same(unbiased, as_it_is)
    assert plain.explained_variance < unbiased.explained_variance


def test_what_it_does_not_take(rows):
    with pytest.raises(InputError, match=r"error='oob': use one of \('unbiased', 'plain'\)"):
        ForestValues(FOREST, error="oob")
    with pytest.raises(InputTypeError, match="a forest of scikit-learn or None, not Gradient"):
        ForestValues(GradientBoostingRegressor())
    with pytest.raises(InputTypeError, match="needs a model that has been fitted, not None"):
        ShapleyEffects.from_fitted(ForestValues(), *rows)
