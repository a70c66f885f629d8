"""The stack of value functions."""

import numpy as np
import pytest
from scipy.optimize import nnls

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.datasets import experiment_2
from shaff.subsets import Subsets
from shaff.values.smooth.smooth_values import SmoothValues
from shaff.values.stack import StackedValues


class Fixed:
    """A part whose predictions are given, the same in each of its runs or one for each."""

    def __init__(self, *predictions):
        self.each, self.predictions = predictions, np.mean(predictions, axis=0)

    def runs(self, subsets):
        return np.stack([np.repeat(one[None], len(subsets), axis=0) for one in self.each])

    def predict(self, subsets, rows=None):
        given = self.predictions if rows is None else self.predictions[: len(rows)]
        return np.repeat(given[None], len(subsets), axis=0)


def about(y, weight=None):
    """The problem of these targets; no part looks at X."""
    return Problem.of(np.zeros((len(y), 2)), y, sample_weight=weight)


def stacked_by_hand(predictions, y, fold_of, weight):
    """Each row with weights and mean of the other folds, one fold and one solve at a time."""
    combined = np.empty_like(y)
    for fold in np.unique(fold_of):
        rows = fold_of != fold
        mean = np.average(y[rows], axis=0, weights=weight[rows])
        root = np.sqrt(np.repeat(weight[rows], y.shape[1]))
        A = np.column_stack([(p[rows] - mean).ravel() for p in predictions]) * root[:, None]
        a, _ = nnls(A, (y[rows] - mean).ravel() * root)
        here = fold_of == fold
        combined[here] = mean + sum(
            a_k * (p[here] - mean) for a_k, p in zip(a, predictions, strict=True)
        )
    return combined


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_weights_come_from_the_other_folds(n_outputs):
    rng = np.random.default_rng(0)
    y = rng.standard_normal((40, n_outputs))
    predictions = [y * c + rng.standard_normal(y.shape) for c in (0.5, 1.0, -0.2)]
    fold_of, weight = np.arange(40) % 4, rng.uniform(0.5, 2, 40)
    stack = StackedValues([Fixed(p) for p in predictions], about(y, weight), [fold_of])
    expected = stacked_by_hand(predictions, y, fold_of, weight)
    both = Subsets.full(2)
    np.testing.assert_allclose(stack.predict(both)[0], expected, atol=1e-9)
    error = np.average(((y - expected) ** 2).sum(axis=1), weights=weight)
    np.testing.assert_allclose(stack.values(both).v, 1 - error / stack.outcome.variance)


def test_noise_predictions_explain_nothing_more_than_nothing():
    rng = np.random.default_rng(1)
    y = rng.standard_normal((200, 1))
    parts = [Fixed(rng.standard_normal(y.shape)) for _ in range(3)]
    stack = StackedValues(parts, about(y), [np.arange(200) % 5])
    assert -0.1 < stack.values(Subsets.full(2)).v[0] < 0.02


def test_without_any_weight_the_mean_of_the_other_folds_is_left():
    """The mean of all rows knows the row that is measured, and would explain 1/n of it."""
    v = []
    for seed in range(20):
        y = np.random.default_rng(seed).standard_normal((60, 1))
        stack = StackedValues([Fixed(-y)], about(y), [np.arange(60) % 5])
        v.append(stack.values(Subsets.full(2)).v[0])
    assert np.mean(v) < 0


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
    np.testing.assert_allclose(
        stack.predict(Subsets.full(2), np.zeros((7, 2)))[0], y[:7], atol=1e-8
    )


def test_runs_are_averaged_and_each_is_worth_something():
    rng = np.random.default_rng(4)
    y = rng.standard_normal((60, 1))
    noisy = [y + rng.standard_normal(y.shape) for _ in range(2)]
    folds = [np.arange(60) % 5, np.arange(60) // 12]
    problem = about(y)
    values = StackedValues([Fixed(*noisy)], problem, folds).values(Subsets.full(2))
    single = [
        stacked_by_hand([one], y, fold_of, np.ones(60))
        for one, fold_of in zip(noisy, folds, strict=True)
    ]
    variance = StackedValues([Fixed(*noisy)], problem, folds).outcome.variance
    expected = [1 - np.mean((y - one) ** 2) / variance for one in single]
    np.testing.assert_allclose(values.runs[0], expected, atol=1e-9)
    assert values.v[0] > max(expected)


def test_the_correction_takes_off_the_variance_of_the_smooth_part():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (80, 2))
    problem = Problem.of(X, np.sin(4 * X[:, 0]) + 0.3 * rng.standard_normal(80), random_state=0)
    folds = [np.arange(80) % 5]
    smooth = SmoothValues(problem, folds)
    values = StackedValues([], problem, folds, smooth).values(Subsets.full(2))
    residuals, leverages = smooth.left_out(Subsets.full(2))
    stack = StackedValues([], problem, folds, smooth)
    _, weight = stack._combine(problem.y - residuals, folds[0])
    taken = np.mean(np.minimum(1, weight) * leverages[0] * residuals[0, :, 0] ** 2)
    np.testing.assert_allclose(values.v - values.plain, taken / stack.outcome.variance)


def test_estimator_stack():
    exp = experiment_2(n=600, random_state=3)
    est = ShapleyEffects("stack", n_subsets=40, random_state=0).fit(exp.X, exp.y)
    assert est.result_.estimator == "stack"
    assert np.argmax(est.effects_) in (0, 1, 2)
    np.testing.assert_allclose(est.effects_.sum(), est.explained_variance_)
