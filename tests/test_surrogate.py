"""Models that are not trees: their labels are explained."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from shaff import ShapleyEffects


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], size=400)
    return X, X[:, 0] + X[:, 2] + rng.standard_normal(400)


def test_a_linear_model_is_explained_by_itself_not_by_the_data(data):
    X, y = data
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    est = ShapleyEffects.from_fitted(model, X, random_state=0)
    assert est.explained_variance_ > 0.99  # the labels have no noise
    assert any("the model, not the data" in note for note in est.result_.notes)
    assert est.result_.estimator.startswith("surrogate")
    assert est.result_.n_rows == 400


def test_any_estimator_can_be_fitted_and_explained(data):
    X, y = data
    asked = {"explains": "predictions", "random_state": 0}
    est = ShapleyEffects(LinearRegression(), **asked).fit(X, y)
    assert est.explained_variance_ > 0.99
    classes = np.where(y > 0, "high", "low")
    est = ShapleyEffects(LogisticRegression(), **asked).fit(X, classes)
    assert est.effects_.argmax() in (0, 2)


def test_predictions_of_trees_are_explained_without_y(data):
    X, y = data
    forest = RandomForestRegressor(20, min_samples_leaf=20, random_state=0).fit(X, y)
    est = ShapleyEffects.from_fitted(forest, X, random_state=0)
    assert est.result_.explains == "predictions"
    assert est.explained_variance_ > 0.9
    with pytest.raises(ValueError, match=r'rows="training" needs the outcome y'):
        ShapleyEffects.from_fitted(forest, X, rows="training")


def test_effects_on_a_class_stand_under_its_name():
    """Eleven classes: as text, "10" comes before "2"."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 4))
    y = np.where(X[:, 3] > 1, 10, rng.integers(0, 10, 900))
    model = LogisticRegression(max_iter=500).fit(X, y)
    held_out = X[y != 4]  # and one class is not among the rows
    result = ShapleyEffects.from_fitted(model, held_out, random_state=0).result_
    assert list(result.per_output) == [str(label) for label in range(11)]
    assert result.per_output["10"].argmax() == 3


def test_a_rare_class_is_explained_by_its_probability(data):
    X, y = data
    rare = (y > np.quantile(y, 0.95)).astype(int)
    model = LogisticRegression(C=0.05).fit(X, rare)
    assert not model.predict(X).any()
    assert ShapleyEffects.from_fitted(model, X, random_state=0).explained_variance_ > 0.9


def test_a_model_that_says_the_same_of_all_rows(data):
    X, y = data
    with pytest.warns(UserWarning, match="The predictions of Lasso are constant"):
        est = ShapleyEffects(Lasso(alpha=1e3), explains="predictions", random_state=0).fit(X, y)
    assert not est.effects_.any()


def test_nested_models_have_the_seed_too(data):
    X, y = data
    model = make_pipeline(StandardScaler(), GradientBoostingRegressor(subsample=0.3))
    est = ShapleyEffects(model, random_state=0)
    np.testing.assert_array_equal(est.fit(X, y).effects_, est.fit(X, y).effects_)


def test_bagged_models_without_trees_are_explained_through_their_labels(data):
    X, y = data
    bags = BaggingRegressor(LinearRegression())
    est = ShapleyEffects(bags, explains="predictions", random_state=0).fit(X, y)
    assert est.result_.estimator.startswith("surrogate")
    assert est.result_.target == "the predictions of BaggingRegressor"


def test_a_model_need_not_be_one_that_can_be_pickled(data):
    X, y = data
    model = make_pipeline(FunctionTransformer(lambda Z: Z), LinearRegression()).fit(X, y)
    assert ShapleyEffects.from_fitted(model, X, random_state=0).explained_variance_ > 0.9
