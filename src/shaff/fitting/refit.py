"""Values of learners that are fitted on some of the players of a game alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shaff._util.threads import one_blas_thread
from shaff._util.typing import IntpArray
from shaff._util.work import engaged
from shaff.data.problem import Problem
from shaff.fitting.fitted_game import FittedGame
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.making import make_values


def refit(game: FittedGame, estimator: Any, players: IntpArray) -> Values:
    """Return the value of some players by learners that see nothing else, with influences.

    Rows, folds and seeds are those of the game, so that both are measured on the same rows.

    Parameters
    ----------
    game : FittedGame
    estimator : str, model or ValueSetting
        What `shaff.values.making.make_values` makes a value function of.
    players : int array
        Players of the game.
    """
    problem = only(game.selection.problem, players)
    with engaged(problem.n_jobs), one_blas_thread:
        values = make_values(estimator, problem, "outcome").values
        return values.values(Subsets.full(len(players)), influences=True)


def only(problem: Problem, players: IntpArray) -> Problem:
    """Return the problem with some of its players, and no other columns.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.refit import only
    >>> problem = Problem.of(np.arange(12.0).reshape(3, 4), np.arange(3.0))
    >>> only(problem, np.array([1, 3])).X[0].tolist()
    [1.0, 3.0]
    """
    members = [problem.players[k] for k in players]
    columns = np.unique(np.concatenate(members))
    table = replace(
        problem.table,
        X=np.ascontiguousarray(problem.X[:, columns]),
        names=tuple(problem.table.names[j] for j in columns),
        categorical=problem.categorical[columns],
    )
    return replace(
        problem,
        frame=table.X,
        table=table,
        players=[np.searchsorted(columns, player) for player in members],
        player_names=tuple(problem.player_names[k] for k in players),
        views=None,
    )
