"""`cv` as the user gives it: asked once, kept to, and refused where it cannot be."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from shaff import ShapleyEffects


@pytest.fixture
def walk():
    """A random walk: rows near in time know each other's y."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(300.0), rng.standard_normal(300)])
    return X, np.cumsum(rng.standard_normal(300)) + X[:, 1]


@pytest.mark.filterwarnings("ignore:Nothing is explained")
def test_auto_keeps_to_the_splits(walk):
    result = ShapleyEffects(cv=TimeSeriesSplit(4), random_state=0).fit(*walk).result_
    assert result.estimator == "boosting"
    assert result.explained_variance < 0.5
    assert result.n_rows == 240  # the first fifth is never held out


@pytest.mark.parametrize("estimator", ["forest", RandomForestRegressor(20)])
def test_forests_say_that_they_do_without_splits(walk, estimator):
    result = ShapleyEffects(estimator, cv=TimeSeriesSplit(4), random_state=0).fit(*walk).result_
    assert any("cv is not used" in note for note in result.notes)
    assert result.n_rows == 300


def test_the_stack_refuses_splits(walk):
    with pytest.raises(ValueError, match="cv is not used"):
        ShapleyEffects("stack", cv=KFold(3)).fit(*walk)


def test_a_generator_and_labels_of_classes(walk):
    X, y = walk
    est = ShapleyEffects("boosting", cv=KFold(3).split(X), random_state=0).fit(X, y)
    assert est.result_.n_rows == 300
    thirds = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))]
    est = ShapleyEffects("boosting", cv=StratifiedKFold(3), random_state=0).fit(X, thirds)
    assert est.result_.n_rows == 300


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_groups_stay_together(walk):
    X, y = walk
    groups = np.arange(300) % 20
    with pytest.raises(ValueError, match="divides the rows of a group"):
        ShapleyEffects("boosting", cv=KFold(5)).fit(X, y, row_groups=groups)
    est = ShapleyEffects("boosting", cv=GroupKFold(4), random_state=0)
    assert np.isfinite(est.fit(X, y, row_groups=groups).effects_).all()


def test_splits_of_more_rows_than_are_left(walk):
    est = ShapleyEffects("boosting", cv=PredefinedSplit(np.arange(300) % 5), max_rows=50)
    with pytest.raises(ValueError, match="beyond the 50"):
        est.fit(*walk)


def test_another_draw_of_the_splits_is_another_run(walk, tmp_path):
    rng = np.random.RandomState(0)
    est = ShapleyEffects(
        "boosting", cv=KFold(3, shuffle=True, random_state=rng), n_subsets=2, random_state=0
    )
    plain = [est.fit(*walk).explained_variance_ for _ in range(2)]
    rng.seed(0)
    est.set_params(checkpoint=tmp_path)
    assert [est.fit(*walk).explained_variance_ for _ in range(2)] == plain
    assert plain[0] != plain[1]
