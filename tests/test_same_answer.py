"""The same answer for the same table: units, origins, order of columns, weights or repeats."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold

from shaff import ShapleyEffects
from shaff.comparing import compare
from shaff.data.canonical import column_order, in_column_order, with_copies_joined
from shaff.data.problem import Problem
from shaff.trees.units import COLUMN_RANGE, ColumnRanks, ColumnShifts, in_range, on_grid
from shaff.values.forest.grown import paper_forest

N, P = 150, 5
OWN = ("auto", "boosting", "forest", "smooth")
# Powers of ten are rounded, and so is what is moved: by what doubles of that size can hold.
ROUNDING = 1e-6


@cache
def table():
    """Two inputs that depend on each other, one of few values, one of noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    X[:, 1] += X[:, 0]
    X[:, 3] = np.round(2 * X[:, 3])
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] + 0.5 * rng.standard_normal(N)


def explained(learner, X, y, n_subsets=8, **rows):
    """An estimator that is fitted by a small design."""
    if learner == "as_published":
        est = ShapleyEffects.as_published(estimator=paper_forest(50), random_state=0)
    else:
        est = ShapleyEffects(learner, n_subsets=n_subsets, random_state=0)
    return est.fit(X, y, **rows)


@cache
def usual(learner):
    result = explained(learner, *table()).result_
    assert result.explained_variance > 0.2
    return result


def assert_close(result, expected, atol):
    np.testing.assert_allclose(result.raw_effects, expected.raw_effects, rtol=0, atol=atol)
    np.testing.assert_allclose(result.standard_errors, expected.standard_errors, rtol=0, atol=atol)
    assert result.explained_variance == pytest.approx(expected.explained_variance, abs=atol)


# Units and origins --------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [*OWN, "stack", "as_published"])
def test_powers_of_two_change_no_bit(learner):
    X, y = table()
    units = np.ldexp(1.0, np.array([-95, 40, 0, 97, -30]))
    result = explained(learner, X * units, np.ldexp(y, -96)).result_
    assert_close(result, usual(learner), atol=0)


@pytest.mark.parametrize("learner", OWN)
@pytest.mark.parametrize(
    ("units", "of_y"),
    [(np.full(P, 1e-30), 1e30), (10.0 ** np.array([-9, 30, 1, -30, 8]), 1e-30)],
    ids=["small", "mixed"],
)
def test_units_do_not_matter(learner, units, of_y):
    X, y = table()
    assert_close(explained(learner, X * units, y * of_y).result_, usual(learner), ROUNDING)


@pytest.mark.parametrize("learner", OWN)
def test_origins_do_not_matter(learner):
    X, y = table()
    # What 1e8 leaves of the digits.
    X, y = ((part + 1e8) - 1e8 for part in (X, y))
    expected = explained(learner, X, y).result_
    assert_close(explained(learner, X + 1e8, y + 1e8).result_, expected, ROUNDING)


@pytest.mark.parametrize(
    ("change", "of_y"),
    [(lambda x: x * 1e-30, lambda y: y * 1e-30), (lambda x: x * 1e30, lambda y: y * 1e30),
     (lambda x: x + 1e8, lambda y: y + 1e8)],
    ids=["small", "large", "moved"],
)  # fmt: skip
def test_the_forest_of_the_paper_loses_nothing_in_other_units(change, of_y):
    """Its trees compare in single precision, so that values at a threshold may change sides."""
    X, y = table()
    found = explained("as_published", change(X), of_y(y)).explained_variance_
    assert found == pytest.approx(usual("as_published").explained_variance, abs=0.01)


def test_a_driver_in_another_unit_keeps_its_effect_in_a_given_forest():
    X, y = table()
    est = ShapleyEffects(paper_forest(50), n_subsets=8, random_state=0)
    one, other = (est.fit(X * [u, 1, 1, 1, 1], y).effects_ for u in (1.0, 1e-9))
    np.testing.assert_allclose(one, other, atol=0.01)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_a_screen_has_no_units(unit):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 60))
    y = 2 * X[:, 3] + X[:, 50] + rng.standard_normal(120)
    est = ShapleyEffects("boosting", screen=10, n_subsets=20, random_state=0)
    one, other = (est.fit(X * u, y * u).result_ for u in (1.0, unit))
    np.testing.assert_array_equal(one.is_screened, other.is_screened)
    assert_close(one, other, ROUNDING)


def test_ordinary_columns_are_given_to_a_forest_as_they_are():
    X, y = table()
    assert np.array_equal(ColumnShifts.of(X, np.zeros(P, dtype=bool)).encode(X), X)
    assert in_range(y[:, None], paper_forest()) is not y
    np.testing.assert_array_equal(in_range(y[:, None], paper_forest())[:, 0], y)


def test_columns_that_single_precision_cannot_hold_are_moved():
    x = np.array([0.0, 0.25, 0.5, 1.0])
    X = np.column_stack([x + 2.0**30, x * 2.0**-60, np.full(4, 1e300), x * 2.0**-60])
    found = ColumnShifts.of(X, np.array([False, False, False, True])).encode(X)
    np.testing.assert_array_equal(found[:, 0], x)
    np.testing.assert_array_equal(found[:, 1] / found[-1, 1], x)
    assert np.ptp(found[:, 1]) >= COLUMN_RANGE[0]
    assert not found[:, 2].any()
    np.testing.assert_array_equal(found[:, 3], X[:, 3])  # categories have no unit


@pytest.mark.parametrize("setting", [{"criterion": "poisson"}, {"min_impurity_decrease": 0.1}])
def test_a_forest_that_asks_for_units_gets_those_of_the_outcome(setting):
    y = np.array([[1e9], [1e9 + 1]])
    assert in_range(y, paper_forest()).max() == 1
    np.testing.assert_array_equal(in_range(y, paper_forest().set_params(**setting)), y)


def test_ranks_of_new_numbers_stand_between_their_neighbours():
    x = np.array([1.0, 2.0, 4.0, np.nan])[:, None]
    ranks = ColumnRanks.of(x, np.array([False]))
    np.testing.assert_array_equal(ranks.encode(x)[:, 0], [0, 1, 2, np.nan])
    new = np.array([0.0, 1.5, 3.0, 9.0])[:, None]
    np.testing.assert_array_equal(ranks.encode(new)[:, 0], [0, 0.5, 1.5, 2])
    nothing = np.full((3, 1), np.nan)
    assert np.isnan(ColumnRanks.of(nothing, np.array([False])).encode(nothing)).all()


def test_outputs_keep_their_sizes_on_the_grid():
    y = np.array([[1.0, 100.0], [2.0, 300.0]])
    found = on_grid(y)
    np.testing.assert_allclose(np.ptp(found, axis=0), [2.0**30 / 100, 2.0**31], rtol=1e-6)
    np.testing.assert_array_equal(found, np.rint(found))


# Order of columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [*OWN, "stack"])
def test_the_order_of_columns_changes_no_bit(learner):
    X, y = table()
    order = np.array([3, 0, 4, 2, 1])
    est = explained(learner, X[:, order], y)
    expected = usual(learner)
    assert est.result_.names == tuple(f"x{k}" for k in range(P))
    np.testing.assert_array_equal(est.result_.raw_effects, expected.raw_effects[order])
    np.testing.assert_array_equal(est.result_.standard_errors, expected.standard_errors[order])
    np.testing.assert_array_equal(est.result_.first_order, expected.first_order[order])
    local, given = est.explain(X[:7, order]), explained(learner, X, y).explain(X[:7])
    np.testing.assert_array_equal(local.values, given.values[:, order])
    np.testing.assert_array_equal(local.data, given.data[:, order])


def test_the_game_of_a_result_is_in_the_order_of_the_columns():
    result = usual("boosting")
    assert result.game_names == result.names
    np.testing.assert_allclose(result.weights @ result.values, result.raw_effects)
    alone = [result.values[(result.subsets == row).all(axis=1)][0] for row in np.eye(P, dtype=bool)]
    np.testing.assert_array_equal(alone, result.first_order)


def test_interactions_and_comparisons_are_in_the_order_of_the_columns():
    X, y = table()
    order, tables = np.array([3, 0, 4, 2, 1]), []
    for Z in (X, X[:, [3, 0, 4, 2, 1]]):
        one, other = (explained("smooth", Z, t, n_subsets=30) for t in (y, y + 0.5 * X[:, 4]))
        found = one.interactions(n_subsets=30)
        np.testing.assert_array_equal(found.looked_at, np.arange(P))
        tables.append((found.values, compare(one, other, same_rows=True).standard_errors))
    (values, errors), (moved_values, moved_errors) = tables
    np.testing.assert_allclose(values[np.ix_(order, order)], moved_values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(errors[order], moved_errors, rtol=1e-9)


def test_groups_of_columns_and_a_screen_keep_no_order():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 40))
    y = X[:, 0] + X[:, 7] * X[:, 8] + rng.standard_normal(120)
    order = rng.permutation(40)
    names = np.array([f"c{k}" for k in range(40)])
    groups = {"both": ["c7", "c8"]}
    est = ShapleyEffects("boosting", groups=groups, screen=8, n_subsets=20, random_state=0)
    one = est.fit(pd.DataFrame(X, columns=names), y).result_
    other = est.fit(pd.DataFrame(X[:, order], columns=names[order]), y).result_
    found = [dict(zip(r.names, r.raw_effects, strict=True)) for r in (one, other)]
    assert found[0] == found[1]
    assert one.names != other.names


def test_columns_of_the_same_ranks_have_an_order():
    rng = np.random.default_rng(3)
    x = rng.random(20)
    rare = np.zeros((2, 400))
    rare[0, 399 // 2], rare[1, 399 // 2 + 1] = 1, 1  # between the rows that are looked at
    for columns in (np.column_stack([x, np.exp(x), x**3, 8 * x]), np.array(rare).T):
        none = np.zeros(columns.shape[1], dtype=bool)
        order = rng.permutation(columns.shape[1])
        while (order == np.arange(len(order))).all():
            order = rng.permutation(columns.shape[1])
        one, other = column_order(columns, none), column_order(columns[:, order], none)
        np.testing.assert_array_equal(columns[:, one], columns[:, order][:, other])


def test_a_fitted_model_keeps_the_order_of_its_columns():
    X, y = table()
    model = paper_forest(20).set_params(random_state=0).fit(X[:100], y[:100])
    est = ShapleyEffects.from_fitted(model, X[100:], y[100:], n_subsets=8, random_state=0)
    assert est.effects_.argmax() == est.result_.first_order.argmax()
    np.testing.assert_array_equal(est._fitted_game.selection.kept, np.arange(P))
    assert est._fitted_game.columns is None


# Weights and repeated rows ------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [*OWN, "stack", "as_published"])
def test_whole_weights_are_repeated_rows(learner):
    X, y = table()
    weight = np.random.default_rng(4).integers(1, 5, N)
    row_of = np.repeat(np.arange(N), weight)
    one = explained(learner, X, y, sample_weight=weight)
    other = explained(learner, X[row_of], y[row_of], row_groups=row_of)
    assert_close(other.result_, one.result_, atol=0)
    assert other.result_.n_rows == weight.sum()
    np.testing.assert_array_equal(other.explain().values, one.explain().values[row_of])


@pytest.mark.parametrize("learner", OWN)
def test_whole_weights_are_repeated_rows_of_larger_groups(learner):
    X, y = table()
    weight, units = np.random.default_rng(5).integers(1, 4, N), np.arange(N) // 3
    row_of = np.repeat(np.arange(N), weight)
    one = explained(learner, X, y, sample_weight=weight, row_groups=units)
    other = explained(learner, X[row_of], y[row_of], row_groups=[f"u{u}" for u in units[row_of]])
    assert_close(other.result_, one.result_, atol=0)


@pytest.mark.parametrize("learner", ["boosting", "forest"])
def test_few_rows_of_large_weights_are_learnt_from(learner):
    """A table of counts: no leaf could hold five of its rows."""
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1, 2) for c in (0, 1)], dtype=float)
    X = np.vstack([X, X])
    y = X[:, 0] + 0.1 * np.repeat([0, 1], len(X) // 2)
    est = explained(learner, X, y, sample_weight=np.full(len(X), 50))
    assert est.explained_variance_ > 0.9


def test_copies_share_their_influence_in_comparisons():
    """In one of two fits some copies are joined, in the other all differ in y."""
    X, y = table()
    row_of = np.repeat(np.arange(N), np.arange(N) % 3 + 1)
    moved = y[row_of] + 1e-9 * np.arange(len(row_of))
    fits = [explained("boosting", X[row_of], t, 30, row_groups=row_of) for t in (y[row_of], moved)]
    same = compare(*fits, same_rows=True).standard_errors
    assert (same < 0.7 * compare(*fits, same_rows=False).standard_errors).all()


def test_weights_of_1_and_groups_of_one_row_are_none():
    X, y = table()
    given = explained("forest", X, y, sample_weight=np.ones(N), row_groups=np.arange(N)[::-1])
    assert_close(given.result_, usual("forest"), atol=0)


def test_rows_that_a_splitter_counts_are_not_joined():
    X = np.zeros((4, 1))
    problem = Problem.of(X, [1, 1, 1, 1], row_groups=[0, 0, 1, 1], cv=GroupKFold(2))
    assert with_copies_joined(problem) is problem
    shares = Problem.of(X, [1, 1, 1, 1], row_groups=[0, 0, 1, 1], sample_weight=[0.5, 1, 1, 1])
    assert with_copies_joined(shares) is shares


def test_rows_that_differ_anywhere_are_not_joined():
    X = np.array([[0.0, np.nan], [-0.0, np.nan], [0.0, 1.0], [0.0, np.nan], [0.0, np.nan]])
    problem = Problem.of(X, [1, 1, 1, 2, 1], row_groups=[0, 0, 0, 0, 1])
    joined = with_copies_joined(problem)
    assert joined.row_of.tolist() == [0, 0, 1, 2, 3]
    assert joined.weight.tolist() == [2, 1, 1, 1]
    assert joined.row_groups.tolist() == [0, 0, 0, 1]
    assert (joined.n_read, joined.n_measured, joined.n_units, joined.n_counted) == (5, 5, 2, 5)


def test_players_come_in_the_order_of_their_columns():
    X, y = table()
    problem = Problem.of(X, y, players=[[0, 3], [1], [2, 4]])
    ordered, columns, players = in_column_order(problem)
    for player, place in zip(ordered.players, players, strict=True):
        np.testing.assert_array_equal(np.sort(columns[player]), problem.players[place])
