"""Readers: each reproduces its library's own predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from boosters import ALL, catboost, hist_gradient_boosting, lightgbm, messy_data, xgboost
from sklearn.linear_model import Ridge

from shaff import ShapleyEffects
from shaff.data.table import category_columns, recode
from shaff.trees.boosters import category_codes, is_booster, read_ensemble
from shaff.trees.coding import MISSING, Coding


def assert_reads(model, X_new):
    expected = np.asarray(model.predict(X_new), dtype=float)
    read = read_ensemble(model).predict(X_new)
    np.testing.assert_allclose(read, expected, rtol=2e-6, atol=2e-6)


def walk_codes(coding, codes):
    """Predict from codes alone, node by node."""
    ensemble = coding.ensemble
    total = np.full(codes.shape[1], ensemble.base_score)
    for root in ensemble.tree_offset[:-1]:
        for i in range(codes.shape[1]):
            node = root
            while ensemble.feature[node] >= 0:
                code = codes[ensemble.feature[node], i]
                if code == MISSING:
                    left = ensemble.missing_left[node]
                elif coding.category_set[node] >= 0:
                    k = coding.category_set[node]
                    words = coding.set_words[coding.set_offset[k] : coding.set_offset[k + 1]]
                    left = code // 64 < len(words) and int(words[code // 64]) >> int(code % 64) & 1
                else:
                    left = code <= coding.threshold[node]
                node = ensemble.left[node] if left else ensemble.right[node]
            total[i] += ensemble.value[node]
    return total


@pytest.mark.parametrize("booster", ALL)
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_reader_reproduces_predict(booster, missing):
    X, y = messy_data(missing=missing)
    model = booster().fit(X, y)
    X_new, _ = messy_data(seed=1, missing=0.3)
    assert_reads(model, X_new)
    assert_reads(model, X)


@pytest.mark.parametrize("booster", ALL)
def test_codes_route_as_values(booster):
    X, y = messy_data(n=150)
    ensemble = read_ensemble(booster().fit(X, y))
    coding = Coding.of(ensemble)
    np.testing.assert_allclose(walk_codes(coding, coding.encode(X)), ensemble.predict(X))


@pytest.mark.parametrize("booster", ALL)
def test_values_on_thresholds_take_the_library_s_side(booster):
    X, y = messy_data(missing=0.0)
    model = booster().fit(X, y)
    ensemble = read_ensemble(model)
    cuts = [points if len(points) else np.zeros(1) for points in Coding.of(ensemble).cuts]
    on = np.array([[points[k % len(points)] for points in cuts] for k in range(60)])
    # XGBoost's thresholds are resolved to the float before: test both sides of each.
    after = np.nextafter(on.astype(np.float32), np.float32(np.inf)).astype(float)
    assert_reads(model, np.vstack([on, after]))


def test_lightgbm_zero_as_missing():
    X, y = messy_data()
    model = lightgbm(zero_as_missing=True).fit(X, y)
    ensemble = read_ensemble(model)
    assert ensemble.zero_missing.any()
    X_new, _ = messy_data(seed=1)
    assert_reads(model, X_new)
    coding = Coding.of(ensemble)
    np.testing.assert_allclose(walk_codes(coding, coding.encode(X_new)), ensemble.predict(X_new))


def categorical_data(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[:, 1] = rng.integers(0, 80, n)
    effect = np.random.default_rng(5).standard_normal(80)
    y = X[:, 0] + effect[X[:, 1].astype(int)] + 0.1 * rng.standard_normal(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("library", ["hist_gradient_boosting", "lightgbm", "xgboost"])
def test_categorical_splits(library):
    X, y = categorical_data()
    if library == "lightgbm":
        model = lightgbm(min_data_per_group=5, cat_smooth=1).fit(X, y, categorical_feature=[1])
    elif library == "xgboost":
        model = xgboost(enable_categorical=True, feature_types=["q", "c", "q"])
        model.fit(X, y)
    else:
        model = hist_gradient_boosting(categorical_features=[1], min_samples_leaf=5).fit(X, y)
    ensemble = read_ensemble(model)
    assert (ensemble.category_set >= 0).any()
    X_new, _ = categorical_data(seed=1)
    X_new[:5, 1] = [80, 81, 300, 7, 0]
    assert_reads(model, X_new)
    coding = Coding.of(ensemble)
    np.testing.assert_allclose(walk_codes(coding, coding.encode(X_new)), ensemble.predict(X_new))


def frame_with_categories(seed):
    rng = np.random.default_rng(seed)
    towns = ["Rome", "Oslo", "Bern", "Lima"] if seed else ["Rome", "Oslo", "Bern"]
    frame = pd.DataFrame(
        {
            "x": rng.standard_normal(300),
            "town": pd.Categorical(rng.choice(towns, 300)),
            "year": pd.Categorical(rng.choice([3, 7, 12], 300)),
        }
    )
    y = frame["x"] + (frame["town"] == "Oslo") * 2.0 + (frame["year"] == 7) * 1.0
    frame.loc[rng.random(300) < 0.1, "town"] = None
    return frame, y.to_numpy()


@pytest.mark.parametrize(
    "model",
    [
        lambda: hist_gradient_boosting(categorical_features="from_dtype"),
        lambda: lightgbm(min_data_per_group=5),
        lambda: xgboost(enable_categorical=True),
    ],
)
@pytest.mark.filterwarnings("ignore:.*looks at all columns")
def test_categories_of_the_frame_that_a_model_was_fitted_on(model):
    fitted = model().fit(*frame_with_categories(seed=0))
    frame, y = frame_with_categories(seed=0)
    codes = category_codes(fitted, category_columns(frame))
    assert set(codes) == {"town", "year"}
    numbers = recode(frame, codes)
    np.testing.assert_allclose(
        read_ensemble(fitted).predict(numbers), fitted.predict(frame), rtol=1e-5, atol=1e-5
    )
    with_new_town, y = frame_with_categories(seed=1)
    assert recode(with_new_town, codes)["town"].isna().sum() > 60
    est = ShapleyEffects.from_fitted(fitted, with_new_town, y, random_state=0)
    assert (est.effects_ > 0.05).all()


def test_early_stopping_keeps_the_trees_that_predict():
    X, y = messy_data()
    held_out = messy_data(seed=1)
    model = xgboost(n_estimators=200, early_stopping_rounds=3, learning_rate=0.9)
    model.fit(X, y, eval_set=[held_out], verbose=False)
    assert read_ensemble(model).n_trees < 200
    assert_reads(model, X)
    stopped = read_ensemble(hist_gradient_boosting().fit(X, y)).first_trees(7)
    expected = hist_gradient_boosting(max_iter=7).fit(X, y).predict(X)
    np.testing.assert_allclose(stopped.predict(X), expected)


@pytest.mark.parametrize("booster", ALL)
def test_gains_find_the_columns_that_matter(booster):
    X, y = messy_data()
    gains = read_ensemble(booster().fit(X, y)).column_gains()
    assert gains.shape == (5,)
    assert set(np.argsort(gains)[-2:]) <= {0, 1, 2}
    assert (gains >= 0).all()


@pytest.mark.parametrize(
    ("model", "error", "match"),
    [
        (lambda: hist_gradient_boosting(loss="absolute_error"), ValueError, "squared_error"),
        (lambda: lightgbm(objective="l1"), ValueError, "regression"),
        (lambda: lightgbm(boosting_type="dart"), NotImplementedError, "dart"),
        (lambda: xgboost(objective="reg:absoluteerror"), ValueError, "squarederror"),
        (lambda: xgboost(num_parallel_tree=2), NotImplementedError, "num_parallel_tree"),
        (lambda: catboost(loss_function="MAE"), ValueError, "RMSE"),
        (lambda: catboost(grow_policy="Depthwise"), NotImplementedError, "symmetric"),
    ],
)
def test_refusals(model, error, match):
    X, y = messy_data(n=100)
    fitted = model().fit(X, y)
    with pytest.raises(error, match=match):
        read_ensemble(fitted)


def test_other_models_are_not_boosters():
    assert not is_booster(Ridge())
    with pytest.raises(TypeError, match="Ridge is not a booster"):
        read_ensemble(Ridge())


def test_changed_private_attributes_give_a_clear_error():
    X, y = messy_data(n=100)
    model = hist_gradient_boosting().fit(X, y)
    del model._predictors
    with pytest.raises(RuntimeError, match="private attributes have changed"):
        read_ensemble(model)
