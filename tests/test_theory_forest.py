"""The forest of the paper's consistency proof: trees on subsamples without replacement."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from shaff import ForestValues, ShapleyEffects
from shaff.datasets import experiment_1a
from shaff.trees.bags import forest_bags
from shaff.trees.growing import grow_forest

GAMMA = 0.02


def theory_forest(**settings):
    tree = DecisionTreeRegressor(min_samples_leaf=GAMMA, max_features=1 / 3)
    return BaggingRegressor(tree, 20, bootstrap=False, random_state=0, **settings)


@pytest.fixture(scope="module")
def data():
    return experiment_1a(n=400, random_state=0)


def test_bags_hold_half_of_the_rows_once(data):
    forest = theory_forest(max_samples=0.5).fit(data.X, data.y)
    bags = forest_bags(forest, 400)
    assert_array_equal(bags.sum(axis=1), 200)
    assert bags.max() == 1
    for bag, rows in zip(bags, forest.estimators_samples_, strict=True):
        assert_array_equal(np.flatnonzero(bag), np.sort(rows))


def test_everything_known_gives_the_trees_own_predictions(data):
    """The stopping rule of the projection is gamma, as in the trees, so it never fires first."""
    forest = theory_forest(max_samples=0.5).fit(data.X, data.y)
    plain = ForestValues(forest, error="plain")
    model = ShapleyEffects.from_fitted(plain, data.X, data.y, rows="training", random_state=0)
    out = forest_bags(forest, 400) == 0
    by_tree = np.array([tree.predict(data.X) for tree in forest.estimators_])
    predicted = (by_tree * out).sum(axis=0) / out.sum(axis=0)
    assert out.any(axis=0).all()
    expected = 1 - ((data.y - predicted) ** 2).mean() / data.y.var(ddof=1)
    assert_allclose(model.explained_variance_, expected, rtol=1e-9)


@pytest.mark.parametrize("make", [ShapleyEffects, ShapleyEffects.as_published])
def test_effects_of_the_theory_forest(make, data):
    model = make(estimator=theory_forest(max_samples=0.5), random_state=0).fit(data.X, data.y)
    assert model.result_.estimator == "forest"
    assert model.explained_variance_ > 0.5
    assert_allclose(model.effects_.sum(), model.explained_variance_)
    assert model.effects_[13:].max() < 0.05


def test_without_rows_out_of_bag_it_is_refused(data):
    model = ShapleyEffects(theory_forest(max_samples=1.0), random_state=0)
    with pytest.raises(ValueError, match="nothing is out of bag"):
        model.fit(data.X, data.y)


def test_bags_without_replacement_where_shaff_grows_the_trees(data):
    X, y = data.X, data.y
    model = BaggingRegressor(
        DecisionTreeRegressor(min_samples_leaf=5), 6, bootstrap=False, max_samples=0.5
    )
    grown = grow_forest(model, X, y[:, None], categorical=np.zeros(X.shape[1], dtype=bool))
    assert grown.bags.max() == 1
    assert (grown.bags.sum(axis=1) == len(X) // 2).all()


def test_a_share_of_rows_is_one_of_all_rows(data):
    X, y = data.X, data.y
    model = RandomForestRegressor(5, min_samples_leaf=0.1, max_samples=0.3, random_state=0)
    grown = grow_forest(model, X, y[:, None], categorical=np.zeros(X.shape[1], dtype=bool))
    leaves = [
        int((grown.forest.feature[start:stop] < 0).sum())
        for start, stop in itertools.pairwise(grown.forest.offsets)
    ]
    expected = [tree.get_n_leaves() for tree in model.fit(X, y).estimators_]
    assert max(leaves) <= max(expected) + 1
