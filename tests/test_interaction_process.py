"""Interaction indices of games: exact maps, the even-part process and its design."""

import numpy as np
import pytest
from cube_prior import cube, dense_prior, signs_of, some_kernel
from interaction_oracle import interaction_indices
from scipy.optimize import check_grad

from benchmarks.games import KINDS, random_game
from shaff._util.statistics import symmetric
from shaff.datasets import experiment_2
from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.designs.gaussian_process import choose
from shaff.designs.interactions import InteractionDesign
from shaff.designs.sampling import paired
from shaff.gaussian_process.even_kernel import EvenKernel
from shaff.gaussian_process.hyperparameters import (
    Hyperparameters,
    Observations,
    negative_log_posterior,
)
from shaff.gaussian_process.interaction_model import InteractionModel
from shaff.gaussian_process.kernel import Points
from shaff.gaussian_process.posterior import Posterior
from shaff.protocols import Values
from shaff.solve.interactions import interaction_map, solve_interactions
from shaff.subsets import Subsets


def even_matrix(p, masks):
    """e(U) = v(U) + v(complement) - v(all) of some subsets as a matrix on all values."""
    codes = masks @ (1 << np.arange(p))
    out = np.zeros((len(masks), 2**p))
    np.add.at(out, (np.arange(len(masks)), codes), 1.0)
    np.add.at(out, (np.arange(len(masks)), 2**p - 1 - codes), 1.0)
    out[:, -1] -= 1.0
    out[:, 0] -= 1.0  # v(all) + v(empty): the prior does not know that v(empty) = 0
    return out


def index_matrix(p):
    """Interaction indices as a matrix on the values of all subsets, one column a unit game."""
    pairs = np.triu_indices(p, 1)
    powers = 1 << np.arange(p)
    columns = [interaction_indices(lambda m, u=u: u[m @ powers], p)[pairs] for u in np.eye(2**p)]
    return np.stack(columns, axis=1)


def evaluated(game, p, n_subsets, noise=0.0, seed=0):
    """What the active design asks for, and the values of it."""
    rng = np.random.default_rng(seed)
    design = InteractionDesign(p, n_subsets, random_state=seed)
    full = Subsets.full(p)
    history = Values(full, game(full.masks()))
    while (proposal := design.propose(history)) is not None:
        v = game(proposal.subsets.masks())
        v = v + noise * rng.normal(size=len(v))
        history = Values.concatenate([history, Values(proposal.subsets, v)])
    return history.subsets[1:], history.v[1:], float(history.v[0])


def solved(subsets, v, v_all):
    linear_map, variances = solve_interactions(subsets, v, v_all)
    return linear_map @ np.append(v, v_all), np.sqrt(variances)


@pytest.mark.parametrize("p", [2, 3, 5, 7])
def test_all_subsets_give_the_index_exactly(p):
    table = np.random.default_rng(p).normal(size=2**p)
    table[0] = 0.0

    def game(masks):
        return table[masks @ (1 << np.arange(p))]

    subsets = ExhaustiveDesign(p).subsets
    found, errors = solved(subsets, game(subsets.masks()), float(table[-1]))
    np.testing.assert_allclose(symmetric(found, p), interaction_indices(game, p), atol=1e-12)
    assert not errors.any()


def test_two_players_interact_by_what_is_more_than_the_sum():
    found, _ = solved(Subsets.singletons(2), np.array([0.2, 0.3]), 0.9)
    assert found.round(12).tolist() == [0.4]


def test_the_index_depends_on_the_even_part_only():
    p = 4
    matrix, mirror = index_matrix(p), np.arange(2**p)[::-1]
    np.testing.assert_allclose(matrix, matrix[:, mirror], atol=1e-12)


@pytest.mark.parametrize("p", [2, 3, 4, 5])
def test_the_kernel_is_that_of_the_definition(p):
    rng = np.random.default_rng(p)
    odd = some_kernel(p, rng)
    kernel, prior = EvenKernel(odd.signal, odd.rates), dense_prior(odd, p)
    masks = cube(p)[rng.choice(2**p, size=min(2**p, 7), replace=False)]
    points, e, indices = Points.make(signs_of(masks)), even_matrix(p, masks), index_matrix(p)
    np.testing.assert_allclose(kernel.covariance(points, points), e @ prior @ e.T, atol=1e-12)
    np.testing.assert_allclose(kernel.variance(points), np.diag(e @ prior @ e.T), atol=1e-12)
    np.testing.assert_allclose(kernel.with_effects(points), indices @ prior @ e.T, atol=1e-12)
    expected = np.diag(indices @ prior @ indices.T)
    np.testing.assert_allclose(kernel.effects_variances, expected, atol=1e-12)


def test_many_players_and_extreme_rates_stay_finite():
    rates = np.geomspace(1e-8, 1e4, 150)
    kernel = EvenKernel(1.0, rates)
    rng = np.random.default_rng(0)
    points = Points.make(np.where(rng.random((300, 150)) < 0.5, 1.0, -1.0))
    blocks = kernel.with_effects(points)
    assert np.isfinite(blocks).all()
    assert np.isfinite(kernel.effects_variances).all()
    np.testing.assert_array_equal(blocks[:, 290:291], kernel.with_effects(points[[290]]))
    assert kernel.with_effects(points[:0]).shape == (150 * 149 // 2, 0)


def test_gradient_of_the_joint_likelihood():
    rng, p, n = np.random.default_rng(0), 4, 6
    signs = signs_of(cube(p)[1 : n + 1])
    parts = [
        Observations(Points.make(signs), rng.normal(size=n), rng.random(n) / 10, np.full(n, 2.0))
        for _ in range(2)
    ]
    start = Hyperparameters.initial(p)
    logs = start.mean + rng.normal(size=len(start.mean)) / 3

    def value(x):
        return negative_log_posterior(x, parts[0], start.mean, parts[1])[0]

    def gradient(x):
        return negative_log_posterior(x, parts[0], start.mean, parts[1])[1]

    assert check_grad(value, gradient, logs) < 1e-4
    assert value(logs) != negative_log_posterior(logs, parts[0], start.mean)[0]


def test_the_posterior_is_that_of_the_dense_process():
    """With known hyper-parameters and no noise the map is that of Gaussian conditioning."""
    p, rng = 5, np.random.default_rng(2)
    odd = some_kernel(p, rng)
    kernel, prior = EvenKernel(odd.signal, odd.rates), dense_prior(odd, p)
    masks = cube(p)[[1, 2, 4, 8, 16, 3, 12]]
    e, indices = even_matrix(p, masks), index_matrix(p)
    posterior = Posterior(kernel, Points.make(signs_of(masks)), np.full(len(masks), 0.01))
    observed = e @ prior @ e.T + 0.01 * np.eye(len(masks))
    expected = indices @ prior @ e.T @ np.linalg.inv(observed)
    np.testing.assert_allclose(posterior.linear_map, expected, atol=1e-8)
    left = np.diag(indices @ prior @ indices.T - expected @ e @ prior @ indices.T)
    np.testing.assert_allclose(posterior.variances, left, atol=1e-8)


def test_the_design_takes_the_pair_that_lowers_the_summed_variance_most():
    p, rng, noise = 6, np.random.default_rng(1), 0.01
    kernel = EvenKernel(0.8, rng.uniform(0.1, 0.8, p))
    seen, pool = (Points.make(signs_of(cube(p)[k])) for k in (range(1, 5), range(8, 30)))
    chosen = choose(Posterior(kernel, seen, np.full(len(seen), noise)), pool, noise, 3)
    known = list(range(1, 5))
    for position in chosen:
        sums = []
        for k in range(8, 30):
            points = Points.make(signs_of(cube(p)[[*known, k]]))
            sums.append(Posterior(kernel, points, np.full(len(points), noise)).variances.sum())
        assert sums[position] <= min(sums) + 1e-9
        known.append(8 + position)


@pytest.mark.parametrize("p", [2, 3, 6])
def test_rows_sum_to_total_less_first_order(p):
    rng = np.random.default_rng(p)
    masks = np.vstack([np.eye(p, dtype=bool), rng.random((4, p)) < 0.5])
    masks = masks[masks.any(axis=1) & ~masks.all(axis=1)]
    subsets = paired(masks).unique()
    v, v_all = rng.random(len(subsets)), 1.3
    table = dict(zip(subsets.keys(), v, strict=True))
    fit = InteractionModel(p).fit(subsets, v, v_all)
    found = symmetric(fit.linear_map @ np.append(v, v_all), p)
    alone = Subsets.singletons(p)
    first = np.array([table[key] for key in alone.keys()])
    total = v_all - np.array([table[key] for key in alone.complement().keys()])
    np.testing.assert_allclose(found.sum(axis=1), total - first, atol=1e-10)


def test_subsets_without_their_complements_are_left_out():
    p, rng = 5, np.random.default_rng(0)
    subsets = paired(np.eye(p, dtype=bool))
    lonely = Subsets.from_indices([[0, 1], [2, 3]], p)
    v = rng.random(len(subsets))
    more = Subsets.concatenate([subsets, lonely])
    with_them = InteractionModel(p).fit(more, np.append(v, [9.0, -9.0]), 1.0).linear_map
    np.testing.assert_array_equal(with_them[:, len(v) : len(v) + 2], 0.0)
    without = InteractionModel(p).fit(subsets, v, 1.0).linear_map
    np.testing.assert_allclose(np.delete(with_them, [len(v), len(v) + 1], axis=1), without)


def test_an_additive_game_has_no_interactions():
    subsets, v, v_all = evaluated(lambda masks: masks @ np.arange(1, 11) / 55, 10, 60)
    found, _ = solved(subsets, v, v_all)
    assert np.abs(found).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_the_design_comes_close_to_brute_force(kind):
    known = random_game(kind, 8, seed=5)
    subsets, v, v_all = evaluated(known.game, 8, 180)
    found, _ = solved(subsets, v, v_all)
    assert len(subsets) <= 180
    assert np.abs(symmetric(found, 8) - interaction_indices(known.game, 8)).max() < 0.01


def test_experiment_2_from_few_evaluations():
    """Closed form: blocks do not interact, nor do dummies; products lead."""
    exp = experiment_2(n=50, random_state=0)
    subsets, v, v_all = evaluated(exp.game, 15, 300)
    found = symmetric(solved(subsets, v, v_all)[0], 15)

    def block(masks):
        wide = np.zeros((len(masks), 15), dtype=bool)
        wide[:, :5] = masks
        return exp.game(wide)

    # The two blocks add up, so the index within one is that of the block as a game.
    np.testing.assert_allclose(found[:5, :5], interaction_indices(block, 5), atol=0.003)
    assert np.abs(found[:5, 5:]).max() < 0.003
    assert np.abs(found[10:]).max() < 0.003
    top = {tuple(sorted(divmod(int(k), 15))) for k in np.abs(found).ravel().argsort()[-6:]}
    assert top == {(0, 1), (0, 2), (1, 2)}


def test_design_errors_cover():
    """Pooled over games that no constant was set on, with noise on the values."""
    hits = []
    for kind in KINDS:
        for seed in (11, 12):
            known = random_game(kind, 8, seed)
            subsets, v, v_all = evaluated(known.game, 8, 80, noise=0.002, seed=seed)
            found, errors = solved(subsets, v, v_all)
            truth = interaction_indices(known.game, 8)[np.triu_indices(8, 1)]
            hits.append(np.abs(found - truth) <= 1.96 * errors)
    assert np.mean(hits) >= 0.93


def test_the_map_of_all_subsets_has_rows_that_cancel():
    """A constant interacts with nobody: with v(empty) the weights of an index sum to 0."""
    for p in (2, 4, 6):
        weights = interaction_map(ExhaustiveDesign(p).subsets)
        np.testing.assert_allclose(weights.sum(axis=1), -1 / (p - 1), atol=1e-12)
