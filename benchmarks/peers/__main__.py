"""``python -m benchmarks.peers``: run what is missing, then write tables, plot and runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.peers.data import EVERY as CASES
from benchmarks.peers.data import QUICK as QUICK_CASES
from benchmarks.peers.data import ROWS
from benchmarks.peers.page import overview, page, plot
from benchmarks.peers.runs import Store, Task, in_own_process
from benchmarks.peers.systems import EVERY as PEERS
from benchmarks.peers.systems import QUICK as QUICK_PEERS


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    found.add_argument("--quick", action="store_true", help="three cases, 12 peers, one seed")
    found.add_argument("--only", nargs="+", choices=PEERS, help="these peers")
    found.add_argument("--cases", nargs="+", choices=CASES, help="these cases")
    found.add_argument("--rows", nargs="+", type=int, help="only these of the numbers of rows")
    found.add_argument("--seeds", type=int, default=3)
    found.add_argument("--output", type=Path, default=Path("peers-output"))
    found.add_argument("--write-only", action="store_true", help="run nothing, write the page")
    return found


def tasks_of(given: argparse.Namespace) -> list[Task]:
    """What was asked for, first seeds first."""
    rows = QUICK_CASES if given.quick else ROWS
    peers = given.only or (QUICK_PEERS if given.quick else PEERS)
    tables = [(case, n) for case, sizes in rows.items() if case in (given.cases or rows)
              for n in sizes if n in (given.rows or sizes)]  # fmt: skip
    seeds = range(1 if given.quick else given.seeds)
    return [Task(case, n, peer, seed) for seed in seeds for case, n in tables for peer in peers]


def main() -> None:
    given = parser().parse_args()
    tasks, store = tasks_of(given), Store(given.output / "runs.json")
    lacking = [task for task in tasks if store.get(task) is None and not given.write_only]
    for left, task in zip(range(len(lacking), 0, -1), lacking, strict=True):
        run = in_own_process(task)
        store.add(task, run)
        said = run.failed or f"{run.wrong_credit:.3f} in {run.seconds:.1f} s"
        print(f"{left:4d} {task.key}: {said}", file=sys.stderr, flush=True)
    given.output.mkdir(parents=True, exist_ok=True)
    (given.output / "tables.inc").write_text(page(store, tasks), encoding="utf-8")
    plot(store, tasks, given.output / "peers.png")
    overview(store, tasks, given.output / "overview.png")
    print(page(store, tasks))


if __name__ == "__main__":
    main()
