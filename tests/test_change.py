"""`explain_change`: what moved the mean of an outcome between two tables."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest

from benchmarks.change import truth
from shaff import Change, ShapleyEffects, explain_change, load_result, rate
from shaff.errors import InputError
from shaff.fitting.fitted_game import as_played
from shaff.subsets import Subsets

QUICK = {"estimator": "smooth", "n_splits": 2, "random_state": 0}


def month(seed, moved=0.0, extra=0.0, n=150):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["staff", "calls", "rain"])
    frame["staff"] += moved
    frame["wait"] = frame["staff"] + 2 * frame["calls"] + extra + 0.3 * rng.standard_normal(n)
    return frame


@pytest.fixture(scope="module")
def found():
    return explain_change(month(0), month(1, 1.0, 0.5), "wait", **QUICK)


def test_the_parts_are_those_that_were_put_in(found):
    before, after = month(0), month(1, 1.0, 0.5)
    assert found.names == ("staff", "calls", "rain")
    # The parts of the rows at hand: slopes times the change of the means.
    moved = after[list(found.names)].mean() - before[list(found.names)].mean()
    np.testing.assert_allclose(found.parts, moved * [1, 2, 0], atol=0.08)
    assert found.mechanism == pytest.approx(0.5, abs=0.1)
    assert found.total == pytest.approx(after["wait"].mean() - before["wait"].mean())
    assert found.estimates.sum() == pytest.approx(found.total)
    assert found.p_values[0] < 0.05


def test_exchanging_the_tables_changes_the_sign(found):
    back = explain_change(month(1, 1.0, 0.5), month(0), "wait", **QUICK)
    np.testing.assert_allclose(back.estimates, -found.estimates, atol=1e-12)


def test_a_shift_of_one_table_belongs_to_the_mechanism(found):
    after = month(1, 1.0, 0.5).assign(wait=lambda frame: frame["wait"] + 7)
    shifted = explain_change(month(0), after, "wait", **QUICK)
    np.testing.assert_allclose(shifted.parts, found.parts, atol=1e-6)
    assert shifted.mechanism == pytest.approx(found.mechanism + 7, abs=1e-6)
    np.testing.assert_allclose(shifted.standard_errors, found.standard_errors, atol=1e-6)


def test_parts_are_shapley_values_of_mean_conditional_means(found):
    """By brute force: every subset, predicted in the rows of the other table."""
    tables = [month(0), month(1, 1.0, 0.5)]
    moved = []
    for table, other in (tables, tables[::-1]):
        fit = ShapleyEffects("smooth", random_state=0).fit(table, "wait")
        game, rows = fit._fitted_game, other[list(found.names)].to_numpy()
        played = as_played(game.selection, game.game, game.columns, rows)
        order = list(game.selection.kept)
        means = {frozenset(): table["wait"].mean()}
        for size in (1, 2, 3):
            for some in combinations(range(3), size):
                mask = np.zeros((1, 3), dtype=bool)
                mask[0, [order.index(j) for j in some]] = True
                predicted = next(iter(game.game.values.predict(Subsets.from_masks(mask), played)))
                means[frozenset(some)] = predicted.mean()
        moved.append([
            sum((means[frozenset({*some, j})] - means[frozenset(some)]) / comb(2, size) / 3
                for size in range(3)
                for some in combinations([k for k in range(3) if k != j], size))
            for j in range(3)
        ])  # fmt: skip
    np.testing.assert_allclose(found.parts, np.subtract(*moved) / 2, atol=1e-9)


def test_the_share_of_a_class_is_a_mean(found):
    tables = [month(0), month(1, 1.0)]
    labels = [np.where(table.pop("wait") > 0, "long", "short") for table in tables]
    by_class = explain_change(*tables, labels, **QUICK)
    numbers = explain_change(*tables, [(one == "short").astype(int) for one in labels], **QUICK)
    np.testing.assert_array_equal(by_class.estimates, numbers.estimates)
    assert by_class.means[0] == np.mean(labels[0] == "short")


def test_columns_are_matched_by_name(found):
    after = month(1, 1.0, 0.5)
    mixed = explain_change(month(0), after[["rain", "wait", "calls", "staff"]], "wait", **QUICK)
    assert mixed.names == found.names
    np.testing.assert_array_equal(mixed.estimates, found.estimates)
    np.testing.assert_array_equal(mixed.standard_errors, found.standard_errors)


def test_names_of_columns_need_not_be_text(found):
    tables = [month(0), month(1, 1.0, 0.5)]
    outcomes = [table.pop("wait") for table in tables]
    before, after = (table.set_axis([2, 0, 1], axis=1) for table in tables)
    same = explain_change(before, after[[0, 1, 2]], outcomes, **QUICK)
    np.testing.assert_array_equal(same.estimates, found.estimates)


def test_a_constant_column_moves_nothing():
    tables = [month(seed, 0.5 * seed).assign(place="here", level=3.7) for seed in (0, 1)]
    found = explain_change(*tables, "wait", **QUICK)
    constant = [found.names.index(name) for name in ("place", "level")]
    assert (found.parts[constant] == 0).all()
    assert (found.standard_errors[constant] == 0).all()
    assert (found.p_values[constant] == 1).all()


def test_a_warning_is_given_once():
    tables = [month(0).assign(place="here"), month(1).assign(place="there")]
    with pytest.warns(UserWarning, match="categories that did not occur in fit") as heard:
        explain_change(*tables, "wait", **QUICK)
    assert len(heard) == 1


def test_any_frame_will_do(found, tmp_path):
    tables = [pl.from_pandas(month(0)), pl.from_pandas(month(1, 1.0, 0.5))]
    same = explain_change(*tables, "wait", **QUICK)
    np.testing.assert_array_equal(same.estimates, found.estimates)
    frame = same.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame["cause"].to_list()[-1] == frame["kind"].to_list()[-1] == "mechanism"
    assert frame["change"].sum() == pytest.approx(found.total)
    same.to_json(tmp_path / "c.json")
    again = load_result(tmp_path / "c.json")
    assert isinstance(again, Change)
    assert again.summary() == same.summary()
    assert repr(again) == repr(same)


def test_the_picture_shows_the_mechanism_last(found):
    ax = found.plot(max_inputs=2).ax_
    assert [text.get_text() for text in ax.get_yticklabels()][-1] == "how the inputs act"
    assert len(ax.get_yticklabels()) == 3
    assert ax.get_title(loc="left") == "Mean of wait: after minus before"


def test_the_known_parts_of_the_benchmark_are_right():
    """Closed forms of two of its cases."""
    np.testing.assert_allclose(truth("slopes"), [0, 0, 0, 0, 0.5], atol=0.01)
    np.testing.assert_allclose(truth("dependent"), [0.65, -0.15, 0, 0, 0], atol=0.01)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"after": month(1).drop(columns="rain")}, "Only one of the two tables has 'rain'"),
        ({"after": month(1).to_numpy()}, "both be frames"),
        ({"y": "nothing"}, "no such column"),
        ({"y": np.zeros(300)}, "name of a column, or a pair"),
        ({"y": (np.zeros(150), np.zeros(149))}, "after has 150 rows, but 149 outcomes"),
        ({"y": (np.full(150, np.nan), np.zeros(150))}, "finite number"),
        ({"y": (["a", "b", "c"] * 50, ["a"] * 150)}, "two classes, not 3"),
        ({"before": month(0, n=19)}, "before has 19 rows; its halves need at least 10"),
        ({"y": (["a", None, "b"] * 50, ["a"] * 150)}, "missing labels"),
        ({"y": (rate(np.ones(150), np.arange(1, 151)),) * 2}, "y has weights"),
        ({"n_splits": 1}, "at least 2"),
        ({"n_splits": np.float64(2)}, "at least 2"),
        ({"labels": ("a", "a")}, "pair of different names"),
        ({"labels": None}, "pair of different names"),
    ],
)
def test_bad_input_ends_in_a_sentence(change, match):
    given = {"before": month(0), "after": month(1), "y": "wait", **QUICK, **change}
    with pytest.raises(InputError, match=match):
        explain_change(**given)
