"""Trees behind steps that change columns: projected on the columns that the steps are given.

A subset of the inputs is the subset of the columns that the steps make of them. This holds where
each column comes from one input, as behind scalers, imputers of single columns, encoders and
selectors; steps that mix inputs, such as principal components, cannot be seen through. Which input
a column comes from is asked of the steps themselves: those columns are an input's that change when
its values are exchanged between rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from shaff._util.frames import make_frame
from shaff._util.missing import is_missing
from shaff._util.seeds import seeded
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.data.table import Table, is_frame, is_sparse, library_of
from shaff.errors import InputError
from shaff.protocols import Game
from shaff.trees.forest import Forest
from shaff.values.models.asking import with_known_columns

# Rows that the steps are asked about, of those with missing values and of all: imputers may look
# at other inputs in the former only.
N_MISSING, N_ROWS = 500, 1500
# Encoders of many categories return sparse columns, which are made dense up to so many numbers.
# Memory only.
MAX_NUMBERS = 2**27


@dataclass(frozen=True, eq=False)
class Spelled:
    """Rows of a table as they were before they were read.

    Parameters
    ----------
    names : tuple of str
        Names of the columns; none if the rows are an array.
    labels : dict of int to array
        By column of categories, what its codes stand for; the last is a missing one.
    library : str or None
        Library of the frame.
    """

    names: tuple[str, ...]
    labels: dict[int, npt.NDArray[np.object_]]
    library: Any

    @classmethod
    def of(cls, problem: Problem) -> Spelled:
        """Look at what the rows of a problem were read from."""
        labels = {int(j): _labels(problem, int(j)) for j in np.flatnonzero(problem.categorical)}
        named = is_frame(problem.frame)
        library = library_of(problem.frame)
        return cls(problem.table.names if named else (), labels, library)

    def __call__(self, rows: FloatArray) -> Any:
        """Return rows of numbers and codes as a frame or array like the one that was given."""
        if not self.names:
            spelled = rows.copy()
            for j, labels in self.labels.items():
                spelled[:, j] = labels[_places(rows[:, j], labels)].astype(np.float64)
            return spelled
        columns = {
            name: _spelled(rows[:, j], self.labels.get(j)) for j, name in enumerate(self.names)
        }
        return make_frame(columns, self.library)


def _labels(problem: Problem, column: int) -> npt.NDArray[np.object_]:
    if not is_frame(problem.frame):
        return np.array([*problem.table.levels[problem.table.names[column]], np.nan], dtype=object)
    values = nw.from_native(problem.frame, eager_only=True)[problem.table.names[column]].to_list()
    codes = problem.X[:, column]
    n_levels = len(problem.table.levels[problem.table.names[column]])
    found = np.full(n_levels + 1, None, dtype=object)
    for value, code in zip(values, codes, strict=True):
        found[n_levels if is_missing(value) else int(code)] = value
    return found


def _places(codes: FloatArray, labels: npt.NDArray[np.object_]) -> IntpArray:
    return np.where(np.isnan(codes), len(labels) - 1, codes).astype(np.intp)


def _spelled(column: FloatArray, labels: npt.NDArray[np.object_] | None) -> Any:
    return column if labels is None else labels[_places(column, labels)].tolist()


@dataclass(frozen=True, eq=False)
class FittedSteps:
    """Fitted steps, from rows as they were read to the columns that they make.

    Parameters
    ----------
    steps : tuple of fitted transformers
    spelled : Spelled
        How the first step is given its rows.
    """

    steps: tuple[Any, ...]
    spelled: Spelled

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return the columns that the steps make of rows."""
        return made_by(self.steps, self.spelled(rows))


def made_by(steps: Sequence[Any], rows: Any) -> FloatArray:
    """Return the columns that fitted steps make of rows, as numbers.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from shaff.values.models.seeing_through import made_by
    >>> made_by([OneHotEncoder().fit([["a"], ["b"]])], [["b"]]).tolist()
    [[0.0, 1.0]]
    """
    rows = with_known_columns(steps[0], rows) if steps else rows
    for step in steps:
        rows = step.transform(rows)
    if np.prod(np.shape(rows), dtype=np.float64) > MAX_NUMBERS:
        raise InputError("The steps make more columns than fit in memory.")
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SeenThrough:
    """Rows as the trees behind some steps see them.

    Parameters
    ----------
    problem : Problem
        Its columns are those that the steps make; its inputs are those that they are given.
    given : Problem
        The problem as the steps are given it.
    steps : FittedSteps
    """

    problem: Problem
    given: Problem
    steps: FittedSteps

    def game(self, inner: Game) -> Game:
        """Return the game of the trees as one of the columns that the steps are given."""
        kept = None if inner.problem is None else replace(self.given, cv=inner.problem.cv)
        gains = None if inner.gains is None else self._by_given(inner.gains)
        forest = None if inner.forest is None else self._on_given(inner.forest)
        return replace(inner, gains=gains, forest=forest, problem=kept, encode=self.steps)

    @property
    def _first_given(self) -> IntpArray:
        """For each column that the steps make, the first column of the input that it is made of;
        -1 for a constant."""
        owner = np.full(self.problem.X.shape[1], -1, dtype=np.intp)
        for made, given in zip(self.problem.players, self.given.players, strict=True):
            owner[made] = given[0]
        return owner

    def _by_given(self, gains: FloatArray) -> FloatArray:
        owner = self._first_given
        total = np.bincount(owner[owner >= 0], gains[owner >= 0], self.given.X.shape[1])
        return np.asarray(total, dtype=np.float64)

    def _on_given(self, forest: Forest) -> Forest:
        feature = np.where(forest.feature < 0, -1, self._first_given[forest.feature])
        n_columns = self.given.X.shape[1]
        return replace(forest, feature=feature.astype(np.int32), n_columns=n_columns)


def see_through(steps: Sequence[Any], problem: Problem) -> SeenThrough | None:
    """Return the rows of a problem as a model behind fitted steps sees them; None where a column
    is made of several inputs, is no number, or depends on the other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.models.seeing_through import see_through
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> [see_through([step.fit(X)], Problem.of(X, X[:, 0])) is not None
    ...  for step in (StandardScaler(), PCA())]
    [True, False]
    """
    through = FittedSteps(tuple(steps), Spelled.of(problem))
    try:
        made = made_by(steps, problem.frame)
        again = through(problem.X)
    except Exception:  # text, or columns that they do not know: the model says so when it is asked
        return None
    if made.shape != again.shape or not np.array_equal(made, again, equal_nan=True):
        return None
    players = _made_of(through, problem, made)
    if players is None or np.isinf(made).any():
        return None
    names = tuple(f"z{j}" for j in range(made.shape[1]))
    table = Table(made, names, np.zeros(made.shape[1], dtype=bool))
    inner = replace(problem, frame=made, table=table, players=players)
    return SeenThrough(inner, problem, through)


def _made_of(steps: FittedSteps, problem: Problem, made: FloatArray) -> list[IntpArray] | None:
    """The columns that are made of each input; None if one is made of several, or of other rows."""
    rows = _telling_rows(problem.X)
    X, before = problem.X[rows], made[rows]
    if not np.array_equal(steps(X[::-1]), before[::-1], equal_nan=True):
        return None
    order = np.random.RandomState(0).permutation(len(rows))
    found = []
    for columns in problem.players:
        exchanged = X.copy()
        exchanged[:, columns] = X[np.ix_(order, columns)]
        found.append(np.flatnonzero(_differ(steps(exchanged), before)))
    together = np.concatenate(found)
    return None if len(np.unique(together)) < len(together) else found


def _differ(first: FloatArray, second: FloatArray) -> npt.NDArray[np.bool_]:
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    return np.asarray(~same.all(axis=0))


def _telling_rows(X: FloatArray) -> IntpArray:
    missing = np.flatnonzero(np.isnan(X).any(axis=1))[:N_MISSING]
    even = np.linspace(0, len(X) - 1, min(N_ROWS, len(X))).astype(np.intp)
    return np.unique(np.concatenate([missing, even]))


def fit_steps(steps: Any, problem: Problem) -> Any:
    """Fit steps on all rows, without the outcome; None if they ask for it, or fail: the outcome of
    held-out rows must not enter.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest, VarianceThreshold
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.models.seeing_through import fit_steps
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> [fit_steps(step, Problem.of(X, X[:, 3])) is not None
    ...  for step in (SelectKBest(k=1), VarianceThreshold())]
    [False, True]
    """
    try:
        return seeded(steps, problem.seed).fit(problem.frame)
    except Exception:  # whatever it is: the model is fitted next, and says what it lacks
        return None
