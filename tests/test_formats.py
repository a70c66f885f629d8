"""Results of every format that was ever written are read."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from results import KEPT, RESULTS

from shaff.errors import InputError
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.files import load_result

READ_VERSIONS = EffectsResult._versions


def test_every_format_has_a_kept_file():
    kept = {json.loads(path.read_text("utf-8"))["format_version"] for path in KEPT}
    assert kept >= set(READ_VERSIONS)
    assert json.loads(load_result(KEPT[0]).to_json())["format_version"] == READ_VERSIONS[-1]


@pytest.mark.parametrize("version", READ_VERSIONS)
def test_results_of_every_format_are_read(version, tmp_path):
    (path,) = [p for p in KEPT if p.name == f"result-{version}.json"]
    result = load_result(path)
    assert result.names == ("age", "bmi", "smoker")
    assert result.effects.tolist() == [0.125, 0.5, 0.0]
    assert result.errors_by_source["data"].tolist() == [0.02, 0.03, 0.01]
    assert result.p_values.tolist() == [0.001, 1e-9, 0.7]
    assert np.isnan(result.total[2])
    assert result.notes == ("A note.",)
    assert (result.confidence_interval().low < result.effects).all()
    result.to_json(tmp_path / "again.json")
    assert load_result(tmp_path / "again.json").effects.tolist() == result.effects.tolist()


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_format_lacks_is_none_and_the_report_does_without(version, tmp_path):
    result = load_result(KEPT[version - 1])
    assert (result.plain_effects is None) is (version == 1)
    assert result.data is result.screened is result.convergence is result.call is None
    assert "smoker" in result.to_html(tmp_path / "r.html").read_text(encoding="utf-8")


def test_the_model_behind_an_outcome_is_kept_since_version_7():
    assert load_result(KEPT[5]).through is None
    first = load_result(KEPT[6]).summary().splitlines()[0]
    assert "through the projected trees of RandomForestClassifier" in first


def test_what_an_outcome_was_computed_from_is_kept_since_version_7():
    assert load_result(KEPT[5]).outcome_details is load_result(KEPT[5]).variance_ratio is None
    assert load_result(KEPT[6]).variance_ratio == 1.25
    assert load_result(KEPT[6]).outcome_details.startswith("114 of 432 rows")


def test_the_variance_of_the_outcome_is_kept_since_version_6():
    assert load_result(KEPT[4]).outcome_variance is load_result(KEPT[4]).held_out is None
    result = load_result(KEPT[5])
    assert (result.outcome_variance, result.outcome_variance_error) == (2.5, 0.125)
    assert result.variance_covariances.tolist() == [0.001, 0.002, 0.0]
    assert result.classes == ("no", "yes")
    assert result.held_out["auc"] == 0.8125


def test_columns_are_recognised_since_version_7():
    assert load_result(KEPT[5]).column_digests is None
    assert load_result(KEPT[6]).column_digests["age"] == "00000000000000ff"


def test_the_hash_of_the_data_is_kept_since_version_8():
    assert load_result(KEPT[6]).data_hash is None
    assert load_result(KEPT[7]).data_hash == "00112233445566778899aabbccddeeff"


def test_layers_are_kept_since_version_7():
    assert load_result(KEPT[5]).layers == ()
    assert load_result(KEPT[6]).layers == (("age",), ("bmi", "smoker"))
    assert load_result(KEPT[6]).upper_level().effects.tolist() == [0.125, 0.5]


def test_comparisons_of_version_1_are_read():
    old = Comparison(("a",), [[0.1], [0.4]], [[0.3]], [0.1]).to_json()
    later = ("variance", "n_shared")  # also within "covariance"
    content = {k: v for k, v in json.loads(old).items() if not any(word in k for word in later)}
    found = load_result(json.dumps({**content, "format_version": 1}))
    assert found.outcome_variances is found.joint_p_value is None
    assert "taken as independent" in found.summary()
    with pytest.raises(InputError, match="do not have the variance of the outcome"):
        found.in_variance()


def test_subsets_values_and_weights_are_kept_since_version_5():
    result = load_result(KEPT[4])
    assert result.subsets.sum(axis=1).tolist() == [3, 1, 1, 1, 2, 2, 2]
    assert result.subsets.dtype == bool
    assert result.values[0] == result.explained_variance
    assert result.weights.shape == (3, 7)
    assert result.game_names == result.names
    earlier = load_result(KEPT[3])
    assert earlier.subsets is earlier.values is earlier.weights is None
    assert earlier.game_names == ()


def saved(result):
    """Plain values of all fields, with every bit of the arrays."""
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.shape, result.tobytes()
    if dataclasses.is_dataclass(result):
        names = [field.name for field in dataclasses.fields(result)]
        return type(result), [(name, saved(getattr(result, name))) for name in names]
    if isinstance(result, dict):
        return [(key, saved(value)) for key, value in result.items()]
    return result


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_goes_through_json_bit_for_bit(result, tmp_path):
    text = result.to_json(tmp_path / "result.json")
    assert (tmp_path / "result.json").read_text("utf-8") == text + "\n"
    for again in (load_result(text), load_result(tmp_path / "result.json")):
        assert saved(again) == saved(result)
        assert again.to_json() == text
    assert saved(pickle.loads(pickle.dumps(result))) == saved(result)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_wrong_content_of_any_result_gets_one_sentence(result):
    content = json.loads(result.to_json())
    with pytest.raises(InputError, match=r"^the text has format version 99; shaff .* reads"):
        load_result(json.dumps({**content, "format_version": 99}))
    for broken in ({"results": 3, "names": 3, "looked_at": None}, {"results": [3], "names": []}):
        with pytest.raises(InputError, match=r"^the text is a damaged result of shaff: "):
            load_result(json.dumps({**content, **broken}))


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_has_a_summary_and_knows_its_plots(result):
    assert isinstance(result.summary(), str)
    result = result.of("yes") if getattr(result, "outputs", ()) == ("no", "yes") else result
    with pytest.raises(InputError, match=r"kind='pie' is unknown: use one of \".*\"\."):
        result.plot("pie")


def test_the_loss_is_kept_since_version_7():
    before = load_result(KEPT[5])
    assert (before.loss, before.measure, before.brier_effects) == (
        "squared_error",
        "variance",
        None,
    )
    result = load_result(KEPT[6])
    assert (result.loss, result.measure) == ("log_loss", "deviance (log_loss)")
    assert result.brier_effects.tolist() == [0.125, 0.375, 0.0]
    assert (result.brier_errors.tolist(), result.brier_explained) == ([0.02, 0.03, 0.01], 0.5)


# Wrong content ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ' * 3000 + "1" + "}" * 3000, "not a result"),
        ('{"a": ' + "9" * 6000 + "}", "not a result"),
        ('{"format": "shaff.EffectsResult", "format_version": NaN}', "NaN is no number of JSON"),
        ('{"format": "shaff.EffectsResult", "format_version": [6]}', "format version none"),
        ('{"format": "shaff.EffectsResult", "format_version": true}', "format version none"),
    ],
    ids=["nested", "digits", "NaN", "list", "true"],
)
def test_texts_that_no_reader_likes(text, message):
    with pytest.raises(InputError, match=message):
        load_result(text)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("estimator", None, "estimator must be text"),
        ("curves", [], "curves must be an object"),
        ("effects", ["NaN", 0.1, 0.2, 0.3, 0.4], "effects and explained_variance must be finite"),
        ("effects", ["0.1", 0.1, 0.2, 0.3, 0.4], "effects must be numbers, in lists"),
        ("n_rows", 1e300, "n_rows must be a whole number"),
        ("n_rows", 2.5, "n_rows must be a whole number"),
        ("data", {}, r"data\.n_rows is missing"),
        ("library", "excel", "library must be one of 'pandas', 'polars', 'pyarrow'"),
        ("names", ["a", "b", "\ud800"], r"names\[2\] must be text"),
        ("subsets", ["012"], "subsets must be 0 and 1"),
    ],
)
def test_each_field_is_checked_before_anything_is_shown(field, value, message):
    content = {**json.loads(RESULTS[0].to_json()), field: value}
    with pytest.raises(InputError, match=message):
        load_result(json.dumps(content))


def test_results_of_many_need_a_name_for_each_dimension():
    content = json.loads(RESULTS[6].to_json())
    content["results"][0][0] = ["y"]
    with pytest.raises(InputError, match="a name for each of the dimensions"):
        load_result(json.dumps(content))
