"""The error bars of the Gaussian process on random games that are not in the paper."""

import numpy as np
import pytest

from shaff.datasets import shapley_values
from shaff.designs.gaussian_process import GaussianProcessDesign
from shaff.protocols import Proposal, Values
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.subsets import Subsets

P = 10


def saturating(rng):
    """Several groups of players, each with its own curved return: redundancy within groups."""
    members = rng.random((4, P)) < 0.5
    strength, weight = rng.uniform(0.2, 2, (4, P)) * members, rng.dirichlet(np.ones(4))
    return lambda masks: (1 - np.exp(-(masks @ strength.T))) @ weight


def products(rng):
    """Random groups of two or three players that are worth something only together."""
    groups = [rng.choice(P, size=rng.integers(1, 4), replace=False) for _ in range(8)]
    weight = rng.dirichlet(np.ones(8))
    return lambda masks: np.array([masks[:, g].all(axis=1) for g in groups]).T @ weight


def standardised_errors(game, n_subsets, noise, seed):
    rng = np.random.default_rng(seed)
    design = GaussianProcessDesign(P, n_subsets, random_state=seed)
    history = Values(Subsets.full(P), game(np.ones((1, P), dtype=bool)))
    while (proposal := design.propose(history)) is not None:
        subsets = proposal.subsets
        v = game(subsets.masks()) + noise * rng.standard_normal(len(subsets))
        history = Values.concatenate([history, Values(subsets, v)])
    solution = GaussianProcessSolver().solve(
        Proposal(history.subsets[1:]), history.v[1:], float(history.v[0])
    )
    bars = np.sqrt(np.maximum(np.diag(solution.covariance), 1e-16))
    return (solution.raw - shapley_values(game, P)) / bars


def coverage(make, n_games, n_subsets, noise):
    errors = [
        standardised_errors(make(np.random.default_rng(100 + s)), n_subsets, noise, s)
        for s in range(n_games)
    ]
    return np.mean(np.abs(errors) < 1.96)


@pytest.mark.parametrize("make", [saturating, products])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_error_bars_cover_on_a_few_games(make, noise):
    assert coverage(make, 12, 80, noise) > (0.88 if noise == 0 else 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("make", [saturating, products])
@pytest.mark.parametrize("n_subsets", [60, 120, 240])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_error_bars_cover_on_many_games(make, n_subsets, noise):
    assert coverage(make, 40, n_subsets, noise) > (0.9 if noise == 0 else 0.8)
