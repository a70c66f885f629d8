"""Trees inside of other models: the same values as without what stands around them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.trees.wrapped import unwrap
from shaff.values.models.seeing_through import see_through

N = 300
SETTINGS = {"random_state": 0, "n_subsets": 10}
FOREST = RandomForestRegressor(30, min_samples_leaf=5, max_features=0.5, random_state=0)
HGB = HistGradientBoostingRegressor(max_iter=30, max_features=0.5, random_state=0)


def make_frame(seed):
    rng = np.random.default_rng(seed)
    size = rng.normal(size=N)
    frame = pd.DataFrame({"size": size, "age": 0.6 * size + rng.normal(size=N)})
    frame["town"] = rng.choice(["Bern", "Oslo", "Rome"], size=N)
    y = 2 * size - frame["age"] + 2.0 * (frame["town"] == "Oslo") + 0.3 * rng.normal(size=N)
    return frame, y.to_numpy()


FRAME, Y = make_frame(0)
HELD_OUT, HELD_OUT_Y = make_frame(1)
NUMBERS = FRAME[["size", "age"]].to_numpy()
HELD_OUT_NUMBERS = HELD_OUT[["size", "age"]].to_numpy()


def encoder():
    """Numbers first, so that the inputs are in one order inside and outside."""
    return ColumnTransformer(
        [("numbers", StandardScaler(), ["size", "age"]), ("town", OneHotEncoder(), ["town"])]
    )


# The columns that the encoder makes of each input.
GROUPS = {"size": [0], "age": [1], "town": [2, 3, 4]}


def agree(first, second):
    np.testing.assert_allclose(first.effects_, second.effects_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first.result_.first_order, second.result_.first_order, atol=1e-12)
    assert first.explained_variance_ == pytest.approx(second.explained_variance_, rel=1e-12)


@pytest.mark.parametrize("model", [FOREST, HGB])
def test_a_fitted_pipeline_is_its_trees_on_the_columns_of_each_input(model):
    pipeline = make_pipeline(encoder(), model).fit(FRAME, Y)
    est = ShapleyEffects.from_fitted(pipeline, HELD_OUT, HELD_OUT_Y, **SETTINGS)
    inside = pipeline[0].transform(HELD_OUT)
    bare = ShapleyEffects.from_fitted(pipeline[1], inside, HELD_OUT_Y, groups=GROUPS, **SETTINGS)
    assert est.result_.names == ("size", "age", "town")
    agree(est, bare)
    new, _ = make_frame(2)
    local, direct = est.explain(new), bare.explain(pipeline[0].transform(new))
    np.testing.assert_allclose(local.values, direct.values, atol=1e-12)
    assert set(local.levels) == {"town"}
    np.testing.assert_array_equal(local.data[:, 0], new["size"])


@pytest.mark.parametrize("model", [FOREST, HGB])
def test_a_pipeline_is_fitted_and_projected_as_its_trees_are(model):
    est = ShapleyEffects(make_pipeline(encoder(), model), **SETTINGS).fit(FRAME, Y)
    inside = encoder().fit_transform(FRAME)
    bare = ShapleyEffects(model, groups=GROUPS, **SETTINGS).fit(inside, Y)
    agree(est, bare)
    own, of_trees = (e.result_.held_out["r2_of_model"] for e in (est, bare))
    assert own == pytest.approx(of_trees, rel=1e-12)
    local = est.explain(FRAME[:7])
    np.testing.assert_allclose(local.base + local.values.sum(axis=1), local.predictions, atol=1e-9)


def test_training_rows_are_out_of_bag_inside_of_a_pipeline_too():
    pipeline = make_pipeline(StandardScaler(), FOREST).fit(NUMBERS, Y)
    est, bare = (
        ShapleyEffects.from_fitted(model, rows, Y, rows="training", **SETTINGS)
        for model, rows in ((pipeline, NUMBERS), (pipeline[1], pipeline[0].transform(NUMBERS)))
    )
    agree(est, bare)
    voting = VotingRegressor([("one", FOREST), ("two", FOREST)]).fit(NUMBERS, Y)
    with pytest.raises(InputError, match='rows="training" needs'):
        ShapleyEffects.from_fitted(voting, NUMBERS, Y, rows="training")


def test_paths_of_trees_are_those_of_the_inputs():
    pipeline = make_pipeline(encoder(), FOREST).fit(FRAME, Y)
    found = ShapleyEffects.from_fitted(
        pipeline, HELD_OUT, HELD_OUT_Y, design="forest_paths", random_state=0
    )
    bare = ShapleyEffects.from_fitted(
        pipeline[1], pipeline[0].transform(HELD_OUT), HELD_OUT_Y,
        groups=GROUPS, design="forest_paths", random_state=0,
    )  # fmt: skip
    agree(found, bare)


def test_a_column_that_a_step_leaves_out_has_no_effect():
    rng = np.random.default_rng(0)
    X = np.column_stack([NUMBERS, rng.normal(size=N)])
    held_out = np.column_stack([HELD_OUT_NUMBERS, rng.normal(size=N)])
    pipeline = make_pipeline(SelectKBest(f_regression, k=2), FOREST).fit(X, Y)
    est = ShapleyEffects.from_fitted(pipeline, held_out, HELD_OUT_Y, **SETTINGS)
    assert "RandomForestRegressor in Pipeline" in est.result_.through
    left_out = int(np.argmin(pipeline[0].get_support()))
    assert est.effects_[left_out] == pytest.approx(0, abs=1e-12)
    local = est.explain(held_out[:5]).values[:, left_out]
    np.testing.assert_allclose(local, 0, atol=0.02)  # bags differ in their means
    # The outcome of held-out rows would choose columns.
    fitted = ShapleyEffects(pipeline, **SETTINGS).fit(X, Y)
    assert fitted.result_.through == "learners of shaff in place of Pipeline"


def test_directions_are_those_of_the_columns_that_were_given():
    turned = make_pipeline(FunctionTransformer(np.negative), FOREST).fit(NUMBERS, Y)
    result = ShapleyEffects.from_fitted(turned, HELD_OUT_NUMBERS, HELD_OUT_Y, **SETTINGS).result_
    assert result.directions == {"x0": "increasing", "x1": "decreasing"}


class FromTheMean(TransformerMixin, BaseEstimator):
    """A step that looks at the other rows."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X - X.mean(axis=0)


X = np.where(np.random.default_rng(0).random(NUMBERS.shape) < 0.1, np.nan, NUMBERS)
STEPS = {
    "scaler": (StandardScaler(), NUMBERS, [[0], [1]]),
    "imputer": (SimpleImputer(add_indicator=True), X, [[0, 2], [1, 3]]),
    "neighbours": (KNNImputer(), X, None),
    "components": (PCA(), NUMBERS, None),
    "constants": (VarianceThreshold(), NUMBERS * [1, 0], [[0], []]),
    "other rows": (FromTheMean(), np.vstack([NUMBERS, NUMBERS + 1]), None),
    "by hand": (FunctionTransformer(lambda Z: Z[:, ::-1] ** 3), NUMBERS, [[1], [0]]),
    "no numbers": (FunctionTransformer(lambda Z: Z.astype(str)), NUMBERS, [[0], [1]]),
    "infinity": (FunctionTransformer(lambda Z: np.where(Z > 0, np.inf, Z)), NUMBERS, None),
}  # fmt: skip


@pytest.mark.parametrize("kind", STEPS)
def test_steps_say_themselves_which_input_a_column_comes_from(kind):
    step, rows, expected = STEPS[kind]
    seen = see_through([step.fit(rows)], Problem.of(rows, np.zeros(len(rows))))
    found = None if seen is None else [player.tolist() for player in seen.problem.players]
    assert found == expected


def test_inputs_may_be_mixed_inside_of_a_group():
    rows = np.column_stack([NUMBERS, NUMBERS[::-1]])
    problem = Problem.of(rows, Y, players=[[0, 1], [2, 3]])
    mixed = ColumnTransformer([("first", PCA(), [0, 1]), ("rest", PCA(), [2, 3])]).fit(rows)
    found = see_through([mixed], problem)
    assert [player.tolist() for player in found.problem.players] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("model", "n_trees"),
    [
        (GridSearchCV(FOREST, {"min_samples_leaf": [5]}, cv=2), 30),
        (VotingRegressor([("one", FOREST), ("two", FOREST)]), 60),
        (BaggingRegressor(FOREST, 3, random_state=0), 90),
        (TransformedTargetRegressor(FOREST, func=np.cbrt, inverse_func=np.exp), 30),
        (make_pipeline(StandardScaler(), VotingRegressor([("one", FOREST)])), 30),
    ],
)
@pytest.mark.filterwarnings("ignore:The provided functions")
def test_trees_are_found_inside(model, n_trees):
    assert len(unwrap(model.fit(NUMBERS, Y)).core.estimators_) == n_trees


@pytest.mark.parametrize(
    "model",
    [
        VotingRegressor([("one", FOREST), ("two", Ridge())]),
        VotingRegressor([("one", FOREST), ("two", FOREST)], weights=[1, 2]),
        VotingRegressor([("one", FOREST), ("two", RandomForestRegressor(7))]),
        BaggingRegressor(FOREST, 3, max_features=0.5, random_state=0),
    ],
)
def test_ensembles_of_other_things_stay_whole(model):
    fitted = model.fit(NUMBERS, Y)
    assert unwrap(fitted).core is fitted


def test_leaves_of_merged_forests_are_estimated_anew():
    """Twice the same forest is that forest: its trees keep their structure, twice as often."""
    voting = VotingRegressor([("one", FOREST), ("two", FOREST)]).fit(NUMBERS, Y)
    both = ShapleyEffects.from_fitted(voting, HELD_OUT_NUMBERS, HELD_OUT_Y, **SETTINGS)
    one = ShapleyEffects.from_fitted(
        FOREST.fit(NUMBERS, Y), HELD_OUT_NUMBERS, HELD_OUT_Y, **SETTINGS
    )
    np.testing.assert_allclose(both.effects_, one.effects_, atol=0.03)
