"""What the benchmarks of engines run, and where: see `benchmarks.engines`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import joblib
import psutil

from shaff import ShapleyEffects
from shaff.datasets import experiment_2


@dataclass(frozen=True)
class Job:
    """A fit of projected boosting to so many rows, with so many subsets; grown on a sample of the
    rows and measured on all of them, if there is one."""

    n_rows: int
    n_subsets: int
    n_sample: int = 0

    @classmethod
    def read(cls, words: list[str]) -> Job:
        """From the arguments of a process."""
        return cls(*map(int, words))

    def words(self) -> list[str]:
        """As `read` takes them."""
        return [str(self.n_rows), str(self.n_subsets), str(self.n_sample)]

    def run(self, checkpoint: str | None = None, n_jobs: int | None = None) -> str:
        """A hash of what it gives."""
        exp = experiment_2(n=self.n_rows, random_state=0)
        est = ShapleyEffects(
            "boosting", n_subsets=self.n_subsets, tol=1e-9, random_state=0, checkpoint=checkpoint,
            n_jobs=n_jobs, max_rows=self.n_sample or self.n_rows, value_rows="all",
        )  # fmt: skip
        result = est.fit(exp.X, exp.y).result_
        return sha256(result.effects.tobytes() + result.covariance.tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    minute: Job  # about a CPU minute
    faulty: Job  # what loses its workers or its scheduler
    resumed: Job  # what is killed again and again
    rows: Job  # what is measured on more rows than it is grown on
    kills: int
    segments: int
    segment_rows: int
    fits: int


SIZES = {
    "full": Sizes(
        Job(30_000, 800),
        Job(8000, 400),
        Job(1000, 600),
        Job(1_000_000, 100, 20_000),
        20,
        50,
        600,
        200,
    ),
    "quick": Sizes(
        Job(3000, 150), Job(1500, 200), Job(500, 200), Job(300_000, 60, 3000), 4, 8, 200, 80
    ),
}


# Engines ------------------------------------------------------------------------------------------


@contextmanager
def dask(n_workers: int = 2) -> Iterator[Callable[[], list[int]]]:
    """A cluster; what is given tells the processes of its workers."""
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
def ray(n_workers: int = 2) -> Iterator[Callable[[], list[int]]]:
    """The same on Ray, whose servers listen at the loopback address only."""
    os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    import ray as engine
    from ray.util.joblib import register_ray

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


# Measuring ----------------------------------------------------------------------------------------


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


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it gives, CPU seconds, seconds."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    found = work()
    return found, cpu_seconds() - cpu, time.perf_counter() - wall


# Processes of their own ---------------------------------------------------------------------------


def start(script: str, *arguments: Any) -> subprocess.Popen[str]:
    """A script in a process, and a group of processes, of its own."""
    words = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


BARE = """
import sys, time
from benchmarks.engine_jobs import Job
Job(500, 20).run()
job = Job.read(sys.argv[1:])
print("ready", flush=True)
input()
start = time.perf_counter()
job.run()
print(time.perf_counter() - start, flush=True)
"""


def ceiling(job: Job) -> float:
    """How many times as much two processes that share nothing do at once as one alone: what the
    cores of the machine give, whoever uses them."""
    alone, both = _side_by_side(job, 1), _side_by_side(job, 2)
    return 2 * alone / both


def _side_by_side(job: Job, n: int) -> float:
    words = [sys.executable, "-c", BARE, *job.words()]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) for _ in range(n)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return max(float(process.communicate()[0]) for process in processes)
