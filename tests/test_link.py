"""Regressions through a link: against scikit-learn, and where the default stack takes them in."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import TimeSeriesSplit

import shaff.values.link.fold_fits as fold_fits
import shaff.values.stack
from shaff import ShapleyEffects
from shaff.data.problem import Problem
from shaff.subsets import Subsets
from shaff.values.auto import make_auto
from shaff.values.link.fold_fits import Fits, FoldFits
from shaff.values.link.linked_values import MAX_FOLDS, LinkedValues
from shaff.values.link.links import LogitLink, LogLink, find_link

RNG = np.random.default_rng


def counts(n, seed=0):
    rng = RNG(seed)
    X = rng.normal(size=(n, 4))
    return X, rng.poisson(np.exp(0.5 * X[:, 0] + 0.4 * X[:, 1] - 0.3 * X[:, 2])).astype(float)


def classes(n, seed=0):
    rng = RNG(seed)
    X = rng.normal(size=(n, 4))
    chance = 1 / (1 + np.exp(1.5 - 1.5 * X[:, 0] - X[:, 1] * X[:, 2]))
    return X, (rng.random(n) < chance).astype(float)


DRAWN = {"counts": (counts, LogLink()), "classes": (classes, LogitLink())}


def linked(kind, n=1000, **settings):
    draw, link = DRAWN[kind]
    X, y = draw(n)
    return LinkedValues(Problem.of(X, y, random_state=0, **settings), link)


# What has a link ---------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 1e-8, 0.1, 1000.0])
def test_counts_are_known_in_any_unit(unit):
    y = RNG(0).poisson(2.0, 500) * unit
    link = find_link(y)
    assert isinstance(link, LogLink)
    np.testing.assert_array_equal(link.response(y), RNG(0).poisson(2.0, 500))
    np.testing.assert_allclose(link.outcome(link.response(y)), y, rtol=1e-12)


def test_two_values_are_classes():
    link = find_link(np.array([3.0, 7.0, 3.0]))
    assert link == LogitLink(3.0, 7.0)
    np.testing.assert_array_equal(link.response(np.array([3.0, 7.0])), [0, 1])
    np.testing.assert_array_equal(link.outcome(np.array([0.0, 1.0])), [3, 7])


@pytest.mark.parametrize(
    "y",
    [
        RNG(0).normal(size=300),
        RNG(0).integers(-3, 4, 300).astype(float),
        np.arange(300.0),
        RNG(0).choice([0.0, 1.0, np.sqrt(2)], 300),
        np.ones(300),
    ],
    ids=["measured", "negative", "all differ", "no unit", "constant"],
)
def test_other_outcomes_have_no_link(y):
    assert find_link(y) is None


# The fits ----------------------------------------------------------------------------------------


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(fold_fits, "TOLERANCE", 1e-12)
    monkeypatch.setattr(fold_fits, "MAX_STEPS", 200)


def oracle(link, features, y, weight, penalty):
    """Slopes by scikit-learn; the penalty is that of the summed likelihood."""
    used = weight > 0
    if isinstance(link, LogLink):
        alpha = penalty / weight.sum()
        model = PoissonRegressor(alpha=alpha, solver="newton-cholesky", tol=1e-10, max_iter=500)
    else:
        model = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=1e-10, max_iter=500)
    model.fit(features[1:, used].T, y[used], sample_weight=weight[used])
    return np.append(model.intercept_, model.coef_)


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("inside", [[0, 1, 2, 3, 4], [0, 2], [0, 1, 4]])
def test_fits_are_those_of_scikit_learn(exact, kind, inside):
    draw, link = DRAWN[kind]
    X, y = draw(400)
    features = np.vstack([np.ones(400), X.T])
    row_weight = RNG(1).integers(1, 4, 400).astype(float)
    weight = np.where(np.arange(400) % 3 == np.arange(3)[:, None], 0.0, row_weight)
    allowed = np.ones((3, 5), dtype=bool)
    fits = FoldFits(Fits(features, y, weight, link), np.arange(3), allowed, 1e-2, None)
    penalties = np.array([1e-3, 1e-2, 1e-1])
    found = fits.fit(np.array(inside), penalties)
    for k in range(3):
        mean = np.average(y, weights=weight[k])
        # The mean as it is known with one more row.
        mean += (np.average(y, weights=row_weight) - mean) / (1 + weight[k].sum())
        penalty = penalties[k] * weight[k].sum() * link.variance(mean)
        wanted = oracle(link, features[inside], y, weight[k], penalty)
        np.testing.assert_allclose(found[k], wanted, atol=2e-5)


def test_whole_weights_are_repeated_rows():
    X, y = counts(300)
    times = RNG(0).integers(1, 4, 300)
    features, n = np.vstack([np.ones(300), X.T]), times.sum()
    allowed, fold = np.ones((1, 5), dtype=bool), np.zeros(1, dtype=np.intp)
    weighted = Fits(features, y, times[None].astype(float), LogLink())
    again = features.repeat(times, axis=1)
    repeated = Fits(again, y.repeat(times), np.ones((1, n)), LogLink())
    slopes = [FoldFits(some, fold, allowed, 1e-2, None).slopes for some in (weighted, repeated)]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9, atol=1e-12)


def test_a_fold_has_the_features_that_it_may_see():
    X, y = counts(300)
    features = np.vstack([np.ones(300), X.T])
    allowed = np.array([[True, True, False, True, True], [True] * 5])
    fits = Fits(features, y, np.ones((2, 300)), LogLink())
    slopes = FoldFits(fits, np.arange(2), allowed, 1e-3, None).slopes
    assert slopes[0, 2] == 0
    assert abs(slopes[1, 2]) > 0.1


# The values --------------------------------------------------------------------------------------


def test_held_out_rows_have_no_say():
    """A fold's predictions are those of a fit that never saw its outcomes."""
    X, y = counts(600)
    problem = Problem.of(X, y, random_state=0)
    rows = problem.folds(0)[0].test
    changed = y.copy()
    changed[rows] = y[rows][::-1]
    other = LinkedValues(Problem.of(X, changed, random_state=0), LogLink())
    full = Subsets.full(4)
    found = [values.predict(full)[0, rows] for values in (LinkedValues(problem, LogLink()), other)]
    # Penalties and pairs are chosen by other rows too; what remains is the same.
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)


@pytest.mark.parametrize("kind", DRAWN)
def test_the_same_bits_for_any_number_of_threads(kind):
    some = Subsets.from_masks(RNG(0).random((9, 4)) < 0.6)
    one, two = (linked(kind, n_jobs=n_jobs).runs_and_noise(some) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("kind", DRAWN)
def test_new_rows_are_predicted_as_before_and_after_a_journey(kind):
    values = linked(kind)
    X, _ = DRAWN[kind][0](1000)
    some = Subsets.from_indices([[], [0], [0, 1, 2, 3]], 4)
    new = values.predict(some, X)
    held_out = values.predict(some)
    assert np.corrcoef(new[2, :, 0], held_out[2, :, 0])[0, 1] > 0.97
    assert np.ptp(new[0]) == 0
    travelled = pickle.loads(pickle.dumps(values))
    np.testing.assert_array_equal(travelled.predict(some, X), new)
    np.testing.assert_array_equal(linked(kind).predict(some, X), new)


def test_rows_come_in_blocks(monkeypatch):
    values = linked("counts")
    X, _ = counts(1000)
    some = Subsets.from_indices([[0, 1]], 4)
    whole = values.predict(some, X)
    monkeypatch.setattr("shaff.values.link.linked_values.ROWS_AT_ONCE", 300)
    np.testing.assert_allclose(values.predict(some, X), whole, rtol=1e-12)


def test_predictions_keep_to_the_range_of_the_outcome():
    values = linked("counts")
    far = np.full((1, 4), 50.0) * [1, 1, -1, 1]
    assert 0 <= values.predict(Subsets.full(4), far)[0, 0, 0] <= counts(1000)[1].max()


def test_the_unit_of_counts_does_not_matter():
    X, y = counts(800)
    some = Subsets.from_indices([[0], [0, 1, 2, 3]], 4)
    values = [
        LinkedValues(Problem.of(X, scaled, random_state=0), find_link(scaled)).values(some).v
        for scaled in (y, y * 1e-8, y * 3.0)
    ]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9)
    np.testing.assert_allclose(values[2], values[0], rtol=1e-9)


def test_the_correction_takes_off_the_noise_of_the_fits():
    rng = RNG(0)
    X = rng.normal(size=(600, 6))
    y = rng.poisson(2.0, 600).astype(float)
    values = LinkedValues(Problem.of(X, y, random_state=0), LogLink())
    found = values.values(Subsets.full(6))
    assert found.plain[0] < 0
    assert found.plain[0] < found.v[0] < 0.02


SETTINGS = {
    "time": {"cv": TimeSeriesSplit(3)},
    "groups": {"row_groups": np.arange(1000) // 3},
    "weights": {"sample_weight": RNG(0).integers(0, 3, 1000)},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_splits_groups_and_weights(settings):
    values = linked("counts", **settings)
    X, y = counts(1000)
    problem = Problem.of(X, y, random_state=0, **settings)
    tested = np.concatenate([fold.test for fold in problem.folds(0)])
    means, noise = values.runs_and_noise(Subsets.full(4))
    assert np.isfinite(means[0, 0, tested]).all()
    assert np.isnan(means[0, 0]).sum() == 1000 - len(tested)
    assert np.isfinite(noise).all()
    assert 0.2 < values.values(Subsets.full(4)).v[0] < 0.5


def test_categories_and_missing_entries():
    rng = RNG(0)
    town, x = rng.integers(5, size=1500), rng.normal(size=1500)
    y = rng.poisson(np.exp(0.5 * (town == 2) + np.where(x > 1, 0.8, 0.4 * x))).astype(float)
    X = np.column_stack([town, np.where(x > 1, np.nan, x), np.full(1500, np.nan)])
    problem = Problem.of(X, y, categorical=[True, False, False], random_state=0)
    values = LinkedValues(problem, LogLink())
    v = values.values(Subsets.from_indices([[0], [1], [2], [0, 1, 2]], 3)).v
    assert v[0] > 0.02
    assert v[1] > 0.1
    assert abs(v[2]) < 0.01
    assert v[3] > v[:2].max()


# Its place in the stack --------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "words"), [("counts", "log-linear"), ("classes", "logistic")])
def test_a_link_is_taken_where_it_pays(kind, words):
    X, y = DRAWN[kind][0](2000, seed=2)
    problems = [Problem.of(X, y, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2)]
    first, again = (make_auto(problem) for problem in problems)
    assert first.facts.blended[-1] == f"{words} curves"
    some = Subsets.from_indices([[0], [0, 1], [0, 1, 2, 3]], 4)
    values = first.values.values(some, influences=True)
    assert np.isfinite(values.influences).all()
    np.testing.assert_array_equal(values.v, again.values.values(some).v)
    predicted = first.values.predict(some, X[:50])
    np.testing.assert_array_equal(predicted, again.values.predict(some, X[:50]))


def test_a_link_is_left_out_where_it_adds_nothing():
    rng = RNG(0)
    X = rng.uniform(size=(2500, 4))
    corner = (X[:, 0] > 0.3) & (X[:, 1] > 0.4) & (X[:, 2] < 0.7)
    y = rng.poisson(1 + 8 * corner).astype(float)
    game = make_auto(Problem.of(X, y, random_state=0))
    assert not any("log-linear" in words for words in game.facts.blended)


def few_rows():
    return counts(1900)


def measurements():
    X, y = counts(2100)
    return X, y + RNG(0).normal(size=2100)


def two_outputs():
    X, y = counts(2100)
    return X, np.column_stack([y, y[::-1]])


@pytest.mark.parametrize("draw", [few_rows, measurements, two_outputs])
def test_other_outcomes_are_not_asked(monkeypatch, draw):
    monkeypatch.setattr(shaff.values.stack, "LinkedValues", None)
    make_auto(Problem.of(*draw(), random_state=0))


def test_many_folds_are_not_asked(monkeypatch):
    monkeypatch.setattr(shaff.values.stack, "LinkedValues", None)
    X, y = counts(2100)
    make_auto(Problem.of(X, y, cv=MAX_FOLDS + 1, random_state=0))


def test_a_screened_table_has_a_link_too(monkeypatch):
    monkeypatch.setattr("shaff.values.auto.earns_its_place", lambda stack, probes: True)
    rng = RNG(2)
    X = rng.normal(size=(2000, 90))
    y = rng.poisson(np.exp(0.6 * X[:, 0] + 0.5 * X[:, 1])).astype(float)
    est = ShapleyEffects(n_subsets=30, random_state=0).fit(X, y)
    notes = " ".join(est.result_.notes)
    assert "Screened" in notes
    assert "log-linear curves" in notes
    assert est.result_.effects[:2].min() > 0.1
    assert est.result_.effects[2:].max() < 0.05
    assert np.isfinite(est.explain(X[:5]).values).all()
