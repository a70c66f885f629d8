"""Work elsewhere: same bits, what it costs, and what is left when workers or schedulers die.

    pip install "shaff[distributed]"
    python -m benchmarks.engines [--cases dask ray dask_killed ...] [--out engines.jsonl]
    python -m benchmarks.engines --sizes quick  # all of it in a few minutes, figures of no weight
    python -m benchmarks.engines --report engines.jsonl

Each case is a process of its own and leaves a line in the file; what the file has is skipped. The
end is a table of what was asked and measured.

- ``dask``, ``ray``: a job of about a CPU minute on two workers. Same bits as one process? CPU
  seconds of driver, engine and workers together, beside those of one process, on one core and in
  two threads: what shipping, messages and the engine's own threads cost. Both cores at work may
  each be slower than one alone, for which no engine is to blame: two threads tell that.
- ``dask_killed``, ``ray_killed``: one of the workers gets SIGKILL when half is evaluated.
- ``scheduler``: Dask's scheduler gets SIGKILL when half is evaluated; the run ends with a
  sentence; a new cluster goes on from the checkpoint. Same bits? Is any subset in the checkpoint
  twice, any file written again?
- ``segments``: 50 segments, one of them broken, by one Dask worker and by two, in turns; beside
  them how much faster two processes that share nothing are on this machine (``ceiling``).
- ``rows_dask``, ``rows_ray``: as ``dask`` and ``ray``, with learners that are grown on a sample and
  measured on a million rows. Each worker learns the steps of the learners by itself, where threads
  learn them once; with more rows that counts for less.
- ``rows_killed``: a worker, and a run, get SIGKILL while rows are measured; the second run goes on
  from the checkpoint.
- ``soak``: memory, open files and threads of one process over 200 fits.
- ``kills``: a checkpointed run gets SIGKILL 20 times at random moments; same bits at the end?
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil

from benchmarks.engine_faults import (
    killed_again_and_again,
    rows_killed,
    scheduler_killed,
    worker_killed,
)
from benchmarks.engine_jobs import ENGINES, SIZES, Job, Sizes, ceiling, dask, measured
from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects, explain_many
from shaff.datasets import experiment_1a

BROKEN = 7  # the segment that fails


def overhead(name: str, job: Job) -> Record:
    one, cpu_one, wall_one = measured(lambda: job.run(n_jobs=1))
    threads, cpu_threads, wall_threads = measured(lambda: job.run(n_jobs=2))
    with ENGINES[name]():
        Job(500, 20).run()  # workers are up and have imported what they need
        there, cpu_there, wall_there = measured(job.run)
    return {
        "same": one == threads == there,
        "cpu": [cpu_one, cpu_threads, cpu_there],
        "wall": [wall_one, wall_threads, wall_there],
        "overhead_cpu_one_core": cpu_there / cpu_one - 1,
        "overhead_cpu": cpu_there / cpu_threads - 1,
        "overhead_wall": wall_there / wall_threads - 1,
        "load": os.getloadavg()[1],
    }


def segments_table(n: int, rows: int) -> pl.DataFrame:
    exp = experiment_1a(n=n * rows, random_state=0)
    frame = pl.DataFrame(exp.X[:, :6], schema=list("abcdef"))
    segment = np.repeat(np.arange(n), rows)
    y = np.where(segment == BROKEN, np.nan, exp.y)
    return frame.with_columns(segment=segment, y=y)


def explain_segments(table: pl.DataFrame) -> Any:
    return explain_many(table, "y", by="segment", estimator="boosting", random_state=0)


def segments(sizes: Sizes) -> Record:
    table = segments_table(sizes.segments, sizes.segment_rows)
    few_rows = table.filter(pl.int_range(pl.len()).over("segment") < 100)
    spent: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    failures, hashes = set(), set()
    for n_workers in (2, 1, 1, 2):
        with dask(n_workers):
            explain_segments(few_rows)  # all workers have imported what they need
            many, *seconds = measured(lambda: explain_segments(table))
        spent[n_workers].append(tuple(seconds))
        failures |= {*many.failures.items()}
        effects = b"".join(result.effects.tobytes() for result in many.results.values())
        hashes.add(sha256(effects).hexdigest()[:16])
    (cpu_one, one), (cpu_two, two) = (np.min(spent[n], axis=0).tolist() for n in (1, 2))
    return {
        "faster": one / two,
        "ceiling": ceiling(sizes.faulty),
        "more_cpu": cpu_two / cpu_one - 1,
        "cpu_wall": spent,
        "same": len(hashes) == 1,
        "failures": sorted(failures),
        "results": len(many.results),
        "load": os.getloadavg()[1],
    }


def soak(sizes: Sizes) -> Record:
    exp, process, memory = experiment_1a(n=300, random_state=0), psutil.Process(), []
    files, threads = [], []
    for seed in range(sizes.fits):
        name = ("boosting", "forest", "smooth")[seed % 3]
        ShapleyEffects(name, n_subsets=40, random_state=seed, n_jobs=2).fit(exp.X, exp.y)
        memory.append(process.memory_info().rss / 2**20)
        files.append(process.num_fds())
        threads.append(process.num_threads())
    settled, end = float(np.median(memory[30:50])), float(np.median(memory[-20:]))
    return {"fits": len(memory), "settled_mb": settled, "end_mb": end, "growth": end / settled - 1,
            "first_mb": memory[0], "peak_mb": max(memory), "open_files": [files[0], files[-1]],
            "threads": [threads[0], threads[-1]]}  # fmt: skip


CASES = {
    "dask": lambda sizes: overhead("dask", sizes.minute),
    "ray": lambda sizes: overhead("ray", sizes.minute),
    "dask_killed": lambda sizes: worker_killed("dask", sizes),
    "ray_killed": lambda sizes: worker_killed("ray", sizes),
    "scheduler": scheduler_killed,
    "rows_dask": lambda sizes: overhead("dask", sizes.rows),
    "rows_ray": lambda sizes: overhead("ray", sizes.rows),
    "rows_killed": rows_killed,
    "segments": segments,
    "soak": soak,
    "kills": killed_again_and_again,
}


def run(case: str, sizes: str) -> Record:
    """In a process of its own: neither memory nor threads of other cases are in its figures."""
    print(f"{case} ({sizes}) …", flush=True)
    words = [sys.executable, "-m", "benchmarks.engines", "--cases", case, "--sizes", sizes]
    said = subprocess.run([*words, "--child"], stdout=subprocess.PIPE, text=True, check=True)
    record: Record = json.loads(said.stdout.splitlines()[-1])
    return record


def run_here(case: str, sizes: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = CASES[case](SIZES[sizes])
    print("\n" + json.dumps(record), flush=True)


# The table ----------------------------------------------------------------------------------------


def _bits(record: Record) -> str:
    return "same bits" if record["same"] else "OTHER BITS"


def _overhead_words(r: Record) -> str:
    return (
        f"{_bits(r)}; CPU {r['overhead_cpu']:+.0%}, wall {r['overhead_wall']:+.0%} against two "
        f"threads of one process ({r['cpu'][1]:.0f} CPU s); CPU {r['overhead_cpu_one_core']:+.0%} "
        "against one core"
    )


def _killed_words(r: Record) -> str:
    return f"{_bits(r)}; killed when {r['killed_after']} of {r['evaluated']} subsets were evaluated"


def _rows_killed_words(r: Record) -> str:
    worker, run = r["killed_after"]
    return (
        f"{_bits(r)}; killed when {worker} (a worker) and {run} (a run) of {r['rows']} rows were "
        f"saved; {r['priced_twice']} subsets evaluated twice"
    )


def _scheduler_words(r: Record) -> str:
    return (
        f"{_bits(r)}; {r['priced_before']} evaluated before, {r['evaluated'][0]} in all "
        f"({r['evaluated'][1]} by a run left alone), {r['priced_twice']} twice, "
        f"{r['files_written_again']} files written again; first run ended after "
        f"{r['seconds_to_end'] or float('nan'):.0f} s: {r['sentence']}"
    )


def _segments_words(r: Record) -> str:
    reasons = "; ".join(f"segment {name}: {reason}" for name, reason in r["failures"])
    return (
        f"{_bits(r)}; {r['faster']:.2f} × as fast, CPU {r['more_cpu']:+.0%} (two processes that "
        f"share nothing: {r['ceiling']:.2f} ×); {r['results']} results, {reasons[:100]}"
    )


def _soak_words(r: Record) -> str:
    (first, last), (few, many) = r["open_files"], r["threads"]
    return (
        f"{r['growth']:+.1%} over {r['fits']} fits ({r['settled_mb']:.0f} MB); open files {first} "
        f"after the first and {last} after the last, threads {few} and {many}"
    )


def _kills_words(r: Record) -> str:
    evaluating = sum(n > 0 for n in r["priced_at_kills"])
    return (
        f"{_bits(r)} in {r['runs_to_the_end']} runs to the end, {r['kills']} kills, {evaluating} "
        f"of them with something evaluated; {r['priced_twice']} evaluated twice"
    )


ASKED = {
    "dask": ("same bits; overhead < 30 % on a one-minute job", _overhead_words),
    "ray": ("same bits; overhead < 30 % on a one-minute job", _overhead_words),
    "dask_killed": ("same result, a worker killed at half time", _killed_words),
    "ray_killed": ("same result, a worker killed at half time", _killed_words),
    "scheduler": ("same result after a resume, nothing evaluated twice", _scheduler_words),
    "rows_dask": ("same bits; overhead < 30 %", _overhead_words),
    "rows_ray": ("same bits; overhead < 30 %", _overhead_words),
    "rows_killed": ("same result, killed while rows are measured", _rows_killed_words),
    "segments": ("≥ 1.7 × with two workers, one segment fails", _segments_words),
    "soak": ("memory flat within 5 %, no more files and threads, over 200 fits", _soak_words),
    "kills": ("same bits after 20 SIGKILLs", _kills_words),
}


def report(records: list[Record]) -> None:
    for record in records:
        asked, words = ASKED[record["case"]]
        sizes = "" if record["sizes"] == "full" else f" ({record['sizes']})"
        load = f"; load {record['load']:.1f}" if "load" in record else ""
        print(f"{record['case'] + sizes:12s} asked: {asked}\n{'':12s} found: {words(record)}{load}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--sizes", default="full", choices=list(SIZES))
    parser.add_argument("--out", type=Path, default=Path("engines.jsonl"))
    parser.add_argument("--report", type=Path, help="print the table of a file, run nothing")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return run_here(*arguments.cases, arguments.sizes)
    if arguments.report is None:
        fill(
            arguments.out,
            [{"case": case, "sizes": arguments.sizes} for case in arguments.cases],
            run,
        )
    report(read(arguments.report or arguments.out))


if __name__ == "__main__":
    main()
