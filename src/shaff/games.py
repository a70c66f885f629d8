"""Shapley values of any set function, with error bars, from few of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.numbers import unmasked
from shaff._util.seeds import draw_seed
from shaff._util.typing import BoolArray, FloatArray, RandomState, is_list, is_whole
from shaff._util.words import counted
from shaff.data.structure import Order, Structure, read_structure
from shaff.designs.gaussian_process import GaussianProcess, GaussianProcessDesign
from shaff.designs.layered import make_design
from shaff.errors import InputError, InputTypeError
from shaff.fitting.evaluator import run_design
from shaff.protocols import DesignContext, Proposal, SolverContext, Values
from shaff.solve.gaussian_process import BayesianQuadrature
from shaff.solve.layered import make_solver
from shaff.subsets import Subsets

SetFunction = Callable[[BoolArray], npt.ArrayLike]
# The full and the empty set are always evaluated, and a pair of others is the least to add.
ENDS, LEAST = 2, 4


@dataclass(frozen=True, eq=False, repr=False)
class GameSolution:
    """Shapley values of a game with their standard errors. See `solve_game`.

    Parameters
    ----------
    effects : float array of shape (n_players,)
        Shapley values. They may be negative, and sum to ``value`` exactly.
    standard_errors : float array of shape (n_players,)
        Errors due to the subsets that were not evaluated and to noise in the values; 0 if all
        subsets were evaluated.
    covariance : float array of shape (n_players, n_players)
        Covariance matrix of the errors of the effects.
    value : float
        Value of the full set minus that of the empty set.
    n_subsets : int
        Number of subsets evaluated, the full and the empty set included.
    """

    effects: FloatArray
    standard_errors: FloatArray
    covariance: FloatArray
    value: float
    n_subsets: int

    def __repr__(self) -> str:
        players, subsets = counted(len(self.effects), "player"), counted(self.n_subsets, "subset")
        return f"GameSolution({players}, value {self.value:.4g}, {subsets} evaluated)"


def solve_game(
    game: SetFunction,
    n_players: int,
    *,
    n_subsets: int | None = None,
    tol: float | None = None,
    random_state: RandomState = None,
    order: Order | None = None,
    groups: Sequence[Sequence[int]] | None = None,
) -> GameSolution:
    """Estimate the Shapley values of any set function, with standard errors.

    Subsets are chosen in batches, those that are most informative about the effects, and a Gaussian
    process model of the game turns their values into effects. A game with so few players that all
    its subsets may be evaluated is solved exactly.

    Parameters
    ----------
    game : callable
        ``game(masks) -> values``, from a boolean array of shape (k, n_players), one subset per
        row, to numbers of shape (k,). The value of the empty set need not be 0. Values may be
        noisy.
    n_players : int
        Number of players.
    n_subsets : int or None, default=None
        Number of evaluations to spend, the full and the empty set included; at least 4. None means
        the full and the empty set, and 200 further subsets; from 14 players on, 15 per player
        up to 400; from 41 players on, 10 per player.
    tol : float or None, default=None
        Stop early when the largest standard error of an effect is at most this, in the units of
        the game. None spends all evaluations.
    random_state : int, RandomState or None, default=None
        Seed of the choice of subsets.
    order : list of lists of int, or None, default=None
        Layers of players that enter one after the other, such as ``[[0, 1], [2]]``: each player is
        credited with what it adds once all earlier layers are there. Each player is in one layer.
    groups : list of lists of int, or None, default=None
        Groups of players that stay together: effects are Owen values, and those of a group add up
        to its Shapley value in the game of groups. Players in no group are one by themselves.

    Returns
    -------
    GameSolution

    Examples
    --------
    >>> import numpy as np
    >>> from shaff import solve_game
    >>> heights = np.array([3.0, 2.0, 1.0])
    >>> solution = solve_game(lambda masks: (masks * heights).max(axis=1), n_players=3)
    >>> solution.effects.round(3).tolist()
    [1.833, 0.833, 0.333]
    >>> solution
    GameSolution(3 players, value 3, 8 subsets evaluated)
    >>> game = lambda masks: (masks * heights).max(axis=1)
    >>> solve_game(game, n_players=3, order=[[1, 2], [0]]).effects.tolist()
    [1.0, 1.5, 0.5]
    """
    _check(game, n_players, n_subsets, tol)
    structure = _structure(order, groups, n_players)
    counted_game = _CountedGame(game, n_players)
    if n_players == 1:
        return _solution(np.array([counted_game.value]), np.zeros((1, 1)), counted_game)
    n_inner = None if n_subsets is None else n_subsets - ENDS
    seed = draw_seed(random_state)
    context = DesignContext(n_players, n_inner, tol, seed, structure=structure)
    design = make_design(_Untiring(), context)
    start = Values(Subsets.full(n_players), np.array([counted_game.value]))
    _, history = run_design(
        design, start, lambda proposal, _: counted_game.evaluate(proposal.subsets)
    )
    solver = make_solver(BayesianQuadrature(), SolverContext(structure=structure))
    effects = solver.solve(Proposal(history.subsets[1:]), history.v[1:], counted_game.value)
    assert effects.covariance is not None
    return _solution(effects.raw, effects.covariance, counted_game)


class _Untiring(GaussianProcess):
    """The active design, which spends all evaluations unless it was given a tolerance."""

    def make(self, context: DesignContext) -> GaussianProcessDesign:
        return super().make(replace(context, n_subsets=context.max_subsets))


def _structure(
    order: Order | None, groups: Sequence[Sequence[int]] | None, n_players: int
) -> Structure:
    """Order and groups of players, who are called by their numbers."""
    names = tuple(map(str, range(n_players)))
    upper = {} if groups is None else _upper(groups, n_players)
    players = [np.array([k]) for k in range(n_players)]
    return read_structure(order, upper, players, names, names)


def _upper(groups: Any, n_players: int) -> dict[str, str]:
    upper: dict[str, str] = {}
    for number, group in enumerate(_group_lists(groups)):
        for player in group:
            if not is_whole(player) or not 0 <= player < n_players:
                raise InputError(f"groups names {player!r}: players are 0 to {n_players - 1}.")
            if str(player) in upper:
                raise InputError(f"groups names player {player} twice.")
            upper[str(player)] = f"group {number}"
    return upper


def _group_lists(groups: Any) -> list[list[Any]]:
    """The groups as lists, none of which is empty."""
    if not is_list(groups) or not all(map(is_list, groups)):
        raise InputTypeError("groups must be a list of lists of players, such as [[0, 1], [2, 3]].")
    found = [list(group) for group in groups]
    if not all(found):
        raise InputError(f"groups[{found.index([])}] is empty: name players in it.")
    return found


class _CountedGame:
    """A game with v(empty) = 0, whose answers are checked and counted."""

    def __init__(self, game: SetFunction, n_players: int) -> None:
        self._game, self.n_subsets, self._empty = game, 0, 0.0
        ends = Subsets.from_masks([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
        self._empty, full = self.evaluate(ends).v
        self.value = float(full - self._empty)

    def evaluate(self, subsets: Subsets) -> Values:
        """Return the value of each subset minus that of the empty set."""
        found = np.asarray(unmasked(self._game(subsets.masks())))
        if found.shape != (len(subsets),):
            raise InputError(
                f"game returned an array of shape {found.shape} for {len(subsets)} subsets: "
                f"expected {(len(subsets),)}."
            )
        if not (np.issubdtype(found.dtype, np.number) or found.dtype == bool):
            raise InputTypeError(f"game returned values of type {found.dtype}: expected numbers.")
        if np.iscomplexobj(found) or not np.isfinite(found).all():
            raise InputError("game returned values that are not finite real numbers.")
        self.n_subsets += len(subsets)
        return Values(subsets, np.asarray(found, dtype=np.float64) - self._empty)


def _check(game: SetFunction, n_players: int, n_subsets: int | None, tol: float | None) -> None:
    if not callable(game):
        raise InputTypeError("game must be callable: game(masks) -> values.")
    if not is_whole(n_players) or n_players < 1:
        raise InputError(f"n_players={n_players!r}: expected a whole number of at least 1.")
    if n_subsets is not None and not (is_whole(n_subsets) and n_subsets >= LEAST):
        raise InputError(f"n_subsets={n_subsets!r}: expected a whole number of at least {LEAST}.")
    if tol is not None and not (isinstance(tol, int | float | np.number) and tol > 0):
        raise InputError(f"tol={tol!r}: expected a positive number.")


def _solution(
    effects: FloatArray, covariance: FloatArray, counted_game: _CountedGame
) -> GameSolution:
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return GameSolution(effects, errors, covariance, counted_game.value, counted_game.n_subsets)
