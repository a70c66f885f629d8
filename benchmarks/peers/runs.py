"""One run in a process of its own, and the file that keeps all of them."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.peers.data import EVERY as CASES
from benchmarks.peers.data import Data
from benchmarks.peers.systems import EVERY as PEERS
from benchmarks.peers.systems import Found
from shaff._util.files import replacing
from shaff._util.typing import FloatArray

SECONDS, BYTES = 120, 6 * 2**30
# Imports, drawing the data and compiling at the first call take time that is not measured.
PATIENCE = 5


@dataclass(frozen=True, order=True)
class Task:
    """A peer on one draw of a case."""

    case: str
    n_rows: int
    peer: str
    seed: int

    @property
    def key(self) -> str:
        return f"{self.case}/n={self.n_rows}/{self.peer}/seed={self.seed}"


@dataclass(frozen=True)
class Run:
    """What a task gave; ``failed`` says in one line why there is nothing."""

    wrong_credit: float | None = None
    error: float | None = None
    rank: float | None = None
    seconds: float | None = None
    megabytes: float | None = None
    covered: float | None = None
    failed: str | None = None


def measured(task: Task) -> Run:
    """Run a task here; everything is imported by a first call on few rows."""
    peer, data = PEERS[task.peer], CASES[task.case](task.n_rows, task.seed)
    warm_up(peer, task)
    start = time.process_time()
    found = peer.call(data, task.seed)
    seconds = time.process_time() - start
    error = float(np.abs(found.values - data.effects).sum()) if peer.shares else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    credit, rank = wrong_credit(found.values, data.effects), rank_correlation(found, data)
    return Run(credit, error, rank, seconds, peak, covered(found, data))


def warm_up(peer: Any, task: Task) -> None:
    """Imports, and what compilers do at a first call; whatever fails will fail again."""
    with contextlib.suppress(Exception):
        peer.call(CASES[task.case](120, task.seed), task.seed)


def wrong_credit(found: FloatArray, effects: FloatArray) -> float:
    """The part of the credit that goes to wrong inputs; no input has less than none."""
    shares = np.maximum(np.nan_to_num(found), 0.0)
    total = shares.sum()
    if total <= 0:
        return 1.0
    return float(np.abs(shares / total - effects / effects.sum()).sum() / 2)


def rank_correlation(found: Found, data: Data) -> float:
    return float(spearmanr(found.values, data.effects.round(6)).statistic)


def covered(found: Found, data: Data) -> float | None:
    if found.low is None or found.high is None:
        return None
    inside = (found.low <= data.effects + 1e-9) & (data.effects <= found.high + 1e-9)
    return float(inside.mean())


def in_own_process(task: Task) -> Run:
    """Run a task in a process with limits of time and memory."""
    words = [sys.executable, "-m", "benchmarks.peers.runs", json.dumps(asdict(task))]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(words, env={**os.environ, **one}, capture_output=True, text=True)
    if done.returncode == 0:
        return Run(**json.loads(done.stdout.splitlines()[-1]))
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return Run(failed=f"more than {SECONDS} s")
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return Run(failed=lines[-1][:160] if lines else f"ended with {done.returncode}")


class Store:
    """Runs by task in a JSON file, written after each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kept = json.loads(path.read_text()) if path.exists() else {}
        self.runs = {key: Run(**run) for key, run in kept.items()}

    def get(self, task: Task) -> Run | None:
        return self.runs.get(task.key)

    def add(self, task: Task, run: Run) -> None:
        self.runs[task.key] = run
        lines = (f"{json.dumps(key)}: {json.dumps(shown(run))}"
                 for key, run in sorted(self.runs.items()))  # fmt: skip
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as temporary:
            temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def shown(run: Run) -> dict[str, Any]:
    """Rounded, and without what is not there."""
    kept = {name: value for name, value in asdict(run).items() if value is not None}
    return {name: round(v, 4) if isinstance(v, float) else v for name, v in kept.items()}


def main() -> None:
    """Run the task that is written in the first argument, and print what it gave."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + PATIENCE, SECONDS + PATIENCE))
    print(json.dumps(asdict(measured(Task(**json.loads(sys.argv[1]))))))


if __name__ == "__main__":
    main()
