"""`ShapleyEffects` as a scikit-learn estimator, on good input and bad."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from shaff import ForestPaths, ShapleyEffects, shapley_effects
from shaff.datasets import experiment_2


def forest(n_trees=20, **settings):
    return RandomForestRegressor(n_trees, min_samples_leaf=5, random_state=0, **settings)


def quick(**settings):
    """A small forest and few subsets."""
    return ShapleyEffects(**{"estimator": forest(), "n_subsets": 40, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def data():
    """One strong, one weak and two idle columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    return X, 2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=200)


# Scikit-learn's checks ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Nothing is explained")  # the checks' y is often noise
@parametrize_with_checks(
    [
        ShapleyEffects(RandomForestRegressor(10, min_samples_leaf=2), n_subsets=20),
        ShapleyEffects(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_pipeline_and_selection(data):
    X, y = data
    pipeline = make_pipeline(
        StandardScaler(), SelectFromModel(quick(), threshold="0.3*mean"), LinearRegression()
    )
    assert pipeline.fit(X, y).score(X, y) > 0.9
    assert pipeline[1].get_support().tolist() == [True, True, False, False]
    rfe = RFE(quick(), n_features_to_select=1).fit(X, y)
    assert rfe.support_.tolist() == [True, False, False, False]


def test_clone_pickle_and_params(data):
    est = quick(groups={"g": [0, 1]}).fit(*data)
    copy = clone(est)
    assert not hasattr(copy, "result_")
    assert copy.get_params()["groups"] == {"g": [0, 1]}
    again = pickle.loads(pickle.dumps(est))
    assert again.effects_.tobytes() == est.effects_.tobytes()
    assert again.result_.names == est.result_.names
    assert est.set_params(n_subsets=8, estimator__n_estimators=12).estimator.n_estimators == 12
    assert est.n_subsets == 8


def test_results_and_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    est = quick().fit(frame, y)
    assert est.get_feature_names_out().tolist() == ["a", "b", "c", "d"]
    assert est.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert est.effects_.argsort()[::-1][:2].tolist() == [0, 1]
    assert est.effects_.min() >= 0
    assert est.effects_.sum() == pytest.approx(est.explained_variance_)
    np.testing.assert_array_equal(est.feature_importances_, est.effects_)
    by_call = shapley_effects(frame, y, estimator=forest(), n_subsets=40, random_state=0)
    np.testing.assert_array_equal(by_call.effects, est.effects_)
    assert not hasattr(quick().fit(frame, y).fit(X, y), "feature_names_in_")


def test_as_published_is_the_paper():
    est = ShapleyEffects.as_published(random_state=3)
    assert est.estimator.error == "plain"
    assert est.estimator.model.get_params()["n_estimators"] == 500
    assert est.estimator.model.max_features == pytest.approx(1 / 3)
    assert est.estimator.model.min_samples_leaf == 5
    assert est.design == ForestPaths(n_draws=500, paired_weights="published")
    assert (est.solver, est.random_state) == ("least_squares", 3)


def test_as_published_finds_the_effects():
    exp = experiment_2(n=1000, random_state=0)
    est = ShapleyEffects.as_published(
        estimator=forest(40, max_features=1 / 3),
        design=ForestPaths(150, "published"),
        random_state=0,
    ).fit(exp.X, exp.y)
    assert est.result_.design == "forest_paths"
    assert est.result_.solver == "least_squares"
    assert est.effects_.argmax() == 2
    assert np.abs(est.effects_ - exp.effects).sum() < 0.5
    assert est.effects_[10:].sum() < 0.05


# Fitted models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_forest_on_its_training_rows_is_as_if_fitted_here(data, kind):
    X, y = data
    model = kind(30, min_samples_leaf=5, bootstrap=True, random_state=1).fit(X, y)
    settings = {"n_subsets": 30, "random_state": 0}
    fitted = ShapleyEffects.from_fitted(model, X, y, rows="training", **settings)
    here = ShapleyEffects(clone(model), **settings).fit(X, y)
    np.testing.assert_array_equal(fitted.effects_, here.effects_)


@pytest.mark.parametrize(
    "model",
    [
        forest(40),
        ExtraTreesRegressor(40, min_samples_leaf=5, random_state=0),
        HistGradientBoostingRegressor(max_iter=50, max_features=0.7, random_state=0),
        LinearRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_held_out_rows(data, model):
    X, y = data
    model.fit(X[:100], y[:100])
    est = ShapleyEffects.from_fitted(model, X[100:], y[100:], n_subsets=14, random_state=0)
    assert est.effects_.argsort()[::-1][:2].tolist() == [0, 1]
    assert 0.5 < est.explained_variance_ <= 1.01


@pytest.mark.parametrize(
    "model",
    [
        forest(40),
        HistGradientBoostingRegressor(max_iter=30, max_features=0.5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_columns_are_known_by_their_names(data, model):
    X, y = pd.DataFrame(data[0], columns=list("abcd")), data[1]
    model.fit(X[:150], y[:150])
    settings = {"n_subsets": 14, "random_state": 0}
    given = ShapleyEffects.from_fitted(model, X[150:], y[150:], **settings).result_
    turned = ShapleyEffects.from_fitted(model, X[150:][list("dbca")], y[150:], **settings).result_
    assert turned.names == given.names
    np.testing.assert_array_equal(turned.effects, given.effects)
    with pytest.raises(ValueError, match="by name; X lacks 'd'"):
        ShapleyEffects.from_fitted(model, X[150:].rename(columns={"d": "e"}), y[150:])


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_training_rows_in_another_order_are_not_those_of_the_bags(data, kind):
    X, y = data
    y = y if kind is RandomForestRegressor else np.digitize(y, [-1, 0.5])
    model = kind(30, min_samples_leaf=5, random_state=1).fit(X, y)
    ShapleyEffects.from_fitted(model, X, y, rows="training", n_subsets=4)
    order = np.random.default_rng(0).permutation(len(X))
    with pytest.raises(ValueError, match="was not fitted on these"):
        ShapleyEffects.from_fitted(model, X[order], y[order], rows="training")


def test_bags_of_a_fitted_forest_know_no_groups(data):
    X, y = data
    model = forest(10).fit(X, y)
    with pytest.raises(ValueError, match="do not respect row_groups"):
        ShapleyEffects.from_fitted(model, X, y, rows="training", row_groups=np.arange(len(X)) // 4)


def test_an_unfitted_model_is_named(data):
    with pytest.raises(NotFittedError):
        ShapleyEffects.from_fitted(forest(10), pd.DataFrame(data[0]), data[1])


def test_a_model_without_trees_is_explained_through_a_surrogate(data):
    X, y = data
    est = ShapleyEffects.from_fitted(LinearRegression().fit(X, y), X, random_state=0)
    assert est.result_.estimator.startswith("surrogate")
    assert any("LinearRegression" in note for note in est.result_.notes)


# Small and odd input -----------------------------------------------------------------------------


def test_one_column_gets_all(data):
    X, y = data
    for design in ("auto", "forest_paths", "monte_carlo"):
        est = quick(design=design).fit(X[:, :1], y)
        assert est.effects_ == pytest.approx([est.explained_variance_])
        assert est.explained_variance_ > 0.5


def test_constant_y_has_no_effects(data):
    X, y = data
    with pytest.warns(UserWarning, match="y is constant: all effects are 0"):
        est = quick().fit(X, np.full(len(y), 3.0))
    assert est.effects_.tolist() == [0.0] * 4
    assert est.explained_variance_ == 0


@pytest.mark.parametrize("design", ["auto", "forest_paths", "leverage", "antithetic"])
def test_nothing_explained_gives_zeros_and_says_so(design):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    with pytest.warns(UserWarning, match=r"Nothing is explained out of sample .*all effects are 0"):
        est = quick(design=design).fit(X, y)
    assert est.effects_.tolist() == [0.0] * 3
    assert est.explained_variance_ < 0  # shown as it is
    assert est.result_.explained_variance == est.explained_variance_
    assert est.result_.first_order.min() < 0
    low, high = est.result_.confidence_interval()
    assert (low <= est.result_.raw_effects).all()
    assert (high >= est.result_.raw_effects).all()
    assert est.result_.p_values.min() > 0.05


def test_many_columns_of_noise():
    """A screen that finds nobody keeps the best whatever they are."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    with pytest.warns(UserWarning, match="Nothing is explained"):
        est = quick().fit(X, y)
    assert est.effects_.tolist() == [0.0] * 30


def test_tiny_tables():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(10, 2)).astype(float)
    model = RandomForestRegressor(50, random_state=0)
    est = quick(estimator=model).fit(X, X[:, 0] + 0.1 * X[:, 1])
    assert est.effects_[0] > est.effects_[1]
    assert np.isfinite(est.effects_).all()


def test_groups_play_together(data):
    X, y = data
    est = quick(groups={"strong": [0, 2], "weak": [1]}, n_subsets=6).fit(X, y)
    assert est.get_feature_names_out().tolist() == ["strong", "weak", "x3"]
    assert est.effects_.argsort()[::-1].tolist() == [0, 1, 2]
    alone = quick(design="exhaustive").fit(X, y)
    assert est.effects_[0] == pytest.approx(alone.effects_[[0, 2]].sum(), abs=0.05)


def with_value(array, value):
    array = np.array(array, dtype=float)
    array[3] = value
    return array


BAD_INPUT = {
    "short_y": (lambda X, y: (X, y[:-1]), {}, r"inconsistent numbers of samples"),
    "nan_y": (lambda X, y: (X, with_value(y, np.nan)), {}, r"Input y contains NaN"),
    "inf_y": (lambda X, y: (X, with_value(y, np.inf)), {}, r"Input y contains infinity"),
    "no_y": (lambda X, y: (X, None), {}, r"requires y to be passed"),
    "nan_column": (
        lambda X, y: (np.where(np.arange(4) == 2, np.nan, X), y),
        {},
        r"Column 'x2' has no value at all",
    ),
    "inf_in_frame": (
        lambda X, y: (pd.DataFrame(with_value(X, np.inf), columns=list("abcd")), y),
        {},
        r"Columns 'a', 'b', 'c', 'd' hold infinite values",
    ),
    "few_rows": (lambda X, y: (X[:9], y[:9]), {}, r"n_samples=9 rows; shaff needs at least 10"),
    "double_names": (
        lambda X, y: (pd.DataFrame(X, columns=["a", "b", "a", "c"]), y),
        {},
        r"Column 'a' occurs more than once",
    ),
    "no_bootstrap": (
        lambda X, y: (X, y),
        {"estimator": forest(bootstrap=False)},
        r"RandomForestRegressor has bootstrap=False",
    ),
    "one_tree": (lambda X, y: (X, y), {"estimator": forest(1)}, r"grow more trees"),
    "estimator": (lambda X, y: (X, y), {"estimator": "tree"}, r"estimator='tree' is unknown"),
    "design": (lambda X, y: (X, y), {"design": "best"}, r"design='best' is unknown"),
    "solver": (lambda X, y: (X, y), {"solver": "best"}, r"solver='best' is unknown"),
    "solver_for_design": (
        lambda X, y: (X, y),
        {"solver": "permutations"},
        r"solver=\"permutations\" needs a design of permutations",
    ),
    "paths_of_boosting": (
        lambda X, y: (X, y),
        {"design": "forest_paths", "estimator": "boosting"},
        r"design=\"forest_paths\" follows the paths of a forest",
    ),
    "weighting": (
        lambda X, y: (X, y),
        {"design": ForestPaths(10, "paired")},
        r"paired_weights='paired' is unknown",
    ),
    "n_subsets": (lambda X, y: (X, y), {"n_subsets": 0}, r"n_subsets=0: expected a whole number"),
    "half_subsets": (lambda X, y: (X, y), {"n_subsets": 9.5}, r"n_subsets=9.5: expected a whole"),
    "tol": (lambda X, y: (X, y), {"tol": -1}, r"tol=-1: expected a positive number"),
    "categorical": (lambda X, y: (X, y), {"categorical": "some"}, r"categorical='some': pass"),
    "categorical_column": (
        lambda X, y: (X, y),
        {"categorical": ["z"]},
        r"categorical names the column 'z'",
    ),
    "group_column": (
        lambda X, y: (X, y),
        {"groups": {"g": [0, 9]}},
        r"groups\['g'\] names the column 9",
    ),
    "two_groups": (
        lambda X, y: (X, y),
        {"groups": {"g": [0, 1], "h": [1]}},
        r"Column 'x1' is in two groups",
    ),
    "checkpoint": (
        lambda X, y: (X, y),
        {"checkpoint": "never_made", "random_state": None},
        r"checkpoint needs a whole number as random_state",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_sentence_and_changes_nothing(data, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    change, settings, message = BAD_INPUT[case]
    with pytest.raises((ValueError, TypeError), match=message) as error:
        quick(**settings).fit(*change(*data))
    assert len(str(error.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
    fitted = quick().fit(pd.DataFrame(data[0], columns=list("abcd")), data[1])
    before = {k: v for k, v in vars(fitted).items() if k.endswith("_")}
    fitted.set_params(**settings)
    with pytest.raises((ValueError, TypeError)):
        fitted.fit(*change(*data))
    after = {k: v for k, v in vars(fitted).items() if k.endswith("_")}
    assert before.keys() == after.keys()
    assert all(before[k] is after[k] for k in before)


def test_a_failed_first_fit_leaves_no_fitted_attribute(data):
    est = quick(design="best")
    with pytest.raises(ValueError, match="design='best'"):
        est.fit(*data)
    assert [name for name in vars(est) if name.endswith("_")] == []


@pytest.mark.parametrize(
    ("rows", "model", "message"),
    [
        ("training", lambda X, y: forest().fit(X[:150], y[:150]), "was not fitted on these 200"),
        ("training", lambda X, y: forest().fit(X[::-1][:199], y[:199]), "was not fitted on these"),
        ("training", lambda X, y: forest(bootstrap=False).fit(X, y), "bootstrap=False"),
        (
            "training",
            lambda X, y: LinearRegression().fit(X, y),
            "needs the outcome y, and a forest",
        ),
        ("held_out", lambda X, y: forest().fit(X[:, :2], y), "fitted on 2 columns, X has 4"),
        ("test", lambda X, y: forest().fit(X, y), "rows='test' is unknown"),
    ],
    ids=["fewer", "one_less", "no_bootstrap", "no_forest", "columns", "rows"],
)
def test_bad_models_are_named(data, rows, model, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        ShapleyEffects.from_fitted(model(X, y), X, y, rows=rows, random_state=0)


# Invariances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_shift_and_scale_of_y(data, estimator):
    X, y = data
    settings = {"estimator": forest() if estimator == "forest" else estimator}
    plain = quick(**settings, n_subsets=14).fit(X, y)
    # A power of two changes no bit of a product, so the same trees grow.
    moved = quick(**settings, n_subsets=14).fit(X, 8 * y + 64)
    np.testing.assert_allclose(moved.effects_, plain.effects_, atol=1e-6)


def test_monotone_transforms_of_the_columns(data):
    """A forest sees ranks; only where a split falls between two of them can change."""
    X, y = data
    exact = quick().fit(4 * X - 1, y)  # splits in the middle stay in the middle
    np.testing.assert_allclose(exact.effects_, quick().fit(X, y).effects_, atol=1e-9)
    curved = quick(estimator=forest(200)).fit(np.exp(X), y)
    plain = quick(estimator=forest(200)).fit(X, y)
    np.testing.assert_allclose(curved.effects_, plain.effects_, atol=0.02)


def test_permuted_columns_permute_the_effects(data):
    X, y = data
    order = [2, 0, 3, 1]
    plain = quick(estimator=forest(200)).fit(X, y)
    permuted = quick(estimator=forest(200)).fit(X[:, order], y)
    np.testing.assert_allclose(permuted.effects_, plain.effects_[order], atol=0.02)


def test_a_copied_column_shares_the_effect(data):
    X, y = data
    copied = quick(estimator=forest(200, max_features=1 / 3)).fit(np.column_stack([X, X[:, 0]]), y)
    plain = quick(estimator=forest(200, max_features=1 / 3)).fit(X, y)
    assert copied.effects_[0] == pytest.approx(copied.effects_[4], abs=0.03)
    assert copied.effects_[[0, 4]].sum() == pytest.approx(plain.effects_[0], abs=0.1)


# Reproducibility ---------------------------------------------------------------------------------


def all_bits(est):
    result = est.result_
    errors = b"".join(result.errors_by_source[k].tobytes() for k in sorted(result.errors_by_source))
    return result.effects.tobytes() + result.raw_effects.tobytes() + errors


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_the_same_bits_for_any_jobs_and_backend(data, estimator):
    settings = {"estimator": estimator, "n_subsets": 14}
    if estimator == "forest":
        settings["estimator"] = RandomForestRegressor(20, min_samples_leaf=5)
    one = all_bits(quick(**settings, n_jobs=1).fit(*data))
    assert all_bits(quick(**settings, n_jobs=2).fit(*data)) == one
    assert all_bits(quick(**settings).fit(*data)) == one
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert all_bits(quick(**settings).fit(*data)) == one


def test_the_same_bits_for_any_number_of_blas_threads():
    """Products of matrices that are shared by threads differ in their last digits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 60))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=500)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            est = ShapleyEffects("boosting", n_subsets=60, random_state=0).fit(X, y)
            found.append((all_bits(est), est.result_.covariance.tobytes(), est.explain().values))
    (one, covariance, local), (two, other_covariance, other_local) = found
    assert one == two
    assert covariance == other_covariance
    assert np.array_equal(local, other_local)


def test_the_seed_decides(data):
    settings = {"estimator": RandomForestRegressor(20, min_samples_leaf=5), "n_subsets": 14}
    first = quick(**settings, random_state=1).fit(*data)
    assert all_bits(quick(**settings, random_state=1).fit(*data)) == all_bits(first)
    assert all_bits(quick(**settings, random_state=2).fit(*data)) != all_bits(first)


def test_the_order_of_rows_in_memory_does_not_matter(data):
    X, y = data
    by_column = quick().fit(np.asfortranarray(X), y)
    assert all_bits(by_column) == all_bits(quick().fit(X, y))


def test_the_data_are_not_changed(data):
    X, y = data
    kept = X.copy(), y.copy()
    X.setflags(write=False)
    quick().fit(X, y)
    X.setflags(write=True)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


def test_verbose_0_is_silent_and_1_shows_a_bar(data, monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    quick(verbose=0).fit(*data)
    assert capfd.readouterr() == ("", "")
    quick(verbose=1).fit(*data)
    out, err = capfd.readouterr()
    assert out == ""
    assert "Evaluating subsets" in err


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (None, "Nothing is explained"),
        (HistGradientBoostingRegressor(max_iter=5), "looks at all columns"),
    ],
)
@pytest.mark.filterwarnings("ignore:Nothing is explained")
def test_warnings_point_to_the_line_of_the_caller(estimator, words):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    with pytest.warns(UserWarning, match=words) as caught:
        ShapleyEffects(estimator, random_state=3).fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}
