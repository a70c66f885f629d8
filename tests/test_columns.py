"""Tables of every kind become the same numbers; what cannot be read is said in a sentence."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shaff import ShapleyEffects, load_result
from shaff.data.rows import read_row_groups, read_sample_weight, sample_rows
from shaff.data.sources.files import Source, read_source
from shaff.data.table import read_players, read_table
from shaff.data.target import MAX_CLASSES, read_target
from shaff.fitting.notes.reading import sentence

N = 12
MIXED = {
    "day": [dt.date(1970, 1, 1 + i) if i % 5 else None for i in range(N)],
    "clock": [dt.datetime(1970, 1, 1, i) if i % 5 else None for i in range(N)],
    "lasts": [dt.timedelta(hours=6 * i) if i % 5 else None for i in range(N)],
    "flag": [True, None, False] * 4,
    "text": ["u", "", None] * 4,
    "price": [decimal.Decimal(i) / 4 for i in range(N)],
    "count": [3, None, 1] * 4,
}


def notes(table):
    """Sentences about how a table was read."""
    return tuple(map(sentence, table.remarks))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_library_gives_the_same_numbers(library):
    table = read_table(library(MIXED))
    assert table.names == tuple(MIXED)
    assert table.categorical.tolist() == [name == "text" for name in MIXED]
    column = dict(zip(table.names, table.X.T, strict=True))
    np.testing.assert_allclose(column["day"][:5], [np.nan, 1, 2, 3, 4])
    np.testing.assert_allclose(column["clock"][:3], [np.nan, 1 / 24, 2 / 24])
    np.testing.assert_allclose(column["lasts"][:3], [np.nan, 0.25, 0.5])
    np.testing.assert_allclose(column["flag"][:3], [1, np.nan, 0])
    np.testing.assert_allclose(column["text"][:3], [1, 0, np.nan])  # "" is a category
    np.testing.assert_allclose(column["price"][:3], [0, 0.25, 0.5])
    np.testing.assert_allclose(column["count"][:3], [3, np.nan, 1])
    said = " ".join(notes(table))
    assert all(f"'{name}'" in said for name in ("day", "clock", "lasts"))


def test_pandas_types():
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None] * 6, dtype="Int64"),
            "boolean": pd.array([True, None] * 6, dtype="boolean"),
            "string": pd.array(["a", None] * 6, dtype="string"),
            "category": pd.Categorical([3, 1, None] * 4),
            "zone": pd.to_datetime(["1970-01-02T00:00Z", None] * 6, utc=True),
            "mixed": ["a", 1, 2.5, None] * 3,
            7: 1.5,
        }
    )
    table = read_table(frame)
    assert table.names[-1] == "7"
    assert table.categorical.tolist() == [False, False, True, True, False, True, False]
    first_two = table.X[:2, :5].T
    expected = [[1, np.nan], [1, np.nan], [0, np.nan], [1, 0], [1, np.nan]]
    np.testing.assert_allclose(first_two, expected)
    assert any("mixes text and numbers" in note for note in notes(table))


def test_chosen_columns_are_categories_whatever_their_type():
    frame = pl.DataFrame({"zip": [80331, 10115, 80331], "x": [1.0, 2.0, 3.0]})
    table = read_table(frame, categorical=["zip"])
    assert table.X[:, 0].tolist() == [1.0, 0.0, 1.0]
    matrix = read_table(np.array([[70.0, 1.0], [-3.0, 1.0], [np.nan, 1.0]]), categorical=[0])
    np.testing.assert_array_equal(matrix.X[:, 0], [1.0, 0.0, np.nan])
    assert matrix.categorical.tolist() == [True, False]


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ([[1]] * N, TypeError, "'bad' holds values of type list"),
        ([{}] * N, TypeError, "'bad' holds values of type dict"),
        ([1j] * N, TypeError, "'bad' holds"),
        ([None] * N, ValueError, "'bad' has no value at all"),
        ([np.inf] * N, ValueError, "'bad' holds infinite values"),
        (pd.interval_range(0, N), TypeError, "'bad' holds"),
        (pd.period_range("2020", periods=N, freq="M"), TypeError, r"period\[M\].*to_timestamp"),
        (pd.arrays.SparseArray(np.eye(N)[0]), TypeError, r"Sparse\[float64.*to_dense"),
    ],
)
def test_what_cannot_be_read_is_named(column, error, message):
    frame = pd.DataFrame({"good": range(N), "bad": column})
    with pytest.raises(error, match=message):
        read_table(frame)


def test_all_empty_columns_are_named_at_once():
    frame = pl.DataFrame({"a": [None] * N, "b": range(N), "c": [None] * N})
    with pytest.raises(ValueError, match="Columns 'a', 'c' have no value at all"):
        read_table(frame)
    many = pd.DataFrame(np.full((N, 11), np.nan)).rename(columns=str)
    with pytest.raises(ValueError, match="'7' and 3 more have no value"):
        read_table(many)


def test_a_dict_is_no_table_yet():
    with pytest.raises(TypeError, match="X is a dict: make it a data frame"):
        ShapleyEffects().fit({"a": list(range(N))}, np.arange(N))


def test_lazy_frames_are_collected():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.standard_normal((60, 3)), schema=["a", "b", "y"])
    lazy = frame.lazy()
    settings = {"estimator": "smooth", "n_subsets": 4, "random_state": 0}
    expected = ShapleyEffects(**settings).fit(frame.drop("y"), frame["y"])
    found = ShapleyEffects(**settings).fit(lazy.drop("y"), lazy.select("y"))
    assert found.effects_.tolist() == expected.effects_.tolist()
    assert found.result_.target == "y"
    assert found.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("library", [pd, pl, pa, np])
def test_results_come_in_the_library_that_came_in(library):
    columns = {"a": np.arange(20.0), "b": np.tile([0.0, 1.0], 10)}
    make = {pd: pd.DataFrame, pl: pl.DataFrame, pa: pa.table}
    X = np.stack(list(columns.values()), axis=1) if library is np else make[library](columns)
    settings = {"estimator": "smooth", "n_subsets": 4, "random_state": 0}
    result = ShapleyEffects(**settings).fit(X, np.arange(20.0) ** 2).result_
    expected = pd.DataFrame if library is np else type(X)
    assert isinstance(result.to_frame(), expected)
    assert isinstance(load_result(result.to_json()).to_frame(), expected)
    assert isinstance(result.to_frame("polars"), pl.DataFrame)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_is_read_as_what_it_spells(library):
    table = read_table(
        library(
            {
                "a": [f"{i / 4}" for i in range(N)],
                "b": ["$1,234.50", "?", None, *"123456789"],
                "town": ["Rome", "Oslo"] * 6,
                "zip": [f"0213{i % 4}" for i in range(N)],
                "day": [f"{i + 10}/1/2020" for i in range(N)],
            }
        )
    )
    assert table.categorical.tolist() == [False, False, True, True, False]
    np.testing.assert_array_equal(table.X[:, 0], np.arange(N) / 4)
    np.testing.assert_array_equal(table.X[:, 1], [1234.5, np.nan, np.nan, *range(1, 10)])
    np.testing.assert_array_equal(table.X[:, 4], 18271 + np.arange(N))  # 10 January 2020
    assert notes(table) == (
        "Column 'a' holds numbers, stored as text: read as numbers.",
        "Column 'b' holds amounts in $ with commas between thousands but for '?' (missing), stored "
        "as text: read as numbers.",
        "Column 'zip' holds codes with leading zeros: read as categories.",
        "Column 'day' holds dates with the day first, stored as text: read as days since 1970.",
    )


def test_whole_numbers_and_open_dates_stay_categories_with_a_word():
    frame = pd.DataFrame(
        {"a": [str(i % 4) for i in range(N)], "day": [f"{i % 9 + 1}/1/2020" for i in range(N)]}
    )
    table = read_table(frame)
    assert table.categorical.all()
    assert notes(table) == (
        "Column 'a' holds whole numbers stored as text: read as categories; convert them if they "
        "are amounts.",
        "Column 'day' holds dates such as '1/1/2020' that may begin with the day or the month: "
        "read as categories.",
    )


def test_categories_that_are_meant_as_such_get_no_note():
    values = [str(i % 4) for i in range(N)]
    assert read_table(pd.DataFrame({"a": pd.Categorical(values)})).remarks == ()
    assert read_table(pd.DataFrame({"a": values}), categorical=["a"]).remarks == ()
    assert "numbers stored as text" in notes(read_table(pd.DataFrame({"a": values})))[0]


def test_names_must_differ():
    frame = pd.DataFrame(np.ones((N, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        read_table(frame)
    with pytest.raises(ValueError, match="'1' occurs more than once"):
        read_table(pd.DataFrame(np.ones((N, 2)), columns=[1, "1"]))


def test_a_factor_of_ids_is_said_to_be_one():
    table = read_table(pd.DataFrame({"id": [f"p{i}" for i in range(N)]}))
    assert "another category in every row" in notes(table)[0]


def test_one_hot_blocks_are_one_player():
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=400)
    frame = pd.get_dummies(pd.Series(level), prefix="level")
    frame["x"] = rng.standard_normal(400)
    y = np.array([0.0, 2.0, 1.0])[level] + frame["x"] + 0.1 * rng.standard_normal(400)
    groups = {"level": [c for c in frame.columns if c.startswith("level")]}
    est = ShapleyEffects("forest", groups=groups, random_state=0).fit(frame, y)
    assert est.get_feature_names_out().tolist() == ["level", "x"]
    assert (est.effects_ > 0.2).all()
    with pytest.raises(ValueError, match="group 'g' has no columns"):
        read_players({"g": []}, ("a", "b"))
    with pytest.raises(ValueError, match="'nowhere', which the data do not have"):
        read_players({"g": ["nowhere"]}, ("a", "b"))
    with pytest.raises(ValueError, match="'a' is in two groups"):
        read_players({"g": ["a"], "h": ["a"]}, ("a", "b"))


@pytest.mark.parametrize("library", [pd.Series, pl.Series, pa.array, list, np.array])
def test_targets_of_every_library(library):
    labels = ["b", "a", "c", "a"]
    target = read_target(library(labels), 4)
    assert target.classes == target.outputs == ("a", "b", "c")
    np.testing.assert_array_equal(target.y.argmax(axis=1), [1, 0, 2, 0])
    np.testing.assert_array_equal(read_target(library([3, 1, 2, 2]), 4).y[:, 0], [3, 1, 2, 2])
    two = read_target(library([True, False, True, True]), 4)
    assert two.classes == ("False", "True")
    np.testing.assert_array_equal(two.y[:, 0], [1, 0, 1, 1])


def test_frames_of_outputs_keep_their_names():
    target = read_target(pl.DataFrame({"u": [1, 2], "v": [0.5, 0.1]}), 2)
    assert target.outputs == ("u", "v")
    assert target.y.tolist() == [[1, 0.5], [2, 0.1]]
    assert read_target(pd.DataFrame({"u": [1, 2]}), 2).name == "u"


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([1.0, None, 2.0], ValueError, "contains NaN"),
        (["a", None, "b"], ValueError, "missing labels"),
        ([1.0, np.inf, 2.0], ValueError, "infinity"),
        (["a", 1, 2], TypeError, "mixes numbers and labels"),
        (pd.to_datetime(["2020-01-01"] * 3).to_series(), TypeError, "Datetime"),
        (np.array(["2020-01-01"] * 3, dtype="M8[D]"), TypeError, "datetime64"),
        ([{}, {}, {}], TypeError, "type dict"),
        ([1.0, 2.0], ValueError, "inconsistent"),
        (np.zeros((3, 2, 2)), ValueError, "3 dimensions"),
        (np.array([1j, 2j, 3j]), TypeError, "complex"),
    ],
)
def test_targets_that_cannot_be_read(y, error, message):
    with pytest.raises(error, match=message):
        read_target(y, 3)


def test_too_many_classes_are_refused():
    n = MAX_CLASSES + 1
    with pytest.raises(ValueError, match="101 different labels"):
        read_target([f"id {i}" for i in range(n)], n)


def test_weights_and_groups_are_checked():
    for bad in ([1.0, 2.0], [1.0, -1.0, 1.0], [0.0] * 3, [np.nan, 1.0, 1.0]):
        with pytest.raises(ValueError, match="sample_weight"):
            read_sample_weight(bad, 3)
    with pytest.raises(ValueError, match="sample_weight"):
        read_sample_weight(["a", "b", "c"], 3)
    with pytest.raises(ValueError, match="one group only"):
        read_row_groups(["a"] * 3, 3)


def test_samples_keep_rows_together():
    n = 1000
    X = pd.DataFrame({"x": np.arange(n)})
    groups = np.arange(n) // 10
    sample = sample_rows((X, pl.Series(np.arange(n)), list(range(n)), groups), 205, seed=3)
    frame, y, weight, kept = sample.arrays
    assert len(frame) == 200
    assert (np.bincount(kept)[np.unique(kept)] == 10).all()
    np.testing.assert_array_equal(frame["x"], y.to_numpy())
    np.testing.assert_array_equal(frame["x"], weight)
    assert "200 of the 1000 rows" in notes(sample)[0]
    with pytest.raises(ValueError, match="inconsistent"):
        sample_rows((X, [1, 2], None, None), 100, seed=0)


def test_large_tables_are_sampled_and_the_result_says_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2))
    y = X[:, 0] + 0.5 * rng.standard_normal(2000)
    part, whole = (
        ShapleyEffects("forest", max_rows=m, random_state=0).fit(X, y) for m in (400, None)
    )
    assert part.result_.n_rows == 400
    assert any("400 of the 2000 rows" in note for note in part.result_.notes)
    ratio = part.result_.standard_errors[0] / whole.result_.standard_errors[0]
    assert 1.5 < ratio < 3.5  # five times fewer rows
    assert abs(part.effects_[0] - whole.effects_[0]) < 4 * part.result_.standard_errors[0]
    with pytest.raises(ValueError, match="max_rows"):
        ShapleyEffects(max_rows=3).fit(X, y)


def test_parquet_is_sampled_while_it_is_read(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": range(200_000)}).write_parquet(path, row_group_size=10_000)
    table = read_source(Source((path,)), max_rows=1000, seed=1)
    rows = table.frame["a"].to_numpy()
    assert table.n_rows == 200_000
    assert len(np.unique(rows)) == 1000
    assert (np.diff(rows) > 0).all()
    assert abs(rows.mean() / 100_000 - 1) < 0.1
    assert read_source(Source((path,)), max_rows=200_000).frame.height == 200_000
