"""Damaged files of every kind: the right answer or one line, and never fewer rows without a word;
see `corruption`, which also runs thousands of them."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import polars as pl
import pytest
from corruption import (
    CONFIG,
    LOST,
    MAKERS,
    REFUSED,
    RIGHT,
    SAVED,
    TRACEBACK,
    config_outcome,
    counts,
    damaged_configs,
    damaged_results,
    damaged_tables,
    intact,
    result_outcome,
    table_outcome,
)

from shaff.data.sources.databases import read_database
from shaff.data.sources.files import Source, read_source
from shaff.errors import InputError


@pytest.mark.parametrize("ending", MAKERS)
def test_files_are_read_as_they_are(ending, tmp_path):
    assert table_outcome(ending, intact(ending), tmp_path) == RIGHT


@pytest.mark.parametrize("ending", MAKERS)
def test_damaged_tables_are_whole_or_refused(ending, tmp_path):
    found, wrong = counts(damaged_tables(40, tmp_path, (ending,)))
    assert wrong == []
    assert found[ending][REFUSED] > 5


def test_damaged_results_are_shown_or_refused(tmp_path):
    assert {result_outcome(saved, tmp_path) for saved in SAVED} == {RIGHT}
    found, wrong = counts(damaged_results(30 * len(SAVED), tmp_path))
    assert wrong == []
    for kind in found.values():
        assert kind[REFUSED] > 15


def test_damaged_options_are_taken_or_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config_outcome(CONFIG.encode(), tmp_path) == RIGHT
    found, wrong = counts(damaged_configs(40, tmp_path))
    assert wrong == []
    assert found[".toml"][REFUSED] > 10


def test_a_result_without_its_numbers_is_refused_or_shown(tmp_path):
    """Null and nothing in each place where numbers stand."""
    for saved in SAVED:
        content = json.loads(saved)
        for name in content:
            for nothing in (None, {}, [], [None]):
                text = json.dumps({**content, name: nothing})
                assert result_outcome(text, tmp_path) in (REFUSED, RIGHT), (name, nothing)


@pytest.mark.slow
def test_many_damaged_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for outcomes in (
        damaged_tables(2000, tmp_path),
        damaged_results(2000, tmp_path),
        damaged_configs(500, tmp_path),
    ):
        assert counts(outcomes)[1] == []


# What bits taken one by one have shown ------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".pq", ".arrow", ".sqlite"])
def test_every_bit_of_some_bytes(ending, tmp_path):
    """Of lengths and numbers of rows, which a random place seldom meets."""
    data = intact(ending)
    for place in np.linspace(0, len(data) - 1, 60).astype(int):
        changed = bytearray(data)
        changed[place] ^= 1 << (place * 7 % 8)
        assert table_outcome(ending, bytes(changed), tmp_path) not in (LOST, TRACEBACK)


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n"x,1\n2,3\n"y",5\n',
        '"a";"b"\n"1";"Ul"Bonn";"2"\n"3";"4"\n"5";"Ulm;"6"\n"7";"8"\n',
    ],
)
def test_a_quotation_mark_too_few_joins_no_rows(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_source(Source((path,)))
    assert "\n" not in str(refused.value)


def test_cells_of_several_lines_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b\n"two\nlines, and a ""mark""",1\n\nx,2\n')
    assert read_source(Source((path,))).frame.drop_nulls().rows() == [
        ('two\nlines, and a "mark"', "1"),
        ("x", "2"),
    ]


def test_a_page_of_sqlite_that_claims_fewer_rows_is_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    data = bytearray(intact(".sqlite"))
    leaf = 2 * 512  # a page of rows; its number of cells is at byte 3
    assert data[leaf] == 13
    data[leaf + 4] -= 3
    path.write_bytes(data)
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT COUNT(*) FROM houses").fetchone()[0] < 60
    with pytest.raises(InputError, match="it is damaged"):
        read_database(path, None, None, 100, 0)


def test_a_definition_of_sqlite_that_names_fewer_columns_is_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    # One bit: two columns become one, of the type "INTEGERl price INTEGER".
    path.write_bytes(intact(".sqlite").replace(b"rooms INTEGER,", b"rooms INTEGERl"))
    with sqlite3.connect(path) as database:
        assert len(database.execute("SELECT * FROM houses").fetchone()) == 3
    with pytest.raises(InputError, match="rows of 4 columns, 3 of them named"):
        read_database(path, None, None, 100, 0)


@pytest.mark.parametrize(
    "definition",
    [
        "(a, b AS (2 * a), c AS (a + 1) STORED, y)",
        "(a, y) WITHOUT ROWID",
        "(a, y); ALTER TABLE t ADD COLUMN b DEFAULT 3",
        "(a, b, y); ALTER TABLE t DROP COLUMN b",
        f"(a, y, {', '.join(f'c{k}' for k in range(300))})",
    ],
    ids=["computed", "without numbers", "added", "dropped", "wide"],
)
def test_tables_of_sqlite_of_all_kinds_are_read(definition, tmp_path):
    path = tmp_path / "a.sqlite"
    definition = definition.replace("(a", "(a INTEGER PRIMARY KEY", 1)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(f"CREATE TABLE t {definition}")
        database.executemany("INSERT INTO t (a, y) VALUES (?, ?)", [(k, -k) for k in range(3000)])
    frame, _ = read_database(path, None, "t", 5000, 0)
    assert frame["y"].to_list() == [-k for k in range(3000)]


@pytest.mark.parametrize("options", [{}, {"use_pyarrow": True}, {"data_page_size": 500}])
def test_parquet_files_of_all_kinds_are_read(options, tmp_path):
    path, n = tmp_path / "a.parquet", 2000
    frame = pl.DataFrame(
        {
            "number": np.arange(n) / 7,
            "text": [f"s{k % 300}" if k % 7 else None for k in range(n)],
            "list": [[1, 2], []] * (n // 2),
            "struct": [{"x": 1, "y": None}] * n,
        }
    )
    frame.write_parquet(path, row_group_size=300, **options)
    assert read_source(Source((path,))).frame.equals(frame)
