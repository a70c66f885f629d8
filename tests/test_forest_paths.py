"""The paper's first step: frequencies of subsets along the paths of a forest, and draws of them."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

from shaff.datasets import shapley_values
from shaff.designs.forest_paths import ForestPathsDesign, path_subsets
from shaff.protocols import Values
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.subsets import Subsets, log_kernel_weight
from shaff.trees.forest import read_forest


def members(subsets):
    return [frozenset(np.flatnonzero(mask).tolist()) for mask in subsets.masks()]


def grown(n, p, seed, **settings):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, 0] * X[:, -1] + rng.normal(size=n)
    return RandomForestRegressor(5, random_state=seed, **settings).fit(X, y)


def as_shares(counts, n_players):
    """Counts of proper subsets, scaled to sum to 1."""
    proper = {u: c for u, c in counts.items() if len(u) < n_players}
    return {u: c / sum(proper.values()) for u, c in proper.items()}


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(10, 120),
    p=st.sampled_from([1, 2, 3, 6, 63, 64, 65, 130]),
    seed=st.integers(0, 2**31),
    depth=st.sampled_from([1, 3, None]),
)
def test_frequencies_are_those_of_the_paths(n, p, seed, depth):
    model = grown(n, p, seed, max_depth=depth, max_features=0.3)
    subsets, frequency = path_subsets(read_forest(model.estimators_, p))
    found = dict(zip(members(subsets), frequency, strict=True))
    assert found == pytest.approx(as_shares(oracles.path_subset_counts(model.estimators_), p))


def test_groups_count_by_the_players_that_a_path_touches():
    model = grown(150, 6, 0, max_features=0.5)
    players = [np.array([0, 4]), np.array([1, 2, 5]), np.array([3])]
    player_of = {int(j): k for k, player in enumerate(players) for j in player}
    subsets, frequency = path_subsets(read_forest(model.estimators_, 6), players)
    counts = oracles.path_subset_counts(model.estimators_, player_of)
    assert dict(zip(members(subsets), frequency, strict=True)) == pytest.approx(
        as_shares(counts, 3)
    )


def test_a_forest_of_stumps_without_splits_has_no_paths():
    X = np.zeros((20, 3))
    model = RandomForestRegressor(3, random_state=0).fit(X, np.arange(20.0))
    subsets, frequency = path_subsets(read_forest(model.estimators_, 3))
    assert len(subsets) == len(frequency) == 0
    assert (
        ForestPathsDesign(subsets, frequency).propose(Values(Subsets.full(3), np.ones(1))) is None
    )


# A game of three players in which all pairs {U, complement} have both members in the forest.
CANDIDATES = Subsets.from_indices([[0], [1, 2], [1], [0, 2], [2]], 3)
FREQUENCY = np.array([0.4, 0.1, 0.1, 0.2, 0.2])


def concave(masks):
    return np.sqrt(masks @ np.array([1.0, 0.5, 0.1])) + 0.3 * masks[:, 0] * masks[:, 2]


def effects_of(weighting, n_draws=100_000):
    design = ForestPathsDesign(CANDIDATES, FREQUENCY, n_draws, None, weighting, random_state=0)
    drawn = design.draw()
    v_all = float(concave(np.ones((1, 3)))[0])
    v = concave(drawn.subsets.masks())
    return LeastSquaresSolver(constrained=False).solve(drawn, v, v_all).effects


def test_pair_weights_converge_to_the_shapley_value():
    truth = shapley_values(concave, 3)
    assert np.abs(effects_of("pair") - truth).max() < 3e-3
    # Printed as in the paper, a pair with two members in the forest counts twice.
    assert np.abs(effects_of("published") - truth).max() > 1e-2


@pytest.mark.parametrize("weighting", ["pair", "published"])
def test_weights_are_the_formula(weighting):
    design = ForestPathsDesign(CANDIDATES, FREQUENCY, 50, None, weighting, random_state=1)
    drawn = design.draw().subsets
    rng = np.random.RandomState(1)
    sequence = [members(CANDIDATES)[k] for k in rng.choice(5, 50, p=FREQUENCY)]
    p = dict(zip(members(CANDIDATES), FREQUENCY, strict=True))
    everyone = frozenset(range(3))
    w = np.exp(log_kernel_weight([1, 2], 3))
    expected = dict.fromkeys(members(drawn), 0.0)
    for u in sequence:
        reached = p[u] + (p.get(everyone - u, 0) if weighting == "pair" else 0)
        for member in (u, everyone - u):
            expected[member] += w[len(u) - 1] / reached
    found = dict(zip(members(drawn), np.exp(drawn.log_weight), strict=True))
    assert found == pytest.approx(expected)


def test_draws_come_in_pairs_once_each():
    design = ForestPathsDesign(CANDIDATES, FREQUENCY, 100, random_state=0)
    drawn = members(design.draw().subsets)
    assert len(set(drawn)) == len(drawn)
    assert {frozenset(range(3)) - u for u in drawn} == set(drawn)


@pytest.mark.parametrize("n_subsets", [2, 7, 40])
def test_the_budget_of_evaluations_is_kept(n_subsets):
    candidates, frequency = path_subsets(read_forest(grown(300, 8, 0).estimators_, 8))
    design = ForestPathsDesign(candidates, frequency, None, n_subsets, random_state=0)
    drawn = design.draw().subsets
    assert n_subsets - 1 <= len(drawn) <= n_subsets
    same = ForestPathsDesign(candidates, frequency, None, n_subsets, random_state=0)
    again = same.draw().subsets
    np.testing.assert_array_equal(drawn.words, again.words)
    np.testing.assert_array_equal(drawn.log_weight, again.log_weight)


def test_variables_in_no_drawn_subset_are_inactive():
    seen = Subsets.from_indices([[0], [0, 2]], 4)
    design = ForestPathsDesign(seen, np.array([0.5, 0.5]), 20, random_state=0)
    assert design.draw().active.tolist() == [True, False, True, False]


def test_weights_stay_finite_with_many_variables():
    candidates = Subsets.from_indices([[0], list(range(700)), [5, 9]], 1500)
    design = ForestPathsDesign(candidates, np.array([0.5, 0.3, 0.2]), 50, random_state=0)
    assert np.isfinite(design.draw().subsets.log_weight).all()
