"""Missing values: carried by the trees, of no matter outside of the subset."""

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.subsets import Subsets
from shaff.trees.growing import GrownForest
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.forest.projected_forest import ProjectedForest

N = 600


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    y = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(N)
    return X, y


def forest_values(X, y):
    model = RandomForestRegressor(40, min_samples_leaf=5, max_features=0.7, random_state=0)
    model.fit(X, y)
    return ProjectedForest(Problem.of(X, y), GrownForest.of_fitted(model, len(X)))


def boosting_values(X, y):
    return ProjectedBoosting(Problem.of(X, y, random_state=0))


VALUE_FUNCTIONS = pytest.mark.parametrize("make", [forest_values, boosting_values])


@VALUE_FUNCTIONS
def test_a_gap_outside_of_the_subset_changes_nothing(rows, make):
    X, y = rows
    gappy = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    values = make(gappy, y)
    new = np.random.default_rng(2).standard_normal((30, 3))
    for subset in ([0], [1], [0, 2]):
        hidden = new.copy()
        hidden[:, [j for j in range(3) if j not in subset]] = np.nan
        subsets = Subsets.from_indices([subset], 3)
        np.testing.assert_array_equal(values.predict(subsets, new), values.predict(subsets, hidden))
        inside = new.copy()
        inside[:, subset[0]] = np.nan
        assert (values.predict(subsets, new) != values.predict(subsets, inside)).any()


@VALUE_FUNCTIONS
def test_gaps_at_random_cost_what_they_hide(rows, make):
    X, y = rows
    gappy = X.copy()
    gappy[np.random.default_rng(1).random(N) < 0.3, 0] = np.nan
    alone = Subsets.singletons(3)
    whole, part = make(X, y).values(alone).v, make(gappy, y).values(alone).v
    assert 0.5 * whole[0] < part[0] < 0.9 * whole[0]  # 70 % of the rows still tell
    assert abs(part[1] - whole[1]) < 0.06


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_gaps_that_tell_are_an_effect(rows, estimator):
    """y is high where the column is missing; what it holds says nothing."""
    X, _ = rows
    rng = np.random.default_rng(3)
    gone = rng.random(N) < 0.4
    y = 2.0 * gone + X[:, 1] + 0.3 * rng.standard_normal(N)
    frame = pl.DataFrame({"gaps": np.where(gone, None, X[:, 0]).tolist(), "x": X[:, 1]})
    est = ShapleyEffects(estimator, random_state=0).fit(frame, y)
    share = np.var(2.0 * gone) / np.var(y)
    assert abs(est.effects_[0] - share) < 0.1
    # The same for a factor with gaps.
    labels = [
        None if g else f"level {k}" for g, k in zip(gone, rng.integers(5, size=N), strict=True)
    ]
    factor = pl.DataFrame({"gaps": labels, "x": X[:, 1]})
    est = ShapleyEffects(estimator, random_state=0).fit(factor, y)
    assert abs(est.effects_[0] - share) < 0.1
