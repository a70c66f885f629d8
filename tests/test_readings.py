"""What the paper's words can mean: each reading is an option, and does what its words say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor

from shaff import ForestPaths, ForestValues, ShapleyEffects
from shaff.data.problem import Problem
from shaff.datasets import experiment_3
from shaff.designs.forest_paths import ForestPathsDesign
from shaff.errors import InputError
from shaff.subsets import Subsets, log_kernel_weight
from shaff.trees.growing import GrownForest
from shaff.values.forest.level_stop import LevelStopForest
from shaff.values.forest.projected_forest import ProjectedForest

FOREST = RandomForestRegressor(12, min_samples_leaf=5, max_features=0.5, random_state=0)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=150)


# One query at a time, with lists of nodes, as the text says it.


def nodes_below(tree, node, x, subset):
    if tree.feature[node] < 0:
        return []
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if tree.feature[node] not in subset:
        return [left, right]
    return [left if np.float32(x[tree.feature[node]]) <= tree.threshold[node] else right]


def same_side(tree, node, x, others):
    column = tree.feature[node]
    limit = tree.threshold[node]
    return (others[:, column].astype(np.float32) <= limit) == (np.float32(x[column]) <= limit)


def read_prediction(tree, X, y, weight, x, subset, least, by_level):
    """Prediction of one tree for a query, by Algorithm 1 or by the text of section 2.2."""
    nodes, inside = [0], weight > 0
    while nodes:
        kept = inside
        for node in nodes:
            if tree.feature[node] >= 0 and tree.feature[node] in subset:
                fewer = kept & same_side(tree, node, x, X)
                if weight[fewer].sum() < least:
                    last = inside if by_level else kept
                    return np.average(y[last], weights=weight[last])
                kept = fewer
        inside = kept
        nodes = [child for node in nodes for child in nodes_below(tree, node, x, subset)]
    return np.average(y[inside], weights=weight[inside])


@pytest.mark.parametrize(("kind", "by_level"), [(ProjectedForest, False), (LevelStopForest, True)])
def test_rows_stop_where_the_text_says(rows, kind, by_level):
    X, y = rows
    model = FOREST.fit(X, y)
    forest = kind(Problem.of(X, y), GrownForest.of_fitted(model, len(X)), error="plain")
    subsets = Subsets.from_indices([[0, 1], [2], [0, 2, 3], [0, 1, 2, 3]], 4)
    for subset, found in zip([{0, 1}, {2}, {0, 2, 3}, {0, 1, 2, 3}], forest.predict(subsets),
                             strict=True):  # fmt: skip
        for i in range(0, 150, 29):
            told = [read_prediction(t.tree_, X, y, bag.astype(float), X[i], subset, 5, by_level)
                    for t, bag in zip(model.estimators_, forest.bags, strict=True)
                    if bag[i] == 0]  # fmt: skip
            assert_allclose(found[i, 0], np.mean(told), rtol=1e-9)


def test_the_two_stops_differ_and_agree_on_the_full_set(rows):
    X, y = rows
    grown = GrownForest.of_fitted(FOREST.fit(X, y), len(X))
    split = ProjectedForest(Problem.of(X, y), grown, error="plain")
    level = LevelStopForest(Problem.of(X, y), grown, error="plain")
    full, pair = Subsets.full(4), Subsets.from_indices([[0, 1]], 4)
    assert_allclose(split.values(full).v, level.values(full).v, rtol=1e-12)
    assert abs(split.values(pair).v - level.values(pair).v) > 1e-4


def test_the_level_stop_is_an_option(rows):
    est = ShapleyEffects(ForestValues(FOREST, stop="level"), n_subsets=6, random_state=0).fit(*rows)
    other = ShapleyEffects(ForestValues(FOREST), n_subsets=6, random_state=0).fit(*rows)
    assert not np.array_equal(est.effects_, other.effects_)
    assert est.explain(rows[0][:3]).values.shape == (3, 4)


def test_missing_values_and_categories_stop_by_level_too():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.normal(size=120), "b": rng.choice(list("xyz"), 120)})
    table.loc[::7, "a"] = np.nan
    y = np.where(table["b"] == "x", 2.0, 0.0) + table["a"].fillna(1.0)
    est = ShapleyEffects(ForestValues(FOREST, stop="level"), random_state=0).fit(table, y)
    other = ShapleyEffects(ForestValues(FOREST), random_state=0).fit(table, y)
    assert_allclose(est.explained_variance_, other.explained_variance_, rtol=1e-9)


# Draws


def test_a_set_counts_each_subset_once():
    seen, often = Subsets.from_indices([[0], [0, 1]], 3), np.array([0.9, 0.1])
    draws = [ForestPathsDesign(seen, often, 60, None, "published", 0, r).draw().subsets
             for r in ("counted", "once")]  # fmt: skip
    counted, once = (dict(zip(d.keys(), np.exp(d.log_weight), strict=True)) for d in draws)
    assert counted.keys() == once.keys()
    kernel = np.exp(log_kernel_weight(seen.sizes, 3))
    assert_allclose([once[key] for key in seen.keys()], kernel / often)
    assert_allclose(sum(counted[k] / once[k] for k in seen.keys()), 60)


def test_repeats_are_a_setting_of_the_published_algorithm(rows):
    small = RandomForestRegressor(20, min_samples_leaf=5)
    both = [ShapleyEffects.as_published(estimator=small, random_state=0,
                                        design=ForestPaths(80, "published", repeats)).fit(*rows)
            for repeats in ("counted", "once")]  # fmt: skip
    assert both[0].result_.n_subsets == both[1].result_.n_subsets
    assert not np.array_equal(both[0].effects_, both[1].effects_)


# Cells and categories


def test_cells_have_a_size_of_their_own(rows):
    grown_out = RandomForestRegressor(20, random_state=0)
    own, apart = (ForestValues(grown_out, min_node_size=size) for size in (None, 15))
    explained = [ShapleyEffects(v, random_state=0).fit(*rows).explained_variance_
                 for v in (own, apart)]  # fmt: skip
    assert explained[0] > explained[1]


def test_the_paper_orders_levels_over_all_rows():
    data = experiment_3(300, 0)
    small = RandomForestRegressor(15, min_samples_leaf=5)
    asked = {"design": ForestPaths(30, "published"), "solver": "least_squares", "random_state": 0}
    paper = ShapleyEffects.as_published(**{**asked, "estimator": small}).fit(data.X, data.y)
    by_hand = ShapleyEffects(ForestValues(small, error="plain", levels="all"), **asked)
    assert_array_equal(paper.effects_, by_hand.fit(data.X, data.y).effects_)
    in_bags = ShapleyEffects(ForestValues(small, error="plain"), **asked).fit(data.X, data.y)
    assert not np.array_equal(paper.effects_, in_bags.effects_)
    assert any("order" in note for note in paper.result_.notes)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"stop": "leaf"}, "stop='leaf'"),
        ({"levels": "none"}, "levels='none'"),
        ({"min_node_size": 0}, "min_node_size must be above 0"),
    ],
)
def test_unknown_readings_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        ForestValues(**options)


def test_unknown_repeats_are_refused(rows):
    est = ShapleyEffects.as_published(design=ForestPaths(10, repeats="twice"),
                                      estimator=RandomForestRegressor(5))  # fmt: skip
    with pytest.raises(InputError, match="repeats='twice' is unknown"):
        est.fit(*rows)
