"""Workers, schedulers and runs that are killed: see `benchmarks.engines`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.engine_jobs import ENGINES, Job, Sizes, start
from benchmarks.lines import Record
from shaff.fitting import all_rows
from shaff.fitting.checkpoint import open_file, values_of

# What is in a checkpoint ------------------------------------------------------------------------


def files(folder: str) -> list[Path]:
    """Whole ones; those under way, and what a kill leaves of them, begin with a dot."""
    return sorted(path for path in Path(folder).glob("*.part") if path.name[0] != ".")


def written(folder: str) -> dict[str, int]:
    """When each file was."""
    return {path.name: path.stat().st_mtime_ns for path in files(folder)}


def priced_in(folder: str) -> tuple[int, int]:
    """Subsets in the files, and how many of them are there twice."""
    keys = []
    for path in files(folder):
        arrays = open_file(path.read_bytes())
        found = None if arrays is None else values_of(arrays)
        assert found is not None, f"{path} is damaged"
        values, with_rows = found
        keys += [(path.name.split("-")[0], with_rows, key) for key in values.subsets.keys()]
    return len(keys), len(keys) - len(set(keys))


def when_half_is_priced(folder: str, total: int, strike: Callable[[], None]) -> threading.Thread:
    """``total`` is the number of files of a whole run on the same engine."""
    return _when(lambda: len(files(folder)) >= total // 2, strike)


def when_rows_are_saved(folder: str, strike: Callable[[], None]) -> threading.Thread:
    """Once sums over some of the rows are in the checkpoint."""
    return _when(lambda: rows_saved(folder) > 0, strike)


def rows_saved(folder: str) -> int:
    """Of which the sums are."""
    for path in Path(folder).glob("[!.]*.sums"):
        arrays = open_file(path.read_bytes())
        assert arrays is not None, f"{path} is damaged"
        return int(arrays["n_rows"])
    return 0


def _when(ready: Callable[[], bool], strike: Callable[[], None]) -> threading.Thread:
    def watch() -> None:
        while not ready():
            time.sleep(0.02)
        strike()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


# Cases --------------------------------------------------------------------------------------------


def worker_killed(name: str, sizes: Sizes) -> Record:
    """One of two workers gets SIGKILL when half is evaluated."""
    here, struck = sizes.faulty.run(), list[int]()
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
        with ENGINES[name]() as workers:
            sizes.faulty.run(whole)

            def strike() -> None:
                while not struck:
                    for pid in workers()[:1]:
                        os.kill(pid, signal.SIGKILL)
                        struck.append(priced_in(folder)[0])
                    time.sleep(0.01)

            thread = when_half_is_priced(folder, len(files(whole)), strike)
            there = sizes.faulty.run(folder)
            thread.join(1)
        in_all, twice = priced_in(folder)
        return {"same": here == there, "killed_after": struck, "evaluated": in_all,
                "priced_twice": twice}  # fmt: skip


def rows_killed(sizes: Sizes) -> Record:
    """All rows are measured when a worker, and then a run of its own, get SIGKILL."""
    here, struck = sizes.rows.run(), list[int]()
    all_rows.SAVED_EVERY = 1.0
    with tempfile.TemporaryDirectory() as folder, ENGINES["dask"]() as workers:

        def kill_worker() -> None:
            os.kill(workers()[0], signal.SIGKILL)
            struck.append(rows_saved(folder))

        when_rows_are_saved(folder, kill_worker)
        there = sizes.rows.run(folder)
    with tempfile.TemporaryDirectory() as folder:
        process = start(RUN, folder, *sizes.rows.words())

        def kill_run() -> None:
            stop(process)
            struck.append(rows_saved(folder))

        when_rows_are_saved(folder, kill_run).join()
        again, _, twice = _to_its_end(sizes.rows, folder)
    return {"same": here == there == again, "bits": [here, there, again], "killed_after": struck,
            "rows": sizes.rows.n_rows, "priced_twice": twice}  # fmt: skip


CLUSTER = """
import logging, sys, time
import distributed
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                       silence_logs=logging.CRITICAL)
    print(cluster.scheduler_address, flush=True)
    time.sleep(36000)
"""
DRIVER = """
import sys
import distributed, joblib
from benchmarks.engine_jobs import Job
if __name__ == "__main__":
    address, folder, *job = sys.argv[1:]
    with distributed.Client(address), joblib.parallel_config(backend="dask"):
        print(Job.read(job).run(folder), flush=True)
"""


class Cluster:
    """Dask's scheduler in one process, its two workers below that."""

    def __init__(self) -> None:
        self.process = start(CLUSTER)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        stop(self.process)

    def kill_scheduler(self) -> None:
        """The workers find out."""
        os.kill(self.process.pid, signal.SIGKILL)

    def drive(self, job: Job, folder: str) -> subprocess.Popen[str]:
        """A run of the job from another process."""
        return start(DRIVER, self.address, folder, *job.words())


def stop(process: subprocess.Popen[str]) -> None:
    """With all that it has started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def scheduler_killed(sizes: Sizes) -> Record:
    """When half is evaluated; a new cluster goes on from the checkpoint."""
    job = sizes.faulty
    here = job.run()
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
        with Cluster() as cluster:
            cluster.drive(job, whole).communicate()
            first = cluster.drive(job, folder)
            struck = list[float]()

            def strike() -> None:
                cluster.kill_scheduler()
                struck.append(time.monotonic())

            when_half_is_priced(folder, len(files(whole)), strike)
            words = first.communicate()[1].strip()
            ended = time.monotonic()
        before, (saved, _) = written(folder), priced_in(folder)
        with Cluster() as cluster:
            there = cluster.drive(job, folder).communicate()[0].strip()
        in_all, twice = priced_in(folder)
        again = sum(written(folder)[name] != when for name, when in before.items())
        return {
            "sentence": words.splitlines()[-1] if words else "",
            "exit_code": first.returncode,
            "seconds_to_end": ended - struck[0] if struck else None,
            "same": here == there,
            "priced_before": saved,
            "evaluated": [in_all, priced_in(whole)[0]],
            "priced_twice": twice,
            "files_written_again": again,
        }


RUN = """
import sys
from benchmarks.engine_jobs import Job
from shaff.fitting import all_rows
if __name__ == "__main__":
    all_rows.SAVED_EVERY = 1.0  # a kill is to find something
    folder, *job = sys.argv[1:]
    print(Job.read(job).run(folder), flush=True)
"""


def killed_again_and_again(sizes: Sizes) -> Record:
    """SIGKILL at random moments of a run, each go from the checkpoint of those before. A run that
    gets to its end has its bits looked at, and the next begins with an empty folder."""
    draw, moments, ends = random.Random(0), list[int](), list[tuple[str, int, int]]()
    here, begin = sizes.resumed.run(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ends.append(_to_its_end(sizes.resumed, folder))
    longest = time.monotonic() - begin
    while len(moments) < sizes.kills:
        with tempfile.TemporaryDirectory() as folder:
            while len(moments) < sizes.kills and _is_killed(
                sizes.resumed, folder, draw.uniform(0, longest)
            ):
                moments.append(priced_in(folder)[0])
            ends.append(_to_its_end(sizes.resumed, folder))
    return {
        "same": {found for found, _, _ in ends} == {here},
        "kills": len(moments),
        "priced_at_kills": moments,
        "runs_to_the_end": len(ends),
        "evaluated": [n for _, n, _ in ends],
        "priced_twice": sum(twice for _, _, twice in ends),
    }


def _to_its_end(job: Job, folder: str) -> tuple[str, int, int]:
    process = start(RUN, folder, *job.words())
    found, words = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a run that nobody killed has failed: {words}")
    return found.strip(), *priced_in(folder)


def _is_killed(job: Job, folder: str, after: float) -> bool:
    """Not one that was done before."""
    process = start(RUN, folder, *job.words())
    try:
        process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        stop(process)
    return process.returncode == -signal.SIGKILL
