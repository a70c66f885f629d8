"""Models that are fitted here: anew on each subset, or measured on held-out rows."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeRegressor

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.values.models.retrained import MAX_CELLS, is_quickly_fitted

CV = KFold(4)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, 2 * X[:, 0] + X[:, 1] + rng.normal(size=300)


def share(y, said):
    return 1 - np.mean((y - said) ** 2) / y.var(ddof=1)


def test_a_linear_model_has_the_effects_of_its_subsets(data):
    """Independent inputs, additive: shares of 4, 1 and 0 in a variance of 6."""
    X, y = data
    est = ShapleyEffects(LinearRegression(), random_state=0).fit(X, y)
    np.testing.assert_allclose(est.effects_, np.array([4, 1, 0]) / 6, atol=0.06)


@pytest.mark.parametrize("model", [LinearRegression(), make_pipeline(StandardScaler(), RidgeCV())])
def test_the_value_of_all_inputs_is_the_score_of_the_model(data, model):
    X, y = data
    result = ShapleyEffects(model, cv=CV, n_subsets=6, random_state=0).fit(X, y).result_
    expected = share(y, cross_val_predict(model, X, y, cv=CV))
    assert result.explained_variance == pytest.approx(expected)
    plain = 1 - (1 - expected) * len(y) / (len(y) - 1)
    assert result.held_out["r2_of_model"] == pytest.approx(plain)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_explained_by_their_probabilities(data, n_classes):
    X, y = data
    labels = np.array(["high", "low", "mid"])[np.digitize(y, [0, 1][: n_classes - 1])]
    settings = {"cv": CV, "n_subsets": 6, "random_state": 0}
    result = ShapleyEffects(GaussianNB(), **settings).fit(X, labels).result_
    said = cross_val_predict(GaussianNB(), X, labels, cv=CV, method="predict_proba")
    truth = (labels[:, None] == np.unique(labels)).astype(float)
    expected = 1 - ((truth - said) ** 2).sum() / (len(y) * truth.var(axis=0, ddof=1).sum())
    assert result.explained_variance == pytest.approx(expected)
    assert result.classes == tuple(np.unique(labels))


def test_a_class_that_a_fold_lacks_has_no_probability_there(data):
    X, _ = data
    labels = np.repeat(["a", "b"], [225, 75])  # the last of four folds holds all of b
    settings = {"cv": KFold(2), "n_subsets": 6, "random_state": 0}
    with pytest.warns(UserWarning, match="Nothing is explained"):
        result = ShapleyEffects(LogisticRegression(), **settings).fit(X, labels).result_
    assert result.explained_variance < 0


def test_classifiers_know_classes_by_the_names_that_they_were_given(data):
    X, y = data
    labels = np.where(y > 0, "yes", "no")
    weighted = LogisticRegression(class_weight={"yes": 5.0, "no": 1.0})
    settings = {"cv": CV, "n_subsets": 6, "random_state": 0}
    result = ShapleyEffects(weighted, **settings).fit(X, labels).result_
    said = np.empty(len(y))
    for train, test in CV.split(X):
        said[test] = weighted.fit(X[train], labels[train]).predict_proba(X[test])[:, 1]
    assert result.explained_variance == pytest.approx(share((labels == "yes") * 1.0, said))


def test_row_groups_stay_together(data):
    X, y = data
    twice, rows = np.vstack([X, X]), np.tile(np.arange(len(X)), 2)
    near = ShapleyEffects(KNeighborsRegressor(1), n_subsets=6, random_state=0)
    apart = near.fit(twice, np.tile(y, 2)).explained_variance_
    together = near.fit(twice, np.tile(y, 2), row_groups=rows).explained_variance_
    assert apart > 0.8
    assert together < 0.7


def test_weights_are_passed_on(data):
    X, y = data
    weight = np.where(np.arange(len(y)) < 150, 1.0, 1e-6)
    spoilt = np.where(weight == 1.0, y, -y)
    est = ShapleyEffects(LinearRegression(), n_subsets=6, random_state=0)
    with pytest.warns(UserWarning, match="Nothing is explained"):
        est.fit(X, spoilt)
    assert est.fit(X, spoilt, sample_weight=weight).explained_variance_ > 0.7


@pytest.mark.parametrize("model", [SVR(), HistGradientBoostingRegressor(max_features=0.5)])
def test_a_model_is_measured_on_the_folds_beside_learners(data, model):
    X, y = data
    result = ShapleyEffects(model, cv=CV, n_subsets=6, random_state=0).fit(X, y).result_
    said = cross_val_predict(model, X, y, cv=CV)
    expected = 1 - np.mean((y - said) ** 2) / y.var()
    assert result.held_out["r2_of_model"] == pytest.approx(expected, abs=0.01)


def test_classes_without_probabilities_have_no_score(data):
    X, y = data
    result = ShapleyEffects(LinearSVC(), n_subsets=6, random_state=0).fit(X, y > 0).result_
    assert result.through == "learners of shaff in place of LinearSVC"
    assert "r2_of_model" not in result.held_out


def test_the_score_of_a_forest_is_out_of_bag(data):
    X, y = data
    forest = RandomForestRegressor(50, min_samples_leaf=5, oob_score=True, random_state=0)
    result = ShapleyEffects(forest, n_subsets=6, random_state=0).fit(X, y).result_
    assert result.held_out["r2_of_model"] == pytest.approx(forest.fit(X, y).oob_score_, abs=1e-6)
    seen = ShapleyEffects.from_fitted(forest, X, y, rows="training", n_subsets=6, random_state=0)
    assert seen.result_.held_out["r2_of_model"] == pytest.approx(forest.oob_score_, abs=1e-6)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (LinearRegression(), True),
        (LogisticRegression(), True),
        (DecisionTreeRegressor(), True),
        (make_pipeline(StandardScaler(), LinearRegression()), True),
        (LassoCV(), False),
        (LinearSVC(), False),
        (MLPRegressor(), False),
        (make_pipeline(FunctionTransformer(np.log), LinearRegression()), False),
    ],
)
def test_what_is_quickly_fitted_is_a_matter_of_its_kind(data, model, expected):
    assert is_quickly_fitted(model, Problem.of(*data)) == expected


def test_large_tables_and_categories_are_not_refitted(data):
    X, y = data
    categories = Problem.of(np.floor(np.abs(X)), y, categorical=[True, False, False])
    assert not is_quickly_fitted(LinearRegression(), categories)
    n_rows = MAX_CELLS // 3 + 1
    large = Problem.of(np.resize(X, (n_rows, 3)), np.resize(y, n_rows))
    assert not is_quickly_fitted(LinearRegression(), large)


def test_refits_do_not_depend_on_the_number_of_jobs(data):
    X, y = data
    found = [
        ShapleyEffects(LinearRegression(), n_subsets=6, random_state=0, n_jobs=n).fit(X, y)
        for n in (1, 2)
    ]
    assert found[0].effects_.tobytes() == found[1].effects_.tobytes()
