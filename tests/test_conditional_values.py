"""Gaussian, copula, empirical, neighbour and retrained values against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from shaff.data.problem import Problem
from shaff.datasets import experiment_2
from shaff.subsets import Subsets
from shaff.values.models.held_out import KnownModel, fit_held_out
from shaff.values.models.retrained import RetrainedValues
from shaff.values.published.conditionals import (
    CopulaCompleter,
    EmpiricalCompleter,
    GaussianCompleter,
    conditional_gaussian,
)
from shaff.values.published.gaussian import GaussianValues
from shaff.values.published.neighbours import NeighbourValues

COVARIANCE = np.array([[1.0, 0.7, 0.2], [0.7, 1.0, 0.0], [0.2, 0.0, 1.0]])
BETA = np.array([1.0, 0.5, -0.8])
SUBSETS = Subsets.from_masks((np.arange(1, 8)[:, None] >> np.arange(3) & 1).astype(bool))


def linear_game(subsets: Subsets, share: float = 1.0) -> np.ndarray:
    """v(U) = c_U' Sigma_UU^-1 c_U / Var(Y), times the share that is not noise."""
    c = COVARIANCE @ BETA
    v = [c[u] @ np.linalg.solve(COVARIANCE[np.ix_(u, u)], c[u]) for u in subsets.masks()]
    return np.array(v) / (BETA @ c) * share


def gaussian_rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal(np.zeros(3), COVARIANCE, size=n)


def linear_model(X: np.ndarray) -> np.ndarray:
    return X @ BETA


@pytest.mark.parametrize("n_draws", [2, 20])
def test_known_gaussian_and_known_model_reach_the_closed_form(n_draws):
    """Unbiased for any number of draws: two would cost half of the variance uncorrected."""
    X = gaussian_rows(20_000, 0)
    problem, model = Problem.of(X, linear_model(X), random_state=0), KnownModel(linear_model)
    game = GaussianValues(problem, model, mean=np.zeros(3), covariance=COVARIANCE, n_draws=n_draws)
    values = game.values(SUBSETS, influences=True)
    standard_error = values.influences.std(axis=1) / np.sqrt(len(X))
    assert (np.abs(values.v - linear_game(SUBSETS)) < 4 * standard_error + 1e-12).all()
    assert standard_error.max() < 0.02


def test_gaussian_means_are_regressions():
    X = gaussian_rows(6, 1)
    problem, model = Problem.of(X, linear_model(X), random_state=0), KnownModel(linear_model)
    game = GaussianValues(problem, model, mean=np.zeros(3), covariance=COVARIANCE, n_draws=40_000)
    known = np.array([True, False, False])
    expected = X[:, 0] * (COVARIANCE @ BETA)[0]
    assert_allclose(game.predict(Subsets.from_masks(known), X)[0, :, 0], expected, atol=0.03)


def test_song_on_experiment_2_without_noise():
    """Interactions and a switch, whose exact values the paper's appendix gives."""
    exp = experiment_2(n=4000, random_state=0)

    def model(X):
        first, second = (
            3 * Z[:, 0] * Z[:, 1] * (Z[:, 2] > 0) + Z[:, 3] * Z[:, 4] * (Z[:, 2] <= 0)
            for Z in (X[:, :5], X[:, 5:10])
        )
        return np.sqrt(3) * first + second

    subsets = Subsets.from_indices([[0], [0, 1], [2], [0, 1, 2, 5], list(range(10))], 15)
    covariance = np.eye(15)
    for i, j, rho in ((0, 1, 0.9), (5, 6, 0.9), (3, 4, 0.5), (8, 9, 0.5)):
        covariance[i, j] = covariance[j, i] = rho
    problem = Problem.of(exp.X, model(exp.X), random_state=0)
    game = GaussianValues(problem, KnownModel(model), mean=np.zeros(15), covariance=covariance)
    values = game.values(subsets, influences=True)
    standard_error = values.influences.std(axis=1) / np.sqrt(4000)
    truth = exp.value(subsets) / 0.95
    assert (np.abs(values.v - truth) < 4 * standard_error + 1e-12).all()


def test_copula_sees_through_monotone_transforms():
    X = gaussian_rows(6000, 2)
    warped = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, np.exp(-X[:, 2])])

    def model(Z):
        return np.column_stack([np.log(Z[:, 0]), np.cbrt(Z[:, 1]), -np.log(Z[:, 2])]) @ BETA

    problem = Problem.of(warped, model(warped), random_state=0)
    game = GaussianValues(problem, KnownModel(model), conditional="copula", n_draws=10)
    assert_allclose(game.values(SUBSETS).v, linear_game(SUBSETS), atol=0.03)


def test_empirical_conditionals_approach_the_closed_form():
    X = gaussian_rows(2000, 3)
    problem, model = Problem.of(X, linear_model(X)), KnownModel(linear_model)
    game = GaussianValues(problem, model, conditional="empirical", n_draws=100)
    assert_allclose(game.values(SUBSETS).v, linear_game(SUBSETS), atol=0.05)


def test_empirical_weights_by_brute_force():
    X = gaussian_rows(40, 4)
    known = np.array([True, True, False])
    done = EmpiricalCompleter(X, n_draws=40, share=0.9).complete(
        X[:5], known, np.arange(5), np.random.default_rng(0)
    )
    inverse = np.linalg.inv(np.cov(X.T)[:2, :2])
    for i in range(5):
        others = [j for j in range(40) if j != i]
        gaps = X[others][:, :2] - X[i, :2]
        weight = np.exp(-np.einsum("ij,jk,ik->i", gaps, inverse, gaps) / 2 / (2 * 0.1**2))
        order = np.argsort(-weight)
        keep = order[: 1 + np.searchsorted(np.cumsum(weight[order]) / weight.sum(), 0.9)]
        kept = done.weights[i] > 0
        assert_allclose(done.rows[i][kept][:, 2], X[np.array(others)[keep], 2])
        assert_allclose(done.weights[i][kept], weight[keep] / weight[keep].sum(), rtol=1e-6)


def test_conditional_gaussian_takes_copies():
    copied = COVARIANCE[np.ix_([0, 1, 2, 1], [0, 1, 2, 1])]
    slope, root = conditional_gaussian(copied, np.array([False, True, False, True]))
    alone, alone_root = conditional_gaussian(COVARIANCE, np.array([False, True, False]))
    assert_allclose(slope.sum(axis=1), alone[:, 0], atol=1e-12)
    assert_allclose(root @ root.T, alone_root @ alone_root.T, atol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "copula"])
def test_completions_keep_the_known_and_the_joint_distribution(kind):
    X = gaussian_rows(5000, 5)
    completer = (
        GaussianCompleter(np.zeros(3), COVARIANCE, 1)
        if kind == "gaussian"
        else CopulaCompleter(X, 1)
    )
    known = np.array([False, True, False])
    rows = completer.complete(X, known, None, np.random.default_rng(0)).rows[:, 0]
    assert_array_equal(rows[:, 1], X[:, 1])
    assert_allclose(np.cov(rows.T), COVARIANCE, atol=0.08)


def test_neighbours_by_brute_force():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 3)) * [1, 5, 0.1], rng.normal(size=60)
    model = NeighbourValues(Problem.of(X, y), n_neighbours=4)
    known = np.array([True, False, True])
    Z = (X / X.std(axis=0))[:, known]
    local, means = [], []
    for i in range(60):
        order = np.argsort(((Z - Z[i]) ** 2).sum(axis=1))
        local.append(y[order[:4]].var(ddof=1))
        means.append(y[order[1:4]].mean())
    subset = Subsets.from_masks(known)
    assert_allclose(model.values(subset).v, 1 - np.mean(local) / y.var(ddof=1), rtol=1e-12)
    assert_allclose(model.predict(subset)[0, :, 0], means, rtol=1e-12)


def test_neighbours_approach_the_closed_form():
    X = gaussian_rows(8000, 7)
    noise = np.random.default_rng(0).normal(size=8000) * np.sqrt(BETA @ COVARIANCE @ BETA / 19)
    problem = Problem.of(X, linear_model(X) + noise, n_jobs=2, random_state=0)
    v = NeighbourValues(problem).values(SUBSETS).v
    assert_allclose(v, linear_game(SUBSETS, 0.95), atol=0.05)


def test_neighbours_break_ties_at_random():
    """Two levels that explain half of y: neighbours within a level must not be the same rows."""
    rng = np.random.default_rng(8)
    level = rng.integers(2, size=4000)
    y = level * 2.0 + rng.normal(size=4000)
    X = np.column_stack([level, rng.normal(size=4000)])
    model = NeighbourValues(Problem.of(X, y, random_state=0))
    assert_allclose(model.values(Subsets.singletons(2)).v, [0.5, 0.0], atol=0.06)


def test_missing_values_are_refused_in_one_sentence():
    X = np.array([[0.0, np.nan], [1.0, 2.0], [3.0, 4.0]])
    for build in (NeighbourValues, GaussianValues):
        with pytest.raises(ValueError, match="cannot take missing values"):
            build(Problem.of(X, np.arange(3.0)))


def test_retrained_linear_model_equals_cross_validation():
    X = gaussian_rows(300, 9)
    y = linear_model(X) + np.random.default_rng(1).normal(size=300)
    model = RetrainedValues(Problem.of(X, y, cv=4, random_state=0), LinearRegression())
    folds = KFold(4, shuffle=True, random_state=model._seed)
    expected = cross_val_predict(LinearRegression(), X[:, [0, 2]], y, cv=folds)
    subset = Subsets.from_indices([[0, 2]], 3)
    assert_allclose(model.predict(subset)[0, :, 0], expected)
    assert_allclose(
        model.values(subset).v, 1 - np.mean((y - expected) ** 2) / y.var(ddof=1), rtol=1e-12
    )


def test_retrained_linear_model_approaches_the_closed_form():
    X = gaussian_rows(20_000, 10)
    v = RetrainedValues(Problem.of(X, linear_model(X)), LinearRegression()).values(SUBSETS).v
    assert_allclose(v, linear_game(SUBSETS), atol=0.02)


def test_retrained_forest_is_priced_out_of_bag_and_shallow_on_two_columns():
    X = gaussian_rows(250, 11)
    y = linear_model(X)
    model = RetrainedValues(Problem.of(X, y), RandomForestRegressor(40, random_state=5))
    for columns, depth in (([0], 6), ([0, 2], 6), ([0, 1, 2], None)):
        fitted = RandomForestRegressor(40, max_depth=depth, oob_score=True, random_state=5)
        expected = fitted.fit(X[:, columns], y).oob_prediction_
        ours = model.predict(Subsets.from_indices([columns], 3))[0, :, 0]
        seen = ~np.isnan(ours)
        assert_allclose(ours[seen], expected[seen], rtol=1e-12)


def test_retrained_keeps_a_smaller_depth_and_reaches_into_bagging():
    problem = Problem.of(gaussian_rows(50, 12), np.arange(50.0))
    shallow = RetrainedValues(problem, RandomForestRegressor(max_depth=3))._estimator_for(1)
    assert shallow.max_depth == 3
    bagged = RetrainedValues(problem, BaggingRegressor(DecisionTreeRegressor()))._estimator_for(2)
    assert bagged.estimator.max_depth == 6
    assert RetrainedValues(problem, LinearRegression())._estimator_for(1).get_params() == (
        LinearRegression().get_params()
    )


def test_retrained_is_the_same_for_any_number_of_jobs():
    X = gaussian_rows(120, 13)
    y = np.column_stack([linear_model(X), X[:, 0] ** 2])
    results = [
        RetrainedValues(
            Problem.of(X, y, n_jobs=jobs, random_state=3), RandomForestRegressor(10)
        ).values(SUBSETS, influences=True)
        for jobs in (1, 2)
    ]
    assert_array_equal(results[0].v, results[1].v)
    assert_array_equal(results[0].influences, results[1].influences)


def test_rows_that_every_tree_has_seen_drop_out():
    X = gaussian_rows(30, 14)
    y = linear_model(X)
    held_out = fit_held_out(RandomForestRegressor(2, random_state=0), X, y[:, None])
    unseen = np.unique(np.concatenate(held_out.rows))
    assert 0 < len(unseen) < 30
    predicted = held_out.predict(X, None)[:, 0]
    assert_array_equal(np.flatnonzero(~np.isnan(predicted)), unseen)
    values = RetrainedValues(
        Problem.of(X, y), RandomForestRegressor(2, random_state=0), small_depth=None
    ).values(Subsets.full(3), influences=True)
    expected = 1 - np.mean((y - predicted)[unseen] ** 2) / y.var(ddof=1)
    assert_allclose(values.v, expected, rtol=1e-12)
    assert np.isfinite(values.influences).all()


def test_a_constant_model_explains_nothing():
    X = gaussian_rows(500, 15)
    v = RetrainedValues(Problem.of(X, linear_model(X)), DummyRegressor()).values(SUBSETS).v
    assert_allclose(v, 0, atol=0.02)


def test_neighbours_are_the_same_in_one_query_or_in_many(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 3)).round(1)  # with ties
    values = NeighbourValues(Problem.of(X, X[:, 0] + X[:, 1], random_state=0))
    subsets = Subsets.from_indices([[0], [0, 2]], 3)
    at_once, new = values.values(subsets).v, values.predict(subsets, X[:20] + 0.01)
    monkeypatch.setattr("shaff.values.published.neighbours.DISTANCES_AT_ONCE", 11 * 300)
    np.testing.assert_array_equal(values.values(subsets).v, at_once)
    np.testing.assert_array_equal(values.predict(subsets, X[:20] + 0.01), new)
