"""Smooth values against slow refits, and what they must not do."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad

from shaff import ShapleyEffects
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.subsets import Subsets
from shaff.values.smooth import anova_ridge
from shaff.values.smooth.anova_ridge import anova_models
from shaff.values.smooth.basis import Ranks
from shaff.values.smooth.kernel import KernelRidge, Likelihood, find_theta
from shaff.values.smooth.leave_out import PENALTIES, LeaveOutTarget, Spectrum, choose, leave_out
from shaff.values.smooth.smooth_values import SmoothValues

MODELS = ("anova", "kernel")
ALL = np.ones((1, 4), dtype=bool)


class Smooth(SmoothValues):
    """From plain arrays, with masks over the columns."""

    def __init__(self, X, y, fold_of=None, model="auto", weight=None, **problem):
        problem = Problem.of(X, y, sample_weight=weight, random_state=0, **problem)
        super().__init__(problem, None if fold_of is None else [fold_of], model)

    def fit_subsets(self, masks):
        return self.left_out(Subsets.from_masks(masks))

    def means(self, masks, rows=None):
        return self.predict(Subsets.from_masks(masks), rows)


def explained(residuals, leverages, y):
    """v without and with the correction."""
    squares, variance = (residuals**2).sum(axis=2), y.var(axis=0, ddof=1).sum()
    corrected = (squares * (1 - leverages)).mean(axis=1)
    return 1 - squares.mean(axis=1) / variance, 1 - corrected / variance


def all_masks(p: int) -> BoolArray:
    return (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)


def draw(n: int = 60, p: int = 4, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, np.column_stack([y, X[:, 3] ** 2 + y])


def mixed(n: int = 90, seed: int = 0) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Two numeric columns, one with gaps, and two categories, one with gaps."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n, 2)), rng.integers(0, [3, 8], (n, 2))])
    y = X[:, 0] + 2.0 * (X[:, 2] == 1) * X[:, 1] + 0.1 * rng.standard_normal(n)
    X[rng.random(n) < 0.2, 1] = np.nan
    X[rng.random(n) < 0.2, 3] = np.nan
    return X, y[:, None], np.array([False, False, True, True])


def refit(
    features: FloatArray, target: LeaveOutTarget, penalty: float, left: BoolArray
) -> FloatArray:
    """Residuals of the rows that are left out: ridge with a free intercept, solved plainly."""
    w = np.where(left, 0.0, target.weight)
    A = np.column_stack([np.ones(len(w)), features.T])
    ridge = penalty * target.weight.sum() * np.eye(A.shape[1])
    ridge[0, 0] = 0.0
    beta = np.linalg.solve(A.T @ (A * w[:, None]) + ridge, A.T @ (target.y * w[:, None]))
    return np.asarray(target.y[left] - A[left] @ beta)


def centred(features: FloatArray, weight: FloatArray) -> FloatArray:
    return features - (features @ weight / weight.sum())[:, None]


@pytest.mark.parametrize("n_features", [5, 40, 90])
@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("grouped", [None, 3, 20])
def test_closed_form_is_a_refit_without_the_rows(n_features: int, idle: bool, grouped: Any) -> None:
    rng = np.random.default_rng(n_features)
    n = 60
    weight = rng.integers(0 if idle else 1, 4, n).astype(float)
    units = None if grouped is None else np.arange(n) // grouped
    target = LeaveOutTarget.of(rng.standard_normal((n, 2)), weight, units)
    features = centred(rng.standard_normal((n_features, n)) / 3, weight)
    penalties = np.array([1e-3, 0.1, np.inf])
    out = leave_out(Spectrum.of(features, target), target, penalties)
    for k, penalty in enumerate(penalties):
        used = features if np.isfinite(penalty) else 0 * features
        for unit in np.unique(np.arange(n) if units is None else units):
            left = (np.arange(n) if units is None else units) == unit
            slow = refit(used, target, penalty if np.isfinite(penalty) else 1.0, left)
            np.testing.assert_allclose(out.residuals[k, left], slow, atol=1e-8)


def test_leverage_turns_squares_into_residual_times_error() -> None:
    """e^2 (1 - h) summed over a unit is e times the residual of the fit with the unit."""
    rng = np.random.default_rng(1)
    target = LeaveOutTarget.of(rng.standard_normal((60, 2)), row_groups=np.arange(60) // 4)
    features = centred(rng.standard_normal((20, 60)), target.weight)
    out = leave_out(Spectrum.of(features, target), target, np.array([0.01]))
    fit = refit(features, target, 0.01, np.zeros(60, dtype=bool))
    assert fit.shape == (0, 2)
    A = np.column_stack([np.ones(60), features.T])
    ridge = np.diag([0.0, *np.full(20, 0.6)])
    inside = target.y - A @ np.linalg.solve(A.T @ A + ridge, A.T @ target.y)
    products = (out.residuals[0] * inside).sum(axis=1).reshape(-1, 4).sum(axis=1)
    squares = (out.residuals[0] ** 2).sum(axis=1) * (1 - out.leverages[0])
    np.testing.assert_allclose(squares.reshape(-1, 4).sum(axis=1), products, atol=1e-9)


def test_a_row_has_no_say_in_its_own_penalty() -> None:
    rng = np.random.default_rng(0)
    y, folds = rng.standard_normal((40, 1)), np.arange(40) % 4
    target = LeaveOutTarget.of(y, fold_of=folds)
    models = [leave_out(Spectrum.of(rng.standard_normal((6, 40)), target), target)]
    before = choose(models, target)
    models[0].residuals[:, folds == 2] *= rng.uniform(0.5, 2, (len(PENALTIES), 1, 1))
    after = choose(models, target)
    picked = [
        int(np.flatnonzero(models[0].leverages[:, 2] == c.leverages[2])[0]) for c in (before, after)
    ]
    assert picked[0] == picked[1]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_whole_weights_are_copies(model: Any, n_outputs: int) -> None:
    X, y = draw(80)
    X[::7, 1] = np.nan
    y = y[:, :n_outputs]
    copies = np.random.default_rng(3).integers(1, 4, 80)
    source = np.repeat(np.arange(80), copies)
    folds = np.arange(80) % 5
    weighted = Smooth(X, y, weight=copies.astype(float), fold_of=folds, model=model)
    repeated = Smooth(X[source], y[source], row_groups=source, fold_of=folds[source],
                            model=model)  # fmt: skip
    masks = all_masks(4)[[1, 6, 15]]
    for left, right in zip(weighted.fit_subsets(masks), repeated.fit_subsets(masks), strict=True):
        np.testing.assert_allclose(left[:, source], right, atol=1e-8)


def test_copies_of_rows_change_nothing_when_pairs_are_screened(monkeypatch: Any) -> None:
    monkeypatch.setattr(anova_ridge, "MAX_FEATURES", 70)
    test_whole_weights_are_copies("anova", 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("room", [50, 1000])
def test_copies_of_a_column_have_equal_values(model: Any, room: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(anova_ridge, "MAX_FEATURES", room)
    X, y = draw(100)
    X = np.column_stack([X, X[:, 1]])
    masks = np.array([[0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 0, 0], [1, 0, 1, 0, 1]], bool)
    v = explained(*Smooth(X, y, model=model).fit_subsets(masks), y)[0]
    np.testing.assert_allclose(v[[0, 2]], v[[1, 3]], atol=1e-6)


def test_predictions_at_new_rows_are_those_of_the_fit() -> None:
    """With a row more that has no weight, the prediction without it is that of the fit on all."""
    X, y = draw(80)
    weight = np.append(np.ones(79), 0.0)
    folds = np.zeros(80, dtype=np.intp)
    with_idle = Smooth(X, y, weight=weight, fold_of=folds, model="anova")
    without = Smooth(X[:79], y[:79], fold_of=folds[:79], model="anova")
    masks = all_masks(4)
    new = without.means(masks, X[79:])[:, 0]
    np.testing.assert_allclose(with_idle.means(masks)[:, 79], new, atol=1e-8)


def test_kernel_predicts_the_mean_of_its_two_fits() -> None:
    """The residual of a fit is e (1 - h)."""
    X, y = draw(80)
    target = LeaveOutTarget.of(y)
    ridge = KernelRidge(X, target, np.zeros(4, dtype=bool), 0)
    fits = []
    for theta in ridge.thetas:
        features = centred(ridge._features(ALL[0], ridge._functions, theta), target.weight)
        out = leave_out(Spectrum.of(features, target), target, np.array([0.01]))
        fits.append(y - out.residuals[0] * (1 - out.leverages[0])[:, None])
    new = ridge.apply(ridge.fit(ALL[0], 0.01), ridge.prepare(X))
    np.testing.assert_allclose(new, np.mean(fits, axis=0), atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_categories_and_missing_entries(model: Any) -> None:
    X, y, categorical = mixed(300)
    values = Smooth(X, y, categorical=categorical, model=model)
    masks = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], bool)
    v = explained(*values.fit_subsets(masks), y)[0]
    assert v[2] > v[1] + 0.1
    assert v[1] > v[0] - 0.03
    assert v[2] > 0.8
    rows = X[:5].copy()
    rows[0, 2:], rows[1] = 99.0, np.nan  # levels never seen, and nothing known
    assert np.isfinite(values.means(masks, rows)).all()


@pytest.mark.parametrize("model", MODELS)
def test_missingness_is_information(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    gone = rng.random(200) < 0.3
    X[gone, 0] = np.nan
    y = (gone + 0.1 * rng.standard_normal(200))[:, None]
    masks = np.array([[True, False]])
    v = explained(*Smooth(X, y, model=model).fit_subsets(masks), y)[0]
    assert v[0] > 0.9


@pytest.mark.parametrize("model", MODELS)
def test_columns_that_say_nothing(model: Any) -> None:
    X, y = draw(80)
    X[:, 0], X[:, 1], y = 3.0, np.nan, y[:, :1]
    v = explained(*Smooth(X, y, model=model).fit_subsets(all_masks(4)), y)[0]
    np.testing.assert_allclose(v[:4], -1 / 79, atol=1e-12)
    np.testing.assert_allclose(v[4:8], v[4], atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_shift_and_scale_of_y(model: Any) -> None:
    X, y = draw(80)
    first = Smooth(X, y, model=model).fit_subsets(ALL)[0]
    second = Smooth(X, 5 - 3 * y, model=model).fit_subsets(ALL)[0]
    np.testing.assert_allclose(second, -3 * first, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_same_bits_for_any_number_of_threads(model: Any) -> None:
    X, y = draw(80)
    one, two = (Smooth(X, y, model=model, n_jobs=k).fit_subsets(all_masks(4)) for k in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("p", [3, 12])
def test_noise_is_worth_nothing_on_average(model: Any, p: int) -> None:
    v = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((150, p)), rng.standard_normal((150, 1))
        masks = np.array([np.ones(p), np.arange(p) < p / 2, np.arange(p) < 1], dtype=bool)
        v.append(explained(*Smooth(X, y, model=model).fit_subsets(masks), y)[0])
    assert (np.mean(v, axis=0) < 0.002).all()


def test_groups_cannot_be_recognised() -> None:
    """y is the same in a group, x tells the group: without the group nothing is known."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 5)
    X = rng.standard_normal((20, 2))[group] + 1e-3 * rng.standard_normal((100, 2))
    y = rng.standard_normal((20, 1))[group]
    ones = np.ones((1, 2), dtype=bool)
    together = explained(*Smooth(X, y, row_groups=group).fit_subsets(ones), y)[0]
    apart = explained(*Smooth(X, y).fit_subsets(ones), y)[0]
    assert together[0] < 0.1 < 0.8 < apart[0]


def test_many_columns_stay_within_their_room() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 300))
    target = LeaveOutTarget.of(X[:, :1] ** 2)
    models = anova_models(X, target, np.zeros(300, dtype=bool))
    assert all(model.n_features <= anova_ridge.MAX_FEATURES for model in models)


def test_a_strong_pair_is_found_among_many() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 20))
    y = np.cos(6 * X[:, 3]) * np.cos(6 * X[:, 11]) + 0.1 * rng.standard_normal(500)
    target = LeaveOutTarget.of(y[:, None])
    found = anova_models(X, target, np.zeros(20, dtype=bool))[2]._products
    assert ((found.first == 3) & (found.second == 11)).sum() == 25
    assert len(found) <= 75


def test_ranks_count_weight() -> None:
    x = np.array([2.0, 1.0, 2.0])
    weighted = Ranks(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(weighted(x), Ranks(x, np.ones(3))(x))


def test_gradient_of_the_likelihood() -> None:
    X, y = draw(30)
    kernels = [np.outer(x, x) for x in X.T]
    likelihood = Likelihood(kernels, y - y.mean(axis=0), np.linspace(1, 2, 30))
    for seed in range(3):
        x = np.random.default_rng(seed).uniform(-3, 1, 5)
        assert check_grad(lambda x: likelihood(x)[0], lambda x: likelihood(x)[1], x) < 1e-3


def test_relevance_of_columns() -> None:
    X, y = draw(200)
    X = np.column_stack([X, X[:, 1]])
    target = LeaveOutTarget.of(y[:, :1])
    for theta in KernelRidge(X, target, np.zeros(5, dtype=bool), 0).thetas:
        assert theta[3] < theta[[0, 1, 2]].min()
        np.testing.assert_allclose(theta[1], theta[4], rtol=1e-3)


def test_noise_has_small_theta() -> None:
    rng = np.random.default_rng(0)
    functions = [x[:, None] for x in rng.standard_normal((3, 200))]
    assert find_theta(functions, rng.standard_normal((200, 1)), np.ones(200)).max() < 0.5


def test_values_are_the_errors_beside_those_of_the_mean_of_the_others():
    X, y = draw(80)
    y = y[:, :1]
    values = Smooth(X, y, model="anova").values(Subsets.full(4), influences=True)
    residuals, leverages = Smooth(X, y, model="anova").fit_subsets(ALL)
    constant = np.mean(((y - y.mean()) * 80 / 79) ** 2)
    np.testing.assert_allclose(values.plain, 1 - np.mean(residuals**2) / constant)
    corrected = np.mean(residuals[0, :, 0] ** 2 * (1 - leverages[0]))
    np.testing.assert_allclose(values.v, 1 - corrected / constant)
    assert values.v > values.plain
    assert values.influences.shape == (1, 80)


def test_as_an_estimator_with_groups_weights_classes_and_categories():
    X, y, _ = mixed(120)
    weight = np.random.default_rng(0).integers(1, 3, 120)
    labels = np.array(["low", "mid", "high"])[np.digitize(y[:, 0], [-0.5, 0.5])]
    for target in (y[:, 0], np.column_stack([y, -y]), labels):
        est = ShapleyEffects(
            "smooth", groups={"both": [0, 1]}, categorical=[2, 3], random_state=0
        ).fit(X, target, sample_weight=weight, row_groups=np.arange(120) // 2)
        assert est.result_.estimator == "smooth"
        assert est.effects_.shape == (3,)
        assert est.effects_[0] > est.effects_[2]
        np.testing.assert_allclose(est.effects_.sum(), est.explained_variance_)


def test_splits_are_refused():
    X, y = draw(60)
    with pytest.raises(InputError, match="cv is not used: smooth values leave out each row"):
        ShapleyEffects("smooth", cv=[(np.arange(30), np.arange(30, 60))]).fit(X, y)


def test_divisions_into_folds_are_averaged():
    X, y = draw(80)
    folds = [np.arange(80) % 5, np.arange(80) // 16]
    problem = Problem.of(X, y, random_state=0)
    both = SmoothValues(problem, folds, "anova")
    runs, _ = both.runs_and_leverages(Subsets.full(4))
    assert runs.shape == (2, 1, 80, 2)
    np.testing.assert_allclose(runs.mean(axis=0), both.predict(Subsets.full(4)))
