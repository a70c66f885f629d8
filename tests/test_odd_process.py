"""The Gaussian process over the cube against dense computations on all subsets."""

import numpy as np
import pytest
from cube_prior import cube, dense_prior, signs_of, some_kernel
from scipy.optimize import check_grad

from shaff.datasets import experiment_2, shapley_values
from shaff.gaussian_process.hyperparameters import (
    Hyperparameters,
    Observations,
    negative_log_posterior,
)
from shaff.gaussian_process.kernel import OddKernel, Points, quadrature
from shaff.gaussian_process.linear_game import Proxy
from shaff.gaussian_process.model import OddModel
from shaff.gaussian_process.pairing import Pairing
from shaff.gaussian_process.posterior import OddPosterior
from shaff.protocols import Proposal
from shaff.solve.exact import is_complete, shapley_map
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.solve.projection import project_to_simplex
from shaff.subsets import Subsets


def shapley_matrix(p):
    """Shapley values as a matrix on the values of all subsets, one column a unit game."""
    unit = np.eye(2**p)
    return np.array([shapley_values(lambda _, u=u: u, p) for u in unit]).T


def convex_proxy(p):
    def game(masks):
        return masks.mean(axis=1) ** 2 + masks[:, 0] / 3

    return Proxy(game, shapley_values(game, p))


@pytest.mark.parametrize("p", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("with_proxy", [False, True])
def test_moments_agree_with_the_dense_prior(p, with_proxy):
    rng = np.random.default_rng(p)
    proxy = convex_proxy(p) if with_proxy else None
    kernel = some_kernel(p, rng, proxy)
    prior, functional = dense_prior(kernel, p, proxy), shapley_matrix(p)
    odd = np.eye(2**p) - np.eye(2**p)[::-1]  # the complement of code c is 2^p - 1 - c
    points = Points.make(signs_of(cube(p)), proxy)
    np.testing.assert_allclose(kernel.covariance(points, points), odd @ prior @ odd.T, atol=1e-12)
    np.testing.assert_allclose(kernel.variance(points), np.diag(odd @ prior @ odd.T), atol=1e-12)
    np.testing.assert_allclose(kernel.with_effects(points), functional @ prior @ odd.T, atol=1e-12)
    np.testing.assert_allclose(
        kernel.effects_covariance, functional @ prior @ functional.T, atol=1e-12
    )


@pytest.mark.parametrize("p", [3, 6, 8])
def test_posterior_agrees_with_conditioning_on_the_whole_cube(p):
    rng = np.random.default_rng(p)
    kernel, functional = some_kernel(p, rng), shapley_matrix(p)
    prior = dense_prior(kernel, p)
    codes = np.unique(rng.integers(1, 2**p // 2, size=2 * p))
    odd = (np.eye(2**p) - np.eye(2**p)[::-1])[codes]
    noise = rng.uniform(0.01, 0.1, len(codes))
    gram = odd @ prior @ odd.T + np.diag(noise)
    weights = np.linalg.solve(gram, odd @ prior @ functional.T).T
    covariance = functional @ prior @ functional.T - weights @ odd @ prior @ functional.T
    posterior = OddPosterior(kernel, Points.make(signs_of(cube(p)[codes])), noise)
    np.testing.assert_allclose(posterior.linear_map, weights, atol=1e-7)
    np.testing.assert_allclose(posterior.covariance, covariance, atol=1e-7)
    np.testing.assert_allclose(posterior.variances, np.diag(covariance), atol=1e-7)


@pytest.mark.parametrize("p", [100, 1000])
def test_fewer_nodes_integrate_the_hardest_products(p):
    t, weight = quadrature(p)
    assert len(t) < p // 2 + 1
    # t^a (1 - t)^b with a + b = p - 1 integrates to the Shapley weight of a subset of size a.
    assert weight @ t ** (p - 1) == pytest.approx(1 / p, rel=1e-9)
    assert weight @ (t ** (p // 2) * (2 - t) ** (p // 2)) == pytest.approx(
        np.mean([(x * (2 - x)) ** (p // 2) for x in (np.arange(200_000) + 0.5) / 200_000]), rel=1e-6
    )


def test_sum_of_covariances_is_that_of_the_full_set_for_many_players():
    rng = np.random.default_rng(0)
    kernel = OddKernel(1.0, rng.uniform(0, 0.05, 400), 0.1, 0.0, np.zeros(400))
    points = Points.make(signs_of(rng.random((20, 400)) < rng.random((20, 1))))
    full = Points.make(np.ones((1, 400)))
    np.testing.assert_allclose(
        kernel.with_effects(points).sum(axis=0), kernel.covariance(full, points)[0], atol=1e-12
    )


@pytest.mark.parametrize("learnt", [0.0, 2.0])
def test_gradient_by_finite_differences(learnt):
    rng = np.random.default_rng(0)
    p, m = 6, 14
    signs = np.where(rng.random((m, p)) < 0.5, 1.0, -1.0)
    points = Points.make(np.unique(signs, axis=0), convex_proxy(p))
    m = len(points)
    data = Observations(points, rng.normal(size=m), rng.uniform(0, 0.1, m), np.full(m, learnt))
    start = Hyperparameters.initial(p)
    for _ in range(5):
        logs = start.mean + rng.normal(size=len(start.mean))
        error = check_grad(
            lambda z: negative_log_posterior(z, data, start.mean)[0],
            lambda z: negative_log_posterior(z, data, start.mean)[1],
            logs,
        )
        scale = np.linalg.norm(negative_log_posterior(logs, data, start.mean)[1])
        assert error < 1e-4 * max(scale, 1.0)


def test_fit_raises_the_posterior_density_and_starts_from_relevance():
    rng = np.random.default_rng(1)
    points = Points.make(np.where(rng.random((30, 5)) < 0.5, 1.0, -1.0))
    data = Observations(points, np.tanh(points.signs @ np.arange(5.0)), np.zeros(30), np.ones(30))
    start = Hyperparameters.initial(5, np.array([0, 0, 0, 0, 1.0]))
    assert start.logs[-1] > start.logs[-2]
    fitted = start.fitted(data, 1.0)
    before, after = (negative_log_posterior(h.logs, data, h.mean)[0] for h in (start, fitted))
    assert after < before - 1


def submodular(masks, strength):
    return 1 - np.exp(-(masks @ strength))


def half_of_the_pairs(p, rng):
    codes = np.arange(1, 2 ** (p - 1))
    chosen = Subsets.from_masks(cube(p)[rng.permutation(codes)[: len(codes) // 2]])
    return Subsets.concatenate([chosen, chosen.complement()])


@pytest.mark.parametrize("lonely", [False, True])
def test_solver_is_linear_sums_to_v_all_and_is_close(lonely):
    rng = np.random.default_rng(0)
    p, strength = 8, np.array([0, 0, 0.1, 0.2, 0.3, 0.3, 0.5, 0.7])
    subsets = half_of_the_pairs(p, rng)
    if lonely:
        subsets = subsets[np.arange(len(subsets)) > 4]
    v, v_all = submodular(subsets.masks(), strength), 1 - np.exp(-strength.sum())
    solution = GaussianProcessSolver().solve(Proposal(subsets), v, v_all)
    truth = shapley_values(lambda m: submodular(m, strength), p)
    np.testing.assert_allclose(solution.linear_map @ np.append(v, v_all), solution.raw)
    # The constraint holds whatever the values, not only for these.
    np.testing.assert_allclose(
        solution.linear_map.sum(axis=0), np.append(np.zeros(len(v)), 1), atol=1e-12
    )
    assert solution.effects.sum() == pytest.approx(v_all)
    assert np.abs(solution.raw - truth).max() < (0.01 if lonely else 0.002)
    assert abs(solution.raw[4] - solution.raw[5]) < 0.004
    assert np.abs(solution.raw[:2]).max() < 0.004


def test_an_additive_game_is_recovered_from_the_single_players():
    alone = Subsets.singletons(30)
    subsets = Subsets.concatenate([alone, alone.complement()])
    shares = np.linspace(0, 0.05, 30)
    solution = GaussianProcessSolver().solve(
        Proposal(subsets), subsets.masks() @ shares, shares.sum()
    )
    # Not exact: the prior grants that the pairs not seen may bend the game.
    np.testing.assert_allclose(solution.raw, shares, atol=2e-3)


def test_all_subsets_give_the_exact_shapley_values():
    exp = experiment_2(10)
    masks = cube(7)[1:-1]
    padded = np.hstack([masks, np.zeros((len(masks), 8), dtype=bool)])
    subsets = Subsets.from_masks(masks)
    v_all = exp.game(np.arange(15)[None] < 7)[0]
    solution = GaussianProcessSolver().solve(Proposal(subsets), exp.game(padded), v_all)
    truth = shapley_values(lambda m: exp.game(np.hstack([m, np.zeros((len(m), 8), dtype=bool)])), 7)
    np.testing.assert_allclose(solution.raw, truth, atol=1e-12)
    assert not solution.covariance.any()
    assert not is_complete(subsets[np.arange(5)])
    np.testing.assert_allclose(shapley_map(subsets).sum(axis=0)[:-1], 0, atol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_few_players(p):
    masks = cube(p)[1:-1]
    subsets = Subsets.from_masks(masks.reshape(-1, p))
    solution = GaussianProcessSolver().solve(Proposal(subsets), masks.sum(axis=1) / p * 0.6, 0.6)
    np.testing.assert_allclose(solution.effects, 0.6 / p)


def test_no_subset_at_all_shares_v_all_out():
    nothing = Subsets.from_masks(np.zeros((0, 4), dtype=bool))
    solution = GaussianProcessSolver().solve(Proposal(nothing), np.zeros(0), 0.8)
    np.testing.assert_allclose(solution.raw, 0.2, atol=1e-9)


def test_nothing_explained_gives_zero_effects():
    alone = Subsets.singletons(4)
    solution = GaussianProcessSolver().solve(Proposal(alone), np.zeros(4), 0.0)
    assert not solution.effects.any()


def test_exact_proxy_makes_few_subsets_enough():
    rng = np.random.default_rng(0)
    p, strength = 12, rng.uniform(0, 0.6, 12)

    def game(masks):
        return submodular(masks, strength)

    truth = shapley_values(game, p)
    alone = Subsets.singletons(p)
    subsets = Subsets.concatenate([alone, alone.complement()])
    v, v_all = game(subsets.masks()), float(game(np.ones((1, p), dtype=bool))[0])
    plain = GaussianProcessSolver().solve(Proposal(subsets), v, v_all)
    helped = GaussianProcessSolver(proxy=Proxy(game, truth)).solve(Proposal(subsets), v, v_all)
    assert np.abs(helped.raw - truth).sum() < 0.2 * np.abs(plain.raw - truth).sum()
    assert helped.raw.sum() == pytest.approx(v_all)


def test_given_noise_is_used():
    rng = np.random.default_rng(0)
    p, strength = 8, rng.uniform(0, 0.6, 8)
    subsets = half_of_the_pairs(p, rng)
    sd = np.where(np.arange(len(subsets)) % (len(subsets) // 2) < 20, 0.2, 0.001)
    exact = submodular(subsets.masks(), strength)
    truth = shapley_values(lambda m: submodular(m, strength), p)
    v_all = 1 - np.exp(-strength.sum())
    informed, learnt = [], []
    for _ in range(5):
        v = exact + sd * rng.normal(size=len(sd))
        informed.append(
            GaussianProcessSolver(noise=sd).solve(Proposal(subsets), v, v_all).raw - truth
        )
        learnt.append(GaussianProcessSolver().solve(Proposal(subsets), v, v_all).raw - truth)
    assert np.abs(informed).mean() < 0.5 * np.abs(learnt).mean()


def test_repeated_subsets_count_once():
    rng = np.random.default_rng(0)
    subsets = half_of_the_pairs(6, rng)
    v = submodular(subsets.masks(), np.full(6, 0.2))
    twice = Subsets.concatenate([subsets, subsets])
    once = GaussianProcessSolver().solve(Proposal(subsets), v, 0.7)
    again = GaussianProcessSolver().solve(Proposal(twice), np.concatenate([v, v]), 0.7)
    np.testing.assert_allclose(again.raw, once.raw, rtol=1e-12)
    assert not again.linear_map[:, len(v) : -1].any()


def test_pairing_recovers_the_odd_part():
    subsets = Subsets.from_indices([[0], [1, 2], [1], [0, 2], [2]], 3)
    v = np.array([0.1, 0.5, 0.2, 0.6, 0.3])
    pairing = Pairing.of(subsets)
    assert pairing.lonely.tolist() == [False, False, True]
    even = np.mean([0.6, 0.8, 1.0])
    np.testing.assert_allclose(pairing.odd(v, 1.0), [-0.4, -0.4, 0.6 - even, 1.0])
    weights = np.random.default_rng(0).normal(size=(2, 4))
    np.testing.assert_allclose(
        pairing.to_values(weights) @ np.append(v, 1.0), weights @ pairing.odd(v, 1.0)
    )


def test_more_pairs_than_the_likelihood_takes():
    rng = np.random.default_rng(0)
    p, strength = 14, rng.uniform(0, 0.4, 14)
    masks = np.unique(rng.random((900, p)) < rng.random((900, 1)), axis=0)
    masks = masks[(masks.sum(axis=1) > 0) & (masks.sum(axis=1) < p)]
    subsets = Subsets.from_masks(masks)
    subsets = Subsets.concatenate([subsets, subsets.complement()]).unique()
    fit = OddModel(p).fit(
        subsets, submodular(subsets.masks(), strength), 1 - np.exp(-strength.sum())
    )
    truth = shapley_values(lambda m: submodular(m, strength), p)
    assert np.abs(fit.effects - truth).sum() < 1e-3


@pytest.mark.parametrize("total", [0.5, 1.0, 3.0])
def test_projection_is_the_nearest_point_of_the_simplex(total):
    rng = np.random.default_rng(0)
    for _ in range(20):
        raw = rng.normal(size=6)
        point = project_to_simplex(raw, total)
        assert (point >= 0).all()
        assert point.sum() == pytest.approx(total)
        others = rng.dirichlet(np.ones(6), size=200) * total
        distance = ((others - raw) ** 2).sum(axis=1)
        assert ((point - raw) ** 2).sum() <= distance.min() + 1e-12
    np.testing.assert_allclose(project_to_simplex(point, total), point, atol=1e-12)
    assert not project_to_simplex(raw, 0.0).any()
