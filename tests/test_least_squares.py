"""The paper's third step against a general optimiser, its KKT conditions, the Shapley formula."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import comb

from shaff.datasets import shapley_values
from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.designs.kernel_draws import KernelDrawsDesign
from shaff.designs.leverage import LeverageDesign
from shaff.designs.monte_carlo import MonteCarloDesign
from shaff.protocols import Proposal
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.subsets import Subsets, log_kernel_weight


def random_problem(seed, p, n_pairs, noise):
    """Pairs of subsets with random weights and the noisy values of a game."""
    rng = np.random.default_rng(seed)
    masks = rng.random((n_pairs, p)) < 0.5
    masks[:, 0] ^= masks.all(axis=1) | ~masks.any(axis=1)
    masks = np.vstack([masks, ~masks])
    effects = rng.random(p) * (rng.random(p) < 0.5)
    v = np.sqrt(masks @ effects) + noise * rng.normal(size=len(masks))
    subsets = Subsets.from_masks(masks).with_log_weight(rng.normal(size=len(masks)))
    return subsets, v, float(np.sqrt(effects.sum()) + 0.1)


def loss(beta, subsets, v):
    return np.exp(subsets.log_weight) @ (v - subsets.masks() @ beta) ** 2


problems = {
    "seed": st.integers(0, 2**31),
    "p": st.integers(2, 7),
    "n_pairs": st.integers(15, 40),
    "noise": st.sampled_from([0.0, 0.5]),
}


@settings(max_examples=30, deadline=None)
@given(**problems)
def test_constrained_solution_is_that_of_a_general_optimiser(seed, p, n_pairs, noise):
    subsets, v, v_all = random_problem(seed, p, n_pairs, noise)
    effects = LeastSquaresSolver().solve(Proposal(subsets), v, v_all).effects
    assert effects.min() >= 0
    assert effects.sum() == pytest.approx(v_all)
    general = minimize(
        loss,
        np.full(p, v_all / p),
        (subsets, v),
        method="SLSQP",
        bounds=[(0, None)] * p,
        constraints={"type": "eq", "fun": lambda beta: beta.sum() - v_all},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    # The values of the loss are compared: SLSQP stops early along flat directions.
    assert loss(effects, subsets, v) <= general.fun * (1 + 1e-9) + 1e-12


@settings(max_examples=30, deadline=None)
@given(**problems)
def test_unconstrained_solution_meets_the_kkt_conditions(seed, p, n_pairs, noise):
    subsets, v, v_all = random_problem(seed, p, n_pairs, noise)
    solved = LeastSquaresSolver(constrained=False).solve(Proposal(subsets), v, v_all)
    np.testing.assert_array_equal(solved.effects, solved.raw)
    assert solved.raw.sum() == pytest.approx(v_all)
    rows, weight = subsets.masks().astype(float), np.exp(subsets.log_weight)
    gradient = rows.T @ (weight * (rows @ solved.raw - v))
    # On the plane sum(beta) = v(all) the gradient points along the plane's normal.
    np.testing.assert_allclose(gradient, gradient.mean(), atol=1e-8 * weight.sum())
    np.testing.assert_allclose(solved.linear_map @ np.append(v, v_all), solved.raw)


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("p", [2, 3, 6])
def test_all_subsets_give_the_shapley_value(p, constrained):
    worth = np.linspace(0.2, 1, p)

    def game(masks):
        return np.sqrt(masks @ worth) + 0.1 * masks[:, 0] * masks[:, -1]

    masks = np.array([m for m in product([False, True], repeat=p) if 0 < sum(m) < p])
    subsets = Subsets.from_masks(masks)
    v_all = float(game(np.ones((1, p)))[0])
    solved = LeastSquaresSolver(constrained=constrained).solve(
        Proposal(subsets), game(masks), v_all
    )
    np.testing.assert_allclose(solved.effects, shapley_values(game, p), atol=1e-9)
    np.testing.assert_allclose(solved.raw, solved.effects, atol=1e-9)


def test_negative_shapley_values_are_raised_to_zero():
    pairs = Subsets.from_indices([[0], [1]], 2)
    solved = LeastSquaresSolver().solve(Proposal(pairs), np.array([0.9, -0.3]), 0.8)
    assert solved.raw == pytest.approx([1.0, -0.2])
    assert solved.effects == pytest.approx([0.8, 0.0])


@pytest.mark.parametrize("v_all", [0.0, -0.2])
def test_nothing_explained_gives_effects_of_zero(v_all):
    subsets, v, _ = random_problem(0, 4, 20, 0.1)
    solved = LeastSquaresSolver().solve(Proposal(subsets), v, v_all)
    assert solved.effects.tolist() == [0.0] * 4
    assert solved.raw.sum() == pytest.approx(v_all, abs=1e-12)


def test_inactive_players_leave_the_game():
    """As if they were not there, in the constrained solution and in the linear map."""
    subsets, v, v_all = random_problem(1, 4, 20, 0.1)
    wider = np.insert(subsets.masks(), 2, subsets.masks()[:, 0], axis=1)
    wide = Subsets.from_masks(wider).with_log_weight(subsets.log_weight)
    active = np.array([True, True, False, True, True])
    solved = LeastSquaresSolver().solve(Proposal(wide, active=active), v, v_all)
    alone = LeastSquaresSolver().solve(Proposal(subsets), v, v_all)
    np.testing.assert_allclose(solved.effects, np.insert(alone.effects, 2, 0))
    np.testing.assert_allclose(solved.raw, np.insert(alone.raw, 2, 0))


def test_kernel_weights_are_the_formula_of_the_paper():
    sizes = np.arange(1, 20)
    expected = 19 / (comb(20, sizes) * sizes * (20 - sizes))
    np.testing.assert_allclose(np.exp(log_kernel_weight(sizes, 20)), expected)


def test_two_thousand_players():
    """The kernel weights span more than 1e+300: only their logs can be held."""
    p = 2000
    rng = np.random.default_rng(0)
    assert np.isfinite(log_kernel_weight(np.arange(1, p), p)).all()
    assert log_kernel_weight([p // 2], p)[0] < -1000
    active = np.arange(p) < 100
    effects = rng.random(p) * active
    singles = Subsets.singletons(p)[:100]
    halves = Subsets.from_masks(rng.random((50, p)) < 0.5)
    subsets = Subsets.concatenate([singles, singles.complement(), halves])
    v = subsets.masks() @ effects
    # An additive game is its own solution, whatever the weights.
    solved = LeastSquaresSolver().solve(Proposal(subsets, active=active), v, float(effects.sum()))
    np.testing.assert_allclose(solved.raw, effects, atol=1e-9)
    np.testing.assert_allclose(solved.effects, effects, atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: KernelDrawsDesign(12, 200, seed),
        lambda seed: KernelDrawsDesign(12, 100, seed, paired=True),
        lambda seed: LeverageDesign(12, 120, seed),
        lambda seed: MonteCarloDesign(12, 120, seed),
    ],
    ids=["kernel_draws", "paired_draws", "leverage", "monte_carlo"],
)
def test_design_error_is_the_spread_over_designs(make):
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(12, 3))

    def game(subsets):
        # Of third order: pairs of complements alone solve games of second order.
        return np.prod(subsets.masks() @ directions, axis=1)

    v_all = float(game(Subsets.full(12))[0])
    solved = []
    for seed in range(60):
        subsets = make(seed).subsets
        solved.append(LeastSquaresSolver().solve(Proposal(subsets), game(subsets), v_all))
    spread = np.std([effects.raw for effects in solved], axis=0, ddof=1)
    reported = np.sqrt(np.mean([np.diag(effects.covariance) for effects in solved], axis=0))
    assert 0.9 < np.median(reported / spread) < 1.4


def test_all_subsets_leave_no_design_error():
    subsets = ExhaustiveDesign(4).subsets
    v = np.random.default_rng(0).random(len(subsets))
    assert not LeastSquaresSolver().solve(Proposal(subsets), v, 1.0).covariance.any()
