"""The other systems of Table 1, end to end against peers and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shaff.datasets import shapley_values
from shaff.designs.kernel_draws import KernelDrawsDesign, size_probabilities
from shaff.designs.leave_one_out import LeaveOneOutDesign
from shaff.presets import PRESETS
from shaff.protocols import Values
from shaff.solve.total_sobol import TotalSobolSolver
from shaff.subsets import Subsets, log_kernel_weight
from shaff.values.held_out import KnownModel
from shaff.values.marginal import MarginalValues
from shaff.values.mdi import mdi_effects


def test_marginal_effects_within_the_error_bars_of_sage():
    sage = pytest.importorskip("sage")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 1] += X[:, 0]
    y = X[:, 0] * X[:, 2] + X[:, 1] + 0.3 * rng.normal(size=200)
    train, test = slice(0, 100), slice(100, 200)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X[train], y[train])
    # sage starts from the mean of the model: make that the mean of y, where shaff starts.
    shift = y[test].mean() - tree.predict(X[test]).mean()

    def model(rows):
        return tree.predict(rows) + shift

    game = MarginalValues(X[test], y[test], KnownModel(model), n_background=None)
    # v compares a mean over n with a variance over n - 1: 1/n more than sage for every subset.
    ours = shapley_values(lambda m: game.values(Subsets.from_masks(m)).v, 4) - 1 / 100 / 4
    imputer = sage.MarginalImputer(model, X[test])
    peer = sage.PermutationEstimator(imputer, "mse", random_state=0)(
        X[test], y[test], batch_size=512, n_permutations=8192, detect_convergence=False, bar=False
    )
    scale = y[test].var(ddof=1)
    assert (np.abs(ours - peer.values / scale) < 4 * peer.std / scale + 1e-12).all()
    assert (peer.std / scale).max() < 0.03


@pytest.mark.parametrize("paired", [False, True])
def test_kernel_draws_follow_the_kernel(paired):
    subsets = KernelDrawsDesign(6, 40_000, random_state=0, paired=paired).subsets
    assert len(subsets) == 2**6 - 2
    share = np.exp(subsets.log_weight) / 40_000 / (1 + paired)
    weight = np.exp(log_kernel_weight(subsets.sizes, 6))
    assert_allclose(share, weight / weight.sum(), atol=0.005)
    assert_allclose(size_probabilities(6).sum(), 1)


def test_paired_draws_hold_each_complement_with_the_same_weight():
    subsets = KernelDrawsDesign(9, 50, random_state=0, paired=True).subsets
    weight = dict(zip(subsets.keys(), subsets.log_weight, strict=True))
    assert [weight[key] for key in subsets.complement().keys()] == list(weight.values())


@pytest.mark.parametrize("design", [KernelDrawsDesign(5, 30, 0), LeaveOneOutDesign(5)])
def test_designs_propose_once(design):
    history = Values(Subsets.full(5), np.ones(1))
    proposal = design.propose(history)
    assert 0 < proposal.sizes.min() <= proposal.sizes.max() < 5
    assert len(set(proposal.keys())) == len(proposal)
    done = Values(Subsets.concatenate([Subsets.full(5), proposal]), np.ones(1 + len(proposal)))
    assert design.propose(done) is None


def test_total_sobol_of_one_player_is_everything():
    effects = TotalSobolSolver().solve(Subsets.full(1)[:0], np.zeros(0), 0.7)
    assert_array_equal(effects.effects, [0.7])
    assert LeaveOneOutDesign(1).propose(Values(Subsets.full(1), np.ones(1))) is None


def test_total_sobol_is_linear_and_ignores_other_subsets():
    rng = np.random.default_rng(1)
    subsets = Subsets.concatenate([Subsets.singletons(4), LeaveOneOutDesign(4).subsets])
    v = rng.random(8)
    solved = TotalSobolSolver().solve(subsets, v, 0.4)
    assert_allclose(solved.raw, 0.4 - v[4:])
    assert_allclose(solved.linear_map @ np.append(v, 0.4), solved.raw)
    assert solved.effects.min() >= 0


def test_mdi_by_brute_force():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] ** 2
    forest = RandomForestRegressor(30, random_state=0)
    effects = mdi_effects(X, y, forest).effects
    expected = np.zeros(3)
    for tree in (member.tree_ for member in forest.fit(X, y).estimators_):
        lost = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
        for node in np.flatnonzero(tree.children_left >= 0):
            left, right = tree.children_left[node], tree.children_right[node]
            expected[tree.feature[node]] += (lost[node] - lost[left] - lost[right]) / 30
    assert_allclose(effects, expected / y.var(ddof=1), rtol=1e-10)
    grouped = mdi_effects(X, y, RandomForestRegressor(30, random_state=0), players=[[0, 2], [1]])
    assert_allclose(grouped.effects, [effects[0] + effects[2], effects[1]])


def test_every_system_of_table_1_is_there():
    assert set(PRESETS) == {
        "song", "kernel_shap", "tree_shap", "aas_gaussian", "aas_copula", "aas_empirical", "sage",
        "broto", "broto_sampled", "williamson", "covert_lee", "mdi", "sobol_mda",
    }  # fmt: skip


BETA = np.array([1.0, -0.7, 0.4, 0.0])


@pytest.fixture(scope="module")
def independent():
    """Independent columns, where every system is right: effects beta² / sum(beta²)."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 4))
    return X, X @ BETA, BETA**2 / (BETA @ BETA)


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in ("mdi", "sobol_mda")])
def test_every_system_is_right_on_independent_columns(name, independent):
    X, y, truth = independent
    estimator = (
        RandomForestRegressor(40, min_samples_leaf=5) if name == "tree_shap" else LinearRegression()
    )
    found = PRESETS[name].effects(X, y, estimator, n_subsets=60, random_state=0)
    # Forests shrink and 30 draws or 3 neighbours are few: the slack is for those.
    assert_allclose(found.raw, truth, atol=0.07)
    again = PRESETS[name].effects(X, y, estimator, n_subsets=60, n_jobs=2, random_state=0)
    assert_array_equal(again.raw, found.raw)


def test_mdi_and_total_sobol_presets(independent):
    X, y, truth = independent
    forest = RandomForestRegressor(40, min_samples_leaf=5)
    mdi = PRESETS["mdi"].effects(X, y, forest, random_state=0).effects
    total = PRESETS["sobol_mda"].effects(X, y, forest, random_state=0).effects
    for found in (mdi, total):
        assert_allclose(found, truth, atol=0.15)
        assert_array_equal(np.argsort(-found), [0, 1, 2, 3])


@pytest.mark.parametrize("name", ["song", "aas_gaussian", "williamson"])
def test_systems_that_see_dependence(name):
    """A copy shares the effect of its original with these, and not with the marginal ones."""
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(1500, 2))
    X = np.column_stack([Z[:, 0], Z[:, 0], Z[:, 1]])
    model = KnownModel(lambda rows: rows[:, 0] + rows[:, 2])
    y = model.predict(X)
    estimator = LinearRegression() if name == "williamson" else model
    assert_allclose(
        PRESETS[name].effects(X, y, estimator, n_subsets=60, random_state=0).raw,
        [0.25, 0.25, 0.5],
        atol=0.05,
    )
    marginal = PRESETS["covert_lee"].effects(X, y, model, n_subsets=60, random_state=0).raw
    assert marginal[1] < 0.05
