"""House rules: nothing is evaluated twice, and a fit leaves the process as it found it."""

import threading
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from threadpoolctl import threadpool_info, threadpool_limits

import shaff.fitting.fit
from shaff import ShapleyEffects
from shaff._util.threads import one_blas_thread
from shaff.fitting.evaluator import CHUNK, Evaluator
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.forest.projected_forest import ProjectedForest
from shaff.values.smooth.smooth_values import SmoothValues
from shaff.values.stack import StackedValues


@pytest.fixture
def asked(monkeypatch):
    """How often each value function was asked for each subset, and which of them are used."""
    counts, used = {}, []

    def counting(price):
        def values(self, subsets, *, influences=False):
            counts.setdefault(self, Counter()).update(subsets.keys())
            return price(self, subsets, influences=influences)

        return values

    for kind in (ProjectedBoosting, ProjectedForest, SmoothValues, StackedValues):
        monkeypatch.setattr(kind, "values", counting(kind.values))

    def evaluator(values, *further):
        used.append(values)
        return Evaluator(values, *further)

    monkeypatch.setattr(shaff.fitting.fit, "Evaluator", evaluator)
    return counts, used


def linear(n_columns, n_relevant, n_rows=300):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    return X, X[:, :n_relevant].sum(axis=1)


# Columns, those of them that matter, rows: of many columns a screen drops some, or none.
FEW, MANY, ALL_RELEVANT = (5, 3), (90, 3), (26, 26, 1000)


@pytest.mark.parametrize(
    ("estimator", "columns"),
    [
        (None, FEW),
        (None, MANY),
        ("boosting", MANY),
        ("boosting", ALL_RELEVANT),
        ("forest", FEW),
        ("forest", MANY),
        ("forest", ALL_RELEVANT),
        ("smooth", FEW),
    ],
)
def test_a_fit_prices_no_subset_twice(asked, estimator, columns):
    X, y = linear(*columns)
    result = ShapleyEffects(estimator, n_subsets=70, random_state=0).fit(X, y).result_
    assert any("Screened" in note for note in result.notes) is (columns == MANY)
    counts, (used,) = asked
    assert counts[used][Subsets.full(used.n_players).keys()[0]] == 1
    assert set(counts[used].values()) == {1}
    assert len(counts[used]) == result.n_subsets
    assert list(counts) == [used]  # the parts of a stack predict, and are not evaluated


class Counted:
    """A game that keeps what it was asked for."""

    n_players = 10

    def __init__(self):
        self.asked = Counter()

    def values(self, subsets, *, influences=False):
        self.asked.update(subsets.keys())
        v = subsets.masks() @ 2.0 ** -np.arange(1, 11)
        return Values(subsets, v, np.outer(v, [-1, 1]).astype(np.float32) if influences else None)


def drawn(n, n_players=10, seed=0):
    """With subsets that occur several times."""
    return Subsets.from_masks(np.random.default_rng(seed).random((n, n_players)) < 0.5)


def same_values(found, subsets):
    assert found.subsets is subsets
    expected = Counted().values(subsets, influences=True)
    np.testing.assert_array_equal(found.v, expected.v)
    if found.influences is not None:
        np.testing.assert_array_equal(found.influences, expected.influences)


def test_the_evaluator_prices_what_is_new():
    game = Counted()
    evaluator = Evaluator(game)
    first, second = drawn(3 * CHUNK), drawn(3 * CHUNK, seed=1)
    assert len(first.unique()) < len(first)
    for subsets in (first, second, first[::-1], Subsets.concatenate([second, first])):
        assert evaluator.n_new(subsets) == len(set(subsets.keys()) - game.asked.keys())
        same_values(evaluator.evaluate(subsets), subsets)
        same_values(evaluator.evaluate(subsets, influences=False), subsets)
        assert evaluator.evaluate(subsets, influences=False).influences is None
    assert set(game.asked.values()) == {1}
    assert evaluator.n_evaluated == len(game.asked) == len(set(first.keys()) | set(second.keys()))


def test_the_evaluator_prices_again_only_for_influences():
    game = Counted()
    evaluator = Evaluator(game)
    subsets = drawn(CHUNK).unique()
    evaluator.evaluate(subsets, influences=False)
    same_values(evaluator.evaluate(subsets), subsets)
    assert set(game.asked.values()) == {2}
    evaluator.evaluate(subsets)
    evaluator.evaluate(subsets, influences=False)
    assert set(game.asked.values()) == {2}
    assert evaluator.n_evaluated == len(subsets)


def test_the_evaluator_knows_what_was_priced_before():
    game, before = Counted(), Subsets.full(10)
    evaluator = Evaluator(game, evaluated=Counted().values(before, influences=True))
    assert evaluator.n_evaluated == 1
    same_values(evaluator.evaluate(before), before)
    assert not game.asked
    assert evaluator.n_new(before) == 0
    assert evaluator.n_new(Subsets.singletons(10)) == 10


# What a fit leaves behind -------------------------------------------------------------------------


def state():
    """What all code in a process shares."""
    kind, keys, *rest = np.random.get_state()
    return {
        "warnings.filters": list(warnings.filters),
        "warnings.showwarning": warnings.showwarning,
        "numpy.random": (kind, keys.tolist(), *rest),
        "threads": {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()},
    }


def numbers():
    return linear(5, 3)


def factors():
    rng = np.random.default_rng(0)
    level = rng.integers(6, size=300)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": pd.Categorical(level)})
    return frame, frame["a"] + np.array([0.0, 3.0, 1.0, 5.0, 2.0, 4.0])[level]


@pytest.mark.parametrize("rows", [numbers, factors])
@pytest.mark.parametrize(
    "estimator",
    [
        "boosting",
        "forest",
        None,
        LGBMRegressor(n_estimators=20, feature_fraction_bynode=0.5, min_child_samples=5),
    ],
    ids=["boosting", "forest", "default", "lightgbm"],
)
def test_a_fit_leaves_the_process_as_it_was(estimator, rows):
    X, y = rows()
    np.random.seed(3)
    # Two threads a pool: where all have one already, nobody sees that they were changed.
    with threadpool_limits(2):
        before = state()
        assert 2 in before["threads"].values()
        ShapleyEffects(estimator, n_subsets=20, n_jobs=2, random_state=0).fit(X, y)
        after = state()
    # A library that was loaded meanwhile has not been seen before.
    after["threads"] = {path: after["threads"][path] for path in before["threads"]}
    assert after == before


def test_the_first_of_two_fits_to_end_lets_go_of_no_thread_pool():
    """Fits of two threads overlap: the one that came last ends last."""
    entered, left = threading.Event(), threading.Event()

    def blas():
        return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

    def second():
        with one_blas_thread:
            entered.set()
            left.wait(60)
            during.append(blas())

    during = []
    with threadpool_limits(2):
        with one_blas_thread:
            other = threading.Thread(target=second)
            other.start()
            assert entered.wait(60)
        left.set()
        other.join()
        assert during == [{1}]
        assert blas() == {2}
