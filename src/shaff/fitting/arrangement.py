"""The data as learners see them: the same for the same table, however it was put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shaff._util.typing import IntpArray
from shaff.data.canonical import in_column_order, with_copies_joined
from shaff.data.problem import Problem
from shaff.fitting.facts import Task
from shaff.values.making import counts_weights, is_own


class Arranged(NamedTuple):
    """A problem as learners see it.

    Parameters
    ----------
    problem : Problem
    columns : int array or None
        Columns of the table that they see, in their order; None means all as they are. Of several
        copies of a column there is one.
    players : int array of shape (n_players,)
        Places of its players among the inputs as they were read.
    """

    problem: Problem
    columns: IntpArray | None
    players: IntpArray


def arrange(task: Task) -> Arranged:
    """Arrange the data of a task for its learners.

    Learners of shaff see columns in an order of their own. Other models keep the order that they
    are given, and with the rows of a fitted model go the bags of its trees.
    """
    problem, estimator = task.problem, task.settings.estimator
    # Rows outside of the sample are told from those in it by their places.
    if task.model is None and task.sampled.rest is None and counts_weights(estimator):
        problem = with_copies_joined(problem)
    if task.model is not None or not is_own(estimator):
        return Arranged(problem, None, np.arange(len(problem.players)))
    ordered, columns, players = in_column_order(problem)
    return Arranged(ordered, columns[ordered.distinct_columns()], players)
