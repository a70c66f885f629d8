"""Categories: the trees' own orders, no leak into unseen rows, known effects."""

import warnings
from types import SimpleNamespace

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pytest
from boosters import catboost, lightgbm, xgboost
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.datasets import discrete_experiment, experiment_3
from shaff.screening import screen
from shaff.subsets import Subsets
from shaff.trees.growing import grow_forest
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.categories import MeanTargets
from shaff.values.forest.projected_forest import ProjectedForest

CATEGORICAL = np.array([True, False, True])


def mixed_rows(n=60, seed=0, n_outputs=1):
    """A relevant factor of 6 levels, a number, a noise factor; gaps in the first two."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.integers(6, size=n), rng.standard_normal(n), rng.integers(15, size=n)]
    ).astype(float)
    height = np.array([[0, 5, 1, 4, 2, 3], [3, 0, 5, 1, 4, 2]])[:n_outputs]
    y = height[:, X[:, 0].astype(int)].T + X[:, 1:2] + 0.3 * rng.standard_normal((n, n_outputs))
    X[rng.random((n, 3)) < [0.1, 0.1, 0.0]] = np.nan
    return X, y


def projected(X, y, model=None, **settings):
    if model is None:
        model = RandomForestRegressor(8, min_samples_leaf=3, max_features=0.7)
    grown = grow_forest(model, X, y, categorical=CATEGORICAL, **settings)
    problem = Problem.of(X, y, categorical=CATEGORICAL, sample_weight=settings.get("sample_weight"))
    return ProjectedForest(problem, grown, min_node_size=3), grown


def as_tree_sees(X, grown, t):
    """X with each category replaced by the code that stands at its place in the tree's order."""
    seen = X.copy()
    for j in np.flatnonzero(grown.orders.offset >= 0):
        levels = np.unique(X[~np.isnan(X[:, j]), j])
        ranks = grown.orders.ranks[t, grown.orders.offset[j] :][: len(levels)]
        for code, rank in zip(levels, ranks, strict=True):
            seen[X[:, j] == code, j] = levels[rank]
    return seen


def tree_of(forest, t):
    part = slice(forest.offsets[t], forest.offsets[t + 1])
    names = {"feature": "feature", "threshold": "threshold", "children_left": "left",
             "children_right": "right", "missing_go_to_left": "missing_left"}  # fmt: skip
    return SimpleNamespace(**{k: getattr(forest, v)[part] for k, v in names.items()})


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_with_orders_equals_algorithm_1(n_outputs, weighted):
    X, y = mixed_rows(n_outputs=n_outputs)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    prf, grown = projected(X, y, sample_weight=weight, seed=3)
    subsets = Subsets.from_indices([[0], [2], [0, 1], [0, 1, 2]], 3)
    got = prf.predict(subsets)
    row_weight = np.ones(len(X)) if weight is None else weight
    for k, subset in enumerate([{0}, {2}, {0, 1}, {0, 1, 2}]):
        total = np.zeros(y.shape)
        for t, bag in enumerate(grown.bags):
            seen, tree = as_tree_sees(X, grown, t), tree_of(grown.forest, t)
            for i in np.flatnonzero(bag == 0):
                total[i] += oracles.projected_tree_prediction(
                    tree, subset, seen[i], seen, y, bag * row_weight, 3
                )
        out_of_bag = (grown.bags == 0).sum(axis=0)[:, None]
        known = out_of_bag[:, 0] > 0
        expected = total[known] / out_of_bag[known]
        np.testing.assert_allclose(got[k][known], expected, rtol=1e-10)


def test_levels_are_ordered_by_their_means_in_the_bag():
    X, y = mixed_rows(n=300)
    _, grown = projected(X, y)
    for bag, ranks in zip(grown.bags, grown.orders.ranks, strict=True):
        inside = (bag > 0) & ~np.isnan(X[:, 0])
        means = [y[inside & (X[:, 0] == level)].mean() for level in range(6)]
        np.testing.assert_array_equal(np.argsort(ranks[:6]), np.argsort(means))


def test_out_of_bag_targets_have_no_say():
    X, y = mixed_rows(n=200)
    _, before = projected(X, y, seed=1)
    changed = np.where((before.bags[0] == 0)[:, None], 1e3 - y, y)
    _, after = projected(X, changed, seed=1)
    np.testing.assert_array_equal(before.orders.ranks[0], after.orders.ranks[0])
    one, other = tree_of(before.forest, 0), tree_of(after.forest, 0)
    np.testing.assert_array_equal(one.threshold, other.threshold)


def test_row_groups_share_bags_and_seeds_decide():
    X, y = mixed_rows(n=120)
    groups = np.arange(120) // 4
    _, grown = projected(X, y, row_groups=groups, n_jobs=2, seed=5)
    assert (grown.bags.reshape(8, 30, 4) == grown.bags[:, ::4, None]).all()
    _, again = projected(X, y, row_groups=groups, n_jobs=1, seed=5)
    np.testing.assert_array_equal(grown.forest.threshold, again.forest.threshold)
    np.testing.assert_array_equal(grown.orders.ranks, again.orders.ranks)


@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesRegressor(20, bootstrap=True, min_samples_leaf=5),
        BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=5), 20),
        RandomForestRegressor(20, max_samples=0.5, min_samples_leaf=5),
    ],
)
def test_settings_of_other_forests(model):
    X, y = mixed_rows(n=300)
    prf, _ = projected(X, y, model)
    assert prf.values(Subsets.full(3)).v[0] > 0.6


def test_forests_without_bags_are_refused():
    frame = pd.DataFrame({"a": ["u", "v"] * 20})
    with pytest.raises(ValueError, match="nothing is out of bag"):
        ShapleyEffects(ExtraTreesRegressor(5)).fit(frame, np.arange(40.0))


def test_new_categories_go_the_way_of_missing_ones():
    X, y = mixed_rows(n=200)
    prf, _ = projected(X, y)
    new, gap = np.array([[77.0, 0.0, 1.0]]), np.array([[np.nan, 0.0, 1.0]])
    full = Subsets.full(3)
    np.testing.assert_array_equal(prf.predict(full, new), prf.predict(full, gap))


def test_mean_targets_keep_groups_apart():
    rng = np.random.default_rng(0)
    codes, y = np.repeat(np.arange(50.0), 2), np.repeat(rng.standard_normal((50, 1)), 2, axis=0)
    weight, pairs = np.ones(100), np.repeat(np.arange(50), 2)
    apart = MeanTargets(codes, y, weight, pairs).transform_training()
    leaky = MeanTargets(codes, y, weight).transform_training()
    assert abs(np.corrcoef(apart[:, 0], y[:, 0])[0, 1]) < 0.5
    assert np.corrcoef(leaky[:, 0], y[:, 0])[0, 1] > 0.8


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_ids_explain_nothing(estimator):
    rng = np.random.default_rng(0)
    n = 400
    x = rng.standard_normal(n)
    frame = pl.DataFrame({"x": x, "id": [f"p{i}" for i in range(n)]})
    est = ShapleyEffects(estimator, random_state=0).fit(frame, x + 0.3 * rng.standard_normal(n))
    assert abs(est.result_.raw_effects[1]) < 0.02
    assert est.effects_[0] > 0.7


def test_boosting_sees_a_factor_of_many_levels():
    rng = np.random.default_rng(0)
    level = rng.integers(60, size=1500).astype(float)
    height = rng.standard_normal((60, 2))
    y = height[level.astype(int)] + 0.3 * rng.standard_normal((1500, 2))
    X = np.column_stack([level, rng.standard_normal(1500)])
    boosting = ProjectedBoosting(Problem.of(X, y, categorical=[True, False], random_state=0))
    evaluated = boosting.values(Subsets.from_indices([[0], [1]], 2))
    # Each output has its own order of the levels: neither is served worse.
    assert (evaluated.by_output[0] > 0.75).all()
    assert (np.abs(evaluated.by_output[1]) < 0.05).all()


@pytest.mark.parametrize("booster", [lightgbm, xgboost, catboost])
def test_every_library_takes_factors(booster):
    """Three split on the categories themselves; CatBoost gets mean targets."""
    exp = discrete_experiment(n=3000, random_state=0)
    size = "iterations" if booster is catboost else "n_estimators"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it looks at all columns at every split
        est = ShapleyEffects(booster(**{size: 60}), random_state=0).fit(exp.X, exp.y)
    assert np.abs(est.effects_ - exp.effects).sum() < 0.08


def test_screen_looks_at_categories():
    rng = np.random.default_rng(0)
    level = rng.integers(5, size=600)
    y = np.array([0.0, 1.0, 0.0, 1.0, 0.0])[level] + 0.5 * rng.standard_normal(600)
    X = np.column_stack([level, rng.integers(50, size=600)]).astype(float)
    assert screen(X, y, categorical=[True, True], fewest=0).tolist() == [True, False]


@pytest.mark.parametrize("binary", [False, True])
def test_discrete_effects_are_found_in_every_library(binary):
    exp = discrete_experiment(binary=binary, random_state=7)
    ours = ShapleyEffects("forest", random_state=0).fit(exp.X, exp.y)
    assert np.abs(ours.effects_ - exp.effects).sum() < 0.06
    frame = pl.from_pandas(exp.X).with_columns(pl.col("X1").cast(pl.Categorical))
    for other in (frame, frame.to_arrow()):
        again = ShapleyEffects("forest", random_state=0).fit(other, exp.y)
        np.testing.assert_array_equal(ours.result_.raw_effects, again.result_.raw_effects)


def test_discrete_effects_are_exact():
    """The cells' enumeration against a plain average over many drawn rows."""
    exp = discrete_experiment(n=200_000, random_state=0)
    masks = np.array([[True, False, False, True, False]])
    means = pd.Series(exp.y).groupby([exp.X["X1"], exp.X["X4"]]).transform("mean")
    assert abs(exp.game(masks)[0] - means.var() / exp.y.var()) < 0.01


def test_irrelevant_factors_of_experiment_3():
    exp = experiment_3(random_state=77)
    est = ShapleyEffects("forest", random_state=0).fit(exp.X, exp.y)
    assert np.abs(est.result_.raw_effects[3:]).max() < 0.03
    assert np.abs(est.effects_ - exp.effects).sum() < 0.2
    published = ShapleyEffects.as_published(
        estimator=RandomForestRegressor(60, max_features=1 / 3, min_samples_leaf=5), random_state=0
    ).fit(exp.X, exp.y)
    assert np.abs(published.result_.raw_effects[3:]).max() < 0.04


def test_fitted_trees_want_their_own_codes():
    frame = pd.DataFrame({"a": ["u", "v"] * 20})
    model = RandomForestRegressor(5).fit(np.zeros((40, 1)), np.arange(40.0))
    with pytest.raises(ValueError, match="'a' holds categories"):
        ShapleyEffects.from_fitted(model, frame, np.arange(40.0))
