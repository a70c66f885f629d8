"""`compare`: which effects differ between two results."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from results import many_players, rich_result

from shaff import ShapleyEffects, compare, explain_many, load_result
from shaff.errors import InputError, InputTypeError
from shaff.uncertainty.inference import data_covariance, joint_p_value


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
    apart = compare(est, est, same_rows=False)
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


def test_several_outcomes_are_not_one():
    X, y = linear()
    both = ShapleyEffects("smooth", random_state=0).fit(X, np.column_stack([y, -y]))
    with pytest.raises(InputError, match=r"a explains one outcome, b the outcomes '.*' together"):
        compare(fitted(), both)


def test_bad_questions_are_answered_in_a_sentence():
    est, short = fitted(), fitted(n=200)
    with pytest.raises(InputTypeError, match="a is neither"):
        compare([1, 2], est)
    with pytest.raises(InputTypeError, match="needs the fitted estimators"):
        compare(est.result_, est, same_rows=True)
    with pytest.raises(InputError, match="different rows"):
        compare(est, short, same_rows=True)
    with pytest.raises(InputError, match="b has no standard errors"):
        compare(est, replace(est.result_, errors_by_source=None, covariance=None))
    with pytest.raises(InputError, match="level"):
        compare(est, short).confidence_interval(0)
    with pytest.raises(InputError, match="units='sd' is unknown"):
        compare(est, short).to_frame(units="sd")
    with pytest.raises(InputError, match="different names"):
        compare(est, short, labels=("x", "x"))
    with pytest.raises(InputError, match="labels=None: give a pair"):
        compare(est, short, labels=None)
    with pytest.raises(InputError, match="level must lie between 0 and 1, got 'most'"):
        compare(est, short).confidence_interval("most")
    for labels in ((range(300),), 5):
        with pytest.raises(InputTypeError, match="row_labels must be a pair"):
            compare(est, short, row_labels=labels)
    with pytest.raises(InputError, match="not both"):
        compare(est, short, same_rows=True, row_labels=(range(300), range(200)))
    with pytest.raises(InputError, match="a was fitted on 300 rows"):
        compare(est, short, row_labels=(range(200), range(200)))
    with pytest.raises(InputError, match="labels of b repeat"):
        compare(est, short, row_labels=(range(300), np.zeros(200)))
    with pytest.raises(InputError, match="no row in common"):
        compare(est, short, row_labels=(range(300), range(300, 500)))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"explains": "predictions"}, "a explains the outcome, b the predictions of a model"),
        ({"classes": ("no", "yes")}, "a explains a number, b the classes no, yes"),
        ({"solver": "total_sobol"}, "total Sobol indices"),
        ({"target": "rent"}, "a explains 'price', b 'rent'"),
    ],
)
def test_shares_of_different_things_are_not_compared(changes, match):
    one = rich_result(target="price")
    with pytest.raises(InputError, match=match):
        compare(one, replace(one, **changes))


def test_outcomes_of_two_names_are_compared_if_that_is_meant():
    one, other = rich_result(target="sales 2023"), rich_result(target="sales 2024")
    assert compare(one, other, other_outcome=True).names == one.names
    assert compare(one, replace(other, target=None)).names == one.names


def test_the_same_rows_are_recognised():
    """Two models on the same rows: all ways to say so give the same errors."""
    X, y = linear()
    one, other = (ShapleyEffects(k, random_state=0).fit(X, y) for k in ("smooth", "boosting"))
    found, said = compare(one, other), compare(one, other, same_rows=True)
    named = compare(one, other, row_labels=(np.arange(300), np.arange(300)))
    assert found.n_shared == said.n_shared == named.n_shared == 300
    for same in (said, named):
        np.testing.assert_allclose(same.covariance, found.covariance, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(same.variance_errors, found.variance_errors, rtol=1e-9)
    apart = compare(one, other, same_rows=False)
    assert apart.n_shared == 0
    assert found.standard_errors.sum() < 0.5 * apart.standard_errors.sum()
    assert "paired by the 300 rows" in found.summary()
    assert "taken as independent" in apart.summary()


def test_tables_that_overlap_are_paired_by_the_rows_that_they_share():
    X, y = linear(400)
    one = ShapleyEffects("smooth", random_state=0).fit(X[:300], y[:300])
    shuffled = np.random.default_rng(1).permutation(np.arange(100, 400))
    other = ShapleyEffects("smooth", random_state=0).fit(X.iloc[shuffled], y[shuffled])
    found = compare(one, other)
    assert found.n_shared == 200
    named = compare(one, other, row_labels=(np.arange(300), shuffled))
    np.testing.assert_allclose(named.covariance, found.covariance, rtol=1e-9, atol=1e-15)
    apart = compare(one, other, same_rows=False)
    # Two thirds of the rows are shared, and so is that share of the variance.
    ratio = found.standard_errors[:2] ** 2 / apart.standard_errors[:2] ** 2
    np.testing.assert_allclose(ratio, 1 / 3, atol=0.08)
    np.testing.assert_array_equal(found.differences, apart.differences)


def test_groups_of_rows_are_paired_as_groups():
    """Copies of each row in a group of their own add nothing."""
    X, y = linear(150)
    groups = np.repeat(np.arange(150), 2)
    twice = [np.repeat(np.asarray(part), 2, axis=0) for part in (X, y)]
    pair = [ShapleyEffects(k, random_state=0).fit(*twice, row_groups=groups)
            for k in ("smooth", "boosting")]  # fmt: skip
    grouped = compare(*pair)
    alone = compare(*(ShapleyEffects(k, random_state=0).fit(X.to_numpy(), y)
                      for k in ("smooth", "boosting")))  # fmt: skip
    assert grouped.n_shared == 300
    np.testing.assert_allclose(grouped.standard_errors, alone.standard_errors, rtol=0.5)


def test_equal_rows_of_a_coarse_table_may_be_different_ones():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 2)).astype(float)
    y = np.rint(X[:, 0] + rng.standard_normal(300))
    pair = [ShapleyEffects("smooth", random_state=0).fit(X[k::2], y[k::2]) for k in (0, 1)]
    found = compare(*pair)
    assert found.n_shared == 0
    assert any("may be chance" in note for note in found.notes)
    apart = compare(*pair, same_rows=False)
    assert not any("may be chance" in note for note in apart.notes)
    np.testing.assert_array_equal(found.standard_errors, apart.standard_errors)


def test_files_tell_that_the_rows_are_the_same(tmp_path):
    est = fitted(n=100)
    est.result_.to_json(tmp_path / "a.json")
    saved = load_result(tmp_path / "a.json")
    assert saved.column_digests == est.result_.column_digests
    assert any("do not keep the influence of each row" in n for n in compare(saved, est).notes)
    other = fitted(n=100, seed=1)
    assert not compare(saved, other.result_).notes


def test_the_units_of_the_outcome_are_paired_too():
    """y and 2 y on the same rows: equal shares; four times the variance, with its whole error."""
    X, y = linear(200)
    one, other = (ShapleyEffects("smooth", random_state=0).fit(X, f * y) for f in (1.0, 2.0))
    found = compare(one, other)
    assert np.abs(found.differences).max() < 1e-6
    shares = compare(one, other, same_rows=False).standard_errors
    assert (found.standard_errors[:2] < 0.3 * shares[:2]).all()
    scaled = found.in_variance()
    result = one.result_
    np.testing.assert_allclose(
        scaled.differences, 3 * result.outcome_variance * result.raw_effects, rtol=1e-4, atol=1e-6
    )
    # Three times the error of effect times variance, by the errors of both and their covariance.
    size, error = result.outcome_variance, result.outcome_variance_error
    own = (size * result.standard_errors) ** 2 + (error * result.raw_effects) ** 2
    own += 2 * size * result.raw_effects * result.variance_covariances
    np.testing.assert_allclose(scaled.standard_errors[:2], 3 * np.sqrt(own)[:2], rtol=0.2)


def test_the_joint_test_holds_its_level_where_wald_has_no_inverse():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 4))
    covariance = root @ root.T  # of rank 4
    draws = rng.standard_normal((4000, 4)) @ root.T
    p = np.array([joint_p_value(draw[None], covariance) for draw in draws])
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.012)
    assert np.mean(p < 0.5) == pytest.approx(0.5, abs=0.04)
    scale = np.array([1, 10, 0.1, 1, 5, 2.0])
    again = joint_p_value(draws[:1] * scale, covariance * np.outer(scale, scale))
    assert again == pytest.approx(p[0])
    assert joint_p_value(np.zeros((1, 2)), np.zeros((2, 2))) == 1.0
    assert joint_p_value(np.ones((1, 2)), np.zeros((2, 2))) == 0.0


def test_small_differences_of_all_inputs_add_up():
    one = rich_result()
    moved = one.raw_effects + 1.8 * np.sqrt(2) * one.standard_errors * [1, -1, 1, -1, 1]
    found = compare(one, replace(one, raw_effects=moved))
    assert found.p_adjusted.min() > 0.05
    assert found.joint_p_value < 0.05
    np.testing.assert_allclose(found.p_adjusted, np.minimum(5 * found.p_values, 1), rtol=1e-6)


def test_a_comparison_is_read_back(tmp_path):
    found = compare(fitted(n=60), fitted(n=60, seed=1))
    found.to_json(tmp_path / "c.json")
    again = load_result(tmp_path / "c.json")
    assert again.summary() == found.summary()
    assert again.in_variance().joint_p_value == found.in_variance().joint_p_value
    alone = again.to_frame("polars", units="variance")
    both = again.to_frame("polars").sort("input")
    assert alone.sort("input")["difference"].to_list() == both["variance_difference"].to_list()


def test_segments_are_compared_as_two_fits_are():
    X, y = linear(200)
    parts = np.where(np.arange(200) < 100, "then", "now")
    many = explain_many(X, y, by=parts, estimator="smooth", random_state=0)
    alone = [ShapleyEffects("smooth", random_state=0).fit(X[k], y[k])
             for k in (parts == "then", parts == "now")]  # fmt: skip
    found, expected = compare(many["then"], many["now"]), compare(*alone)
    np.testing.assert_array_equal(found.differences, expected.differences)
    np.testing.assert_array_equal(found.standard_errors, expected.standard_errors)


def test_a_page_says_what_differs(tmp_path):
    names = ("<size>", "town", "age", "rooms", "garden")
    one = rich_result(names)
    found = compare(one, rich_result(names, raw_effects=[0.9, 0.2, 0.06, 0.03, 0.01]),
                    labels=("men", "wo<men"))  # fmt: skip
    page = found.to_html(tmp_path / "c.html").read_text("utf-8")
    assert "The share of &lt;size&gt; has grown; no other difference is clear." in page
    assert "<size>" not in page
    assert "wo<men" not in page
    assert "Test that no effect differs: p" in page
    whole = one.to_html(tmp_path / "r.html", comparison=found).read_text("utf-8")
    assert whole.index('id="effects"') < whole.index('id="comparison"')


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
