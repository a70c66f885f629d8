"""``python -m paper``: reproduce the tables and figures of the SHAFF paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.command import reproduce
from paper.plan import FULL, QUICK
from paper.study import PARTS
from shaff.errors import UserError


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper", description="Reproduce the tables and figures of the SHAFF paper."
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: minutes, not hours")
    parser.add_argument("--only", choices=PARTS, help="one part of the study")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("paper-output"),
        help="folder of the page, figures and runs; runs that it holds are not repeated",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first repetition")
    parser.add_argument("--jobs", type=int, default=-1, help="runs at a time; -1 means all cores")
    parser.add_argument("--repetitions", type=_whole, help="largest number of repetitions")
    parser.add_argument("--trees", type=_whole, help="largest number of trees per forest")
    parser.add_argument(
        "--minutes",
        type=float,
        help="start no run after this time; 0 only writes the page",
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
    try:
        tables = reproduce(
            study,
            asked.output,
            only=asked.only,
            n_jobs=asked.jobs,
            seconds=seconds,
            tell=_tell,
        )
    except UserError as error:
        raise SystemExit(f"Error: {error}") from None
    print(tables)
    folder = asked.output / "paper"
    print(f"\nSaved {asked.output / 'paper.md'} and its figures and runs in {folder}")


if __name__ == "__main__":
    main()
