"""Values of single rows: closed forms, enumeration, sums, and all kinds of tables."""

import copy
import pickle
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from local_oracle import enumerated, linear_gaussian, shapley
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from shaff import LocalEffects, ShapleyEffects, load_result
from shaff.errors import InputError, InputTypeError
from shaff.fitting import fitted_game
from shaff.protocols import Values, ValueSetting

mpl.use("Agg")

FAMILIES = ("boosting", "forest", "smooth", "stack")
# A stack of few rows is averaged over many splits.
QUICK = ("boosting", "forest", "smooth", pytest.param("stack", marks=pytest.mark.slow))
BETA = np.array([1.0, -0.5, 0.0, 0.8])
COVARIANCE = 0.6 ** np.abs(np.subtract.outer(range(4), range(4)))


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(4), COVARIANCE, n)
    return X, X @ BETA + 0.3 * rng.standard_normal(n)


def assert_adds_up(local, tolerance=1e-9):
    total = local.base + local.values.sum(axis=1)
    np.testing.assert_allclose(total, local.predictions, atol=tolerance, rtol=0)


@pytest.fixture(scope="module")
def fitted():
    X, y = draw(600, 0)
    return {name: ShapleyEffects(name, random_state=0).fit(X, y) for name in FAMILIES}


@pytest.fixture(scope="module")
def mixed():
    """A frame with everything, and effects fitted on it."""
    rng = np.random.default_rng(3)
    n = 300
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["Bern", "Oslo", "Rome"], n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
        }
    )
    y = frame["size"] + (frame["town"] == "Rome") + frame["age"].fillna(2) * 0.5 + frame["a"]
    y = y + 0.2 * rng.normal(size=n)
    est = ShapleyEffects("boosting", groups={"both": ["a", "b"]}, random_state=0).fit(frame, y)
    return est, frame, y


# What the values are ----------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "most"), [("boosting", 0.05), ("smooth", 0.05),
                                              ("stack", 0.05), ("forest", 0.25)])  # fmt: skip
def test_values_are_those_of_the_closed_form(fitted, family, most):
    new, _ = draw(200, 1)
    truth = linear_gaussian(BETA, COVARIANCE, new)
    error = np.abs(fitted[family].explain(new).values - truth).mean()
    assert error < most * np.abs(truth).mean() / 0.35


@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_enumeration(fitted, family):
    new, _ = draw(7, 2)
    local = fitted[family].explain(new)
    by_hand = enumerated(fitted[family], new, local.base)[:, :, 0]
    np.testing.assert_allclose(local.values, by_hand, atol=1e-10)
    np.testing.assert_allclose(local.data, new)


@pytest.mark.parametrize("family", FAMILIES)
def test_values_add_up(fitted, family):
    assert_adds_up(fitted[family].explain(draw(50, 3)[0]))
    assert_adds_up(fitted[family].explain())


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_fit_are_predicted_without_themselves(fitted, family):
    X, y = draw(600, 0)
    local = fitted[family].explain()
    assert local.is_training
    np.testing.assert_array_equal(local.values, fitted[family].explain(X).values)
    noise = y - X @ BETA
    unseen = np.corrcoef(local.predictions - X @ BETA, noise)[0, 1]
    assert abs(unseen) < 0.15
    # Rows that are taken for new ones were seen by most of the learners.
    part = fitted[family].explain(X[:-1])
    assert "rows of the fit, which most of the learners have seen" in part.notes[0]
    seen = part.predictions - X[:-1] @ BETA
    assert np.corrcoef(seen, noise[:-1])[0, 1] > unseen + 0.02


def test_many_subsets_are_not_needed():
    """By a third of all subsets the values are close to those by all, as their errors say."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8))
    y = X @ np.linspace(-1, 1, 8) + X[:, 0] * X[:, 7]
    est = ShapleyEffects("smooth", random_state=0, n_subsets=80).fit(X, y)
    new = rng.standard_normal((30, 8))
    local = est.explain(new, errors=True)
    exact = enumerated(est, new, local.base)[:, :, 0]
    off = np.abs(local.values - exact)
    assert off.mean() < 0.05 * np.abs(exact).mean()
    assert (off < 3 * local.standard_errors).mean() > 0.9
    assert local.standard_errors.mean() < 0.2 * np.abs(exact).mean()


def test_no_design_error_if_all_subsets_were_priced(fitted):
    local = fitted["smooth"].explain(draw(3, 4)[0], errors=True)
    assert (local.standard_errors == 0).all()


@dataclass(frozen=True)
class InSample(ValueSetting):
    """Least squares on all rows: what the identities of orthogonal projections hold for."""

    name = "least squares"

    def make(self, problem):
        return LeastSquaresValues(problem)


class LeastSquaresValues:
    def __init__(self, problem):
        self.X, self.y, self.n_players = problem.X, problem.y[:, 0], len(problem.players)

    def predict(self, subsets, rows=None):
        rows = self.X if rows is None else rows
        fits = [LinearRegression().fit(self.X[:, m], self.y) for m in subsets.masks()]
        pairs = zip(fits, subsets.masks(), strict=True)
        return np.stack([fit.predict(rows[:, mask]) for fit, mask in pairs])[:, :, None]

    def values(self, subsets, *, influences=False):
        errors = ((self.y - self.predict(subsets)[:, :, 0]) ** 2).mean(axis=1)
        return Values(subsets, 1 - errors / self.y.var())


def test_covariances_of_values_and_outcome_are_the_effects():
    """For projections Cov(m_U, y) = Var(m_U), so that row by row the effects come back."""
    X, y = draw(200, 6)
    est = ShapleyEffects(InSample(), random_state=0).fit(X, y)
    local = est.explain()
    back = (local.values * (y - y.mean())[:, None]).mean(axis=0) / y.var()
    np.testing.assert_allclose(back, est.result_.raw_effects, atol=1e-10)


def test_covariances_are_close_to_the_effects_of_a_good_learner(fitted):
    _, y = draw(600, 0)
    est = fitted["smooth"]
    back = (est.explain().values * (y - y.mean())[:, None]).mean(axis=0) / y.var()
    np.testing.assert_allclose(back, est.effects_, atol=0.02)


# Outputs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", QUICK)
def test_classes_have_values_each(family):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 3))
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])]
    local = ShapleyEffects(family, random_state=0, n_subsets=6).fit(X, y).explain(X[:20])
    assert local.outputs == ("low", "middle", "top")
    assert local.values.shape == (20, 3, 3)
    assert_adds_up(local)
    np.testing.assert_allclose(local.base, [(y == name).mean() for name in local.outputs])
    top = local.of("top")
    np.testing.assert_array_equal(top.values, local.values[:, :, 2])
    assert top.output == "top"
    with pytest.raises(InputError, match=r"choose one, as in local\.of\('low'\)"):
        local.beeswarm()
    with pytest.raises(InputError, match="no output 'x'"):
        local.of("x")


def test_two_classes_are_one_probability():
    X, y = draw(200, 7)
    local = ShapleyEffects("forest", random_state=0).fit(X, np.where(y > 0, "yes", "no")).explain()
    assert local.values.shape == (200, 4)
    assert local.output == "yes"
    assert local.base == (y > 0).mean()


def test_several_outputs(fitted):
    X, y = draw(300, 8)
    two = ShapleyEffects("smooth", random_state=0).fit(X, np.column_stack([y, X[:, 0]]))
    local = two.explain(X[:5])
    assert local.outputs == ("y0", "y1")
    assert_adds_up(local)
    frame = local.to_frame()
    assert list(frame.columns[:4]) == ["row", "output", "prediction", "base"]
    assert len(frame) == 10


# Tables -----------------------------------------------------------------------------------------


def test_columns_go_by_name_in_every_library(mixed):
    est, frame, _ = mixed
    new = frame.iloc[:9]
    expected = est.explain(new)
    assert expected.names == ("size", "town", "age", "both")
    turned = new[["b", "town", "a", "age", "size"]].assign(more=1)
    for given in (turned, pl.from_pandas(turned), pl.from_pandas(turned).to_arrow()):
        local = est.explain(given)
        np.testing.assert_array_equal(local.values, expected.values)
    assert isinstance(est.explain(pl.from_pandas(new)).to_frame(), pl.DataFrame)
    assert_adds_up(expected)
    assert np.isnan(expected.data[:, 3]).all()  # a group has no entry
    assert expected.label(0, 1) == new["town"].iloc[0]


def test_unseen_categories_are_missing_ones(mixed):
    est, frame, _ = mixed
    new, other = frame.iloc[:4].copy(), frame.iloc[:4].copy()
    new.loc[new.index[0], "town"] = "Lima"
    other.loc[other.index[0], "town"] = None
    with pytest.warns(UserWarning, match="'town' has categories that did not occur in fit"):
        local = est.explain(new)
    assert len(local.notes) == 1
    with pytest.warns(UserWarning, match="'town' has missing values but had none in fit"):
        np.testing.assert_array_equal(local.values, est.explain(other).values)
    assert_adds_up(local)


@pytest.mark.parametrize("family", FAMILIES)
def test_missing_values_where_none_were(fitted, family):
    new = np.array([[np.nan, 0.0, 1.0, 1.0]])
    with pytest.warns(UserWarning, match="'x0' has missing values but had none in fit"):
        assert_adds_up(fitted[family].explain(new))


def test_columns_of_categories_in_a_matrix():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([3.0, 7.0, 9.0], 200), rng.standard_normal(200)])
    y = (X[:, 0] == 7) + 0.1 * X[:, 1]
    est = ShapleyEffects("boosting", categorical=[0], random_state=0).fit(X, y)
    local = est.explain(np.array([[7.0, 0.0], [9.0, 0.0]]))
    assert local.label(0, 0) == "7.0"
    assert local.values[0, 0] > 0.3 > local.values[1, 0]
    with pytest.warns(UserWarning, match="did not occur in fit"):
        est.explain(np.array([[8.0, 0.0]]))


def test_text_is_read_as_in_fit():
    rng = np.random.default_rng(0)
    days = rng.integers(1, 29, 60)
    frame = pd.DataFrame(
        {"day": [f"{d:02}/01/2021" for d in days], "x": [f"{v:.1f}%" for v in rng.normal(size=60)]}
    )
    est = ShapleyEffects("smooth", random_state=0).fit(frame, days + rng.normal(size=60))
    # By itself this could be the 3rd of January or the 1st of March.
    local = est.explain(pd.DataFrame({"day": ["03/01/2021"], "x": ["1.0%"]}))
    assert local.data[0].tolist() == [18630.0, 1.0]
    with pytest.warns(UserWarning, match="'x' has missing values"):
        est.explain(pd.DataFrame({"day": ["03/01/2021"], "x": ["much"]}))


def test_sparse_rows_and_arrays_for_a_frame_of_numbers():
    X, y = draw(120, 9)
    est = ShapleyEffects("smooth", random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(
        est.explain(sp.csr_array(X[:3])).values, est.explain(X[:3]).values
    )
    named = ShapleyEffects("smooth", random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), y)
    np.testing.assert_array_equal(named.explain(X[:3]).values, est.explain(X[:3]).values)


@pytest.mark.parametrize(
    "family", ["smooth", "forest", pytest.param("stack", marks=pytest.mark.slow)]
)
def test_screened_players_have_nothing_and_the_others_one_value(family):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 40))
    y = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(200)
    est = ShapleyEffects(family, random_state=0, n_subsets=40, screen=4).fit(X, y)
    for local in (est.explain(X[:30] + 0.01), est.explain()):
        assert local.names[-1] == "all others"
        assert local.values.shape[1] == 41
        assert (local.values[:, :-1][:, est.result_.is_screened] == 0).all()
        assert "not evaluated by name and are 0 in each row" in local.notes[-1]
        assert_adds_up(local)


def test_copies_of_a_column_share():
    X, y = draw(200, 10)
    local = ShapleyEffects("smooth", random_state=0).fit(X[:, [0, 1, 0]], y).explain()
    np.testing.assert_allclose(local.values[:, 0], local.values[:, 2], atol=1e-9)


# Models -----------------------------------------------------------------------------------------


def test_fitted_models_explain_rows():
    X, y = draw(300, 11)
    new = draw(4, 12)[0]
    forest = RandomForestRegressor(30, min_samples_leaf=5, random_state=0).fit(X, y)
    booster = HistGradientBoostingRegressor(max_iter=30, max_features=0.5, random_state=0)
    line = LinearRegression().fit(X, y)
    made = (
        ShapleyEffects.from_fitted(forest, X, y, rows="training", random_state=0),
        ShapleyEffects.from_fitted(booster.fit(*draw(300, 13)), X, y, random_state=0),
        ShapleyEffects.from_fitted(line, X[:100], random_state=0),
    )
    for est in made:
        assert_adds_up(est.explain(new))
        assert_adds_up(est.explain())
    np.testing.assert_allclose(made[2].explain(new).predictions, line.predict(new), atol=0.1)
    assert made[2].explain().n_rows == 100


def test_a_fitted_booster_knows_its_categories():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    town = pd.Categorical(rng.choice(list("cab"), 400))
    frame = pd.DataFrame({"x": rng.normal(size=400), "t": town})
    y = frame["x"] + 2.0 * (frame["t"] == "a")
    model = lightgbm.LGBMRegressor(n_estimators=30, verbose=-1, colsample_bytree=0.5)
    model.fit(frame[:200], y[:200])
    est = ShapleyEffects.from_fitted(model, frame[200:], y[200:], random_state=0)
    new = pd.DataFrame({"t": ["a", "b"], "x": [0.0, 0.0]})
    local = est.explain(new)
    assert local.values[0, 1] > 0.5 > 0 > local.values[1, 1]


@pytest.mark.parametrize("name", ["aas_gaussian", "kernel_shap", "williamson"])
def test_other_systems_explain_rows(name):
    X, y = draw(120, 14)
    model = LinearRegression()
    est = ShapleyEffects.preset(name, estimator=model, n_subsets=10, random_state=0).fit(X, y)
    assert_adds_up(est.explain(X[:3] + 0.01))


def test_aas_knows_the_order_of_levels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"t": rng.choice(list("abc"), 150), "x": rng.normal(size=150)})
    y = frame["t"].map({"a": 5.0, "b": 0.0, "c": 2.0}) + frame["x"]
    est = ShapleyEffects.preset("aas_gaussian", estimator=LinearRegression(), random_state=0)
    values = est.fit(frame, y).explain(pd.DataFrame({"t": list("bca"), "x": [0.0] * 3})).values
    assert values[0, 0] < values[1, 0] < values[2, 0]


def test_systems_without_parts_say_so():
    X, y = draw(100, 15)
    forest = RandomForestRegressor(20, min_samples_leaf=5)
    for name in ("sobol_mda", "mdi"):
        est = ShapleyEffects.preset(name, estimator=forest, random_state=0).fit(X, y)
        with pytest.raises(InputError, match="cannot divide single predictions"):
            est.explain(X[:3])
    paths = ShapleyEffects.as_published(estimator=RandomForestRegressor(20, random_state=0))
    assert_adds_up(paths.set_params(random_state=0).fit(X, y).explain(X[:3] + 0.1))
    with pytest.raises(InputError, match='solver="gaussian_process"'):
        paths.explain(X[:3], errors=True)


def test_a_value_function_without_predictions():
    class Bare(LeastSquaresValues):
        predict = None

    @dataclass(frozen=True)
    class Setting(ValueSetting):
        name = "bare"

        def make(self, problem):
            made = LeastSquaresValues(problem)
            bare = Bare(problem)
            bare.values = made.values
            return bare

    X, y = draw(60, 16)
    est = ShapleyEffects(Setting(), random_state=0).fit(X, y)
    with pytest.raises(InputTypeError, match="'bare' values have no conditional means"):
        est.explain()


# Same bits, and copies --------------------------------------------------------------------------


@pytest.mark.parametrize("family", QUICK)
def test_same_bits_for_any_number_of_threads(family):
    X, y = draw(200, 17)
    new = draw(60, 18)[0]
    one, two = (
        ShapleyEffects(family, random_state=0, n_jobs=jobs).fit(X, y).explain(new).values
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("family", FAMILIES)
def test_blocks_change_nothing(fitted, family, monkeypatch):
    new = draw(60, 19)[0]
    whole = fitted[family].explain(new).values
    monkeypatch.setattr(fitted_game, "MAX_ROWS", 7)
    monkeypatch.setattr(fitted_game, "MAX_SUBSETS", 3)
    monkeypatch.setattr(fitted_game, "MIN_SUBSETS", 1)
    np.testing.assert_allclose(fitted[family].explain(new).values, whole, rtol=0, atol=1e-12)


def test_estimators_are_copied_and_pickled_with_it(mixed):
    est, frame, _ = mixed
    for again in (pickle.loads(pickle.dumps(est)), copy.deepcopy(est)):
        np.testing.assert_array_equal(
            again.explain(frame[:5]).values, est.explain(frame[:5]).values
        )
    loud = ShapleyEffects("smooth", verbose=1, random_state=0).fit(frame[["size", "a"]], mixed[2])
    assert pickle.loads(pickle.dumps(loud)).explain().n_rows == 300
    with pytest.raises(NotFittedError):
        clone(est).explain(frame)


# The object -------------------------------------------------------------------------------------


def test_shap_draws_it(mixed):
    shap = pytest.importorskip("shap")
    est, frame, _ = mixed
    local = est.explain(frame)
    explanation = local.to_shap()
    np.testing.assert_array_equal(explanation.values, local.values)
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), local.predictions
    )
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure()
    shap.plots.beeswarm(explanation, show=False)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert set(local.names) <= set(labels)
    pyplot.close("all")


def test_it_goes_through_json_and_pickle(mixed, tmp_path):
    local = mixed[0].explain(mixed[1][:6], errors=True)
    local.to_json(tmp_path / "local.json")
    for again in (
        load_result(tmp_path / "local.json"),
        pickle.loads(pickle.dumps(local)),
    ):
        for field in ("values", "predictions", "data", "standard_errors"):
            np.testing.assert_array_equal(getattr(again, field), getattr(local, field))
        assert again.levels == local.levels
        assert again.base == local.base
        assert not again.values.flags.writeable
    with pytest.raises(InputError, match="is not a result of shaff"):
        load_result("{}")


def test_rows_can_be_taken_and_named(mixed):
    local = mixed[0].explain(mixed[1][:6])
    two = local.take([4, -1])
    assert two.rows.tolist() == [4, 5]
    np.testing.assert_array_equal(two.values, local.values[[4, 5]])
    with pytest.raises(InputError, match="There is no row 6: there are 6, from 0 on"):
        local.take([6])
    with pytest.raises(InputError, match="no rows to take"):
        local.take([])
    with pytest.raises(InputError, match="values must have shape"):
        LocalEffects(("a",), np.zeros((2, 2)), 0.0, np.zeros(2), np.zeros((2, 1)))


def test_rows_say_where_they_stood():
    X, y = draw(100, 20)
    weight = np.ones(100)
    weight[3] = 0
    est = ShapleyEffects("smooth", random_state=0).fit(X, y, sample_weight=weight)
    assert est.explain().rows[:4].tolist() == [0, 1, 2, 4]
    few = ShapleyEffects("smooth", random_state=0, max_rows=50).fit(X, y)
    local = few.explain()
    np.testing.assert_array_equal(local.data, X[local.rows])


def test_names_of_columns_stay_apart():
    local = LocalEffects(("row", "b"), [[1.0, 2.0]], 0.0, [3.0], [[0.0, 0.0]])
    assert local.to_frame("polars").columns == ["row_", "prediction", "base", "row", "b"]


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (np.zeros((2, 3)), "fitted on 4 columns; X has 3"),
        (np.zeros(4), "X has 1 dimensions: pass a table of rows, of one row as X\\[:1\\]"),
        (np.zeros((0, 4)), "There are no rows to explain"),
        (np.full((1, 4), np.inf), "infinite"),
        ([["a", "b", "c", "d"]], "must hold numbers"),
        (pd.DataFrame({"a": [1.0]}), "fitted on 4 columns; X has 1"),
        ({"a": [1.0]}, "make it a data frame"),
    ],
    ids=["columns", "dimensions", "none", "infinite", "text", "frame", "dict"],
)
def test_bad_rows_are_told_in_one_sentence(fitted, new, said):
    with pytest.raises((InputError, InputTypeError), match=said):
        fitted["smooth"].explain(new)


def test_bad_frames_are_told_in_one_sentence(mixed):
    est, frame, _ = mixed
    with pytest.raises(InputError, match="X lacks the column 'town', which the effects"):
        est.explain(frame.drop(columns="town"))
    with pytest.raises(InputError, match="fitted on a frame with categories"):
        est.explain(np.zeros((1, 5)))
    with pytest.raises(InputError, match="no rows to explain"):
        est.explain(frame[:0])
    with pytest.raises(InputError, match="'size' held numbers in fit; now it holds text"):
        est.explain(frame[:3].assign(size=["x", "y", "z"]))


def test_nothing_to_explain_is_0():
    X, _ = draw(30, 21)
    with pytest.warns(UserWarning, match="constant"):
        est = ShapleyEffects(random_state=0).fit(X, np.full(30, 2.0))
    local = est.explain(X[:3], errors=True)
    assert (local.values == 0).all()
    assert local.predictions.tolist() == [2.0] * 3
    assert est.explain().n_rows == 30


def test_one_player_has_it_all():
    X, y = draw(100, 22)
    local = ShapleyEffects("smooth", random_state=0).fit(X[:, :1], y).explain()
    np.testing.assert_allclose(local.values[:, 0], local.predictions - local.base)


def test_the_oracle_shares_a_sum_by_its_parts():
    masks = (np.arange(8)[:, None] >> np.arange(3) & 1).astype(bool)
    np.testing.assert_allclose(shapley(masks @ np.array([1.0, 2.0, 4.0])), [1.0, 2.0, 4.0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", ["smooth", "boosting"])
def test_probabilities_stay_between_0_and_1(family, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    codes = np.digitize(X[:, 0] + 0.05 * rng.normal(size=150), [0.0, 0.7][: n_classes - 1])
    est = ShapleyEffects(family, random_state=0).fit(X, codes.astype(str))
    for local in (est.explain(), est.explain(3 * X)):
        assert local.predictions.min() >= -1e-12
        assert local.predictions.max() <= 1 + 1e-12
        total = local.values.sum(axis=1) + local.base
        np.testing.assert_allclose(total, local.predictions, atol=1e-9)
        if n_classes > 2:
            np.testing.assert_allclose(local.predictions.sum(axis=1), 1.0)
