"""The reproduction of the paper: runs survive, tables hold the paper's numbers."""

from __future__ import annotations

import json

import pytest

from shaff.paper.runs import Run, RunStore, Task
from shaff.paper.tables import COMBINATIONS, COMPETITORS, NUMBER_OF_SUBSETS

TASK = Task("1a", "sage", seed=0, n_rows=3000, n_subsets=500, n_trees=500)


def test_runs_survive_an_interrupt(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "runs.json"
    store = RunStore(path)
    store.add(TASK, Run([0.123456789], 0.5, 1.0))
    before = path.read_text()

    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dump", broken)
    with pytest.raises(KeyboardInterrupt):
        store.add(Task("2", "sage", 0, 10_000, 500, 500), Run([1.0], 0.1, 1.0))
    assert path.read_text() == before
    assert RunStore(path).get(TASK) == Run([0.12346], 0.5, 1.0)


def test_tasks_that_differ_have_different_keys():
    fields = {
        "experiment": "2",
        "system": "mdi",
        "seed": 1,
        "n_rows": 5,
        "n_subsets": 6,
        "n_trees": 7,
    }
    base = {name: getattr(TASK, name) for name in fields}
    keys = {Task(**{**base, name: value}).key for name, value in fields.items()} | {TASK.key}
    assert len(keys) == len(fields) + 1


def test_a_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text('{"format": 0, "runs": {}}')
    with pytest.raises(ValueError, match="format 1"):
        RunStore(path)


def test_shared_rows_of_the_tables_agree():
    """SHAFF at K = 500 stands in all three tables of the paper."""
    shaff = [table.rows[0].printed for table in (COMPETITORS, COMBINATIONS)]
    by_k = {row.n_subsets: row.printed for row in NUMBER_OF_SUBSETS.rows}
    assert shaff[0]["1a"] == shaff[1]["1a"] == by_k[500]["1a"]
    assert shaff[0]["2"] == shaff[1]["2"]
