"""Smooth values against slow refits, and what they must not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.model_selection import TimeSeriesSplit

from shaff import ShapleyEffects
from shaff._util.lapack import solve_positive
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.subsets import Subsets
from shaff.values import noise as noise_module
from shaff.values.smooth import anova_ridge
from shaff.values.smooth.anova_ridge import anova_models
from shaff.values.smooth.basis import BasisSize, Ranks, doublings
from shaff.values.smooth.fold_ridge import FEW_FEATURES, FoldRidge, FoldsLeftOut
from shaff.values.smooth.kernel import KernelRidge, Likelihood, find_theta
from shaff.values.smooth.leave_out import PENALTIES, LeaveOutTarget, Spectrum, choose, leave_out
from shaff.values.smooth.smooth_values import MAX_ROWS_LEFT_OUT, SmoothValues, leaves_folds

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


def explained(residuals, y):
    """v without the correction."""
    return 1 - (residuals**2).sum(axis=2).mean(axis=1) / y.var(axis=0, ddof=1).sum()


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
    features: FloatArray,
    target: LeaveOutTarget,
    penalty: float,
    trained: BoolArray,
    asked: BoolArray | IntpArray,
) -> FloatArray:
    """Residuals of some rows by a ridge regression on others, with a free constant and a penalty
    that is relative to nothing; solved plainly."""
    w = np.where(trained, target.weight, 0.0)
    used = features if np.isfinite(penalty) else features[:0]
    A = np.column_stack([np.ones(len(w)), used.T])
    ridge = np.diag([0.0, *np.full(len(used), penalty)])
    beta = np.linalg.solve(A.T @ (A * w[:, None]) + ridge, A.T @ (target.y * w[:, None]))
    return np.asarray(target.y[asked] - A[asked] @ beta)


def centred(features: FloatArray, weight: FloatArray) -> FloatArray:
    return features - (features @ weight / weight.sum())[:, None]


@pytest.mark.parametrize("n_features", [5, 40, 90])
@pytest.mark.parametrize("idle", [False, True])
def test_closed_form_is_a_refit_without_the_row(n_features: int, idle: bool) -> None:
    rng = np.random.default_rng(n_features)
    n = 60
    weight = rng.integers(0 if idle else 1, 4, n).astype(float)
    target = LeaveOutTarget.of(rng.standard_normal((n, 2)), weight)
    features = centred(rng.standard_normal((n_features, n)) / 3, weight)
    penalties = np.array([1e-3, 0.1, np.inf])
    out = leave_out(Spectrum.of(features, target), target, penalties)
    for k, penalty in enumerate(penalties):
        for row in range(n):
            left = np.arange(n) == row
            slow = refit(features, target, penalty * weight.sum(), ~left, left)
            np.testing.assert_allclose(out.residuals[k, left], slow, atol=1e-8)


def test_noise_turns_squares_into_residual_times_error() -> None:
    """What is left of e^2 is e times the residual of the fit with the row."""
    rng = np.random.default_rng(1)
    target = LeaveOutTarget.of(rng.standard_normal((60, 2)), rng.integers(1, 4, 60).astype(float))
    features = centred(rng.standard_normal((20, 60)), target.weight)
    out = leave_out(Spectrum.of(features, target), target, np.array([0.01]))
    every = np.ones(60, dtype=bool)
    inside = refit(features, target, 0.01 * target.total, every, every)
    for fold, rows in enumerate(target.tests):
        residuals, noise = out.of_fold(0, fold, target)
        np.testing.assert_allclose(residuals**2 - noise, residuals * inside[rows], atol=1e-9)


def test_a_row_has_no_say_in_its_own_penalty() -> None:
    """Even where its fold would have all others choose another one."""
    rng = np.random.default_rng(0)
    y, own = rng.standard_normal((40, 1)), np.arange(40) % 4 == 2
    target = LeaveOutTarget.of(y, fold_of=np.arange(40) % 4)
    model = leave_out(Spectrum.of(rng.standard_normal((6, 40)), target), target)
    before = choose([model], target)
    picked = np.flatnonzero(model.residuals[:, 2, 0] == before.residuals[2, 0])
    other = (int(picked[0]) + 5) % len(PENALTIES)
    model.residuals[:, own] *= np.where(np.arange(len(PENALTIES)) == other, 1, 100)[:, None, None]
    after = choose([model], target)
    np.testing.assert_array_equal(after.residuals[own], 100 * before.residuals[own])
    assert after.penalty == PENALTIES[other]


def splits(kind: str, n: int) -> list[Fold]:
    """Five blocks of rows: all are held out in turn; or all but the first, which is trained on
    always, or never, or they come one after the other."""
    blocks = np.array_split(np.random.default_rng(5).permutation(n), 5)
    tests = range(5) if kind == "partition" else range(1, 5)
    trained = {
        "partition": lambda k: set(range(5)) - {k},
        "always": lambda k: set(range(5)) - {k},
        "never": lambda k: set(range(1, 5)) - {k},
        "time": lambda k: set(range(k)),
    }[kind]
    return [Fold(np.concatenate([blocks[b] for b in trained(k)]), blocks[k]) for k in tests]


SPLITS = ("partition", "always", "never", "time")


def linear_target(kind: str, features: FloatArray, noise: float = 1.0) -> LeaveOutTarget:
    """Two outcomes that are linear in the features, with weights, and what is left out."""
    n_features, n = features.shape
    rng = np.random.default_rng(n_features)
    y = 3 + features.T @ rng.standard_normal((n_features, 2)) + noise * rng.standard_normal((n, 2))
    weight = rng.integers(0, 4, n).astype(float)
    return LeaveOutTarget.by_folds(y, weight, splits(kind, n), None, seed=0)


def two_sets(n_features: int, n_folds: int) -> list[tuple[IntpArray, list[int]]]:
    """Every other fold has the first half of the features."""
    every, folds = np.arange(n_features), np.arange(n_folds)
    halves = (every, folds[::2].tolist()), (every[: n_features // 2], folds[1::2].tolist())
    return list(halves)


def slow_fold(
    features: FloatArray, target: LeaveOutTarget, penalty: float, fold: int, half: BoolArray
) -> FloatArray:
    """Residuals of a fold by a refit on its training rows in a half."""
    assert target.folds is not None
    trained = np.isin(np.arange(len(half)), target.folds[fold].train) & half
    asked = target.tests[fold]
    np.testing.assert_array_equal(np.sort(asked), np.sort(target.folds[fold].test))
    return refit(features, target, penalty * target.weight[trained].sum(), trained, asked)


@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize("n_features", [0, 6, 2 * FEW_FEATURES + 3])
def test_folds_left_out_are_refits_without_the_folds(kind: str, n_features: int) -> None:
    features = np.random.default_rng(0).standard_normal((n_features, 120)) + 1
    target = linear_target(kind, features)
    sets, every = two_sets(n_features, target.n_folds), np.ones(120, dtype=bool)
    out = FoldsLeftOut(FoldRidge(features, target), sets)
    for inside, folds in sets:
        for fold in folds:
            for place, penalty in enumerate(out.penalties):
                residuals, noise = out.of_fold(place, fold, target)
                whole, first, second = (
                    slow_fold(features[inside], target, penalty, fold, half)
                    for half in (every, target.in_first, ~target.in_first)
                )
                np.testing.assert_allclose(residuals, whole, atol=1e-6)
                np.testing.assert_allclose(noise, whole**2 - first * second, atol=1e-5)


@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_errors_by_moments_are_errors_by_rows(kind: str, shift: float) -> None:
    features = np.random.default_rng(1).standard_normal((7, 90)) - 2
    target = linear_target(kind, features)
    target.y[:] += shift
    out = FoldsLeftOut(FoldRidge(features, target), two_sets(7, target.n_folds))
    errors = out.errors(target)
    assert errors.shape == (len(out.penalties), target.n_folds)
    for place in range(len(out.penalties)):
        for fold, rows in enumerate(target.tests):
            squares = (out.of_fold(place, fold, target)[0] ** 2).sum(axis=1)
            np.testing.assert_allclose(errors[place, fold], target.weight[rows] @ squares)


@pytest.mark.parametrize(
    ("noise", "slope", "ends_at"),
    [(1e-6, 1.0, 0), (1.0, 0.2, None), (1.0, 0.0, len(PENALTIES) - 1)],
)
def test_the_search_ends_where_both_neighbours_are_worse(
    noise: float, slope: float, ends_at: int | None
) -> None:
    rng = np.random.default_rng(3)
    features = rng.standard_normal((8, 200))
    y = slope * features.sum(axis=0)[:, None] + noise * rng.standard_normal((200, 1))
    folds = splits("partition", 200)
    target = LeaveOutTarget.by_folds(y, np.ones(200), folds, None, seed=0)
    out = FoldsLeftOut(FoldRidge(features, target), [(np.arange(8), list(range(5)))])
    found = float(out.penalties[out.errors(target).sum(axis=1).argmin()])
    place, every = int(np.flatnonzero(found == PENALTIES)[0]), np.ones(200, dtype=bool)
    near = range(max(place - 1, 0), min(place + 2, len(PENALTIES)))

    def error(penalty: float) -> float:
        parts = [slow_fold(features, target, penalty, fold, every) for fold in range(5)]
        return float((np.concatenate(parts) ** 2).sum())

    errors = [error(PENALTIES[k]) for k in near]
    assert near[int(np.argmin(errors))] == place
    if ends_at is None:
        assert 0 < place < len(PENALTIES) - 1
    else:
        assert place == ends_at


def test_products_of_halves_have_no_noise_of_the_fit() -> None:
    """Of twenty slopes by eighty rows there is a third of the noise in a squared error.

    At a penalty too small to shrink anything: what is shrunk stays in the products.
    """
    squares, products = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((20, 100))
        y = 10 * features.sum(axis=0)[:, None] + rng.standard_normal((100, 1))
        folds = splits("partition", 100)
        target = LeaveOutTarget.by_folds(y, np.ones(100), folds, None, seed)
        out = FoldsLeftOut(FoldRidge(features, target), [(np.arange(20), list(range(5)))])
        assert out.penalties[0] < 1e-4
        parts = [out.of_fold(0, fold, target) for fold in range(5)]
        squares.append(np.mean([residuals**2 for residuals, _ in parts]))
        products.append(np.mean([residuals**2 - noise for residuals, noise in parts]))
    assert np.mean(squares) > 1.25
    # Three standard errors.
    assert abs(np.mean(products) - 1) < 0.08


def test_groups_are_in_one_half() -> None:
    groups = np.random.default_rng(0).integers(0, 12, 60)
    folds = Problem.of(np.zeros((60, 1)), np.zeros(60), row_groups=groups).folds(0)
    target = LeaveOutTarget.by_folds(np.zeros((60, 1)), np.ones(60), folds, groups, seed=3)
    halves = [set(target.in_first[groups == group].tolist()) for group in np.unique(groups)]
    assert all(len(half) == 1 for half in halves)
    assert len(set.union(*halves)) == 2
    sizes = np.bincount(groups)
    np.testing.assert_allclose(target.copies, (sizes**2).sum() / 60)


def test_the_last_folds_tell_the_noise_of_all(monkeypatch: Any) -> None:
    features = np.random.default_rng(0).standard_normal((6, 100))
    target = linear_target("partition", features)
    out = FoldsLeftOut(FoldRidge(features, target), two_sets(6, 5))
    whole = choose([out], target)
    monkeypatch.setattr(noise_module, "NOISE_ROWS", 40)
    some = choose([FoldsLeftOut(FoldRidge(features, target), two_sets(6, 5))], target)
    np.testing.assert_array_equal(some.residuals, whole.residuals)
    known, weight = target.fold_of >= 3, target.weight[:, None]
    np.testing.assert_array_equal(some.noise[known], whole.noise[known])
    share = (weight * whole.noise)[known].sum(axis=0) / (weight * whole.residuals**2)[known].sum(
        axis=0
    )
    np.testing.assert_allclose(some.noise[~known], share * whole.residuals[~known] ** 2)


@pytest.mark.parametrize("n", [1, 5, 200])
def test_positive_systems(n: int) -> None:
    rng = np.random.default_rng(n)
    root, right = rng.standard_normal((n, n + 3)), rng.standard_normal((n, 3))
    matrix = root @ root.T
    expected = np.linalg.solve(matrix, right)
    np.testing.assert_allclose(solve_positive(matrix.copy(), right), expected, atol=1e-8)


def test_indefinite_systems_are_refused() -> None:
    for diagonal in ([1.0, -1.0], [0.0, 1.0]):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            solve_positive(np.diag(diagonal), np.ones((2, 1)))


def repeated_splits(source: IntpArray, n: int) -> tuple[list[Any], list[Any]]:
    """Splits of rows, and of their copies."""
    plain = [(fold.train, fold.test) for fold in splits("partition", n)]
    copies = [tuple(np.flatnonzero(np.isin(source, some)) for some in pair) for pair in plain]
    return plain, copies


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_whole_weights_are_copies(n_outputs: int) -> None:
    X, y = draw(80)
    X[::7, 1] = np.nan
    y = y[:, :n_outputs]
    copies = np.random.default_rng(3).integers(1, 4, 80)
    source = np.repeat(np.arange(80), copies)
    plain, of_copies = repeated_splits(source, 80)
    weighted = Smooth(X, y, weight=copies.astype(float), cv=plain)
    repeated = Smooth(X[source], y[source], row_groups=source, cv=of_copies)
    masks = all_masks(4)[[1, 6, 15]]
    for left, right in zip(weighted.fit_subsets(masks), repeated.fit_subsets(masks), strict=True):
        np.testing.assert_allclose(left[:, source], right, atol=1e-8)


def test_copies_of_rows_change_nothing_when_pairs_are_screened(monkeypatch: Any) -> None:
    monkeypatch.setattr(anova_ridge, "MAX_FEATURES", 70)
    test_whole_weights_are_copies(1)


def test_whole_weights_are_copies_for_the_kernel() -> None:
    X, y = draw(80)
    X[::7, 1] = np.nan
    copies, folds = np.random.default_rng(3).integers(1, 4, 80), np.arange(80) % 5
    source, none = np.repeat(np.arange(80), copies), np.zeros(4, dtype=bool)
    targets = (
        LeaveOutTarget.of(y, copies.astype(float), folds),
        LeaveOutTarget.of(y[source], fold_of=folds[source]),
    )
    weighted, repeated = (
        KernelRidge(rows, target, none, 0)
        for rows, target in zip((X, X[source]), targets, strict=True)
    )
    np.testing.assert_allclose(weighted.thetas, repeated.thetas, rtol=1e-6)
    for mask in all_masks(4)[[1, 6, 15]]:
        left, right = (
            ridge.apply(ridge.fit(mask, 0.01), ridge.prepare(X)) for ridge in (weighted, repeated)
        )
        np.testing.assert_allclose(left, right, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "cv"), [("anova", None), ("kernel", None), ("anova", TimeSeriesSplit(3))]
)
@pytest.mark.parametrize("room", [50, 1000])
def test_copies_of_a_column_have_equal_values(
    model: Any, cv: Any, room: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(anova_ridge, "MAX_FEATURES", room)
    X, y = draw(100)
    X = np.column_stack([X, X[:, 1]])
    masks = np.array([[0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 0, 0], [1, 0, 1, 0, 1]], bool)
    v = explained(Smooth(X, y, model=model, cv=cv).fit_subsets(masks)[0], y)
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
    v = explained(values.fit_subsets(masks)[0], y)
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
    v = explained(Smooth(X, y, model=model).fit_subsets(masks)[0], y)
    assert v[0] > 0.9


@pytest.mark.parametrize("model", MODELS)
def test_columns_that_say_nothing(model: Any) -> None:
    X, y = draw(80)
    X[:, 0], X[:, 1], y = 3.0, np.nan, y[:, :1]
    v = explained(Smooth(X, y, model=model).fit_subsets(all_masks(4))[0], y)
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
        v.append(explained(Smooth(X, y, model=model).fit_subsets(masks)[0], y))
    assert (np.mean(v, axis=0) < 0.002).all()


def test_noise_is_worth_nothing_on_average_where_folds_are_left_out() -> None:
    v = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((150, 3)), rng.standard_normal((150, 1))
        smooth = Smooth(X, y, row_groups=np.arange(150))
        v.append(smooth.values(Subsets.from_indices([[0], [0, 1], [0, 1, 2]], 3)).plain)
    assert (np.mean(v, axis=0) < 0.005).all()


def test_groups_cannot_be_recognised() -> None:
    """y is the same in a group, x tells the group: without the group nothing is known."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 5)
    X = rng.standard_normal((20, 2))[group] + 1e-3 * rng.standard_normal((100, 2))
    y = rng.standard_normal((20, 1))[group]
    ones = np.ones((1, 2), dtype=bool)
    together = explained(Smooth(X, y, row_groups=group).fit_subsets(ones)[0], y)
    apart = explained(Smooth(X, y).fit_subsets(ones)[0], y)
    assert together[0] < 0.1 < 0.8 < apart[0]


def n_features(models: Any) -> list[int]:
    """Features of each model, in the fold that has the most."""
    return [int(model.allowed.sum(axis=1).max()) for model in models]


def test_many_columns_stay_within_their_room() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 300))
    target = LeaveOutTarget.of(X[:, :1] ** 2)
    models = anova_models(X, target, np.zeros(300, dtype=bool))
    assert max(n_features(models)) <= anova_ridge.MAX_FEATURES


def test_a_strong_pair_is_found_among_many() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 20))
    y = np.cos(6 * X[:, 3]) * np.cos(6 * X[:, 11]) + 0.1 * rng.standard_normal(500)
    target = LeaveOutTarget.of(y[:, None])
    curves, pairs = anova_models(X, target, np.zeros(20, dtype=bool))[1:3]
    products = pairs.allowed & ~curves.allowed
    of_the_pair = (pairs._features.owners == [[3], [11]]).all(axis=0)
    factors = BasisSize.of(500).factors
    assert (products[:, of_the_pair].sum(axis=1) == factors**2).all()
    assert products.sum(axis=1).max() <= 3 * factors**2


def test_functions_become_richer_with_the_rows_and_never_poorer() -> None:
    sizes = [BasisSize.of(n) for n in np.geomspace(50, 10**6, 200).astype(int)]
    for part in ("waves", "score_waves", "pair_waves", "pair_score_waves", "factors"):
        steps = np.diff([getattr(size, part) for size in sizes])
        assert set(steps.tolist()) == {0, 1}
    more = [doublings(n) for n in (10, 1000, 2000, 2001, 10**9)]
    assert more == sorted(more)
    assert more[:3] == [0.0, 0.0, 1.0]


def test_features_grow_with_the_rows() -> None:
    """Through the number of rows up to which each is left out by itself, too."""
    rng, found = np.random.default_rng(0), []
    X = rng.uniform(-1, 1, (4200, 5))
    for n in (500, 1000, MAX_ROWS_LEFT_OUT, MAX_ROWS_LEFT_OUT + 1, 4200):
        problem = Problem.of(X[:n], X[:n, 0], random_state=0)
        assert leaves_folds(problem) == (n > MAX_ROWS_LEFT_OUT)
        target = SmoothValues(problem)._targets[0]
        models = anova_models(problem.X, target, problem.categorical)
        found.append((n_features(models)[1], n_features(models)[-1]))
    assert found == sorted(found)
    assert found[2] == found[3]
    assert found[0][0] < found[-1][0]
    assert found[0][1] < found[-1][1]


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


def constant_error(y: FloatArray, folds: list[Fold] | None) -> float:
    """Mean squared error of the mean of the other rows, or of the training rows of a fold."""
    if folds is None:
        return float(np.mean(((y - y.mean()) * len(y) / (len(y) - 1)) ** 2))
    squares = [(y[fold.test] - y[fold.train].mean()) ** 2 for fold in folds]
    return float(np.concatenate(squares).mean())


@pytest.mark.parametrize("kind", [None, *SPLITS])
def test_values_are_the_errors_beside_those_of_the_mean_of_the_others(kind: str | None) -> None:
    X, y = draw(80)
    y = y[:, :1]
    folds = None if kind is None else splits(kind, 80)
    cv = None if folds is None else [(fold.train, fold.test) for fold in folds]
    smooth = Smooth(X, y, model="anova", cv=cv)
    values = smooth.values(Subsets.full(4), influences=True)
    residuals, noise = smooth.fit_subsets(ALL)
    measured = np.arange(80) if folds is None else np.concatenate([fold.test for fold in folds])
    squares, constant = residuals[0, measured] ** 2, constant_error(y, folds)
    np.testing.assert_allclose(values.plain, 1 - np.mean(squares) / constant)
    corrected = np.mean(squares - noise[0, measured])
    np.testing.assert_allclose(values.v, 1 - corrected / constant)
    assert values.v > values.plain or kind is not None
    assert values.influences is not None
    assert values.influences.shape == (1, 80)
    idle = np.setdiff1d(np.arange(80), measured)
    assert not values.influences[0, idle].any()


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


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), [(np.arange(100), np.arange(100, 200))]])
def test_as_an_estimator_with_splits(cv: Any) -> None:
    X, y = draw(200)
    est = ShapleyEffects("smooth", cv=cv, random_state=0).fit(X, y[:, 0])
    assert est.effects_[3] < 0.1 < est.effects_[0]
    np.testing.assert_allclose(est.effects_.sum(), est.explained_variance_)


def test_rows_outside_all_splits_have_no_say() -> None:
    X, y = draw(80)
    folds = splits("never", 80)
    idle = np.setdiff1d(np.arange(80), np.concatenate([fold.rows for fold in folds]))
    cv = [(fold.train, fold.test) for fold in folds]
    before = Smooth(X, y, cv=cv).fit_subsets(all_masks(4))
    assert len(idle) == 16
    assert not before[0][:, idle].any()
    y[idle] += 5
    for left, right in zip(before, Smooth(X, y, cv=cv).fit_subsets(all_masks(4)), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-8)


def test_what_comes_later_has_no_say_in_what_was_predicted() -> None:
    """Models and penalties aside: those are what other folds choose, so there is one of each."""
    X, y = draw(90)
    folds = splits("time", 90)
    features = centred(X.T, np.ones(90))

    def residuals(y: FloatArray) -> FloatArray:
        target = LeaveOutTarget.by_folds(y, np.ones(90), folds, None, seed=0)
        out = FoldsLeftOut(FoldRidge(features, target), [(np.arange(4), list(range(4)))])
        place = int(np.flatnonzero(out.penalties == PENALTIES[6])[0])
        return out.of_fold(place, 1, target)[0]

    later = y.copy()
    later[np.concatenate([fold.test for fold in folds[2:]])] += 5
    np.testing.assert_array_equal(residuals(later), residuals(y))


def test_a_fold_has_no_say_in_its_own_penalty() -> None:
    """Not even by the penalties that are tried: it asks for none, all others for the smallest."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        features, folds = rng.standard_normal((8, 100)), splits("time", 100)
        y = 30 * features.sum(axis=0)[:, None] + rng.standard_normal((100, 1))
        own = folds[-1].test
        found = []
        for factor in (1, -3):
            # No fold is trained on these rows.
            y[own] *= factor
            target = LeaveOutTarget.by_folds(y, np.ones(100), folds, None, seed=0)
            out = FoldsLeftOut(FoldRidge(features, target), [(np.arange(8), list(range(4)))])
            found.append((y - choose([out], target).residuals)[own])
        np.testing.assert_allclose(found[0], found[1], atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_a_row_is_predicted_within_the_outcomes_of_the_others(model: Any) -> None:
    """At the ends of a column, where curves would run away."""
    X, y = draw(60)
    X[0, 0], y[0] = 40.0, 100.0
    smooth = Smooth(X, y, model=model)
    out = [each.leave_out(mask) for each in smooth.models for mask in all_masks(4)[[1, 15]]]
    for row in range(60):
        others = np.delete(y, row, axis=0)
        for each in out:
            predicted = y[row] - each.residuals[:, row]
            assert (predicted <= others.max(axis=0) + 1e-9).all()
            assert (predicted >= others.min(axis=0) - 1e-9).all()


def test_divisions_into_folds_are_averaged():
    X, y = draw(80)
    folds = [np.arange(80) % 5, np.arange(80) // 16]
    problem = Problem.of(X, y, random_state=0)
    both = SmoothValues(problem, folds, "anova")
    runs, noise = both.runs_and_noise(Subsets.full(4))
    assert runs.shape == (2, 1, 80, 2)
    alone = SmoothValues(problem, folds[:1], "anova").predict(Subsets.full(4))
    np.testing.assert_allclose(runs[0], alone)
    assert np.abs(runs[1] - runs[0]).max() > 0.01
    np.testing.assert_array_equal(noise, both.left_out(Subsets.full(4))[1])
    np.testing.assert_allclose(runs.mean(axis=0), both.predict(Subsets.full(4)))


def test_relevance_falls_back_on_its_prior_where_nothing_can_be_inverted(monkeypatch):
    rng = np.random.default_rng(0)
    functions, y = [rng.standard_normal((80, 2)) for _ in range(3)], rng.standard_normal((80, 1))
    found = find_theta(functions, y, np.ones(80))

    def singular(self, product, noise):
        raise np.linalg.LinAlgError("A matrix is not positive definite.")

    monkeypatch.setattr(Likelihood, "_fit", singular)
    by_prior = find_theta(functions, y, np.ones(80))
    assert (by_prior == by_prior[0]).all()
    assert not np.allclose(found, by_prior)


@pytest.mark.parametrize("n_levels", [3, 100])
def test_names_of_levels_that_are_as_frequent_decide_nothing(n_levels):
    """Beyond 64 levels some have no indicator: which, is a matter of rows."""
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(float(n_levels)), 6))
    x = np.column_stack([codes, rng.standard_normal(len(codes))])
    y = np.sin(codes) + x[:, 1]
    renamed = np.column_stack([rng.permutation(n_levels)[codes.astype(int)], x[:, 1]])
    table = {"categorical": np.array([True, False])}
    masks = np.array([[True, False], [True, True]])
    one, other = (Smooth(X, y, **table).fit_subsets(masks) for X in (x, renamed))
    assert np.array_equal(one, other)
