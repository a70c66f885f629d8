"""How long a default fit would take on so many cores, by what has to wait for what.

    python -m benchmarks.chain [--case 2:4900 1a:1000] [--cores 1 2 16]

A fit runs on one thread, cut into tasks as for so many cores. What each task takes is recorded, and
the time between the calls of `run_in_threads`, which is serial. Then the tasks of every call are
given in their order to so many workers, and the makespans and the serial times are added up: the
wall time of a machine with cores as fast as this one, if tasks never wait for each other, as they
do for the lock of Python. All times are CPU times of the one thread, so that other work on the
machine does not change them much. Serial time is told by the functions of shaff that it is spent
in, from a sample every few milliseconds.
"""

from __future__ import annotations

import argparse
import heapq
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

from shaff import ShapleyEffects
from shaff._util.threads import Tasks, recorder
from shaff._util.typing import FloatArray
from shaff.datasets import experiment_1a, experiment_1b, experiment_2, load_diabetes

MAKE = {"1a": experiment_1a, "1b": experiment_1b, "2": experiment_2}
SAMPLED_EVERY = 0.005  # CPU seconds
N_SHOWN = 5


@dataclass
class Recorded:
    """The calls of a fit, with the seconds of their tasks, and serial seconds by function."""

    calls: list[tuple[str, list[float]]] = field(default_factory=list)
    serial: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    _seen: float = field(default_factory=time.thread_time)
    _in_task: bool = False

    def __call__(self, function: Callable[..., Any], tasks: Tasks) -> list[Any]:
        """Run the tasks of a call one after the other; those inside a task are part of it."""
        if self._in_task:
            return [function(*task) for task in tasks]
        name = name_of(function)
        self._add_serial(sys._getframe())
        seconds: list[float] = []
        self._in_task = True
        try:
            return [self._timed(function, task, seconds) for task in tasks]
        finally:
            self._in_task = False
            self.calls.append((name, seconds))

    def sample(self, _: int, frame: FrameType | None) -> None:
        """Give the time since the last sample to what runs now."""
        if not self._in_task:
            self._add_serial(frame)

    def _timed(
        self, function: Callable[..., Any], task: tuple[Any, ...], seconds: list[float]
    ) -> Any:
        found = function(*task)
        now = time.thread_time()
        seconds.append(now - self._seen)
        self._seen = now
        return found

    def _add_serial(self, frame: FrameType | None) -> None:
        now = time.thread_time()
        self.serial[innermost(frame)] += now - self._seen
        self._seen = now

    @property
    def in_tasks(self) -> float:
        return sum(sum(seconds) for _, seconds in self.calls)

    @property
    def in_series(self) -> float:
        return sum(self.serial.values())

    def wall(self, n_cores: int) -> float:
        """Simulated wall seconds."""
        return self.in_series + sum(makespan(seconds, n_cores) for _, seconds in self.calls)


def makespan(seconds: list[float], n_cores: int) -> float:
    """When the last task ends, if each goes to the first worker that is free."""
    free = [0.0] * n_cores
    for task in seconds:
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def name_of(function: Callable[..., Any]) -> str:
    inner = function.func if isinstance(function, partial) else function
    return getattr(inner, "__qualname__", repr(inner)).replace("<locals>.", "")


def innermost(frame: FrameType | None) -> tuple[str, str]:
    """The module and function of shaff that a frame is in, or was called from."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("shaff") and not module.startswith("shaff._util"):
            return module, frame.f_code.co_qualname
        frame = frame.f_back
    return "elsewhere", ""


@contextmanager
def recording() -> Iterator[Recorded]:
    recorded = Recorded()
    token = recorder.set(recorded)
    signal.signal(signal.SIGPROF, recorded.sample)
    signal.setitimer(signal.ITIMER_PROF, SAMPLED_EVERY, SAMPLED_EVERY)
    try:
        yield recorded
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        recorder.reset(token)


def data_of(case: str) -> tuple[FloatArray, FloatArray]:
    if case == "diabetes":
        X, y, _ = load_diabetes()
        return X, y
    name, _, rows = case.partition(":")
    drawn = MAKE[name](**({"n": int(rows)} if rows else {}), random_state=0)
    return drawn.X, drawn.y


def record(case: str, n_cores: int) -> Recorded:
    """Record a fit with the defaults; a small one before it imports what is needed."""
    X, y = data_of(case)
    with recording():
        ShapleyEffects(random_state=0, n_jobs=n_cores).fit(X[:100], y[:100])
    with recording() as recorded:
        ShapleyEffects(random_state=0, n_jobs=n_cores).fit(X, y)
    return recorded


def report(case: str, cores: list[int]) -> None:
    """A line for each number of cores; and for the last what its chain is made of."""
    print(case)
    for n_cores in cores:
        recorded = record(case, n_cores)
        total = recorded.in_tasks + recorded.in_series
        print(
            f"  {n_cores:3d} cores: CPU {total:6.2f} s, {recorded.in_tasks / total:4.0%} of it in "
            f"tasks, wall {recorded.wall(n_cores):6.2f} s",
            flush=True,
        )
    report_chain(recorded, cores[-1])


def report_chain(recorded: Recorded, n_cores: int) -> None:
    print(f"  serial: {recorded.in_series:.2f} s, most of it in")
    modules: dict[str, dict[str, float]] = defaultdict(dict)
    for (module, function), seconds in recorded.serial.items():
        modules[module][function] = seconds
    for module, parts in largest(modules, lambda parts: sum(parts.values())):
        print(f"    {sum(parts.values()):6.2f} s  {module} (mostly {max(parts, key=parts.get)})")
    calls: dict[str, list[list[float]]] = defaultdict(list)
    for name, seconds in recorded.calls:
        calls[name].append(seconds)
    spans = {name: sum(makespan(s, n_cores) for s in some) for name, some in calls.items()}
    print(f"  in tasks on {n_cores} cores: {sum(spans.values()):.2f} s, most of it in")
    for name, span in largest(spans, float):
        n_tasks = sum(map(len, calls[name]))
        print(f"    {span:6.2f} s  {name} ({n_tasks} tasks in {len(calls[name])} calls)")


def largest(things: dict[str, Any], size: Callable[[Any], float]) -> list[tuple[str, Any]]:
    return sorted(things.items(), key=lambda item: size(item[1]), reverse=True)[:N_SHOWN]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", nargs="+", default=["2:4900", "1a:1000"], metavar="NAME[:ROWS]")
    parser.add_argument("--cores", nargs="+", type=int, default=[1, 2, 16])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for case in options.case:
        report(case, options.cores)


if __name__ == "__main__":
    main()
