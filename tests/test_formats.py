"""Results of every format that was ever written are read."""

import json
from pathlib import Path

import numpy as np
import pytest

from shaff.results.effects import EffectsResult
from shaff.results.files import load_result

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
