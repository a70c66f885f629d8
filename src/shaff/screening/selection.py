"""Which players play by name, if there are many, and which are together "all others"."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from shaff._util.alike import kinds_of
from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray
from shaff._util.work import run_tasks
from shaff.data.folds import Fold
from shaff.data.problem import Problem, Views
from shaff.data.structure import Structure
from shaff.data.table import Table
from shaff.protocols import RowPass, ValueFunction, Values
from shaff.screening.choice import (
    MOST,
    Scout,
    Screened,
    choose,
    fewest_of,
    found_p_values,
    named,
)
from shaff.screening.column_tests import ColumnTests, all_ranks
from shaff.screening.others import Others, fit_others
from shaff.subsets import Subsets

OTHERS = "all others"


@dataclass(frozen=True, eq=False)
class PlayerSelection:
    """A problem whose players are those that the screen has kept, and "all others".

    Parameters
    ----------
    problem : Problem
        Its players are those of ``kept``, in their order, and "all others" if there are any.
    names : tuple of str
        Names of all players, kept or not.
    kept : int array
        Places of the players that play by name, among the names.
    correlations : float array of shape (n_names,)
        Largest correlation with y in the tests of each player that is among "all others"; NaN for
        those that play by name.
    columns : int array or None, default=None
        Columns of the table that the learners see as they are; None means all.
    scores : list of Others, default=[]
        Scores of "all others" that the learners see besides, one per fold.
    """

    problem: Problem
    names: tuple[str, ...]
    kept: IntpArray
    correlations: FloatArray
    columns: IntpArray | None = None
    scores: list[Others] = field(default_factory=list)

    @classmethod
    def everybody(cls, problem: Problem) -> PlayerSelection:
        """Return the selection in which all players play by name."""
        n_players = len(problem.players)
        return cls(problem, problem.player_names, np.arange(n_players), np.full(n_players, np.nan))

    def as_read(self, names: tuple[str, ...], places: IntpArray) -> PlayerSelection:
        """Return the same selection, told of players under these names, of which ``places`` are
        those of its own."""
        correlations = np.empty(len(names))
        correlations[places] = self.correlations
        return replace(self, names=names, kept=places[self.kept], correlations=correlations)

    @property
    def others(self) -> IntpArray:
        """Places of the players that do not play by name."""
        return np.flatnonzero(~np.isnan(self.correlations))

    @property
    def in_order(self) -> IntpArray:
        """The players of the game in the order of the names; "all others" are the last."""
        n_players = len(self.problem.players)
        return np.append(np.argsort(self.kept), np.arange(len(self.kept), n_players))

    @cached_property
    def kinds(self) -> IntpArray:
        """Codes of the players of the game, equal for those that hold copies of the same columns.

        Learners of shaff see a column and its copies once; other models see all of them, and each
        is of its own kind. Copies in different layers or groups are not treated alike.
        """
        held = [tuple(player.tolist()) for player in self.problem.players]
        parts = self.structure.parts
        return kinds_of(held if parts is None else list(zip(parts.tolist(), held, strict=True)))

    @cached_property
    def structure(self) -> Structure:
        """Order and hierarchy of the players of the game; with either, all play by name."""
        return self.problem.structure.among(self.kept)

    @property
    def has_others(self) -> bool:
        """Whether a screen has put some players together."""
        return len(self.others) > 0

    def rows(self, X: FloatArray) -> FloatArray:
        """Return rows of the table as the learners see them."""
        if self.columns is None:
            return X
        return np.hstack([X[:, self.columns], *(others.score(X) for others in self.scores)])

    def one_column_each(self) -> FloatArray | None:
        """Return one column per player, or None where a player has several.

        The column of "all others" is the score of each row by the fit of its fold.
        """
        problem, players = self.problem, self.problem.players
        columns = [player[0] for player in players]
        single = [len(player) == 1 for player in players]
        if not all(single[: len(self.kept)]):
            return None
        X = problem.X[:, columns].copy()
        if all(single):
            return X
        if problem.views is None or problem.y.shape[1] > 1:
            return None
        for k, fold in enumerate(problem.folds(problem.views.seeds[0])):
            X[fold.test, -1] = problem.X[fold.test, players[-1][k]]
        return X


def select_players(problem: Problem, seeds: list[int], size: int | None = None) -> PlayerSelection:
    """Screen inside each fold of each run, on its training rows.

    A player plays by name if any fold keeps it; if these are too many, see `named`. The learner of
    a fold sees the columns that its own screen has kept, and one score of all others by ridge
    regression on its training rows: neither choice nor score has seen the rows that v is measured
    on. Columns that a fold has kept, but that do not play by name, belong to "all others".

    Parameters
    ----------
    problem : Problem
    seeds : list of int
        Seeds of the splits, one per run.
    size : int or None, default=None
        Number of players that a fold keeps. None keeps those that tests find: at least 25, or one
        per 1000 of its rows if that is more, and at most 60.
    """
    folds = [fold for seed in seeds for fold in problem.folds(seed)]
    screen = _Screen(problem, size)
    found = run_tasks(_Screen.of_rows, screen, [(fold.train,) for fold in folds], problem.n_jobs)
    plays = _with_copies(named(found, max(MOST, screen.most)), problem)
    if plays.all():
        return PlayerSelection.everybody(problem)
    chosen = [own.kept for own in found]
    scores = [(fold, kept, k) for k, (fold, kept) in enumerate(zip(folds, chosen, strict=True))]
    fits = run_tasks(_scored, problem, scores, problem.n_jobs)
    return _selection(problem, seeds, folds, plays, chosen, fits)


def select_together(problem: Problem, size: int | None = None) -> PlayerSelection:
    """Screen once on all rows, for models that see all columns in any case.

    The columns of the players that are not kept are one player; see `GroupedValues`.
    """
    plays = _Screen(problem, size).of_rows(np.flatnonzero(problem.has_weight)).kept
    if plays.all():
        return PlayerSelection.everybody(problem)
    kept = np.flatnonzero(plays)
    players = [problem.players[k] for k in kept]
    rest = np.concatenate([problem.players[k] for k in np.flatnonzero(~plays)])
    players.append(np.setdiff1d(rest, np.concatenate(players)))
    names = (*(problem.player_names[k] for k in kept), OTHERS)
    played = replace(problem, players=players, player_names=names)
    return PlayerSelection(played, problem.player_names, kept, _correlations(problem, plays))


class GroupedValues:
    """A value function of all inputs on a selection: "all others" enter together or not at all.

    Parameters
    ----------
    values : ValueFunction
        Value function of all players.
    selection : PlayerSelection
    """

    def __init__(self, values: ValueFunction, selection: PlayerSelection) -> None:
        self._values, self._selection = values, selection
        self.n_players = len(selection.problem.players)

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset of the selected players."""
        return replace(
            self._values.values(self._of_everybody(subsets), influences=influences),
            subsets=subsets,
        )

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means, shape (n_subsets, n_rows, n_outputs)."""
        return self._values.predict(self._of_everybody(subsets), rows)

    def over_rows(self, subsets: Subsets) -> RowPass:
        """Return a `RowPass`, for value functions that have one."""
        found: RowPass = self._values.over_rows(self._of_everybody(subsets))  # type: ignore[attr-defined]
        return found

    def recall(self, values: Values) -> None:
        """Hand on values from elsewhere, for value functions that have a memory."""
        recall = getattr(self._values, "recall", None)
        if recall is not None:
            recall(replace(values, subsets=self._of_everybody(values.subsets)))

    def _of_everybody(self, subsets: Subsets) -> Subsets:
        given = subsets.masks()
        masks = np.zeros((len(subsets), len(self._selection.names)), dtype=bool)
        masks[:, self._selection.kept] = given[:, :-1]
        masks[:, self._selection.others] = given[:, -1:]
        return Subsets.from_masks(masks)


class _Screen:
    """Screens of some rows of a problem; what does not depend on y is computed once."""

    def __init__(self, problem: Problem, size: int | None) -> None:
        self._problem = problem
        self._tests = ColumnTests(problem.X, problem.categorical, all_ranks(problem.X))
        self._scout = Scout(problem.X)
        self._size, self.most = size, MOST if size is None else size

    def of_rows(self, rows: IntArray) -> Screened:
        """Screen on those of the rows that have weight."""
        problem = self._problem
        rows, players = rows[problem.has_weight[rows]], problem.players
        tests, y = self._tests.take(rows), problem.y
        fewest = fewest_of(len(rows)) if self._size is None else self._size
        p_values = found_p_values(tests, y[rows], players, fewest)
        gains = self._scout.gains(rows, y, problem.seed)
        return choose(p_values, players, gains, fewest, self.most)


def _scored(problem: Problem, fold: Fold, kept: BoolArray, place: int) -> tuple[Others, FloatArray]:
    """Fit the score of all others in the fold at that place, which seeds its inner split."""
    hidden = np.flatnonzero(~_columns_of(problem, kept))
    return fit_others(problem, fold.train, hidden, seed=place)


def _with_copies(plays: BoolArray, problem: Problem) -> BoolArray:
    """Add the copies of players that play by name, so that these have equal effects.

    Constant columns are copies of each other too: they stay where they are, since there may be any
    number of them, and none explains anything.
    """
    kinds = kinds_of([tuple(player.tolist()) for player in problem.players])
    varies = np.nanmax(problem.X, axis=0) > np.nanmin(problem.X, axis=0)
    tells = np.array([varies[player].any() for player in problem.players])
    return np.asarray(plays | (tells & np.isin(kinds, kinds[plays])))


def _columns_of(problem: Problem, players: BoolArray) -> BoolArray:
    mask = np.zeros(problem.X.shape[1], dtype=bool)
    for k in np.flatnonzero(players):
        mask[problem.players[k]] = True
    return mask


def _selection(
    problem: Problem,
    seeds: list[int],
    folds: list[Fold],
    plays: BoolArray,
    chosen: list[BoolArray],
    fits: list[tuple[Others, FloatArray]],
) -> PlayerSelection:
    n_outputs = problem.y.shape[1]
    seen = _columns_of(problem, plays | np.any(chosen, axis=0))
    columns = np.flatnonzero(seen)
    scores = np.hstack([score for _, score in fits])
    views = {
        Views.key(fold.train, len(problem.X)): np.concatenate(
            [_columns_of(problem, own)[columns], np.arange(scores.shape[1]) // n_outputs == k]
        )
        for k, (fold, own) in enumerate(zip(folds, chosen, strict=True))
    }
    table = _with_scores(problem.table, columns, scores)
    kept = np.flatnonzero(plays)
    players = [np.searchsorted(columns, problem.players[k]) for k in kept]
    unnamed = np.flatnonzero(~_columns_of(problem, plays)[columns])
    # The scores come first: see `PlayerSelection.one_column_each`.
    players.append(np.concatenate([len(columns) + np.arange(scores.shape[1]), unnamed]))
    played = replace(
        problem,
        frame=table.X,
        table=table,
        players=players,
        player_names=(*(problem.player_names[k] for k in kept), OTHERS),
        views=Views(seeds, views),
    )
    others = [fit for fit, _ in fits]
    correlations = _correlations(problem, plays)
    return PlayerSelection(played, problem.player_names, kept, correlations, columns, others)


def _with_scores(table: Table, columns: IntpArray, scores: FloatArray) -> Table:
    """Return a table of some columns, followed by the scores."""
    n_scores = scores.shape[1]
    return Table(
        np.hstack([table.X[:, columns], scores]),
        (*(table.names[j] for j in columns), *(OTHERS for _ in range(n_scores))),
        np.concatenate([table.categorical[columns], np.zeros(n_scores, dtype=bool)]),
        table.remarks,
    )


def _correlations(problem: Problem, plays: BoolArray) -> FloatArray:
    """Return correlations with y by the best test of each player; NaN for those that play."""
    rows = problem.has_weight
    tests = ColumnTests(problem.X[rows], problem.categorical)
    p_values = found_p_values(tests, problem.y[rows], problem.players)
    squared = chdtri(1, np.clip(p_values, 1e-300, 1.0)) / rows.sum()
    return np.where(plays, np.nan, np.sqrt(np.minimum(squared, 1.0)))
