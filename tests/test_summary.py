"""What a result tells of its data, of its call, and to other tools."""

import json

import numpy as np
import pandas as pd
import pytest
from results import HOSTILE, rich_result
from sklearn.linear_model import LinearRegression

from shaff import ShapleyEffects, load_result
from shaff.data.problem import Problem
from shaff.data.summary import MAX_COLUMNS, associations, summarise
from shaff.show.notebook import result_html
from shaff.show.sentences import explained, headline, model_words
from shaff.show.tracking import metrics


def mixed(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "size": rng.normal(size=n),
        "town": rng.choice(["Bern", "Oslo", "Rome"], n),
        "noise": rng.normal(size=n),
    })  # fmt: skip
    frame["rooms"] = frame["size"] + 0.3 * rng.normal(size=n)
    frame["land"] = frame["town"].map({"Bern": "CH", "Oslo": "NO", "Rome": "IT"})
    frame["rain"] = frame["town"].map({"Bern": 1.0, "Oslo": 2.0, "Rome": 0.0}) + rng.normal(size=n)
    frame.loc[::10, "size"] = np.nan
    return frame


@pytest.fixture(scope="module")
def fitted():
    X = mixed()
    y = pd.Series(X["rooms"] + X["rain"], name="price")
    groups = {"place": ["town", "land"]}
    return ShapleyEffects("forest", groups=groups, n_jobs=2, random_state=3).fit(X, y)


def test_a_fit_carries_an_account_of_its_data(fitted):
    data = fitted.result_.data
    assert (data.n_rows, data.n_given, data.n_columns) == (400, 400, 6)
    by_name = {column.name: column for column in data.columns}
    assert by_name["size"].n_missing == 40
    assert by_name["town"].kind == "category"
    assert by_name["town"].n_distinct == 3
    assert by_name["town"].player == "place"
    assert data.groups == {"place": ("town", "land")}
    assert data.target.name == "price"
    assert data.target.high == pytest.approx((mixed()["rooms"] + mixed()["rain"]).max())
    # Columns of the largest effects first.
    effects = dict(zip(fitted.result_.names, fitted.effects_, strict=True))
    order = [effects[column.player] for column in data.columns]
    assert order == sorted(order, reverse=True)


def test_rows_that_were_left_out_are_counted():
    X = np.random.default_rng(0).normal(size=(120, 2))
    y, weight = X.sum(axis=1), np.r_[np.zeros(20), np.ones(100)]
    result = ShapleyEffects("forest", max_rows=60, random_state=0).fit(X, y, weight).result_
    assert result.data.n_given == 120
    assert result.data.n_rows == result.n_rows < 60


def test_associations_are_the_known_measures():
    frame = mixed(4000)
    codes = frame.assign(
        town=frame["town"].astype("category").cat.codes,
        land=frame["land"].astype("category").cat.codes,
    ).drop(columns="size")
    categorical = np.array([name in ("town", "land") for name in codes.columns])
    found = pd.DataFrame(
        associations(codes.to_numpy(float), categorical), codes.columns, codes.columns
    )
    assert found.loc["town", "land"] == pytest.approx(1.0)
    assert found.loc["noise", "town"] < 0.05
    spearman = codes[["rooms", "noise", "rain"]].corr("spearman").to_numpy()
    kept = found.loc[["rooms", "noise", "rain"], ["rooms", "noise", "rain"]].to_numpy()
    np.testing.assert_allclose(kept, spearman, atol=0.03)
    ranks = codes["rain"].rank()
    means = ranks.groupby(codes["town"]).transform("mean")
    ratio = np.sqrt(means.var() / ranks.var())
    assert found.loc["rain", "town"] == pytest.approx(ratio, abs=0.01)
    np.testing.assert_allclose(found, found.T)


def test_associations_know_directions_and_hold_in_small_samples():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    found = associations(
        np.hstack([x, -x, rng.integers(0, 12, (60, 2))]), np.array([0, 0, 1, 1]) > 0
    )
    assert found[0, 1] == pytest.approx(-1.0)
    # Two independent columns of twelve categories look related by chance alone.
    assert found[2, 3] < 0.2


def test_the_account_is_bounded():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, (500, 400)).astype(float)
    categorical = np.arange(400) % 2 == 0
    problem = Problem.of(X, X[:, 0], categorical=categorical)
    summary = summarise(problem, rng.random(400))
    assert len(summary.columns) == MAX_COLUMNS
    assert summary.n_columns == 400
    assert summary.association.shape == (MAX_COLUMNS, MAX_COLUMNS)
    assert np.isfinite(summary.association).all()


def test_constant_and_empty_columns_are_no_trouble():
    X = np.column_stack([np.ones(30), np.full(30, np.nan), np.arange(30.0)])
    found = associations(X, np.array([False, False, False]))
    np.testing.assert_allclose(found, np.eye(3), atol=1e-12)


def test_json_keeps_the_account(fitted):
    again = load_result(fitted.result_.to_json())
    assert again.data.columns == fitted.result_.data.columns
    np.testing.assert_array_equal(again.data.association, fitted.result_.data.association)
    assert again.call == fitted.result_.call


# The call -----------------------------------------------------------------------------------------


def test_the_call_gives_the_result_again(fitted):
    call = fitted.result_.call
    assert "n_jobs" not in call
    X = mixed()
    y = pd.Series(X["rooms"] + X["rain"], name="price")
    again = eval(call, {"ShapleyEffects": ShapleyEffects, "X": X, "y": y})
    np.testing.assert_array_equal(again.effects_, fitted.effects_)
    assert set(fitted.result_.versions) == {"Python", "numpy", "scipy", "sklearn"}


def test_the_call_of_a_fitted_model_and_of_grouped_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = LinearRegression().fit(X, X[:, 0])
    made = ShapleyEffects.from_fitted(model, X, random_state=0)
    # With y it would be the outcome that is explained.
    assert made.result_.call == "ShapleyEffects.from_fitted(model, X, random_state=0)"
    rows = ShapleyEffects("forest", random_state=0, checkpoint=tmp_path)
    call = rows.fit(X, X[:, 0], row_groups=np.arange(60) // 2).result_.call
    assert call.endswith(".fit(X, y, row_groups=row_groups)")
    assert str(tmp_path) not in call


# Words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ([0.5, 0.05, 0.03, 0.01, 0.01], "size alone carries 83"),
        ([0.2, 0.15, 0.15, 0.07, 0.03], "Three inputs carry 83"),
        ([0.12] * 5, "Four inputs carry 80"),
        ([0.0] * 5, "The inputs explain nothing of price"),
    ],
)
def test_the_headline(effects, said):
    assert headline(rich_result(effects=effects)).replace("\u202f", " ").startswith(said)


def test_many_inputs_are_not_listed():
    p = 40
    result = rich_result(
        [f"x{j}" for j in range(p)], effects=np.full(p, 0.015), raw_effects=np.full(p, 0.015),
        first_order=None, total=None, errors_by_source=None, covariance=None, p_values=None,
    )  # fmt: skip
    assert headline(result).startswith("Many inputs matter: it takes 32 of 40")


def test_no_jargon_in_the_model():
    assert model_words(rich_result()) == "a blend of models"
    assert model_words(rich_result(estimator="surrogate boosting")).startswith("boosted trees in")
    unusual = rich_result(estimator="forest", design="forest_paths", solver="least_squares")
    assert model_words(unusual) == "a random forest, design forest paths, solver least squares"
    assert "no better than the mean" in explained(rich_result(explained_variance=-0.1))


# Notebooks ----------------------------------------------------------------------------------------


def test_the_notebook_view_has_headline_bars_and_escaped_names():
    page = result_html(rich_result(HOSTILE[:5]))
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("background:#") == 5
    assert headline(rich_result()) in result_html(rich_result())
    assert "nan" not in result_html(rich_result(p_values=None, errors_by_source=None))


def test_the_fitted_estimator_shows_diagram_and_result(fitted):
    from IPython.core.formatters import DisplayFormatter

    shown, _ = DisplayFormatter().format(fitted)
    assert "sk-container" in shown["text/html"]
    assert "shaff-result" in shown["text/html"]
    assert "shaff-result" not in DisplayFormatter().format(ShapleyEffects())[0]["text/html"]
    result, _ = DisplayFormatter().format(fitted.result_)
    assert "shaff-result" in result["text/html"]
    assert len(result["text/plain"]) < 120
    picture, _ = DisplayFormatter().format(fitted.result_.plot())
    assert picture["image/png"].startswith(b"\x89PNG")


# MLflow -------------------------------------------------------------------------------------------


def test_mlflow_gets_metrics_and_files(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    result = rich_result()
    with mlflow.start_run() as run:
        result.log_to_mlflow()
    client = mlflow.MlflowClient()
    logged = client.get_run(run.info.run_id).data.metrics
    assert logged["shaff.explained_variance"] == pytest.approx(0.6)
    assert logged["shaff.effect.size"] == pytest.approx(0.3)
    paths = {item.path for item in client.list_artifacts(run.info.run_id, "shaff")}
    assert paths == {"shaff/effects.json", "shaff/report.html", "shaff/effects.png"}
    other = client.create_run("0")
    result.log_to_mlflow(other.info.run_id)
    assert client.get_run(other.info.run_id).data.metrics == logged
    local = client.download_artifacts(run.info.run_id, "shaff/effects.json", str(tmp_path))
    with open(local, encoding="utf-8") as file:
        assert load_result(json.dumps(json.load(file))).names == result.names


def test_metric_names_are_such_as_mlflow_takes():
    named = metrics(rich_result(("a=b", "a>b", "ü", "x" * 999, "ok")))
    assert list(named)[2:5] == ["shaff.effect.a_b", "shaff.effect.a_b_", "shaff.effect.ü"]
    assert max(map(len, named)) < 250
