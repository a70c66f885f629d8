"""Proportional marginal effects: definition, limits, errors, and what people see of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.definitions import marginal_effects, quadratic_game
from shaff import ShapleyEffects, load_result
from shaff.errors import InputError
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.solve.marginal import by_values, gradient, monotone_losses, potential, zero_sets


def effects(v, errors=0.0):
    w = monotone_losses(v).w
    return potential(w, zero_sets(w, np.broadcast_to(errors, w.shape))).effects()


def monotone_game(p, seed, share_of_zeros=0.0):
    """A game in which adding players adds something, or sometimes nothing."""
    rng = np.random.default_rng(seed)
    parts = rng.uniform(0.1, 1.0, 2**p) * (rng.uniform(size=2**p) >= share_of_zeros)
    parts[0] = 0.0
    codes = np.arange(2**p)
    return np.array([parts[codes & code == codes].sum() for code in codes])


GAMES = st.builds(monotone_game, st.integers(1, 6), st.integers(0, 2**32 - 1))


@settings(max_examples=40, deadline=None)
@given(GAMES)
def test_effects_are_those_of_the_definition(v):
    np.testing.assert_allclose(effects(v), marginal_effects(v), atol=1e-9)
    assert effects(v).sum() == pytest.approx(v[-1], rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_sets_that_lose_nothing_are_taken_by_the_limit(p, seed):
    v = monotone_game(p, seed, share_of_zeros=0.7)
    if v[-1] == 0:
        return
    np.testing.assert_allclose(effects(v, 1e-9), marginal_effects(v, 1e-8), atol=1e-4)


def test_additive_inputs_keep_their_own_and_copies_share():
    additive = np.array([0.0, 0.5, 0.25, 0.75])
    np.testing.assert_allclose(effects(additive), [0.5, 0.25])
    copies = np.array([0.0, 0.6, 0.6, 0.6, 0.2, 0.8, 0.8, 0.8])
    np.testing.assert_allclose(effects(copies, 1e-12), [0.3, 0.3, 0.2], atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(GAMES)
def test_the_gradient_is_that_of_differences(v):
    losses = monotone_losses(v)
    slopes = by_values(gradient(losses.w, losses.w <= 0), losses.sources)
    for k in range(1, len(v)):
        step = np.zeros(len(v))
        step[k] = 1e-6 * v[-1]
        numeric = (effects(v + step) - effects(v - step)) / (2e-6 * v[-1])
        np.testing.assert_allclose(slopes[:, k], numeric, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_losses_are_made_monotone(p, seed):
    v = np.append(0.0, np.random.default_rng(seed).standard_normal(2**p - 1))
    w, n = monotone_losses(v).w, 2**p
    for code in range(n):
        for j in range(p):
            assert w[code | 1 << j] >= w[code]
    assert w[0] == 0
    assert w[-1] == max(v[-1], 0.0)
    rising = monotone_game(p, seed)
    np.testing.assert_allclose(monotone_losses(rising).w, rising[-1] - rising[::-1])


def test_sets_that_lose_nothing_are_closed_downwards():
    rng = np.random.default_rng(0)
    zero = zero_sets(rng.uniform(size=64), rng.uniform(size=64))
    for code in np.flatnonzero(zero):
        assert all(zero[code & ~(1 << j)] for j in range(6))


def with_proxy(n=600, seed=0):
    """x1 is a proxy of x0, which acts alone; x2 acts too, x3 does nothing."""
    rng = np.random.default_rng(seed)
    cause, own, other, idle, noise = rng.standard_normal((5, n))
    X = np.column_stack([cause, 0.8 * cause + 0.6 * own, other, idle])
    return X, cause + 0.7 * other + noise


def fitted(n=600, seed=0, **settings):
    return ShapleyEffects("smooth", random_state=0, **settings).fit(*with_proxy(n, seed))


def test_a_proxy_that_acts_through_others_has_nothing():
    est = fitted()
    found = est.proportional_marginal_effects()
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = 0.8
    game = quadratic_game(np.zeros((4, 4)), np.array([1, 0, 0.7, 0]), covariance, 1.0)
    truth = marginal_effects(game, 1e-9).round(6)
    low, high = found.confidence_interval()
    assert (low <= truth).all()
    assert (truth <= high).all()
    assert found.effects[1] < 0.005 < 0.1 < est.effects_[1]
    assert (low[[1, 3]] == 0).all()
    assert (low[[0, 2]] > 0.1).all()
    assert found.effects.sum() == pytest.approx(est.explained_variance_)
    assert found.n_subsets == 15


def test_copies_share_equally_and_seeds_and_threads_do_not_matter():
    X, y = with_proxy()
    X = np.column_stack([X, X[:, 0]])
    one, two = (
        ShapleyEffects("boosting", random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2)
    )
    found, again = one.proportional_marginal_effects(), two.proportional_marginal_effects()
    assert found.effects[0] == found.effects[4] > 0.05
    assert found.standard_errors[0] == found.standard_errors[4]
    assert found.effects.tolist() == again.effects.tolist()
    assert found.draws.tolist() == again.draws.tolist()


def test_errors_shrink_with_rows_and_rows_of_a_group_count_as_one():
    X, y = with_proxy(400)
    few = fitted(150).proportional_marginal_effects().standard_errors[0]
    many = fitted(1500).proportional_marginal_effects().standard_errors[0]
    assert 0.15 < many / few < 0.7
    twice = ShapleyEffects("boosting", random_state=0).fit(
        np.repeat(X, 2, axis=0), np.repeat(y, 2), row_groups=np.repeat(np.arange(400), 2)
    )
    once = ShapleyEffects("boosting", random_state=0).fit(X, y)
    errors = [est.proportional_marginal_effects().standard_errors[0] for est in (once, twice)]
    assert errors[1] == pytest.approx(errors[0], rel=0.3)


def test_what_cannot_be_is_one_sentence():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 13))
    est = ShapleyEffects("boosting", random_state=0, n_subsets=40).fit(X, X[:, 0])
    with pytest.raises(InputError, match="there are 13 inputs, and at most 12"):
        est.proportional_marginal_effects()
    est = ShapleyEffects("boosting", random_state=0, screen=2).fit(X[:, :5], X[:, 0])
    with pytest.raises(InputError, match="screen=False"):
        est.proportional_marginal_effects()
    with pytest.raises(InputError, match="no standard errors"):
        ProportionalMarginalEffects(("a",), [0.1], 0.1).confidence_interval()


@pytest.mark.filterwarnings("ignore:y is constant")
def test_a_constant_outcome_has_no_effects():
    found = ShapleyEffects().fit(np.eye(12), np.ones(12)).proportional_marginal_effects()
    assert not found.effects.any()


def test_what_people_see(tmp_path):
    found = fitted().proportional_marginal_effects()
    again = load_result(found.to_json(tmp_path / "m.json"))
    assert again.effects.tolist() == found.effects.tolist()
    assert again.confidence_interval().high.tolist() == found.confidence_interval().high.tolist()
    assert again.to_frame("polars").columns == [
        "input", "effect", "share", "low", "high", "standard_error", "shapley"
    ]  # fmt: skip
    lines = again.summary().splitlines()
    assert lines[0] == "Proportional marginal effects on y"
    assert lines[3].startswith("x0")
    assert "Shapley" in lines[2]
    assert "... and 2 more inputs" in again.summary(max_inputs=2)
    labels = [label.get_text() for label in again.plot().ax_.get_yticklabels()]
    assert labels[0] == "x0"
    with pytest.raises(ValueError, match="read-only"):
        again.effects[0] = 1
