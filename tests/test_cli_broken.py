"""Whatever is wrong on the command line: one line, exit code 2, and no file more than before."""

import gzip
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import polars as pl
import pytest
import zstandard

from shaff.cli import main
from shaff.data.sources import databases, files

N = 20
TABLE = "x,z,y\n" + "".join(f"{i},{i % 3},{i * i}\n" for i in range(N))
ROWS = pl.DataFrame({"x": range(N), "y": [i * i for i in range(N)]})
QUICK = ["--estimator", "smooth", "--subsets", "4"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder of files that are as they should be; each test gets a copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("prepared"))
        write_files()
        return Path().resolve()


@pytest.fixture
def folder(prepared, tmp_path, monkeypatch):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_files():
    Path("a.csv").write_text(TABLE)
    Path("there.json").write_text("{}")
    Path("latin.csv").write_bytes("é,y\nà,1\n".encode("latin-1"))
    Path("pipe").mkdir()
    with closing(sqlite3.connect("a.sqlite")) as database, database:
        database.execute("CREATE TABLE rows (x, y)")
        database.execute("CREATE TABLE more (x, y)")
    with closing(duckdb.connect("a.duckdb")) as database:
        database.execute("CREATE TABLE rows (x INTEGER, y INTEGER)")
    ROWS.write_excel("a.xlsx", worksheet="first")


@pytest.fixture
def fails(folder, capsys):
    def fails(*words, code=2):
        before = contents(folder)
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert stop.value.code == code
        assert err.startswith("shaff: ")
        assert err.count("\n") == 1
        assert contents(folder) == before
        return out, err

    return fails


def contents(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def named(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


FILES = [
    ("a.csv", "", "a.csv is empty"),
    ("a.csv", "\n\n\n", "a.csv is empty"),
    ("a.csv", "x,y\n", "has no rows"),
    ("a.csv", "y\n1\n2\n", "no column is left"),
    ("a.csv", bytes(range(256)) * 40, "cannot read a.csv"),
    ("a.csv", b"x,y\n\x00\x00\x00\x00\x01\n", "binary data"),
    ("a.csv", "1,2,3\n4,5,6\n", "begins with a row of numbers"),
    ("a.csv", "x,y\n1,2,3\n4\n5,6,7,8\n", "cannot read a.csv"),
    ("a.csv", "x,y,y\n1,2,3\n", "more than one column named 'y'"),
    ("a.csv", "x,y\n1,\n2,\n", "target 'y' has no value at all"),
    ("a.csv", "x,y\n1,1\n2,\n", "missing in 1 row"),
    ("a.csv", "x,y\n1,1\n2,2\n", "at least 10"),
    ("a.csv", "d,y\n" + "1/2/2021,1\n2/3/2021,2\n" * 9, "--dates day-first"),
    ("a.csv", "x,y\n" + "".join(f"{i},id{i}\n" for i in range(N)), "Classes must repeat"),
    ("a.csv.gz", gzip.compress(TABLE.encode(), mtime=0)[:-20], "damaged or cut short"),
    ("a.csv.zst", zstandard.compress(TABLE.encode())[:-20], "damaged or cut short"),
    ("a.csv.zst", zstandard.compress(TABLE.encode())[:9] + bytes(40), "damaged or cut short"),
    ("a.csv", "sep=é\n" + TABLE, "only a plain character such as ;"),
    ("a.csv", "sep=\n" + TABLE, "only a plain character such as ;"),
    ("a.parquet", "PAR1 but no more", "cannot read a.parquet"),
    ("a.feather", "ARROW1 but no more", "cannot read a.feather"),
    ("a.jsonl", '{"x": 1, "y"\n', "cannot read a.jsonl"),
    ("a.xlsx", "no spreadsheet", "cannot read a.xlsx"),
    ("b.sqlite", "no database, but text", "cannot read b.sqlite: file is not a database"),
    ("b.duckdb", "no database, but text", "cannot read b.duckdb"),
    ("a.doc", "x,y", "must end in one of"),
]


@pytest.mark.parametrize(
    ("name", "content", "message"), FILES, ids=[f"{name}: {message}" for name, _, message in FILES]
)
def test_broken_files(fails, name, content, message):
    named(name, content)
    out, err = fails("explain", name, "--target", "y", "--json", "r.json", "--plot", "r.png")
    assert out == ""
    assert message in err


WORDS = [
    (["none.csv"], "there is no file none.csv"),
    (["pipe"], "the folder pipe holds no parquet file"),
    (["a.csv", "a.sqlite"], "are of different kinds"),
    (["a.csv", "--target", "Y"], "did you mean 'y'?"),
    (["a.csv", "--drop", "w"], "--drop: no column is named 'w'"),
    (["a.csv", "--drop", "y"], "--drop: 'y' is the target"),
    (["a.csv", "--only", "y"], "--only: 'y' is the target"),
    (["a.csv", "--only", "w"], "--only: no column is named 'w'"),
    (["a.csv", "--drop", "x,z"], "no column is left"),
    (["a.csv", "--group", "both"], "--group: write 'both' as NAME=COLUMN,COLUMN"),
    (["a.csv", "--group", "both=x,w"], "--group: no column is named 'w'"),
    (["a.csv", "--categorical", "w"], "--categorical: no column is named 'w'"),
    (["a.csv", "--row-groups", "w"], "--row-groups: no column is named 'w'"),
    (["a.csv", "--row-groups", "y"], "--row-groups: 'y' is the target"),
    (["a.csv", "--weight", "w"], "--weight: no column is named 'w'"),
    (["a.csv", "--encoding", "klingon"], "'klingon' is no encoding"),
    (["a.csv", "--encoding", "undefined"], "'undefined' is no encoding"),
    (["latin.csv", "--encoding", "utf-8"], "cannot read latin.csv as utf-8 text"),
    (["a.csv", "--query", "SELECT 1"], "--query is for files that end in"),
    (["a.csv", "--sheet", "one"], "--sheet is for files that end in"),
    (["a.xlsx", "--sheet", "second"], "cannot read a.xlsx"),
    (["a.sqlite"], "--table: name one of its tables"),
    (["a.sqlite", "--table", "rwos"], "there is no table 'rwos'; a.sqlite has 'more', 'rows'"),
    (["a.sqlite", "--query", "SELECT nowhere FROM rows"], "no such column"),
    (["a.sqlite", "--query", "DELETE FROM rows"], "cannot read a.sqlite"),
    (["a.sqlite", "--query", "SELECT 1", "--table", "rows"], "name one of them"),
    (["a.duckdb", "--query", "SELECT * FROM 'a.csv'"], "cannot read a.duckdb"),
    (["a.duckdb"], "a.duckdb has no rows"),
    (["a.csv", "--json", "there.json"], "there.json already exists; use --force to overwrite it"),
    (["a.csv", "--json", "a.csv", "--force"], "--json: a.csv is what is to be read"),
    (["a.csv", "--json", "r", "--csv", "r"], "two results cannot go to the same file"),
    (["a.csv", "--json", "-", "--csv", "-"], "only one of them"),
    (["a.csv", "--json", "no/such/r.json"], "--json: there is no folder no/such"),
    (["a.csv", "--csv", "/proc/r.csv"], "--csv: cannot write into /proc"),
    (["a.csv", "--html", "page.doc"], "--html: page.doc must end in one of .html"),
    (["a.csv", "--plot", "p.xyz"], "--plot: p.xyz must end in one of .png"),
    (["a.csv", "--tol", "0"], "--tol"),
    (["a.csv", "--subsets", "1"], "--subsets"),
    (["a.csv", "--estimator", "oracle"], "--estimator"),
    (["a.csv", "--published", "--estimator", "forest"], "leave out --estimator"),
    (["a.csv", "--dates", "year-first"], "--dates"),
    (["a.csv", "--config", "none.toml"], "--config: there is no file none.toml"),
]


@pytest.mark.parametrize(("words", "message"), WORDS)
def test_broken_words(fails, words, message):
    target = [] if "--target" in words else ["--target", "y"]
    out, err = fails("explain", *words, *target, *([] if "--estimator" in words else QUICK[:2]))
    assert out == ""
    assert message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("target = ", "is no TOML file"),
        (b"target = \xff", "is no TOML file"),
        ('tagret = "y"', "unknown option 'tagret'; did you mean 'target'?"),
        ('explain = "y"', "'explain' in shaff.toml is no table"),
        ('target = ["y", "x"]', "'target' in shaff.toml must be one value"),
        ('drop = "x"', "'drop' in shaff.toml must be a list"),
        ("classes = 1", "'classes' in shaff.toml has a value of the wrong type"),
        ('seed = "many"', "--seed"),
    ],
)
def test_broken_settings(fails, content, message):
    named("shaff.toml", content)
    out, err = fails("explain", "a.csv", "--target", "y", "--config", "shaff.toml")
    assert out == ""
    assert message in err


@pytest.mark.parametrize("content", ["", "{", '{"format": "other"}', "\x00\x01"])
def test_broken_results(fails, content):
    named("r.json", content)
    out, err = fails("show", "r.json", "--csv", "r.csv")
    assert out == ""
    assert "r.json is not a result of shaff" in err


@pytest.mark.filterwarnings("ignore")
def test_a_full_disk_costs_the_file_and_not_the_answer(fails):
    out, err = fails("explain", "a.csv", "--target", "y", *QUICK, "--json", "/dev/full")
    assert "Shapley effects on the outcome y" in out
    assert "No space left on device" in err


def test_debug_shows_where_an_error_comes_from(folder):
    with pytest.raises(ValueError, match=r"there is no file none\.csv"):
        main(["explain", "none.csv", "--target", "y", "--debug"])


def test_what_by_does_not_explain_is_refused(fails):
    """Nothing is called saved that was not written."""
    for words in (["--local", "1,2", "--local-output", "loc.csv"], ["--interactions"]):
        out, err = fails("explain", "a.csv", "--target", "y", "--by", "z", *words)
        assert out == ""
        assert "--by explains segments: leave out --local and --interactions" in err


@pytest.mark.parametrize(
    "content",
    [
        "target = " + "[" * 3000,
        "seed = " + "9" * 5000,
        "a." * 50_000 + "a = 1",
        "a = " + "{a=" * 3000,
        "a" * 300_000,
    ],
    ids=["nested", "digits", "dots", "tables", "word"],
)
def test_settings_that_no_reader_likes(fails, content):
    named("shaff.toml", content)
    out, err = fails("explain", "a.csv", "--target", "y", "--config", "shaff.toml")
    assert out == ""
    assert "--config: shaff.toml is no" in err


def test_settings_of_editors_that_leave_a_mark(folder, capsys):
    named("shaff.toml", '\ufefftarget = "y"\nestimator = "smooth"\nsubsets = 4')
    with pytest.raises(SystemExit) as stop:
        main(["explain", "a.csv", "--config", "shaff.toml"])
    assert stop.value.code == 0
    assert "Shapley effects on the outcome y" in capsys.readouterr().out


def test_panics_of_polars_are_one_line(folder, capfd, monkeypatch):
    def panic(*_):
        os.write(2, b"thread 'async-executor-0' panicked\nstack backtrace:\n")
        print("said by Python", file=sys.stderr)
        raise pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value")

    monkeypatch.setattr(files, "_read_scanned", panic)
    ROWS.write_parquet("a.parquet")
    with pytest.raises(SystemExit) as stop:
        main(["explain", "a.parquet", "--target", "y"])
    assert stop.value.code == 2
    said = capfd.readouterr().err.splitlines()
    assert said == ["said by Python", "shaff: cannot read a.parquet: it is damaged, or of a kind "
                    "that polars cannot read."]  # fmt: skip


def test_the_standard_input_may_be_closed(fails, monkeypatch):
    with open(os.devnull) as closed:
        pass
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stdin", stream)
        assert "the standard input: it is closed" in fails("explain", "-", "--target", "y")[1]


# Ctrl-C and broken pipes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        (">&-", 0, ""),
        ("> /dev/full", 2, "shaff: No space left on device\n"),
        ("--json - > /dev/full", 2, "shaff: No space left on device\n"),
    ],
    ids=["closed", "full", "full for JSON"],
)
def test_the_standard_output_may_be_closed_or_full(folder, output, code, said):
    words = shlex.join([sys.executable, "-m", "shaff", "explain", "a.csv", "--target", "y", *QUICK])
    done = subprocess.run(
        f"{words} --quiet --csv r.csv {output}", shell=True, capture_output=True, text=True
    )
    warnings = [line for line in done.stderr.splitlines(True) if "warning" in line]
    assert done.returncode == code
    assert done.stderr.removeprefix("".join(warnings)) == said


def test_ctrl_c_ends_a_query_at_once(fails, monkeypatch):
    endless = "WITH RECURSIVE c(y) AS (SELECT 1 UNION ALL SELECT y + 1 FROM c) SELECT y FROM c"
    connect = databases._connect_sqlite

    def interrupted(path):
        connection, errors = connect(path)
        # SQLite asks now and then whether to go on: by then the query runs.
        connection.set_progress_handler(lambda: signal.raise_signal(signal.SIGINT) or 0, 1000)
        return connection, errors

    monkeypatch.setattr(databases, "_connect_sqlite", interrupted)
    words = ["explain", "a.sqlite", "--target", "y", "--query", endless, "--json", "r.json"]
    assert fails(*words, code=130) == ("", "shaff: interrupted\n")


def test_ctrl_c_ends_reading_of_the_standard_input(folder):
    before = contents(folder)
    with started("explain", "-", "--target", "y", "--json", "r.json") as process:
        # More than a pipe holds: once it is written, the command has read some of it.
        process.stdin.write("x,y\n" + "1,2\n" * 50_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 130
        assert (process.stdout.read(), process.stderr.read()) == ("", "shaff: interrupted\n")
    assert contents(folder) == before


# What Python runs when it starts: it is interrupted when it begins to import a module.
AT_IMPORT = """
import os, signal, sys

class Interrupting:
    came = False

    def find_spec(self, name, path=None, target=None):
        if name == {module!r} and not self.came:
            self.came = True
            {code}

sys.meta_path.insert(0, Interrupting())
"""
INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"
# Libraries run text as code when they are imported: Python remembers an interrupt of that, and ends
# a program that is run with -m by the signal.
AS_TEXT = f"exec('{INTERRUPT}')"


@pytest.mark.parametrize("code", [INTERRUPT, AS_TEXT], ids=["code", "text"])
@pytest.mark.parametrize(
    "module", ["shaff.cli", "typer", "shaff.cli.commands", "numpy", "polars", "scipy", "sklearn"]
)
def test_ctrl_c_while_modules_are_imported(folder, monkeypatch, module, code):
    named("sitecustomize.py", AT_IMPORT.format(module=module, code=code))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    words = [sys.executable, "-m", "shaff", "explain", "a.csv", "--target", "y"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "shaff: interrupted\n")


@contextmanager
def started(*words):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-m", "shaff", *words]
    with subprocess.Popen(command, **pipes, text=True) as process:
        yield process


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "a.csv", "--target", "y", *QUICK, "--csv", "r.csv"],
        ["explain", "a.csv", "--target", "y", *QUICK, "--json", "-", "--csv", "r.csv"],
        ["--help"],
    ],
    ids=["table", "json", "help"],
)
def test_readers_who_have_enough_are_no_error(folder, words):
    with started(*words) as process:
        process.stdout.close()
        assert process.wait(timeout=300) == 0
        assert "Error" not in process.stderr.read()
    assert (folder / "r.csv").exists() == ("r.csv" in words)
