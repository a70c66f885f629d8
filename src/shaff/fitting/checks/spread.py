"""The variance of the outcome: what the effects are shares of."""

from __future__ import annotations

import numpy as np

from shaff.data.problem import Problem
from shaff.fitting.facts import OutcomeSpread, Solution
from shaff.uncertainty.inference import data_covariance, effect_influences


def outcome_spread(problem: Problem, solution: Solution) -> OutcomeSpread:
    """Return the variance of the outcome, and how it goes with the effects.

    An effect is a share of the variance; in units of the variance it is the product of the two,
    whose error needs their covariance: rows far from the mean raise both.
    """
    weight = problem.weight
    mean = np.average(problem.y, axis=0, weights=weight)
    squares = ((problem.y - mean) ** 2).sum(axis=1)
    variance = float(np.average(squares, weights=weight))
    own = (squares - variance) * weight / weight.mean()
    players = np.arange(len(solution.effects.raw))
    psi = effect_influences(solution.effects, solution.values, players)
    if psi is None or psi.shape[1] != len(own):
        error = float(np.sqrt(data_covariance(own[None], problem.error_units)[0, 0]))
        return OutcomeSpread(variance, error, None)
    together = data_covariance(np.vstack([psi, own]), problem.error_units)
    return OutcomeSpread(variance, float(np.sqrt(together[-1, -1])), together[-1, :-1])
