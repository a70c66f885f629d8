"""What learners miss: the learning check, upper ends that own it, and results without any skill."""

import numpy as np
import pytest

from shaff import ShapleyEffects, compare
from shaff.data.problem import Problem
from shaff.protocols import Values
from shaff.results._example import example
from shaff.show.sentences import headline
from shaff.subsets import Subsets
from shaff.uncertainty.inference import surely_above
from shaff.uncertainty.shortfall import (
    CORRECTION_REACH,
    EXPLAINED_RISE_REACH,
    RISE_REACH,
    Rise,
    reach,
)
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.halves import FEWEST_UNITS, learning_curve
from shaff.values.smooth.smooth_values import SmoothValues

TOLD = "More rows would help"
# The seed of noise that happens to be predicted.
SEEMS_REAL = 4


def parity(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, np.sign(X[:, :3]).prod(axis=1) + 0.2 * rng.standard_normal(n)


def line(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, X @ [1.0, 0.5, 0.5, 0.0] + 0.3 * rng.standard_normal(n)


def noise(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)), rng.standard_normal(n)


# The learning check


def test_more_rows_are_asked_for_where_they_help():
    result = ShapleyEffects(random_state=0).fit(*parity(700)).result_
    assert result.learning_rise > 3 * result.learning_rise_error > 0
    assert any(TOLD in note for note in result.notes)


def test_nothing_is_asked_for_where_a_line_is_all():
    result = ShapleyEffects(random_state=0).fit(*line(700)).result_
    assert abs(result.learning_rise) < 0.005
    assert not any(TOLD in note for note in result.notes)


def test_halves_are_predicted_by_each_other():
    """A learner that knew the half it predicts would explain pure noise."""
    problem = Problem.of(*noise(400), random_state=0)
    boosting = ProjectedBoosting(problem)
    _, half = learning_curve(problem, boosting, SmoothValues(problem))
    assert half.v[0] < 0.03


def test_the_rise_is_that_of_the_same_rows():
    problem = Problem.of(*parity(500), random_state=0)
    now, half = learning_curve(problem, ProjectedBoosting(problem))
    found = Rise.between(half, now, None)
    psi = now.influences[0].astype(float) - half.influences[0]
    assert found.estimate == pytest.approx(now.v[0] - half.v[0])
    assert found.error == pytest.approx(psi.std(ddof=1) / np.sqrt(500), rel=1e-4)


def test_groups_stay_in_one_half():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((100, 3)), 4, axis=0)
    y = np.repeat(rng.standard_normal(100), 4)  # by heart, or not at all
    problem = Problem.of(X, y, row_groups=np.repeat(np.arange(100), 4), random_state=0)
    _, half = learning_curve(problem, ProjectedBoosting(problem))
    assert half.v[0] < 0.1


@pytest.mark.parametrize(("n", "settings"), [(FEWEST_UNITS - 1, {}), (100, {"cv": "halves"})])
def test_halves_that_are_not_like_all_rows_are_not_asked(n, settings):
    if settings:
        rows = np.arange(n)
        settings = {"cv": [(rows[50:], rows[:50]), (rows[:50], rows[50:])]}
    problem = Problem.of(*line(n), random_state=0, **settings)
    assert learning_curve(problem, ProjectedBoosting(problem)) is None


def test_columns_that_folds_have_screened_are_asked_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 60))
    result = ShapleyEffects(random_state=0).fit(X, X[:, 0] + np.sin(2 * X[:, 1])).result_
    assert result.screened is not None
    assert np.isfinite(result.learning_rise)


def test_the_same_bits_for_any_number_of_threads():
    X, y = parity(400)
    found = [ShapleyEffects(random_state=0, n_jobs=k).fit(X, y).result_ for k in (1, 2)]
    assert found[0].learning_rise == found[1].learning_rise
    np.testing.assert_array_equal(found[0].reach, found[1].reach)


# Upper ends


def test_the_rise_is_shared_as_the_effects_are():
    raw = np.array([0.3, 0.1, -0.05])
    found = reach(raw, raw, 0.35, 0.35, Rise(0.04, 0.01))
    np.testing.assert_allclose(found.effects, RISE_REACH * 0.04 * np.array([0.75, 0.25, 0.0]))
    assert found.explained_variance == pytest.approx(EXPLAINED_RISE_REACH * 0.04)


def test_a_fall_of_v_moves_nothing():
    raw = np.array([0.3, 0.1])
    effects, together = reach(raw, raw, 0.4, 0.4, Rise(-0.02, 0.01))
    assert effects.tolist() == [0.0, 0.0]
    assert together == 0.0


def test_a_correction_that_lowers_an_effect_moves_no_upper_end():
    found = reach(np.array([0.2, 0.3]), np.array([0.25, 0.2]), 0.5, 0.45, None)
    np.testing.assert_allclose(found.effects, [0.0, CORRECTION_REACH * 0.1])


WIDE = {"errors_by_source": {"data": [0.01, 0.01]}, "reach": [0.02, 0.0]}


def test_upper_ends_and_bounds_reach_further_and_lower_ends_stay():
    short, long = (example(**{**WIDE, "reach": given}) for given in (None, [0.02, 0.0]))
    (low, high), (lower, higher) = (r.confidence_interval() for r in (short, long))
    np.testing.assert_allclose(lower, low)
    np.testing.assert_allclose(higher - high, [0.02, 0.0])
    np.testing.assert_allclose(long.upper_bound() - short.upper_bound(), [0.02, 0.0])


def test_the_interval_of_all_inputs_reaches_further():
    low, high = example(explained_variance_error=0.01, explained_reach=0.05).explained_interval()
    assert (low, high) == pytest.approx((0.4 - 0.0196, 0.4 + 0.0196 + 0.05), abs=1e-4)


def test_a_difference_moves_up_by_one_and_down_by_the_other():
    short, long = (example(**{**WIDE, "reach": given}) for given in (None, [0.02, 0.05]))
    before, after = (r.difference(0, 1) for r in (short, long))
    assert after.high - before.high == pytest.approx(0.02)
    assert before.low - after.low == pytest.approx(0.05)
    assert after.estimate == before.estimate


def test_an_effect_that_may_be_larger_is_not_surely_below():
    estimates, covariance = np.array([[0.30, 0.20]]), 1e-4 * np.eye(2)
    assert surely_above(estimates, covariance, 0.95)[0, 1]
    assert not surely_above(estimates, covariance, 0.95, np.array([0.0, 0.09]))[0, 1]


def test_comparisons_reach_both_ways():
    short, long = (example(**{**WIDE, "reach": given}) for given in (None, [0.02, 0.0]))
    before, after = compare(short, short), compare(short, long)
    low, high = before.confidence_interval()
    lower, higher = after.confidence_interval()
    np.testing.assert_allclose(higher - high, [0.02, 0.0], atol=1e-12)
    np.testing.assert_allclose(lower, low)
    lower, higher = compare(long, short).confidence_interval()
    np.testing.assert_allclose(low - lower, [0.02, 0.0], atol=1e-12)


# Results without any skill


@pytest.mark.filterwarnings("ignore:Nothing is explained")
def test_no_correction_makes_something_of_noise():
    for seed in range(6):
        result = ShapleyEffects(random_state=0).fit(*noise(40, seed)).result_
        # Of twenty sets of noise one may seem to have skill.
        assert result.has_skill == (seed == SEEMS_REAL)
        if seed != SEEMS_REAL:
            assert result.plain_explained_variance is None
            assert "explain nothing" in headline(result)


def test_values_without_their_correction():
    full = Subsets.full(2)
    values = Values(full, np.array([0.3]), plain=np.array([0.1]), by_output=np.array([[0.5, 0.1]]))
    found = values.uncorrected()
    assert (found.v[0], found.plain) == (0.1, None)
    np.testing.assert_allclose(found.by_output, [[0.3, -0.1]])


def test_winners_are_named_only_if_any_input_is_significant():
    unclear = headline(example(p_values=[0.3, 0.6], explained_variance_error=0.1))
    assert "no single one is significant" in unclear
    assert "bmi" not in unclear
    assert "bmi" in headline(example(p_values=[0.3, 0.001], explained_variance_error=0.1))
