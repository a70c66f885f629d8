"""The test of an effect of 0 by nested predictions: its arithmetic, level and power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from scipy.stats import binom

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.protocols import MAX_KEPT, Proposal
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.subsets import Subsets
from shaff.uncertainty.inference import uncertainty
from shaff.uncertainty.null_test import gains, joint_p_values, nested_p_values
from shaff.values.ridge import RidgeValues


def p_value_by_hand(rows, groups):
    """The ratio of a mean to twice its variance, group by group."""
    n, mean = len(rows), sum(rows) / len(rows)
    sums = {}
    for row, group in zip(rows, groups, strict=True):
        sums[group] = sums.get(group, 0.0) + row - mean
    m = len(sums)
    variance = sum(s**2 for s in sums.values()) * m / (m - 1) / n**2
    return 1 - ndtr(mean / np.sqrt(2 * variance))


@pytest.mark.parametrize("n_groups", [None, 12])
def test_p_values_are_those_of_the_formula(n_groups):
    rng = np.random.default_rng(0)
    found, groups = rng.standard_normal((3, 60)) + 0.1, np.arange(60)
    if n_groups:
        groups = rng.integers(n_groups, size=60)
    by_hand = [p_value_by_hand(rows, groups) for rows in found]
    assert_allclose(nested_p_values(found, np.ones(60), groups if n_groups else None), by_hand)


def test_rows_without_prediction_or_weight_do_not_count():
    rng = np.random.default_rng(1)
    found = rng.standard_normal((2, 50)) + 0.2
    bare = nested_p_values(found[:, :40], np.ones(40))
    weight = np.append(np.ones(45), np.zeros(5))
    padded = np.where(np.arange(50) < 40, found, np.nan)
    # 40 of 50 rows: the correction n / (n - 1) is all that differs.
    assert_allclose(nested_p_values(padded, weight), bare, rtol=0.05)


def test_whole_weights_count_rows():
    rng = np.random.default_rng(2)
    found, weight = rng.standard_normal((2, 40)), rng.integers(1, 4, 40)
    groups = np.repeat(np.arange(40), weight)
    repeated = nested_p_values(np.repeat(found, weight, axis=1), np.ones(weight.sum()), groups)
    assert_allclose(nested_p_values(found, weight.astype(float)), repeated, rtol=1e-6)


def cross_fitted(X, y, n_folds):
    """Least squares on the other folds."""
    out, fold = np.empty(len(y)), np.arange(len(y)) % n_folds
    for k in range(n_folds):
        own = fold == k
        out[own] = X[own] @ np.linalg.lstsq(X[~own], y[~own], rcond=None)[0]
    return out


@pytest.mark.parametrize("n_columns", [1, 5, 20])
def test_the_level_holds_whatever_a_player_can_fit(n_columns):
    """A useless player of one column, or of many. Without the factor those of many columns would
    be found three times as often as they should."""
    rng, n_sets, n = np.random.default_rng(3), 1500, 100
    p_values = np.empty(n_sets)
    for k in range(n_sets):
        y, X = rng.standard_normal(n), rng.standard_normal((n, n_columns))
        found = gains(y, np.zeros((1, n)), cross_fitted(X, y, 5)[None])
        p_values[k] = nested_p_values(found, np.ones(n))[0]
    assert (p_values < 0.05).sum() <= binom.ppf(0.999, n_sets, 0.05)
    if n_columns == 20:
        assert (p_values < ndtr(-1.645 / np.sqrt(2))).mean() > 0.08


def effect_p_values(values):
    """By all subsets."""
    masks = (np.arange(1, 2**values.n_players)[:, None] >> np.arange(values.n_players)) & 1
    evaluated = values.values(Subsets.from_masks(masks[::-1].astype(bool)), influences=True)
    effects = GaussianProcessSolver().solve(
        Proposal(evaluated.subsets[1:]), evaluated.v[1:], float(evaluated.v[0])
    )
    return uncertainty(effects, evaluated).p_values


@pytest.fixture(scope="module")
def simulated():
    """P-values of 150 linear data sets, by the effects of ridge fits and by nested predictions:
    an effect of 0.4, one of 0.04, and two dummies that correlate."""
    p, effects, nested = 4, [], []
    alone, full = Subsets.singletons(p), Subsets.full(p)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, p))
        X[:, 3] = 0.9 * X[:, 2] + np.sqrt(0.19) * X[:, 3]
        y = X @ [np.sqrt(0.4), 0.2, 0, 0] + np.sqrt(0.56) * rng.standard_normal(200)
        ridge = RidgeValues(Problem.of(X, y, random_state=seed))
        subsets = Subsets.concatenate([full.complement(), alone, alone.complement(), full])
        means = ridge.predict(subsets)[:, :, 0]
        found = gains(y, means[:1], means[1 : p + 1])
        found += gains(y, means[p + 1 : -1], means[-1:])
        nested.append(nested_p_values(found, np.ones(200)))
        effects.append(effect_p_values(ridge))
    return np.array(effects), np.array(nested)


def test_nested_predictions_find_more_and_hold_the_level(simulated):
    effects, nested = simulated
    assert (nested[:, 1] < 0.05).mean() >= (effects[:, 1] < 0.05).mean()
    assert (nested[:, 1] < 0.05).mean() > 0.7
    for found in (effects, nested):
        assert (found[:, 2:] < 0.05).sum() <= binom.ppf(0.999, 300, 0.05)


def test_small_effects_are_found_more_often_than_by_the_fall_of_the_error(monkeypatch):
    found = np.zeros((2, 12, 5), dtype=bool)
    for way, most in enumerate((0, MAX_KEPT)):
        monkeypatch.setattr("shaff.fitting.fit.MAX_KEPT", most)
        for seed in range(12):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((300, 5))
            y = X[:, :2] @ np.sqrt([0.4, 0.03]) + np.sqrt(0.57) * rng.standard_normal(300)
            result = ShapleyEffects("smooth", random_state=0).fit(X, y).result_
            found[way, seed] = result.null_test(adjust=None) < 0.05
    by_effects, with_nested = found.sum(axis=1)
    assert with_nested[1] >= by_effects[1] + 2
    assert with_nested[2:].sum() <= binom.ppf(0.999, 36, 0.05)


def test_p_values_do_not_depend_on_the_origin_of_y():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 3))
    y = 0.3 * X[:, 0] + rng.standard_normal(200)
    here, there = (
        ShapleyEffects("smooth", random_state=0).fit(X, y + shift).result_.null_test(adjust=None)
        for shift in (0.0, 1e6)
    )
    assert_allclose(here, there, atol=1e-4)


def test_an_effect_that_shows_neither_alone_nor_last_is_found():
    """A product, both factors of which are there twice."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((2, 400))
    noise = 0.02 * rng.standard_normal((2, 400))
    X = np.column_stack([a, b, a + noise[0], b + noise[1]])
    result = ShapleyEffects(random_state=0).fit(X, a * b + 0.3 * rng.standard_normal(400)).result_
    assert (result.null_test() < 0.05).all()


def test_both_tests_share_the_level():
    rng = np.random.default_rng(7)
    joint = joint_p_values(*rng.random((2, 20_000)))
    assert 0.045 < (joint < 0.05).mean() < 0.0515


def test_many_rows_are_tested_by_their_effects(monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + rng.standard_normal(300)
    few = ShapleyEffects("smooth", random_state=0).fit(X, y).result_
    monkeypatch.setattr("shaff.fitting.fit.MAX_KEPT", 299)
    many = ShapleyEffects("smooth", random_state=0).fit(X, y).result_
    assert (few.null_test() != many.null_test()).any()
    assert (few.covariance == many.covariance).all()
    assert MAX_KEPT == 4000
