"""Simulators: known effects, bad input, failed runs, files, processes."""

import os
import warnings
from itertools import count

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import shaff
from shaff import Simulation, explain_simulator
from shaff.data.points import draw_points, normal_correlation
from shaff.datasets import shapley_values
from shaff.errors import InputError, UserError
from shaff.fitting import runs
from shaff.fitting.runs import SavedRuns, Simulator, run_all
from shaff.values.labelled import N_LABELLED

ANGLE = stats.uniform(-np.pi, 2 * np.pi)
UNIFORM = stats.uniform()
AB = {"a": stats.norm(), "b": UNIFORM}
SMOOTH = {"estimator": "smooth", "random_state": 0}
QUICK = {**SMOOTH, "n_labelled": 0}


def ishigami(x1, x2, x3):
    return np.sin(x1) + 7 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)


def g_sobol(x):
    slopes = np.array([0.0, 1.0, 4.5, 9.0])
    return np.prod((np.abs(4 * x - 2) + slopes) / (1 + slopes), axis=-1)


def g_sobol_effects():
    parts = 1 / (3 * (1 + np.array([0.0, 1.0, 4.5, 9.0])) ** 2)
    whole = np.prod(1 + parts) - 1
    return shapley_values(lambda masks: (np.prod(1 + masks * parts, axis=1) - 1) / whole, 4)


def total(a, b):
    return a + 2 * b


# Known effects ------------------------------------------------------------------------------------


def test_effects_of_ishigami_are_those_of_the_literature():
    found = explain_simulator(
        ishigami, dict.fromkeys(["x1", "x2", "x3"], ANGLE), n=1000, n_labelled=2048,
        vectorised=True, random_state=0,
    )  # fmt: skip
    result = found.result
    assert result.effects == pytest.approx([0.436, 0.442, 0.122], abs=0.012)
    assert result.first_order == pytest.approx([0.314, 0.442, 0.0], abs=0.015)
    assert result.total == pytest.approx([0.558, 0.442, 0.244], abs=0.015)
    assert result.explained_variance > 0.98
    assert result.standard_errors.max() > 0
    assert any("what is not explained" in note for note in result.notes)


def test_effects_of_g_sobol():
    inputs = dict.fromkeys(["x1", "x2", "x3", "x4"], UNIFORM)
    found = explain_simulator(
        g_sobol, inputs, n=1000, n_labelled=2048, vectorised=True, random_state=0
    )
    assert found.result.effects == pytest.approx(g_sobol_effects(), abs=0.02)


def test_effects_of_a_linear_function_of_dependent_normals():
    # The rank correlation of normals of correlation rho is 6 / pi arcsin(rho / 2).
    rho, slopes, scales = 0.7, np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0])
    normal = np.array([[1, 0, 0], [0, 1, rho], [0, rho, 1]])
    inputs = {name: stats.norm(0, s) for name, s in zip("abc", scales, strict=True)}
    found = explain_simulator(
        lambda x: x @ slopes, inputs, correlation=6 / np.pi * np.arcsin(normal / 2), n=1000,
        vectorised=True, **SMOOTH,
    )  # fmt: skip
    # Iooss and Prieur (2019), two dependent inputs of three.
    variance = 1 + 1 + 4 + 2 * rho * 2
    half = rho**2 * (1 - 4) / 2
    exact = np.array([1.0, 1 + rho * 2 - half, 4 + rho * 2 + half]) / variance
    assert exact.sum() == pytest.approx(1.0)
    assert found.result.effects == pytest.approx(exact, abs=0.02)


def dependent_ishigami_effects(rank):
    """x1 and x3 have a Gaussian copula, x2 is independent: sums over Gauss-Hermite nodes."""
    rho = 2 * np.sin(np.pi * rank / 6)
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    weights = weights / weights.sum()
    angle = lambda z: np.pi * (2 * stats.norm.cdf(z) - 1)  # noqa: E731
    other = rho * nodes[:, None] + np.sqrt(1 - rho**2) * nodes  # given the first, by row

    def both(x1, x3):
        return np.sin(x1) * (1 + 0.1 * x3**4)

    def variance(values, weight):
        return weight @ (values - weight @ values) ** 2

    h = both(angle(nodes)[:, None], angle(other))
    whole = variance(h.ravel(), np.outer(weights, weights).ravel())
    by_first = variance(h @ weights, weights)
    by_third = variance(both(angle(other), angle(nodes)[:, None]) @ weights, weights)
    effects = [(whole + by_first - by_third) / 2, 49 / 8, (whole + by_third - by_first) / 2]
    return np.array(effects) / (whole + 49 / 8)


def test_the_dependent_ishigami_effects_are_the_known_ones_without_dependence():
    assert dependent_ishigami_effects(0.0) == pytest.approx([0.4357, 0.4424, 0.1219], abs=2e-4)


@pytest.mark.parametrize("rank", [-0.8, 0.5])
def test_effects_of_ishigami_with_dependent_inputs(rank):
    # The case of Iooss and Prieur (2019): x1 and x3 depend on each other.
    found = explain_simulator(
        ishigami, dict.fromkeys(["x1", "x2", "x3"], ANGLE), correlation={("x1", "x3"): rank},
        n=600, vectorised=True, **{**SMOOTH, "n_labelled": 4096},
    )  # fmt: skip
    assert found.result.effects == pytest.approx(dependent_ishigami_effects(rank), abs=0.02)


def test_effects_of_two_dependent_normals():
    # Owen and Prieur (2017), section 4: slopes 1 and 2, correlation 0.8.
    slope, rho = 2.0, 0.8
    shared = rho * slope
    exact = np.array([1 - rho**2 / 2 + slope**2 * rho**2 / 2 + shared,
                      slope**2 * (1 - rho**2 / 2) + rho**2 / 2 + shared])  # fmt: skip
    exact /= 1 + slope**2 + 2 * shared

    def normals(n, rng):
        return rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)

    found = explain_simulator(lambda x: x @ [1, slope], normals, n=500, vectorised=True, **SMOOTH)
    assert exact.sum() == pytest.approx(1.0)
    assert found.result.names == ("x0", "x1")
    assert found.result.effects == pytest.approx(exact, abs=0.02)


def test_rank_correlations_are_those_asked_for():
    ranks = np.array([[1, 0.6, -0.3], [0.6, 1, 0.2], [-0.3, 0.2, 1]])
    inputs = {"a": stats.norm(), "b": stats.expon(), "c": UNIFORM}
    drawn = draw_points(inputs, ranks, 4096, "sobol", 0)
    found = stats.spearmanr(np.column_stack(list(drawn.values()))).statistic
    assert found == pytest.approx(ranks, abs=0.01)


@pytest.mark.parametrize("kind", ["sobol", "latin_hypercube"])
def test_points_fill_every_margin_evenly(kind):
    drawn = draw_points({"a": UNIFORM, "b": [3, 1, 2, 1]}, None, 64, kind, 0)
    assert np.sort((64 * drawn["a"]).astype(int)).tolist() == list(range(64))
    assert np.bincount(drawn["b"]).tolist() == [0, 32, 16, 16]


SPELLINGS = {
    "matrix": [[1, 0.5], [0.5, 1]],
    "pairs": {("b", "a"): 0.5},
    "pandas": pd.DataFrame([[0.5, 1], [1, 0.5]], columns=["a", "b"], index=["b", "a"]),
    "polars": pl.DataFrame({"b": [1.0, 0.5], "a": [0.5, 1.0]}),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_correlations_agree(spelling):
    first = draw_points(AB, SPELLINGS["matrix"], 16, "sobol", 0)
    other = draw_points(AB, SPELLINGS[spelling], 16, "sobol", 0)
    assert all(np.array_equal(first[name], other[name]) for name in "ab")


def test_perfect_correlation():
    drawn = draw_points({"a": UNIFORM, "b": UNIFORM}, {("a", "b"): -1}, 64, "sobol", 0)
    assert drawn["a"] == pytest.approx(1 - drawn["b"])


class Comonotone:
    def rvs(self, n, random_state):
        return np.repeat(random_state.random((n, 1)), 2, axis=1)


class Named(Comonotone):
    def rvs(self, n, *, rng):
        return super().rvs(n, rng)


class Unseeded(Comonotone):
    def rvs(self, n):
        return super().rvs(n, np.random.default_rng(0))


@pytest.mark.parametrize(
    "copula", [Comonotone(), Named(), Unseeded(), lambda cube: cube[:, [0, 0]]]
)
def test_copulas_of_the_user(copula):
    drawn = draw_points({"a": UNIFORM, "b": stats.uniform(0, 2)}, copula, 32, "sobol", 0)
    assert 2 * drawn["a"] == pytest.approx(drawn["b"])


def sampler(n, rng):
    a = rng.standard_normal(n)
    return {"a": a, "kind": np.where(rng.random(n) < 0.5, "low", "high")}


def test_sampler_and_text():
    def f(a, kind):
        assert type(a) is float
        return a * (1 if kind == "low" else 3)

    found = explain_simulator(f, sampler, n=300, **SMOOTH)
    assert found.n_labelled == N_LABELLED
    assert found.result.names == ("a", "kind")
    assert sorted(set(found.X["kind"])) == ["high", "low"]
    assert found.result.explained_variance > 0.9


def test_discrete_distributions_and_the_newer_ones_of_scipy():
    inputs = {"a": stats.poisson(3), "b": stats.Normal(mu=1.0, sigma=2.0)}
    drawn = draw_points(inputs, {("a", "b"): 0.5}, 512, "sobol", 0)
    assert set(drawn["a"]) <= set(range(20))
    assert drawn["b"].mean() == pytest.approx(1.0, abs=0.05)


def test_f_takes_names_or_an_array():
    named = explain_simulator(total, AB, n=64, **QUICK)
    by_array = explain_simulator(lambda x: x[0] + 2 * x[1], AB, n=64, **QUICK)
    at_once = explain_simulator(lambda x: x @ [1, 2], AB, n=64, vectorised=True, **QUICK)
    assert np.array_equal(named.y, by_array.y)
    assert named.y == pytest.approx(at_once.y, rel=1e-12)
    assert np.array_equal(named.result.effects, by_array.result.effects)


# Bad input ----------------------------------------------------------------------------------------

BAD = {
    "no number of runs": ({"n": 64.0}, "n=64.0 is no number"),
    "few runs": ({"n": 9}, "n=9 runs are too few"),
    "points": ({"points": "grid"}, "'grid' is unknown"),
    "inputs": ({"inputs": [1, 2]}, "inputs must be a dict"),
    "no input": ({"inputs": {}}, "no input"),
    "one number": ({"inputs": {"a": 3.0, "b": UNIFORM}}, "'a' is neither a distribution"),
    "text": ({"inputs": {"a": "norm", "b": UNIFORM}}, "'a' is neither a distribution"),
    "no quantiles": ({"inputs": {"a": stats.multivariate_normal(), "b": UNIFORM}}, "neither a"),
    "not frozen": ({"inputs": {"a": stats.gamma, "b": UNIFORM}}, "'a' cannot be computed"),
    "infinite": ({"inputs": {"a": stats.norm(0, -1), "b": UNIFORM}}, "not all finite"),
    "missing": ({"inputs": {"a": [1.0, np.nan], "b": UNIFORM}}, "missing or infinite"),
    "missing text": ({"inputs": {"a": ["x", None], "b": UNIFORM}}, "missing or infinite"),
    "empty list": ({"inputs": {"a": [], "b": UNIFORM}}, "no values"),
    "sampler": ({"inputs": lambda n, rng: rng.random(n)}, "sampler returned shape"),
    "short sampler": ({"inputs": lambda n, rng: {"a": [1], "b": [1]}}, r"not \(64,\)"),
    "sampler fails": ({"inputs": lambda n, rng: 1 / 0}, "sampler fails .ZeroDivisionError"),
    "sampler of nothing": ({"inputs": lambda: 3}, "sampler fails .TypeError"),
    "no column": ({"inputs": lambda n, rng: {}}, "sampler returned no input"),
    "sampler and correlation": ({"inputs": sampler, "correlation": {}}, "leave correlation"),
    "shape": ({"correlation": np.eye(3)}, r"shape \(3, 3\)"),
    "diagonal": ({"correlation": np.zeros((2, 2))}, "diagonal"),
    "symmetry": ({"correlation": [[1, 0.2], [0.1, 1]]}, "symmetric"),
    "NaN": ({"correlation": [[1, np.nan], [np.nan, 1]]}, "between -1 and 1"),
    "words": ({"correlation": "high"}, "matrix of numbers"),
    "pair": ({"correlation": {("a", "a"): 0.1}}, "no pair"),
    "pair of words": ({"correlation": {("a", "b"): "x"}}, "is no number"),
    "unknown pair": ({"correlation": {("a", "z"): 0.1}}, "'z', which is no input"),
    "two values": ({"correlation": {("a", "b"): 0.1, ("b", "a"): 0.2}}, "has two values for"),
    "frame": ({"correlation": pd.DataFrame(np.eye(2))}, "names of the inputs"),
    "not uniform": ({"correlation": stats.multivariate_normal(np.zeros(2))}, "outside of 0 to 1"),
    "copula's shape": ({"correlation": lambda cube: cube[:, 0]}, "copula returned shape"),
    "copula fails": ({"correlation": lambda cube: cube["a"]}, "copula fails .IndexError"),
    "copula of text": ({"correlation": lambda cube: cube.astype(str) + "x"}, "else than numbers"),
    "no function": ({"f": 3}, "f must be a function"),
    "other names": ({"f": lambda u, v: u}, "neither the inputs by name"),
    "checkpoint": ({"checkpoint": "runs.npz", "random_state": None}, "integer random_state"),
    "labels": ({"n_labelled": -1}, "n_labelled=-1 is no number"),
    "no path": ({"checkpoint": 5}, "5: it is no path"),
    "ragged": ({"f": lambda a, b: [[1, 2], [3]], "vectorised": True}, "no array of 64 numbers"),
    "vector shape": ({"f": lambda a, b: 1.0, "vectorised": True}, "for 64 points"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(name):
    changed, said = BAD[name]
    given = {"f": total, "inputs": AB, "n": 64, **QUICK, **changed}
    with pytest.raises(UserError, match=said) as raised:
        explain_simulator(given.pop("f"), given.pop("inputs"), **given)
    assert "\n" not in str(raised.value)


def test_inputs_that_are_copies_of_each_other():
    """Their learners see one of them; the effects are shared."""
    result = explain_simulator(
        total, AB, correlation={("a", "b"): 1.0}, n=64, n_labelled=512, random_state=0
    ).result
    assert result.effects == pytest.approx([0.5, 0.5], abs=0.02)


def test_correlations_that_no_inputs_have():
    ranks = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    with pytest.raises(InputError, match="No inputs have these"):
        normal_correlation(ranks)


def test_unknown_settings_are_refused_before_any_run():
    with pytest.raises(TypeError, match="no_such"):
        explain_simulator(lambda a, b: pytest.fail("it ran"), AB, n=16, no_such=1)


# Failed runs --------------------------------------------------------------------------------------


def sometimes(a, b):
    if a > 1:
        raise ZeroDivisionError("a  is\nlarge")
    return np.nan if b > 0.9 else None if b < 0.1 else a + b


def test_failed_runs_have_reasons_and_are_left_out():
    found = explain_simulator(sometimes, AB, n=200, **QUICK)
    assert set(found.failed.values()) == {
        "ZeroDivisionError: a is large", "returned nan", "returned None"
    }  # fmt: skip
    assert np.flatnonzero(np.isnan(found.y)).tolist() == sorted(found.failed)
    assert found.result.n_rows == 200 - len(found.failed)
    assert len(found.X) == 200
    assert any(f"{len(found.failed)} of 200 runs failed" in note for note in found.result.notes)


def test_one_point_does_not_fail_all_of_a_vectorised_call():
    def f(a, b):
        if (a > 2).any():
            raise ValueError("too large")
        return a + b

    found = explain_simulator(f, AB, n=200, vectorised=True, **QUICK)
    assert sorted(found.failed) == np.flatnonzero(found.X["a"] > 2).tolist()


@pytest.mark.parametrize("output", [np.nan, None, "text", [1, 2], 1j])
def test_all_runs_fail(output):
    with pytest.raises(InputError, match="64 of 64 runs failed; the first: returned"):
        explain_simulator(lambda a, b: output, AB, n=64, **QUICK)


def test_too_few_runs_are_left():
    with pytest.raises(InputError, match=r"5[0-9] of 64 runs failed; the first: ZeroDivision"):
        explain_simulator(lambda a, b: 1 / 0 if b > 0.1 else a, AB, n=64, **QUICK)


def test_other_outputs_on_a_second_call():
    rng = np.random.default_rng(0)
    found = explain_simulator(lambda a, b: a + rng.standard_normal(), AB, n=100, **QUICK)
    assert found.repeats is False
    assert any("noise of the simulator" in note for note in found.result.notes)
    assert explain_simulator(total, AB, n=100, **QUICK).repeats is True


def test_constant_outputs():
    with pytest.warns(UserWarning, match="y is constant"):
        found = explain_simulator(lambda a, b: 1.0, AB, n=64, **QUICK)
    assert found.result.effects.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("f", [total, lambda a, b: a, lambda a, b: 3 * b])
def test_a_formula_of_the_inputs_is_no_leak(f):
    notes = explain_simulator(f, AB, n=300, **QUICK).result.notes
    assert not any("leave out" in note or "other words" in note for note in notes), notes


# Where runs are made ------------------------------------------------------------------------------


@pytest.mark.parametrize("vectorised", [False, True])
def test_same_bits_for_any_number_of_processes(vectorised):
    settings = {"n": 300, "vectorised": vectorised, **QUICK}
    here = explain_simulator(total, AB, n_jobs=1, **settings)
    there = explain_simulator(total, AB, n_jobs=2, **settings)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = explain_simulator(total, AB, **settings)
    for other in (there, threads):
        assert np.array_equal(here.y, other.y)
        assert np.array_equal(here.result.effects, other.result.effects)


def test_a_run_that_kills_its_process_has_failed(monkeypatch):
    monkeypatch.setattr("shaff._util.work.PATIENCE", 0.0)
    home = os.getpid()

    def f(a):
        if a == 3.0 and os.getpid() != home:
            os._exit(1)
        return a

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of joblib, about the process
        found = run_all(Simulator(f, {"a": np.arange(6.0)}, False), n_jobs=2)
    assert [row for row, reason in enumerate(found.reasons) if reason] == [3]
    assert "workers" in found.reasons[3]


# Files --------------------------------------------------------------------------------------------


def test_runs_go_on_from_a_file(tmp_path):
    calls = count()

    def stopped(a, b):
        if next(calls) == 40:
            raise KeyboardInterrupt
        return total(a, b)

    settings = {"n": 100, "checkpoint": tmp_path / "runs.npz", **QUICK}
    with pytest.raises(KeyboardInterrupt):
        explain_simulator(stopped, AB, **settings)
    n_first = next(calls)
    found = explain_simulator(stopped, AB, **settings)
    assert next(calls) - n_first < 100
    plain = explain_simulator(total, AB, n=100, **QUICK)
    assert np.array_equal(found.y, plain.y)
    assert np.array_equal(found.result.effects, plain.result.effects)


def test_more_runs_are_added_to_a_file(tmp_path):
    path, calls = tmp_path / "runs.npz", count()

    def f(a, b):
        next(calls)
        return total(a, b)

    explain_simulator(f, AB, n=100, checkpoint=path, **QUICK)
    first = next(calls)
    more = explain_simulator(f, AB, n=150, checkpoint=path, **QUICK)
    assert next(calls) - first == 50 + 2  # and one to see whether f repeats itself, and this one
    assert np.array_equal(more.y, explain_simulator(total, AB, n=150, **QUICK).y)


def test_failed_runs_are_tried_again(tmp_path):
    settings = {"n": 100, "checkpoint": tmp_path / "runs.npz", **QUICK}
    assert explain_simulator(sometimes, AB, **settings).failed
    assert not explain_simulator(total, AB, **settings).failed


@pytest.mark.parametrize(
    "changed",
    [
        {"random_state": 1},
        {"n": 50},
        {"points": "latin_hypercube"},
        {"correlation": {("a", "b"): 0.1}},
    ],
)
def test_a_file_of_other_points_is_refused(tmp_path, changed):
    settings = {"n": 100, "checkpoint": tmp_path / "runs.npz", **QUICK}
    explain_simulator(total, AB, **settings)
    before = (tmp_path / "runs.npz").read_bytes()
    with pytest.raises(InputError, match="at 100 other points"):
        explain_simulator(total, AB, **{**settings, **changed})
    assert (tmp_path / "runs.npz").read_bytes() == before


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "runs.npz"
    path.write_text("notes")
    with pytest.raises(InputError, match="holds no runs"):
        explain_simulator(total, AB, n=16, checkpoint=path, **QUICK)
    assert path.read_text() == "notes"
    with pytest.raises(InputError, match="is a folder"):
        explain_simulator(total, AB, n=16, checkpoint=tmp_path, **QUICK)
    with pytest.raises(shaff.errors.StorageError, match="cannot be saved"):
        explain_simulator(total, AB, n=16, checkpoint=tmp_path / "none" / "runs.npz", **QUICK)


def test_runs_are_saved_as_they_come(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "SAVE_SECONDS", -1.0)
    path, seen = tmp_path / "runs.npz", []
    columns = {"a": np.arange(40.0)}

    def f(a):
        known = SavedRuns(path, columns).load().y
        seen.append(int(np.isfinite(known).sum()))
        return a

    run_all(Simulator(f, columns, False), 1, path)
    assert seen[-1] >= 40 - 2 * runs.WAVE
    assert seen == sorted(seen)


# What comes out -----------------------------------------------------------------------------------


def test_more_runs_follow_the_errors():
    found = explain_simulator(total, AB, n=200, **QUICK)
    low, high = found.result.confidence_interval(0.95)
    half = ((high - low) / 2).max()
    assert found.more_runs(2 * half) == 0
    assert found.more_runs(half / 2) == pytest.approx(600, abs=10)
    assert found.more_runs(half / 100) == pytest.approx(200 * 9999, rel=0.05)
    assert str(found.more_runs(half / 100))[2:].strip("0") == ""
    for bad in (0, -1, np.nan, "0.01"):
        with pytest.raises(InputError, match="must be positive"):
            found.more_runs(bad)


def test_more_runs_do_not_help_where_labelled_points_are_too_few():
    found = explain_simulator(total, AB, n=64, **SMOOTH)
    points, all_errors = found.result.errors_by_source["algorithm"], found.result.standard_errors
    assert found.n_labelled == N_LABELLED
    with pytest.raises(InputError, match=r"too few \(n_labelled=8192\)"):
        found.more_runs(1.9 * points.max())
    low, high = found.result.confidence_interval(0.95)
    largest = max(1.97 * all_errors.max(), 0.501 * (high - low).max())
    assert found.more_runs(largest) == 0
    assert found.more_runs(0.5 * largest) > 0 or 0.5 * largest > 1.97 * points.max()


def test_runs_made_elsewhere():
    made = explain_simulator(total, AB, n=200, **QUICK)
    y = made.y.copy()
    y[:5] = np.nan
    found = Simulation.from_samples(made.X, y, **SMOOTH)
    assert sorted(found.failed) == [0, 1, 2, 3, 4]
    assert found.repeats is None
    assert found.result.n_rows == 195
    assert "5 of 200 runs failed" in found.result.notes[0]
    assert repr(found).startswith("Simulation(200 runs, 5 failed")
    assert found.summary() == found.result.summary()
    with pytest.raises(InputError, match="y has 3 outputs, X has 200 points"):
        Simulation.from_samples(made.X, [1, 2, 3])
    with pytest.raises(InputError, match="one number for each run"):
        Simulation.from_samples(made.X, np.ones((200, 2)))
    with pytest.raises(InputError, match="one number for each run"):
        Simulation.from_samples(made.X, ["a"] * 200)


def test_the_call_is_written():
    found = explain_simulator(total, AB, correlation={("a", "b"): 0.2}, n=64, n_jobs=1, **QUICK)
    assert found.result.call == (
        "explain_simulator(f, inputs, correlation=correlation, n=64, n_labelled=0, "
        "estimator='smooth', random_state=0)"
    )
