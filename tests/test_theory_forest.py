"""The forest of the paper's consistency proof: trees on subsamples without replacement."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from shaff import ForestPaths, ForestValues, ShapleyEffects
from shaff.datasets import experiment_1a
from shaff.errors import InputError
from shaff.trees.bags import forest_bags
from shaff.trees.growing import grow_forest
from shaff.trees.theory_forest import TheoryGrowth, grow_theory_forest
from shaff.values.forest.theory import TheoryForest

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


# Our own grower, with the shares of Theorem 1


def node_rows(forest, tree, X, bag):
    """Rows of the subsample at each node of a tree."""
    nodes = slice(*forest.offsets[tree : tree + 2])
    feature, left, right = (getattr(forest, n)[nodes] for n in ("feature", "left", "right"))
    inside = {0: np.flatnonzero(bag)}
    for node, column in enumerate(feature):
        if column >= 0:
            rows = inside[node]
            goes_left = X[rows, column].astype(np.float32) <= forest.threshold[nodes][node]
            inside[int(left[node])], inside[int(right[node])] = rows[goes_left], rows[~goes_left]
    return feature, left, right, inside


@pytest.fixture(scope="module")
def grown():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    y = (3 * X[:, :1] + X[:, 1:2] * X[:, 2:3]) + 0.1 * rng.normal(size=(400, 1))
    growth = TheoryGrowth(n_trees=12, gamma=0.2, delta=0.3, subsample=0.6)
    return X, y, growth, grow_theory_forest(X, y, growth, seed=0)


def test_children_keep_their_share_of_the_parent(grown):
    X, _, growth, made = grown
    for tree, bag in enumerate(made.bags):
        feature, left, right, inside = node_rows(made.forest, tree, X, bag)
        for node in np.flatnonzero(feature >= 0):
            for child in (left[node], right[node]):
                assert len(inside[child]) >= max(growth.gamma * len(inside[node]), 5)


def test_trees_see_subsamples_without_replacement(grown):
    assert set(np.unique(grown[3].bags)) == {0, 1}
    assert_array_equal(grown[3].bags.sum(axis=1), 240)


def test_a_split_is_the_best_of_all_that_are_allowed():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=(60, 1))
    growth = TheoryGrowth(n_trees=1, gamma=0.2, delta=0.0, max_features=1.0, subsample=0.9)
    made = grow_theory_forest(X, y, growth, seed=1)
    rows = np.flatnonzero(made.bags[0])
    left = X[rows, 0].astype(np.float32) <= made.forest.threshold[0]
    order = np.argsort(X[rows, 0])
    cuts = range(11, len(rows) - 10)
    squares = [y[rows[order[:k]], 0].var() * k + y[rows[order[k:]], 0].var() * (len(rows) - k)
               for k in cuts]  # fmt: skip
    assert left.sum() == cuts[int(np.argmin(squares))]


def test_some_nodes_look_at_one_random_column():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 8))
    y = X[:, :1] * 10
    roots = {}
    for delta in (0.0, 0.5):
        growth = TheoryGrowth(n_trees=60, delta=delta, max_features=1.0)
        made = grow_theory_forest(X, y, growth, seed=0)
        roots[delta] = made.forest.feature[made.forest.offsets[:-1]]
    assert set(roots[0.0]) == {0}
    assert 15 < np.count_nonzero(roots[0.5]) < 40  # 60 * 0.5 * 7 / 8 = 26 on average


def test_the_forest_of_the_theorem_is_an_estimator(grown):
    X, y, *_ = grown
    design = ForestPaths(n_draws=4000, paired_weights="published")
    setting = TheoryForest(40, delta=0.2)
    est = ShapleyEffects(setting, design=design, solver="least_squares", random_state=0)
    effects = est.fit(X, y[:, 0]).effects_
    assert effects[0] > 0.6
    assert_array_equal(effects, est.fit(X, y[:, 0]).effects_)


@pytest.mark.parametrize(("options", "says"), [
    ({"gamma": 0.7}, "gamma=0.7"), ({"subsample": 2.0}, "subsample=2.0"),
    ({"error": "oob"}, "error='oob'"),
])  # fmt: skip
def test_settings_of_the_theorem_are_checked(options, says):
    with pytest.raises(InputError, match=says):
        TheoryForest(**options)


def test_the_theorem_knows_numbers_only():
    X = np.arange(40.0).reshape(20, 2)
    X[3, 0] = np.nan
    with pytest.raises(InputError, match="numbers without gaps"):
        ShapleyEffects(TheoryForest(5)).fit(X, np.arange(20.0))
