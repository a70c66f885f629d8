"""Rows that depend on each other: series with time=, and notes on copies, units and order."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.signal import lfilter

from shaff import ShapleyEffects, explain_many, load_result, shapley_effects
from shaff._util.series import autocorrelations, block_length, correlation_length, has_unit_root
from shaff.cli import main
from shaff.data.problem import Problem, RawData, ReadingOptions, read_problem
from shaff.data.time import block_splits, read_time, time_blocks
from shaff.errors import InputError
from shaff.fitting.checks.order import serial_correlation
from shaff.fitting.checks.residuals import scores, within_groups
from shaff.fitting.checks.units import beyond_curve

SERIES, TWIN, UNIT, WALK = "as in a series", "have a twin", "Make it the row groups", "wanders"


def ar(rng, n, a, p=None):
    noise = rng.standard_normal((n + 200, 1 if p is None else p))
    series = lfilter([1], [1, -a], noise, axis=0)[200:]
    return series[:, 0] if p is None else series


def explained(X, y, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that nothing is explained
        return ShapleyEffects(n_subsets=8, random_state=0).fit(X, y, **given).result_


def said(result, words):
    return [note for note in result.notes if words in note]


# Series ----------------------------------------------------------------------------------------


def test_autocorrelations_of_a_series_are_those_of_its_law():
    found = autocorrelations(ar(np.random.default_rng(0), 20_000, 0.8), 5)
    np.testing.assert_allclose(found, 0.8 ** np.arange(6), atol=0.03)


def test_blocks_are_as_long_as_the_rule_of_politis_and_white_says():
    series = ar(np.random.default_rng(0), 4000, 0.6)
    # By hand: (2 g^2 / (4/3 s^2) n)^(1/3) with g / s = 2 a / (1 - a^2).
    by_hand = (1.5 * (2 * 0.6 / (1 - 0.36)) ** 2 * 4000) ** (1 / 3)
    assert block_length(series) == pytest.approx(by_hand, rel=0.2)
    assert block_length(np.random.default_rng(0).standard_normal(4000)) <= 3
    assert 5 <= correlation_length(series) <= 12


def test_unit_roots():
    walks, tame = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        walks += has_unit_root(rng.standard_normal(400).cumsum())
        tame += has_unit_root(ar(rng, 1000, 0.9))
    assert walks >= 57
    assert tame <= 1
    assert has_unit_root(np.arange(300.0) + np.random.default_rng(0).standard_normal(300))
    assert not has_unit_root(np.ones(100))


# Folds and blocks ------------------------------------------------------------------------------


def test_folds_are_stretches_of_time_with_a_gap_on_both_sides():
    rng = np.random.default_rng(0)
    n, time = 600, rng.permutation(600)
    y = ar(rng, n, 0.8)[time]
    data = RawData(rng.standard_normal((n, 2)), y, None, None, time)
    problem = read_problem(data, ReadingOptions(seed=0))
    held = []
    for fold in problem.folds(0):
        test, train = np.sort(time[fold.test]), time[fold.train]
        assert np.array_equal(test, np.arange(test[0], test[-1] + 1))
        gap = min(np.abs(train[:, None] - test[[0, -1]]).min(axis=0).tolist(), default=0)
        near = ((train >= test[0] - 5) & (train <= test[-1] + 5)).sum()
        assert gap > 5
        assert near == 0
        held += test.tolist()
    assert sorted(held) == list(range(n))
    for fold in problem.folds(0):  # whole blocks, which are the row groups
        assert not np.isin(problem.row_groups[fold.test], problem.row_groups[fold.train]).any()


def test_rows_of_one_time_stay_in_one_block():
    time = np.repeat(np.arange(40), 5)
    blocks = time_blocks(time, 3)
    assert (np.diff(blocks.reshape(40, 5), axis=1) == 0).all()
    assert len(np.unique(blocks)) == 20
    for train, test in block_splits(blocks, None):
        assert not np.isin(time[test], time[train]).any()


def test_times_of_any_kind_have_one_order():
    days = pd.date_range("2021-01-01", periods=12)[::-1]
    wanted = list(range(11, -1, -1))
    for time in (
        days,
        days.to_series(),
        days.to_numpy(),
        days.strftime("%Y-%m-%d").to_list(),
        pl.Series(days.to_list()),
        np.arange(12.0)[::-1],
        [day.date() for day in days],
        [f"2020-{month:02}" for month in range(12, 0, -1)],
        [f"{year}" for year in range(2011, 1999, -1)],
    ):
        assert read_time(time, 12).tolist() == wanted


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time": np.arange(50) % 3}, "3 different values"),
        ({"time": np.append(np.arange(49.0), np.nan)}, "missing in some rows"),
        ({"time": ["a", "b"] * 25}, "it holds text"),
        ({"time": np.arange(20)}, "expected (50,)"),
        ({"time": np.arange(50), "row_groups": np.arange(50) // 5}, "not both"),
        ({"time": "when"}, "no names"),
    ],
)
def test_bad_times_are_refused_in_a_sentence(given, words):
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(InputError) as error:
        ShapleyEffects().fit(X, X[:, 0], **given)
    assert words in str(error.value)


def test_learners_and_splitters_that_cannot_keep_to_time_are_refused():
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.raises(InputError, match="forest"):
        ShapleyEffects("forest").fit(X, X[:, 0], time=np.arange(60))
    splits = [(np.arange(30), np.arange(30, 60))]
    with pytest.raises(InputError, match="folds of its own"):
        ShapleyEffects(cv=splits).fit(X, X[:, 0], time=np.arange(60))
    with pytest.raises(InputError, match="value_rows"):
        ShapleyEffects(value_rows="all", max_rows=30).fit(X, X[:, 0], time=np.arange(60))


# Results with time -----------------------------------------------------------------------------


def test_time_by_name_is_no_input_and_stands_in_the_call():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "b"])
    frame["day"] = pd.date_range("2020-01-01", periods=200)
    frame["y"] = frame["a"] + rng.standard_normal(200)
    by_name = explained(frame, "y", time="day")
    assert by_name.names == ("a", "b")
    assert "time='day'" in by_name.call
    inputs, y = frame[["a", "b"]], frame["y"]
    by_array = shapley_effects(inputs, y, time=frame["day"], n_subsets=8, random_state=0)
    assert by_name.effects.tolist() == by_array.effects.tolist()
    many = explain_many(inputs, y, time=frame["day"], n_subsets=8, random_state=0)
    assert many["y"].effects.tolist() == by_array.effects.tolist()


def test_the_order_of_the_rows_does_not_matter_beside_times():
    rng = np.random.default_rng(1)
    X, y, order = ar(rng, 300, 0.7, 2), ar(rng, 300, 0.7), rng.permutation(300)
    y = y + X[:, 0]
    one = explained(X, y, time=np.arange(300))
    other = explained(X[order], y[order], time=order)
    np.testing.assert_allclose(one.explained_variance, other.explained_variance, atol=0.05)


def test_series_that_have_nothing_to_do_with_each_other_are_not_found():
    found, naive = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = ar(rng, 1000, 0.9, 1), ar(rng, 1000, 0.9)
        found += explained(X, y, time=np.arange(1000)).p_values[0] < 0.05
        naive += explained(X, y).p_values[0] < 0.05
    assert found <= 3  # 8 % of 20, and chance
    assert naive >= 8


def test_a_series_that_depends_on_another_is_found():
    rng = np.random.default_rng(0)
    X = ar(rng, 800, 0.8, 2)
    result = explained(X, X[:, 0] + ar(rng, 800, 0.8), time=np.arange(800))
    assert result.p_values[0] < 0.001
    assert result.p_values[1] > 0.01
    assert not said(result, SERIES)
    # Blocks make the error of v larger than independent rows would.
    plain = explained(X, X[:, 0] + ar(rng, 800, 0.8))
    assert result.explained_variance_error > 1.3 * plain.explained_variance_error


def test_p_values_of_random_walks_are_withheld(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 2)).cumsum(axis=0), rng.standard_normal(400).cumsum()
    result = explained(X, y, time=np.arange(400))
    assert result.p_values is None
    assert said(result, WALK)
    assert "p-value" not in result.summary()
    path = tmp_path / "walk.json"
    result.to_json(path)
    assert load_result(path).p_values is None
    with pytest.raises(InputError, match="no p-values"):
        result.null_test()
    changes = explained(np.diff(X, axis=0), np.diff(y), time=np.arange(399))
    assert changes.p_values is not None
    assert not said(changes, WALK)


def test_time_on_the_command_line(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.standard_normal(150), "b": rng.standard_normal(150)})
    frame = frame.with_columns(
        y=pl.col("a") + pl.Series(rng.standard_normal(150)),
        day=pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 5, 29), eager=True),
    )
    path, saved = tmp_path / "series.csv", tmp_path / "result.json"
    frame.write_csv(path)
    words = ["explain", str(path), "--target", "y", "--subsets", "4", "--jobs", "1"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--time", "day", "--json", str(saved)])
    assert stop.value.code == 0
    result = load_result(saved)
    assert result.names == ("a", "b")
    assert "--time day" in result.call
    with pytest.raises(SystemExit) as stop:
        main([*words, "--time", "when"])
    assert stop.value.code == 2
    assert "--time: no column is named 'when'" in capsys.readouterr().err


# What notes find -------------------------------------------------------------------------------


def test_series_are_found_along_the_rows_and_along_dates():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 1)).cumsum(axis=0), rng.standard_normal(300).cumsum()
    (note,) = said(explained(X, y), SERIES)
    assert "the order of the rows" in note
    assert "--time" in note
    frame = pd.DataFrame(rng.standard_normal((300, 2)), columns=["a", "b"])
    frame["day"] = pd.date_range("2020-01-01", periods=300)
    y = frame["a"] + ar(rng, 300, 0.7)
    order = rng.permutation(300)
    (note,) = said(explained(frame.iloc[order], y.iloc[order]), SERIES)
    assert "Along 'day'" in note
    assert "--time day" in note


def test_seasons_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    season = np.sin(2 * np.pi * np.arange(400) / 7)
    noise = rng.standard_normal(400)
    (note,) = said(explained(X, X[:, 0] + 1.4 * season + noise), SERIES)
    assert "7 rows apart" in note
    # Too weak for one lag, but not for the wave as a whole.
    assert said(explained(X, X[:, 0] + 0.6 * season + noise), SERIES)


def test_sorted_tables_are_no_series():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    y = X[:, 0] + rng.standard_normal(500)
    left = y - y.mean()
    for order in (np.argsort(y), np.argsort(X[:, 1])):
        assert serial_correlation(Problem.of(X[order], y[order]), np.sort(left)) is None
    # All rows of one class, then all of the other.
    label = np.repeat([1.0, 0.0], 250)
    assert serial_correlation(Problem.of(X, label), label - 0.5) is None
    # The numbers of years are evenly spaced: a series.
    X[:, 2] = 1500 + np.arange(500)
    found = serial_correlation(Problem.of(X, y), ar(rng, 500, 0.8))
    assert found is not None
    assert found.column == "x2"


@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_copies_of_rows_are_found(signal):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = signal * X[:, 0] + rng.standard_normal(150)
    rows = rng.permutation(450) % 150
    (note,) = said(explained(X[rows], y[rows]), TWIN)
    assert note.startswith("100\u202f%")
    assert "row_groups" in note
    assert not said(explained(X[rows], y[rows], row_groups=rows), TWIN)


def test_repeated_designs_with_noise_of_their_own_are_no_copies():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((200, 3)), 4, axis=0)
    assert not said(explained(X, X[:, 0] + rng.standard_normal(800)), TWIN)
    grid = rng.integers(0, 4, size=(800, 3)).astype(float)
    cells = rng.standard_normal((4, 4, 4))[tuple(grid.astype(int).T)]
    assert not said(explained(grid, cells + 0.5 * rng.standard_normal(800)), TWIN)


def test_units_are_found_under_any_name_by_what_their_rows_have_in_common():
    rng = np.random.default_rng(0)
    unit = rng.integers(0, 50, 500)
    frame = pd.DataFrame({"a": rng.standard_normal(500), "venue": [f"v{k}" for k in unit]})
    noise = rng.standard_normal(500)
    (note,) = said(explained(frame, frame["a"] + rng.standard_normal(50)[unit] + noise), UNIT)
    assert "--row-groups venue" in note
    assert not said(explained(frame, frame["a"] + noise), UNIT)


def test_years_of_schooling_are_no_unit():
    rng = np.random.default_rng(0)
    school = rng.integers(6, 19, 800)
    frame = pd.DataFrame({"school": school, "a": rng.standard_normal(800)})
    y = 0.3 * school + frame["a"] + rng.standard_normal(800)
    assert not said(explained(frame, y), UNIT)
    of_school = rng.standard_normal(20)[school]
    assert said(explained(frame, 2 * of_school + frame["a"] + rng.standard_normal(800)), UNIT)


def test_within_groups_has_its_level():
    p_values = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        groups = rng.integers(0, 40, 200)
        p_values.append(within_groups(scores(rng.standard_t(2, 200)), groups).p_value)
    assert np.mean(np.array(p_values) < 0.05) < 0.08
    assert np.mean(np.array(p_values) < 0.002) < 0.015


def test_a_smooth_curve_has_no_units():
    rng = np.random.default_rng(0)
    units = rng.integers(0, 15, 3000)
    noise = rng.standard_normal(3000)
    assert abs(beyond_curve(scores(np.sqrt(units) + noise), units)) < 0.02
    assert beyond_curve(scores(rng.standard_normal(15)[units] + noise), units) > 0.2
