"""Path-dependent and marginal values of trees, against shap and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shaff.data.problem import Problem
from shaff.datasets import shapley_values
from shaff.subsets import Subsets
from shaff.values.published.marginal import MarginalValues
from shaff.values.published.path_dependent import PathDependentValues

P = 5


def all_subsets(p: int) -> Subsets:
    return Subsets.from_masks((np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, P))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    y = X[:, 0] * X[:, 2] + np.maximum(X[:, 1], 0) + 0.1 * rng.normal(size=160)
    return X.astype(np.float32).astype(np.float64), y


def forest(**kwargs) -> RandomForestRegressor:
    return RandomForestRegressor(20, min_samples_leaf=3, max_features=2, random_state=7, **kwargs)


def local_shapley(value_function, rows) -> np.ndarray:
    means = value_function.predict(all_subsets(P), rows)[:, :, 0]
    # shap starts from the mean of the model, `predict` of the empty set is the mean of y.
    means[0] = value_function._means(np.zeros((1, P), dtype=bool), rows)[0, :, 0]
    return np.array([shapley_values(lambda masks, m=m: m, P) for m in means.T])


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # shap on import
def test_path_dependent_equals_tree_shap(data):
    import shap

    X, y = data
    explainer = shap.TreeExplainer(forest().fit(X, y), feature_perturbation="tree_path_dependent")
    ours = local_shapley(PathDependentValues(Problem.of(X, y), forest()), X[:25])
    assert_allclose(ours, explainer.shap_values(X[:25]), atol=1e-6)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # shap on import
def test_marginal_equals_interventional_shap(data):
    import shap

    X, y = data
    explainer = shap.TreeExplainer(
        forest().fit(X, y), data=shap.maskers.Independent(X, max_samples=len(X)),
        feature_perturbation="interventional",
    )  # fmt: skip
    ours = local_shapley(MarginalValues(Problem.of(X, y), forest(), n_background=None), X[:25])
    assert_allclose(ours, explainer.shap_values(X[:25]), atol=1e-6)


def walk(tree, node, x, known, background):
    """Slow oracle of one tree: by cover, or over one background row."""
    if tree.children_left[node] < 0:
        return tree.value[node, :, 0]
    left, right = tree.children_left[node], tree.children_right[node]
    j = tree.feature[node]
    source = x if known[j] else background
    if source is not None:
        value = np.float32(source[j])
        goes_left = tree.missing_go_to_left[node] if np.isnan(value) else (
            value <= tree.threshold[node]
        )  # fmt: skip
        return walk(tree, left if goes_left else right, x, known, background)
    share = tree.weighted_n_node_samples[left] / tree.weighted_n_node_samples[node]
    return share * walk(tree, left, x, known, None) + (1 - share) * walk(
        tree, right, x, known, None
    )


@pytest.mark.parametrize("by_cover", [True, False])
def test_out_of_bag_means_by_brute_force(data, by_cover):
    X, y = data
    X = X.copy()
    X[::7, 0] = np.nan
    Y = np.column_stack([y, y**2])
    kind = PathDependentValues if by_cover else MarginalValues
    model = kind(Problem.of(X, Y, random_state=0), forest())
    fitted = forest().fit(X, Y)
    known = np.array([True, False, True, False, False])
    draws = [None] if by_cover else [X[b] for b in model._background(known)]
    ours = model.predict(Subsets.from_masks(known))[0]
    for i in range(0, len(X), 23):
        unseen = [
            tree.tree_
            for tree, bag in zip(fitted.estimators_, fitted.estimators_samples_, strict=True)
            if i not in bag
        ]
        expected = np.mean([[walk(t, 0, X[i], known, b) for b in draws] for t in unseen], (0, 1))
        assert_allclose(ours[i], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [PathDependentValues, MarginalValues])
def test_full_set_is_the_out_of_bag_prediction(data, kind):
    X, y = data
    fitted = RandomForestRegressor(60, oob_score=True, random_state=1).fit(X, y)
    model = kind(Problem.of(X, y), RandomForestRegressor(60, random_state=1))
    assert_allclose(model.predict(Subsets.full(P))[0, :, 0], fitted.oob_prediction_, rtol=1e-12)
    expected = 1 - np.mean((y - fitted.oob_prediction_) ** 2) / y.var(ddof=1)
    assert_allclose(model.values(Subsets.full(P)).v, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [PathDependentValues, MarginalValues])
def test_forest_kinds_and_jobs(data, kind):
    X, y = data
    bagged = BaggingRegressor(
        DecisionTreeRegressor(min_samples_leaf=5), 12, bootstrap=False, max_samples=0.5
    )
    for estimator in (
        bagged,
        DecisionTreeRegressor(max_depth=3),
        ExtraTreesRegressor(9, min_samples_leaf=4),
    ):
        results = [
            kind(Problem.of(X, y, n_jobs=n_jobs, random_state=4), estimator).values(all_subsets(P))
            for n_jobs in (1, 2)
        ]
        assert_array_equal(results[0].v, results[1].v)
        assert results[0].v[0] == 0
        assert results[0].v[-1] > 0


def test_marginal_of_any_model_equals_that_of_a_tree(data):
    """The completed rows of the general path and the walk of the tree path agree."""
    X, y = data
    tree = MarginalValues(Problem.of(X, y, random_state=0), DecisionTreeRegressor(max_depth=4))
    known = np.array([[True, False, False, True, False]])
    expected = tree._means(known, None)[0]
    ours = tree._completed_means(known[0], X[tree._background(known[0])], None)
    assert_allclose(ours, expected, rtol=1e-12)


def test_marginal_of_a_linear_model_has_a_closed_form(data):
    X, y = data
    model = MarginalValues(
        Problem.of(X, y, cv=4, random_state=0), LinearRegression(), n_background=None
    )
    known = np.array([True, False, True, False, False])
    completed = np.where(known, X[:9], X.mean(axis=0))
    expected = np.mean([m.predict(completed) for m in model._held_out.predictors], axis=0)
    assert_allclose(model.predict(Subsets.from_masks(known), X[:9])[0, :, 0], expected)


def test_groups_are_players(data):
    X, y = data
    grouped = PathDependentValues(Problem.of(X, y, players=[[0, 1], [2], [3, 4]]), forest())
    single = PathDependentValues(Problem.of(X, y), forest())
    assert grouped.n_players == 3
    assert_array_equal(
        grouped.values(Subsets.from_indices([[0]], 3)).v,
        single.values(Subsets.from_indices([[0, 1]], P)).v,
    )


def test_value_of_a_subset_does_not_depend_on_its_company(data):
    X, y = data
    model = MarginalValues(Problem.of(X, y, random_state=0), forest(), n_background=10)
    together = model.values(all_subsets(P), influences=True)
    alone = model.values(all_subsets(P)[11:12], influences=True)
    assert_array_equal(alone.v, together.v[11:12])
    assert_array_equal(alone.influences, together.influences[11:12])
    assert_allclose(together.influences.mean(axis=1), 0, atol=1e-6)


def test_other_models_have_no_path_dependent_values(data):
    X, y = data
    with pytest.raises(TypeError, match="LinearRegression"):
        PathDependentValues(Problem.of(X, y), LinearRegression())
