"""Many columns: who plays by name, what the others are told to have, and what v has not seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from benchmarks.fresh import squared_errors
from shaff import ShapleyEffects
from shaff.data.problem import Problem, Views
from shaff.errors import InputError
from shaff.fitting.checks.twins import interchangeable
from shaff.results.files import load_result
from shaff.screening import OTHERS, select_players, select_together
from shaff.screening.choice import MOST
from shaff.subsets import Subsets
from shaff.values.making import make_values


def wide(n=300, p=90, seed=0):
    """A line and a square among nulls."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 3] + 0.7 * X[:, 50] ** 2 + rng.standard_normal(n)


@pytest.fixture(scope="module")
def selection():
    X, y = wide()
    return select_players(Problem.of(X, y, random_state=0), [0, 1])


@pytest.fixture(scope="module")
def result():
    X, y = wide()
    return ShapleyEffects("boosting", n_subsets=60, random_state=0).fit(X, y).result_


def test_each_fold_sees_what_its_training_rows_have_chosen(selection):
    X, y = wide()
    fold = selection.problem.folds(0)[2]
    again = y.copy()
    again[fold.test] = np.random.default_rng(9).permutation(y[fold.test])
    other = select_players(Problem.of(X, again, random_state=0), [0, 1])

    def seen(which):
        view = which.problem.visible(fold.train)
        return which.problem.X[:, view]

    # Neither the choice of columns nor the score has looked at the targets of held-out rows.
    np.testing.assert_array_equal(seen(selection), seen(other))
    assert not np.array_equal(selection.kept, other.kept)


def test_who_plays(selection):
    assert {3, 50} <= set(selection.kept.tolist())
    assert 25 <= len(selection.kept) < 90
    assert selection.problem.player_names[-1] == OTHERS
    assert np.isnan(selection.correlations[selection.kept]).all()
    assert (selection.correlations[selection.others] < 0.4).all()
    assert len(selection.problem.views.columns) == 10


def test_rows_are_seen_as_the_data_are(selection):
    X, _ = wide()
    seen = selection.rows(X)
    n_seen = len(selection.columns)
    np.testing.assert_array_equal(seen[:, :n_seen], selection.problem.X[:, :n_seen])
    for k, fold in enumerate(selection.problem.folds(0)):
        own = n_seen + k
        np.testing.assert_allclose(seen[fold.test, own], selection.problem.X[fold.test, own])
        # Rows that a fit is trained on are scored without themselves.
        assert not np.allclose(seen[fold.train, own], selection.problem.X[fold.train, own])


def test_what_few_folds_keep_is_with_all_others(selection):
    """No column that a learner sees is without a player, and none has two."""
    assert len(selection.kept) == MOST < len(selection.columns)
    owned = np.concatenate(selection.problem.players)
    np.testing.assert_array_equal(np.sort(owned), np.arange(selection.problem.X.shape[1]))
    votes = np.sum(list(selection.problem.views.columns.values()), axis=0)
    unnamed = selection.problem.players[-1][10:]
    assert votes[unnamed].max() <= votes[: len(selection.columns)].mean()


@pytest.mark.parametrize("name", ["boosting", "forest", "smooth"])
def test_hidden_columns_tell_nothing(selection, name):
    """The scores of the second run are hidden from all folds of the first."""
    first = {
        Views.key(fold.train, len(selection.problem.X)): selection.problem.visible(fold.train)
        for fold in selection.problem.folds(0)
    }
    problem = replace(selection.problem, views=Views([0], first))
    hidden = ~np.any(list(first.values()), axis=0)
    assert hidden.sum() >= 5
    changed = problem.X.copy()
    changed[:, hidden] = np.random.default_rng(0).standard_normal((300, int(hidden.sum())))
    full = Subsets.full(len(problem.players))
    before, after = (
        make_values(name, p).values.predict(full) for p in (problem, problem.with_matrix(changed))
    )
    np.testing.assert_array_equal(after, before)


def test_fresh_rows_have_no_part_in_the_models_that_predict_them():
    """`benchmarks.wide optimism` compares v on held-out rows with v on rows that came later."""
    X, y = wide(160, 64)
    own, new = squared_errors(X, y, 100, 0)
    later = np.append(y[:100], y[100:] + 5.0)
    again, other = squared_errors(X, later, 100, 0)
    np.testing.assert_allclose(again, own, rtol=1e-4, atol=1e-6)
    # The same predictions of the new rows, too.
    np.testing.assert_allclose(np.abs(other - new - 25) / 10, np.sqrt(new), rtol=1e-3, atol=1e-3)


def test_nothing_is_lost_and_nobody_has_nothing(result):
    out = result.is_screened
    assert 20 < out.sum() < 70
    np.testing.assert_allclose(result.effects.sum(), result.explained_variance)
    np.testing.assert_allclose(result.effects[out].sum(), result.others["effect"], atol=1e-12)
    assert set(result.order[:2].tolist()) == {3, 50}
    low, high = result.confidence_interval()
    assert (result.upper_bound()[out] > 0.005).all()
    assert (result.upper_bound()[out] < 0.2).all()
    assert (low[out] == 0).all()
    assert (high[out] >= result.upper_bound()[out]).all()
    assert (result.p_values[out] == 1).all()


def test_the_table_says_screened(result):
    text = result.summary(max_inputs=90)
    assert text.count("at most") == result.is_screened.sum()
    assert "All others are evaluated together" in text
    again = load_result(result.to_json())
    assert again.others == result.others
    np.testing.assert_array_equal(again.screened, result.screened)
    assert again.summary(90) == text


def test_what_the_others_carry_is_measured():
    """Many weak columns that no screen would name."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 150))
    y = X[:, 0] + X[:, 1:] @ np.full(149, 0.08) + 0.5 * rng.standard_normal(800)
    result = ShapleyEffects("boosting", n_subsets=120, screen=5, random_state=0).fit(X, y).result_
    assert result.others["effect"] > 0.2
    assert result.others["p_value"] < 0.001
    assert result.explained_variance > 0.75


def test_screen_setting():
    X, y = wide(120, 60)
    off = ShapleyEffects("boosting", screen=False, n_subsets=80, random_state=0).fit(X, y).result_
    assert not off.is_screened.any()
    few = ShapleyEffects("boosting", screen=3, n_subsets=40, random_state=0).fit(X, y).result_
    assert 3 <= (~few.is_screened).sum() < 16
    for wrong in (0, True, "always", 2.5):
        with pytest.raises(InputError, match="screen="):
            ShapleyEffects(screen=wrong).fit(X, y)


def test_many_rows_keep_columns_that_only_tell_something_in_company():
    """A product of two columns that are null alone, beside lines, among 36: each fold is trained on
    more than 36 000 rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((55_000, 36)).round(1)
    y = X[:, :20].sum(axis=1) + X[:, 34] * X[:, 35] + rng.standard_normal(len(X))
    few, many = (select_players(Problem.of(X[:n], y[:n]), [0]) for n in (20_000, 55_000))
    assert len(few.others) > 0
    assert len(many.others) == 0


def test_groups_are_screened_as_groups():
    """A block of indicators that only tells something together."""
    rng = np.random.default_rng(0)
    codes = rng.integers(8, size=400)
    block = np.eye(8)[codes]
    noise = rng.standard_normal((400, 60))
    y = np.array([1.0, -1, 1, -1, 0, 0.5, -0.5, 1])[codes] + rng.standard_normal(400)
    groups = {"block": list(range(8)), "pair": [8, 9]}
    est = ShapleyEffects("boosting", groups=groups, screen=10, n_subsets=60, random_state=0)
    result = est.fit(np.hstack([block, noise]), y).result_
    assert len(result.names) == 60
    assert result.names[result.order[0]] == "block"
    assert not result.is_screened[result.names.index("block")]
    assert est.feature_importances_.shape == (68,)


def test_a_model_of_the_user_sees_all_columns():
    X, y = wide(200, 60)
    model = RandomForestRegressor(30, min_samples_leaf=5)
    result = ShapleyEffects(model, screen=5, n_subsets=40, random_state=0).fit(X, y).result_
    assert (~result.is_screened).sum() == 5
    assert result.others is not None
    selection = select_together(Problem.of(X, y, random_state=0), 5)
    assert len(selection.problem.players[-1]) == 55
    assert selection.problem.X.shape == (200, 60)


def test_a_model_without_trees_is_screened_by_what_it_says():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 40))
    model = LinearRegression().fit(X, X[:, 7] + 0.5 * X[:, 9])
    est = ShapleyEffects.from_fitted(model, X, screen=5, n_subsets=30, random_state=0)
    assert set(est.result_.order[:2].tolist()) == {7, 9}
    assert (~est.result_.is_screened).sum() == 5


def test_sparse_matrices_are_read():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6)) * (rng.random((200, 6)) < 0.3)
    y = X[:, 0] + 0.3 * rng.standard_normal(200)
    dense = ShapleyEffects("forest", random_state=0).fit(X, y)
    sparse = ShapleyEffects("forest", random_state=0).fit(csr_array(X), y)
    np.testing.assert_array_equal(sparse.effects_, dense.effects_)
    few = ShapleyEffects("forest", random_state=0, max_rows=100).fit(csr_array(X), y)
    assert few.result_.n_rows == 100


def test_near_copies_are_named_and_share():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 120))
    X[:, 7] = X[:, 80] + 0.02 * rng.standard_normal(300)
    X[:, 99] = 3 - 2 * X[:, 80]
    y = X[:, 80] + X[:, 1] + 0.5 * rng.standard_normal(300)
    result = ShapleyEffects("boosting", n_subsets=150, random_state=0).fit(X, y).result_
    assert result.interchangeable == (("x7", "x80", "x99"),)
    assert any("Interchangeable" in note and "'x80'" in note for note in result.notes)
    thirds = result.effects[[7, 80, 99]]
    assert thirds.min() > 0.5 * thirds.mean()
    categories = Problem.of(X[:, [7, 80]], y, categorical=[True, True])
    assert interchangeable(categories, np.arange(2)) == ()
