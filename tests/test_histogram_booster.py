"""The booster that shaff grows itself: against scikit-learn's, and against a plain oracle."""

import pickle
import threading

import numpy as np
import pytest
from growing_oracle import grow_tree
from numpy.testing import assert_allclose, assert_array_equal
from projection_oracle import replay
from sklearn.ensemble import HistGradientBoostingRegressor

from shaff.errors import InputError
from shaff.trees.binning import MAX_BINS, Bins
from shaff.trees.boosters import read_ensemble
from shaff.trees.ensemble import LEAF
from shaff.trees.histogram_booster import Growth, HistogramBooster
from shaff.trees.scaling import Scaling

CATEGORICAL = np.array([False, True, False, False, True, False])


# Whole weights count rows, also in the least size of a leaf; others do not.
WEIGHT_UNITS = {"whole": 1, "shares": 2}


def table(seed, n=400, *, missing=True, categories=True, weights=None):
    """Few distinct numbers, so that every booster has the same bins."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).round(1)
    categorical = CATEGORICAL & categories
    if categories:
        X[:, 1], X[:, 4] = rng.integers(0, 12, n), rng.choice([0, 2, 3, 9, 70], n)
    y = X[:, 0] * X[:, 2] + np.sin(X[:, 3]) + X[:, 1] % 3 + 0.3 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 4, n) / WEIGHT_UNITS[weights] if weights else None
    return X, y, categorical, weight


def growth(booster, X, y, categorical=None, weight=None, seed=0):
    categorical = np.zeros(X.shape[1], dtype=bool) if categorical is None else categorical
    bins = Bins.of(X, categorical, weight)
    values = Scaling.of(X, categorical, weight).apply(X)
    return Growth(booster, bins, bins.as_bytes(bins.encode(X)), y, weight, seed, values)


def tree_nodes(ensemble, node):
    """What there is to know of a tree, its nodes from left to right."""
    if ensemble.feature[node] == LEAF:
        return [("leaf", int(ensemble.count[node]))]
    sides = [tree_nodes(ensemble, int(side[node])) for side in (ensemble.left, ensemble.right)]
    own = (int(ensemble.feature[node]), "categories")
    if ensemble.category_set[node] < 0:
        cut = round(float(ensemble.threshold[node]), 9)
        own = (*own[:1], cut, bool(ensemble.missing_left[node]))
    else:
        # A set and all others are a tie: the sides may be the other way round.
        sides = sorted(sides, key=repr)
    return [own, *(entry for side in sides for entry in side)]


@pytest.mark.parametrize("weights", [None, "shares"])
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_trees_are_those_of_scikit_learn(missing, categories, weights):
    for seed in range(3):
        X, y, categorical, weight = table(
            seed, missing=missing, categories=categories, weights=weights
        )
        model = HistGradientBoostingRegressor(
            max_iter=15, max_leaf_nodes=12, min_samples_leaf=5, l2_regularization=2.0,
            learning_rate=0.2, early_stopping=False,
            categorical_features=categorical if categories else None,
        )  # fmt: skip
        expected = read_ensemble(model.fit(X, y, sample_weight=weight))
        booster = HistogramBooster(0.2, 12, 5, 2.0)
        found = growth(booster, X, y, categorical, weight).grow(15)
        for a, b in zip(found.tree_offset[:-1], expected.tree_offset[:-1], strict=True):
            assert tree_nodes(found, int(a)) == tree_nodes(expected, int(b))
        assert_allclose(found.predict(X), model.predict(X), atol=1e-6)
        assert_allclose(
            np.sort(found.value), np.sort(expected.value * (expected.feature == LEAF)), atol=1e-6
        )
        assert_allclose(found.column_gains(), expected.column_gains(), rtol=1e-5)


@pytest.mark.parametrize("slope_ratio", [None, 0.5])
@pytest.mark.parametrize("weights", [None, "shares", "whole"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_trees_on_some_of_the_columns_are_those_of_the_oracle(share, weights, slope_ratio):
    X, y, categorical, weight = table(7, n=150, weights=weights)
    booster = HistogramBooster(0.3, 7, 4, 1.5, share, slope_ratio)
    growing = growth(booster, X, y, categorical, weight, seed=2**63 + 5)
    found, bins = growing.grow(6), Bins.of(X, categorical, weight)
    values = None if slope_ratio is None else Scaling.of(X, categorical, weight).apply(X)
    rows, weight = bins.as_bytes(bins.encode(X)), np.ones(len(y)) if weight is None else weight
    residual = y - np.average(y, weights=weight)
    for tree, first in enumerate(found.tree_offset[:-1]):
        splits, step = grow_tree(
            rows, bins.n_bins, categorical, residual, weight, booster, 2**63 + 5, tree, values
        )
        for node, column, n_left in splits:
            assert found.feature[first + node] == column
            assert found.count[found.left[first + node]] == n_left
        n_splits = (found.feature[first : found.tree_offset[tree + 1]] != LEAF).sum()
        assert n_splits == len(splits)
        residual = residual - step
    assert_allclose(growing.residual, residual, atol=1e-10)


@pytest.mark.parametrize("slope_ratio", [None, 1.0])
def test_residuals_are_those_of_the_replay_on_all_columns(slope_ratio):
    X, y, categorical, weight = table(3, weights="whole")
    booster = HistogramBooster(0.3, 6, 5, 2.0, slope_ratio=slope_ratio)
    growing = growth(booster, X, y, categorical, weight)
    ensemble, start = growing.grow(8), y - np.average(y, weights=weight)
    values = None if slope_ratio is None else Scaling.of(X, categorical, weight).apply(X)
    replayed = replay(ensemble, X, start, len(y), weight, set(range(6)), 0.3, 2.0,
                      values=values, slope_shrinkage=ensemble.slope_shrinkage(2.0))  # fmt: skip
    assert_allclose(growing.residual, replayed, atol=1e-10)
    if slope_ratio is None:
        assert_allclose(y - ensemble.predict(X), replayed, atol=1e-10)


def test_linear_leaves_follow_a_line_that_constant_ones_cut_into_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] * (X[:, 1] > 0)
    left = []
    for slope_ratio in (None, 0.1):
        booster = HistogramBooster(0.5, 4, slope_ratio=slope_ratio)
        growing = growth(booster, X, y)
        growing.grow(10)
        left.append(np.mean(growing.residual**2))
    assert left[1] < 0.1 * left[0]


def test_trees_with_linear_leaves_do_not_predict_by_themselves():
    X, y, categorical, _ = table(1)
    with pytest.raises(InputError, match="linear leaves"):
        growth(HistogramBooster(slope_ratio=1.0), X, y, categorical).grow(1).predict(X)


def test_leaves_are_constant_without_values():
    X, y, categorical, _ = table(1)
    bins = Bins.of(X, categorical)
    rows = bins.as_bytes(bins.encode(X))
    plain, linear = (
        Growth(HistogramBooster(slope_ratio=ratio), bins, rows, y).grow(3) for ratio in (None, 1.0)
    )
    assert linear.slope_ratio is None
    assert_array_equal(linear.predict(X), plain.predict(X))


@pytest.mark.parametrize("slope_ratio", [None, 1.0])
def test_growth_goes_on_where_the_rows_are(slope_ratio):
    """It is sent without its rows, and comes back without them."""
    X, y, categorical, _ = table(1)
    booster = HistogramBooster(max_features=0.5, slope_ratio=slope_ratio)
    here, there = (growth(booster, X, y, categorical, seed=3) for _ in range(2))
    whole = here.grow(6)
    there.grow(3)
    light = pickle.dumps(there.without_rows())
    assert len(light) < X.nbytes
    bins, values = Bins.of(X, categorical), Scaling.of(X, categorical).apply(X)
    back = pickle.loads(light).with_rows(bins.as_bytes(bins.encode(X)), values)
    assert_array_equal(back.grow(3).value, whole.value)
    assert_array_equal(back.residual, here.residual)


@pytest.mark.parametrize("slope_ratio", [None, 1.0])
def test_growing_goes_on_from_where_it_was(slope_ratio):
    X, y, categorical, _ = table(1)
    booster = HistogramBooster(max_features=0.5, slope_ratio=slope_ratio)
    once, twice = (growth(booster, X, y, categorical, seed=3) for _ in range(2))
    whole = once.grow(9)
    twice.grow(4)
    parts = twice.grow(5)
    for name in ("feature", "threshold", "value", "gain", "category_set", "set_offset",
                 "set_words", "tree_offset"):  # fmt: skip
        assert_array_equal(getattr(parts, name), getattr(whole, name))
    splits = whole.feature != LEAF
    assert_array_equal(parts.left[splits], whole.left[splits])
    assert_array_equal(parts.right[splits], whole.right[splits])


def test_same_bits_in_every_thread():
    X, y, categorical, _ = table(2)
    booster, found = HistogramBooster(max_features=0.5), {}

    def grow(k):
        found[k] = growth(booster, X, y, categorical).grow(30).value

    threads = [threading.Thread(target=grow, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value in found.values():
        assert_array_equal(value, found[0])


def test_another_seed_draws_other_columns():
    X, y, _, _ = table(2, missing=False, categories=False)
    first, second = (
        growth(HistogramBooster(max_features=0.5), X, y, seed=seed).grow(5).feature
        for seed in (0, 1)
    )
    assert len(first) != len(second) or (first != second).any()


def test_splits_do_not_move_with_the_target():
    X, y, categorical, _ = table(4)
    plain, moved = (
        growth(HistogramBooster(), X, target, categorical).grow(4) for target in (y, 8 * y + 64)
    )
    assert_array_equal(plain.feature, moved.feature)
    assert_allclose(8 * plain.predict(X) + 64, moved.predict(X), rtol=1e-9)


def test_copies_of_a_column_share_alike():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 600))
    X = np.column_stack([x, z, x])
    gains = growth(HistogramBooster(max_features=0.7), X, np.sin(2 * x) + z).grow(60).column_gains()
    assert 0.4 < gains[0] / (gains[0] + gains[2]) < 0.6


@pytest.mark.parametrize("slope_ratio", [None, 1.0])
def test_whole_weights_count_as_repeated_rows(slope_ratio):
    X, y, categorical, weight = table(5, categories=False, weights="whole")
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    booster = HistogramBooster(min_samples_leaf=5, slope_ratio=slope_ratio)
    weighted = growth(booster, X, y, categorical, weight)
    plain = growth(booster, X[repeated], y[repeated], categorical)
    assert_array_equal(weighted.grow(8).feature, plain.grow(8).feature)
    assert_allclose(weighted.residual[repeated], plain.residual, atol=1e-6 if slope_ratio else 1e-9)


def test_nothing_to_split():
    y = np.arange(20.0)
    for X in (np.ones((20, 2)), np.full((20, 1), np.nan)):
        ensemble = growth(HistogramBooster(), X, y).grow(3)
        assert_array_equal(ensemble.feature, [LEAF] * 3)
        assert_array_equal(ensemble.predict(X), 9.5)
    few = growth(HistogramBooster(min_samples_leaf=11), np.arange(20.0)[:, None], y).grow(1)
    assert few.feature.tolist() == [LEAF]


def test_missing_values_may_be_a_side_of_their_own():
    x = np.where(np.arange(100) < 40, np.nan, np.arange(100) % 7)
    y = np.isnan(x).astype(float)
    ensemble = growth(HistogramBooster(1.0, 2, 5, 0.0), x[:, None], y).grow(1)
    assert_allclose(ensemble.predict(x[:, None]), y, atol=1e-12)


def test_unseen_categories_count_as_missing():
    X = np.repeat([0.0, 1.0, 2.0], 20)[:, None]
    y = X[:, 0] == 1
    ensemble = growth(HistogramBooster(), X, y.astype(float), np.array([True])).grow(3)
    unknown = ensemble.predict([[7.0], [np.nan]])
    assert unknown[0] == unknown[1]


def test_cuts_share_the_rows_alike():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=1000)
    (cuts,) = Bins.of(x[:, None], np.array([False])).cuts
    assert len(cuts) == MAX_BINS - 1
    assert np.bincount(np.searchsorted(cuts, x)).max() <= np.ceil(1000 / MAX_BINS)
    # As any monotone transform sees them.
    (logs,) = Bins.of(np.log(x)[:, None], np.array([False])).cuts
    assert_array_equal(np.searchsorted(logs, np.log(x)), np.searchsorted(cuts, x))


def test_cuts_count_weights_as_repeated_rows():
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=700), rng.integers(0, 4, 700)
    none = np.array([False])
    (weighted,) = Bins.of(x[:, None], none, weight.astype(float)).cuts
    (plain,) = Bins.of(np.repeat(x, weight)[:, None], none).cuts
    assert_array_equal(weighted, plain)


def test_half_way_cuts_do_not_hang_on_the_last_digit():
    # 510 rows: every share of 1/255 ends between two of them.
    (cuts,) = Bins.of(np.arange(510.0)[:, None], np.array([False])).cuts
    assert_array_equal(cuts, np.arange(1.5, 508, 2))


def test_cuts_of_extreme_numbers():
    huge = np.array([-1.7e308, 1.7e308, 1e-320, np.nan])[:, None]
    (cuts,) = Bins.of(huge, np.array([False])).cuts
    assert np.isfinite(cuts).all()
    bins = Bins.of(huge, np.array([False]))
    assert bins.as_bytes(bins.encode(huge)).tolist() == [[0, 2, 1, 3]]


def test_too_many_categories_are_named():
    with pytest.raises(InputError, match="Column 0 has 256 categories"):
        Bins.of(np.arange(256.0)[:, None], np.array([True]))
