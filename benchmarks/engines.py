"""Work elsewhere: same bits, what it costs, and what is left when workers or schedulers die.

    pip install "shaff[distributed]"
    python -m benchmarks.engines [--cases dask ray dask_killed ...] [--out engines.jsonl]
    python -m benchmarks.engines --report engines.jsonl

Each case leaves a line in the file, and what the file has is skipped.

- ``dask``, ``ray``: a job of about a CPU minute on two workers. Same bits as one process? CPU
  seconds of driver, engine and workers together, beside those of one process in the same run: what
  shipping, messages and second imports cost, whatever else the machine is doing.
- ``dask_killed``, ``ray_killed``: one of the workers gets SIGKILL when half is priced.
- ``scheduler``: Dask's scheduler gets SIGKILL when half is priced; the run ends with a sentence; a
  new cluster goes on from the checkpoint. Same bits? Is any subset in the checkpoint twice?
- ``segments``: 50 segments, one of them broken, by one worker and by two, in turns.
- ``soak``: memory of one process over 200 fits.
- ``kills``: a checkpointed run gets SIGKILL 20 times at random moments; same bits at the end?
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import psutil

from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects, explain_many
from shaff.checkpoint import Checkpoint
from shaff.datasets import experiment_1a, experiment_2

PRICED = 400
KILLS = 20


def job(n_rows: int = 10_000, n_subsets: int = PRICED, checkpoint: Any = None) -> str:
    """A hash of what a fit of projected boosting gives."""
    exp = experiment_2(n=n_rows, random_state=0)
    est = ShapleyEffects(
        "boosting", n_subsets=n_subsets, tol=1e-9, random_state=0, checkpoint=checkpoint
    )
    result = est.fit(exp.X, exp.y).result_
    return sha256(result.effects.tobytes() + result.covariance.tobytes()).hexdigest()[:16]


# Engines ------------------------------------------------------------------------------------------


@contextmanager
def dask(n_workers: int = 2) -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        yield lambda: list(client.run(os.getpid).values())


@contextmanager
def ray(n_workers: int = 2) -> Iterator[Any]:
    import ray as engine
    from ray.util.joblib import register_ray

    os.environ["RAY_AUTH_MODE"] = "disabled"
    engine.init(num_cpus=n_workers, include_dashboard=False, log_to_driver=False)
    register_ray()
    try:
        with joblib.parallel_config(backend="ray", n_jobs=n_workers):
            yield _ray_workers
    finally:
        engine.shutdown()


def _ray_workers() -> list[int]:
    """Those that are at a task of ours."""
    children = psutil.Process().children(recursive=True)
    return [p.pid for p in children if p.name().startswith("ray::work")]


ENGINES = {"dask": dask, "ray": ray}


def cpu_seconds() -> float:
    """Of this process and of all below it that live."""
    here = psutil.Process()
    total = 0.0
    for process in [here, *here.children(recursive=True)]:
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.NoSuchProcess:
            pass
    return total


def measured(work: Any) -> tuple[Any, float, float]:
    cpu, wall = cpu_seconds(), time.perf_counter()
    found = work()
    return found, cpu_seconds() - cpu, time.perf_counter() - wall


# Cases --------------------------------------------------------------------------------------------


def overhead(name: str) -> Record:
    here, cpu_here, wall_here = measured(job)
    with ENGINES[name]():
        job(500, 20)  # workers are up and have imported what they need
        there, cpu_there, wall_there = measured(job)
    return {
        "same": here == there,
        "cpu_one_process": cpu_here,
        "cpu_two_workers": cpu_there,
        "overhead": cpu_there / cpu_here - 1,
        "wall": [wall_here, wall_there],
        "load": os.getloadavg()[1],
    }


def n_files(folder: str) -> int:
    return len(list(Path(folder).glob("*.part")))


def when_half_is_priced(folder: str, total: int, strike: Any) -> threading.Thread:
    def watch() -> None:
        while n_files(folder) < total // 2:
            time.sleep(0.02)
        strike()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def killed(name: str) -> Record:
    here = job()
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
        with ENGINES[name]() as workers:
            job(checkpoint=whole)
            struck: list[int] = []

            def strike() -> None:
                while not struck:
                    for pid in workers()[:1]:
                        os.kill(pid, signal.SIGKILL)
                        struck.append(n_files(folder))

            thread = when_half_is_priced(folder, n_files(whole), strike)
            there = job(checkpoint=folder)
            thread.join(60)
        return {"same": here == there, "killed_after": struck, "of": n_files(whole)}


CLUSTER = """
import sys, time
import distributed
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                       scheduler_port=int(sys.argv[1]))
    print("up", flush=True)
    time.sleep(36000)
"""
DRIVER = """
import sys
import distributed, joblib
from benchmarks.engines import job
if __name__ == "__main__":
    address = f"tcp://127.0.0.1:{sys.argv[1]}"
    with distributed.Client(address), joblib.parallel_config(backend="dask"):
        print(job(n_rows=3000, checkpoint=sys.argv[2]), flush=True)
"""


def start(script: str, *arguments: Any) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def stop(process: subprocess.Popen[str]) -> None:
    """With all that it has started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def priced_in(folder: str) -> tuple[int, int]:
    """Subsets in the files of a checkpoint, and how many of them are there twice."""
    keys = []
    for prefix in {path.name.split("-")[0] for path in Path(folder).glob("*.part")}:
        checkpoint = Checkpoint(folder, b"")
        checkpoint._prefix = prefix
        for values, with_rows in checkpoint.news():
            keys += [(prefix, with_rows, key) for key in values.subsets.keys()]
    return len(keys), len(keys) - len(set(keys))


def scheduler() -> Record:
    here = job(n_rows=3000)
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
        job(n_rows=3000, checkpoint=whole)
        cluster = start(CLUSTER, 18786)
        cluster.stdout.readline()
        first = start(DRIVER, 18786, folder)
        watcher = when_half_is_priced(folder, n_files(whole), lambda: stop(cluster))
        while watcher.is_alive() and first.poll() is None:
            watcher.join(0.1)
        _, words = first.communicate()
        saved = priced_in(folder)[0]
        cluster = start(CLUSTER, 18787)
        cluster.stdout.readline()
        second = start(DRIVER, 18787, folder)
        there = second.communicate()[0].strip()
        stop(cluster)
        in_all, twice = priced_in(folder)
        return {
            "first_run": words.strip().splitlines()[-1] if words.strip() else "",
            "exit_code": first.returncode,
            "same": here == there,
            "priced_before": saved,
            "priced": [in_all, priced_in(whole)[0]],
            "priced_twice": twice,
        }


def segments_table(n: int = 50, rows: int = 300) -> pl.DataFrame:
    exp = experiment_1a(n=n * rows, random_state=0)
    frame = pl.DataFrame(exp.X[:, :6], schema=list("abcdef"))
    segment = np.repeat(np.arange(n), rows)
    y = np.where(segment == 7, np.nan, exp.y)  # one that fails
    return frame.with_columns(segment=segment, y=y)


def segments() -> Record:
    table, walls, failed, hashes = segments_table(), {1: [], 2: []}, set(), set()
    for turn in range(2):
        for n_workers in (1, 2)[:: 1 if turn else -1]:
            with dask(n_workers):
                explain_many(table[:600], "y", by="segment", **_segment_settings())  # imports
                many, _, wall = measured(
                    lambda: explain_many(table, "y", by="segment", **_segment_settings())
                )
            walls[n_workers].append(wall)
            failed |= {*many.failures.items()}
            effects = b"".join(result.effects.tobytes() for result in many.results.values())
            hashes.add(sha256(effects).hexdigest()[:16])
    return {
        "faster": min(walls[1]) / min(walls[2]),
        "wall": walls,
        "same": len(hashes) == 1,
        "failures": sorted(failed),
        "results": len(many.results),
        "load": os.getloadavg()[1],
    }


def _segment_settings() -> dict[str, Any]:
    return {"estimator": "forest", "random_state": 0}


def soak(n_fits: int = 200) -> Record:
    exp, process, memory = experiment_1a(n=300, random_state=0), psutil.Process(), []
    for seed in range(n_fits):
        name = ("boosting", "forest", "smooth")[seed % 3]
        ShapleyEffects(name, n_subsets=40, random_state=seed, n_jobs=2).fit(exp.X, exp.y)
        memory.append(process.memory_info().rss / 2**20)
    settled, end = float(np.median(memory[30:50])), float(np.median(memory[-20:]))
    return {"settled_mb": settled, "end_mb": end, "growth": end / settled - 1, "peak": max(memory)}


LONG_RUN = """
import sys
from benchmarks.engines import job
if __name__ == "__main__":
    print(job(n_rows=1000, n_subsets=200, checkpoint=sys.argv[1]), flush=True)
"""


def kills() -> Record:
    here, draw, n_killed, starts = job(n_rows=1000, n_subsets=200), random.Random(0), 0, 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as whole:
        job(n_rows=1000, n_subsets=200, checkpoint=whole)
        while True:
            process, starts = start(LONG_RUN, folder), starts + 1
            if n_killed < KILLS:
                _kill_at_random(process, folder, draw)
                n_killed += 1
                continue
            there = process.communicate()[0].strip()
            break
        in_all, twice = priced_in(folder)
    return {"same": here == there, "killed": n_killed, "starts": starts, "priced": in_all,
            "priced_twice": twice}  # fmt: skip


def _kill_at_random(process: subprocess.Popen[str], folder: str, draw: random.Random) -> None:
    """While it starts, grows, or prices: up to one more file, and a random while after."""
    before, deadline = n_files(folder), time.monotonic() + draw.uniform(0, 60)
    while n_files(folder) == before and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.005)
    time.sleep(draw.uniform(0, 0.2))
    if process.poll() is None:
        stop(process)


CASES = {
    "dask": lambda: overhead("dask"),
    "ray": lambda: overhead("ray"),
    "dask_killed": lambda: killed("dask"),
    "ray_killed": lambda: killed("ray"),
    "scheduler": scheduler,
    "segments": segments,
    "soak": soak,
    "kills": kills,
}


def run(case: str) -> Record:
    warnings.simplefilter("ignore")
    return CASES[case]()


def report(records: list[Record]) -> None:
    for record in records:
        print(json.dumps(record))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path, default=Path("engines.jsonl"))
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    if arguments.report:
        report(read(arguments.report))
        return
    tasks = [{"case": case} for case in arguments.cases]
    fill(arguments.out, tasks, run)


if __name__ == "__main__":
    main()
