"""`compare`: which effects differ between two results."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from results import many_players, rich_result

from shaff import ShapleyEffects, compare
from shaff.errors import InputError, InputTypeError
from shaff.uncertainty.inference import data_covariance


def linear(n=300, slope=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return pd.DataFrame(X, columns=list("abc")), slope * X[:, 0] + X[:, 1] + rng.standard_normal(n)


def fitted(n=300, slope=1.0, seed=0, **settings):
    X, y = linear(n, slope, seed)
    return ShapleyEffects("smooth", random_state=0, **settings).fit(X, y)


def test_independent_errors_add_up():
    one, other = rich_result(), rich_result(raw_effects=[0.2, 0.2, 0.06, 0.03, 0.01])
    found = compare(one, other)
    np.testing.assert_allclose(found.differences, [-0.1, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(2) * one.standard_errors)
    back = compare(other, one)
    np.testing.assert_allclose(back.differences, -found.differences)
    np.testing.assert_allclose(back.p_values, found.p_values)
    assert found.p_values[1] == 1.0


def test_players_are_matched_by_name():
    one = rich_result()
    names = ("town", "size", "new", "rooms", "garden")
    other = rich_result(names, raw_effects=[0.5, 0.1, 0.3, 0.0, 0.0])
    found = compare(one, other)
    assert found.names == ("size", "town", "rooms", "garden")
    np.testing.assert_allclose(found.differences, [0.1 - 0.3, 0.5 - 0.2, -0.03, -0.01])
    assert "'age', 'new'" in found.notes[0]
    with pytest.raises(InputError, match="no input in common"):
        compare(one, rich_result(("p", "q", "r", "s", "t")))


def test_screened_players_are_left_out():
    wide = many_players(60, n_kept=5)
    found = compare(wide, wide)
    assert found.names == wide.names[:5]
    assert "and 47 more" in found.notes[0]


def test_plain_and_corrected_values_span_the_interval():
    one = rich_result()
    other = rich_result(raw_effects=[0.5, 0.2, 0.06, 0.03, 0.01])
    both = compare(replace(one, plain_effects=one.raw_effects - 0.3), other)
    alone = compare(one, other)
    low, high = both.confidence_interval()
    np.testing.assert_allclose(low, alone.confidence_interval().low)
    np.testing.assert_allclose(high, alone.confidence_interval().high + 0.3)
    # 0 is as far as the nearest way has it.
    np.testing.assert_allclose(both.p_values[0], alone.p_values[0])


def test_a_change_is_found_and_the_rest_is_not():
    found = compare(fitted(slope=0.2), fitted(slope=1.5, seed=1), labels=("then", "now"))
    assert found.differences[0] > 0.3
    assert found.p_values[0] < 1e-6
    assert abs(found.differences[2]) < 3 * found.standard_errors[2] + 0.01
    assert "then" in found.summary()
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    names = ["effect_then", "effect_now", "difference", "low", "high", "standard_error", "p_value",
             "p_adjusted"]  # fmt: skip
    assert list(frame.columns) == ["input", *names, *(f"variance_{name}" for name in names)]
    assert frame["input"][0] in ("a", "b")


def test_the_same_fit_differs_from_itself_by_nothing():
    est = fitted()
    same = compare(est, est, same_rows=True)
    apart = compare(est, est)
    assert (same.standard_errors < 0.3 * apart.standard_errors).all()
    assert not same.differences.any()


def test_shared_rows_enter_by_their_covariance():
    """Two outcomes on the same rows: the variance is that of the rows' differences."""
    X, y = linear()
    z = y + np.random.default_rng(5).standard_normal(len(y))
    one, other = (ShapleyEffects("smooth", random_state=0).fit(X, target) for target in (y, z))
    found = compare(one, other, same_rows=True)
    expected = []
    for j in range(3):
        rows = []
        for est in (one, other):
            kept = est._fitted_game
            weights = kept.effects.linear_map[list(kept.selection.kept).index(j)]
            values = kept.evaluator.evaluate(kept.subsets)
            full = kept.evaluator.evaluate(type(kept.subsets).full(3))
            psi = weights[:-1] @ values.influences + weights[-1] * full.influences[0]
            given = np.sqrt(data_covariance(psi[None])[0, 0])
            rows.append(psi * est.result_.errors_by_source["data"][j] / given)
        data = data_covariance((rows[1] - rows[0])[None])[0, 0]
        rest = sum(
            est.result_.errors_by_source[source][j] ** 2
            for est in (one, other)
            for source in ("design", "ensemble", "algorithm")
        )
        expected.append(np.sqrt(data + rest))
    np.testing.assert_allclose(found.standard_errors, expected, rtol=1e-5)


def test_bad_questions_are_answered_in_a_sentence():
    est, short = fitted(), fitted(n=200)
    with pytest.raises(InputTypeError, match="a is neither"):
        compare([1, 2], est)
    with pytest.raises(InputTypeError, match="needs the fitted estimators"):
        compare(est.result_, est, same_rows=True)
    with pytest.raises(InputError, match="different numbers of rows"):
        compare(est, short, same_rows=True)
    with pytest.raises(InputError, match="b has no standard errors"):
        compare(est, replace(est.result_, errors_by_source=None, covariance=None))
    with pytest.raises(InputError, match="max_rows=None"):
        compare(fitted(max_rows=100), fitted(max_rows=100), same_rows=True)
    with pytest.raises(InputError, match="level"):
        compare(est, short).confidence_interval(0)


@pytest.mark.slow
def test_the_level_of_a_comparison_holds():
    rejected = [
        compare(fitted(seed=2 * k), fitted(seed=2 * k + 1)).p_values < 0.05 for k in range(60)
    ]
    assert np.mean(rejected) < 0.08


def test_the_picture_says_what_is_sure(tmp_path):
    found = compare(rich_result(), rich_result(raw_effects=[0.9, 0.2, 0.06, 0.03, 0.01]),
                    labels=("men", "women"))  # fmt: skip
    display = found.plot()
    assert display.ax_.get_title(loc="left") == "Effects: women minus men"
    assert "pale: interval includes 0" in display.ax_.get_xlabel()
    assert display.ax_.get_yticklabels()[0].get_text() == "size"
    display.save(tmp_path / "a.png")
    assert display.frame()["difference"][0] == pytest.approx(0.6)
    assert repr(found) == "Comparison(5 inputs, 1 significantly different)"
