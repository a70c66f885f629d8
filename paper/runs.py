"""Runs of the paper's experiments, kept in one JSON file so that an interrupted study goes on."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shaff._util.files import replacing
from shaff.errors import InputError

FORMAT = 1


@dataclass(frozen=True, order=True)
class Task:
    """One system on one draw of one experiment.

    Parameters
    ----------
    experiment : str
        "1a", "1b", "2" or "3"; "p=20" for independent inputs of that number.
    system : str
        A name of `paper.systems.SYSTEMS`.
    seed : int
        Seed of the data and of the system.
    n_rows : int
    n_subsets : int
    n_trees : int

    Examples
    --------
    >>> from paper.runs import Task
    >>> Task("1a", "sage", seed=3, n_rows=3000, n_subsets=500, n_trees=500).key
    '1a/sage/n=3000/K=500/M=500/seed=3'
    """

    experiment: str
    system: str
    seed: int
    n_rows: int
    n_subsets: int
    n_trees: int

    @property
    def key(self) -> str:
        """The name of this run in the file."""
        return (
            f"{self.experiment}/{self.system}/n={self.n_rows}/K={self.n_subsets}"
            f"/M={self.n_trees}/seed={self.seed}"
        )


@dataclass(frozen=True)
class Run:
    """What a task gave.

    Parameters
    ----------
    effects : list of float
    error : float
        Sum over the variables of the absolute difference to the exact effects.
    seconds : float
        Processor time, the fit of the model included: other work on the machine does not count.
    explained : float
        v(all).
    n_evaluated : int
        Number of subsets evaluated.
    """

    effects: list[float]
    error: float
    seconds: float
    explained: float
    n_evaluated: int


class RunStore:
    """Runs by task, written to disk after every one.

    Parameters
    ----------
    path : path
        A JSON file; read when it exists.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from paper.runs import Run, RunStore, Task
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "runs.json"
    >>> task = Task("2", "shaff", seed=0, n_rows=100, n_subsets=50, n_trees=10)
    >>> RunStore(path).add(task, Run([0.5, 0.25], 0.1, 2.0, 0.8, 50))
    >>> RunStore(path).get(task).effects
    [0.5, 0.25]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._runs = self._read()

    def _read(self) -> dict[str, Run]:
        if not self.path.exists():
            return {}
        stored = json.loads(self.path.read_text(encoding="utf-8"))
        if stored.get("format") != FORMAT:
            raise InputError(f"{self.path} is not a file of runs of format {FORMAT}.")
        return {key: Run(**run) for key, run in stored["runs"].items()}

    def get(self, task: Task) -> Run | None:
        """Return the run of a task, or None if there is none yet."""
        return self._runs.get(task.key)

    def add(self, task: Task, run: Run) -> None:
        """Keep a run, in memory and on disk."""
        # Another process may have added runs meanwhile.
        self._runs = {**self._runs, **self._read(), task.key: run}
        self._write()

    def _write(self) -> None:
        # One line per run, so that differences between two files can be read.
        lines = (
            f"{json.dumps(key)}: {json.dumps(_rounded(run))}"
            for key, run in sorted(self._runs.items())
        )
        text = f'{{"format": {FORMAT}, "runs": {{\n' + ",\n".join(lines) + "\n}}\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # An interrupt never leaves half a file.
        with replacing(self.path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _rounded(run: Run) -> dict[str, Any]:
    fields = asdict(run)
    fields["effects"] = [round(effect, 5) for effect in run.effects]
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in fields.items()}
