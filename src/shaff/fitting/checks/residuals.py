"""Residuals of held-out rows: what is left of the outcome when its prediction is taken off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from shaff._util.typing import FloatArray, IntpArray
from shaff.fitting.facts import Facts
from shaff.subsets import Subsets


def residuals_of(facts: Facts, subset: Subsets | None = None) -> FloatArray | None:
    """Return what the subset (by default all inputs) leaves of the outcome in held-out rows.

    Shape (n_rows,), NaN where a row is not held out. Of several outputs it is the one that leaves
    most. None if there is no game, or if rows are not told apart by it.
    """
    if facts.game is None or facts.solution is None or facts.solution.measured is not None:
        return None
    problem = facts.selection.problem
    chosen = Subsets.full(len(problem.players)) if subset is None else subset
    left = problem.y - facts.game.values.predict(chosen)[0]
    return np.asarray(left[:, np.nanvar(left, axis=0).argmax()])


def scores(residuals: FloatArray) -> FloatArray:
    """Return residuals on a scale on which heavy tails decide nothing, of mean 0 and variance 1.

    Not ranks: of two classes these would tell the predictions apart, which may well go along an
    order that the outcome does not.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.checks.residuals import scores
    >>> scores(np.array([-1.0, 0.0, 1.0])).round(2).tolist()
    [-1.22, 0.0, 1.22]
    """
    tiny = np.finfo(float).tiny
    damped = np.arcsinh(residuals / max(float(np.abs(residuals).mean()), tiny))
    centred = damped - damped.mean()
    return np.asarray(centred / max(float(centred.std()), tiny))


class Within(NamedTuple):
    """Correlation of two rows of one group, and the chance of it if groups mean nothing."""

    correlation: float
    p_value: float


def within_groups(scores: FloatArray, groups: IntpArray) -> Within:
    """Return how the scores of two rows of a group correlate.

    Groups count by their rows, not by their pairs: else the largest would decide. The chance is
    that of independent signs of the scores, so that groups may differ in their spread.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.fitting.checks.residuals import within_groups
    >>> x = np.repeat([1.0, -1.0], 10)
    >>> within_groups(x, np.repeat(np.arange(10), 2))
    Within(correlation=1.0, p_value=0.000782701129001274)
    """
    size = np.maximum(np.bincount(groups), 1)
    total, squares, fourths = (np.bincount(groups, scores**k) for k in (1, 2, 4))
    n_free = max(float((size - 1).sum()), 1.0)
    correlation = float(((total**2 - squares) / size).sum() / n_free)
    # Of a sum over pairs of independent signs.
    variance = max(float((2 * (squares**2 - fourths) / size**2).sum()), 1e-12)
    return Within(correlation, float(ndtr(-correlation * n_free / np.sqrt(variance))))
