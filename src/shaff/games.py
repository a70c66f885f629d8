"""Shapley values of any set function, with error bars, from few of its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shaff._util.seeds import draw_seed
from shaff._util.typing import BoolArray, FloatArray, RandomState
from shaff._util.words import counted
from shaff.designs.gaussian_process import GaussianProcessDesign
from shaff.errors import InputError, InputTypeError
from shaff.protocols import DesignContext, Proposal, Values
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.subsets import Subsets

SetFunction = Callable[[BoolArray], npt.ArrayLike]
# The full and the empty set are always evaluated, and a pair of others is the least to add.
ENDS, LEAST = 2, 4


@dataclass(frozen=True, eq=False, repr=False)
class GameSolution:
    """Shapley values of a game, and how sure they are. See `solve_game`.

    Parameters
    ----------
    effects : float array of shape (n_players,)
        They sum to ``value``, exactly; they may be negative.
    standard_errors : float array of shape (n_players,)
        What the subsets that were not evaluated leave open, and noise of the values; 0 if all
        subsets were evaluated.
    covariance : float array of shape (n_players, n_players)
        Of the effects.
    value : float
        Of the full set less that of the empty one.
    n_evaluations : int
        Subsets that the game was counted_game for.
    """

    effects: FloatArray
    standard_errors: FloatArray
    covariance: FloatArray
    value: float
    n_evaluations: int

    def __repr__(self) -> str:
        players = counted(len(self.effects), "player")
        return f"GameSolution({players}, value {self.value:.4g}, {self.n_evaluations} evaluations)"


def solve_game(
    game: SetFunction,
    n_players: int,
    budget: int | None = None,
    tol: float | None = None,
    random_state: RandomState = None,
) -> GameSolution:
    """Shapley values of any set function, by an active design and a Gaussian process.

    Parameters
    ----------
    game : callable
        ``game(masks) -> values``: a boolean array of shape (k, n_players), one subset a row, to
        numbers of shape (k,). The empty set may be worth anything. Its values may be noisy.
    n_players : int
    budget : int or None
        Evaluations to spend, the full and the empty set included. None means 200, or 15 a player
        if that is more, up to 400, and never under 6 a player; and two more.
    tol : float or None
        Stop when the largest standard error of an effect is at most this, in the units of the
        game; None spends the budget.
    random_state : int, RandomState or None

    Returns
    -------
    GameSolution

    Examples
    --------
    >>> import numpy as np
    >>> from shaff import solve_game
    >>> worth = np.array([3.0, 2.0, 1.0])
    >>> solution = solve_game(lambda masks: (masks * worth).max(axis=1), n_players=3)
    >>> solution.effects.round(3).tolist()
    [1.833, 0.833, 0.333]
    >>> solution
    GameSolution(3 players, value 3, 8 evaluations)
    """
    _check(game, n_players, budget, tol)
    context = DesignContext(n_players, None if budget is None else budget - ENDS, tol, 0)
    counted_game = _CountedGame(game, n_players)
    if n_players == 1:
        return _solution(np.array([counted_game.value]), np.zeros((1, 1)), counted_game)
    design = GaussianProcessDesign(
        n_players, context.budget, tol, random_state=draw_seed(random_state)
    )
    history = Values(Subsets.full(n_players), np.array([counted_game.value]))
    while (proposal := design.propose(history)) is not None:
        more = Values(proposal.subsets, counted_game.values(proposal.subsets))
        history = Values.concatenate([history, more])
    solver = GaussianProcessSolver()
    effects = solver.solve(Proposal(history.subsets[1:]), history.v[1:], counted_game.value)
    assert effects.covariance is not None
    return _solution(effects.raw, effects.covariance, counted_game)


class _CountedGame:
    """A game with v(empty) = 0, whose answers are checked and counted."""

    def __init__(self, game: SetFunction, n_players: int) -> None:
        self._game, self.n_evaluations, self._empty = game, 0, 0.0
        ends = Subsets.from_masks([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
        self._empty, full = self.values(ends)
        self.value = float(full - self._empty)

    def values(self, subsets: Subsets) -> FloatArray:
        """Of each subset, less that of the empty one."""
        found = np.asarray(self._game(subsets.masks()))
        if found.shape != (len(subsets),):
            raise InputError(
                f"game returned an array of shape {found.shape} for {len(subsets)} subsets: "
                f"expected {(len(subsets),)}."
            )
        if not (np.issubdtype(found.dtype, np.number) or found.dtype == bool):
            raise InputTypeError(f"game returned values of type {found.dtype}: expected numbers.")
        if np.iscomplexobj(found) or not np.isfinite(found).all():
            raise InputError("game returned values that are not finite real numbers.")
        self.n_evaluations += len(subsets)
        return np.asarray(found, dtype=np.float64) - self._empty


def _check(game: SetFunction, n_players: int, budget: int | None, tol: float | None) -> None:
    if not callable(game):
        raise InputTypeError("game must be callable: game(masks) -> values.")
    if not _is_whole(n_players) or n_players < 1:
        raise InputError(f"n_players={n_players!r}: expected a whole number of at least 1.")
    if budget is not None and not (_is_whole(budget) and budget >= LEAST):
        raise InputError(f"budget={budget!r}: expected a whole number of at least {LEAST}.")
    if tol is not None and not (isinstance(tol, int | float | np.number) and tol > 0):
        raise InputError(f"tol={tol!r}: expected a positive number.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _solution(
    effects: FloatArray, covariance: FloatArray, counted_game: _CountedGame
) -> GameSolution:
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return GameSolution(effects, errors, covariance, counted_game.value, counted_game.n_evaluations)
