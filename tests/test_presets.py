"""The other systems of Table 1, end to end against peers and closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.datasets import shapley_values
from shaff.designs.kernel_draws import KernelDrawsDesign, size_probabilities
from shaff.designs.leave_one_out import LeaveOneOutDesign
from shaff.fitting.presets import PRESETS
from shaff.protocols import Proposal, Values
from shaff.solve.total_sobol import TotalSobolSolver
from shaff.subsets import Subsets, log_kernel_weight
from shaff.values.level_order import order_levels
from shaff.values.models.held_out import KnownModel
from shaff.values.published.marginal import MarginalValues
from shaff.values.published.mdi import MDIValues
from shaff.values.published.systems import PublishedValues


def test_marginal_effects_within_the_error_bars_of_sage():
    import sage

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

    game = MarginalValues(Problem.of(X[test], y[test]), KnownModel(model), n_background=None)
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
    proposed = design.propose(history).subsets
    assert 0 < proposed.sizes.min() <= proposed.sizes.max() < 5
    assert len(set(proposed.keys())) == len(proposed)
    done = Values(Subsets.concatenate([Subsets.full(5), proposed]), np.ones(1 + len(proposed)))
    assert design.propose(done) is None


def test_total_sobol_of_one_player_is_everything():
    effects = TotalSobolSolver().solve(Proposal(Subsets.full(1)[:0]), np.zeros(0), 0.7)
    assert_array_equal(effects.effects, [0.7])
    assert LeaveOneOutDesign(1).propose(Values(Subsets.full(1), np.ones(1))) is None


def test_total_sobol_is_linear_and_ignores_other_subsets():
    rng = np.random.default_rng(1)
    subsets = Subsets.concatenate([Subsets.singletons(4), LeaveOneOutDesign(4).subsets])
    v = rng.random(8)
    solved = TotalSobolSolver().solve(Proposal(subsets), v, 0.4)
    assert_allclose(solved.raw, 0.4 - v[4:])
    assert_allclose(solved.linear_map @ np.append(v, 0.4), solved.raw)
    assert solved.effects.min() >= 0


def test_mdi_by_brute_force():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] ** 2
    forest = RandomForestRegressor(30, random_state=0)
    shares = MDIValues(Problem.of(X, y), forest).shares
    expected = np.zeros(3)
    for tree in (member.tree_ for member in forest.fit(X, y).estimators_):
        lost = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
        for node in np.flatnonzero(tree.children_left >= 0):
            left, right = tree.children_left[node], tree.children_right[node]
            expected[tree.feature[node]] += (lost[node] - lost[left] - lost[right]) / 30
    assert_allclose(shares, expected / y.var(ddof=1), rtol=1e-10)
    grouped = MDIValues(
        Problem.of(X, y, players=[[0, 2], [1]]), RandomForestRegressor(30, random_state=0)
    )
    assert_allclose(grouped.shares, [shares[0] + shares[2], shares[1]])


def test_mdi_refuses_what_has_no_impurity(independent):
    X, y, _ = independent
    with pytest.raises(TypeError, match="MDI needs a forest of scikit-learn, not LinearRegression"):
        ShapleyEffects.preset("mdi", estimator=LinearRegression()).fit(X, y)
    forest = RandomForestRegressor(2, random_state=0)
    with pytest.raises(TypeError, match="no conditional means"):
        MDIValues(Problem.of(X, y), forest).predict(Subsets.full(4))


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


def raw_effects(name, X, y, estimator, **settings):
    chosen = {"n_subsets": 60} if PRESETS[name].n_subsets else {}
    model = ShapleyEffects.preset(name, estimator=estimator, random_state=0, **chosen, **settings)
    return model.fit(X, y).result_.raw_effects


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in ("mdi", "sobol_mda")])
def test_every_system_is_right_on_independent_columns(name, independent):
    X, y, truth = independent
    estimator = LinearRegression()
    if name == "tree_shap":
        estimator = RandomForestRegressor(40, min_samples_leaf=5)
    if PRESETS[name].values == "neighbours":
        estimator = None
    found = raw_effects(name, X, y, estimator)
    # Forests shrink and 30 draws or 3 neighbours are few: the slack is for those.
    assert_allclose(found, truth, atol=0.07)
    assert_array_equal(raw_effects(name, X, y, estimator, n_jobs=2), found)


def test_mdi_and_total_sobol_presets(independent):
    X, y, truth = independent
    forest = RandomForestRegressor(40, min_samples_leaf=5)
    for name in ("mdi", "sobol_mda"):
        found = raw_effects(name, X, y, forest)
        assert_allclose(found, truth, atol=0.15)
        assert_array_equal(np.argsort(-found), [0, 1, 2, 3])


def test_mdi_preset_gives_the_shares(independent):
    X, y, _ = independent
    forest = RandomForestRegressor(10, random_state=5)
    model = ShapleyEffects.preset("mdi", estimator=forest).fit(X, y)
    assert_allclose(model.effects_, MDIValues(Problem.of(X, y), forest).shares, rtol=1e-9)
    assert_allclose(model.effects_.sum(), model.explained_variance_)
    assert model.result_.standard_errors is None
    assert any("in sample" in note for note in model.result_.notes)


@pytest.mark.parametrize("name", ["song", "aas_gaussian", "williamson"])
def test_systems_that_see_dependence(name):
    """A copy shares the effect of its original with these, and not with the marginal ones."""
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(1500, 2))
    X = np.column_stack([Z[:, 0], Z[:, 0], Z[:, 1]])
    model = KnownModel(lambda rows: rows[:, 0] + rows[:, 2])
    y = model.predict(X)
    estimator = LinearRegression() if name == "williamson" else model
    assert_allclose(raw_effects(name, X, y, estimator), [0.25, 0.25, 0.5], atol=0.05)
    assert raw_effects("covert_lee", X, y, model)[1] < 0.05


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_estimators_like_any_other(name):
    X = pd.DataFrame(np.random.default_rng(5).normal(size=(60, 3)), columns=["a", "b", "c"])
    forest = RandomForestRegressor(5, min_samples_leaf=5)
    model = {} if PRESETS[name].values == "neighbours" else {"estimator": forest}
    estimator = ShapleyEffects.preset(name, random_state=1, **model)
    copy = clone(estimator)
    assert repr(copy) == repr(estimator)
    assert PRESETS[name].values in repr(estimator)
    result = estimator.fit(X, X["a"] + X["b"]).result_
    assert result.names == ("a", "b", "c")
    assert result.design == PRESETS[name].design
    assert any(note.startswith(PRESETS[name].reference) for note in result.notes)
    assert_array_equal(copy.fit(X, X["a"] + X["b"]).effects_, estimator.effects_)
    assert (estimator.effects_ >= 0).all()


def test_a_preset_takes_groups_options_and_settings(independent):
    X, y, truth = independent
    model = ShapleyEffects.preset(
        "sage",
        options={"n_background": 200},
        estimator=LinearRegression(),
        groups={"pair": [0, 1]},
        random_state=0,
    )
    assert model.estimator.options == {"n_background": 200}
    assert model.n_subsets == 500
    effects = model.fit(X, y).effects_
    assert_allclose(effects, [truth[0] + truth[1], truth[2], truth[3]], atol=0.07)


def test_an_unknown_preset_lists_the_names():
    with pytest.raises(ValueError, match="preset 'shap' is unknown: use one of song, kernel_shap"):
        ShapleyEffects.preset("shap")


@pytest.mark.parametrize(
    ("priced_by", "rows", "message"),
    [
        (PublishedValues("nothing"), {}, "values='nothing' is unknown: use one of"),
        (PublishedValues("neighbours", LinearRegression()), {}, "'neighbours' values fit no model"),
        (PublishedValues("marginal", options={"m": 3}), {}, "'marginal' values have no option 'm'"),
        (
            PublishedValues("retrained"),
            {"sample_weight": np.ones(20)},
            "take neither sample_weight",
        ),
        (PublishedValues("retrained"), {"row_groups": np.arange(20) % 5}, "nor row_groups"),
    ],
)
def test_what_a_value_function_cannot_do_is_said(priced_by, rows, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        ShapleyEffects(priced_by, design="exhaustive").fit(X, X[:, 0], **rows)


def test_total_sobol_and_leave_one_out_go_together():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for settings, message in (
        (
            {"solver": "total_sobol"},
            "needs a design of all inputs but one, not 'gaussian_process'",
        ),
        (
            {"design": "leave_one_out", "solver": "permutations"},
            "needs a design of permutations, not 'leave_one_out'",
        ),
    ):
        with pytest.raises(ValueError, match=f'solver="{settings["solver"]}" {message}'):
            ShapleyEffects("forest", **settings).fit(X, X[:, 0])


def test_levels_are_ordered_by_their_mean():
    codes = np.array([0.0, 1.0, 2.0, np.nan, 1.0, 0.0])
    X = np.column_stack([codes, codes])
    y = np.array([[3.0], [1.0], [2.0], [9.0], [1.0], [3.0]])
    ordered = order_levels(Problem.of(X, y, categorical=[True, False]))
    assert_array_equal(ordered.X[:, 0], [2, 0, 1, np.nan, 0, 2])
    assert_array_equal(ordered.X[:, 1], codes)
    assert not ordered.categorical.any()


def test_categories_are_ordered_and_the_result_says_so():
    rng = np.random.default_rng(6)
    level = rng.integers(4, size=400)
    X = pd.DataFrame({"level": np.array(list("dacb"))[level], "noise": rng.normal(size=400)})
    y = np.array([0.0, 3.0, 1.0, 2.0])[level]
    forest = RandomForestRegressor(20, max_depth=1)
    result = ShapleyEffects.preset("williamson", estimator=forest, random_state=0).fit(X, y).result_
    # One split of the ordered levels explains 80 %; of the names a, b, c, d at most 60 %.
    assert result.effects[0] > 0.7
    assert any("ranger" in note for note in result.notes)
