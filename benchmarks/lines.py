"""Files with a line a run: a benchmark that was stopped goes on where it was."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

Record = dict[str, Any]
Key = dict[str, Any]


def read(path: Path) -> list[Record]:
    """The runs of a file, none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def fill(path: Path, keys: Iterable[Key], run: Callable[..., Record], jobs: int = 1) -> None:
    """Append the runs that the file lacks; ``run(**key)`` gives what stands beside its key."""
    done = read(path)
    wanted = [key for key in keys if not any(key.items() <= record.items() for record in done)]
    # In bunches, so that little is lost when it is stopped.
    for start in range(0, len(wanted), jobs):
        some = wanted[start : start + jobs]
        found = Parallel(jobs)(delayed(run)(**key) for key in some)
        with path.open("a") as file:
            for key, record in zip(some, found, strict=True):
                file.write(json.dumps({**key, **record}) + "\n")


def run_parts(
    about: str | None,
    parts: Sequence[str],
    keys: Callable[[str, range], Iterable[Key]],
    run: Callable[..., Record],
    report: Callable[[list[Record]], None],
    *,
    out: str,
    seeds: int,
) -> None:
    """The command line of a benchmark in parts: run what its file lacks, then report."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, seeds))
    parser.add_argument("--out", type=Path, default=Path(out))
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    if given.report is None:
        for part in given.parts:
            some = [{"part": part, **key} for key in keys(part, range(*given.seeds))]
            fill(given.out, some, run)
    report(read(given.report or given.out))
