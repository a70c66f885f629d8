"""What ``estimator="auto"`` takes: an average of learners, where its cost is bearable."""

from __future__ import annotations

from shaff.data.problem import Problem
from shaff.protocols import Game
from shaff.values.boosting import make_boosting
from shaff.values.stack import make_stack

# Up to so many rows "auto" stacks: that prices a subset several times.
STACKED_ROWS = 5000


def make_auto(problem: Problem) -> Game:
    """The stack, or boosting: for many rows, and for splits that only boosting keeps to."""
    if problem.has_splits or len(problem.X) > STACKED_ROWS:
        return make_boosting(problem)
    return make_stack(problem)
