"""The contract of every design, and what each promises beyond it."""

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaff.datasets import shapley_values
from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.designs.gaussian_process import GaussianProcessDesign, choose
from shaff.designs.leverage import LeverageDesign, expected_counts, round_at_random
from shaff.designs.monte_carlo import MonteCarloDesign
from shaff.designs.permutations import PermutationDesign
from shaff.designs.sampling import n_pairs_by_size
from shaff.gaussian_process.kernel import OddKernel, Points
from shaff.gaussian_process.model import OddModel
from shaff.gaussian_process.posterior import OddPosterior
from shaff.protocols import Proposal, Values
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.solve.permutations import PermutationSolver
from shaff.subsets import Subsets, log_kernel_weight

DESIGNS = {
    "leverage": LeverageDesign,
    "monte_carlo": MonteCarloDesign,
    "plain_monte_carlo": lambda p, n, random_state: MonteCarloDesign(
        p, n, random_state, exhaust_borders=False
    ),
    "antithetic": lambda p, n, random_state: PermutationDesign(p, n, "antithetic", random_state),
    "orthogonal": lambda p, n, random_state: PermutationDesign(p, n, "orthogonal", random_state),
    "plain_permutations": lambda p, n, random_state: PermutationDesign(p, n, "plain", random_state),
    "gaussian_process": lambda p, n, random_state: GaussianProcessDesign(
        p, n, random_state=random_state
    ),
}


def concave(masks):
    worth = np.linspace(0, 1, masks.shape[1])
    return np.sqrt(masks @ worth / max(worth.sum(), 1))


def evaluated(subsets):
    return Values(subsets, concave(subsets.masks()))


def run(design, p, start=None):
    """Ask until the design is content; returns the list of proposals."""
    history = evaluated(Subsets.full(p) if start is None else start)
    proposals = []
    while (proposal := design.propose(history)) is not None:
        assert len(proposal.subsets)
        proposals.append(proposal)
        history = Values.concatenate([history, evaluated(proposal.subsets)])
        assert len(history.subsets.unique()) == len(history.subsets), "a subset was proposed twice"
    return proposals


def n_proposed(proposals):
    return sum(len(proposal.subsets) for proposal in proposals)


@pytest.mark.parametrize("name", DESIGNS)
@given(p=st.integers(1, 14), extra=st.integers(0, 60), seed=st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_contract(name, p, extra, seed):
    budget = 2 * p + extra
    proposals = run(DESIGNS[name](p, budget, random_state=seed), p)
    again = run(DESIGNS[name](p, budget, random_state=seed), p)
    assert [s.subsets.keys() for s in proposals] == [s.subsets.keys() for s in again]
    assert n_proposed(proposals) <= budget
    if p == 1:
        assert not proposals
        return
    everything = Proposal.concatenate(proposals).subsets
    assert everything.n_players == p
    assert everything.sizes.min() >= 1
    assert everything.sizes.max() <= p - 1
    if name != "plain_permutations":
        assert set(everything.keys()) == set(everything.complement().keys())


@pytest.mark.parametrize("name", ["leverage", "monte_carlo", "gaussian_process"])
@pytest.mark.parametrize(("p", "budget"), [(5, 30), (5, 100), (9, 100), (12, 151), (200, 600)])
def test_budget_is_spent(name, p, budget):
    total = n_proposed(run(DESIGNS[name](p, budget, random_state=0), p))
    assert total == min(budget // 2 * 2, 2**p - 2)


@pytest.mark.parametrize("name", DESIGNS)
def test_history_is_not_repeated(name):
    p = 8
    known = Subsets.concatenate([Subsets.full(p), Subsets.singletons(p)])
    run(DESIGNS[name](p, 60, random_state=0), p, known)


@pytest.mark.parametrize("p", [1, 2, 3, 7])
def test_exhaustive_proposes_every_subset_once(p):
    proposals = run(ExhaustiveDesign(p), p)
    expected = {c for size in range(1, p) for c in combinations(range(p), size)}
    found = [tuple(np.flatnonzero(m)) for s in proposals for m in s.subsets.masks()]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_exhaustive_refuses_what_does_not_fit_in_memory():
    with pytest.raises(ValueError, match="at most"):
        ExhaustiveDesign(30)


@pytest.mark.parametrize("p", [6, 7])
def test_pairs_by_size_count_every_subset(p):
    assert n_pairs_by_size(p).sum() == 2 ** (p - 1) - 1
    assert n_pairs_by_size(p)[0] == p


@pytest.mark.parametrize("p", [6, 7])
@pytest.mark.parametrize("name", ["leverage", "monte_carlo", "plain_monte_carlo"])
def test_weights_estimate_the_kernel_without_bias(name, p):
    """The mean weight of a subset over designs, 0 when not drawn, is its kernel weight."""
    n_draws, totals = 1500, dict.fromkeys(ExhaustiveDesign(p).subsets.keys(), 0.0)
    for seed in range(n_draws):
        subsets = DESIGNS[name](p, 24, random_state=seed).subsets
        weights = np.exp(subsets.log_weight)
        for key, weight in zip(subsets.keys(), weights, strict=True):
            totals[key] += weight / n_draws
    every = ExhaustiveDesign(p).subsets
    found = np.array(list(totals.values()))
    kernel = np.exp(log_kernel_weight(every.sizes, p))
    # Monte-Carlo stops at a number of distinct pairs, which bends the weights a little; both
    # leave the sampling error of rare subsets.
    by_size = np.array([(found / kernel)[every.sizes == s].mean() for s in range(1, p)])
    np.testing.assert_allclose(by_size, 1, atol=0.02 if name == "leverage" else 0.12)
    np.testing.assert_allclose(found / kernel, by_size[every.sizes - 1], atol=0.25)


def test_leverage_spreads_evenly_over_sizes_and_hands_on():
    counts = expected_counts(60, 10)
    assert counts.sum() == pytest.approx(60)
    assert counts[0] == pytest.approx(10)
    assert counts[1] == pytest.approx(counts[2])
    assert counts[4] == pytest.approx(counts[2] / 2)
    assert expected_counts(10**6, 10).tolist() == [comb(10, s) for s in range(1, 5)] + [126]


@pytest.mark.parametrize("p", [1028, 1029, 1100, 2000])
def test_more_subsets_of_a_size_than_a_double_can_count(p):
    subsets = LeverageDesign(p, 600, random_state=0).subsets
    assert len(subsets) == len(set(subsets.keys())) == 600
    sizes = np.minimum(subsets.sizes, p - subsets.sizes)
    # Kernel weight times number of pairs has no binomial coefficient left.
    of_size = np.where(2 * sizes == p, 0.5, 1) * (p - 1) / (sizes * (p - sizes))
    expected = expected_counts(300, p)[sizes - 1]
    np.testing.assert_allclose(np.exp(subsets.log_weight), of_size / expected, rtol=1e-9)
    assert len(MonteCarloDesign(p, 600, random_state=0).subsets) == 600


@given(st.lists(st.floats(0, 5), min_size=1, max_size=8), st.integers(0, 10))
def test_random_rounding_keeps_the_sum(shares, seed):
    expected = np.array(shares)
    expected[-1] += np.ceil(expected.sum()) - expected.sum()
    rounded = round_at_random(expected, np.random.RandomState(seed))
    assert rounded.sum() == round(expected.sum())
    assert (np.abs(rounded - expected) < 1 + 1e-6).all()


def test_monte_carlo_exhausts_the_borders():
    subsets = MonteCarloDesign(12, 120, random_state=0).subsets
    assert (subsets.sizes == 1).sum() == 12
    plain = MonteCarloDesign(12, 120, random_state=0, exhaust_borders=False).subsets
    assert (plain.sizes == 1).sum() < 12


@pytest.mark.parametrize("kind", ["antithetic", "orthogonal", "plain"])
def test_permutation_estimates_are_unbiased_with_an_honest_covariance(kind):
    p, n_draws = 5, 400
    truth = shapley_values(concave, p)
    v_all = concave(np.ones((1, p), dtype=bool))[0]
    errors, variances = [], []
    for seed in range(n_draws):
        design = PermutationDesign(p, 18, kind, seed)
        proposal = Proposal(design.subsets, orders=design.orders)
        solution = PermutationSolver().solve(proposal, concave(design.subsets.masks()), v_all)
        errors.append(solution.raw - truth)
        variances.append(
            np.zeros(p) if solution.covariance is None else solution.covariance.diagonal()
        )
        assert solution.raw.sum() == pytest.approx(v_all)
    spread = np.std(errors, axis=0)
    assert (np.abs(np.mean(errors, axis=0)) < 4 * spread / np.sqrt(n_draws) + 1e-12).all()
    if kind == "plain":
        np.testing.assert_allclose(np.mean(variances, axis=0), spread**2, rtol=0.35)


def test_permutation_map_is_linear_and_all_orders_are_exact():
    orders = np.array(list(permutations(range(4))))
    subsets = ExhaustiveDesign(4).subsets
    v = concave(subsets.masks())
    solution = PermutationSolver().solve(Proposal(subsets, orders=orders), v, 1.0)
    truth = shapley_values(lambda m: np.where(m.all(axis=1), 1.0, concave(m)), 4)
    np.testing.assert_allclose(solution.raw, truth, atol=1e-12)
    np.testing.assert_allclose(solution.linear_map @ np.append(v, 1.0), solution.raw, atol=1e-12)


def test_permutations_complain():
    with pytest.raises(ValueError, match="too small"):
        _ = PermutationDesign(10, 5).orders
    with pytest.raises(ValueError, match="unknown kind"):
        PermutationDesign(10, 50, "circular")
    first, orders = Subsets.singletons(3)[:1], np.array([[0, 1, 2]])
    with pytest.raises(ValueError, match="not been evaluated"):
        PermutationSolver().solve(Proposal(first, orders=orders), np.zeros(1), 1.0)
    with pytest.raises(ValueError, match="no orders"):
        PermutationSolver().solve(Proposal(first), np.zeros(1), 1.0)


def test_greedy_choice_agrees_with_refactorisation():
    """Each step against a search that conditions from scratch on what was chosen before."""
    rng = np.random.default_rng(0)
    p, noise = 7, 0.01
    kernel = OddKernel(1.0, rng.uniform(0.1, 1, p), 0.2, 0.0, np.zeros(p))
    signs = np.where(rng.random((40, p)) < 0.5, 1.0, -1.0)
    signs = np.unique(signs * signs[:, :1], axis=0)
    seen, pool = Points.make(signs[:5]), Points.make(signs[5:])
    chosen = choose(OddPosterior(kernel, seen, np.full(5, noise)), pool, noise, 6)
    taken: list[int] = []
    for _ in range(6):
        risk = {}
        for c in set(range(len(pool))) - set(taken):
            points = Points.make(np.vstack([seen.signs, pool.signs[[*taken, c]]]))
            posterior = OddPosterior(kernel, points, np.full(len(points), noise))
            risk[c] = posterior.variances.sum()
        taken.append(min(risk, key=risk.__getitem__))
    assert chosen == taken


def test_gaussian_process_design_beats_leverage_samples():
    p, budget = 12, 100
    truth = shapley_values(concave, p)
    errors = {}
    for name in ("gaussian_process", "leverage"):
        proposal = Proposal.concatenate(run(DESIGNS[name](p, budget, random_state=0), p))
        v = concave(proposal.subsets.masks())
        solution = GaussianProcessSolver().solve(proposal, v, 1.0)
        errors[name] = np.abs(solution.raw - truth).sum()
    assert errors["gaussian_process"] < errors["leverage"]


def test_gaussian_process_design_stops_at_the_tolerance():
    p, tol = 12, 0.01
    proposals = run(GaussianProcessDesign(p, 1000, tol=tol, random_state=0), p)
    assert proposals[0].error is None
    everything = Proposal.concatenate(proposals).subsets
    assert len(everything) < 400
    # No proposal tells the error at the end: fit the same model to what was seen by turns.
    model, v_all = OddModel(p), float(concave(np.ones((1, p), dtype=bool))[0])
    errors = []
    for end in np.cumsum([len(proposal.subsets) for proposal in proposals]):
        seen = everything[:end]
        errors.append(model.fit(seen, concave(seen.masks()), v_all).standard_errors.max())
    np.testing.assert_allclose(errors[:-1], [proposal.error for proposal in proposals[1:]])
    assert errors[-1] <= tol


def test_gaussian_process_design_lives_with_less_than_the_single_players():
    assert n_proposed(run(GaussianProcessDesign(50, 40, random_state=0), 50)) == 40
