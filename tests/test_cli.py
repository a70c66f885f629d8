import csv
import gzip
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date
from io import BytesIO, TextIOWrapper

import numpy as np
import polars as pl
import pytest

from shaff import ShapleyEffects, __version__, load_result
from shaff.cli import main
from shaff.cli.outputs import public_call


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = 2 * X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(80)
    return pl.DataFrame({"Age": X[:, 0], "[bmi]": X[:, 1], "a, b": X[:, 2], "price": y})


@pytest.fixture
def csv_file(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def run(capsys):
    def run(*words):
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return run


@pytest.fixture
def fails(run):
    """Run a command that must fail with one line, no output and exit code 2."""

    def fails(*words):
        code, out, err = run(*words)
        assert code == 2
        assert out == ""
        assert err.startswith("shaff: ")
        assert err.count("\n") == 1
        return err

    return fails


def test_version_and_help(run):
    assert run("--version") == (0, f"shaff {__version__}\n", "")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "explain" in out
    assert "demo" in out


@pytest.mark.parametrize("command", [(), ("explain",), ("select",), ("show",), ("compare",)])
def test_help_names_no_type_beside_a_flag(run, command):
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    assert "--help" in out
    assert "bool" not in out.lower()


def test_explain_prints_the_table_of_the_public_api(run, csv_file, frame):
    code, out, err = run("explain", csv_file, "--target", "price", "--jobs", 1)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Shapley effects on the outcome price"
    assert lines[3].split()[0] == "Age"
    assert lines[4].split()[0] == "[bmi]"
    effects = ShapleyEffects(random_state=0).fit(frame.drop("price"), frame["price"]).effects_
    assert f"{effects[0]:.3f}" in lines[3]
    assert f"{effects[1]:.3f}" in lines[4]


def test_json_and_plot_files(run, csv_file, frame, tmp_path):
    words = ["explain", csv_file, "--target", "price", "--seed", 3]
    code, out, _ = run(*words, "--json", "r.json", "--plot", "p.png")
    assert code == 0
    assert out.rstrip().endswith("Saved r.json and p.png")
    result = load_result(tmp_path / "r.json")
    assert result.names == ("Age", "[bmi]", "a, b")
    assert result.target == "price"
    assert result.random_state == 3
    expected = ShapleyEffects(random_state=3).fit(frame.drop("price"), frame["price"])
    assert result.effects.tolist() == expected.effects_.tolist()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "p.png", "r.json"]


def test_json_on_the_standard_output_is_alone(run, csv_file):
    code, out, err = run("explain", csv_file, "--target", "price", "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["target"] == "price"
    assert load_result(out).names[0] == "Age"


def test_markdown_of_a_result(run, csv_file, tmp_path):
    words = ["explain", csv_file, "--target", "price", "--estimator", "smooth"]
    code, out, err = run(*words, "--markdown", "-", "--json", tmp_path / "r.json")
    assert (code, err) == (0, "")
    assert out == load_result(tmp_path / "r.json").to_markdown()
    assert run("show", tmp_path / "r.json", "--markdown", tmp_path / "r.md")[0] == 0
    assert (tmp_path / "r.md").read_text("utf-8") == out
    assert "shaff explain data.csv --target price --estimator smooth" in out


def test_only_one_result_has_the_standard_output(fails, csv_file):
    said = fails("explain", csv_file, "--target", "price", "--markdown", "-", "--csv", "-")
    assert "only one of them can have the standard output" in said


QUICK = {"estimator": "smooth", "n_subsets": 6}
QUICK_WORDS = ["--estimator", "smooth", "--subsets", "6", "--json", "-"]


@pytest.fixture
def asked(frame, tmp_path, monkeypatch):
    """A table with columns for every part, as a frame and as a file."""
    monkeypatch.chdir(tmp_path)
    rows = pl.int_range(pl.len())
    table = frame.rename({"[bmi]": "b", "a, b": "c"}).with_columns(
        unit=rows // 2, kind=rows % 4, times=rows % 3 + 1, spare=None
    )
    table.write_csv("asked.csv")
    return table


def test_every_option_reaches_the_estimator(run, asked):
    words = ["--drop", "spare", "--categorical", "kind", "--group", "both=b,c"]
    words += ["--row-groups", "unit", "--weight", "times", "--tol", "0.01", "--seed", "5"]
    code, out, err = run("explain", "asked.csv", "--target", "price", *QUICK_WORDS, *words)
    assert (code, err) == (0, "")
    settings = {"categorical": ["kind"], "groups": {"both": ["b", "c"]}, "tol": 0.01}
    effects = ShapleyEffects(**QUICK, **settings, random_state=5)
    rows = {"row_groups": asked["unit"], "sample_weight": asked["times"]}
    X = asked.select("Age", "b", "c", pl.col("kind").cast(pl.String))
    expected = effects.fit(X, asked["price"], **rows).result_
    found = load_result(out)
    assert found.names == expected.names == ("Age", "both", "kind")
    assert found.effects.tolist() == expected.effects.tolist()


def test_a_file_may_hold_every_option(run, asked, tmp_path):
    words = ["--only", "Age,b", "--seed", "2", "--jobs", "1"]
    expected = load_result(
        run("explain", "asked.csv", "--target", "price", *QUICK_WORDS, *words)[1]
    )
    (tmp_path / "shaff.toml").write_text(
        '[explain]\ndata = ["asked.csv"]\ntarget = "price"\nestimator = "smooth"\nsubsets = 6\n'
        'only = ["Age", "b"]\nseed = 1\njobs = 1\njson = "-"\nforce = true\n'
    )
    # The command line comes first.
    code, out, err = run("explain", "--config", "shaff.toml", "--seed", "2")
    assert (code, err) == (0, "")
    assert load_result(out).effects.tolist() == expected.effects.tolist()


@pytest.mark.filterwarnings("ignore:Nothing is explained")  # a column of noise
def test_classes_that_spell_numbers(run, asked):
    words = ["explain", "asked.csv", "--target", "kind", "--only", "Age,b", *QUICK_WORDS]
    result = load_result(run(*words, "--classes")[1])
    assert list(result.per_output) == ["0", "1", "2", "3"]


def test_the_standard_input(run, asked, monkeypatch):
    words = ["--target", "price", "--only", "Age,b", *QUICK_WORDS]
    raw = (asked.write_csv()).encode("utf-16")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(gzip.compress(raw))))
    piped = load_result(run("explain", "-", *words)[1])
    assert (
        piped.effects.tolist()
        == load_result(run("explain", "asked.csv", *words)[1]).effects.tolist()
    )


def test_saved_row_numbers_and_empty_columns_are_left_out(run, asked):
    asked.with_row_index("").write_csv("saved.csv")
    words = ["--target", "price", "--drop", "unit,kind,times", *QUICK_WORDS]
    result = load_result(run("explain", "saved.csv", *words)[1])
    assert result.names == ("Age", "b", "c")
    assert result.notes[:2] == (
        "The first column has no name and numbers the rows: left out.",
        "Column 'spare' has no value at all: left out.",
    )


def test_nothing_is_overwritten_unless_told(run, fails, asked, tmp_path):
    words = ["explain", "asked.csv", "--target", "price", "--only", "Age", *QUICK_WORDS[:4]]
    (tmp_path / "r.json").write_text("mine")
    assert "--json: r.json already exists" in fails(*words, "--json", "r.json")
    assert (tmp_path / "r.json").read_text() == "mine"
    assert run(*words, "--json", "r.json", "--force")[0] == 0
    assert load_result("r.json").names == ("Age",)


def test_a_saved_result_is_shown(run, asked, tmp_path):
    words = ["explain", "asked.csv", "--target", "price", "--only", "Age,b", *QUICK_WORDS[:4]]
    _, table, _ = run(*words, "--json", "r.json")
    code, shown, err = run(
        "show", "r.json", "--plot", "r.png", "--csv", "r.csv", "--html", "r.html"
    )
    assert (code, err) == (0, "")
    assert shown.partition("Saved")[0] == table.partition("Saved")[0]
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_saved_results_are_compared(run, fails, asked, tmp_path):
    words = ["explain", "asked.csv", "--target", "price", *QUICK_WORDS[:4]]
    run(*words, "--only", "Age,b", "--json", "then.json")
    run(*words, "--only", "Age", "--json", "now.json")
    files = ["--json", "c.json", "--csv", "c.csv", "--plot", "c.png", "--html", "c.html"]
    code, shown, err = run("compare", "then.json", "now.json", "--units", "share", *files)
    assert (code, err) == (0, "")
    assert "Shares of the variance, now minus then" in shown
    assert "In units of the variance" not in shown
    assert "'b'" in shown
    assert "do not keep the influence of each row" in shown
    found = load_result("c.json")
    assert found.labels == ("then", "now")
    assert "effect_then,effect_now,difference" in (tmp_path / "c.csv").read_text("utf-8")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert "now minus then" in (tmp_path / "c.html").read_text("utf-8")
    _, narrow, _ = run("compare", "then.json", "now.json", "--labels", "A, B", "--level", "0.5")
    assert "B minus A" in narrow
    assert "50 % interval" in narrow
    assert "there is no file no.json" in fails("compare", "then.json", "no.json")
    assert "compare takes effects" in fails("compare", "then.json", "c.json")
    assert "--labels: give two different names" in fails(
        "compare", "then.json", "now.json", "--labels", "A"
    )
    assert "no level" in fails("compare", "then.json", "now.json", "--level", "95")
    assert "then.json is given twice" in fails("compare", "then.json", "then.json")
    assert "two different names" in fails("compare", "then.json", "now.json", "--labels", "A,A")
    assert "'x' is not one of" in (
        said := fails("compare", "then.json", "now.json", "--units", "x")
    )
    assert "Value error" not in said
    assert "is what is to be read" in fails("compare", "then.json", "now.json", "--csv", "now.json")


def test_spreadsheets_run_no_names(run, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ['=HYPERLINK("http://evil")', "+1", "-a", "price"]
    frame.rename(dict(zip(frame.columns, names, strict=True))).write_csv("odd.csv")
    words = ["explain", "odd.csv", "--target", "price", *QUICK_WORDS[:4]]
    _, out, _ = run(*words, "--csv", "-")
    header, *rows = csv.reader(out.splitlines())
    assert sorted(row[0] for row in rows) == sorted(f"'{name}" for name in names[:3])
    effect = header.index("raw_effect")
    assert all(float(row[effect]) == pytest.approx(float(row[effect])) for row in rows)


def test_queries_and_folders_do_not_enter_report_or_result(run, asked, tmp_path):
    place = tmp_path / "home-of-alice"
    place.mkdir()
    with closing(sqlite3.connect(place / "a.sqlite")) as database, database:
        database.execute("CREATE TABLE t (a, b, price)")
        rows = asked.select("Age", "b", "price").rows()
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    query = "SELECT a, b, price FROM t WHERE 'sesame-42' = 'sesame-42'"
    words = ["--target", "price", *QUICK_WORDS[:4], "--json", "r.json", "--html", "r.html"]
    code, _, err = run("explain", place / "a.sqlite", "--query", query, *words)
    assert (code, err) == (0, "")
    for path in ("r.json", "r.html"):
        text = (tmp_path / path).read_text(encoding="utf-8")
        assert "a.sqlite --query" in text
        assert "sesame" not in text
        assert "alice" not in text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["token=abc.csv"], "'...'"),
        (["--config=/home/me/s.toml", "--jobs", "2", "a.csv"], "--config=s.toml a.csv"),
        (["a.csv", "--query=SELECT 1", "--json=r.json"], "a.csv --query=..."),
    ],
)
def test_secrets_in_words_are_left_out(words, shown):
    assert public_call(["explain", *words]) == f"shaff explain {shown}"


def test_shells_complete_words():
    asked = {"COMP_WORDS": "shaff explain --tar", "COMP_CWORD": "2"}
    environment = {**os.environ, **asked, "_SHAFF_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-m", "shaff"], capture_output=True, env=environment, text=True
    )
    assert done.stdout.split() == ["--target"]


def test_a_terminal_without_letters_still_gets_the_answer(tmp_path, asked):
    pl.DataFrame({"größe": range(20), "y": [i * i for i in range(20)]}).write_csv("a.csv")
    words = ["explain", "a.csv", "--target", "y", *QUICK_WORDS[:4]]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "shaff", *words], capture_output=True, env=environment, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gr??e" in done.stdout or "gr?" in done.stdout


def test_same_seed_same_output_for_any_number_of_jobs(run, csv_file):
    words = ["explain", csv_file, "--target", "price", "--seed", 1, *QUICK_WORDS]
    first = run(*words, "--jobs", 1)
    assert run(*words, "--jobs", 1) == first
    assert run(*words, "--jobs", 2) == first


def test_published(run, csv_file, frame):
    small = frame.head(40)
    small.write_csv(csv_file)
    words = ["explain", csv_file, "--target", "price", "--published", "--json", "-"]
    _, out, _ = run(*words)
    published = ShapleyEffects.as_published(random_state=0, n_jobs=-1)
    expected = published.fit(small.drop("price"), small["price"]).effects_
    assert load_result(out).effects.tolist() == expected.tolist()


def test_all_readable_formats_agree(run, frame, csv_file, tmp_path):
    frame.write_parquet("data.parquet")
    frame.write_csv("data.tsv", separator="\t")
    frame.write_csv("semicolon.csv", separator=";")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(csv_file.read_bytes()))
    outputs = {
        tuple(load_result(run("explain", name, "--target", "price", *QUICK_WORDS)[1]).effects)
        for name in ("data.csv", "data.parquet", "data.tsv", "semicolon.csv", "data.csv.gz")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("groups", [None, "person"])
def test_a_long_file_is_sampled_as_fit_samples_it(run, frame, csv_file, groups):
    person = pl.Series("person", np.arange(800) // 20)
    pl.concat([frame] * 10).with_columns(person).write_parquet("long.parquet")
    words = [] if groups is None else ["--row-groups", groups]
    options = ["--target", "price", "--max-rows", 400, *words, *QUICK_WORDS]
    found = load_result(run("explain", "long.parquet", *options)[1])
    settings = {"estimator": "smooth", "n_subsets": 6, "random_state": 0, "max_rows": 400}
    expected = ShapleyEffects(**settings).fit("long.parquet", "price", row_groups=groups).result_
    assert found.effects.tolist() == expected.effects.tolist()
    assert any(f"sample of {found.n_rows} of the 800 rows" in note for note in found.notes)
    assert found.notes == expected.notes
    assert groups is None or found.n_rows % 20 == 0


def test_untyped_text_is_read_like_typed_columns(run, frame, csv_file):
    days = pl.date(2020, 1, 1) + pl.duration(days=pl.int_range(pl.len()))
    hole = pl.when(pl.int_range(pl.len()) % 5 > 0).then("[bmi]")
    typed = frame.with_columns(hole, day=days)
    typed.write_parquet("typed.parquet")
    text = typed.with_columns(
        pl.col(pl.Float64).cast(pl.String).str.replace(".", ",", literal=True)
    )
    text.with_columns(pl.col("[bmi]").fill_null("?")).write_csv("text.csv", separator=";")
    words = ["--target", "price", *QUICK_WORDS]
    results = [load_result(run("explain", f, *words)[1]) for f in ("typed.parquet", "text.csv")]
    assert results[0].effects.tolist() == results[1].effects.tolist()
    more = (
        "Columns 'Age', 'a, b', 'price' hold numbers with decimal commas.",
        "Column '[bmi]' holds numbers with decimal commas but for '?': read as missing.",
    )
    first = results[1].notes.index(more[0])
    assert results[1].notes[first : first + 2] == more
    assert (*results[1].notes[:first], *results[1].notes[first + 2 :]) == results[0].notes


@pytest.mark.filterwarnings("ignore:Nothing is explained")
@pytest.mark.parametrize(
    "drop", [["--drop", "Age,[bmi]"], ["--drop", "Age", "--drop", " [bmi] "], ["--drop", "a, b"]]
)
def test_drop(run, csv_file, drop):
    _, out, _ = run("explain", csv_file, "--target", "price", "--json", "-", *drop)
    left = ("Age", "[bmi]") if "a, b" in drop else ("a, b",)
    assert load_result(out).names == left


def test_missing_file(fails):
    assert "no file none.csv" in fails("explain", "none.csv", "--target", "y")


def test_unknown_columns_are_named_with_a_suggestion(fails, csv_file):
    err = fails("explain", csv_file, "--target", "Price")
    assert "--target: no column is named 'Price'; did you mean 'price'?" in err
    err = fails("explain", csv_file, "--target", "price", "--drop", "aeg")
    assert "--drop: no column is named 'aeg'; did you mean 'Age'?" in err
    err = fails("explain", csv_file, "--target", "zzzzzz")
    assert "there are 'Age', '[bmi]', 'a, b', 'price'." in err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.doc", b"", "must end in one of .csv, .tsv, .txt"),
        ("a.parquet", b"not a parquet file", "cannot read a.parquet"),
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"x,y\n\x81\x8d,1\n", "cannot read a.csv as cp1252 text: name its encoding"),
        ("a.csv.gz", b"\x1f\x8b broken", "cannot read a.csv.gz"),
        ("a.csv", b"x,y\n1,2,3\n4\n5,6,7,8\n", "cannot read a.csv"),
        ("a.csv", b"x,x,y\n1,2,3\n", "more than one column named 'x'"),
        ("a.csv", b"x,y\n", "a.csv has no rows"),
        ("a.csv", b"x,y\n1,low\n2,high\n", "at least 10"),
        ("a.csv", b"x,y\n1,1\n2,\n", "missing in 1 row: leave them out by --drop-missing-target"),
        ("a.csv", b"y\n1\n2\n", "no column is left"),
    ],
)
def test_unusable_files(fails, tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    assert message in fails("explain", name, "--target", "y")


def test_a_name_with_blanks_is_suggested(fails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x, Y \n1,2\n")
    assert "did you mean ' Y '?" in fails("explain", "a.csv", "--target", "y")


def test_rows_without_a_target_are_left_out_on_demand(run, frame, csv_file):
    words = ["explain", "--target", "price", "--json", "-", "--published"]
    holes = pl.when(pl.int_range(pl.len()) % 8 == 0).then(None).otherwise(pl.col("price"))
    nans = frame.with_columns(price=holes.fill_null(float("nan")))
    nans.write_parquet("holes.parquet")
    nans.drop_nans().write_parquet("rest.parquet")
    _, out, _ = run(*words, "holes.parquet", "--drop-missing-target")
    result = load_result(out)
    assert "Left out 10 rows in which 'price' is missing." in result.notes
    _, rest, _ = run(*words, "rest.parquet")
    assert result.effects.tolist() == load_result(rest).effects.tolist()


def test_wrong_types_are_one_line(fails, frame, csv_file):
    lists = pl.Series("list", [[1.0, 2.0]] * frame.height)
    days = pl.Series("day", [date(2020, 1, 1)] * frame.height)
    frame.with_columns(lists, days).write_parquet("odd.parquet")
    words = ["explain", "odd.parquet", "--target"]
    assert "Column 'list' holds List(Float64)" in fails(*words, "price")
    assert "y holds values of type list" in fails(*words, "list")
    assert "y holds Date" in fails(*words, "day", "--drop", "list")


def test_a_bug_keeps_its_traceback(csv_file, monkeypatch):
    def buggy(*args, **kwargs):
        return None + 1

    monkeypatch.setattr(ShapleyEffects, "_fit", buggy)
    with pytest.raises(TypeError, match="unsupported operand"):
        main(["explain", str(csv_file), "--target", "price"])


def test_help_and_wrong_words_need_no_heavy_imports(tmp_path):
    script = (
        "import sys\nfrom shaff.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "assert not {'sklearn', 'polars', 'scipy'} & sys.modules.keys()"
    )
    for words in (["--version"], ["--help"], ["explain", "none.csv", "--target", "y"]):
        done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()


def test_public_names_and_modules_are_found_on_demand():
    script = (
        "import shaff\nassert 'ShapleyEffects' in dir(shaff)\n"
        "shaff.datasets.load_diabetes()\nassert not hasattr(shaff, 'nothing')\n"
        "from shaff import *\nShapleyEffects, load_result, __version__"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_errors_of_the_estimator_are_one_line(fails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.csv").write_text("x,y\n1,1\n2,4\n3,3\n")
    fails("explain", "tiny.csv", "--target", "y", "--json", "r.json", "--plot", "p.png")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--json", "no/such/r.json"], "--json: there is no folder no/such"),
        (["--json", "data.csv/r.json"], "--json: there is no folder data.csv"),
        (["--plot", "no/such/p.png"], "--plot: there is no folder no/such"),
        (["--json", "."], "--json: cannot write to .: it is a folder"),
        (["--max-rows", "-1"], "10"),
        (["--jobs", "0"], "'--jobs': 0 is no number of cores: give 1 or more, or -1 for all"),
        (["--seed", "-1"], "'--seed'"),
        (["--drop", "Age,price"], "--drop: 'price' is the target"),
        (["--plot", "p.xyz"], "--plot: p.xyz must end in one of .png"),
        (["--seed", "abc"], "--seed"),
        (["--colour", "red"], "--colour"),
    ],
)
def test_wrong_options_fail_before_any_work(fails, csv_file, monkeypatch, words, message):
    monkeypatch.setattr(ShapleyEffects, "_fit", None)
    assert message in fails("explain", csv_file, "--target", "price", *words)


def test_usage_errors_are_one_line(fails, csv_file):
    assert "--target" in fails("explain", csv_file)
    assert "explode" in fails("explode")


def test_ctrl_c_exits_with_130(run, csv_file, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ShapleyEffects, "_fit", interrupted)
    code, out, err = run("explain", csv_file, "--target", "price")
    assert (code, out) == (130, "")
    assert err in ("", "shaff: interrupted\n")  # some versions of typer stay silent


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line(run, csv_file, frame):
    frame.with_columns(price=pl.lit(1.0)).write_csv(csv_file)
    code, out, err = run("explain", csv_file, "--target", "price")
    assert code == 0
    assert "Shapley effects on the outcome price" in out
    assert err.startswith("shaff: warning: ")
    assert "\n" not in err[:-1]


@pytest.mark.parametrize("module", ["typer", "rich", "polars"])
def test_missing_extra_names_the_install(fails, monkeypatch, module):
    for name in list(sys.modules):
        if name == "shaff.cli.commands" or name.partition(".")[0] == module:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    assert 'pip install "shaff[cli]"' in fails("demo")


def test_demo_in_a_process_of_its_own(tmp_path):
    command = [sys.executable, "-m", "shaff", "demo"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, encoding="utf-8", env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "log triglycerides" in done.stdout
    result = load_result(tmp_path / "demo-output" / "effects.json")
    assert result.n_rows == 442
    assert result.effects.sum() == pytest.approx(result.explained_variance)
    assert 0.3 < result.explained_variance < 0.6
    assert (tmp_path / "demo-output" / "effects.png").stat().st_size > 10_000
    report = (tmp_path / "demo-output" / "report.html").read_text(encoding="utf-8")
    assert "shaff demo" in report
    assert any("A linear model is enough here" in note for note in result.notes)
    table = pl.read_csv(tmp_path / "demo-output" / "diabetes.csv")
    assert table.columns == [*result.names, "disease progression"]
    assert table.height == 442
