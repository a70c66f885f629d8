"""Are held-out values what new rows say? The models of each fold, asked about new rows.

New rows ride along in the test sets of the folds with next to no weight: they have no part in any
choice, and each is predicted as a held-out row is, by the models of the folds that it is in.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from shaff._util.seeds import draw_seed
from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.data.folds import Fold, make_folds
from shaff.data.problem import Problem
from shaff.screening import select_players
from shaff.subsets import Subsets
from shaff.values.making import split_seeds
from shaff.values.stack import make_stack

# Past 5000 rows in all there would be fewer folds.
MOST_ROWS = 5000
NEXT_TO_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Accompanied(Problem):
    """A problem whose last rows are new: nothing is trained on them."""

    n_own: int = 0

    def folds(self, seed: int) -> tuple[Fold, ...]:
        own = make_folds(self.n_own, self.cv, None, draw_seed(seed), self.y[: self.n_own])
        new = np.arange(self.n_own, len(self.X))
        parts = np.array_split(np.random.default_rng(seed).permutation(new), len(own))
        return tuple(
            Fold(fold.train, np.concatenate([fold.test, more]))
            for fold, more in zip(own, parts, strict=True)
        )

    def visible(self, train: IntArray) -> BoolArray:
        """A fold's view, also for who takes all rows that are not in a test set as trained on."""
        return super().visible(train[train < self.n_own])


def accompanied(X: FloatArray, y: FloatArray, n_own: int, seed: int) -> Accompanied:
    """The first rows are the data."""
    plain = Problem.of(X, y, random_state=seed)
    weight = np.where(np.arange(len(X)) < n_own, 1.0, NEXT_TO_NOTHING)
    return Accompanied(**{**vars(plain), "sample_weight": weight, "n_own": n_own})


def held_out_and_fresh(X: FloatArray, y: FloatArray, n_own: int, seed: int) -> dict[str, float]:
    """v of all players, "all others" among them, of the same models: on the rows that they hold
    out, and on rows that came later."""
    n_new = MOST_ROWS - n_own
    parts = [
        np.concatenate([np.arange(n_own), np.arange(first, min(first + n_new, len(X)))])
        for first in range(n_own, len(X), n_new)
    ]
    errors = [squared_errors(X[rows], y[rows], n_own, seed) for rows in parts]
    own, fresh = errors[0][0], np.concatenate([new for _, new in errors])
    return {
        "held_out": float(1 - own.mean() / y[:n_own].var(ddof=1)),
        "fresh": float(1 - fresh.mean() / y[n_own:].var(ddof=1)),
    }


def squared_errors(
    X: FloatArray, y: FloatArray, n_own: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Of the data's rows and of the new ones."""
    problem = accompanied(X, y, n_own, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        selection = select_players(problem, split_seeds("stack", problem))
        values = make_stack(selection.problem).values
    squares = (y - values.predict(Subsets.full(values.n_players))[0, :, 0]) ** 2
    return squares[:n_own], squares[n_own:]
