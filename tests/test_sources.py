"""Every kind of table file, by the same rows: packed, encoded, in databases, in several parts."""

import bz2
import gzip
import io
import lzma
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest
import zstandard

import shaff.data.sources.packed
from shaff.data.sources.files import Source, read_source, with_types
from shaff.errors import InputError
from shaff.fitting.notes.reading import sentence

N = 30
ROWS = pl.DataFrame(
    {"größe": [i / 4 for i in range(N)], "town": ["Rom", "Öslo", "Bern"] * 10, "n": range(N)}
)


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def notes(table):
    """Sentences about how a table was read."""
    return tuple(map(sentence, table.remarks))


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inner.csv", content)
    return file.getvalue()


def as_sqlite(path):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute('CREATE TABLE rows ("größe" REAL, town TEXT, n INTEGER)')
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", ROWS.rows())


def as_duckdb(path):
    with closing(duckdb.connect(path)) as database:
        database.execute('CREATE TABLE rows ("größe" DOUBLE, town TEXT, n INTEGER)')
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", ROWS.rows())


def as_bytes(change):
    return lambda path: Path(path).write_bytes(change(ROWS.write_csv().encode()))


def as_text(encoding):
    return lambda path: Path(path).write_bytes(ROWS.write_csv().encode(encoding))


def as_parts(path):
    folder = Path(path)
    for k in range(3):
        (folder / f"part={k}").mkdir(parents=True)
        ROWS[10 * k : 10 * k + 10].write_parquet(folder / f"part={k}" / "a.parquet")


WRITERS = {
    "a.csv": as_text("utf-8"),
    "marked.csv": as_text("utf-8-sig"),
    "latin.csv": as_text("latin-1"),
    "wide.csv": as_text("utf-16"),
    "unmarked.csv": as_text("utf-16-le"),
    "a.csv.gz": as_bytes(gzip.compress),
    "a.csv.bz2": as_bytes(bz2.compress),
    "a.csv.xz": as_bytes(lzma.compress),
    "a.csv.zst": as_bytes(zstandard.compress),
    "a.csv.zip": as_bytes(zipped),
    "a.jsonl": ROWS.write_ndjson,
    "a.jsonl.gz": lambda path: Path(path).write_bytes(gzip.compress(ROWS.write_ndjson().encode())),
    "a.parquet": ROWS.write_parquet,
    "a.feather": ROWS.write_ipc,
    "packed.arrow": lambda path: ROWS.write_ipc(path, compression="zstd"),
    "a.xlsx": ROWS.write_excel,
    "a.sqlite": as_sqlite,
    "a.duckdb": as_duckdb,
    "folder": as_parts,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_holds_the_same_rows(name):
    WRITERS[name](name)
    table = with_types(read_source(Source((Path(name),))))
    assert table.n_rows == N
    frame = table.frame.select(ROWS.columns)
    assert frame.cast({"n": pl.Int64}).equals(ROWS.cast({"n": pl.Int64}))


def test_a_guessed_encoding_is_said_and_can_be_named():
    Path("a.csv").write_bytes("é,b\nà,1\n".encode("cp1250", "replace"))
    table = read_source(Source((Path("a.csv"),)))
    assert notes(table) == ("Read as Windows-1252 (Latin-1) text, since it is not UTF-8.",)
    Path("b.csv").write_bytes("město,b\nPlzeň,1\n".encode("cp1250"))
    named = read_source(Source((Path("b.csv"),), encoding="cp1250"))
    assert named.frame.columns == ["město", "b"]
    assert named.remarks == ()
    with pytest.raises(InputError, match="'klingon' is no encoding"):
        read_source(Source((Path("b.csv"),), encoding="klingon"))


def test_several_files_are_one_table():
    ROWS[:20].write_csv("a.csv")
    ROWS[20:].select("n", "town", "größe").write_csv("b.csv")
    table = with_types(read_source(Source((Path("a.csv"), Path("b.csv")))))
    assert table.frame.cast({"n": pl.Int64}).equals(ROWS.cast({"n": pl.Int64}))
    assert notes(table) == ("Read from 2 files.",)
    ROWS.drop("town").write_csv("c.csv")
    with pytest.raises(InputError, match=r"a.csv has the column 'town', c.csv has not"):
        read_source(Source((Path("a.csv"), Path("c.csv"))))
    ROWS.write_parquet("d.parquet")
    with pytest.raises(InputError, match="are of different kinds"):
        read_source(Source((Path("a.csv"), Path("d.parquet"))))


def test_hive_folders_are_a_column():
    as_parts("folder")
    assert (
        read_source(Source((Path("folder"),))).frame["part"].to_list()
        == [0] * 10 + [1] * 10 + [2] * 10
    )


def test_one_long_column_decides_over_all_files():
    Path("a.csv").write_text("a,b\n1,2\n")
    Path("b.csv").write_text("a,b\nx,3\ny,4\n")
    frame = with_types(read_source(Source((Path("a.csv"), Path("b.csv"))))).frame
    assert frame["a"].to_list() == ["1", "x", "y"]
    assert frame["b"].to_list() == [2, 3, 4]


@pytest.mark.parametrize("name", ["a.sqlite", "a.duckdb", "a.parquet", "a.feather"])
def test_long_tables_are_sampled_while_they_are_read(name):
    WRITERS[name](name)
    table = read_source(Source((Path(name),)), max_rows=10, seed=3)
    rows = table.frame["n"].to_list()
    assert (len(rows), table.n_rows) == (10, N)
    assert rows == sorted(set(rows))
    assert "sample of 10 of the 30 rows" in notes(table)[0]
    assert read_source(Source((Path(name),)), max_rows=10, seed=3).frame["n"].to_list() == rows


@pytest.mark.parametrize("name", ["a.sqlite", "a.duckdb", "a.parquet", "a.feather"])
def test_rows_of_one_group_are_sampled_together(name):
    WRITERS[name](name)
    source, found = Source((Path(name),)), set()
    for seed in range(8):
        towns = read_source(source, max_rows=20, seed=seed, row_groups="town").frame["town"]
        assert set(towns.value_counts()["count"]) == {10}
        assert towns.n_unique() == 2
        found |= set(towns)
    assert found == {"Rom", "Öslo", "Bern"}
    # Refused by those who know the option's name.
    assert read_source(source, max_rows=20, row_groups="twon").frame.height == 20


# Databases ----------------------------------------------------------------------------------------

DATABASES = ["a.sqlite", "a.duckdb"]


@pytest.fixture(params=DATABASES)
def database(request):
    WRITERS[request.param](request.param)
    Path("other.csv").write_text("secret\n1\n")
    as_sqlite("other.sqlite")
    return Path(request.param)


def test_a_query_is_read(database):
    query = "SELECT town, n + 1 AS m FROM rows WHERE n < 12; -- a comment"
    with pytest.raises(InputError):
        read_source(Source((database,), query=query))  # more than a SELECT
    frame = read_source(Source((database,), query=query.partition(" --")[0])).frame
    assert frame["m"].to_list() == list(range(1, 13))


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM rows",
        "SELECT 1); DELETE FROM rows; SELECT (1",
        "DROP TABLE rows",
        "ATTACH 'other.sqlite' AS other",
        "PRAGMA query_only = 0",
        "SELECT * FROM read_csv('other.csv')",
        "SELECT * FROM 'other.csv'",
        "SELECT load_extension('other')",
        "COPY rows TO 'out.csv'",
        "INSTALL httpfs",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM 'https://example.org/a.csv'",
        "SET enable_external_access = true",
        "nonsense",
    ],
)
def test_a_query_reads_the_database_and_nothing_else(database, query):
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    with pytest.raises(InputError, match=f"cannot read {database}"):
        read_source(Source((database,), query=query))
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_table_is_chosen_by_name(database):
    connect = duckdb.connect if database.suffix == ".duckdb" else sqlite3.connect
    with closing(connect(str(database))) as connection:
        connection.execute('CREATE TABLE "odd ""name" AS SELECT 7 AS a')
        connection.commit()
    with pytest.raises(InputError, match="name one of its tables"):
        read_source(Source((database,)))
    with pytest.raises(InputError, match="there is no table 'rwos'"):
        read_source(Source((database,), table="rwos"))
    assert read_source(Source((database,), table='odd "name')).frame["a"].to_list() == [7]


def test_a_locked_database_is_said(monkeypatch):
    monkeypatch.setattr("shaff.data.sources.databases._LOCK_SECONDS", 0.05)
    as_sqlite("a.sqlite")
    with closing(sqlite3.connect("a.sqlite")) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match="database is locked"):
            read_source(Source((Path("a.sqlite"),)))


# Bombs and giants ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_bombs_are_stopped_before_they_fill_memory(pack, monkeypatch):
    monkeypatch.setattr(shaff.data.sources.packed, "HARMLESS", 1 << 20)
    Path("a.csv.gz").write_bytes(pack(b"x,y\n" + bytes(30 << 20)))
    monkeypatch.setattr(shaff.data.sources.packed, "MAX_GROWTH", 10)
    with pytest.raises(InputError, match="is larger than memory allows"):
        read_source(Source((Path("a.csv.gz"),)))


def test_a_spreadsheet_may_not_claim_more_than_a_table_of_its_size(monkeypatch):
    ROWS.write_excel("a.xlsx")
    monkeypatch.setattr(shaff.data.sources.packed, "HARMLESS", 10)
    monkeypatch.setattr(shaff.data.sources.packed, "MAX_GROWTH", 1)
    with pytest.raises(InputError, match="far more than a table of its size"):
        read_source(Source((Path("a.xlsx"),)))


def test_files_past_memory_are_stopped_with_a_way_out(monkeypatch):
    ROWS.write_csv("a.csv")
    monkeypatch.setattr(shaff.data.sources.packed, "free_memory", lambda: 100)
    with pytest.raises(InputError, match=r"larger than memory allows.*parquet"):
        read_source(Source((Path("a.csv"),)))
    ROWS.write_parquet("a.parquet")
    assert read_source(Source((Path("a.parquet"),)), max_rows=10).frame.height == 10
