"""The linear R² game against least squares."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from shaff.datasets import experiment_1a, shapley_values
from shaff.designs.gaussian_process import GaussianProcessDesign
from shaff.gaussian_process.linear_game import linear_proxy
from shaff.protocols import Proposal, Values
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.subsets import Subsets


def test_values_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 5))
    y = X[:, 0] - X[:, 2] + rng.standard_normal(80)
    proxy = linear_proxy(X, y)
    masks = rng.random((12, 5)) < 0.5
    masks[0] = False
    expected = [
        LinearRegression().fit(X[:, u], y).score(X[:, u], y) if u.any() else 0 for u in masks
    ]
    np.testing.assert_allclose(proxy.game(masks), expected, atol=1e-4)
    np.testing.assert_allclose(proxy.effects, shapley_values(proxy.game, 5), atol=0.01)
    full = proxy.game(np.ones((1, 5), dtype=bool))[0]
    assert proxy.effects.sum() == pytest.approx(full)


def test_constant_and_copied_columns_do_no_harm():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100)
    proxy = linear_proxy(np.column_stack([x, x, np.ones(100)]), x)
    np.testing.assert_allclose(proxy.effects, [0.5, 0.5, 0.0], atol=0.02)


def test_helps_on_a_linear_experiment():
    exp = experiment_1a(random_state=0)
    errors = []
    for proxy in (None, linear_proxy(exp.X, exp.y)):
        design = GaussianProcessDesign(15, 60, random_state=0, proxy=proxy)
        history = Values(Subsets.full(15), exp.value(Subsets.full(15)))
        while (proposal := design.propose(history)) is not None:
            subsets = proposal.subsets
            history = Values.concatenate([history, Values(subsets, exp.value(subsets))])
        solver = GaussianProcessSolver(proxy=proxy)
        seen = Proposal(history.subsets[1:])
        found = solver.solve(seen, history.v[1:], float(history.v[0]))
        errors.append(np.abs(found.raw - exp.effects).sum())
    assert errors[1] < 0.5 * errors[0]
