"""Projected boosting against its slow oracle, the libraries' own predictions and closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from boosters import ALL, hist_gradient_boosting, lightgbm, messy_data, xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_oracle import replay
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit

from shaff import ShapleyEffects, _core
from shaff._util.statistics import normal_scores
from shaff.data.folds import make_folds
from shaff.data.problem import Problem
from shaff.datasets import experiment_1a, experiment_2
from shaff.subsets import Subsets
from shaff.trees.boosters import read_ensemble
from shaff.trees.coding import Coding
from shaff.trees.ensemble import Ensemble, Tree
from shaff.trees.scaling import Scaling
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.ridge import RidgeValues

# Fitted boosters of these tests look at all columns, and say so elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:.*looks at all columns")
HALF = Subsets.from_indices([[], [0], [1, 2], [0, 2, 4], [0, 1, 2, 3, 4]], n_players=5)


def kernel(
    ensemble, X, residual, n_train, weight, masks, learning_rate, shrinkage, cancel=0, **linear
):
    coding = Coding.of(ensemble)
    out = np.tile(np.asarray(residual, dtype=float), (len(masks), 1))
    _core.replay_boosting(
        ensemble.feature, coding.threshold, ensemble.left, ensemble.right,
        ensemble.missing_left.view(np.uint8), coding.category_set, coding.set_offset,
        coding.set_words, ensemble.tree_offset, coding.encode(X), weight[:n_train],
        Subsets.from_masks(masks).words, learning_rate, shrinkage, out,
        np.array([cancel], np.uint8), gain=ensemble.gain, **linear,
    )  # fmt: skip
    return out


def random_tree(rng, n_leaves, p, categories):
    """Grow by splitting random leaves; categorical splits on the last column if asked."""
    feature, threshold, left, right = [-1], [0.0], [0], [0]
    sets = {}
    for _ in range(n_leaves - 1):
        leaf = rng.choice([i for i, f in enumerate(feature) if f < 0])
        feature[leaf] = int(rng.integers(p))
        threshold[leaf] = float(rng.integers(-2, 3) / 2)
        if categories and feature[leaf] == p - 1:
            sets[int(leaf)] = rng.choice(70, size=30, replace=False)
        left[leaf], right[leaf] = len(feature), len(feature) + 1
        for column in (feature, threshold, left, right):
            column += [-1 if column is feature else 0] * 2
    n = len(feature)
    missing_left, value = rng.random(n) < 0.5, rng.standard_normal(n)
    # Equal gains are common, so that the order of the nodes counts.
    gain = np.where(np.array(feature) < 0, 0.0, rng.integers(1, 4, n))
    return Tree(feature, threshold, left, right, missing_left, value, gain, sets)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.integers(1, 90),
    n_train=st.integers(1, 60),
    p=st.integers(1, 5),
    categories=st.booleans(),
    shrinkage=st.sampled_from([0.0, 1.0, 7.5]),
)
def test_kernel_equals_oracle(seed, n_leaves, n_train, p, categories, shrinkage):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n_leaves, p, categories) for _ in range(3)]
    header = {"base_score": 0.0, "learning_rate": 0.3, "shrinkage": 0.0}
    ensemble = Ensemble.from_trees(trees, p, **header)
    X = rng.integers(-3, 4, size=(n_train + 15, p)) / 2
    if categories:
        X[:, -1] = rng.integers(0, 70, len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    residual, weight = rng.standard_normal(len(X)), rng.integers(0, 3, len(X)).astype(float)
    masks = rng.random((6, p)) < 0.5
    got = kernel(ensemble, X, residual, n_train, weight, masks, 0.3, shrinkage)
    for row, mask in zip(got, masks, strict=True):
        subset = set(np.flatnonzero(mask))
        expected = replay(ensemble, X, residual, n_train, weight, subset, 0.3, shrinkage)
        np.testing.assert_allclose(row, expected, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.integers(1, 12),
    n_train=st.integers(1, 90),
    p=st.integers(1, 6),
    categories=st.booleans(),
    shrinkages=st.sampled_from([(0.0, 0.5), (1.0, 3.0), (7.5, 1e-3)]),
)
def test_linear_steps_equal_the_oracle(seed, n_leaves, n_train, p, categories, shrinkages):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n_leaves, p, categories) for _ in range(3)]
    header = {"base_score": 0.0, "learning_rate": 0.3, "shrinkage": 0.0}
    ensemble = Ensemble.from_trees(trees, p, **header)
    X = rng.standard_normal((n_train + 25, p))
    if categories:
        X[:, -1] = rng.integers(0, 70, len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    values = Scaling.of(X[:n_train], np.arange(p) == p - categories).apply(X)
    residual, weight = rng.standard_normal(len(X)), rng.integers(0, 3, len(X)).astype(float)
    masks = rng.random((6, p)) < 0.7
    shrinkage, slopes = shrinkages
    linear = {"values": values, "slope_shrinkage": slopes}
    got = kernel(ensemble, X, residual, n_train, weight, masks, 0.3, shrinkage, **linear)
    for row, mask in zip(got, masks, strict=True):
        subset = set(np.flatnonzero(mask))
        expected = replay(ensemble, X, residual, n_train, weight, subset, 0.3, shrinkage, **linear)
        np.testing.assert_allclose(row, expected, atol=1e-9)


def test_kernel_equals_oracle_over_blocks_of_rows():
    """Cells are numbered block by block: the last block is not full."""
    rng = np.random.default_rng(5)
    trees = [random_tree(rng, 20, 4, True) for _ in range(2)]
    header = {"base_score": 0.0, "learning_rate": 0.3, "shrinkage": 0.0}
    ensemble, n_rows = Ensemble.from_trees(trees, 4, **header), 2 * 2048 + 100
    X = np.column_stack([rng.standard_normal((n_rows, 3)), rng.integers(0, 70, n_rows)])
    X[rng.random(X.shape) < 0.1] = np.nan
    residual, weight = rng.standard_normal(n_rows), np.ones(n_rows)
    masks = np.array([[True, False, True, True], [False, True, False, False]])
    got = kernel(ensemble, X, residual, n_rows - 900, weight, masks, 0.3, 1.0)
    for row, mask in zip(got, masks, strict=True):
        subset = set(np.flatnonzero(mask))
        expected = replay(ensemble, X, residual, n_rows - 900, weight, subset, 0.3, 1.0)
        np.testing.assert_allclose(row, expected, atol=1e-12)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("n_rows", [50, 70_000])
def test_kernel_does_not_depend_on_the_other_subsets(n_rows, linear):
    # Cells whose numbers would outgrow two bytes are numbered anew, by the rows.
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_rows, 4)), rng.standard_normal(n_rows)
    header = {"base_score": 0.0, "learning_rate": 0.1, "shrinkage": 0.0}
    ensemble = Ensemble.from_trees([random_tree(rng, 200, 4, False) for _ in range(3)], 4, **header)
    masks = rng.random((9, 4)) < 0.5
    n_train, weight = n_rows - 10, np.ones(n_rows)
    slopes = {"values": X.T.astype(np.float32).copy(), "slope_shrinkage": 1.0} if linear else {}
    together = kernel(ensemble, X, y, n_train, weight, masks, 0.1, 2.0, **slopes)
    for row, mask in zip(together, masks, strict=True):
        alone = kernel(ensemble, X, y, n_train, weight, mask[None], 0.1, 2.0, **slopes)
        np.testing.assert_array_equal(row, alone[0])


def test_kernel_stops_when_cancelled():
    X, y = messy_data()
    ensemble = read_ensemble(hist_gradient_boosting().fit(X, y))
    everything = np.ones((1, 5), dtype=bool)
    with pytest.raises(KeyboardInterrupt):
        kernel(ensemble, X, y, len(y), np.ones(len(y)), everything, 0.1, 1.0, cancel=1)


@pytest.mark.parametrize("booster", ALL)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_replay_on_all_columns_is_the_library_s_own_model(booster, missing):
    X, y = messy_data(missing=missing)
    model = booster().fit(X, y)
    ensemble = read_ensemble(model)
    X_new, _ = messy_data(seed=1, missing=missing)
    rows = np.vstack([X, X_new])
    residual = np.concatenate([y - y.mean(), np.full(len(X_new), -y.mean())])
    everything = np.ones((1, 5), dtype=bool)
    got = kernel(
        ensemble, rows, residual, len(X), np.ones(len(rows)), everything,
        ensemble.learning_rate, ensemble.shrinkage,
    )[0]  # fmt: skip
    np.testing.assert_allclose(y - got[: len(X)], model.predict(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(-got[len(X) :], model.predict(X_new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("booster", [hist_gradient_boosting, lightgbm, xgboost])
def test_values_equal_the_definition(booster):
    X, y = messy_data(n=120)
    model = booster().fit(*messy_data(seed=3))
    problem = Problem.of(X, y, cv=3, random_state=0)
    boosting = ProjectedBoosting.from_fitted(model, problem, shrinkage=2.0, early_stopping=False)
    values = boosting.values(HALF, influences=True)
    ensemble = read_ensemble(model)
    for mask, v, psi in zip(HALF.masks(), values.plain, values.influences, strict=True):
        error, constant = np.empty(len(y)), np.empty(len(y))
        for fold in boosting.folds:
            rows, n_train = fold.rows, len(fold.train)
            start = y[rows] - y[fold.train].mean()
            residual = replay(ensemble, X[rows], start, n_train, np.ones(120),
                              set(np.flatnonzero(mask)), ensemble.learning_rate, 2.0)  # fmt: skip
            error[fold.test], constant[fold.test] = residual[n_train:], start[n_train:]
        if not mask.any():
            assert v == 0
            assert not psi.any()
            continue
        assert v == pytest.approx(1 - np.mean(error**2) / np.mean(constant**2))
        influence = ((1 - v) * constant**2 - error**2) / np.mean(constant**2)
        np.testing.assert_allclose(psi, influence - influence.mean(), atol=1e-5)


def replayed_halves(ensemble, X, start, weight, masks, sizes, shrinkage, **linear):
    """Residuals of all rows; of training rows by their own halves; of the others by both."""
    coding, (n_train, n_first), k = Coding.of(ensemble), sizes, len(masks)
    residual, train = np.tile(start, (k, 1)), np.tile(start[:n_train], (k, 1))
    test = np.tile(start[n_train:], (k, 2, 1))
    _core.replay_boosting(
        ensemble.feature, coding.threshold, ensemble.left, ensemble.right,
        ensemble.missing_left.view(np.uint8), coding.category_set, coding.set_offset,
        coding.set_words, ensemble.tree_offset, coding.encode(X), weight[:n_train],
        Subsets.from_masks(masks).words, 0.4, shrinkage, residual, np.zeros(1, np.uint8),
        n_first, train, test, gain=ensemble.gain, **linear,
    )  # fmt: skip
    return residual, train, test


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    ("shrinkage", "n_train", "n_first", "n"),
    [(0.0, 31, 14, 40), (3.0, 31, 14, 40), (1.0, 4000, 1999, 5000)],
)
def test_halves_are_replays_of_their_own(shrinkage, n_train, n_first, n, weighted):
    rng = np.random.default_rng(3)
    trees = [random_tree(rng, 12, 4, True) for _ in range(3)]
    ensemble = Ensemble.from_trees(trees, 4, base_score=0.0, learning_rate=1.0, shrinkage=0.0)
    X = np.column_stack([rng.standard_normal((n, 3)), rng.integers(0, 70, n)])
    start, weight = rng.standard_normal(n), rng.random(n) + 0.5 if weighted else np.ones(n)
    masks = np.array([[True, False, True, True], [False, True, True, False]])
    sizes = n_train, n_first
    residual, train, test = replayed_halves(ensemble, X, start, weight, masks, sizes, shrinkage)
    alone = kernel(ensemble, X, start, n_train, weight, masks, 0.4, shrinkage)
    np.testing.assert_allclose(residual, alone, atol=1e-12)
    for k, half in enumerate((range(n_first), range(n_first, n_train))):
        rows = np.concatenate([half, np.arange(n_train, n)]).astype(int)
        own = kernel(
            ensemble, X[rows], start[rows], len(half), weight[half], masks, 0.4, shrinkage / 2
        )
        np.testing.assert_allclose(train[:, half], own[:, : len(half)], atol=1e-12)
        np.testing.assert_allclose(test[:, k], own[:, len(half) :], atol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    ("n_train", "n_first", "n"), [(70, 31, 100), (71, 0, 90), (600, 300, 700), (9, 4, 30)]
)
def test_linear_halves_equal_the_oracle(n_train, n_first, n, weighted):
    """Each has its own regressions; held-out rows are clipped to the range of all training rows."""
    rng = np.random.default_rng(3)
    trees = [random_tree(rng, 6, 5, True) for _ in range(4)]
    ensemble = Ensemble.from_trees(trees, 5, base_score=0.0, learning_rate=1.0, shrinkage=0.0)
    X = np.column_stack([rng.standard_normal((n, 4)), rng.integers(0, 70, n)])
    X[rng.random(X.shape) < 0.1] = np.nan
    start, weight = rng.standard_normal(n), rng.integers(0, 3, n) / 2 if weighted else np.ones(n)
    values = Scaling.of(X, np.arange(5) == 4).apply(X)
    masks = np.array([[True, False, True, True, True], [False, True, True, False, False],
                      [True] * 5, [False] * 5])  # fmt: skip
    linear = {"values": values, "slope_shrinkage": 2.0}
    got = replayed_halves(ensemble, X, start, weight, masks, (n_train, n_first), 3.0, **linear)
    in_range = np.flatnonzero(weight[:n_train] > 0)
    for u, mask in enumerate(masks):
        subset = set(np.flatnonzero(mask))
        whole = replay(ensemble, X, start, n_train, weight, subset, 0.4, 3.0, **linear)
        np.testing.assert_allclose(got[0][u], whole, atol=1e-9)
        for k, half in enumerate((np.arange(n) < n_first, np.arange(n) >= n_first)):
            own = replay(ensemble, X, start, n_train, weight * half, subset, 0.4, 1.5,
                         values=values, slope_shrinkage=1.0, in_range=in_range)  # fmt: skip
            mine = half[:n_train]
            np.testing.assert_allclose(got[1][u, mine], own[:n_train][mine], atol=1e-9)
            np.testing.assert_allclose(got[2][u, k], own[n_train:], atol=1e-9)


def crossed_chains(n_leaves):
    """A root on column 0, and one leaf for each code of column 1 and of column 2 below it."""
    feature, threshold, left, right = [0], [0.0], [1], [0]
    for column in (1, 2):
        if column == 2:
            right[0] = len(feature)
        for k in range(n_leaves - 1):
            at = len(feature)
            feature += [column, -1]
            threshold += [k + 0.5, 0.0]
            left += [at + 1, 0]
            right += [at + 2, 0]
        feature, threshold, left, right = (
            [*part, end] for part, end in ((feature, -1), (threshold, 0.0), (left, 0), (right, 0))
        )
    nothing = np.zeros(len(feature))
    return Tree(feature, threshold, left, right, nothing > 0, nothing, nothing, {})


@pytest.mark.parametrize("linear", [False, True])
def test_a_tree_of_many_cells_between_others(linear):
    """Without column 0 there are more cells than two bytes number; the trees before and after it
    are replayed in two bytes, on the same residuals."""
    rng = np.random.default_rng(4)
    small = [random_tree(rng, 12, 3, False) for _ in range(2)]
    trees, n = [small[0], crossed_chains(300), small[1]], 90_000
    ensemble = Ensemble.from_trees(trees, 3, base_score=0.0, learning_rate=1.0, shrinkage=0.0)
    X = np.column_stack([rng.integers(2, size=n), np.arange(n) // 300, np.arange(n) % 300])
    start, masks = rng.standard_normal(n), np.array([[False, True, True], [True, True, False]])
    n_train, n_first = n - 100, n // 2
    values = Scaling.of(X, np.zeros(3, bool)).apply(X)
    slopes = {"values": values, "slope_shrinkage": 2.0} if linear else {}
    sizes = n_train, n_first
    halves = replayed_halves(ensemble, X, start, np.ones(n), masks, sizes, 1.0, **slopes)
    alone = kernel(ensemble, X, start, n_train, np.ones(n), masks, 0.4, 1.0, **slopes)
    np.testing.assert_allclose(halves[0], alone, atol=1e-9 if linear else 1e-12)
    first = np.arange(n_first)
    if linear:
        slopes = {"values": values[:, :n_first].copy(), "slope_shrinkage": 1.0}
    own = kernel(ensemble, X[first], start[first], n_first, np.ones(n), masks, 0.4, 0.5, **slopes)
    np.testing.assert_allclose(halves[1][:, :n_first], own, atol=1e-9 if linear else 1e-12)
    if not linear:  # whose held-out rows are clipped to ranges of all training rows
        held_out = np.r_[0:n_first, n_train:n]
        own = kernel(ensemble, X[held_out], start[held_out], n_first, np.ones(n), masks, 0.4, 0.5)
        np.testing.assert_allclose(halves[2][:, 0], own[:, n_first:], atol=1e-12)


def test_early_stopping_looks_at_the_other_folds():
    X, y = messy_data(n=120)
    model = hist_gradient_boosting().fit(*messy_data(seed=3))
    problem = Problem.of(X, y, cv=3, random_state=0)
    stopped = ProjectedBoosting.from_fitted(model, problem, shrinkage=2.0)
    folds = stopped.folds
    stages = stopped._stages
    assert stages == [0, 2, 5, 10, 15, 20]
    residuals = []
    for stage in stages:
        whole = ProjectedBoosting.from_fitted(model, problem, early_stopping=False, shrinkage=2.0)
        for fold_model in whole._models:
            fold_model.set_trees([fold_model.codings[0].ensemble.first_trees(stage)])
        whole.n_trees_ = stage
        residuals.append(y - whole.predict(HALF)[:, :, 0])
    for u, predicted in enumerate(stopped.predict(HALF)[:, :, 0]):
        for fold in folds:
            others = np.setdiff1d(np.arange(len(y)), fold.test)
            best = min(residuals, key=lambda r, u=u, others=others: (r[u, others] ** 2).sum())
            np.testing.assert_allclose(y[fold.test] - predicted[fold.test], best[u, fold.test])


def test_predict_gives_the_held_out_predictions():
    X, y = messy_data()
    boosting = ProjectedBoosting(Problem.of(X, y, cv=3, random_state=0))
    predicted = boosting.predict(HALF)
    assert predicted.shape == (5, len(y), 1)
    v = 1 - ((y - predicted[:, :, 0]) ** 2).mean(axis=1) / boosting.outcome.variance
    np.testing.assert_allclose(boosting.values(HALF).plain[1:], v[1:])
    new = boosting.predict(HALF, X[:7])
    assert new.shape == (5, 7, 1)
    np.testing.assert_allclose(new[0], y.mean(), atol=0.2)


@pytest.mark.parametrize("start", ["constant", "linear", "normal_scores"])
def test_new_rows_are_predicted_like_held_out_ones(start):
    X, y = messy_data()
    half = np.arange(len(y)) % 2 == 0

    class OneFold:
        def split(self, X, y=None, groups=None):
            yield np.flatnonzero(half), np.flatnonzero(~half)

    problem = Problem.of(X, y, cv=OneFold(), random_state=0)
    boosting = ProjectedBoosting(problem, start=start, shrinkage=3.0)
    held_out = boosting.predict(HALF)
    assert np.isnan(held_out[:, half]).all()
    np.testing.assert_allclose(boosting.predict(HALF, X[~half]), held_out[:, ~half], atol=1e-9)


def test_same_bits_for_any_number_of_jobs():
    X, y = messy_data()
    problems = [Problem.of(X, y, n_jobs=n_jobs, random_state=0) for n_jobs in (1, 2, 3, 16)]
    games = [ProjectedBoosting(problem) for problem in problems]
    results = [game.values(HALF, influences=True) for game in games]
    new = games[0].predict(HALF, X[:50] + 0.1)
    for game, other in zip(games[1:], results[1:], strict=True):
        np.testing.assert_array_equal(results[0].v, other.v)
        np.testing.assert_array_equal(results[0].influences, other.influences)
        np.testing.assert_array_equal(new, game.predict(HALF, X[:50] + 0.1))


def test_linear_start_equals_ridge_on_the_subset():
    X, y = messy_data(missing=0.0)
    ridge = RidgeValues(Problem.of(X, y, cv=3, random_state=0))
    predicted = ridge.predict(HALF)
    folds = make_folds(len(X), 3, None, int(np.random.RandomState(0).randint(2**31 - 1)), y)
    for mask, m in zip(HALF.masks(), predicted, strict=True):
        for fold in folds:
            train = X[fold.train][:, mask]
            if not mask.any():
                np.testing.assert_allclose(m[fold.test, 0], y[fold.train].mean())
                continue
            mean, sd = train.mean(axis=0), train.std(axis=0)
            model = Ridge(alpha=ridge.penalty * len(train)).fit((train - mean) / sd, y[fold.train])
            expected = model.predict((X[fold.test][:, mask] - mean) / sd)
            np.testing.assert_allclose(m[fold.test, 0], expected, atol=1e-8)


def test_linear_start_with_missing_entries_and_categories():
    rng = np.random.default_rng(0)
    n = 1500
    X = np.column_stack([rng.standard_normal(n), rng.integers(0, 4, n), rng.integers(0, 100, n)])
    y = (
        X[:, 0]
        + np.array([0.0, 2.0, -1.0, 1.0])[X[:, 1].astype(int)]
        + 0.3 * rng.standard_normal(n)
    )
    X[rng.random(X.shape) < 0.05] = np.nan
    categorical = [False, True, True]
    problem = Problem.of(X, y, categorical=categorical, random_state=0)
    ridge = RidgeValues(problem)
    v = ridge.values(Subsets.singletons(3)).v
    truth = np.array([1, 1.25, 0]) / (1 + 1.25 + 0.09)
    # 5 % of the entries are missing and explain nothing.
    np.testing.assert_allclose(v, 0.95 * truth, atol=0.05)
    assert abs(v[2]) < 0.01
    for start in ("linear", "normal_scores", "constant"):
        boosting = ProjectedBoosting(problem, start=start)
        np.testing.assert_allclose(
            boosting.values(Subsets.singletons(3)).v, 0.95 * truth, atol=0.05
        )


def test_linear_start_with_empty_and_constant_columns():
    X, y = messy_data(missing=0.0)
    X[:, 3], X[:, 4] = np.nan, 1.0
    problem = Problem.of(X, y, random_state=0)
    for scale in ("linear", "normal_scores"):
        v = RidgeValues(problem, scale=scale).values(Subsets.singletons(5)).v
        assert np.isfinite(v).all()
        np.testing.assert_allclose(v[3:], 0, atol=0.02)


def test_normal_scores_ignore_monotone_transforms():
    rng = np.random.default_rng(0)
    reference, x = rng.standard_normal(200), rng.standard_normal(50)
    np.testing.assert_array_equal(
        normal_scores(reference, x), normal_scores(np.exp(reference), np.exp(x))
    )
    assert np.corrcoef(normal_scores(reference, reference), reference)[0, 1] > 0.99


def test_shift_and_scale_of_y_change_nothing():
    X, y = messy_data()
    first = ProjectedBoosting(Problem.of(X, y, random_state=0)).values(HALF).v
    second = ProjectedBoosting(Problem.of(X, 8 * y - 100, random_state=0)).values(HALF).v
    np.testing.assert_allclose(first, second, atol=5e-3)


def test_integer_weights_are_repeated_rows():
    X, y = messy_data(n=150)
    weight = np.random.default_rng(1).integers(1, 4, 150)
    model = hist_gradient_boosting().fit(*messy_data(seed=3))
    groups = np.arange(150)
    cv = KFold(3)
    repeat = np.repeat(groups, weight)
    folds = make_folds(150, cv)

    class SameFolds:
        def split(self, X, y=None, groups=None):
            for fold in folds:
                held_out = np.isin(repeat, fold.test)
                yield np.flatnonzero(~held_out), np.flatnonzero(held_out)

    problems = [
        Problem.of(X, y, sample_weight=weight, cv=cv),
        Problem.of(X[repeat], y[repeat], cv=SameFolds()),
    ]
    light, heavy = (
        ProjectedBoosting.from_fitted(model, problem, shrinkage=2.0, early_stopping=True)
        for problem in problems
    )
    # Which copies of a row are in which half, no weight can tell: the correction may differ.
    np.testing.assert_allclose(light.values(HALF).plain, heavy.values(HALF).plain, atol=1e-10)
    light, heavy = (RidgeValues(problem) for problem in problems)
    np.testing.assert_allclose(light.values(HALF).v, heavy.values(HALF).v, atol=1e-10)


def test_several_outputs_sum_errors_and_variances():
    X, y = messy_data()
    other = np.random.default_rng(0).standard_normal(len(y))
    one, both = (
        ProjectedBoosting(
            Problem.of(X, targets, random_state=0),
            estimator=hist_gradient_boosting(max_features=0.5),
            start="constant",
            shrinkage=3.0,
            early_stopping=False,
        )
        for targets in (y, np.column_stack([y, other]))
    )
    np.testing.assert_allclose(both.predict(HALF)[:, :, 0], one.predict(HALF)[:, :, 0])
    error = ((other - both.predict(HALF)[:, :, 1]) ** 2).mean(axis=1)
    first = (1 - one.values(HALF).plain) * one.outcome.variance
    expected = 1 - (first + error) / both.outcome.variance
    np.testing.assert_allclose(both.values(HALF).plain[1:], expected[1:])


def test_players_of_several_columns():
    X, y = messy_data()
    players = [np.array([0, 1]), np.array([2]), np.array([3, 4])]
    problem = Problem.of(X, y, players=players, random_state=0)
    grouped = ProjectedBoosting(problem, start="constant", shrinkage=3)
    assert grouped.n_players == 3
    v = grouped.values(Subsets.full(3)).v[0]
    assert v == grouped.explained_variance()
    assert grouped.values(Subsets.from_indices([[0, 1]], 3)).v[0] > 0.5 * v


def test_folds():
    groups = np.repeat(np.arange(20), 5)
    for fold in make_folds(100, 4, groups):
        assert not set(groups[fold.train]) & set(groups[fold.test])
    last = make_folds(100, TimeSeriesSplit(3))
    assert sum(len(fold.test) for fold in last) == 75
    with pytest.raises(ValueError, match="cv=1"):
        make_folds(100, 1)
    with pytest.raises(ValueError, match="cv=30"):
        make_folds(100, 30, groups)


def test_rows_that_no_fold_holds_out_do_not_count():
    X, y = messy_data()
    boosting = ProjectedBoosting(Problem.of(X, y, cv=TimeSeriesSplit(3), random_state=0))
    held_out = boosting.predict(HALF)[:, :, 0]
    measured = ~np.isnan(held_out[0])
    error = ((y - held_out)[:, measured] ** 2).mean(axis=1)
    v = boosting.values(HALF, influences=True)
    np.testing.assert_allclose(v.plain[1:], 1 - error[1:] / boosting.outcome.variance)
    means = [(y[fold.test] - y[fold.train].mean()) ** 2 for fold in boosting.folds]
    assert boosting.outcome.variance == pytest.approx(np.concatenate(means).mean())
    assert v.replicates is None


def test_boosters_of_other_libraries_are_cloned():
    X, y = messy_data()
    problem = Problem.of(X, y, random_state=0)
    for estimator in (lightgbm(feature_fraction_bynode=0.5), xgboost(colsample_bynode=0.5)):
        boosting = ProjectedBoosting(problem, estimator=estimator)
        assert boosting.n_trees_ == 20
        assert boosting.explained_variance() > 0.6
        assert (
            not hasattr(estimator, "n_features_in_") or estimator.__sklearn_is_fitted__() is False
        )


def test_boosters_that_look_at_all_columns_get_a_warning():
    problem = Problem.of(*messy_data(), random_state=0)
    with pytest.warns(UserWarning, match="looks at all columns"):
        ProjectedBoosting(problem, estimator=hist_gradient_boosting())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProjectedBoosting(problem, estimator=hist_gradient_boosting(max_features=0.5))


def test_bad_input():
    X, y = messy_data()
    with pytest.raises(TypeError, match="LinearRegression is not a booster"):
        ProjectedBoosting(Problem.of(X, y), estimator=LinearRegression())
    with pytest.raises(ValueError, match="start='mean'"):
        ProjectedBoosting(Problem.of(X, y), start="mean")
    with pytest.raises(ValueError, match="do not match"):
        ProjectedBoosting(Problem.of(X, y[:-1]))
    with pytest.raises(ValueError, match="non-negative"):
        ProjectedBoosting(Problem.of(X, y, sample_weight=-np.ones(len(y))))
    with pytest.raises(ValueError, match="missing or infinite"):
        ProjectedBoosting(Problem.of(X, np.where(y > 1, np.nan, y)))
    model = hist_gradient_boosting().fit(*messy_data(seed=5))
    with pytest.raises(ValueError, match="fitted on 5 columns, X has 4"):
        ProjectedBoosting.from_fitted(model, Problem.of(X[:, :4], y))
    with pytest.raises(ValueError, match="over 3 players"):
        ProjectedBoosting.from_fitted(model, Problem.of(X, y)).values(Subsets.full(3))


def test_constant_target_explains_nothing():
    X, _ = messy_data()
    problem = Problem.of(X, np.full(len(X), 3.0), random_state=0)
    assert ProjectedBoosting(problem).explained_variance() == 0


@pytest.mark.parametrize(
    "settings",
    [{"verbose": False}, {"silent": True}, {"logging_level": "Info"}, {"random_state": 3}],
)
def test_catboost_settings_under_any_of_their_names(settings):
    import catboost

    problem = Problem.of(*messy_data(n=100), random_state=0)
    estimator = catboost.CatBoostRegressor(iterations=3, rsm=0.5, **settings)
    assert ProjectedBoosting(problem, estimator=estimator).values(HALF).v.max() < 1


def test_noise_is_worth_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 5)), rng.standard_normal(600)
    assert np.abs(ProjectedBoosting(Problem.of(X, y, random_state=0)).values(HALF).v).max() < 0.03


def test_categories_keep_their_value():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, 3000)
    X = np.column_stack([codes, rng.integers(0, 30, 3000), rng.standard_normal(3000)])
    effect = rng.standard_normal(300)
    y = effect[codes] + X[:, 2] + 0.2 * rng.standard_normal(3000)
    boosting = ProjectedBoosting(Problem.of(X, y, categorical=[True, True, False], random_state=0))
    v = boosting.values(Subsets.singletons(3)).v
    # Ten rows a category: its mean is known up to a tenth of the variance.
    assert 0.35 < v[0] < 0.5
    assert abs(v[1]) < 0.02
    assert v[2] == pytest.approx(0.48, abs=0.05)


@pytest.mark.parametrize("start", ["auto", "constant"])
def test_values_are_near_the_closed_form(start):
    exp = experiment_1a(n=1000, random_state=11)
    masks = np.random.default_rng(0).random((30, 15)) < 0.5
    subsets = Subsets.from_masks(masks)
    v = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=0), start=start).values(subsets).v
    error = np.sqrt(np.mean((v - exp.value(subsets)) ** 2))
    assert error < (0.02 if start == "auto" else 0.05)


def test_monotone_transforms_cost_little():
    exp = experiment_1a(n=2000, random_state=11)
    transforms = [np.exp, np.arctan, lambda t: t**3] * 5
    X = np.column_stack([f(x) for f, x in zip(transforms, exp.X.T, strict=True)])
    subsets = Subsets.from_masks(np.random.default_rng(0).random((30, 15)) < 0.5)
    boosting = ProjectedBoosting(Problem.of(X, exp.y, random_state=0))
    assert boosting.start_ == "normal_scores"
    assert np.sqrt(np.mean((boosting.values(subsets).v - exp.value(subsets)) ** 2)) < 0.03


def test_gains_are_those_of_y_itself():
    exp = experiment_2(n=2000, random_state=3)
    model = hist_gradient_boosting(max_features=0.5)
    gains = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=0), estimator=model).gains
    assert gains.sum() == pytest.approx(1)
    assert gains[2] > gains[10:].max()


def test_copies_share_alike():
    """Of equal splits a booster takes the first column: folds see the columns in both orders."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 2))
    X = np.column_stack([X, X[:, 0]])
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(800)
    effects = ShapleyEffects("boosting", random_state=0).fit(X, y).effects_
    assert abs(effects[0] - effects[2]) < 0.03 * effects[0]
