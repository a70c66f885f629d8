"""The reproduction of the paper: runs survive, tables hold the paper's numbers."""

from __future__ import annotations

import json

import pytest

from shaff.paper.plan import FULL, Effort, Study
from shaff.paper.report import table_markdown
from shaff.paper.runs import Run, RunStore, Task
from shaff.paper.study import missing_tasks, run_study
from shaff.paper.systems import SYSTEMS, run_task
from shaff.paper.tables import COMBINATIONS, COMPETITORS, NUMBER_OF_SUBSETS, Row, Table

TASK = Task("1a", "sage", seed=0, n_rows=3000, n_subsets=500, n_trees=500)


def test_runs_survive_an_interrupt(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "runs.json"
    store = RunStore(path)
    store.add(TASK, Run([0.123456789], 0.5, 1.0, 0.9, 7))
    before = path.read_text()

    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dump", broken)
    with pytest.raises(KeyboardInterrupt):
        store.add(Task("2", "sage", 0, 10_000, 500, 500), Run([1.0], 0.1, 1.0, 0.9, 7))
    assert path.read_text() == before
    assert RunStore(path).get(TASK) == Run([0.12346], 0.5, 1.0, 0.9, 7)


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


def test_full_study_is_the_papers(tmp_path):
    shaff, williamson = COMPETITORS.rows[:2]
    tasks = FULL.tasks(shaff, "2")
    assert len(tasks) == 30
    assert {(task.n_rows, task.n_subsets, task.n_trees) for task in tasks} == {(10_000, 500, 500)}
    assert [task.seed for task in FULL.tasks(williamson, "1a")] == [0, 1, 2]
    assert FULL.table_tasks(COMPETITORS)[0].seed == 0
    assert len(FULL.table_tasks(COMPETITORS)) == 3 * (30 + 3 + 30 + 30)


def test_tables_show_our_mean_beside_the_paper(tmp_path):
    store = RunStore(tmp_path / "runs.json")
    row = COMPETITORS.rows[1]
    for task, error in zip(FULL.tasks(row, "1a"), (0.5, 0.6, 0.7), strict=True):
        store.add(task, Run([0.0], error, 1.0, 0.9, 7))
    store.add(FULL.tasks(row, "2")[0], Run([0.0], 0.25, 1.0, 0.9, 7))
    text = table_markdown(COMPETITORS, FULL, store)
    line = next(line for line in text.splitlines() if line.startswith("| Williamson"))
    assert line == (
        "| Williamson | 0.600 ± 0.058 | 0.64 | no run | 1.17 | 0.250 (1 of 3 runs) | 0.24 |"
    )
    assert "| shaff, defaults | no run | – |" in text


TINY = Study(
    Effort(repetitions=2, n_trees=10, max_subsets=30, max_rows=200),
    Effort(repetitions=1, n_trees=5, max_subsets=20, max_rows=150),
)
TWO_ROWS = Table("two", ("1a",), (Row("SHAFF", "shaff_published"), Row("W", "pairs_retrained")))


def test_a_study_goes_on_where_it_was_stopped(tmp_path):
    store = RunStore(tmp_path / "runs.json")
    told = []

    def stop_after_one(task, run):
        told.append(task)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(TINY, store, tables=[TWO_ROWS], tell=stop_after_one)
    left = missing_tasks(TINY, RunStore(store.path), [TWO_ROWS])
    assert len(left) == 2
    assert told[0] not in left
    run_study(TINY, store, tables=[TWO_ROWS], tell=lambda task, run: told.append(task))
    assert set(told[1:]) == set(left)
    assert missing_tasks(TINY, store, [TWO_ROWS]) == []


@pytest.mark.parametrize("name", sorted(set(SYSTEMS) - {"broto"}))
def test_every_system_runs_and_repeats(name):
    task = Task("1a", name, seed=1, n_rows=120, n_subsets=16, n_trees=4)
    runs = [run_task(task) for _ in range(2)]
    assert runs[0].effects == runs[1].effects
    assert len(runs[0].effects) == 15
    assert 0 < runs[0].error < 1.5


def test_every_row_names_a_system():
    for table in (COMPETITORS, COMBINATIONS, NUMBER_OF_SUBSETS):
        assert {row.system for row in table.rows} <= set(SYSTEMS)
