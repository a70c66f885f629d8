"""What the front pages say of other tools is what the kept runs say."""

from pathlib import Path

import pytest

from benchmarks.peers.data import ROWS
from benchmarks.peers.page import cells, page, summary
from benchmarks.peers.runs import Run, Store, Task
from benchmarks.peers.systems import EVERY

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/measured/peers"


def every_task(n_seeds=3):
    tables = [(case, n) for case, sizes in ROWS.items() for n in sizes]
    return [Task(case, n, peer, seed) for seed in range(n_seeds)
            for case, n in tables for peer in EVERY]  # fmt: skip


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_front_pages_say_what_the_runs_say(name):
    said = (ROOT / name).read_text("utf-8")
    lines = list(summary(cells(Store(FOLDER / "runs.json"), every_task())))
    assert len(lines) == 2
    for line in lines:
        assert line in said, f"{name} should say: {line}"


def test_the_page_shows_the_tables_of_the_runs():
    made = page(Store(FOLDER / "runs.json"), every_task())
    tables = made.partition("## Versions")[0]
    assert (FOLDER / "tables.inc").read_text("utf-8").startswith(tables)


def test_a_closer_and_quicker_tool_is_named(tmp_path):
    store = Store(tmp_path / "runs.json")
    for peer, credit, seconds in (("shaff", 0.1, 2.0), ("shap", 0.2, 1.0), ("qshap", 0.05, 1.0)):
        store.add(Task("1a", 1000, peer, 0), Run(wrong_credit=credit, seconds=seconds))
    first, second = summary(cells(store, every_task(1)))
    assert "the next is qshap with 5.0 % in 1.0 s" in first
    assert second == (
        "shaff is the closest in 0 of 1 tables; closer and quicker: qshap (1a, 1000 rows)."
    )
