"""Integer weights count as repeated rows; weights enter the values, the kernels, the errors."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import PredefinedSplit

from shaff import ForestValues, ShapleyEffects
from shaff.data.problem import Problem, RawData, ReadingOptions, read_problem
from shaff.gaussian_process.linear_game import linear_proxy
from shaff.protocols import Effects, Values
from shaff.subsets import Subsets
from shaff.trees.growing import grow_forest
from shaff.uncertainty import inference
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.forest.projected_forest import ProjectedForest
from shaff.values.given import FittedQuestion, find_projection, fitted_values
from shaff.values.outcome import Outcome

N = 240
SUBSETS = Subsets.from_indices([[0], [1, 2], [0, 1, 2]], 3)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    X[:, 2] = rng.integers(4, size=N)
    y = X[:, 0] + X[:, 0] * (X[:, 2] == 1) + 0.5 * rng.standard_normal(N)
    return X, y, rng.integers(1, 5, size=N)


def same_answers(weighted, repeated, row_of):
    """Predictions, plain values, replicates, and the error bars that the influences give."""
    np.testing.assert_allclose(
        weighted.predict(SUBSETS)[:, row_of], repeated.predict(SUBSETS), atol=1e-8
    )
    values = (v.values(SUBSETS, influences=True) for v in (weighted, repeated))
    # Corrected values know which copies of a row are in which half.
    same_errors(*(replace(v, v=v.v_plain, plain=None) for v in values), row_of)


def same_errors(weighted: Values, repeated: Values, row_of):
    np.testing.assert_allclose(weighted.v, repeated.v, atol=1e-8)
    if weighted.replicates is not None:
        np.testing.assert_allclose(weighted.replicates, repeated.replicates, atol=1e-8)
    linear_map = np.array([[1.0, -0.5, 0.25], [0.2, 0.3, -1.0]])
    effects = Effects(np.zeros(2), linear_map @ weighted.v, linear_map)
    one = inference.uncertainty(effects, weighted)
    other = inference.uncertainty(effects, repeated, row_of)
    np.testing.assert_allclose(one.data, other.data, rtol=1e-4)  # influences are float32
    np.testing.assert_allclose(
        one.explained_variance_error, other.explained_variance_error, rtol=1e-4
    )


@pytest.mark.parametrize("error", ["unbiased", "plain"])
@pytest.mark.parametrize("categorical", [[False] * 3, [False, False, True]])
def test_projected_forest_counts_weights_as_rows(rows, error, categorical):
    X, y, weight = rows
    model = RandomForestRegressor(20, min_samples_leaf=5)
    grown = grow_forest(
        model, X, y[:, None], categorical=np.array(categorical), sample_weight=weight, seed=1
    )
    row_of = np.repeat(np.arange(N), weight)
    by_weight = Problem.of(X, y, sample_weight=weight, categorical=categorical)
    by_rows = Problem.of(X[row_of], y[row_of], categorical=categorical, row_groups=row_of)
    weighted = ProjectedForest(by_weight, grown, error=error)
    repeated = ProjectedForest(by_rows, replace(grown, bags=grown.bags[:, row_of]), error=error)
    same_answers(weighted, repeated, row_of)


def test_projected_boosting_counts_weights_as_rows(rows):
    X, y, weight = rows
    model = HistGradientBoostingRegressor(max_iter=30, max_features=0.5, random_state=0)
    model.fit(X[::2], y[::2])
    row_of, fold_of = np.repeat(np.arange(N), weight), np.arange(N) % 4
    by_weight = Problem.of(X, y, sample_weight=weight, cv=PredefinedSplit(fold_of), random_state=0)
    by_rows = Problem.of(X[row_of], y[row_of], cv=PredefinedSplit(fold_of[row_of]), random_state=0)
    weighted, repeated = (
        ProjectedBoosting.from_fitted(model, problem, shrinkage=3.0)
        for problem in (by_weight, by_rows)
    )
    same_answers(weighted, repeated, row_of)


def test_variances_of_outputs_count_weights_as_rows(rows):
    _, y, weight = rows
    several = np.column_stack([y, y**2])
    one = Outcome.of(several, weight)
    other = Outcome.of(np.repeat(several, weight, axis=0))
    np.testing.assert_allclose(one.output_constants, other.output_constants)
    np.testing.assert_allclose(one.output_constants, np.var(other.y, axis=0, ddof=1))
    assert one.variance == pytest.approx(one.output_constants.sum())


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_whole_fits_agree_within_their_errors(rows, estimator):
    X, y, weight = rows
    row_of = np.repeat(np.arange(N), weight)
    est = ShapleyEffects(estimator, random_state=0)
    one = est.fit(X, y, sample_weight=weight).result_
    other = est.fit(X[row_of], y[row_of], row_groups=row_of).result_
    spread = np.hypot(one.standard_errors, other.standard_errors)
    assert (np.abs(one.raw_effects - other.raw_effects) < 2 * spread).all()
    assert (np.abs(np.log2(one.standard_errors / other.standard_errors)) < 1).all()


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_rows_without_weight_do_not_count(rows, estimator):
    X, y, _ = rows
    weight = (np.arange(N) % 3 > 0).astype(float)
    spoilt = np.where(weight > 0, y, 1e3)
    est = ShapleyEffects(estimator, random_state=0)
    result = est.fit(X, spoilt, sample_weight=weight).result_
    assert result.explained_variance > 0.5
    assert result.effects.argmax() == 0


def test_row_groups_are_never_on_both_sides():
    """Copies of a row betray its noise unless they stay together."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((150, 2)), 4, axis=0)
    y = np.repeat(rng.standard_normal(150), 4)
    groups = np.repeat([f"unit {i}" for i in range(150)], 4)
    few = HistGradientBoostingRegressor(max_iter=30, max_features=0.5, min_samples_leaf=3)
    for estimator in ("forest", few):
        est = ShapleyEffects(estimator, random_state=0)
        assert est.fit(X, y).explained_variance_ > 0.5
        with pytest.warns(UserWarning, match="Nothing is explained"):
            assert est.fit(X, y, row_groups=groups).explained_variance_ < 0.05


@pytest.mark.parametrize("estimator", ["forest", "boosting", "stack"])
def test_weights_that_are_not_whole_have_no_unit(rows, estimator):
    X, y, _ = rows
    weight = np.random.default_rng(1).uniform(0.5, 2, N)
    est = ShapleyEffects(estimator, n_subsets=6, random_state=0)
    one, other = (est.fit(X, y, sample_weight=unit * weight).effects_ for unit in (1, 1e-3))
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("estimator", ["forest", "boosting", None])
def test_rows_without_weight_are_as_if_absent(rows, estimator):
    X, y, weight = rows
    weight = weight * (np.arange(N) % 3 > 0)
    there = weight > 0
    wild = np.where(there, y, 1e6)
    est = ShapleyEffects(estimator, n_subsets=6, random_state=0)
    one = est.fit(X, wild, sample_weight=weight).result_
    other = est.fit(X[there], y[there], sample_weight=weight[there]).result_
    np.testing.assert_array_equal(one.effects, other.effects)
    np.testing.assert_array_equal(one.standard_errors, other.standard_errors)
    assert one.n_rows == there.sum()


def test_rows_without_weight_have_no_say_in_the_linear_game(rows):
    X, y, weight = rows
    weight = weight * (np.arange(N) % 3 > 0)
    one = linear_proxy(X, np.where(weight > 0, y, 1e6), weight)
    row_of = np.repeat(np.arange(N), weight)
    np.testing.assert_allclose(one.effects, linear_proxy(X[row_of], y[row_of]).effects)


def test_too_few_rows_with_weight(rows):
    X, y, _ = rows
    weight = np.where(np.arange(N) < 5, 0.5, 0.0)
    with pytest.raises(ValueError, match="Only 5 rows have weight"):
        ShapleyEffects("forest").fit(X, y, sample_weight=weight)


def test_groups_of_which_few_have_weight(rows):
    X, y, _ = rows
    groups = np.arange(N) // 24
    for estimator in ("forest", "boosting"):
        est = ShapleyEffects(estimator, n_subsets=6, random_state=0)
        est.fit(X, y, sample_weight=(groups > 6).astype(float), row_groups=groups)
        assert np.isfinite(est.effects_).all()


def test_a_fitted_forest_has_its_weights_once(rows):
    X, y, weight = rows
    model = RandomForestRegressor(60, min_samples_leaf=20, oob_score=True, random_state=0)
    model.fit(X, y, sample_weight=weight)
    problem = read_problem(RawData(X, y, weight), ReadingOptions(seed=0, all_rows=True))
    asked = FittedQuestion(rows="training", projection=find_projection(model))
    game = fitted_values(ForestValues(model, error="plain"), problem, asked)
    predicted = game.values.predict(Subsets.full(3))[0, :, 0]
    np.testing.assert_allclose(predicted, model.oob_prediction_, atol=1e-9)
