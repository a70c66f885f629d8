"""One of two results that are compared, in the inputs that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.fitting.checks.spread import outcome_influences
from shaff.fitting.fitted_game import FittedGame
from shaff.results.effects import EffectsResult
from shaff.subsets import Subsets
from shaff.uncertainty.inference import data_covariance, effect_influences


class VarianceFigures(NamedTuple):
    """The variance of the outcome, its error, and its covariance with each effect."""

    variance: float
    error: float
    covariances: FloatArray


@dataclass(frozen=True, eq=False)
class RowInfluences:
    """What each row did to the effects.

    Parameters
    ----------
    effects : float array of shape (n_inputs, n_rows)
        Influences on the effects, scaled as their error bars are.
    variance : float array of shape (n_rows,)
        Influences on the variance of the outcome.
    units : int array of shape (n_rows,)
        The independent observation that each row is part of: itself, a group, a block of time.
    """

    effects: FloatArray
    variance: FloatArray
    units: IntpArray


@dataclass(frozen=True, eq=False)
class Side:
    """A result in some of its inputs.

    Parameters
    ----------
    result : EffectsResult
    place : int array of shape (n_inputs,)
        Places of the inputs in the result.
    game : FittedGame or None
        What the fit keeps, if the estimator was given and its rows can be asked.
    """

    result: EffectsResult
    place: IntpArray
    game: FittedGame | None

    @classmethod
    def of(cls, given: Any, result: EffectsResult, names: Sequence[str]) -> Side:
        """Make a side from a result or a fitted estimator."""
        game = getattr(given, "_fitted_game", None)
        place = np.array([result.names.index(name) for name in names], dtype=np.intp)
        return cls(result, place, game if isinstance(game, FittedGame) else None)

    @property
    def raw(self) -> FloatArray:
        """Raw effects."""
        return np.asarray(self.result.raw_effects[self.place])

    @property
    def estimates(self) -> FloatArray:
        """Effects corrected, plain, and with what learners are likely to miss; (3, n_inputs)."""
        result = self.result
        ways = [result.raw_effects, result._plain, result.raw_effects + result._reach]
        return np.stack(ways)[:, self.place]

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the effects; of those that are not known to go together none is assumed."""
        found, errors = self.result.covariance, self.result.standard_errors
        assert errors is not None
        whole = np.diag(errors**2) if found is None else found
        return np.asarray(whole[np.ix_(self.place, self.place)])

    @property
    def spread(self) -> VarianceFigures | None:
        """The variance of the outcome, where the result knows it.

        Where it is not known how effects and variance go together, they are taken to go together
        entirely.
        """
        size, error = self.result.outcome_variance, self.result.outcome_variance_error
        if size is None or error is None:
            return None
        known = self.result.variance_covariances
        if known is not None:
            return VarianceFigures(size, error, known[self.place])
        entirely = np.sign(self.raw) * np.sqrt(np.diag(self.covariance)) * error
        return VarianceFigures(size, error, entirely)

    def influences(self) -> RowInfluences | None:
        """Return what each row did, the rows as they were read; None where that is not known."""
        game, result = self.game, self.result
        # Values over more rows than the learners were grown on have no influences by row.
        if game is None or result.errors_by_source is None or result.n_grown is not None:
            return None
        problem = game.selection.problem
        if problem.n_read != len(game.problem.X):  # a model has labelled other rows
            return None
        full = Subsets.full(game.evaluator.n_players)
        values = game.evaluator.evaluate(Subsets.concatenate([full, game.subsets]))
        who = np.array([game.selection.kept.tolist().index(k) for k in self.place], dtype=np.intp)
        psi = effect_influences(game.effects, values, who)
        if psi is None or psi.shape[1] != len(problem.X):
            return None
        stated = result.errors_by_source["data"][self.place]
        rows = np.vstack([_scaled(psi, stated, problem), outcome_influences(problem)[1]])
        both = problem.of_rows_read(rows)
        return RowInfluences(both[:-1], both[-1], self._units(game))

    @staticmethod
    def _units(game: FittedGame) -> IntpArray:
        """The independent observation of each row, as the rows were read."""
        problem = game.selection.problem
        units = problem.error_units
        each = np.arange(len(problem.X)) if units is None else units
        return np.asarray(each if problem.row_of is None else each[problem.row_of])


def _scaled(influences: FloatArray, errors: FloatArray, problem: Problem) -> FloatArray:
    """Influences whose errors are those that the result states: they allow for models that other
    rows would have given."""
    units = problem.error_units
    given = np.sqrt([data_covariance(row[None], units)[0, 0] for row in influences])
    scale = np.divide(errors, given, out=np.zeros_like(errors), where=given > 0)
    return np.asarray(influences * scale[:, None])
