"""Many results: segments, targets and models in one table, and failures among them."""

import engine_tasks
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest

from shaff import ShapleyEffects, explain_many, load_result
from shaff._util import work
from shaff.cli import main
from shaff.errors import InputError

SETTINGS = {"estimator": "smooth", "random_state": 0}


def table(n=120):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(n, 3)), schema=["a", "b", "c"])
    return frame.with_columns(
        town=pl.Series(["Rome", "Oslo", None] * (n // 3)),
        t=2 * pl.col("a") + pl.col("b"),
        u=pl.col("c") ** 2,
    )


def with_a_gap(frame):
    """Oslo has missing targets, which no fit takes."""
    gone = pl.when(pl.col("town") == "Oslo").then(None).otherwise(pl.col("t"))
    return frame.with_columns(t=gone)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_segments_are_what_they_are_alone_and_failures_have_reasons(n_jobs):
    frame = with_a_gap(table())
    many = explain_many(frame, "t", by="town", n_jobs=n_jobs, **SETTINGS)
    assert list(many.results) == ["Rome", "missing"]
    assert list(many.failures) == ["Oslo"]
    assert "NaN" in many.failures["Oslo"]
    rome = frame.filter(pl.col("town") == "Rome")
    alone = ShapleyEffects(**SETTINGS).fit(rome.select("a", "b", "c", "u"), rome["t"]).result_
    assert many["Rome"].effects.tobytes() == alone.effects.tobytes()
    assert many["Rome"].covariance.tobytes() == alone.covariance.tobytes()
    assert many["Rome"].names == ("a", "b", "c", "u")
    with pytest.raises(KeyError, match=r"Oslo.*failed: Input y contains NaN"):
        many["Oslo"]


@pytest.mark.parametrize("dtype", ["string", "Int64", object])
def test_rows_whose_label_is_missing_are_a_segment(dtype):
    by = pd.Series([1, pd.NA, 2] * 20, dtype=object).astype(dtype)
    X = np.random.default_rng(0).standard_normal((60, 2))
    many = explain_many(X, X[:, 0], by=by, **SETTINGS)
    assert list(many.results) == ["1", "2", "missing"]
    assert many[2] is many["2"]
    with pytest.raises(KeyError, match="3 is none of '1', '2', 'missing'"):
        many[3]


def test_the_table_has_a_row_for_each_player_and_each_failure():
    many = explain_many(with_a_gap(table()), "t", by="town", **SETTINGS)
    frame = many.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == 2 * 4 + 1
    rome = frame.filter(pl.col("segment") == "Rome")
    assert rome["input"][0] == "a"
    assert rome["effect"].is_sorted(descending=True)
    assert rome["n_rows"].unique().to_list() == [40]
    assert (rome["low"] <= rome["high"]).all()
    failed = frame.filter(pl.col("failure") != "")
    assert failed["segment"].to_list() == ["Oslo"]
    assert failed["effect"].is_nan().all()
    assert "Oslo failed: Input y" in repr(many)
    assert len(many) == 3


def test_targets_and_models_multiply():
    frame = table(60).drop("town")
    many = explain_many(
        frame, ["t", "u"], models={"lines": "smooth", "trees": "forest"}, random_state=0
    )
    assert many.dimensions == ("target", "model")
    assert list(many.results) == [("t", "lines"), ("t", "trees"), ("u", "lines"), ("u", "trees")]
    assert many["t", "lines"].names == ("a", "b", "c")
    assert many["u", "trees"].estimator == "forest"
    apart = frame.select("t", "u")
    for y in (apart, {"t": apart["t"], "u": apart["u"].to_numpy()}):
        same = explain_many(frame.select("a", "b", "c"), y, **SETTINGS)
        assert same["u"].effects.tobytes() == many["u", "lines"].effects.tobytes()


def test_arrays_weights_and_groups_of_rows():
    rng = np.random.default_rng(0)
    X, by = rng.normal(size=(90, 2)), np.repeat([10, 9, 100], 30)
    rows = {"sample_weight": rng.integers(1, 3, 90), "row_groups": np.arange(90) // 2}
    many = explain_many(X, X[:, 0], by=by, **rows, **SETTINGS)
    assert list(many.results) == ["9", "10", "100"]  # numbers by size
    some = {name: array[30:60] for name, array in rows.items()}
    alone = ShapleyEffects(**SETTINGS).fit(X[30:60], X[30:60, 0], **some).result_
    assert many["9"].effects.tobytes() == alone.effects.tobytes()


def test_one_seed_for_all_when_none_is_given():
    X = np.random.default_rng(0).normal(size=(60, 2))
    twice = explain_many(X, {"one": X[:, 0], "two": X[:, 0]}, estimator="forest")
    assert twice["one"].effects.tobytes() == twice["two"].effects.tobytes()


def test_labels_of_classes_are_one_target():
    frame = pd.DataFrame({"a": np.arange(40.0)})
    many = explain_many(frame, ["no"] * 20 + ["yes"] * 20, **SETTINGS)
    assert list(many.results) == ["y"]


def test_a_fit_that_kills_its_worker_is_a_failure(monkeypatch):
    monkeypatch.setattr(work, "PATIENCE", 0.01)
    monkeypatch.setattr(work, "MAX_FAULTS", 2)
    X = np.random.default_rng(0).normal(size=(40, 2))
    models = {"good": "smooth", "deadly": engine_tasks.Deadly()}
    with joblib.parallel_config(backend="loky", n_jobs=2):
        many = explain_many(X, X[:, 0], models=models, random_state=0)
    assert list(many.results) == ["good"]
    assert "were lost 3 times in a row" in many.failures["deadly"]


def test_the_picture_shows_all_results():
    many = explain_many(table(60).drop("u"), "t", by="town", **SETTINGS)
    display = many.plot(max_inputs=2)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["Oslo", "Rome", "missing"]
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["a", "b"]
    assert display.frame("polars").shape == (9, 3)
    assert repr(display) == "ManyDisplay(3 results, 3 inputs)"


@pytest.mark.parametrize(
    ("X", "y", "by", "words"),
    [
        (np.zeros((9, 2)), "t", None, "X has no names"),
        (table(9), "v", None, "no such column"),
        (table(9), "t", "v", "no such column"),
        (table(9), "t", ["x"] * 8, "8 labels, X has 9 rows"),
        (table(9), "t", [1, "1"] * 4 + [2], "spelt the same"),
        (table(9), {}, None, "no target"),
    ],
)
def test_bad_questions(X, y, by, words):
    if isinstance(by, list):
        by = pd.Series(by, dtype=object)
    with pytest.raises(InputError, match=words):
        explain_many(X, y, by=by)


def test_nothing_to_draw():
    many = explain_many(np.zeros((3, 1)), np.zeros(3), **SETTINGS)
    with pytest.raises(InputError, match="nothing to draw"):
        many.plot()


def test_the_command_line_explains_segments(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(60).drop("u").write_csv("data.csv")
    words = ["explain", "data.csv", "--target", "t", "--by", "town", "--estimator", "smooth"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--jobs", "1", "--csv", "all.csv", "--plot", "all.png"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("3 results by segment\n  Oslo: ")
    saved = pl.read_csv("all.csv")
    assert saved.columns[:3] == ["segment", "input", "effect"]
    assert saved.height == 9
    assert (tmp_path / "all.png").exists()


def test_segments_are_saved_as_json_and_as_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = table(60).drop("u").with_columns(town=pl.Series([0, 1, 2] * 20))
    frame.write_csv("data.csv")
    words = ["explain", "data.csv", "--target", "t", "--by", "town", "--estimator", "smooth"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--jobs", "1", "--json", "all.json", "--html", "all.html"])
    assert stop.value.code == 0
    said = capsys.readouterr().out
    assert list(load_result(tmp_path / "all.json").results) == ["0", "1", "2"]
    page = (tmp_path / "all.html").read_text("utf-8")
    assert page.count("<section") == 4
    assert "<script" not in page
    with pytest.raises(SystemExit) as stop:
        main(["show", "all.json"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == said.partition("\nSaved")[0]


def test_a_segment_0_is_called_0_beside_gaps():
    labels = [None if k < 20 else float(k % 2) for k in range(60)]
    for by in (pd.Series(labels), np.array(labels, dtype=float), pl.Series(labels)):
        frame = table(60)
        many = explain_many(frame.drop("t", "town"), frame["t"], by=by, estimator="smooth")
        assert [*many.results, *many.failures] == ["0", "1", "missing"]
