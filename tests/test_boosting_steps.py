"""Steps that new rows look up: against rows that ride along, to the bit, and the slow oracle."""

from __future__ import annotations

import numpy as np
import pytest
from boosters import messy_data
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from projection_oracle import replay
from test_projected_boosting import kernel, random_tree

from shaff import _core
from shaff.data.problem import Problem
from shaff.datasets import experiment_2
from shaff.subsets import Subsets
from shaff.trees.coding import Coding
from shaff.trees.ensemble import Ensemble, Tree
from shaff.values.boosting.fold import Halves
from shaff.values.boosting.projected_boosting import ProjectedBoosting

HEADER = {"base_score": 0.0, "learning_rate": 0.3, "shrinkage": 0.0}


def learn(ensemble, X, residual, weight, masks, shrinkage, n_trees=None, cancel=0, changes=None):
    """Of training rows; the same start for all subsets."""
    coding = Coding.of(ensemble)
    arguments = {
        "feature": ensemble.feature, "threshold": coding.threshold, "left": ensemble.left,
        "right": ensemble.right, "missing_left": ensemble.missing_left.view(np.uint8),
        "category_set": coding.category_set, "set_offset": coding.set_offset,
        "set_words": coding.set_words, "tree_offset": ensemble.tree_offset,
        "codes": coding.encode(X), "weight": np.atleast_2d(weight),
        "subsets": Subsets.from_masks(masks).words, "learning_rate": 0.3,
        "shrinkage": np.atleast_1d(shrinkage).astype(float),
        "n_trees": np.full(len(masks), ensemble.n_trees) if n_trees is None else n_trees,
        "residual": np.tile(residual, (len(masks), 1)), "cancel": np.array([cancel], np.uint8),
    }  # fmt: skip
    return _core.learn_boosting(**arguments | (changes or {}))


def predict(steps, ensemble, X, cancel=0):
    out = np.zeros((steps.n_learners, steps.n_subsets, len(X)))
    codes = Coding.of(ensemble).encode(X)
    _core.predict_boosting(steps, codes, out, np.array([cancel], np.uint8))
    return out


def made_up(seed, n_leaves, n_train, n_new, p, categories=False, n_trees=3):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n_leaves, p, categories) for _ in range(n_trees)]
    X = rng.integers(-3, 4, size=(n_train + n_new, p)) / 2
    if categories:
        X[:, -1] = rng.integers(0, 70, len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 3, n_train).astype(float)
    masks = rng.random((6, p)) < 0.5
    return Ensemble.from_trees(trees, p, **HEADER), X, rng.standard_normal(n_train), weight, masks


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.integers(1, 90),
    n_train=st.integers(1, 60),
    p=st.integers(1, 5),
    categories=st.booleans(),
    shrinkage=st.sampled_from([0.0, 1.0, 7.5]),
)
def test_steps_are_those_of_the_oracle(seed, n_leaves, n_train, p, categories, shrinkage):
    ensemble, X, residual, weight, masks = made_up(seed, n_leaves, n_train, 15, p, categories)
    steps = learn(ensemble, X[:n_train], residual, weight, masks, shrinkage)
    got = predict(steps, ensemble, X[n_train:])[0]
    along = np.concatenate([residual, np.zeros(15)])
    for row, mask in zip(got, masks, strict=True):
        subset = set(np.flatnonzero(mask))
        whole = replay(ensemble, X, along, n_train, weight, subset, 0.3, shrinkage)
        assert_allclose(row, -whole[n_train:], atol=1e-12)


@pytest.mark.parametrize(("n_leaves", "p"), [(2, 3), (31, 4), (250, 10)])
def test_new_rows_get_what_rows_that_ride_along_get(n_leaves, p):
    """More leaves than bits, crossed cells by the thousand: they are numbered anew."""
    n_train, n_new = 3000, 1100
    ensemble, X, residual, weight, masks = made_up(1, n_leaves, n_train, n_new, p)
    steps = learn(ensemble, X[:n_train], residual, weight, masks, 2.0)
    along = kernel(
        ensemble, X, np.concatenate([residual, np.zeros(n_new)]), n_train, weight, masks, 0.3, 2.0
    )
    assert_array_equal(predict(steps, ensemble, X[n_train:])[0], -along[:, n_train:])


def test_cells_beyond_sixteen_bits():
    """Three columns cut into 64 parts each, and crossed: of 90 000 rows most have their own."""
    feature, threshold, left, right = [], [], [], []

    def add(column, cut):
        for part, value in ((feature, column), (threshold, cut), (left, 0), (right, 0)):
            part.append(value)
        return len(feature) - 1

    def cut_up(column, low, high, n_leaves):
        if n_leaves == 1:
            return add(-1, 0.0)
        middle = (low + high) / 2
        node = add(column, middle)
        left[node] = cut_up(column, low, middle, n_leaves // 2)
        right[node] = cut_up(column, middle, high, n_leaves // 2)
        return node

    root, below = add(3, 0.5), add(3, 0.2)
    left[root], left[below] = below, cut_up(0, 0, 1, 64)
    right[below], right[root] = cut_up(1, 0, 1, 64), cut_up(2, 0, 1, 64)
    n = len(feature)
    tree = Tree(feature, threshold, left, right, np.zeros(n, bool), np.zeros(n), np.zeros(n), {})
    ensemble = Ensemble.from_trees([tree, tree], 4, **HEADER)
    rng, n_train, n_new = np.random.default_rng(0), 90_000, 600
    X, weight, residual = rng.random((n_train + n_new, 4)), np.ones(n_train), rng.random(n_train)
    masks = np.array([[True, True, True, False], [True, True, False, False]])
    steps = learn(ensemble, X[:n_train], residual, weight, masks, 1.0)
    assert steps.nbytes > 2 * 65_536 * 8
    along = kernel(
        ensemble, X, np.concatenate([residual, np.zeros(n_new)]), n_train, weight, masks, 0.3, 1.0
    )
    assert_array_equal(predict(steps, ensemble, X[n_train:])[0], -along[:, n_train:])


def test_a_subset_stops_after_its_trees():
    ensemble, X, residual, weight, masks = made_up(2, 20, 200, 50, 4)
    stops = np.array([0, 3, 1, 2, 3, 0])
    got = predict(learn(ensemble, X[:200], residual, weight, masks, 1.0, stops), ensemble, X[200:])
    for u, stop in enumerate(stops):
        first = ensemble.first_trees(int(stop))
        one = predict(learn(first, X[:200], residual, weight, masks[[u]], 1.0), first, X[200:])
        assert_array_equal(got[0, u], one[0, 0])


def test_learners_have_their_own_weights_and_shrinkage():
    ensemble, X, residual, weight, masks = made_up(3, 20, 200, 50, 4)
    weights = np.stack([weight, weight * (np.arange(200) % 2)])
    both = predict(learn(ensemble, X[:200], residual, weights, masks, [2.0, 1.0]), ensemble, X)
    for got, w, shrinkage in zip(both, weights, (2.0, 1.0), strict=True):
        one = predict(learn(ensemble, X[:200], residual, w, masks, shrinkage), ensemble, X)
        assert_array_equal(got, one[0])


def test_the_rows_at_a_time_do_not_matter():
    ensemble, X, residual, weight, masks = made_up(4, 31, 300, 1300, 5, categories=True)
    steps = learn(ensemble, X[:300], residual, weight, masks, 1.0)
    parts = [predict(steps, ensemble, part) for part in np.array_split(X, 7)]
    assert_array_equal(predict(steps, ensemble, X), np.concatenate(parts, axis=2))
    assert steps.nbytes > 0


def test_no_trees_and_no_rows():
    ensemble, X, residual, weight, masks = made_up(5, 5, 30, 4, 3)
    none = ensemble.first_trees(0)
    assert not predict(learn(none, X[:30], residual, weight, masks, 1.0), none, X).any()
    steps = learn(ensemble, X[:30], residual, weight, masks, 1.0)
    assert predict(steps, ensemble, X[:0]).shape == (1, 6, 0)


def test_the_cancel_flag_ends_both_kernels():
    ensemble, X, residual, weight, masks = made_up(6, 5, 30, 4, 3)
    with pytest.raises(KeyboardInterrupt):
        learn(ensemble, X[:30], residual, weight, masks, 1.0, cancel=1)
    steps = learn(ensemble, X[:30], residual, weight, masks, 1.0)
    with pytest.raises(KeyboardInterrupt):
        predict(steps, ensemble, X, cancel=1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weight": np.ones((2, 30))}, "n_learners"),
        ({"weight": -np.ones((1, 30))}, "negative"),
        ({"shrinkage": np.array([np.nan])}, "out of range"),
        ({"n_trees": np.ones(5, dtype=np.int64)}, "n_trees"),
        ({"residual": np.ones((6, 29))}, "residual"),
        ({"feature": np.full(27, 3, dtype=np.int32)}, "column that does not exist"),
        ({"subsets": np.ones((6, 0), dtype=np.uint64)}, "too few words"),
    ],
)
def test_wrong_arrays_are_refused(changes, said):
    ensemble, X, residual, weight, masks = made_up(7, 5, 30, 4, 3)
    with pytest.raises(ValueError, match=said):
        learn(ensemble, X[:30], residual, weight, masks, 1.0, changes=changes)


def test_rows_of_other_columns_are_refused():
    ensemble, X, residual, weight, masks = made_up(7, 5, 30, 4, 3)
    steps = learn(ensemble, X[:30], residual, weight, masks, 1.0)
    cancel = np.zeros(1, np.uint8)
    for codes, shape in (((2, 4), (1, 6, 4)), ((3, 4), (1, 6, 5)), ((3, 4), (1, 5, 4))):
        with pytest.raises(ValueError, match="must be"):
            _core.predict_boosting(steps, np.zeros(codes, np.uint16), np.zeros(shape), cancel)


def test_halves_of_a_fold_are_those_of_its_products():
    """The products of held-out residuals again, from steps that are looked up."""
    X, y = messy_data()
    boosting = ProjectedBoosting(Problem.of(X, y, random_state=0), start="linear")
    model, masks = boosting._models[0], np.random.default_rng(0).random((4, 5)) < 0.6
    stage, cancel = boosting.n_trees_, np.zeros(1, np.uint8)
    stops = np.full(4, stage)
    steps = model.learn(masks, stops, 3.0, cancel, halves=True)
    predicted = steps.predict(model.new_rows(X[model.fold.test]), cancel)[:, 0]
    target = y[model.fold.test]
    residual, n_train = model.start_residual(masks), len(model.fold.train)
    halves = Halves.of(residual, n_train, model.n_first)
    model.replay(masks, residual, 3.0, cancel, range(stage), halves)
    products, residuals = halves.products()[0], residual[0, :, n_train:]
    assert_allclose((target - predicted[1]) * (target - predicted[2]), products, atol=1e-9)
    assert_allclose(target - predicted[0], residuals, atol=1e-12)


def test_classes_have_steps_each():
    exp = experiment_2(n=400, random_state=0)
    y = np.stack([exp.y, exp.X[:, 0] ** 2], axis=1)
    boosting = ProjectedBoosting(Problem.of(exp.X, y, random_state=0), start="constant")
    subsets = Subsets.from_indices([[0, 1, 2], range(15)], n_players=15)
    assert boosting.predict(subsets, exp.X[:9]).shape == (2, 9, 2)
