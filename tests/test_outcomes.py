"""Outcomes that are no plain column: survival, exceedance, counts per exposure."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shaff
from shaff import ShapleyEffects, load_result
from shaff.cli import main
from shaff.data.outcome import VarianceUnit
from shaff.errors import InputError, InputTypeError
from shaff.outcomes.censoring import censoring_weights
from shaff.outcomes.kaplan_meier import Curve
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.unit import in_unit


def kaplan_meier(time, event, horizon, power):
    """Survival at the horizon (power 0), or the mean of min(T, horizon) to a power; slow."""
    steps, alive = [(0.0, 1.0)], 1.0
    for t in np.unique(time[time <= horizon]):
        alive *= 1 - (event & (time == t)).sum() / (time >= t).sum()
        steps.append((t, alive))
    if power == 0:
        return alive
    ends = [*(t for t, _ in steps[1:]), horizon]
    return sum(s * (end**power - t**power) for (t, s), end in zip(steps, ends, strict=True))


def leave_one_out(time, event, horizon, power):
    n, all_rows = len(time), kaplan_meier(time, event, horizon, power)
    without = [
        kaplan_meier(np.delete(time, i), np.delete(event, i), horizon, power) for i in range(n)
    ]
    return n * all_rows - (n - 1) * np.array(without)


def coefficients(curve, power):
    return curve.powers_of_time(power) if power else curve.at_horizon


def censored(n, seed=0, dependent=0.0, share=1.0):
    """Times with proportional hazards by two correlated inputs, and a third that does nothing."""
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(3), [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]], size=n)
    time = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1]))
    end = rng.exponential(np.exp(-dependent * X[:, 0]) / share)
    return X, time, end


# Pseudo-values ------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=2, max_size=25),
    st.floats(0.5, 8.0),
    st.sampled_from([0, 1, 2]),
)
@settings(max_examples=150, deadline=None)
def test_pseudo_values_are_those_of_leaving_each_row_out(rows, horizon, power):
    time = np.array([t for t, _ in rows], dtype=float)
    event = np.array([e for _, e in rows])
    assume(event.any() and horizon <= time[event].max())
    curve = Curve.of(time, event, horizon)
    found = curve.jackknife(coefficients(curve, power))
    np.testing.assert_allclose(found, leave_one_out(time, event, horizon, power), atol=1e-8)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_influences_are_derivatives_by_the_weight_of_a_row(power):
    rng = np.random.default_rng(1)
    time, event = rng.integers(1, 12, 40).astype(float), rng.random(40) < 0.6
    weights, edges = 0.5 + rng.random((40, 3)), np.array([3.0, 7.0])
    curve = Curve.of(time, event, 9.0, weights, edges)
    whole, step = curve.total(coefficients(curve, power)), 1e-6
    expected = []
    for row in range(40):
        heavier = weights.copy()
        heavier[row] *= 1 + step
        other = Curve.of(time, event, 9.0, heavier, edges)
        expected.append(whole + 40 * (other.total(coefficients(curve, power)) - whole) / step)
    found = curve.influence_values(coefficients(curve, power))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(("of", "power"), [("survival", 0), ("restricted_mean", 1)])
def test_without_censoring_pseudo_values_are_the_outcome(of, power):
    time = np.random.default_rng(0).exponential(size=200)
    outcome = shaff.survival_outcome(time, np.ones(200), horizon=1.0, of=of)
    plain = np.minimum(time, 1.0) if power else (time > 1.0).astype(float)
    np.testing.assert_allclose(outcome.values, plain, atol=1e-9)
    assert outcome.unit_variance == pytest.approx(plain.var())


def test_pseudo_values_have_the_conditional_mean_of_the_outcome():
    X, time, end = censored(40_000)
    outcome = shaff.survival_outcome(np.minimum(time, end), time <= end, horizon=1.0)
    rate = np.exp(X[:, 0] - 0.5 * X[:, 1])
    truth = (1 - np.exp(-rate)) / rate
    for some in (X[:, 0] > 1, X[:, 0] < -1, X[:, 1] > 1):
        error = outcome.values[some].std() / np.sqrt(some.sum())
        assert abs(outcome.values[some].mean() - truth[some].mean()) < 4 * error
    assert outcome.unit_variance == pytest.approx(np.minimum(time, 1.0).var(), rel=0.05)
    assert outcome.values.var() > 1.2 * outcome.unit_variance


def test_weights_remove_the_bias_of_censoring_that_depends_on_inputs():
    X, time, end = censored(20_000, dependent=1.5)
    table = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 2] > 0, "a", "b")})
    table.loc[:50, "x"] = np.nan
    given_times = (np.minimum(time, end), time <= end)
    plain = shaff.survival_outcome(*given_times, horizon=1.0)
    weighted = shaff.survival_outcome(*given_times, horizon=1.0, censoring=table)
    truth = np.minimum(time, 1.0)
    assert abs(weighted.values.mean() - truth.mean()) < abs(plain.values.mean() - truth.mean()) / 3
    for some in (X[:, 0] > 0.5, X[:, 0] < -0.5):
        bias, weighted_bias = (abs((o.values - truth)[some].mean()) for o in (plain, weighted))
        assert weighted_bias < bias / 2
    assert "weighted against censoring" in weighted.details
    assert weighted.unit_variance == pytest.approx(truth.var(), rel=0.05)


def test_weights_are_even_where_nothing_depends_on_inputs_or_hardly_anybody_is_censored():
    X, time, end = censored(4000)
    found = censoring_weights(np.minimum(time, end), time <= end, 1.0, X)
    assert found.weights.shape == (4000, len(found.edges) + 1)
    assert (found.weights / found.weights.mean(axis=0)).std() < 0.1
    few = censoring_weights(time, np.arange(4000) > 5, 100.0, X)
    assert few.weights.tolist() == [[1.0]] * 4000


# Effects ------------------------------------------------------------------------------------------


def fit(X, outcome, **more):
    return ShapleyEffects("smooth", random_state=0, **more).fit(X, outcome)


def test_without_censoring_effects_are_those_of_the_plain_outcome():
    X, time, _ = censored(400)
    outcome = shaff.survival_outcome(time, np.ones(400), horizon=1.0)
    found, plain = fit(X, outcome).result_, fit(X, np.minimum(time, 1.0)).result_
    np.testing.assert_allclose(found.effects, plain.effects, atol=1e-6)
    np.testing.assert_allclose(found.standard_errors, plain.standard_errors, atol=1e-6)
    assert found.outcome_variance == pytest.approx(plain.outcome_variance)
    assert found.outcome_variance_error == pytest.approx(plain.outcome_variance_error)
    assert found.held_out["rmse"] == pytest.approx(plain.held_out["rmse"])


def test_effects_are_shares_of_the_variance_without_censoring():
    X, time, end = censored(2000)
    outcome = shaff.survival_outcome(np.minimum(time, end), time <= end, horizon=1.0)
    found = fit(X, outcome).result_
    as_numbers = fit(X, outcome.values).result_
    full = fit(X, np.minimum(time, 1.0)).result_
    assert found.variance_ratio == pytest.approx(outcome.values.var() / outcome.unit_variance)
    assert found.variance_ratio > 1.2
    np.testing.assert_allclose(
        found.raw_effects, found.variance_ratio * as_numbers.raw_effects, atol=2e-3
    )
    np.testing.assert_allclose(found.effects, full.effects, atol=0.03)
    assert as_numbers.explained_variance < full.explained_variance - 0.02
    assert found.outcome_variance == pytest.approx(outcome.unit_variance)
    assert found.held_out["rmse_of_mean"] == pytest.approx(np.sqrt(outcome.unit_variance))
    # The ratio of variances is itself estimated, and has its part in the errors.
    assert (found.standard_errors >= as_numbers.standard_errors).all()


def test_influences_of_values_in_another_unit_are_derivatives():
    rng = np.random.default_rng(0)
    y, squares = rng.normal(size=30), 2 + rng.random(30)
    errors = rng.random(30)

    def value(weight):
        unit = VarianceUnit.of(y, squares, weight)
        own = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        return 1 - np.average(errors, weights=weight) / own, unit

    v, unit = value(np.ones(30))
    away = (y - y.mean()) ** 2
    psi = ((1 - v) * away - errors) / away.mean()
    values = Values(Subsets.full(2), np.array([v]), (psi - psi.mean())[None].astype(np.float32))
    found = in_unit(values, unit)
    assert found.v[0] == pytest.approx((away.mean() - errors.mean()) / unit.variance)
    for row in range(5):
        heavier = np.ones(30)
        heavier[row] += 1e-6
        share, other = value(heavier)
        derivative = 30 * (share * other.ratio - found.v[0]) / 1e-6
        assert found.influences[0, row] == pytest.approx(derivative, abs=1e-3)
        change = 30 * (other.variance - unit.variance) / 1e-6
        assert unit.influence[row] == pytest.approx(change, abs=1e-3)


def test_results_say_what_was_explained_and_keep_it(tmp_path):
    X, time, end = censored(300)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    weeks = pd.Series(np.minimum(time, end), name="weeks")
    outcome = shaff.survival_outcome(weeks, time <= end, horizon=0.5, time_unit="weeks")
    estimator = fit(table, outcome)
    result = estimator.result_
    first, *_ = result.summary().splitlines()
    assert first == "Shapley effects on restricted mean survival time up to 0.5 weeks"
    n_events, n_censored = ((time <= end) & (time <= 0.5)).sum(), ((end < time) & (end < 0.5)).sum()
    assert f"{n_events} of 300 rows had the event up to 0.5 weeks" in result.outcome_details
    assert f"{n_censored} (" in result.outcome_details
    assert result.outcome_details in result.notes
    again = load_result(result.to_json())
    assert again.outcome_details == result.outcome_details
    assert again.variance_ratio == result.variance_ratio
    assert json.loads(result.to_json())["format_version"] == 8
    assert "0.5 weeks" in result.to_html(tmp_path / "r.html").read_text("utf-8")
    assert pickle.loads(pickle.dumps(estimator)).result_.effects.tolist() == result.effects.tolist()
    assert shaff.survival_outcome(weeks, time <= end, horizon=0.5, of="survival").description == (
        "survival beyond weeks 0.5"
    )


def test_interactions_and_local_effects_follow():
    X, time, end = censored(300)
    outcome = shaff.survival_outcome(np.minimum(time, end), time <= end, horizon=0.5)
    estimator, numbers = fit(X, outcome), fit(X, outcome.values)
    ratio = estimator.result_.variance_ratio
    found, plain = estimator.interactions(), numbers.interactions()
    np.testing.assert_allclose(found.pair_values, ratio * plain.pair_values, atol=0.01)
    local, same = estimator.explain(), numbers.explain()
    np.testing.assert_allclose(local.predictions, same.predictions)


def test_the_same_bits_for_any_number_of_threads_and_from_a_checkpoint(tmp_path):
    X, time, end = censored(200)
    outcome = shaff.survival_outcome(np.minimum(time, end), time <= end, horizon=0.5)
    one = fit(X, outcome, n_jobs=1, checkpoint=tmp_path).result_
    two = fit(X, outcome, n_jobs=2).result_
    again = fit(X, outcome, n_jobs=1, checkpoint=tmp_path).result_
    assert one.effects.tolist() == two.effects.tolist() == again.effects.tolist()
    assert one.standard_errors.tolist() == two.standard_errors.tolist()


def test_some_rows_of_an_outcome_have_their_own_unit():
    X, time, end = censored(600)
    outcome = shaff.survival_outcome(np.minimum(time, end), time <= end, horizon=0.5)
    some = outcome[np.arange(300)]
    assert len(some) == 300
    assert some.description == outcome.description
    assert some.unit_variance == pytest.approx(
        outcome.squares[:300].mean() - outcome.values[:300].mean() ** 2
    )
    many = shaff.explain_many(
        X, outcome, by=np.repeat(["first", "second"], 300), estimator="smooth", random_state=0
    )
    assert many["first"].outcome_variance == pytest.approx(some.unit_variance)
    sampled = fit(X, outcome, max_rows=300).result_
    assert sampled.n_rows == 300


# Exceedance and rates -----------------------------------------------------------------------------


def test_exceedance_is_the_plain_indicator_under_a_name():
    X, time, _ = censored(300)
    outcome = shaff.exceeds(pl.Series("cost", time), quantile=0.8)
    found, plain = fit(X, outcome).result_, fit(X, time > np.quantile(time, 0.8)).result_
    assert found.effects.tolist() == plain.effects.tolist()
    border = f"{np.quantile(time, 0.8):g}"
    assert found.classes == (f"up to {border}", f"above {border}")
    assert found.target == f"cost above {border}"
    assert found.summary().startswith(f"Shapley effects on cost above {border}\n")
    assert "60 of 300 rows (20.0\u202f%)" in found.outcome_details
    assert "accuracy" in found.held_out


def test_classifiers_are_fitted_on_the_names_of_the_classes():
    from sklearn.ensemble import RandomForestClassifier

    X, time, _ = censored(200)
    forest = RandomForestClassifier(30, min_samples_leaf=5, random_state=0)
    result = ShapleyEffects(forest, random_state=0).fit(X, shaff.exceeds(time, 1.0)).result_
    assert result.classes == ("up to 1", "above 1")


def test_rates_are_weighted_by_their_exposure():
    rng = np.random.default_rng(0)
    X, exposure = rng.normal(size=(300, 3)), rng.integers(1, 5, 300)
    counts = rng.poisson(exposure * np.exp(X[:, 0]))
    outcome = shaff.rate(pd.Series(counts, name="claims"), pd.Series(exposure, name="years"))
    found = fit(X, outcome).result_
    plain = ShapleyEffects("smooth", random_state=0).fit(
        X, counts / exposure, sample_weight=exposure / exposure.mean()
    )
    assert found.effects.tolist() == plain.result_.effects.tolist()
    assert found.target == "claims per years"
    assert "Rows are weighted by years; over all rows" in found.outcome_details
    weight = rng.random(300)
    doubly = ShapleyEffects("smooth", random_state=0).fit(X, outcome, sample_weight=weight)
    product = ShapleyEffects("smooth", random_state=0).fit(
        X, counts / exposure, sample_weight=exposure * weight
    )
    np.testing.assert_allclose(doubly.effects_, product.effects_, atol=1e-9)


# Bad input ----------------------------------------------------------------------------------------

TIME, EVENT = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((TIME, [0, 0, 0, 0]), {}, "All rows are censored"),
        ((TIME, EVENT), {"horizon": 3.5}, "horizon of 3.5 is beyond the last event, at 3"),
        ((TIME, EVENT), {"horizon": 0.5}, "No event comes before the horizon of 0.5"),
        ((TIME, EVENT), {"horizon": -1}, "horizon must be a positive time"),
        ((TIME, EVENT), {"horizon": "3"}, "horizon must be a number, not '3'"),
        ((TIME, EVENT), {"horizon": [3]}, r"horizon must be a number, not \[3\]"),
        ((TIME, EVENT), {"horizon": True}, "horizon must be a number, not True"),
        (
            ([1.0, 2.0, 1 / 0.3, 4.0], EVENT),
            {"horizon": 3.33334},
            "last event, at 3.33333333333333",
        ),
        ((None, EVENT), {}, "time must hold one number per row"),
        ((4.0, EVENT), {}, "time must hold one number per row"),
        (
            (pd.Series(list("abcd"), name="week"), EVENT),
            {},
            r"time \('week'\) must hold one number",
        ),
        ((TIME, pd.Series([1, 2, 1, 0], name="died")), {}, r"event \('died'\) must hold 0 and 1"),
        (([-1.0, 2.0, 3.0, 4.0], EVENT), {}, "time is negative in 1 row"),
        ((TIME, [1, 2, 1, 0]), {}, "event must hold 0 and 1, or False and True: got 2"),
        ((TIME, ["yes", "no", "yes", "no"]), {}, "event must hold 0 and 1"),
        ((TIME, [True, None, True, False]), {}, "missing value"),
        ((TIME, EVENT[:3]), {}, "time has 4 and event has 3 rows"),
        ((["a", "b", "c", "d"], EVENT), {}, "time must hold one number per row"),
        (([1.0, np.nan, 3.0, 4.0], EVENT), {}, "time has missing or infinite values"),
        ((TIME, EVENT), {"of": "median"}, "of='median' is unknown"),
        ((TIME, EVENT), {"of": "survival"}, "needs a horizon"),
        ((TIME, EVENT), {"censoring": "random"}, 'censoring must be "independent"'),
        ((TIME, EVENT), {"censoring": np.zeros((3, 1))}, "censoring has 3 rows, time has 4"),
        ((TIME, EVENT), {"censoring": None}, 'censoring must be "independent"'),
        ((TIME, EVENT), {"censoring": 5}, "censoring must be a table of inputs"),
        ((TIME, EVENT), {"censoring": TIME}, "censoring must be a table of inputs"),
        ((TIME, EVENT), {"censoring": [["a"]] * 4}, "censoring must be a table of inputs"),
        ((TIME, EVENT), {"censoring": np.ones((4, 2))}, "No column of censoring varies"),
        (([], []), {}, "time has no rows"),
    ],
)
def test_survival_refuses_in_one_sentence(arguments, options, message):
    with pytest.raises((InputError, InputTypeError), match=message) as found:
        shaff.survival_outcome(*arguments, **options)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shaff.exceeds(TIME, 4.0), "No rows have y above 4"),
        (lambda: shaff.exceeds(TIME, 0.0), "All rows have y above 0"),
        (lambda: shaff.exceeds(TIME), "needs a limit or a quantile"),
        (lambda: shaff.exceeds(TIME, 1.0, quantile=0.5), "needs a limit or a quantile"),
        (lambda: shaff.exceeds(TIME, quantile=9), "quantile must lie between 0 and 1"),
        (lambda: shaff.exceeds(TIME, quantile="0.9"), "quantile must be a number, not '0.9'"),
        (lambda: shaff.exceeds(TIME, np.inf), "limit must be a finite number"),
        (lambda: shaff.exceeds(TIME, "3"), "limit must be a number, not '3'"),
        (lambda: shaff.exceeds(TIME, np.ones(2)), "limit must be a number, not array"),
        (lambda: shaff.exceeds(5.0, 3), "y must hold one number per row"),
        (lambda: shaff.rate([1, 2], 2.0), "exposure must hold one number per row"),
        (lambda: shaff.exceeds([], 1.0), "y has no rows"),
        (lambda: shaff.rate([1, 2], [1.0, 0.0]), "exposure is 0 or less in 1 row"),
        (lambda: shaff.rate([1, -2], [1.0, 1.0]), "counts is negative in 1 row"),
        (lambda: shaff.rate([1], [1.0, 1.0]), "counts has 1 and exposure has 2 rows"),
        (lambda: shaff.DerivedOutcome([0.0, np.nan], "a"), "must be finite"),
        (lambda: shaff.DerivedOutcome([0.0, 2.0], "a", classes=("n", "y")), "0 and 1 only"),
    ],
)
def test_others_refuse_in_one_sentence(call, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        call()


def test_fit_refuses_what_does_not_match():
    X, time, end = censored(100)
    outcome = shaff.survival_outcome(np.minimum(time, end), time <= end)
    with pytest.raises(InputError, match="inconsistent numbers of samples"):
        ShapleyEffects().fit(X[:50], outcome)
    with pytest.raises(InputError, match="measured on the sample only"):
        ShapleyEffects(max_rows=50, value_rows="all").fit(X, outcome)


def test_the_default_horizon_has_rows_that_are_still_observed():
    _, time, end = censored(500)
    observed, event = np.minimum(time, end), time <= end
    outcome = shaff.survival_outcome(observed, event)
    horizon = float(outcome.description.rsplit(" ", 1)[1])
    assert 0.08 < (observed > horizon).mean() < 0.2
    assert np.isclose(observed[event], horizon, rtol=1e-4).any()


# Command line -------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    X, time, end = censored(120)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        weeks=np.minimum(time, end),
        dead=(time <= end).astype(int),
        visits=7 * np.argsort(np.argsort(X[:, 0])) // 120,
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def explain(capsys, table, *options):
    with pytest.raises(SystemExit) as ended:
        main(["explain", str(table), "--estimator", "smooth", "--jobs", "1", *options])
    said = capsys.readouterr()
    return ended.value.code, said.out + said.err


@pytest.mark.parametrize(
    ("options", "title"),
    [
        (["--target", "weeks", "--event", "dead", "--horizon", "0.5"],
         "restricted mean survival time up to weeks 0.5"),
        (["--target", "weeks", "--event", "dead", "--horizon", "0.5", "--of", "survival"],
         "survival beyond weeks 0.5"),
        (["--target", "visits", "--exceeds", "4"], "visits above 4"),
        (["--target", "visits", "--exceeds", "q0.5"], "visits above 3"),
        (["--target", "visits", "--exposure", "weeks"], "visits per weeks"),
    ],
)  # fmt: skip
def test_the_command_line_makes_outcomes(table, options, title, capsys, tmp_path):
    path = tmp_path / "r.json"
    code, said = explain(capsys, table, *options, "--json", str(path))
    assert code == 0, said
    assert said.startswith(f"Shapley effects on {title}\n")
    result = load_result(path)
    assert result.target == title
    assert not set(options) & set(result.names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--horizon", "3"], "--horizon is about times until an event"),
        (["--of", "survival"], "--of is about times until an event"),
        (["--event", "dead", "--exceeds", "3"], "--event and --exceeds make different outcomes"),
        (["--exceeds", "many"], "'many' is no limit: write 10, or q0.9"),
        (["--event", "weeks"], "--event: 'weeks' is the target"),
        (["--event", "died"], "did you mean 'dead'?"),
        (["--event", "dead", "--horizon", "1e9"], "beyond the last event"),
        (["--exposure", "visits"], "visits is 0 or less in 18 rows"),
        (["--exceeds", "3", "--classes"], "--exceeds and --classes make different outcomes"),
    ],
)
def test_the_command_line_refuses_in_one_sentence(table, options, message, capsys):
    code, said = explain(capsys, table, "--target", "weeks", *options)
    assert code != 0
    assert message in said
