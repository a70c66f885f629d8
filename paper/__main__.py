"""``python -m paper``: reproduce the tables and figures of the SHAFF paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.command import reproduce
from paper.plan import FULL, QUICK


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper", description="Reproduce the tables and figures of the SHAFF paper."
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: minutes")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("paper-output"),
        help="folder of page, figures and runs; what it holds is not run again",
    )
    parser.add_argument("--seed", type=int, default=0, help="where random numbers begin")
    parser.add_argument("--jobs", type=int, default=-1, help="runs at once, -1 for all cores")
    parser.add_argument("--repetitions", type=_whole, help="at most this many")
    parser.add_argument("--trees", type=_whole, help="at most this many per forest")
    parser.add_argument(
        "--minutes", type=float, help="start no run after this time; 0 only draws and writes"
    )
    return parser


def _tell(task: Any, run: Any, left: int) -> None:
    line = f"{task.key}: error {run.error:.3f}, {run.seconds:.1f} s; {left} left"
    print(line, file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> None:
    """Run what is missing, then draw and write."""
    asked = _parser().parse_args(words)
    study = (QUICK if asked.quick else FULL).limited(asked.repetitions, asked.trees, asked.seed)
    seconds = None if asked.minutes is None else 60 * asked.minutes
    print(reproduce(study, asked.output, n_jobs=asked.jobs, seconds=seconds, tell=_tell))
    folder = asked.output / "paper"
    print(f"\nSaved {asked.output / 'paper.md'} and its figures and runs in {folder}")


if __name__ == "__main__":
    main()
