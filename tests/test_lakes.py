"""Data that need not fit in memory: every kind of lake, by the same rows as a frame."""

from __future__ import annotations

import os
import subprocess
import sys

import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor

from shaff import ShapleyEffects
from shaff.data.problem import RawData, ReadingOptions, read_problem
from shaff.data.rows import draw_rows
from shaff.data.sources.blocks import row_shares
from shaff.data.sources.lakes import DuckLake, frames_of, open_lake
from shaff.data.sources.passes import LakeRows, Tally, sample_lake
from shaff.data.sources.sampled import draw
from shaff.errors import InputError, InputTypeError

N = 600
BOOSTER = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=6, max_features=0.5)
SETTINGS = {"estimator": BOOSTER, "n_subsets": 12, "random_state": 0}
READING = ReadingOptions(seed=0, max_rows=100_000)


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    town = rng.choice(["Bern", "Oslo", "Rome"], n)
    y = X[:, 0] + X[:, 0] * X[:, 1] + (town == "Rome") + 0.3 * rng.standard_normal(n)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=town, y=y)
    frame.loc[::7, "b"] = np.nan
    return frame.assign(weight=rng.integers(1, 3, n), unit=[f"u{i % 97}" for i in range(n)])


TABLE = table()


@pytest.fixture
def folder(tmp_path):
    for k in range(3):
        TABLE[200 * k : 200 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet", row_group_size=70)
    return tmp_path


LAKES = {
    "folder": str,
    "file": lambda folder: _one_file(folder),
    "polars": lambda folder: pl.scan_parquet(folder / "*.parquet"),
    "pyarrow": lambda folder: pyarrow.dataset.dataset(folder),
    "duckdb": lambda folder: duckdb.read_parquet([str(folder / f"{k}.parquet") for k in range(3)]),
    "dask": lambda folder: dask.dataframe.from_pandas(TABLE, npartitions=4),
}


def _one_file(folder):
    path = folder / "whole.parquet"
    TABLE.to_parquet(path)
    return path


def inputs(frame):
    return frame.drop(columns=["y", "weight", "unit"])


@pytest.mark.parametrize("kind", LAKES)
def test_a_lake_is_read_as_the_frame_is(kind, folder):
    drawn = draw(RawData(LAKES[kind](folder), "y", "weight", "unit"), READING, "sample")
    found = drawn.with_remarks(read_problem(drawn.data, drawn.options))
    whole = RawData(inputs(TABLE), TABLE["y"], TABLE["weight"], TABLE["unit"])
    wanted = read_problem(whole, READING)
    assert found.table.names == wanted.table.names == ("a", "b", "c", "town")
    for name in ("X", "y", "sample_weight", "row_groups", "categorical"):
        assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert found.table.remarks == wanted.table.remarks == ()
    assert found.target.name == "y"


def test_a_lake_gives_what_the_frame_gives(folder):
    named = {"sample_weight": "weight", "row_groups": "unit"}
    found = ShapleyEffects(**SETTINGS).fit(folder, "y", **named).result_
    arrays = {"sample_weight": TABLE["weight"], "row_groups": TABLE["unit"]}
    wanted = ShapleyEffects(**SETTINGS).fit(inputs(TABLE), TABLE["y"], **arrays).result_
    assert_array_equal(found.effects, wanted.effects)
    assert_array_equal(found.covariance, wanted.covariance)
    assert (found.n_rows, found.n_grown, found.library) == (N, None, "pyarrow")


@pytest.mark.parametrize("kind", LAKES)
def test_a_sample_of_a_lake_is_that_of_the_frame(kind, folder):
    lake = LAKES[kind](folder)
    rows = LakeRows.named(lake if hasattr(lake, "names") else open_lake(lake), "y", None, None)
    sample = sample_lake(rows, Tally.of(rows, 0), 100, seed=0)
    assert_array_equal(sample.places, draw_rows(N, 100, None, 0))
    y = np.asarray(sample.data.y).reshape(-1)
    assert_array_equal(y, TABLE["y"].to_numpy()[sample.places])


@pytest.mark.parametrize("size", [7, 200, 10_000])
def test_blocks_of_any_size_give_the_same_sample(size, folder):
    lake = open_lake(folder)
    for groups in (None, "unit"):
        rows = LakeRows(lake, ("y",), "weight", groups, size)
        tally = Tally.of(rows, 3)
        sample = sample_lake(rows, tally, 150, seed=3)
        whole = LakeRows(lake, ("y",), "weight", groups)
        assert tally.n_rows == N
        assert tally.columns["b"].n_missing == TABLE["b"].isna().sum()
        assert tally.columns["town"].levels == {"Bern", "Oslo", "Rome"}
        assert tally.columns["a"].high == TABLE["a"].max()
        wanted = sample_lake(whole, Tally.of(whole, 3), 150, seed=3)
        assert_array_equal(sample.places, wanted.places)
        if groups is not None:  # whole groups
            inside = set(TABLE["unit"].to_numpy()[sample.places])
            assert len(sample.places) == TABLE["unit"].isin(inside).sum() <= 150


def test_every_stretch_of_the_table_has_its_share():
    places = draw_rows(1000, 100, None, 0)
    assert_array_equal(places // 10, np.arange(100))
    assert len(set(places % 10)) == 10


def test_folders_by_the_value_of_a_column(tmp_path):
    for town, part in TABLE.groupby("town"):
        (tmp_path / f"town={town}").mkdir()
        part.drop(columns="town").to_parquet(tmp_path / f"town={town}" / "0.parquet")
    names = {"sample_weight": "weight", "row_groups": "unit"}
    found = ShapleyEffects(**SETTINGS).fit(tmp_path, "y", **names).result_
    assert found.names == ("a", "b", "c", "town")
    assert found.effects[3] > 0.05


def test_classes_and_several_outputs(folder):
    frame = TABLE.assign(kind=np.where(TABLE["y"] > 1, "high", "low"))
    lazy = pl.from_pandas(frame.drop(columns=["weight", "unit"])).lazy()
    found = ShapleyEffects(**SETTINGS).fit(lazy.drop("y"), "kind").result_
    wanted = ShapleyEffects(**SETTINGS).fit(inputs(TABLE), frame["kind"]).result_
    assert_array_equal(found.effects, wanted.effects)
    both = ShapleyEffects(**SETTINGS, max_rows=300, value_rows="all")
    per_output = both.fit(lazy.drop("kind"), ["y", "c"]).result_.per_output
    assert set(per_output) == {"y", "c"}


def test_lazy_frames_with_arrays_are_collected_as_before():
    lazy = pl.from_pandas(inputs(TABLE)).lazy()
    found = ShapleyEffects(**SETTINGS).fit(lazy, TABLE["y"]).result_
    wanted = ShapleyEffects(**SETTINGS).fit(inputs(TABLE), TABLE["y"]).result_
    assert_array_equal(found.effects, wanted.effects)


def test_slices_where_polars_has_no_batches(monkeypatch, folder):
    lake = open_lake(pl.scan_parquet(folder / "*.parquet"))
    wanted = [len(frame) for frame in frames_of(lake, ["a"], 250)]
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    sizes = [len(frame) for frame in frames_of(lake, ["a"], 250)]
    assert sum(sizes) == sum(wanted) == N


def test_a_relation_may_be_read_again(folder):
    lake = DuckLake(duckdb.sql(f'SELECT a AS "x""y" FROM \'{folder}/0.parquet\''))
    once, again = ([f['x"y'].to_list() for f in frames_of(lake, ['x"y'])] for _ in range(2))
    assert once == again


def test_shares_of_rows_are_uniform_and_differ_by_seed():
    shares = row_shares(np.arange(100_000), 1)
    counts = np.histogram(shares, 20, (0, 1))[0]
    assert ((counts - 5000) ** 2 / 5000).sum() < 45  # 19 degrees of freedom
    assert abs(np.corrcoef(shares, row_shares(np.arange(100_000), 2))[0, 1]) < 0.02
    assert abs(np.corrcoef(shares[1:], shares[:-1])[0, 1]) < 0.02


def _other_columns(folder):
    TABLE.rename(columns={"a": "z"}).to_parquet(folder / "9.parquet")


def _other_type(folder):
    TABLE.assign(a="text").to_parquet(folder / "9.parquet")


def _junk(folder):
    (folder / "9.parquet").write_bytes(b"junk")


def _empty(folder):
    for path in folder.glob("*.parquet"):
        path.unlink()


def _no_rows(folder):
    _empty(folder)
    TABLE[:0].to_parquet(folder / "0.parquet")


def _missing_y(folder):
    TABLE.assign(y=np.nan).to_parquet(folder / "9.parquet")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_other_columns, "9.parquet (lacks|has) the column '[az]'"),
        (_other_type, "9.parquet holds (large_)?string in the column 'a', files before it double"),
        (_junk, "cannot read .*9.parquet"),
        (_empty, "holds no parquet file"),
        (_no_rows, "There are no rows"),
        (_missing_y, "y contains NaN"),
    ],
)
def test_what_is_wrong_with_files_is_one_sentence(change, said, folder):
    change(folder)
    with pytest.raises(InputError, match=said) as error:
        ShapleyEffects(**SETTINGS).fit(folder, "y", "weight", "unit")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        (("z",), InputError, "no column 'z' in .*; there are 'a', 'b'"),
        ((np.zeros(N),), InputTypeError, "y must be the name"),
        ((None,), InputTypeError, "y must be the name"),
        (("y", np.ones(N)), InputTypeError, "sample_weight must be the name"),
        (("y", "none"), InputError, "no column 'none'"),
        ((["a", "b", "c", "town", "y", "weight", "unit"],), InputError, "nothing to explain"),
    ],
)
def test_wrong_names_are_one_sentence(arguments, kind, said, folder):
    with pytest.raises(kind, match=said):
        ShapleyEffects(**SETTINGS).fit(folder, *arguments)


def test_paths_that_are_no_lakes(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        open_lake(tmp_path / "none")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        open_lake(tmp_path / "a.csv")


def test_a_query_that_fails_is_one_sentence():
    lazy = pl.LazyFrame({"a": ["x"], "y": [1.0]}).with_columns(pl.col("a").cast(pl.Int64))
    with pytest.raises(InputError, match="cannot read the lazy frame"):
        ShapleyEffects().fit(lazy, "y")


def test_rows_in_another_order_are_noticed(folder):
    """A table that changes between two passes is refused, whatever it would have given."""

    class Shuffled:
        names, what, calls = tuple(TABLE.columns), "the shuffled table", 0

        def frames(self, columns, size):
            self.calls += 1
            yield TABLE[list(columns)].sample(frac=1, random_state=self.calls)

    drawn = draw(
        RawData(folder, "y", "weight", "unit"), ReadingOptions(seed=0, max_rows=200), "all"
    )
    other = LakeRows(Shuffled(), ("y",), "weight", "unit")
    est = ShapleyEffects(**SETTINGS)
    from dataclasses import replace
    from functools import partial

    from shaff.fitting.settings import Settings
    from shaff.values.making import make_values

    settings = Settings.resolve(est.get_params(deep=False))
    drawn = drawn._replace(rest=replace(drawn.rest, rows=other))
    with pytest.raises(InputError, match="another order"):
        est._run(drawn, settings, partial(make_values, "boosting"))


MEASURE = """
import resource, sys
import numpy as np
from shaff.data.sources.lakes import open_lake
from shaff.data.sources.passes import LakeRows, Tally, sample_lake
import pyarrow.dataset
def passes(path):
    rows = LakeRows.named(open_lake(path), "y", None, None)
    tally = Tally.of(rows, 0)
    sample_lake(rows, tally, 1000, 0)
passes(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
passes(sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """A table of 160 MB, read after one of 16 MB, takes little more than that one did."""
    rng = np.random.default_rng(0)
    for name, n_files in (("small", 1), ("large", 10)):
        (tmp_path / name).mkdir()
        for k in range(n_files):
            frame = pl.DataFrame(rng.standard_normal((200_000, 10)).astype(np.float64))
            frame = frame.rename({"column_0": "y"})
            frame.write_parquet(tmp_path / name / f"{k}.parquet", row_group_size=50_000)
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path / "small", tmp_path / "large"],
        capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert int(run.stdout) * 1024 < 60e6


def test_a_missing_library_names_the_command(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    with pytest.raises(InputError, match=r'pip install "shaff\[lake\]"'):
        open_lake(folder)


def test_the_result_says_what_was_measured_on_what(tmp_path):
    frame = TABLE.assign(town=np.where(np.arange(N) == 3, "Lima", TABLE["town"]))
    frame.to_parquet(tmp_path / "0.parquet")
    settings = {**SETTINGS, "max_rows": 100, "value_rows": "all"}
    result = ShapleyEffects(**settings).fit(tmp_path, "y", "weight", "unit").result_
    notes = result.notes
    assert result.call.endswith(".fit(X, 'y', sample_weight='weight', row_groups='unit')")
    assert (result.data.n_rows, result.data.n_given, result.n_rows) == (N, N, N)
    columns = {column.name: column for column in result.data.columns}
    assert columns["b"].n_missing == TABLE["b"].isna().sum()
    assert (columns["a"].low, columns["a"].high) == (TABLE["a"].min(), TABLE["a"].max())
    assert any("grown on a random sample of" in note for note in notes)
    whole = frame["unit"].iloc[3]
    drawn = draw(
        RawData(tmp_path, "y", "weight", "unit"), ReadingOptions(seed=0, max_rows=100), "all"
    )
    if whole not in set(drawn.data.row_groups):
        assert any("1 category outside of the sample" in note for note in notes)
