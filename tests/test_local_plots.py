"""Pictures of single rows, their section of the report and the command that asks for them."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from shaff import LocalEffects, ShapleyEffects, load_result
from shaff.cli import main
from shaff.cli.outputs import write_local
from shaff.errors import InputError
from shaff.show.plots import WaterfallDisplay
from shaff.show.plots.swarm import ranks, swarm
from shaff.show.report import render

HOSTILE = "</script><script>alert(1)</script>$x$"


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame({"a": rng.normal(size=n), HOSTILE: rng.normal(size=n)})
    frame["town"] = rng.choice(["Bern", "<b>Oslo</b>"], n)
    y = 2 * frame["a"] + (frame["town"] == "Bern") + 0.1 * rng.normal(size=n)
    return ShapleyEffects("smooth", random_state=0).fit(frame, y.rename("cost"))


@pytest.fixture(scope="module")
def local(fitted):
    return fitted.explain()


def test_a_beeswarm_has_a_point_a_row_and_player(local, tmp_path):
    display = local.beeswarm()
    points = sum(len(c.get_offsets()) for c in display.ax_.collections)
    assert points == 150 * 3
    assert display.frame().shape == (450, 4)
    assert display.names[0] == "a"
    np.testing.assert_array_equal(display.values[:, 0], local.values[:, 0])
    display.save(tmp_path / "bee.png")
    assert (tmp_path / "bee.png").stat().st_size > 5000
    assert local.beeswarm(max_inputs=1).ax_.get_yticklabels()[0].get_text() == "a"


def test_a_waterfall_ends_at_the_prediction(fitted, local):
    display = local.waterfall(7)
    ends = [bar.get_x() + bar.get_width() for bar in display.ax_.patches]
    starts = [bar.get_x() for bar in display.ax_.patches]
    assert ends[-1] == pytest.approx(local.predictions[7])
    assert starts[0] == pytest.approx(local.base)
    assert "Row 7" in display.ax_.get_title(loc="left")
    assert display.frame()["value"].sum() == pytest.approx(local.predictions[7] - local.base)
    few = local.waterfall(7, max_inputs=2)
    assert [t.get_text() for t in few.ax_.get_yticklabels()][-1] == "2 others together"
    assert len(few.ax_.patches) == 2
    with_errors = fitted.explain(errors=True).waterfall(0)
    assert "standard_error" in with_errors.frame()
    with pytest.raises(InputError, match="no row 150"):
        local.waterfall(150)


def test_dependence_of_numbers_and_categories(local):
    numbers = local.dependence("a")
    assert numbers.shape.direction == "increasing"
    assert numbers.ax_.get_title(loc="left") == "What a adds: increasing"
    np.testing.assert_array_equal(numbers.frame()["data"], local.data[:, 0])
    towns = local.dependence("town")
    assert [t.get_text() for t in towns.ax_.get_xticklabels()] == ["Bern", "<b>Oslo</b>"]
    assert set(towns.frame()["data"]) == {"Bern", "<b>Oslo</b>"}
    with pytest.raises(InputError, match="There is no input 'b'"):
        local.dependence("b")
    group = LocalEffects(("g",), np.zeros((3, 1)), 0.0, np.zeros(3), np.full((3, 1), np.nan))
    with pytest.raises(InputError, match="'g' has no column of its own"):
        group.dependence("g")


def test_rows_without_values_are_drawn_as_far_as_they_go(local):
    values, predictions = local.values.copy(), local.predictions.copy()
    values[3], predictions[3] = np.nan, np.nan
    holed = LocalEffects(local.names, values, local.base, predictions, local.data, local.levels)
    holed.beeswarm()
    with pytest.raises(InputError, match="no model was trained without it"):
        holed.waterfall(3)


def test_points_stand_apart():
    x = np.zeros(9)
    assert len(set(swarm(x).tolist())) == 9
    crowd = np.concatenate([np.full(20, 0.5), [0.0, 1.0]])
    assert np.abs(swarm(crowd)).max() <= 0.5
    assert len(set(swarm(crowd)[:20].tolist())) == 20
    assert np.isnan(ranks(np.arange(3.0), True)).all()


def test_the_report_tells_of_rows(fitted, local):
    page = render(fitted.result_, local=local)
    assert "<h2" in page
    assert "Single rows" in page
    assert page.count("<circle") >= 150 * 3
    assert "<script>alert" not in page
    assert "<b>Oslo" not in page
    assert f"predicted {local.predictions[0]:.3f}"[:13] in page
    assert 'class="spark"' in page
    assert "Single rows" not in render(fitted.result_)
    assert " style=" not in page


def test_the_report_of_one_row_and_of_classes(fitted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(str)
    est = ShapleyEffects("smooth", random_state=0).fit(X, y)
    page = render(est.result_, local=est.explain(X[:1] + 0.1))
    assert "Row 0: predicted" in page
    assert "2 more are in the saved values" in page
    assert '<svg class="swarm"' not in page


# The command line -------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "town": rng.choice(["Bern", "Oslo"], 40)})
    frame["y"] = frame["a"] + (frame["town"] == "Bern")
    frame.loc[4, "y"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.fixture
def run(capsys, table):
    def run(*words):
        asked = ["explain", table, "--target", "y", "--estimator", "smooth"]
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in (*asked, "--drop-missing-target", *words)])
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return run


def test_rows_of_the_table_by_number(run, tmp_path, table):
    output, page = tmp_path / "local.csv", tmp_path / "report.html"
    code, out, _ = run("--local", "1,6-7", "--local-output", output, "--html", page)
    assert code == 0
    written = pd.read_csv(output)
    assert written["row"].tolist() == [1, 6, 7]
    parts = written["base"] + written["a"] + written["town"]
    np.testing.assert_allclose(parts, written["prediction"])
    given = pd.read_csv(table)
    np.testing.assert_allclose(written["prediction"], given["y"].iloc[[0, 5, 6]], atol=0.3)
    assert re.search(r"^ *6 +[\d.]+ +[+-]", out, re.M)
    assert "Single rows" in page.read_text("utf-8")


@pytest.mark.filterwarnings("always")
def test_all_rows_and_new_ones(run, tmp_path):
    output = tmp_path / "local.json"
    assert run("--local", "all", "--local-output", output)[0] == 0
    assert load_result(output).rows.tolist() == [*range(1, 5), *range(6, 41)]
    (tmp_path / "new.csv").write_text("id,town,a\n7,Rome,0.5\n")
    code, out, err = run("--local", tmp_path / "new.csv")
    assert code == 0
    assert re.search(r"^ *1 +[\d.-]+ +[+-]", out, re.M)
    assert "categories that did not occur in fit" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--local", "5"), "row 5 was left out, since its target is missing"),
        (("--local", "41"), "there is no row 41; the last is 40"),
        (("--local", "0-2"), "rows are counted from 1"),
        (("--local", "7-2"), "names no rows"),
        (("--local", "none.csv"), "there is no file none.csv"),
        (("--local", "x"), "is neither numbers of rows (3,7,20-25), nor all, nor a file"),
        (("--local-output", "x.csv"), "name the rows by --local"),
        (("--local", "1", "--local-output", "x.txt"), "must end in one of .csv, .json"),
        (("--local", "1", "--max-rows", "20"), "a sample of the rows is explained"),
    ],
)
def test_wrong_rows_are_told_before_the_work(run, words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_file_of_other_columns(run, tmp_path):
    (tmp_path / "new.csv").write_text("town\nBern\n")
    code, out, err = run("--local", tmp_path / "new.csv")
    assert (code, out) == (2, "")
    assert "lacks the columns 'a'" in err


def test_names_that_spreadsheets_run_are_text(tmp_path):
    local = LocalEffects(("=1+1",), [[1.0]], 0.0, [1.0], [[2.0]])
    write_local(local, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines() == [
        "row,prediction,base,'=1+1",
        "0,1.0,0.0,1.0",
    ]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_a_waterfall_has_the_same_digits_everywhere():
    values = np.array([39.8, -5.82, 0.331])
    display = WaterfallDisplay(("a", "b", "c"), ("1", "2", "3"), values, 100.0, 134.311).plot()
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["+39.8", "−5.8", "+0.3", "mean 100.0", "prediction 134.3"]


def test_nothing_is_cut_off(tmp_path):
    values = np.array([39.8, -5.82, 0.331])
    names = ("a" * 60, "b", "c")
    for base in (0.0, 1e6, -1e6):
        display = WaterfallDisplay(names, ("w" * 18, "2", "3"), values, base, base + values.sum())
        figure = display.plot().figure_
        figure.canvas.draw()
        for text in [*display.ax_.texts, *display.ax_.get_yticklabels(), display.ax_.xaxis.label]:
            box = text.get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.x1
