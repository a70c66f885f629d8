"""What ``estimator="auto"`` takes: an average of learners, where its cost is bearable."""

from __future__ import annotations

from shaff.data.problem import Problem
from shaff.protocols import Game
from shaff.values.boosting.grown import make_boosting
from shaff.values.stack import make_stack

# Up to so many rows "auto" stacks: that evaluates a subset several times.
# More takes minutes (`benchmarks.pairs`), fewer lose accuracy (`benchmarks.truth`).
STACKED_ROWS = 5000


def stacks(problem: Problem) -> bool:
    """Whether learners are stacked: not for many rows, nor for splits that only boosting keeps
    to."""
    return not problem.has_splits and len(problem.X) <= STACKED_ROWS


def make_auto(problem: Problem) -> Game:
    """Make the stack; or boosting, for many rows and for splits that only boosting keeps to."""
    return make_stack(problem) if stacks(problem) else make_boosting(problem)
