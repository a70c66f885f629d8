"""Error bars and the null test, against slow counts and on small simulations."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import shaff.fitting.fit as run_module
from shaff import ShapleyEffects, load_result
from shaff.data.problem import Problem
from shaff.protocols import Effects, Proposal, Values
from shaff.solve.exact import shapley_map
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.subsets import Subsets
from shaff.uncertainty.inference import (
    FLEXIBLE_FACTOR,
    LINEAR_FACTOR,
    adjust_p_values,
    data_covariance,
    jackknife,
    null_p_values,
    training_factor,
    uncertainty,
)
from shaff.values.outcome import Outcome
from shaff.values.ridge import RidgeValues

FACTOR = training_factor(np.zeros(1), None)[0]


def all_subsets(p: int) -> Subsets:
    masks = (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)
    return Subsets.from_masks(masks[[-1, *range(1, 2**p - 1)]])


def fixed_models(n: int = 300, p: int = 3, seed: int = 0):
    """Outcomes and, for each subset, predictions that no row has been used for."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X @ np.array([1.0, 0.6, 0.3]) + 0.5 * rng.standard_normal(n)
    subsets = all_subsets(p)
    return y, (subsets.masks() * np.array([0.9, 0.6, 0.2])) @ X.T, subsets


def explained(y, predictions):
    return 1 - ((y - predictions) ** 2).mean(axis=1) / y.var(ddof=1)


def explained_leaving_out_each(y, predictions):
    rows = range(len(y))
    return np.array([explained(np.delete(y, i), np.delete(predictions, i, axis=1)) for i in rows]).T


def influences_of(y, predictions, subsets):
    errors = ((y - predictions) ** 2)[:, :, None]
    return Outcome.of(y).values(subsets, errors, influences=True).influences


def weights_of(subsets):
    """Full set first, as `uncertainty` has it."""
    linear_map = shapley_map(subsets[1:])
    return linear_map, np.hstack([linear_map[:, -1:], linear_map[:, :-1]])


def test_data_variance_is_that_of_leaving_out_each_row():
    y, predictions, subsets = fixed_models()
    linear_map, weights = weights_of(subsets)
    left_out = explained_leaving_out_each(y, predictions)
    v = explained(y, predictions)
    psi = influences_of(y, predictions, subsets)
    errors = uncertainty(Effects(weights @ v, weights @ v, linear_map), Values(subsets, v, psi))
    np.testing.assert_allclose(errors.data, FACTOR * jackknife(weights @ left_out), rtol=0.03)
    of_all = jackknife(left_out[:1])
    assert errors.explained_variance_error == pytest.approx(
        np.sqrt(FACTOR * of_all[0, 0]), rel=0.02
    )
    assert not errors.design.any()
    assert not errors.ensemble.any()


def test_rows_of_a_group_count_once():
    influences = np.random.default_rng(0).standard_normal((2, 200))
    groups = np.arange(200)
    once = data_covariance(influences)
    np.testing.assert_allclose(data_covariance(influences, groups), once)
    thrice = np.repeat(influences, 3, axis=1)
    np.testing.assert_allclose(data_covariance(thrice, np.repeat(groups, 3)), once)
    assert (np.diag(data_covariance(thrice)) < np.diag(once) / 2.9).all()


def test_jackknife_of_a_mean_is_the_variance_of_the_mean():
    blocks = np.random.default_rng(0).standard_normal((2, 10))
    left_out = (blocks.sum(axis=1, keepdims=True) - blocks) / 9
    np.testing.assert_allclose(jackknife(left_out), np.cov(blocks) / 10)


def test_sources_add_up():
    y, predictions, subsets = fixed_models()
    linear_map, weights = weights_of(subsets)
    v = explained(y, predictions)
    psi = influences_of(y, predictions, subsets)
    replicates = v[:, None] + 0.01 * np.random.default_rng(1).standard_normal((len(v), 5))
    design = 0.001 * np.eye(3)
    errors = uncertainty(
        Effects(weights @ v, weights @ v, linear_map, design), Values(subsets, v, psi, replicates)
    )
    np.testing.assert_allclose(errors.ensemble, jackknife(weights @ replicates))
    total = sum(error**2 for error in errors.standard_errors.values())
    np.testing.assert_allclose(np.diag(errors.covariance), total)


def test_no_error_bars_without_influences_or_linear_map():
    values = Values(all_subsets(2), np.array([0.9, 0.5, 0.4]))
    effects = Effects(np.array([0.5, 0.4]), np.array([0.5, 0.4]), shapley_map(values.subsets[1:]))
    assert uncertainty(effects, values) is None
    psi = np.zeros((3, 10), dtype=np.float32)
    plain = Effects(effects.effects, effects.raw)
    assert uncertainty(plain, Values(values.subsets, values.v, psi)) is None


def test_holm_rejects_what_the_step_down_procedure_rejects():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p_values = rng.uniform(size=8) ** 3
        level, order, rejected = 0.1, np.argsort(p_values), np.zeros(8, dtype=bool)
        for step, j in enumerate(order):
            if p_values[j] > level / (8 - step):
                break
            rejected[j] = True
        assert ((adjust_p_values(p_values) <= level) == rejected).all()


def test_a_variance_of_zero_proves_nothing():
    effects = np.array([0.1, 0.0])
    assert null_p_values(effects, np.zeros(2)).tolist() == [1.0, 1.0]


@pytest.fixture(scope="module")
def simulated():
    """Errors of 200 small linear data sets: two effects, one of 0.04, two correlated dummies."""
    subsets, found = all_subsets(5), []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 5))
        X[:, 1] = 0.5 * X[:, 0] + np.sqrt(0.75) * X[:, 1]
        X[:, 4] = 0.9 * X[:, 3] + np.sqrt(0.19) * X[:, 4]
        y = X[:, 0] + 0.5 * X[:, 1] + 0.3 * X[:, 2] + 0.7 * rng.standard_normal(150)
        values = RidgeValues(Problem.of(X, y, random_state=seed)).values(subsets, influences=True)
        effects = GaussianProcessSolver().solve(Proposal(subsets[1:]), values.v[1:], values.v[0])
        found.append((effects.raw, uncertainty(effects, values)))
    return found


def test_intervals_cover_the_mean_estimate(simulated):
    raw = np.array([r for r, _ in simulated])
    half = 1.96 * np.sqrt([np.diag(errors.covariance) for _, errors in simulated])
    covered = (np.abs(raw - raw.mean(axis=0)) <= half)[:, :2].mean()
    assert 0.93 <= covered <= 0.99


def test_the_null_test_keeps_its_level_and_has_power(simulated):
    rejected = np.array([errors.p_values < 0.05 for _, errors in simulated]).mean(axis=0)
    assert rejected[:2].min() == 1
    assert rejected[2] > 0.4
    assert rejected[3:].max() <= 0.05


def test_results_carry_errors_of_all_sources(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(200)
    result = ShapleyEffects("forest", random_state=0).fit(X, y).result_
    assert (result.errors_by_source["ensemble"] > 0).all()
    assert (result.errors_by_source["design"] == 0).all(), "all 14 subsets were evaluated"
    assert result.null_test()[0] < 0.01 < 0.05 < result.null_test()[3]
    again = load_result(result.to_json(tmp_path / "result.json"))
    assert again.p_values.tobytes() == result.p_values.tobytes()
    assert again.null_test().tolist() == result.null_test().tolist()
    frame = result.to_frame()
    np.testing.assert_array_equal(frame["p_value"], result.p_values[result.order])
    np.testing.assert_array_equal(frame["p_adjusted"], result.null_test()[result.order])
    assert "p (Holm)" in result.summary()
    assert "< 0.001" in result.summary()


def test_repeated_rows_need_their_groups():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(150)
    groups, subsets = np.repeat(np.arange(150), 3), all_subsets(3)
    ridge = RidgeValues(Problem.of(X[groups], y[groups], row_groups=groups, random_state=0))
    values = ridge.values(subsets, influences=True)
    effects = GaussianProcessSolver().solve(Proposal(subsets[1:]), values.v[1:], values.v[0])
    aware, blind = uncertainty(effects, values, groups), uncertainty(effects, values)
    ratio = aware.standard_errors["data"] / blind.standard_errors["data"]
    np.testing.assert_allclose(ratio, np.sqrt(3), rtol=0.01)
    assert aware.p_values[0] > blind.p_values[0]


def test_screened_players_are_not_called_real():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 90))
    y = X[:, 0] + 0.5 * rng.standard_normal(300)
    result = ShapleyEffects("forest", n_subsets=60, random_state=0).fit(X, y).result_
    assert any("Screened" in note for note in result.notes)
    assert result.is_screened.any()
    assert (result.p_values[result.is_screened] == 1).all()
    assert result.null_test()[0] < 0.001


def test_intervals_by_method():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    result = ShapleyEffects("forest", random_state=0).fit(X, X[:, 0]).result_
    low, high = result.confidence_interval()
    clipped = result.confidence_interval(method="nonnegative")
    np.testing.assert_array_equal(clipped.low, np.maximum(low, 0))
    np.testing.assert_array_equal(clipped.high, np.maximum(high, 0))
    wide = result.confidence_interval(method="simultaneous")
    assert (wide.low < low).all()
    assert (wide.high > high).all()
    with pytest.raises(ValueError, match="method='bayes' is unknown"):
        result.confidence_interval(method="bayes")
    with pytest.raises(ValueError, match="adjust='fwer' is unknown"):
        result.null_test(adjust="fwer")


def test_the_default_stops_by_tolerance_or_at_its_cap():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 9))
    y = X @ np.linspace(1, 0, 9) + 0.3 * rng.standard_normal(300)
    easy = ShapleyEffects("boosting", random_state=0).fit(X, y).result_
    assert 50 <= easy.n_subsets < 200
    assert easy.errors_by_source["design"].max() <= 0.003
    capped = ShapleyEffects("boosting", tol=1e-9, random_state=0).fit(X, y).result_
    assert capped.n_subsets == 201, "200 and the full set"


def test_the_progress_bar_shows_the_error_that_the_design_leaves(monkeypatch):
    notes = []

    class Recorder:
        def update(self, done, total, note=""):
            notes.append((done, note))

    @contextmanager
    def recorder(verbose):
        yield Recorder()

    monkeypatch.setattr(run_module, "progress_bar", recorder)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    ShapleyEffects("forest", n_subsets=60, random_state=0).fit(X, X[:, 0] + X[:, 1])
    shown = [float(note.split()[-1]) for _, note in notes if note.startswith("error bar")]
    assert len(shown) >= 2
    assert max(shown) < 0.2
    assert max(done for done, _ in notes) >= 60


def test_flexible_effects_get_longer_bars():
    factors = training_factor(np.array([0.3, 0.3, 0.3, 0.0]), np.array([0.4, 0.15, 0.0, 0.0]))
    np.testing.assert_allclose(factors, [LINEAR_FACTOR, 1.5, FLEXIBLE_FACTOR, FLEXIBLE_FACTOR])
    assert LINEAR_FACTOR < FACTOR < FLEXIBLE_FACTOR


@pytest.mark.parametrize("settings", [{}, {"solver": "least_squares"}, {"n_subsets": 4}])
def test_a_curved_effect_gets_a_longer_bar_in_every_run(settings, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + np.sqrt(0.5) * (X[:, 1] ** 2 - 1) + 0.3 * rng.standard_normal(300)

    def errors():
        est = ShapleyEffects("boosting", random_state=0, **settings).fit(X, y)
        return est.result_.errors_by_source["data"][:2]

    with_factors = errors()
    monkeypatch.setattr("shaff.uncertainty.inference.LINEAR_FACTOR", 1.0)
    monkeypatch.setattr("shaff.uncertainty.inference.FLEXIBLE_FACTOR", 1.0)
    np.testing.assert_allclose(
        (with_factors / errors()) ** 2, [LINEAR_FACTOR, FLEXIBLE_FACTOR], rtol=0.05
    )


@pytest.mark.parametrize(
    ("n_rows", "n_groups", "rests_on"),
    [(49, None, "49 rows"), (50, None, None), (60, 20, "20 groups"), (100, 50, None)],
)
def test_few_observations_get_a_note(n_rows, n_groups, rests_on):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    groups = None if n_groups is None else np.arange(n_rows) % n_groups
    model = ShapleyEffects(RandomForestRegressor(20), random_state=0)
    notes = model.fit(X, X[:, 0], row_groups=groups).result_.notes
    said = [note for note in notes if note.startswith("Error bars and tests rest on")]
    assert said == ([] if rests_on is None else [
        f"Error bars and tests rest on {rests_on}: with fewer than 50 they are too optimistic."
    ])  # fmt: skip
