"""Learners grown on a sample and measured on all rows: against plain arrays, and the truth."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import KFold

from shaff import ShapleyEffects, load_result
from shaff.data.problem import Problem, RawData
from shaff.data.rows import draw_rows
from shaff.data.sources.blocks import group_shares
from shaff.data.sources.passes import MemoryRows
from shaff.data.sources.sampled import UNITS, AllRows, MeasuredRows
from shaff.errors import InputError
from shaff.subsets import Subsets
from shaff.uncertainty import inference
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.boosting.row_pass import BoostingPass, KeptSteps
from shaff.values.outcome import Outcome
from shaff.values.sums import ErrorSums

BOOSTER = HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=8, max_features=0.7)
SETTINGS = {"estimator": BOOSTER, "n_subsets": 12, "random_state": 0}
CANCEL = np.zeros(1, np.uint8)


def linear(n, seed=0, noise=0.6):
    """Correlated normal inputs, of which the first three count."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]
    return X, X[:, 0] + X[:, 1] + 0.7 * X[:, 2] + noise * rng.standard_normal(n)


def test_sums_give_the_values_and_errors_of_an_outcome():
    """Block by block, with weights, groups and several outputs: as from all rows at once."""
    rng = np.random.default_rng(0)
    n, k = 500, 3
    subsets, weight = Subsets.singletons(k), rng.integers(1, 4, n).astype(float)
    errors, constant = rng.random((k, n, 2)), rng.random((n, 2)) + 1
    variances = np.average(constant, axis=0, weights=weight)
    outcome = Outcome(np.zeros((n, 2)), weight, constant, variances)
    wanted = outcome.values(subsets, errors, influences=True, corrected=errors**2)
    for units in (None, rng.integers(0, 40, n)):
        sums = ErrorSums(k, 2, n_folds=2, n_units=None if units is None else 50)
        for fold, some in enumerate(np.array_split(np.arange(n), 2)):
            part = ErrorSums(k, 2, n_folds=2, n_units=None if units is None else 50)
            by_output = errors[:, some].transpose(2, 0, 1)
            unit = None if units is None else units[some]
            part.add(weight[some], constant[some], by_output, by_output**2, unit, fold)
            sums.merge(part)
        found = sums.values(subsets)
        for name in ("v", "plain", "by_output"):
            assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12)
        spread = inference.data_covariance(wanted.influences.astype(float), units)
        assert_allclose(sums.covariances()[0], spread, rtol=1e-5, atol=1e-12)
        each = wanted.output_influences[:, 1].astype(float)
        assert_allclose(sums.covariances()[2], inference.data_covariance(each, units), rtol=1e-5)
        assert found.runs.shape == (k, 2)


def test_the_empty_set_is_worth_nothing():
    sums = ErrorSums(1, 1, 1)
    sums.add(np.ones(3), np.ones((3, 1)), np.ones((1, 1, 3)), np.ones((1, 1, 3)), None)
    assert sums.values(Subsets.from_indices([[]], n_players=2)).v.tolist() == [0.0]


@pytest.mark.parametrize("start", ["constant", "linear"])
def test_the_sample_measured_again_has_the_same_values(start):
    """Each row by the fold that holds it out, stopped where that fold does."""
    X, y = linear(400)
    problem = Problem.of(X, y, sample_weight=np.tile([1.0, 2.0], 200), random_state=0)
    boosting = ProjectedBoosting(problem, estimator=BOOSTER, start=start)
    subsets = Subsets.from_indices([[0], [0, 1], [2, 3], range(4)], n_players=4)
    wanted = boosting.values(subsets, influences=True)
    row_pass = boosting.over_rows(subsets)
    rows = MeasuredRows(X, problem.y, problem.weight, row_pass.fold_of, None)
    sums = row_pass.sums(rows, None)
    found = sums.values(subsets)
    assert_allclose(found.v, wanted.v, atol=1e-10)
    assert_allclose(found.plain, wanted.plain, atol=1e-10)
    spread = inference.data_covariance(wanted.influences.astype(float))
    assert_allclose(sums.covariances()[0], spread, rtol=1e-4)


def test_steps_that_are_not_kept_are_learnt_again(monkeypatch):
    X, y = linear(200)
    boosting = ProjectedBoosting(Problem.of(X, y, random_state=0), estimator=BOOSTER)
    subsets = Subsets.singletons(4)
    rows = MeasuredRows(X, y[:, None], np.ones(200), np.arange(200) % 5, None)
    kept = boosting.over_rows(subsets).sums(rows, None)
    monkeypatch.setattr("shaff.values.boosting.row_pass.KEPT_BYTES", 0)
    monkeypatch.setattr("shaff.values.boosting.row_pass.MAX_ERRORS", 17)
    again = boosting.over_rows(subsets).sums(rows, None)
    assert_allclose(again.errors, kept.errors, rtol=1e-12)


def all_rows(given, places, size=50, share=1.0):
    n_rows = len(given.X)
    return AllRows(MemoryRows(given, n_rows, size), places, n_rows, share, seed=4, named=False)


def read(rest, problem, n_folds=5):
    fold_of = np.arange(len(problem.X)) % n_folds
    parts = [rest.read(block, problem, fold_of, n_folds) for block in rest.blocks()]
    return [None if p[0] is None else np.concatenate(p) for p in zip(*parts, strict=True)]


@pytest.mark.parametrize("size", [1, 33, 1000])
def test_every_row_has_a_fold_whatever_the_blocks(size):
    X, y = linear(300)
    places = np.arange(0, 300, 3)
    problem = Problem.of(X[places], y[places], random_state=0)
    found = read(all_rows(RawData(X, y), places, size), problem)
    assert_array_equal(found[0], X)
    assert_array_equal(found[1][:, 0], y)
    assert_array_equal(found[3][places], np.arange(100) % 5)
    assert np.bincount(found[3], minlength=5).min() > 30
    wanted = read(all_rows(RawData(X, y), places), problem)
    assert_array_equal(found[3], wanted[3])


def test_groups_share_a_fold_and_a_unit():
    X, y = linear(300)
    groups = np.array([f"g{i // 5}" for i in range(300)])
    inside = group_shares(groups, 0) < 0.3
    places = np.flatnonzero(inside)
    problem = Problem.of(X[places], y[places], random_state=0)
    X_, _, _, fold, unit = read(all_rows(RawData(X, y, None, groups), places), problem)
    assert len(X_) == 300
    assert unit.max() < UNITS
    for first in np.flatnonzero(~inside[::5]) * 5:
        assert len(set(fold[first : first + 5])) == len(set(unit[first : first + 5])) == 1


def test_some_rows_and_rows_without_weight():
    X, y = linear(1000)
    places, weight = np.arange(100), np.tile([1.0, 1.0, 0.0, 2.0], 250)
    places = places[weight[places] > 0]
    problem = Problem.of(X[places], y[places], random_state=0)
    found = read(all_rows(RawData(X, y, weight, None), places, share=0.4), problem)
    assert abs(len(found[0]) - (75 + 0.4 * 675)) < 50
    assert found[2].min() > 0
    assert_array_equal(found[0][:75], X[places])


def test_all_rows_in_memory_and_error_bars_that_shrink():
    """With a hundred times the rows, a tenth of the data error; effects near those of the truth."""
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = 0.6
    errors = {}
    for n in (600, 60_000):
        X, y = linear(n, seed=3)
        est = ShapleyEffects(**SETTINGS, max_rows=600, value_rows="all").fit(X, y)
        errors[n] = est.result_.errors_by_source["data"][:3]
    assert_allclose(errors[60_000] * 10, errors[600], rtol=0.35)
    result = est.result_
    assert (result.n_rows, result.n_grown) == (60_000, 600)
    total = 1 + 1 + 2 * 0.6 + 0.49 + 0.36
    alone, both = (1 + 0.6) ** 2 / total, (2 + 1.2) / total
    truth = np.array([both / 2, both / 2, 0.49 / total, 0.0])
    assert alone < both
    assert_allclose(result.effects, truth, atol=0.035)
    assert "grown on a random sample of 600 of the 60000 rows" in result.notes[0]
    assert "measured on all rows" in result.notes[0]


def test_the_measured_value_is_that_of_the_models_on_other_rows():
    """v(all) over all rows is the mean squared error of the folds' own predictions."""
    X, y = linear(4000, seed=1)
    est = ShapleyEffects(**SETTINGS, max_rows=400, value_rows="all").fit(X, y)
    values = est._fitted_game.game.values
    full = Subsets.full(4)
    means = values.predict(full, X)[0, :, 0]  # of all folds, so a bit better
    explained = 1 - ((y - means) ** 2).mean() / y.var()
    plain = est.result_.plain_explained_variance
    assert explained - 0.03 < plain < explained + 0.01


def test_the_threads_do_not_matter():
    X, y = linear(2000, seed=2)
    found = [
        ShapleyEffects(**SETTINGS, max_rows=300, value_rows="all", n_jobs=n).fit(X, y).result_
        for n in (1, 2)
    ]
    assert_array_equal(found[0].effects, found[1].effects)
    assert_array_equal(found[0].covariance, found[1].covariance)


class StopError(Exception):
    """The process is killed."""


def interrupted(monkeypatch, after):
    """Sums of so many blocks, then no more."""
    whole, n_sums = BoostingPass.sums, itertools.count()

    def sums(self, rows, n_units):
        if next(n_sums) == after:
            raise StopError
        return whole(self, rows, n_units)

    monkeypatch.setattr(BoostingPass, "sums", sums)
    return n_sums


def killed(monkeypatch, est, X, y, **rows):
    with monkeypatch.context() as patch:
        interrupted(patch, after=7)
        with pytest.raises(StopError):
            est.fit(X, y, **rows)


def small_blocks(monkeypatch, size=100):
    monkeypatch.setattr("shaff.data.sources.sampled.MemoryRows", partial(MemoryRows, size=size))
    monkeypatch.setattr("shaff.fitting.all_rows.SAVED_EVERY", 0.0)
    return {**SETTINGS, "max_rows": 200, "value_rows": "all", "n_jobs": 1}


@pytest.mark.parametrize("grouped", [False, True])
def test_a_second_run_goes_on_with_the_next_rows(grouped, tmp_path, monkeypatch):
    X, y = linear(1000, seed=2)
    groups = {"row_groups": np.arange(1000) // 4} if grouped else {}
    settings = small_blocks(monkeypatch)
    wanted = ShapleyEffects(**settings).fit(X, y, **groups).result_
    killed(monkeypatch, ShapleyEffects(**settings, checkpoint=tmp_path), X, y, **groups)
    evaluated = count_prices(monkeypatch)
    n_sums = interrupted(monkeypatch, after=None)
    found = ShapleyEffects(**settings, checkpoint=tmp_path).fit(X, y, **groups).result_
    assert next(n_sums) == 4  # six blocks were saved, two at a time, and ten there are
    assert next(evaluated) == 0  # nor is any subset evaluated to know where it stops
    assert_array_equal(found.effects, wanted.effects)
    assert_array_equal(found.covariance, wanted.covariance)
    assert found.n_subsets == wanted.n_subsets


def count_prices(monkeypatch):
    held_out, count = ProjectedBoosting._held_out, itertools.count()

    def counted(self, masks, corrected):
        next(count)
        return held_out(self, masks, corrected)

    monkeypatch.setattr(ProjectedBoosting, "_held_out", counted)
    return count


def test_rows_that_have_changed_are_measured_anew(tmp_path, monkeypatch):
    X, y = linear(1000, seed=2)
    settings = small_blocks(monkeypatch)
    killed(monkeypatch, ShapleyEffects(**settings, checkpoint=tmp_path), X, y)
    drawn = draw_rows(1000, 200, None, 0)
    other = np.setdiff1d(np.arange(100), drawn)[0]
    y[other] += 50
    wanted = ShapleyEffects(**settings).fit(X, y).result_
    found = ShapleyEffects(**settings, checkpoint=tmp_path).fit(X, y).result_
    assert_array_equal(found.effects, wanted.effects)
    assert_array_equal(found.covariance, wanted.covariance)


def test_damaged_sums_are_taken_anew(tmp_path, monkeypatch):
    X, y = linear(1000, seed=2)
    settings = small_blocks(monkeypatch)
    wanted = ShapleyEffects(**settings, checkpoint=tmp_path).fit(X, y).result_
    (file,) = tmp_path.glob("*.sums")
    file.write_bytes(file.read_bytes()[:-1])
    n_sums = interrupted(monkeypatch, after=None)
    found = ShapleyEffects(**settings, checkpoint=tmp_path).fit(X, y).result_
    assert next(n_sums) == 10
    assert_array_equal(found.effects, wanted.effects)


def test_threads_learn_each_step_once():
    """Whoever asks first learns, and the others wait."""
    kept, learnt = KeptSteps(), []

    def learn(k, b):
        learnt.append((k, b))
        time.sleep(0.05)
        return SimpleNamespace(nbytes=8)

    places = [(k, 0) for k in range(3)] * 4
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda place: kept.get(place, learn), places))
    assert sorted(learnt) == [(k, 0) for k in range(3)]
    assert len(set(map(id, found))) == 3


def test_frames_with_categories_groups_and_many_players():
    """Screened players are scored in rows outside of the sample too, copies count once."""
    rng = np.random.default_rng(0)
    n = 1500
    frame = pd.DataFrame(rng.standard_normal((n, 28)), columns=[f"x{j}" for j in range(28)])
    frame["copy"], frame["town"] = frame["x0"], rng.choice(list("uvw"), n)
    y = frame["x0"] + (frame["town"] == "u") + 0.3 * rng.standard_normal(n)
    groups = np.arange(n) // 3
    est = ShapleyEffects("boosting", n_subsets=30, max_rows=600, value_rows="all", random_state=0)
    result = est.fit(frame, y, row_groups=groups).result_
    assert result.n_rows == n
    assert result.estimator == "boosting"
    effects = dict(zip(result.names, result.effects, strict=True))
    assert_allclose(effects["x0"], effects["copy"], atol=0.01)
    assert effects["x0"] > 0.3
    assert effects["town"] > 0.08
    assert result.errors_by_source["data"].max() > 0


def test_the_result_is_written_and_read_back(tmp_path):
    X, y = linear(700)
    result = ShapleyEffects(**SETTINGS, max_rows=300, value_rows="all").fit(X, y).result_
    result.to_json(tmp_path / "result.json")
    assert load_result(tmp_path / "result.json").n_grown == 300


@pytest.mark.parametrize("estimator", ["forest", "smooth", "stack", RandomForestRegressor()])
def test_other_estimators_are_refused(estimator):
    X, y = linear(300)
    with pytest.raises(InputError, match="measured by boosting only"):
        ShapleyEffects(estimator, max_rows=100, value_rows="all").fit(X, y)


@pytest.mark.parametrize("value_rows", [None, "some", 3, True, 2.5])
def test_wrong_value_rows_are_refused(value_rows):
    with pytest.raises(InputError, match="value_rows="):
        ShapleyEffects(value_rows=value_rows).fit(*linear(50))


def test_a_splitter_knows_nothing_of_other_rows():
    with pytest.raises(InputError, match="A splitter does not say"):
        ShapleyEffects(cv=KFold(3), max_rows=100, value_rows="all").fit(*linear(300))


def test_a_fit_on_all_rows_is_not_changed_by_asking_for_all():
    X, y = linear(200)
    found, wanted = (
        ShapleyEffects(**SETTINGS, value_rows=rows).fit(X, y).result_ for rows in ("all", "sample")
    )
    assert_array_equal(found.effects, wanted.effects)
    assert found.n_grown is None
