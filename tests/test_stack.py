"""The stack of value functions, and what is stacked by default."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.model_selection import TimeSeriesSplit

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.datasets import experiment_2
from shaff.subsets import Subsets
from shaff.values.auto import LEAST_GAIN, LEAST_LARGEST_GAIN, earns_its_place, make_auto
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.mixing import Predictions, non_negative
from shaff.values.outcome import Outcome
from shaff.values.smooth.smooth_values import MAX_ROWS_LEFT_OUT, SmoothValues
from shaff.values.stack import NoisyRuns, StackedValues

BOTH = Subsets.full(2)
# So many rows that a gain which is worth nothing is beyond its error.
MANY = 100_000


class Fixed:
    """A part whose predictions are given, one for each of its runs, and the noise in them."""

    words = "given"

    def __init__(self, *predictions, noise=None):
        self.each, self.noise = predictions, noise

    def runs(self, subsets):
        runs = np.stack([np.repeat(one[None], len(subsets), axis=0) for one in self.each])
        noise = None if self.noise is None else np.repeat(self.noise[None], len(subsets), axis=0)
        return runs, noise

    def predict(self, subsets, rows):
        given = np.mean(self.each, axis=0)[: len(rows)]
        return np.repeat(given[None], len(subsets), axis=0)


def about(y, weight=None):
    """The problem of these targets; no part looks at X."""
    return Problem.of(np.zeros((len(y), 2)), y, sample_weight=weight)


def stacked_by_hand(predictions, y, fold_of, weight):
    """Each row with weights and mean of the other folds, one fold and one solve at a time; and
    these weights. Rows of no fold, or without a prediction, count for nothing."""
    combined, weights = np.full_like(y, np.nan), np.zeros((len(predictions), len(y)))
    known = (fold_of >= 0) & ~np.isnan(predictions).any(axis=(0, 2))
    for fold in range(fold_of.max() + 1):
        rows, here = known & (fold_of != fold), fold_of == fold
        mean = np.average(y[rows], axis=0, weights=weight[rows])
        root = np.sqrt(np.repeat(weight[rows], y.shape[1]))
        A = np.column_stack([(p[rows] - mean).ravel() for p in predictions]) * root[:, None]
        a, _ = nnls(A, (y[rows] - mean).ravel() * root)
        away = [p[here] - mean for p in predictions]
        combined[here] = mean + np.tensordot(a, away, axes=1)
        weights[:, here] = a[:, None]
    return combined, weights


def noisy_copies(y, rng, shares=(0.5, 1.0, -0.2)):
    return np.stack([y * c + rng.standard_normal(y.shape) for c in shares])


@pytest.mark.parametrize("n_parts", [1, 2, 3, 4])
def test_non_negative_least_squares(n_parts):
    rng = np.random.default_rng(n_parts)
    A, b = rng.standard_normal((300, 12, n_parts)), rng.standard_normal((300, 12))
    gram, moment = A.transpose(0, 2, 1) @ A, np.einsum("srk,sr->sk", A, b)
    found = non_negative(gram, moment)
    expected = np.array([nnls(one, right)[0] for one, right in zip(A, b, strict=True)])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (found == 0).any()
    assert (found > 0).any()


def test_non_negative_least_squares_of_collinear_parts():
    """Weights are not unique, but what they explain is."""
    rng = np.random.default_rng(0)
    for seed in range(50):
        first, b = rng.standard_normal((15, 2)), rng.standard_normal(15)
        A = np.column_stack([first, first[:, 0], first.sum(axis=1), np.zeros(15)])
        found = non_negative((A.T @ A)[None], (A.T @ b)[None])[0]
        assert (found >= 0).all()
        error, least = np.linalg.norm(A @ found - b), nnls(A, b)[1]
        assert error <= least + 1e-6, seed


def test_nothing_to_combine_has_no_weight():
    assert not non_negative(np.zeros((2, 3, 3)), np.zeros((2, 3))).any()


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_all_subsets_are_combined_as_one_by_one(n_outputs, shift):
    """With rows of no fold, of no weight, and rows that a part has no prediction for."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((60, n_outputs)) + shift
    weight, fold_of = rng.integers(0, 3, 60).astype(float), rng.integers(-1, 4, 60)
    tables = np.stack([shift + noisy_copies(y - shift, rng) for _ in range(5)])
    tables[2, 1, :7] = np.nan
    combined, weights = Predictions(tables, Outcome.of(y, weight)).combine(fold_of)
    for table, one, its_weights in zip(tables, combined, weights, strict=True):
        expected, expected_weights = stacked_by_hand(table, y, fold_of, weight)
        np.testing.assert_allclose(one, expected, atol=1e-8 * (1 + shift))
        np.testing.assert_allclose(its_weights, expected_weights, atol=1e-7)
    assert np.isnan(combined[:, fold_of < 0]).all()


def test_further_rows_are_combined_by_all_rows():
    rng = np.random.default_rng(1)
    y = rng.standard_normal((50, 1))
    parts, new = noisy_copies(y, rng), rng.standard_normal((3, 7, 1))
    mix = Predictions(parts[None], Outcome.of(y)).mix()
    a, _ = nnls((parts - y.mean())[:, :, 0].T, (y - y.mean())[:, 0])
    np.testing.assert_allclose(mix.weights[0], a, atol=1e-7)
    expected = y.mean() + np.tensordot(a, new - y.mean(), axes=1)
    np.testing.assert_allclose(mix.of(new[None])[0], expected, atol=1e-7)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_weights_come_from_the_other_folds(n_outputs):
    rng = np.random.default_rng(0)
    y = rng.standard_normal((40, n_outputs))
    predictions = noisy_copies(y, rng)
    fold_of, weight = np.arange(40) % 4, rng.uniform(0.5, 2, 40)
    stack = StackedValues([Fixed(p) for p in predictions], about(y, weight), [fold_of])
    expected, _ = stacked_by_hand(predictions, y, fold_of, weight)
    np.testing.assert_allclose(stack.predict(BOTH)[0], expected, atol=1e-8)
    error = np.average(((y - expected) ** 2).sum(axis=1), weights=weight)
    np.testing.assert_allclose(stack.values(BOTH).v, 1 - error / stack.outcome.variance)


def test_noise_predictions_explain_nothing_more_than_nothing():
    rng = np.random.default_rng(1)
    y = rng.standard_normal((200, 1))
    parts = [Fixed(rng.standard_normal(y.shape)) for _ in range(3)]
    stack = StackedValues(parts, about(y), [np.arange(200) % 5])
    assert -0.1 < stack.values(BOTH).v[0] < 0.02


def test_without_any_weight_the_mean_of_the_other_folds_is_left():
    """The mean of all rows knows the row that is measured, and would explain 1/n of it."""
    v = []
    for seed in range(20):
        y = np.random.default_rng(seed).standard_normal((60, 1))
        stack = StackedValues([Fixed(-y)], about(y), [np.arange(60) % 5])
        v.append(stack.values(BOTH).v[0])
        np.testing.assert_allclose(v[-1], 0, atol=1e-12)


def test_rows_without_a_prediction_are_left_out_and_the_empty_set_is_worth_nothing():
    rng = np.random.default_rng(2)
    y = rng.standard_normal((60, 1))
    prediction = y + 0.1 * rng.standard_normal(y.shape)
    prediction[:5] = np.nan
    stack = StackedValues([Fixed(prediction)], about(y), [np.arange(60) % 3])
    values = stack.values(Subsets.from_indices([[], [0, 1]], 2), influences=True)
    assert values.v[0] == 0
    assert values.v[1] > 0.95
    assert np.isfinite(values.influences).all()


def test_new_rows():
    rng = np.random.default_rng(3)
    y = rng.standard_normal((50, 1))
    stack = StackedValues([Fixed(y), Fixed(y * 0)], about(y), [np.arange(50) % 5])
    np.testing.assert_allclose(stack.predict(BOTH, np.zeros((7, 2)))[0], y[:7], atol=1e-8)


def test_runs_are_averaged_and_each_is_worth_something():
    rng = np.random.default_rng(4)
    y = rng.standard_normal((60, 1))
    noisy = [y + rng.standard_normal(y.shape) for _ in range(2)]
    folds = [np.arange(60) % 5, np.arange(60) // 12]
    stack = StackedValues([Fixed(*noisy)], about(y), folds)
    values = stack.values(BOTH)
    single = [
        stacked_by_hand(one[None], y, fold_of, np.ones(60))[0]
        for one, fold_of in zip(noisy, folds, strict=True)
    ]
    expected = [1 - np.mean((y - one) ** 2) / stack.outcome.variance for one in single]
    np.testing.assert_allclose(values.runs[0], expected, atol=1e-9)
    assert values.v[0] > max(expected)


def test_the_correction_takes_off_the_noise_of_the_parts_that_know_it():
    rng = np.random.default_rng(5)
    y = rng.standard_normal((80, 1))
    fold_of, noise = np.arange(80) % 5, rng.uniform(0, 0.1, y.shape)
    predictions = noisy_copies(y, rng, (0.5, 3.0))
    predictions[1] = 0.5 * y
    _, weights = stacked_by_hand(predictions, y, fold_of, np.ones(80))
    for own in (0, 1):
        parts = [Fixed(p, noise=noise if k == own else None) for k, p in enumerate(predictions)]
        stack = StackedValues(parts, about(y), [fold_of])
        values = stack.values(BOTH)
        # A weight beyond 1 does not take off more than there is.
        taken = np.mean(np.minimum(1, weights[own]) * noise[:, 0])
        np.testing.assert_allclose(
            values.v - values.plain, taken / stack.outcome.variance, atol=1e-9
        )
    assert weights[1].min() > 1


def test_smooth_values_are_stacked_with_their_noise():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (80, 2))
    problem = Problem.of(X, np.sin(4 * X[:, 0]) + 0.3 * rng.standard_normal(80), random_state=0)
    folds = [np.arange(80) % 5, np.arange(80) // 16]
    smooth = SmoothValues(problem, folds)
    part = NoisyRuns("smooth curves", [smooth])
    runs, noise = part.runs(BOTH)
    residuals, expected = smooth.left_out(BOTH)
    np.testing.assert_allclose(runs.mean(axis=0), problem.y - residuals)
    np.testing.assert_array_equal(noise, expected)
    values = StackedValues([part], problem, folds).values(BOTH)
    assert values.v > values.plain


def judged(gains, n=400):
    """Whether a second part earns its place that adds this much to v of each of some probes."""
    first, rest, noise = np.random.default_rng(0).standard_normal((3, n, 1))
    problem = Problem.of(np.zeros((n, len(gains))), first + rest)

    class Second(Fixed):
        """Correlated with what the first leaves, which is half of the variance."""

        def runs(self, subsets):
            shares = 2 * np.array(gains)
            parts = [np.sqrt(r) * rest + np.sqrt(1 - r) * noise for r in shares]
            return np.stack(parts)[None], None

    stack = StackedValues([Fixed(first), Second()], problem, [np.arange(n) % 5])
    return earns_its_place(stack, Subsets.from_masks(np.eye(len(gains), dtype=bool)))


def test_a_part_with_merit_is_kept():
    assert judged([0.1, 0.1, 0.1])


def test_merit_for_one_subset_is_enough():
    """Too little on average."""
    one, n = 1.5 * LEAST_LARGEST_GAIN / np.sqrt(MANY), 8
    assert one / n < LEAST_GAIN / np.sqrt(MANY)
    assert judged([one] + [0.0] * (n - 1), MANY)


def test_a_part_without_merit_is_dropped():
    assert not judged([0.0, 0.0, 0.0])
    rng = np.random.default_rng(0)
    y = rng.standard_normal((300, 1))
    for other in (rng.standard_normal(y.shape), 2 * y - 1e-3, -y):
        stack = StackedValues([Fixed(y), Fixed(other)], about(y), [np.arange(300) % 5])
        assert not earns_its_place(stack, BOTH)


def test_what_is_certain_but_tiny_is_not_worth_its_time():
    tiny = 0.5 * LEAST_GAIN / np.sqrt(MANY)
    assert not judged([tiny, tiny], MANY)


def test_luck_is_no_merit():
    """What one row in three hundred is predicted better by is within the error."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((300, 1))
    y[0] = 30.0
    first = y + 0.5 * rng.standard_normal(y.shape)
    first[0] = 0.0
    better = first.copy()
    better[0] = 15.0
    stack = StackedValues([Fixed(first), Fixed(better)], about(y), [np.arange(300) % 5])
    assert not earns_its_place(stack, BOTH)


def smooth_data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.standard_normal(n)


def stepped_data(n, seed=0):
    """Corners and no curves."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    corner = (X[:, 0] > 0.3) & (X[:, 1] > -0.2) & (X[:, 2] < 0.5)
    return X, corner + 0.05 * rng.standard_normal(n)


def test_curves_are_stacked_where_the_function_is_smooth():
    X, y = smooth_data(700)
    first, again = (make_auto(Problem.of(X, y, random_state=0)) for _ in range(2))
    assert first.facts.blended == ("boosted trees", "smooth curves")
    some = Subsets.from_indices([[0], [0, 1], [0, 1, 2, 3]], 4)
    np.testing.assert_array_equal(first.values.values(some).v, again.values.values(some).v)


def test_boosting_is_left_alone_where_curves_add_nothing():
    X, y = stepped_data(2100)
    game = make_auto(Problem.of(X, y, random_state=0))
    assert isinstance(game.values, ProjectedBoosting)
    several = make_auto(Problem.of(X[:1100], y[:1100], random_state=0))
    assert several.facts.blended == ("boosted trees",)
    assert several.facts.n_splits == 2


HALVES = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]


@pytest.mark.parametrize(
    "settings",
    [{"cv": TimeSeriesSplit(3)}, {"cv": HALVES}, {"row_groups": np.arange(300) // 3}],
    ids=["time", "halves", "groups"],
)
def test_splits_and_groups_are_stacked_too(settings):
    X, y = smooth_data(300)
    problem = Problem.of(X, y, random_state=0, **settings)
    game = make_auto(problem)
    assert game.facts.blended == ("boosted trees", "smooth curves")
    assert game.facts.n_splits == (1 if problem.has_splits else 5)
    values = game.values.values(Subsets.full(4), influences=True)
    assert 0.85 < values.v[0] < 1
    assert np.isfinite(values.influences).all()
    measured = np.unique(np.concatenate([fold.test for fold in problem.folds(0)]))
    idle = np.setdiff1d(np.arange(300), measured)
    assert not values.influences[0, idle].any()
    assert np.isfinite(game.values.predict(Subsets.full(4), X[:5])).all()


def test_one_split_has_nothing_to_weigh_parts_by():
    X, y = smooth_data(300)
    problem = Problem.of(X, y, cv=[(np.arange(200), np.arange(200, 300))], random_state=0)
    game = make_auto(problem)
    assert isinstance(game.values, ProjectedBoosting)
    assert 0.6 < game.values.values(Subsets.full(4)).v[0] < 1


@pytest.mark.parametrize("settings", [{"cv": TimeSeriesSplit(3)}, {"cv": HALVES}])
def test_the_default_with_splits(settings):
    X, y = smooth_data(300)
    est = ShapleyEffects(random_state=0, **settings).fit(X, y)
    assert est.result_.estimator == "stack"
    assert est.effects_[3] < 0.05 < est.effects_[:3].min()
    np.testing.assert_allclose(est.effects_.sum(), est.explained_variance_)


def test_values_do_not_jump_where_folds_are_left_out_in_place_of_rows():
    X, y = smooth_data(2 * MAX_ROWS_LEFT_OUT)
    some = Subsets.from_indices([[0, 1], [2], [0, 1, 2, 3]], 4)
    before, after = (
        make_auto(Problem.of(X[:n], y[:n], random_state=0)).values.values(some).v
        for n in (MAX_ROWS_LEFT_OUT - 10, MAX_ROWS_LEFT_OUT + 10)
    )
    np.testing.assert_allclose(after, before, atol=0.01)


def test_estimator_stack():
    exp = experiment_2(n=600, random_state=3)
    est = ShapleyEffects("stack", n_subsets=40, random_state=0).fit(exp.X, exp.y)
    assert est.result_.estimator == "stack"
    assert np.argmax(est.effects_) in (0, 1, 2)
    np.testing.assert_allclose(est.effects_.sum(), est.explained_variance_)
