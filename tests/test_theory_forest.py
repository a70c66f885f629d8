"""The forest of the paper's consistency proof: trees on subsamples without replacement."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

from shaff import ShapleyEffects
from shaff.datasets import experiment_1a
from shaff.trees.bags import forest_bags

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
    model = ShapleyEffects.from_fitted(
        forest, data.X, data.y, rows="training", forest_error="plain", random_state=0
    )
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
