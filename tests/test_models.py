"""Models of every kind: their outcome, their predictions and single rows are explained, or one
sentence says why not. `benchmarks.kinds` has the models, and prints what comes of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

from benchmarks.kinds import (
    CLASSES,
    FOREST,
    FRAME,
    GRID,
    HELD_OUT,
    HELD_OUT_Y,
    HGB,
    KINDS,
    NUMBERS,
    NUMERIC,
    OF_CLASSES,
    PROJECTED,
    SCALED,
    SETTINGS,
    Y,
    encoded,
    local,
    outcome,
    outcome_of,
    predictions,
)
from benchmarks.kinds import made as made_if_installed
from shaff import ManyEffects, ShapleyEffects, explain_many, explain_model, load_result
from shaff.errors import InputError, InputTypeError
from shaff.values.models import asking


def made(kind):
    """A model and its rows, if its library is there."""
    try:
        return made_if_installed(kind)
    except ModuleNotFoundError as error:
        return pytest.importorskip(error.name)


def test_there_are_enough_kinds():
    assert len(KINDS) >= 25


@pytest.mark.parametrize("kind", KINDS)
def test_the_outcome_is_explained_if_it_is_given(kind):
    model, X = made(kind)
    y = outcome_of(kind)
    est = ShapleyEffects.from_fitted(model, X, y, **SETTINGS)
    result = est.result_
    assert result.explains == "outcome"
    how = "the projected trees of " if kind in PROJECTED else "learners of shaff in place of "
    assert result.summary().startswith(f"Shapley effects on the outcome y, through {how}")
    in_place = any("in its place" in note for note in result.notes)
    assert in_place == (kind not in PROJECTED)
    assert result.explained_variance > 0.2
    local = est.explain(X[:5])
    np.testing.assert_allclose(local.base + local.values.sum(axis=1), local.predictions, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_explained_if_there_is_no_outcome(kind):
    model, X = made(kind)
    est = ShapleyEffects.from_fitted(model, X, **SETTINGS)
    result = est.result_
    assert result.explains == "predictions"
    assert result.target.startswith("the predictions of ")
    assert result.summary().startswith(f"Shapley effects on {result.target}\n")
    assert len(result.names) == X.shape[1]
    assert result.names[result.order[0]] in ("size", "town", "x0")
    assert any("the model, not the data" in note for note in result.notes)
    local = est.explain(X[:5])
    np.testing.assert_allclose(local.base + local.values.sum(axis=1), local.predictions, atol=1e-9)


def test_the_table_says_what_comes_of_a_kind():
    assert outcome("forest").endswith(" projected")
    assert outcome("linear").endswith(" in its place")
    assert float(predictions("linear")) > 0.95
    assert local("linear") == "works"


@pytest.mark.parametrize("kind", ["linear", "pipeline", "forest", "logistic", "function"])
def test_what_a_model_explains_by_itself_stands_beside(kind):
    model, X = made(kind)
    y = outcome_of(kind)
    est = explain_model(model, X, y, **SETTINGS)
    assert est.result_.explains == "predictions"
    if kind in OF_CLASSES:
        codes = y == model.classes_[1]
        expected = 1 - np.mean((codes - model.predict_proba(X)[:, 1]) ** 2) / codes.var()
    else:
        said = np.asarray(model.predict(X) if hasattr(model, "predict") else model(X))
        expected = 1 - np.mean((y - said) ** 2) / y.var()
    assert est.result_.held_out["r2_of_model"] == pytest.approx(expected)
    assert f"The given model itself explains {expected:.3f}" in est.result_.summary()
    again = load_result(est.result_.to_json())
    assert again.held_out["r2_of_model"] == est.result_.held_out["r2_of_model"]


def test_the_report_says_what_a_model_explains_by_itself(tmp_path):
    result = ShapleyEffects(Ridge(), **SETTINGS).fit(NUMBERS, Y).result_
    page = result.to_html(tmp_path / "report.html").read_text("utf-8")
    assert "through Ridge, fitted anew on each subset" in page
    assert f"itself explains {result.held_out['r2_of_model']:.3f}" in page


def test_effects_of_a_pipeline_are_those_of_the_columns_that_it_was_given():
    """Three columns of the town inside, one input outside, and the effects of a linear model."""
    model = encoded(LinearRegression())
    est = explain_model(model, HELD_OUT, random_state=0)
    said = model.predict(HELD_OUT)
    towns = pd.Series(said - model.predict(HELD_OUT.assign(town="Rome"))).to_numpy()
    assert est.result_.names == ("size", "age", "none", "town")
    assert est.explained_variance_ > 0.98
    # Numbers and town add up, and are independent but for chance.
    share = np.cov(towns, said, bias=True)[0, 1] / said.var()
    assert est.effects_[3] == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_stay_frames(library):
    frame, seen = library(FRAME.to_dict("list")), []

    def half(rows):
        seen.append(type(rows))
        return np.asarray(rows["size"]) / 2

    explain_model(half, frame, **SETTINGS)
    assert set(seen) == {library}


def test_columns_are_found_by_name():
    model = LinearRegression().fit(FRAME[NUMERIC], Y)
    turned = HELD_OUT[["none", "size", "age"]]
    est = explain_model(model, turned, **SETTINGS)
    same = explain_model(model, HELD_OUT[NUMERIC], **SETTINGS)
    assert est.result_.names == ("none", "size", "age")
    np.testing.assert_allclose(est.effects_[[1, 2, 0]], same.effects_, atol=0.02)
    with pytest.raises(InputError, match=r"fitted on 3 columns by name; X lacks 'none'"):
        explain_model(model, HELD_OUT[["size", "age"]])


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_columns_of_a_raw_booster_are_found_by_name(library):
    """LightGBM itself takes the columns of a frame by their position."""
    module = pytest.importorskip(library)
    X = FRAME[NUMERIC]
    settings = {"verbosity": -1 if library == "lightgbm" else 0, "colsample_bytree": 0.5}
    made_of = module.Dataset if library == "lightgbm" else module.DMatrix
    booster = module.train(settings, made_of(X, Y), 20)
    turned = explain_model(booster, HELD_OUT[["none", "age", "size"]], **SETTINGS).result_
    assert turned.names[turned.order[0]] == "size"
    assert turned.target == f"the predictions of {library}.Booster"
    outcome = ShapleyEffects.from_fitted(booster, HELD_OUT[NUMERIC], HELD_OUT_Y, **SETTINGS)
    assert "projected trees of" in outcome.result_.summary()
    with pytest.raises(InputError, match="X lacks 'age'"):
        explain_model(booster, HELD_OUT[["none", "size"]])
    with pytest.raises(InputError, match=rf"{library}.Booster was fitted on 3 columns, X has 2"):
        explain_model(booster, NUMBERS[:, :2])


@pytest.mark.parametrize("kind", ["regressor", "classifier", "pipeline", "fitted"])
def test_fit_takes_catboost_with_categories(kind):
    """Its constructor copies a list of categories, so that scikit-learn refuses to clone it."""
    module = pytest.importorskip("catboost")
    settings = {"iterations": 20, "verbose": 0, "allow_writing_files": False}
    cats = [3] if kind == "pipeline" else ["town"]
    cls = module.CatBoostClassifier if kind == "classifier" else module.CatBoostRegressor
    model = cls(**settings, cat_features=cats)
    y = CLASSES if kind == "classifier" else Y
    if kind == "pipeline":
        model = make_pipeline("passthrough", model)
    if kind == "fitted":
        model.fit(FRAME, y)
    result = ShapleyEffects(model, **SETTINGS).fit(FRAME, y).result_
    name = type(model).__name__
    assert result.through == f"learners of shaff in place of {name}"
    assert result.names == ("size", "age", "none", "town")
    assert result.held_out["r2_of_model"] > 0.2


@pytest.mark.parametrize(
    ("library", "name", "settings"),
    [
        ("sklearn.ensemble", "HistGradientBoostingRegressor", {"loss": "absolute_error"}),
        ("lightgbm", "LGBMRegressor", {"objective": "mae", "verbose": -1}),
        ("lightgbm", "LGBMRegressor", {"linear_tree": True, "verbose": -1}),
        ("xgboost", "XGBRegressor", {"booster": "gblinear"}),
        ("catboost", "CatBoostRegressor",
         {"loss_function": "MAE", "iterations": 20, "verbose": 0, "allow_writing_files": False}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error:.*looks at all columns")
def test_boosters_that_cannot_be_projected_have_learners_in_their_place(library, name, settings):
    """The rule is that of `from_fitted`; nobody is told to change how columns are sampled."""
    model = getattr(pytest.importorskip(library), name)(**settings)
    result = ShapleyEffects(model, **SETTINGS).fit(NUMBERS, Y).result_
    assert result.through == f"learners of shaff in place of {name}"
    assert any("has no trees that can be projected here" in note for note in result.notes)


def test_a_booster_that_cannot_be_fitted_says_why():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(early_stopping_rounds=3, colsample_bynode=0.5)
    with pytest.raises(InputError, match=r"XGBRegressor cannot be fitted .*validation dataset"):
        ShapleyEffects(model).fit(NUMBERS, Y)


@pytest.mark.parametrize("model", [RandomForestRegressor(), SCALED, make_pipeline(FOREST)])
def test_models_that_are_not_fitted_say_so(model):
    with pytest.raises(NotFittedError):
        ShapleyEffects.from_fitted(clone(model), NUMBERS, Y)


def test_predictions_that_do_not_vary_are_named():
    with pytest.warns(UserWarning, match="The predictions of the given function are constant"):
        est = explain_model(lambda rows: np.ones(len(rows)), NUMBERS, **SETTINGS)
    assert est.result_.target == "the predictions of the given function"
    said = "The predictions of the given function are constant: there is nothing to explain."
    assert est.result_.notes[0] == said
    assert est.interactions().notes == (said,)


def test_what_another_library_says_at_length_is_cut_short():
    def fails(rows):
        raise ValueError("unknown values " + str(list(range(1000))))

    with pytest.raises(InputError) as raised:
        explain_model(fails, NUMBERS)
    assert len(str(raised.value)) < 300
    assert str(raised.value).endswith(" …).")


def test_a_large_table_is_asked_about_in_batches(monkeypatch):
    monkeypatch.setattr(asking, "BATCH", 100)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    sizes = []

    def first(rows):
        sizes.append(len(rows))
        return rows[:, 0]

    est = explain_model(first, NUMBERS, **SETTINGS)
    assert sizes == [100, 100, 40, asking.N_TWICE]
    same = explain_model(lambda rows: rows[:, 0], NUMBERS, **SETTINGS)
    assert est.effects_.tobytes() == same.effects_.tobytes()


def test_a_bar_shows_how_many_rows_were_asked_about(monkeypatch, capsys):
    monkeypatch.setattr(asking, "BATCH", 100)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    loud = explain_model(lambda rows: rows[:, 0], NUMBERS, verbose=1, **SETTINGS)
    err = capsys.readouterr().err
    assert "Asking, learning" in err
    silent = explain_model(lambda rows: rows[:, 0], NUMBERS, **SETTINGS)
    assert loud.effects_.tobytes() == silent.effects_.tobytes()


def test_a_sample_is_asked_about_if_rows_are_too_many():
    sizes = []

    def first(rows):
        sizes.append(len(rows))
        return rows[:, 0]

    explain_model(first, NUMBERS, max_rows=100, **SETTINGS)
    assert sum(sizes) == 100 + asking.N_TWICE


def test_a_surrogate_that_cannot_follow_says_so():
    def noise(rows):
        """A function of the rows that no learner finds in so few of them."""
        return np.sin(1e4 * rows[:, 0]) + rows[:, 1]

    bad = explain_model(noise, NUMBERS, **SETTINGS).result_
    assert bad.explained_variance < 0.9
    assert "The surrogate explains only" in " ".join(bad.notes)
    good = explain_model(lambda rows: rows[:, 0] - rows[:, 1], NUMBERS, **SETTINGS).result_
    assert good.explained_variance > 0.95
    assert "The surrogate explains only" not in " ".join(good.notes)


@pytest.mark.parametrize(
    "function",
    [
        lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2,
        lambda X: (X[:, 0] > 0) + (X[:, 1] > 1) * X[:, 2],
    ],
)
def test_the_fidelity_is_that_on_fresh_rows(function):
    rng = np.random.default_rng(0)
    covariance = 0.5 * np.ones((4, 4)) + 0.5 * np.eye(4)
    X, fresh = (rng.multivariate_normal(np.zeros(4), covariance, size=n) for n in (1000, 20_000))
    est = explain_model(function, X, **SETTINGS)
    said = function(fresh)
    followed = 1 - np.mean((said - est.explain(fresh).predictions) ** 2) / said.var()
    assert est.explained_variance_ == pytest.approx(followed, abs=0.02)
    assert "Effects on the predictions of the given function" in est.explain(X[:2]).summary()


STATE = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: np.where(X[:, 0] > 1, np.nan, 1.0), r"returns NaN or infinity for \d+ of 240"),
        (lambda X: X[:, 0] + np.inf, "returns NaN or infinity for 240"),
        (lambda X: X[:-1, 0], r"returns shape \(239,\) for 240 rows"),
        (lambda X: 1.0, r"returns shape \(\) for 240 rows"),
        (lambda X: X[:, :, None], r"returns shape \(240, 3, 1\)"),
        (lambda X: np.where(X[:, 0] > 0, "yes", "no"), r"returns text \('yes'\)|\('no'\)"),
        (lambda X: [{}] * len(X), "returns object: expected numbers"),
        (lambda X: X[:, 0] * 1j, "must hold real numbers: it holds complex ones"),
        (lambda X: np.arange(len(X)).astype("M8[s]"), r"returns datetime64\[s\]: expected numbers"),
        (lambda X: np.ma.masked_less(X[:, 0], 0), r"returns NaN or infinity for \d+ of 240"),
        (lambda X: X[:, 0] * 1e300, r"returns spread over .*: rescale them"),
        (lambda X: STATE.normal(size=len(X)), "gives other values for the same rows"),
        (lambda X: (X - X.mean(axis=0))[:, 0], "gives other values for the same rows"),
        (lambda X: X["size"], r"fails on these rows \(IndexError: only integers"),
        (lambda X, z: X, r"fails on these rows \(TypeError"),
    ],
)
def test_bad_answers_are_named_in_one_sentence(function, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        explain_model(function, NUMBERS)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "expected a fitted model with predict .* not int"),
        ("forest", "expected a fitted model with predict .* not str"),
        (None, "not None"),
        ([Ridge()], "not list"),
        (Ridge, "Ridge is a class: pass a fitted model of it"),
    ],
)
def test_what_is_no_model_is_named(model, message):
    with pytest.raises(InputTypeError, match=message):
        ShapleyEffects.from_fitted(model, NUMBERS, Y)


def test_the_model_that_is_passed_is_the_estimator():
    with pytest.raises(InputTypeError, match="estimator cannot be set: the model"):
        explain_model(lambda rows: rows[:, 0], NUMBERS, estimator="boosting")


def test_no_rows_are_one_sentence():
    with pytest.raises(InputError, match="2D array"):
        explain_model(lambda rows: rows, None)


def test_models_of_other_columns_are_named():
    with pytest.raises(NotFittedError):
        explain_model(Ridge(), NUMBERS)
    with pytest.raises(InputError, match="Ridge was fitted on 2 columns, X has 3"):
        explain_model(Ridge().fit(NUMBERS[:, :2], Y), NUMBERS)
    with pytest.raises(InputError, match="Ridge was fitted on 2 columns, X has 3"):
        explain_model(Ridge().fit(NUMBERS[:, :2], Y), FRAME[NUMERIC])
    with pytest.raises(InputError, match="Pipeline was fitted on 4 columns, X has 3"):
        explain_model(encoded(Ridge()), FRAME.to_numpy()[:, :3].astype(float))


@pytest.mark.parametrize("model", [Ridge(), FOREST])
def test_a_model_that_cannot_be_fitted_says_why(model):
    pipeline = make_pipeline(StandardScaler(), model)
    message = "Pipeline cannot be fitted to these rows .*could not convert string"
    with pytest.raises(InputError, match=message):
        ShapleyEffects(pipeline).fit(FRAME, Y)


def test_columns_that_are_read_by_position_are_said_to_be():
    """A model that was fitted on an array cannot tell whether the columns of a frame are its."""
    towns = ColumnTransformer([("town", OneHotEncoder(), [3])], remainder=StandardScaler())
    pipeline = make_pipeline(towns, Ridge()).fit(FRAME.to_numpy(), Y)
    result = explain_model(pipeline, HELD_OUT, **SETTINGS).result_
    said = "Pipeline was fitted on columns without names: those of X are matched by position."
    assert said in result.notes
    assert result.names[result.order[0]] in ("size", "town")
    with pytest.raises(InputError, match="Pipeline fails on these rows"):
        explain_model(pipeline, HELD_OUT[["town", "size", "age", "none"]])
    with pytest.raises(InputError, match="Pipeline was fitted on 4 columns, X has 3"):
        explain_model(pipeline, HELD_OUT[["town", "size", "age"]])
    named = explain_model(encoded(Ridge()), HELD_OUT[["town", "none", "size", "age"]], **SETTINGS)
    assert said not in named.result_.notes


def test_explains_is_one_rule():
    forest = FOREST.fit(NUMBERS, Y)
    asked = ShapleyEffects.from_fitted(forest, NUMBERS, Y, explains="predictions", **SETTINGS)
    assert asked.result_.target == "the predictions of RandomForestRegressor"
    assert "explains='predictions'" in asked.result_.call
    with pytest.raises(InputError, match=r'explains="outcome" needs the outcome: pass y'):
        ShapleyEffects.from_fitted(forest, NUMBERS, explains="outcome")
    with pytest.raises(InputError, match="explains='both' is unknown"):
        ShapleyEffects.from_fitted(forest, NUMBERS, Y, explains="both")
    assert "rows='training'" not in asked.result_.call
    seen = ShapleyEffects.from_fitted(forest, NUMBERS, Y, rows="training", **SETTINGS).result_
    assert "rows='training'" in seen.call
    with pytest.raises(InputError, match="needs a model of your own"):
        ShapleyEffects("boosting", explains="predictions").fit(NUMBERS, Y)


FITTED = {
    "forest": (FOREST, "the projected trees of RandomForestRegressor"),
    "booster": (HGB, "the projected trees of HistGradientBoostingRegressor"),
    "pipeline": (make_pipeline(StandardScaler(), HGB),
                 "the projected trees of HistGradientBoostingRegressor in Pipeline"),
    "linear": (Ridge(), "Ridge, fitted anew on each subset"),
    "linear pipeline": (SCALED, "Pipeline, fitted anew on each subset"),
    "vectors": (SVR(), "learners of shaff in place of SVR"),
    "search": (GridSearchCV(SCALED, GRID, cv=3), "learners of shaff in place of GridSearchCV"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FITTED)
def test_fit_explains_the_outcome_and_says_how(kind):
    model, how = FITTED[kind]
    result = ShapleyEffects(model, **SETTINGS).fit(NUMBERS, Y).result_
    assert result.explains == "outcome"
    assert result.summary().splitlines()[0] == f"Shapley effects on the outcome y, through {how}"
    assert 0.3 < result.explained_variance < 0.8  # the town is not among the numbers
    assert 0.2 < result.held_out["r2_of_model"] < 0.8
    assert load_result(result.to_json()).summary() == result.summary()


@pytest.mark.parametrize("model", [FOREST, Ridge()])
def test_fit_explains_predictions_if_it_is_asked_to(model):
    result = ShapleyEffects(model, explains="predictions", **SETTINGS).fit(NUMBERS, Y).result_
    assert result.target == f"the predictions of {type(model).__name__}"
    assert result.explained_variance > 0.9
    assert 0.2 < result.held_out["r2_of_model"] < 0.8
    assert result.through is None


def test_many_models_have_one_meaning():
    models = {"forest": FOREST, "ridge": Ridge(), "vectors": SVR()}
    same = explain_many(NUMBERS, Y, models=models, **SETTINGS)
    assert not same.is_mixed
    assert "Note" not in same.summary()
    explained = [same[name].explained_variance for name in models]
    assert max(explained) - min(explained) < 0.2
    assert set(same.to_frame()["explains"]) == {"outcome"}


def test_results_of_several_meanings_say_so():
    asked = ShapleyEffects(Ridge(), explains="predictions", **SETTINGS).fit(NUMBERS, Y).result_
    outcome = ShapleyEffects(Ridge(), **SETTINGS).fit(NUMBERS, Y).result_
    mixed = ManyEffects(("model",), {"ridge": asked, "forest": outcome}, {}, None)
    assert mixed.is_mixed
    assert "ridge (its predictions): " in mixed.summary()
    assert "do not compare" in mixed.summary()


def test_what_was_explained_is_saved(tmp_path):
    result = explain_model(lambda rows: rows[:, 0], NUMBERS, **SETTINGS).result_
    result.to_json(tmp_path / "effects.json")
    again = load_result(tmp_path / "effects.json")
    assert again.explains == "predictions"
    assert again.summary() == result.summary()
