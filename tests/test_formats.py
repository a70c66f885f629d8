"""Results of every format that was ever written are read."""

import dataclasses
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from results import rich_result

from shaff import LocalEffects, ManyEffects
from shaff.errors import InputError
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.files import load_result
from shaff.results.interactions import Interactions

READ_VERSIONS = EffectsResult._versions

# A file of every format that was ever written: none of them is changed again.
KEPT = sorted((Path(__file__).parent / "formats").glob("result-*.json"))


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


def test_the_variance_of_the_outcome_is_kept_since_version_6():
    assert load_result(KEPT[4]).outcome_variance is load_result(KEPT[4]).held_out is None
    result = load_result(KEPT[5])
    assert (result.outcome_variance, result.outcome_variance_error) == (2.5, 0.125)
    assert result.variance_covariances.tolist() == [0.001, 0.002, 0.0]
    assert result.classes == ("no", "yes")
    assert result.held_out["auc"] == 0.8125


def test_comparisons_of_version_1_are_read():
    old = Comparison(("a",), [[0.1], [0.4]], [[0.3]], [0.1]).to_json()
    content = {k: v for k, v in json.loads(old).items() if "variance" not in k}
    found = load_result(json.dumps({**content, "format_version": 1}))
    assert found.outcome_variances is None
    with pytest.raises(InputError, match="how much the outcome varies"):
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


LOCAL = LocalEffects(
    ("a", "b"), [[[0.1, -0.0], [1 / 3, np.nan]]], [0.1, 0.2], [[0.5, np.nan]], [[1.0, np.nan]],
    levels={"b": ("x", "y")}, outputs=("no", "yes"), target="y", rows=[7], notes=("A note.",),
    standard_errors=np.full((1, 2, 2), 1 / 7), library="polars",
)  # fmt: skip
FOUND = Interactions(
    ("a", "b", "c"), [0, 2], [1 / 3], {"data": [0.1], "design": [np.inf]}, [0.2], 9, 3, "y", ("N.",)
)
RESULTS = [
    rich_result(interactions=FOUND),
    LOCAL,
    LOCAL.of("no"),
    FOUND,
    Comparison(("a",), [[0.1], [1 / 3]], [[0.3], [0.2]], [np.nan], ("then", "now"), ("N.",)),
    ManyEffects(
        ("segment",), {"Rome": rich_result(), "Oslo": rich_result(target="t")}, {"x": "no"}
    ),
    ManyEffects(("target", "model"), {("y", "one"): rich_result()}, {("y", "two"): "Too few."}),
    ManyEffects(("segment",), {}, {"x": "no"}),
]


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
