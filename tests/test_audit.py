"""The hash of the data: the same for the same data, wherever they were kept, and for no others."""

import hashlib
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from results import rich_result

from shaff import ShapleyEffects, load_result
from shaff.data.audit import data_hash
from shaff.data.table import Table
from shaff.data.target import Target


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).normal(size=(60, 2))


def hash_of(X, y, **rows):
    est = ShapleyEffects("forest", random_state=0)
    return est.fit(X, y, **rows).result_.data_hash


def test_the_library_does_not_matter(numbers):
    columns = {f"x{j}": numbers[:, j] for j in range(2)}
    y = numbers.sum(axis=1)
    found = {
        hash_of(numbers, y),
        hash_of(np.asfortranarray(numbers), y),
        hash_of(pd.DataFrame(columns), pd.Series(y, name="price")),
        hash_of(pl.DataFrame(columns), pl.Series("cost", y)),
    }
    assert len(found) == 1


def test_categories_count_by_their_names(numbers):
    town = np.array(["Bonn", "Aachen", "Ulm"])[np.arange(60) % 3]
    y = numbers[:, 0] + (town == "Ulm")
    frames = [pd.DataFrame, pl.DataFrame]
    found = {hash_of(frame({"town": town, "x": numbers[:, 0]}), y) for frame in frames}
    other = np.where(town == "Ulm", "Trier", town)
    assert len(found) == 1
    assert hash_of(pl.DataFrame({"town": other, "x": numbers[:, 0]}), y) not in found


def changed(values, place):
    values = values.copy()
    values[place] += 1e-12
    return values


def test_every_part_of_the_data_counts(numbers):
    table = Table(numbers, ("a", "b"), np.zeros(2, bool))
    y, weight = numbers[:, :1] ** 2, np.linspace(0.5, 1.5, 60)
    others = [
        (Table(changed(numbers, (3, 1)), table.names, table.categorical), Target(y), None),
        (Table(numbers[::-1], table.names, table.categorical), Target(y), None),
        (Table(numbers, ("a", "c"), table.categorical), Target(y), None),
        (table, Target(changed(y, (5, 0))), None),
        (table, Target(y, classes=("no", "yes")), None),
        (table, Target(y), weight),
        (table, Target(y), changed(weight, 7)),
    ]
    found = {data_hash(*data) for data in [(table, Target(y), None), *others]}
    assert len(found) == 8


def test_missing_values_and_zeros_have_one_pattern():
    plain = np.array([[0.0], [np.nan], [1.0]])
    odd = np.array([[-0.0], [0.0], [1.0]])
    odd.view(np.uint64)[1] = 0xFFF8000000000001
    hashes = {data_hash(Table(X, ("a",), np.zeros(1, bool)), Target(plain[:, :0]))
              for X in (plain, odd)}  # fmt: skip
    assert len(hashes) == 1


def test_it_can_be_computed_without_shaff(numbers):
    y, digest = numbers.sum(axis=1), hashlib.blake2b(digest_size=16)
    for heading, column in [
        (["input", "number", "x0"], numbers[:, 0]),
        (["input", "number", "x1"], numbers[:, 1]),
        (["outcome"], y),
    ]:
        digest.update(json.dumps(heading).encode() + b"\n" + column.astype("<f8").tobytes())
    assert hash_of(numbers, y) == digest.hexdigest()


def test_weights_count_and_files_and_reports_keep_the_hash(numbers, tmp_path):
    y, weight = numbers.sum(axis=1), np.linspace(0.5, 1.5, 60)
    result = ShapleyEffects("forest", random_state=0).fit(numbers, y, sample_weight=weight).result_
    assert result.data_hash != hash_of(numbers, y)
    assert load_result(result.to_json()).data_hash == result.data_hash
    page = result.to_html(tmp_path / "report.html").read_text("utf-8")
    audit = page[page.index('<details id="audit">') :]
    for part in (result.data_hash, result.versions["numpy"], result.version, "sample_weight"):
        assert part in audit


def test_reports_of_older_files_do_without(tmp_path):
    page = rich_result(data_hash=None).to_html(tmp_path / "report.html").read_text("utf-8")
    assert 'id="audit"' not in page


def test_a_constant_outcome_has_a_hash_too(numbers):
    with pytest.warns(UserWarning, match="constant"):
        assert len(hash_of(numbers, np.ones(60))) == 32
