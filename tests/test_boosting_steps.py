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
from shaff.trees.scaling import Scaling
from shaff.values.boosting import default_booster
from shaff.values.boosting.fold import Halves
from shaff.values.boosting.projected_boosting import ProjectedBoosting

HEADER = {"base_score": 0.0, "learning_rate": 0.3, "shrinkage": 0.0}


def learn(
    ensemble, X, residual, weight, masks, shrinkage, n_trees=None, cancel=0, changes=None,
    values=None
):  # fmt: skip
    """Of training rows; the same start for all subsets. Slopes are shrunk as steps are, and 1."""
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
        "gain": ensemble.gain, "values": None if values is None else values[:, : len(X)].copy(),
        "slope_shrinkage": np.atleast_1d(shrinkage) + 1.0,
    }  # fmt: skip
    return _core.learn_boosting(**arguments | (changes or {}))


def values_of(X, n_train, categories=False):
    """The rows as linear steps take them."""
    own = np.arange(X.shape[1]) == X.shape[1] - categories
    return Scaling.of(X[:n_train], own).apply(X)


def predict(steps, ensemble, X, cancel=0, values=None):
    """With values, of these rows and of others before them."""
    out = np.zeros((steps.n_learners, steps.n_subsets, len(X)))
    codes = Coding.of(ensemble).encode(X)
    own = None if values is None else values[:, values.shape[1] - len(X) :].copy()
    _core.predict_boosting(steps, codes, out, np.array([cancel], np.uint8), own)
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
    linear=st.booleans(),
)
def test_steps_are_those_of_the_oracle(seed, n_leaves, n_train, p, categories, shrinkage, linear):
    ensemble, X, residual, weight, masks = made_up(seed, n_leaves, n_train, 15, p, categories)
    values = values_of(X, n_train, categories) if linear else None
    steps = learn(ensemble, X[:n_train], residual, weight, masks, shrinkage, values=values)
    got = predict(steps, ensemble, X[n_train:], values=values)[0]
    along = np.concatenate([residual, np.zeros(15)])
    for row, mask in zip(got, masks, strict=True):
        subset = set(np.flatnonzero(mask))
        whole = replay(ensemble, X, along, n_train, weight, subset, 0.3, shrinkage,
                       values=values, slope_shrinkage=shrinkage + 1)  # fmt: skip
        assert_allclose(row, -whole[n_train:], atol=1e-9 if linear else 1e-12)


def riding_along(ensemble, X, residual, weight, masks, shrinkage, values):
    """Steps of rows that come after the training rows."""
    n_train = len(residual)
    along = np.concatenate([residual, np.zeros(len(X) - n_train)])
    linear = {} if values is None else {"values": values, "slope_shrinkage": shrinkage + 1}
    whole = kernel(ensemble, X, along, n_train, weight, masks, 0.3, shrinkage, **linear)
    return -whole[:, n_train:]


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("n_leaves", "p"), [(2, 3), (6, 5), (31, 4), (250, 10)])
def test_new_rows_get_what_rows_that_ride_along_get(n_leaves, p, linear):
    """More leaves than bits, crossed cells by the thousand: they are numbered anew."""
    n_train, n_new = 3000, 1100
    ensemble, X, residual, weight, masks = made_up(1, n_leaves, n_train, n_new, p)
    values = values_of(X, n_train) if linear else None
    steps = learn(ensemble, X[:n_train], residual, weight, masks, 2.0, values=values)
    expected = riding_along(ensemble, X, residual, weight, masks, 2.0, values)
    assert_array_equal(predict(steps, ensemble, X[n_train:], values=values)[0], expected)


@pytest.mark.parametrize("linear", [False, True])
def test_cells_beyond_sixteen_bits(linear):
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
    values = values_of(X, n_train) if linear else None
    steps = learn(ensemble, X[:n_train], residual, weight, masks, 1.0, values=values)
    assert steps.nbytes > 2 * 65_536 * (8 + 24 * linear)
    expected = riding_along(ensemble, X, residual, weight, masks, 1.0, values)
    assert_array_equal(predict(steps, ensemble, X[n_train:], values=values)[0], expected)


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


def test_linear_learners_share_the_ranges_of_their_cells():
    """Whatever the rows of a learner, new rows may be as far out as those of any."""
    ensemble, X, residual, weight, masks = made_up(3, 5, 200, 80, 4)
    values = values_of(X, 200)
    weights = np.stack([weight, weight * (np.arange(200) % 2)])
    steps = learn(ensemble, X[:200], residual, weights, masks, [2.0, 1.0], values=values)
    got = predict(steps, ensemble, X[200:], values=values)[1]
    along, in_range = np.concatenate([residual, np.zeros(80)]), np.flatnonzero(weight > 0)
    for row, mask in zip(got, masks, strict=True):
        whole = replay(ensemble, X, along, 200, weights[1], set(np.flatnonzero(mask)), 0.3, 1.0,
                       values=values, slope_shrinkage=2.0, in_range=in_range)  # fmt: skip
        assert_allclose(row, -whole[200:], atol=1e-9)


@pytest.mark.parametrize("linear", [False, True])
def test_the_rows_at_a_time_do_not_matter(linear):
    ensemble, X, residual, weight, masks = made_up(4, 31, 300, 1300, 5, categories=True)
    values = values_of(X, 300, categories=True) if linear else None
    steps = learn(ensemble, X[:300], residual, weight, masks, 1.0, values=values)
    parts = [
        predict(steps, ensemble, X[rows], values=None if values is None else values[:, rows])
        for rows in np.array_split(np.arange(len(X)), 7)
    ]
    assert_array_equal(predict(steps, ensemble, X, values=values), np.concatenate(parts, axis=2))
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
        ({"values": np.zeros((3, 29), dtype=np.float32)}, "values must be"),
        ({"values": np.full((3, 30), np.nan, dtype=np.float32)}, "value is not finite"),
        ({"gain": None}, "need the gain"),
        ({"gain": np.ones(26)}, "need the gain"),
        ({"slope_shrinkage": None}, "slope_shrinkage must be"),
        ({"slope_shrinkage": np.zeros(1)}, "slopes is not positive"),
    ],
)
def test_wrong_arrays_are_refused(changes, said):
    ensemble, X, residual, weight, masks = made_up(7, 5, 30, 4, 3)
    with pytest.raises(ValueError, match=said):
        learn(ensemble, X[:30], residual, weight, masks, 1.0, changes=changes,
              values=values_of(X, 30))  # fmt: skip


@pytest.mark.parametrize("linear", [False, True])
def test_linear_steps_take_values_and_others_do_not(linear):
    ensemble, X, residual, weight, masks = made_up(7, 5, 30, 4, 3)
    values = values_of(X, 30)
    steps = learn(ensemble, X[:30], residual, weight, masks, 1.0, values=values if linear else None)
    with pytest.raises(ValueError, match="linear steps take values"):
        predict(steps, ensemble, X, values=None if linear else values)


def test_rows_of_other_columns_are_refused():
    ensemble, X, residual, weight, masks = made_up(7, 5, 30, 4, 3)
    steps = learn(ensemble, X[:30], residual, weight, masks, 1.0)
    cancel = np.zeros(1, np.uint8)
    for codes, shape in (((2, 4), (1, 6, 4)), ((3, 4), (1, 6, 5)), ((3, 4), (1, 5, 4))):
        with pytest.raises(ValueError, match="must be"):
            _core.predict_boosting(steps, np.zeros(codes, np.uint16), np.zeros(shape), cancel)


@pytest.mark.parametrize("slopes", [False, True])
def test_halves_of_a_fold_are_those_of_its_products(slopes, monkeypatch):
    """The products of held-out residuals again, from steps that are looked up."""
    if not slopes:
        monkeypatch.setattr(default_booster, "SLOPE_RATIO", None)
    X, y = messy_data()
    boosting = ProjectedBoosting(Problem.of(X, y, random_state=0), start="linear")
    assert (boosting._booster.slope_ratio is not None) == slopes
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
