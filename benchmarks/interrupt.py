"""How long Ctrl-C takes to end a fit: ``python -m benchmarks.interrupt``.

Every estimator and preset is fitted to 100 000 rows in a process of its own, which gets SIGINT
when it has used some seconds of CPU. Measured is from the signal to the end of ``fit``, in CPU
seconds of that process, which other work on the machine does not change; the wall time stands
beside. A process that is done before the signal is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from shaff import ShapleyEffects
from shaff.datasets import experiment_1a
from shaff.fitting.presets import PRESETS

ESTIMATORS = ("forest", "boosting", "smooth", "stack")
SYSTEMS = [*ESTIMATORS, "as_published", *PRESETS]
LONGEST = 1.0  # CPU seconds


def settings(name: str, jobs: int) -> ShapleyEffects:
    shared: dict[str, Any] = {"random_state": 0, "n_jobs": jobs}
    if name in ESTIMATORS:
        return ShapleyEffects(name, **shared)
    if name == "as_published":
        return ShapleyEffects.as_published(**shared)
    return ShapleyEffects.preset(name, **shared)


def fit_until_interrupted(name: str, n: int, jobs: int) -> None:
    """The process that is interrupted; a line when the fit starts and one when it ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells switch it off behind "&"
    exp = experiment_1a(n, random_state=0)
    model = settings(name, jobs)
    print("started", flush=True)
    try:
        model.fit(exp.X, exp.y)
        how = "done"
    except KeyboardInterrupt:
        how = "interrupted"
    except Exception as error:
        how = f"{type(error).__name__}: {error}"
    print(json.dumps({"how": how, "cpu": time.process_time(), "wall": time.time()}), flush=True)


def stat(pid: int) -> list[str]:
    """What Linux says of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid: int) -> float:
    """Of a process and its threads."""
    return sum(int(ticks) for ticks in stat(pid)[11:13]) / os.sysconf("SC_CLK_TCK")


def is_done(pid: int) -> bool:
    return stat(pid)[0] == "Z"


def measure(name: str, at: float, n: int, jobs: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.interrupt", "--child", name]
    command += ["--rows", str(n), "--jobs", str(jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        start = cpu_seconds(child.pid)
        # A child that is done stays readable until it is waited for, at the end of this block.
        while not is_done(child.pid) and cpu_seconds(child.pid) < start + at:
            time.sleep(0.1)
        before, wall = cpu_seconds(child.pid), time.time()
        child.send_signal(signal.SIGINT)
        last = child.stdout.readline()
    if not last:
        return {"how": f"exit {child.returncode}", "cpu": float("nan"), "wall": float("nan")}
    said = json.loads(last)
    return {"how": said["how"], "cpu": said["cpu"] - before, "wall": said["wall"] - wall}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--at", type=float, nargs="+", default=[2, 10, 40], help="CPU seconds")
    parser.add_argument("--only", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return fit_until_interrupted(args.child, args.rows, args.jobs)
    print(f"n = {args.rows}, {args.jobs} job(s); from Ctrl-C to the end of fit")
    slow = []
    for name in args.only:
        for at in args.at:
            found = measure(name, at, args.rows, args.jobs)
            times = f"{found['cpu']:6.2f} s CPU   {found['wall']:6.2f} s"
            print(f"  {name:22s} at {at:5.1f} s   {times}   {found['how']}", flush=True)
            if found["how"] != "done" and not found["cpu"] <= LONGEST * args.jobs:
                slow.append(name)
    print(f"longer than {LONGEST:.0f} s: {', '.join(sorted(set(slow))) or 'none'}")
    sys.exit(bool(slow))


if __name__ == "__main__":
    main()
