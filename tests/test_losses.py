"""Other losses than squared errors: against scikit-learn's metrics, loops and enumerated truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import (
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)

from shaff import ShapleyEffects, compare, explain_many, load_result, shapley_effects
from shaff.cli import main
from shaff.data.folds import fold_numbers
from shaff.data.problem import Problem
from shaff.data.sources.sampled import MeasuredRows
from shaff.errors import InputError
from shaff.subsets import Subsets
from shaff.trees.boosters import read_ensemble
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.losses import LimitedLoss, find_loss
from shaff.values.outcome import Outcome

DEVIANCES = ("poisson", "gamma", "tweedie", "tweedie:1.2")
QUICK = {"estimator": "boosting", "random_state": 0}


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def counts():
    """Inputs of which two count, together; the outcome is a number of events."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]
    return X, rng.poisson(np.exp(0.5 + 0.6 * X[:, 0] + 0.3 * X[:, 1])).astype(float)


@pytest.fixture(scope="module")
def classes(counts):
    """The same inputs, and one of three classes."""
    X, y = counts
    return X, np.array(["none", "one", "more"])[np.minimum(y, 2).astype(int)]


# The losses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("poisson", mean_poisson_deviance),
        ("gamma", mean_gamma_deviance),
        ("tweedie", lambda y, m: mean_tweedie_deviance(y, m, power=1.5)),
        ("tweedie:1.2", lambda y, m: mean_tweedie_deviance(y, m, power=1.2)),
        ("squared_error", lambda y, m: np.mean((y - m) ** 2)),
    ],
)
def test_unit_deviances_are_those_of_scikit_learn(name, metric, rng):
    mean = rng.gamma(2.0, size=200)
    y = rng.gamma(2.0, mean) if name == "gamma" else rng.poisson(mean).astype(float)
    assert find_loss(name).of(y, mean).mean() == pytest.approx(metric(y, mean))


def test_log_loss_is_that_of_scikit_learn(rng):
    two = rng.uniform(0.05, 0.95, (100, 1))
    y = (rng.uniform(size=(100, 1)) < two).astype(float)
    assert find_loss("log_loss").of(y, two).mean() == pytest.approx(sklearn_log_loss(y, two))
    three = rng.dirichlet([1, 2, 3], 100)
    label = rng.integers(0, 3, 100)
    parts = find_loss("log_loss").of(np.eye(3)[label], three)
    wanted = sklearn_log_loss(label, three, labels=[0, 1, 2])
    assert parts.sum(axis=1).mean() == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["squared_error", "log_loss", *DEVIANCES])
def test_curvature_is_the_second_derivative_at_the_outcome(name):
    loss, step = find_loss(name), 1e-4
    mean = np.array([[0.3], [0.6]])
    if name == "log_loss":  # outcomes between 0 and 1 have no loss: the expected loss bends alike

        def of(m):
            return mean * loss.of(np.ones_like(mean), m) + (1 - mean) * loss.of(0 * mean, m)
    else:

        def of(m):
            return loss.of(mean, m)

    bend = (of(mean + step) - 2 * of(mean) + of(mean - step)) / step**2
    assert_allclose(2 * loss.half_curvature(mean), bend, rtol=1e-4)


@pytest.mark.parametrize("name", DEVIANCES)
def test_the_conditional_mean_is_the_best_constant(name, rng):
    y = rng.gamma(2.0, size=500)
    means = np.linspace(0.5, 1.5, 101) * y.mean()
    losses = [find_loss(name).of(y, m).mean() for m in means]
    assert int(np.argmin(losses)) == 50


@pytest.mark.parametrize("name", ["squared_error", "log_loss", *DEVIANCES])
def test_noise_is_what_two_halves_tell_to_second_order(name, rng):
    """Loss by all rows, less that of the mean of two halves without what their difference adds; on
    average over outcomes with that mean."""
    mean = rng.uniform(0.3, 0.7, (50, 1))
    loss, size, total = find_loss(name), 1e-3, np.zeros((2, 50, 1))
    a, b = (mean + size * rng.standard_normal((50, 1)) for _ in range(2))
    limited = LimitedLoss(loss, np.array([0.0]), np.array([1.0]))
    two = [(0 * mean, 1 - mean), (0 * mean + 1, mean)]
    for y, chance in two if name == "log_loss" else [(mean - 0.2, 0.5), (mean + 0.2, 0.5)]:
        noise = limited.noise(y, y - mean, (y - mean) ** 2 - (y - a) * (y - b))
        gone = loss.of(y, mean) - loss.of(y, (a + b) / 2)
        spread = 2 * loss.half_curvature(mean) * (a - b) ** 2 / 8
        total += chance * np.stack([noise, gone + spread])
    assert_allclose(*total, atol=0.02 * np.abs(total).max())


def test_means_are_kept_inside_and_add_nothing_there():
    limited = LimitedLoss.of(find_loss("log_loss"), np.array([0.2]))
    kept = limited.inside(np.array([[-1.0], [0.5], [2.0]]))
    assert_allclose(kept.ravel(), [0.02, 0.5, 0.98])
    noise = limited.noise(np.ones((3, 1)), np.array([[2.0], [0.5], [-1.0]]), np.ones((3, 1)))
    assert noise.ravel().tolist() == [0.0, 2.0, 0.0]
    several = LimitedLoss.of(find_loss("log_loss"), np.array([0.1, 0.4, 0.5]))
    assert_allclose(several.inside(np.array([[-0.2, 0.5, 0.7]])).sum(axis=1), 1.0)
    assert (several.inside(np.array([[-0.2, 0.5, 0.7]])) > 0).all()


# v and its influences ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["squared_error", *DEVIANCES])
def test_values_are_one_minus_the_ratio_of_losses(name, rng):
    y, weight = 1.0 + rng.poisson(2.0, 40), rng.integers(1, 4, 40).astype(float)
    problem = Problem.of(np.zeros((40, 2)), y, sample_weight=weight, random_state=0, loss=name)
    folds = problem.folds(0)
    outcome, means = Outcome.held_out(problem, folds), rng.uniform(1, 5, (1, 40, 1))
    found = outcome.evaluate(Subsets.full(2), y[:, None] - means, influences=True)
    loss, below, above, by_row = find_loss(name), 0.0, 0.0, np.zeros((40, 2))
    for fold in folds:
        constant = np.average(y[fold.train], weights=weight[fold.train])
        for row in fold.test:
            by_row[row] = loss.of(y[row], means[0, row, 0]), loss.of(y[row], constant)
            above += weight[row] * by_row[row, 0]
            below += weight[row] * by_row[row, 1]
    assert found.v[0] == pytest.approx(1 - above / below)
    # The derivative of v by the weight of a row, up to the scale of an influence.
    slope = (above / below * by_row[:, 1] - by_row[:, 0]) / below
    assert_allclose(found.influences[0], slope * weight * 40, rtol=1e-4, atol=1e-5)


def test_squared_errors_take_the_same_path_bit_for_bit(rng):
    problem = Problem.of(np.zeros((30, 1)), rng.standard_normal(30), random_state=0)
    outcome, residuals = Outcome.left_out(problem), rng.standard_normal((1, 30, 1))
    noise = rng.uniform(0, 0.1, (2, 1, 30, 1))
    found = outcome.evaluate(Subsets.full(1), residuals, True, list(noise))
    squares = residuals**2
    wanted = outcome.values(Subsets.full(1), squares, True, squares - noise[0] - noise[1])
    assert_array_equal(found.v, wanted.v)
    assert_array_equal(found.plain, wanted.plain)
    assert_array_equal(found.influences, wanted.influences)
    assert found.squared is None


@pytest.mark.parametrize("name", ["poisson", "log_loss"])
def test_rows_that_come_later_are_measured_by_the_same_loss(name, counts):
    """Held-out rows of the sample, given again as rows of a pass."""
    X, y = counts
    y = np.minimum(y, 1) if name == "log_loss" else y
    problem = Problem.of(X, y, random_state=0, loss=name)
    boosting = ProjectedBoosting(problem)
    subsets = Subsets.from_indices([[0], [0, 1], [0, 1, 2]], 3)
    wanted, fold = boosting.values(subsets), fold_numbers(boosting.folds, len(y))
    rows = MeasuredRows(X, y[:, None], np.ones(len(y)), fold, None)
    found = boosting.over_rows(subsets).sums(rows, None).values(subsets)
    assert_allclose(found.plain, wanted.plain, atol=1e-9)
    # The noise of all folds in place of some.
    assert_allclose(found.v, wanted.v, atol=0.02)


# Enumerated truth -------------------------------------------------------------------------------


def enumerated(mean_of, generator, of_outcome):
    """Effects of two inputs on three levels, dependent, by the conditional means of all cells."""
    joint = np.array([[0.2, 0.1, 0.03], [0.1, 0.14, 0.1], [0.03, 0.1, 0.2]])
    f = np.array([[mean_of(a, b) for b in range(3)] for a in range(3)])
    whole = (joint * np.vectorize(of_outcome)(f)).sum()
    nothing = generator((joint * f).sum())
    single = [
        sum(
            joint.sum(axis=1 - j)[k]
            * generator(np.take(joint * f, k, j).sum() / joint.sum(axis=1 - j)[k])
            for k in range(3)
        )
        for j in range(2)
    ]
    both = (joint * np.vectorize(generator)(f)).sum()
    v = {u: (e - nothing) / (whole - nothing) for u, e in zip("abc", [*single, both], strict=True)}
    effects = [(v["a"] + v["c"] - v["b"]) / 2, (v["b"] + v["c"] - v["a"]) / 2]
    return joint, f, np.array(effects)


def _entropy(p):
    return p * math.log(p) + (1 - p) * math.log(1 - p)


def _of_poisson(f):
    terms = [math.exp(k * math.log(f) - f - math.lgamma(k + 1)) * 2 * k * math.log(k)
             for k in range(1, 80)]  # fmt: skip
    return sum(terms)


CASES = {
    "log_loss": (lambda a, b: 0.1 + 0.3 * a + 0.08 * b * (a < 2), _entropy, lambda f: 0.0),
    "poisson": (lambda a, b: 0.4 + a + 0.5 * a * b, lambda m: 2 * m * math.log(m), _of_poisson),
}


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("estimator", ["boosting", "auto", "forest"])
def test_effects_are_near_the_enumerated_truth(name, estimator):
    joint, f, truth = enumerated(*CASES[name])
    rng = np.random.default_rng(5)
    cells = rng.choice(9, size=3000, p=joint.ravel())
    mean = f.ravel()[cells]
    y = rng.poisson(mean) if name == "poisson" else (rng.uniform(size=3000) < mean).astype(int)
    X = np.column_stack(np.divmod(cells, 3)).astype(float)
    result = shapley_effects(X, y, estimator=estimator, loss=name, random_state=0)
    assert (np.abs(result.effects - truth) < 3.5 * result.standard_errors).all()
    assert (result.standard_errors < 0.03).all()
    assert result.has_skill


@pytest.mark.parametrize("name", DEVIANCES)
def test_a_change_of_units_changes_no_share(name, counts):
    X, y = counts
    one, other = (shapley_effects(X, c * (y + 1), loss=name, **QUICK) for c in (1.0, 32.0))
    assert_allclose(one.effects, other.effects, atol=1e-8)
    assert_allclose(one.standard_errors, other.standard_errors, atol=1e-8)


# Classes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("two", [True, False])
def test_brier_effects_beside_log_loss_are_those_of_squared_errors(two, classes):
    X, y = classes
    y = np.where(y == "none", "no", "yes") if two else y
    both, squares = (shapley_effects(X, y, loss=loss, **QUICK)
                     for loss in ("log_loss", "squared_error"))  # fmt: skip
    assert_allclose(both.brier_effects, squares.effects, atol=1e-12)
    assert_allclose(both.brier_errors, squares.standard_errors, rtol=0.1)
    assert both.brier_explained == pytest.approx(squares.explained_variance)
    assert squares.brier_effects is None
    assert "Brier" in both.summary()
    assert "Brier" not in squares.summary()
    assert both.to_frame()["brier_effect"].max() == both.brier_effects.max()


def test_the_classes_have_effects_of_their_own_that_make_up_the_whole(classes):
    X, y = classes
    result = shapley_effects(X, y, loss="log_loss", **QUICK)
    assert result.outputs == ("more", "none", "one")
    indicators = np.array([y == name for name in result.outputs], dtype=float).T
    size = Outcome.of(indicators, loss="log_loss").output_constants
    mean = sum(w * e for w, e in zip(size, result.per_output.values(), strict=True)) / size.sum()
    assert_allclose(mean, result.effects, atol=0.01)


def test_numbers_are_classes_for_log_loss(counts):
    X, y = counts
    three = np.minimum(y, 2)
    result = shapley_effects(X, three, loss="log_loss", estimator="forest", random_state=0)
    assert result.classes == ("0", "1", "2")


# Boosters with a loss of their own --------------------------------------------------------------


def _boosters():
    from catboost import CatBoostRegressor
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    few = {"n_estimators": 15, "random_state": 0}
    quiet = {"rsm": 0.5, "verbose": False, "allow_writing_files": False}
    for loss in ("poisson", "gamma"):
        yield HistGradientBoostingRegressor(loss=loss, max_iter=15, max_features=0.5)
    for loss in DEVIANCES[:3]:
        yield LGBMRegressor(objective=loss, colsample_bytree=0.7, **few)
    for loss in ("count:poisson", "reg:gamma", "reg:tweedie"):
        yield XGBRegressor(objective=loss, colsample_bynode=0.5, **few)
    for loss in ("Poisson", "Tweedie:variance_power=1.3"):
        yield CatBoostRegressor(loss_function=loss, **few, **quiet)


@pytest.mark.parametrize("model", list(_boosters()), ids=lambda model: type(model).__name__)
def test_boosters_of_counts_are_fitted_to_the_counts(model, counts):
    """The trees of each fold are those that the booster grows on the training rows by itself."""
    X, y = counts
    boosting = ProjectedBoosting(Problem.of(X, y + 1, random_state=0), estimator=model)
    train = boosting.folds[0].train
    alone = clone(model)
    if hasattr(alone, "set_params") and "Hist" in type(model).__name__:
        alone.set_params(random_state=boosting._seed)
    wanted = read_ensemble(alone.fit(X[train], y[train] + 1))
    found = boosting._models[0].codings[0].ensemble
    if "LGBM" not in type(model).__name__:  # whose threads change the order of sums
        assert_array_equal(found.feature, wanted.feature)
        assert_allclose(found.threshold, wanted.threshold)
    assert boosting.start_ == "constant"
    assert boosting.explained_variance() > 0.15


def test_a_result_says_that_a_booster_has_a_loss_of_its_own(counts):
    X, y = counts
    model = HistGradientBoostingRegressor(loss="poisson", max_features=0.5)
    result = ShapleyEffects(model, random_state=0).fit(X, y).result_
    assert result.loss == "squared_error"
    assert any("its own loss (poisson)" in note for note in result.notes)
    fitted = model.fit(X[:200], y[:200])
    again = ShapleyEffects.from_fitted(fitted, X[200:], y[200:], loss="poisson", random_state=0)
    assert again.result_.estimator == "boosting"
    assert any("its own loss (poisson)" in note for note in again.result_.notes)


def test_a_booster_says_what_outcome_it_cannot_take(counts):
    X, y = counts
    model = HistGradientBoostingRegressor(loss="gamma", max_features=0.5)
    with pytest.raises(InputError, match=r"HistGradientBoostingRegressor: .*needs y above 0"):
        ShapleyEffects(model).fit(X, y)


# Everything around it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "y", "sentence"),
    [
        ("poisson", lambda y: y - 1, 'loss="poisson" needs y of at least 0; y goes down to -1.'),
        ("tweedie", lambda y: y - 1, "needs y of at least 0"),
        ("gamma", lambda y: y, 'loss="gamma" needs y above 0; some are 0.'),
        ("poisson", lambda y: 0 * y, "some y above 0"),
        ("poisson", lambda y: np.where(y > 1, "a", "b"), "needs numbers: y holds classes"),
        ("log_loss", lambda y: y + 0.5, "numbers with fractions"),
        ("log_loss", lambda y: np.column_stack([y, y]), "pass one column of classes"),
        ("brier", lambda y: y, "loss='brier' is unknown"),
        (None, lambda y: y, "loss=None is unknown"),
        ("tweedie:2.5", lambda y: y, "between 1"),
        ("tweedie:much", lambda y: y, "between 1"),
    ],
)
def test_what_a_loss_does_not_allow_is_one_sentence(loss, y, sentence, counts):
    X, known = counts
    with pytest.raises(InputError, match=sentence) as caught:
        ShapleyEffects(loss=loss).fit(X, y(known))
    assert "\n" not in str(caught.value)


def test_other_losses_are_refused_where_they_are_not_measured(counts):
    X, y = counts
    with pytest.raises(InputError, match="what a model predicts is explained by squared errors"):
        ShapleyEffects(Ridge(), explains="predictions", loss="poisson").fit(X, y)
    with pytest.raises(InputError, match="explains the variance"):
        ShapleyEffects.preset("sage", loss="poisson").fit(X, y)
    refitted = ShapleyEffects(LinearRegression(), explains="outcome", loss="poisson")
    assert refitted.fit(X, y).result_.loss == "poisson"


def test_weights_groups_time_and_threads_work_with_a_loss(counts):
    X, y = counts
    settings = {"loss": "poisson", **QUICK}
    one, two = (shapley_effects(X, y, n_jobs=jobs, **settings) for jobs in (1, 2))
    assert_array_equal(one.effects, two.effects)
    assert_array_equal(one.covariance, two.covariance)
    weight = np.tile([1.0, 2.0], 200)
    weighted = shapley_effects(X, y, sample_weight=weight, **settings)
    assert abs(weighted.explained_variance - one.explained_variance) < 0.1
    grouped = shapley_effects(
        X, y, row_groups=np.arange(400) // 3, groups={"g": [0, 1]}, **settings
    )
    assert grouped.names == ("g", "x2")
    assert shapley_effects(X, y, time=np.arange(400), **settings).has_skill


def test_a_sample_measured_on_all_rows_has_the_loss(counts):
    X, y = counts
    est = ShapleyEffects(loss="poisson", max_rows=200, value_rows="all", **QUICK).fit(X, y)
    assert (est.result_.n_rows, est.result_.loss) == (400, "poisson")
    assert (est.result_.standard_errors > 0).all()


def test_a_checkpoint_of_one_loss_is_not_taken_for_another(counts, tmp_path):
    X, y = counts
    kept = {"checkpoint": tmp_path, **QUICK}
    squares = shapley_effects(X, y, **kept)
    assert_array_equal(
        shapley_effects(X, y, loss="poisson", **kept).effects,
        shapley_effects(X, y, loss="poisson", **QUICK).effects,
    )
    assert_array_equal(shapley_effects(X, y, **kept).effects, squares.effects)


def test_what_rests_on_the_variance_is_withheld(counts):
    X, y = counts
    result = shapley_effects(X, y, loss="poisson", **QUICK)
    assert result.outcome_variance is None
    wanted = mean_poisson_deviance(y, np.full(400, y.mean())) * 400 / 399
    assert result.held_out["loss_of_mean"] == pytest.approx(wanted)
    assert result.held_out["loss"] < result.held_out["loss_of_mean"]
    assert not any("linear model" in note or "variance" in note for note in result.notes)


def test_local_values_do_not_depend_on_the_loss(counts):
    X, y = counts
    one, other = (ShapleyEffects(loss=loss, **QUICK).fit(X, y)
                  for loss in ("squared_error", "poisson"))  # fmt: skip
    assert_allclose(one.explain(X[:5]).predictions, other.explain(X[:5]).predictions)


def test_the_first_line_says_which_loss_everywhere(counts, tmp_path):
    X, y = counts
    result = shapley_effects(X, pd.Series(y, name="visits"), loss="poisson", **QUICK)
    first = "Shapley effects on the outcome visits: explained deviance (poisson)"
    assert result.summary().splitlines()[0] == first
    assert "explained deviance (poisson)" in repr(result)
    assert "share of the deviance (poisson)" in result.plot().ax_.get_xlabel()
    assert "share of the deviance (poisson)" in result.plot("sobol").ax_.get_xlabel()
    page = result.to_html(tmp_path / "report.html").read_text("utf-8")
    assert first in page
    assert "share of the variance" not in page
    assert load_result(result.to_json()).measure == "deviance (poisson)"
    assert first in result._repr_html_()


def test_losses_do_not_compare_with_each_other(counts):
    X, y = counts
    one, other = (shapley_effects(X, y, loss=loss, **QUICK) for loss in ("poisson", "tweedie"))
    with pytest.raises(InputError, match="different losses cannot be compared"):
        compare(one, other)
    same = compare(one, one)
    assert same.summary().startswith("Shares of the deviance (poisson)")
    assert "deviance (poisson)" in same.plot().ax_.get_xlabel()


def test_many_outcomes_and_the_command_line_take_a_loss(counts, tmp_path, capsys):
    X, y = counts
    many = explain_many(X, {"a": y, "b": y + 1}, loss="poisson", **QUICK)
    assert {result.loss for result in many.results.values()} == {"poisson"}
    pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "y": y}).write_csv(tmp_path / "t.csv")
    words = ["explain", tmp_path / "t.csv", "--target", "y", "--estimator", "boosting"]
    for loss, code, said in (("poisson", 0, "explained deviance (poisson)"), ("no", 2, "unknown")):
        with pytest.raises(SystemExit) as stop:
            main([*map(str, words), "--loss", loss])
        assert stop.value.code == code
        assert said in "".join(capsys.readouterr())


# Several outputs and ordered categories ---------------------------------------------------------


def test_several_outputs_are_named_each_and_together(counts):
    X, y = counts
    table = pd.DataFrame({"visits": y, "calls": 1.0 + y[::-1]})
    result = shapley_effects(X, table, loss="poisson", **QUICK)
    assert result.outputs == ("visits", "calls")
    alone = shapley_effects(X, table["visits"], loss="poisson", **QUICK)
    assert_allclose(result.per_output["visits"], alone.effects, atol=0.06)


def test_outputs_of_unlike_spread_are_remarked_on(counts):
    X, y = counts
    two = [np.column_stack([y, c * np.sqrt(y)]) for c in (3, 99)]
    notes = [shapley_effects(X, both, **QUICK).notes for both in two]
    told = [[note for note in some if "'y1'" in note and "scale" in note] for some in notes]
    assert [len(some) for some in told] == [0, 1]


LEVELS = ["none", "some", "much", "all"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ordered_categories_are_their_ranks(library, counts):
    X, y = counts
    rank = np.digitize(X[:, 0], [-1, 0, 1])
    outcome = np.minimum(y, 3).astype(int)
    numbers = pd.DataFrame({"a": rank.astype(float), "b": X[:, 1]})
    labels = np.array(LEVELS)[rank], np.array(LEVELS)[outcome]
    if library == "pandas":
        a, grade = (pd.Categorical(one, LEVELS, ordered=True) for one in labels)
        table, grade = numbers.assign(a=a), pd.Series(grade)
    else:
        a, grade = (pl.Series(one, dtype=pl.Enum(LEVELS)) for one in labels)
        table = pl.DataFrame({"a": a, "b": X[:, 1]})
    est = ShapleyEffects(**QUICK).fit(table, grade)
    wanted = shapley_effects(numbers, outcome, **QUICK)
    assert_array_equal(est.effects_, wanted.effects)
    said = " ".join(est.result_.notes)
    assert "'a' holds ordered categories" in said
    assert "from 'none' to 'all'" in said
    # Rows that come later go by their labels, whatever their type says of an order.
    new = pd.DataFrame({"a": labels[0][:4], "b": X[:4, 1]})
    codes = pd.Categorical(labels[0][:4], LEVELS[::-1], ordered=True)
    one, other = est.explain(new), est.explain(new.assign(a=codes))
    assert_array_equal(one.values, other.values)
    assert shapley_effects(table, grade, loss="log_loss", **QUICK).classes == tuple(sorted(LEVELS))


def test_ordered_categories_that_are_named_are_categories(counts):
    X, y = counts
    a = pd.Categorical(np.array(LEVELS)[np.digitize(X[:, 0], [-1, 0, 1])], LEVELS, ordered=True)
    result = shapley_effects(pd.DataFrame({"a": a, "b": X[:, 1]}), y, categorical=["a"], **QUICK)
    assert not any("ordered" in note for note in result.notes)
    two = pd.Categorical(np.where(y > 1, "x", "w"), ["x", "w"], ordered=True)
    assert shapley_effects(X, pd.Series(two), **QUICK).classes == ("w", "x")


def test_every_name_of_a_loss_is_found():
    names = [*itertools.chain(["squared_error", "log_loss"], DEVIANCES)]
    assert [str(find_loss(name)) for name in names] == names
