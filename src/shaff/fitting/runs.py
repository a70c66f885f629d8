"""Runs of a simulator: a function at many points, some of which may fail, saved as they come."""

from __future__ import annotations

import inspect
import io
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt

from shaff._util.files import check_target, replacing
from shaff._util.numbers import unmasked
from shaff._util.typing import FloatArray, say_nothing
from shaff._util.words import enumerated
from shaff._util.work import Engine, current_engine, engaged, run_tasks, stream_outcomes
from shaff.data.points import Columns
from shaff.errors import InputError, InputTypeError, StorageError, WorkersLostError

# Points of one call of a vectorised function. It may not depend on the number of workers, or the
# last bits of the outputs would.
VECTOR_POINTS = 1024
# Tasks that the points are cut into otherwise. More, and quick functions wait for messages; fewer,
# and slow ones are saved late.
BLOCKS = 256
# Tasks in threads of this process between two looks at the clock.
WAVE = 8
# Seconds between two savings: what a power cut may cost.
SAVE_SECONDS = 2.0
# Relative difference of two calls at one point that is rounding, as by other sizes of blocks.
SAME = 1e-9
FORMAT = "shaff runs 1"
ONE_OUTPUT = "several outputs are explained one at a time"


class Run(NamedTuple):
    """Output of one run; NaN, and the reason, if it failed."""

    output: float
    reason: str = ""


@dataclass(eq=False)
class RunOutputs:
    """Outputs at all points as far as they are known; changed in place as runs end.

    Parameters
    ----------
    y : float array of shape (n,)
        NaN where a run failed, or has not been made.
    reasons : list of str
        Why each run failed; empty if it did not.
    """

    y: FloatArray
    reasons: list[str]

    @classmethod
    def none_yet(cls, n: int) -> RunOutputs:
        """No run of n points."""
        return cls(np.full(n, np.nan), [""] * n)

    def keep(self, start: int, found: list[Run]) -> None:
        """Keep the runs of points from one on."""
        for row, run in enumerate(found, start):
            self.y[row], self.reasons[row] = run


@dataclass(frozen=True, eq=False)
class Simulator:
    """A function and the points at which it is run.

    Parameters
    ----------
    f : callable
        It has one parameter for each input, by name, or one parameter for all of them.
    columns : dict of arrays of shape (n,)
        The inputs.
    vectorised : bool
        Whether f takes many points at once.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.runs import Simulator
    >>> Simulator(lambda a, b: a / b, {"a": np.ones(2), "b": np.arange(2.0)}, False).run(1, 2)
    [Run(output=1.0, reason='')]
    """

    f: Callable[..., Any]
    columns: Columns
    vectorised: bool

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(next(iter(self.columns.values())))

    @cached_property
    def takes_names(self) -> bool:
        """Whether f is called with the inputs by name, not with an array of all of them."""
        return takes_names(self.f, list(self.columns))

    def run(self, start: int, stop: int) -> list[Run]:
        """Run the points of one block; an error of a run is its reason."""
        if not self.vectorised:
            return [self._run_one(row) for row in range(start, stop)]
        try:
            outputs = self._call(slice(start, stop))
        except Exception as error:
            if stop - start == 1:
                return [_failed(error)]
            # One point may have failed them all.
            return [run for row in range(start, stop) for run in self.run(row, row + 1)]
        return _split(outputs, stop - start)

    def _run_one(self, row: int) -> Run:
        try:
            return as_run(self._call(row))
        except Exception as error:
            return _failed(error)

    def _call(self, rows: int | slice) -> Any:
        if self.takes_names:
            return self.f(**{name: _plain(column[rows]) for name, column in self.columns.items()})
        return self.f(np.stack([column[rows] for column in self._alike], axis=-1))

    @cached_property
    def _alike(self) -> list[npt.NDArray[Any]]:
        """Columns of one type: numbers, or objects if some of them are text."""
        columns = list(self.columns.values())
        numeric = all(column.dtype.kind in "biuf" for column in columns)
        return [column.astype(float if numeric else object) for column in columns]


def takes_names(f: Any, names: list[str]) -> bool:
    """Whether a function has a parameter for each name; else it must take one array.

    Examples
    --------
    >>> from shaff.fitting.runs import takes_names
    >>> takes_names(lambda a, b: a + b, ["a", "b"]), takes_names(lambda x: x[0], ["a", "b"])
    (True, False)
    """
    if not callable(f):
        raise InputTypeError(f"f must be a function of the inputs; got {type(f).__name__}.")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # some functions written in C have none
        return False
    if _binds(signature, **dict.fromkeys(names)):
        return True
    if not _binds(signature, None):
        raise InputError(
            f"f{signature} takes neither the inputs by name ({enumerated(names)}) nor one array of "
            "all of them."
        )
    return False


def _binds(signature: inspect.Signature, *args: Any, **named: Any) -> bool:
    try:
        signature.bind(*args, **named)
    except TypeError:
        return False
    return True


def _plain(value: Any) -> Any:
    """A number or text of Python in place of numpy's; arrays as they are."""
    return value.item() if isinstance(value, np.generic) else value


def as_run(output: Any) -> Run:
    """Read what a function returned for one point.

    Examples
    --------
    >>> from shaff.fitting.runs import as_run
    >>> as_run(2), as_run(None).reason
    (Run(output=2.0, reason=''), 'returned None')
    """
    try:
        array = np.asarray(unmasked(output))
        if array.size != 1:
            return Run(np.nan, f"returned shape {array.shape}, not one number ({ONE_OUTPUT})")
        number = float(array.reshape(()).item()) if array.dtype.kind in "biuf" else None
    except (TypeError, ValueError):
        number = None
    if number is None:
        return Run(np.nan, f"returned {output!r}"[:200])
    return Run(number) if np.isfinite(number) else Run(np.nan, f"returned {number}")


def _failed(error: Exception) -> Run:
    return Run(np.nan, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")


def _split(outputs: Any, n: int) -> list[Run]:
    try:
        array = np.asarray(unmasked(outputs))
    except ValueError as error:
        raise InputError(f"f returned what is no array of {n} numbers ({ONE_OUTPUT}).") from error
    if array.shape not in ((n,), (n, 1)) and (array.size, n) != (1, 1):
        raise InputError(
            f"f returned shape {array.shape} for {n} points, not one number for each: "
            f"{ONE_OUTPUT}; without vectorised=True it is called point by point."
        )
    return [as_run(output) for output in array.reshape(n).tolist()]


# All runs -----------------------------------------------------------------------------------------


def run_all(
    simulator: Simulator,
    n_jobs: int | None,
    checkpoint: str | os.PathLike[str] | None = None,
    tell: Callable[[int, int], None] = say_nothing,
) -> RunOutputs:
    """Run all points that are not known yet, and save them as they come.

    Tasks run in processes of this machine, or where ``joblib.parallel_config`` says.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.runs import Simulator, run_all
    >>> run_all(Simulator(lambda a: 2 * a, {"a": np.arange(3)}, True), n_jobs=1).y.tolist()
    [0.0, 2.0, 4.0]
    """
    saved = None if checkpoint is None else SavedRuns(checkpoint, simulator.columns)
    runs = RunOutputs.none_yet(simulator.n_points) if saved is None else saved.load()
    done, n = int(np.isfinite(runs.y).sum()), simulator.n_points
    try:
        with engaged(n_jobs, prefer="processes"):
            for start, found in _outcomes(simulator, _blocks(runs.y, simulator.vectorised), n_jobs):
                runs.keep(start, found)
                done += len(found)
                tell(done, n)
                if saved is not None:
                    saved.save_now_and_then(runs)
    finally:  # also when the user has had enough
        if saved is not None:
            saved.save(runs)
    return runs


def _blocks(y: FloatArray, vectorised: bool) -> list[tuple[int, int]]:
    """Start and stop of each stretch of points without an output, cut into blocks."""
    size = VECTOR_POINTS if vectorised else max(1, len(y) // BLOCKS)
    edges = np.flatnonzero(np.diff(np.isnan(y), prepend=False, append=False)).reshape(-1, 2)
    return [
        (at, min(at + size, stop))
        for start, stop in edges.tolist()
        for at in range(start, stop, size)
    ]


def _outcomes(
    simulator: Simulator, blocks: list[tuple[int, int]], n_jobs: int | None
) -> Iterator[tuple[int, list[Run]]]:
    engine = current_engine()
    if engine is not None:
        yield from _elsewhere(engine, simulator, blocks)
        return
    for first in range(0, len(blocks), WAVE):
        wave = blocks[first : first + WAVE]
        found = run_tasks(Simulator.run, simulator, wave, n_jobs)
        yield from zip([start for start, _ in wave], found, strict=True)


def _elsewhere(
    engine: Engine, simulator: Simulator, blocks: list[tuple[int, int]]
) -> Iterator[tuple[int, list[Run]]]:
    """Runs in workers. The points of a block that no worker survives are run one by one."""
    alone: list[tuple[int, int]] = []
    for number, outcome in stream_outcomes(engine, Simulator.run, simulator, blocks):
        start, stop = blocks[number]
        if outcome.error is None:
            yield start, outcome.value
        elif not isinstance(outcome.error, WorkersLostError) or engine.is_gone:
            raise outcome.error
        elif stop - start == 1:
            yield start, [_failed(outcome.error)]
        else:
            alone += [(row, row + 1) for row in range(start, stop)]
    if alone:
        yield from _elsewhere(engine, simulator, alone)


def repeats(simulator: Simulator, y: FloatArray) -> bool:
    """Whether another call at the first point that did not fail gives the same output.

    Examples
    --------
    >>> import itertools
    >>> import numpy as np
    >>> from shaff.fitting.runs import Simulator, repeats
    >>> count = itertools.count()
    >>> repeats(Simulator(lambda a: next(count), {"a": np.zeros(1)}, False), np.array([7.0]))
    False
    """
    row = int(np.flatnonzero(np.isfinite(y))[0])
    (again,) = simulator.run(row, row + 1)
    return bool(np.isclose(again.output, y[row], rtol=SAME, atol=0.0))


# Files --------------------------------------------------------------------------------------------


class SavedRuns:
    """A file with the outputs at the first so many points, from which runs go on.

    Failed runs are not kept: they are tried again.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from shaff.fitting.runs import RunOutputs, SavedRuns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = SavedRuns(f"{folder}/runs.npz", {"a": np.arange(3.0)})
    ...     saved.save(RunOutputs(np.array([1.0, np.nan, 3.0]), [""] * 3))
    ...     SavedRuns(f"{folder}/runs.npz", {"a": np.arange(4.0)}).load().y.tolist()
    [1.0, nan, 3.0, nan]
    """

    def __init__(self, path: str | os.PathLike[str], columns: Columns) -> None:
        check_target(path)
        self._path, self._columns = Path(path), columns
        self._saved_at = time.monotonic()

    def load(self) -> RunOutputs:
        """Return the runs that are known; none without a file."""
        runs = RunOutputs.none_yet(len(next(iter(self._columns.values()))))
        if self._path.exists():
            known = self._read(len(runs.y))
            runs.y[: len(known)] = known
        return runs

    def save_now_and_then(self, runs: RunOutputs) -> None:
        """Save if the last time is long enough ago."""
        if time.monotonic() - self._saved_at > SAVE_SECONDS:
            self.save(runs)

    def save(self, runs: RunOutputs) -> None:
        """Write the file anew, whole or not at all."""
        body = io.BytesIO()
        points = _fingerprint(self._columns, len(runs.y))
        np.savez(body, format=np.array(FORMAT), points=np.array(points), y=runs.y)
        try:
            with replacing(self._path) as temporary:
                temporary.write_bytes(body.getvalue())
        except OSError as error:
            raise StorageError(
                f"The runs cannot be saved in {self._path} ({error.strerror or error})."
            ) from error
        self._saved_at = time.monotonic()

    def _read(self, n: int) -> FloatArray:
        try:
            with np.load(self._path, allow_pickle=False) as file:
                found = {name: file[name] for name in ("format", "points", "y")}
        except Exception as error:
            raise InputError(f"{self._path} holds no runs that can be read ({error}).") from error
        if str(found["format"]) != FORMAT:
            raise InputError(f"{self._path} holds runs of another version of shaff.")
        y = np.asarray(found["y"], dtype=float)
        if len(y) > n or str(found["points"]) != _fingerprint(self._columns, len(y)):
            raise InputError(
                f"{self._path} holds runs at {len(y)} other points: name another file, or take the "
                "same inputs, correlation, points and random_state, and at least as many runs."
            )
        return y


def _fingerprint(columns: Columns, n: int) -> str:
    """A hash of the first n points."""
    first = [(name, column[:n].tolist()) for name, column in columns.items()]
    return str(joblib.hash(first, hash_name="sha1"))
