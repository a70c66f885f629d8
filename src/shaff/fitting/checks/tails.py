"""How much of the variance of the outcome a few rows make up."""

from __future__ import annotations

import numpy as np

from shaff.data.problem import Problem

# The share of the rows that is looked at, and the fewest rows for which it means anything.
TAIL_ROWS, ENOUGH_ROWS = 0.01, 100
_TINY = np.finfo(float).tiny


def tail_of_variance(problem: Problem) -> tuple[float, int]:
    """Return the share of the variance in the rows farthest from the mean, and their number.

    (0, 0) for classes, several outputs, few rows, and numbers that stand for a censored outcome.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.tails import tail_of_variance
    >>> y = np.append(np.zeros(199), 1.0)
    >>> tail_of_variance(Problem.of(np.arange(200.0)[:, None], y))  # doctest: +ELLIPSIS
    (0.9950..., 2)
    """
    y = problem.y[:, 0]
    is_plain = problem.y.shape[1] == 1 and problem.target.squares is None
    if not is_plain or problem.target.classes or len(y) < ENOUGH_ROWS:
        return 0.0, 0
    squares = np.sort((y - y.mean()) ** 2)
    n_rows = max(1, round(TAIL_ROWS * len(y)))
    return float(squares[-n_rows:].sum() / max(squares.sum(), _TINY)), n_rows
