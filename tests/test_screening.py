"""The screen keeps what matters and drops most of the rest."""

import numpy as np
import pytest

from shaff.datasets import experiment_1b
from shaff.screening import screen


def test_keeps_the_active_variables_of_experiment_1b():
    exp = experiment_1b(random_state=0)
    kept = screen(exp.X, exp.y, fewest=0)
    assert kept[:13].all()
    assert kept.sum() <= 20


def test_false_alarms_are_rare():
    rng = np.random.default_rng(0)
    tables = rng.standard_normal((10, 300, 102))
    kept = [screen(table[:, :-1], table[:, -1], fewest=0) for table in tables]
    assert np.mean(kept) < 0.02


@pytest.mark.parametrize(
    "effect",
    [
        lambda x: x,
        lambda x: (x - 1) ** 2,
        lambda x: np.exp(3 * x),
        lambda x: np.where(np.isnan(x), 1.0, 0.0),
    ],
)
def test_sees_each_kind_of_effect_through_missing_values(effect):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 30))
    X[rng.random(X.shape) < 0.2] = np.nan
    signal = np.nan_to_num(effect(X[:, 3]))
    kept = screen(X, signal + 0.5 * signal.std() * rng.standard_normal(1000), fewest=0)
    assert kept[3]
    assert kept.sum() < 6


def test_any_output_counts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 10))
    kept = screen(X, np.column_stack([X[:, 0], X[:, 9] + rng.standard_normal(500)]), fewest=2)
    assert kept[[0, 9]].all()


def test_gains_keep_pure_interactions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    gains = rng.uniform(0.9, 1.1, 20)
    gains[[4, 5]] = 8.0
    y = X[:, 0] + X[:, 4] * X[:, 5]
    assert not screen(X, y, fewest=0)[[4, 5]].all()
    assert screen(X, y, gains=gains, fewest=0)[[0, 4, 5]].all()


def test_constant_columns_leave_first_and_the_best_stay_whatever_they_are():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(200), np.ones(200), np.full(200, np.nan)])
    assert screen(X, X[:, 0], fewest=1).tolist() == [True, False, False]
    noise = rng.standard_normal((200, 30))
    assert screen(noise, rng.standard_normal(200), fewest=12).sum() == 12
    assert screen(X, np.zeros(200), fewest=3).all()


def test_categories_are_compared_by_their_means():
    rng = np.random.default_rng(0)
    codes = rng.integers(5, size=(600, 3)).astype(float)
    # Not monotone in the code: means of the levels differ, correlation with the code is weak.
    y = np.array([1.0, -1.0, 0.0, -1.0, 1.0])[codes[:, 1].astype(int)] + rng.standard_normal(600)
    kept = screen(codes, y, categorical=np.ones(3, dtype=bool), fewest=0)
    assert kept.tolist() == [False, True, False]


def test_false_alarms_do_not_grow_with_the_number_of_columns():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 1000))
    kept = screen(
        X, X[:, 0] + rng.standard_normal(400), gains=rng.uniform(0, 0.002, 1000), fewest=0
    )
    assert kept[0]
    assert kept.sum() <= 5
