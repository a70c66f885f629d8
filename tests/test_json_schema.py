"""The published schema of results: it is current, and files keep to it."""

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from results import other_results, rich_result

from shaff.results import schema
from shaff.results.files import CLASSES, load_result
from shaff.results.json_schema import PLAIN, descriptions, result_schema, written

ROOT = Path(__file__).parent.parent
FORMATS = Path(__file__).parent / "formats"


@pytest.fixture(scope="module")
def validator():
    Draft202012Validator.check_schema(result_schema())
    return Draft202012Validator(result_schema())


def test_the_published_schema_is_current():
    path = ROOT / "docs" / "result.schema.json"
    assert path.read_text("utf-8") == written(result_schema()), (
        "run python -m shaff.results.json_schema docs/result.schema.json"
    )


def test_it_knows_every_type_that_files_are_checked_for():
    assert set(PLAIN) == set(schema._PLAIN)
    assert set(CLASSES) == {
        kind["properties"]["format"]["const"]
        for kind in result_schema()["$defs"].values()
        if "format" in kind.get("properties", {})
    }


@pytest.mark.parametrize(
    "result", [rich_result(), *other_results()], ids=lambda r: type(r).__name__
)
def test_results_keep_to_it_and_are_read_back(validator, result):
    validator.validate(json.loads(result.to_json()))
    assert load_result(result.to_json()).to_json() == result.to_json()


def test_saved_files_of_the_present_formats_keep_to_it(validator):
    checked = 0
    for path in FORMATS.glob("*.json"):
        content = json.loads(path.read_text("utf-8"))
        if content["format_version"] == CLASSES[content["format"]]._versions[-1]:
            validator.validate(content)
            checked += 1
    assert checked >= 2


@pytest.mark.parametrize(
    "change",
    [
        {"effects": "none"},
        {"effects": [True]},
        {"names": [1]},
        {"n_rows": -1},
        {"format": "shaff.Other"},
        {"format_version": 1},
        {"interactions": 3},
        {"subsets": ["012"]},
        {"effects": None},
    ],
    ids=str,
)
def test_damaged_files_do_not(validator, change):
    content = json.loads(rich_result().to_json())
    validator.validate(content)
    assert not validator.is_valid({**content, **change})


@pytest.mark.parametrize("lost", ["names", "effects", "format"])
def test_files_that_lack_something_do_not(validator, lost):
    content = json.loads(rich_result().to_json())
    del content[lost]
    assert not validator.is_valid(content)


def test_numbers_that_json_lacks(validator):
    effects = np.array([0.3, 0.2, 0.06, 0.03, 0.01])
    result = rich_result(first_order=effects * np.nan, learning_rise=float("nan"))
    validator.validate(json.loads(result.to_json()))


def test_every_field_of_a_result_is_described():
    effects = CLASSES["shaff.EffectsResult"]
    fields = result_schema()["$defs"]["EffectsResult"]["properties"]
    assert len(descriptions(effects)) > 30
    lacking = {name for name, field in fields.items() if "description" not in field}
    assert lacking <= {"format", "format_version", "n_rows", "n_subsets", "version"}, lacking
