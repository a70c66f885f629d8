"""Columns of a line agree, or the line says why they do not."""

import numpy as np
import pandas as pd
import pytest
from results import rich_result
from rich.console import Console

from shaff import ShapleyEffects, compare
from shaff.cli.printing import print_result
from shaff.fitting.checks.performance import class_figures
from shaff.results._example import example
from shaff.show.rows import BORDERLINE, TOO_SMALL, remark_sentences, rows


def line(name, **fields):
    (row,) = [row for row in rows(example(**fields)) if row.name == name]
    return row


def errors(age, bmi=0.01):
    return {"data": [age, bmi]}


def test_a_small_p_value_beside_an_interval_with_0_is_explained():
    found = line("age", errors_by_source=errors(0.06), p_values=[1e-5, 1e-9])
    assert found.remark == TOO_SMALL
    assert line("bmi", errors_by_source=errors(0.06), p_values=[1e-5, 1e-9]).remark == ""
    assert line("age", errors_by_source=errors(0.06), p_values=[0.4, 1e-9]).remark == ""


def test_a_large_p_value_beside_many_standard_errors_is_explained():
    adjusted = line("age", errors_by_source=errors(0.02), p_values=[0.04, 0.03])
    assert adjusted.remark == "p is adjusted for 2 inputs"
    assert line("age", errors_by_source=errors(0.02), p_values=[0.2, 1e-9]).remark == BORDERLINE
    plain = {"plain_effects": [0.01, 0.3]}
    uncorrected = line("age", errors_by_source=errors(0.02), p_values=[0.2, 1e-9], **plain)
    assert uncorrected.remark == "p is about the uncorrected effect, 0.010"


def test_no_effect_is_written_as_if_it_were_measured():
    fields = {"effects": [0.0, 0.3], "raw_effects": [-0.001, 0.3], "p_values": [1e-5, 1e-9]}
    found = line("age", errors_by_source=errors(0.01), **fields)
    assert (found.effect, found.remark) == ("0", TOO_SMALL)
    tiny = line("age", effects=[0.0001, 0.3], errors_by_source=errors(0.01))
    assert tiny.effect == "< 0.001"


def test_digits_follow_the_errors():
    assert line("bmi", errors_by_source=errors(0.02, 0.03)).effect == "0.300"
    assert line("bmi", errors_by_source=errors(0.0002, 0.0003)).effect == "0.30000"


@pytest.mark.parametrize("width", [80, 160])
def test_the_reason_is_printed_wherever_the_table_is(width, tmp_path):
    result = example(errors_by_source=errors(0.06), p_values=[1e-5, 1e-9])
    console = Console(width=width, record=True, file=(tmp_path / "out").open("w"))
    print_result(result, console)
    console.file.close()
    shown = console.export_text()
    (said,) = [text for text in shown.splitlines() if TOO_SMALL in text.lower()]
    assert said.startswith("age") is (width > 100)
    assert remark_sentences(rows(result)) == ["Detected, too small to measure: age."]
    (said,) = [text for text in result.summary().splitlines() if TOO_SMALL in text]
    assert said.startswith("age")
    assert "Detected, too small to measure: age." in result._repr_html_()
    page = result.to_html(tmp_path / "r.html").read_text("utf-8")
    assert f'<small class="remark">{TOO_SMALL}</small>' in page
    assert "with p &lt; 0.05, adjusted" in page


def test_differences_are_those_of_the_effects_beside_them():
    one = rich_result(effects=[0.3, 0.2, 0.0, 0.0, 0.0], raw_effects=[0.3, 0.2, -0.01, 0.0, -0.02])
    other = rich_result(raw_effects=[0.2, 0.2, 0.06, 0.03, 0.01])
    found = compare(one, other)
    np.testing.assert_array_equal(found.effects[1] - found.effects[0], found.differences)
    assert "units of the variance" not in found.summary()


def scaled(slope, seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = slope * X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(n)
    return ShapleyEffects("smooth", random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), y)


def test_an_input_that_does_as_much_keeps_its_variance():
    found = compare(scaled(0.3, 0), scaled(1.5, 1), labels=("then", "now"))
    assert found.p_values[1] < 0.001
    same = found.in_variance()
    assert same.p_values[1] > 0.05
    assert same.p_values[0] < 0.001
    assert "times as large in 'now' as in 'then'" in found.notes[0]
    assert "In units of the variance of the outcome" in found.summary()
    frame = found.to_frame().set_index("input")
    assert frame["variance_p_value"]["b"] == same.p_values[1]
    assert "units of the variance" in found.plot(units="variance").ax_.get_xlabel()


def test_errors_in_units_of_the_variance_are_those_of_repeated_samples():
    """The product of an effect and the variance of the outcome, over data sets."""
    results = [scaled(1.0, seed, n=150).result_ for seed in range(30)]
    products = np.array([r.raw_effects * r.outcome_variance for r in results])
    own = compare(results[0], results[1])
    errors = [compare(r, r).variance_errors / np.sqrt(2) for r in results]
    assert own.outcome_variances.shape == (2,)
    ratio = np.mean(errors, axis=0) / products.std(axis=0, ddof=1)
    assert (ratio > 0.75).all()
    assert (ratio < 1.6).all()


def test_the_outcome_of_the_same_rows_cancels():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "b"])
    y = X["a"] + X["b"] + rng.standard_normal(200)
    one, other = (ShapleyEffects("smooth", random_state=k).fit(X, y) for k in (0, 1))
    paired, apart = (compare(one, other, same_rows=same) for same in (True, False))
    assert (paired.variance_errors < 0.5 * apart.variance_errors).all()


def test_error_in_units_of_the_outcome():
    result = scaled(1.0, 3).result_
    assert result.held_out["rmse"] == pytest.approx(0.5, abs=0.06)
    assert result.held_out["rmse_of_mean"] ** 2 == pytest.approx(result.outcome_variance)
    assert "off by 0.5" in result.summary()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_accuracy_of_classes(n_classes, tmp_path):
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (200, 2))
    cuts = np.linspace(-1, 1, n_classes + 1)[1:-1]
    result = ShapleyEffects("smooth", random_state=0).fit(x, np.digitize(x[:, 0], cuts).astype(str))
    found = result.result_.held_out
    assert found["accuracy"] > 0.9 > 0.6 > found["accuracy_of_largest"]
    assert found["auc"] > 0.95
    assert result.result_.classes == tuple(map(str, range(n_classes)))
    assert "The right class is predicted for 9" in result.result_.summary()
    page = result.result_.to_html(tmp_path / "r.html").read_text("utf-8")
    assert "AUC 0.9" in page or "AUC 1.0" in page


def test_figures_of_classes_are_weighted():
    y, predicted = np.array([[0.0], [0.0], [1.0]]), np.array([[0.1], [0.6], [0.9]])
    assert class_figures(y, predicted, np.array([1, 0, 1]))["accuracy"] == 1.0
    assert class_figures(y, predicted, np.array([1, 2, 1]))["accuracy"] == 0.5
    assert "auc" not in class_figures(y[:2], predicted[:2], np.ones(2))
