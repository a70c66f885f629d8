"""Models that are not trees: their labels are explained."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shaff import ShapleyEffects
from shaff.resampling import resample_rows


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], size=400)
    return X, X[:, 0] + X[:, 2] + rng.standard_normal(400)


def test_resampled_rows_keep_range_and_dependence(data):
    X, _ = data
    new = resample_rows(X, 5000, seed=1)
    assert (new >= X.min(axis=0)).all()
    assert (new <= X.max(axis=0)).all()
    np.testing.assert_allclose(np.corrcoef(new.T), np.corrcoef(X.T), atol=0.08)
    np.testing.assert_array_equal(new, resample_rows(X, 5000, seed=1))


def test_categories_and_missing_values_are_copied():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(3, size=80), rng.standard_normal(80)]).astype(float)
    X[:10, 1] = np.nan
    new = resample_rows(X, 500, categorical=np.array([True, False]))
    assert set(np.unique(new[:, 0])) <= {0.0, 1.0, 2.0}
    assert 0 < np.isnan(new[:, 1]).mean() < 0.5


def test_a_linear_model_is_explained_by_itself_not_by_the_data(data):
    X, y = data
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    est = ShapleyEffects.from_fitted(model, X, n_labelled=1000, random_state=0)
    assert est.explained_variance_ > 0.99  # the labels have no noise
    assert any("the model, not the data" in note for note in est.result_.notes)
    assert est.result_.estimator.startswith("surrogate")
    assert est.result_.n_rows == 1000


def test_any_estimator_can_be_fitted_and_explained(data):
    X, y = data
    est = ShapleyEffects(LinearRegression(), random_state=0).fit(X, y)
    assert est.explained_variance_ > 0.99
    classes = np.where(y > 0, "high", "low")
    est = ShapleyEffects(LogisticRegression(), random_state=0).fit(X, classes)
    assert est.effects_.argmax() in (0, 2)


def test_trees_need_y(data):
    from sklearn.ensemble import RandomForestRegressor

    X, y = data
    with pytest.raises(ValueError, match="requires y"):
        ShapleyEffects.from_fitted(RandomForestRegressor(5).fit(X, y), X)
