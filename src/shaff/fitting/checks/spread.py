"""The variance of the outcome: what the effects are shares of."""

from __future__ import annotations

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.fitting.facts import OutcomeSpread, Solution
from shaff.uncertainty.inference import data_covariance, effect_influences
from shaff.values.outcome import Outcome


def largest_output(problem: Problem) -> tuple[str, float] | None:
    """Return which of several outputs of numbers has the largest part of what all of them vary by
    together, and that part; None with one output, and of classes, which have one unit.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.spread import largest_output
    >>> y = np.random.default_rng(0).standard_normal((50, 1)) * [1.0, 10.0]
    >>> largest_output(Problem.of(np.zeros((50, 1)), y))[0]
    'y1'
    """
    if problem.y.shape[1] == 1 or problem.target.classes is not None:
        return None
    sizes = Outcome.of(problem.y, problem.sample_weight, problem.loss).output_constants
    largest = int(sizes.argmax())
    names = problem.target.outputs or tuple(f"y{k}" for k in range(len(sizes)))
    return names[largest], float(sizes[largest] / sizes.sum())


def outcome_spread(problem: Problem, solution: Solution) -> OutcomeSpread:
    """Return the variance of the outcome, and how it goes with the effects.

    An effect is a share of the variance; in units of the variance it is the product of the two,
    whose error needs their covariance: rows far from the mean raise both.
    """
    variance, own = outcome_influences(problem)
    players = np.arange(len(solution.effects.raw))
    psi = effect_influences(solution.effects, solution.values, players)
    if psi is None or psi.shape[1] != len(own):
        error = float(np.sqrt(data_covariance(own[None], problem.error_units)[0, 0]))
        return OutcomeSpread(variance, error, None)
    together = data_covariance(np.vstack([psi, own]), problem.error_units)
    return OutcomeSpread(variance, float(np.sqrt(together[-1, -1])), together[-1, :-1])


def outcome_influences(problem: Problem) -> tuple[float, FloatArray]:
    """Return the variance that effects are shares of, and the influence of each row on it.

    Examples
    --------
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.spread import outcome_influences
    >>> variance, influences = outcome_influences(Problem.of([[0.0]] * 3, [0.0, 3.0, 6.0]))
    >>> variance, influences.tolist()
    (6.0, [3.0, -6.0, 3.0])
    """
    unit, weight = problem.variance_unit, problem.weight
    if unit is not None:
        return unit.variance, unit.influence
    mean = np.average(problem.y, axis=0, weights=weight)
    squares = ((problem.y - mean) ** 2).sum(axis=1)
    variance = float(np.average(squares, weights=weight))
    return variance, np.asarray((squares - variance) * weight / weight.mean())
