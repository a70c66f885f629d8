"""A small summary of the data that a result carries along, of bounded cost.

It says how each column was read, what is missing, and which inputs are associated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.data.target import Target

MAX_COLUMNS = 300
# Rows that say how two columns go together; more would not change a picture.
_ROWS = 2000
# Indicators of all categories together, and the categories of one column that are told apart.
_INDICATORS, _MAX_LEVELS = 1500, 20
# Columns up to which the best order of the clusters is searched for.
_ORDERED = 100


class ColumnSummary(NamedTuple):
    """One column as it was read.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "category"}
        Whether it holds numbers or categories.
    player : str
        Name of the input it belongs to: its own, or that of a group.
    n_missing : int
        Number of rows without a value.
    n_distinct : int
        Number of different values, without missing ones.
    low, middle, high : float or None
        Smallest value, median and largest value of numbers.
    """

    name: str
    kind: str
    player: str
    n_missing: int
    n_distinct: int
    low: float | None = None
    middle: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class DataSummary:
    """The table that effects rest on.

    Parameters
    ----------
    n_rows : int
        Number of rows that were used.
    n_given : int
        Number of rows before any were left out by sampling or for lack of weight.
    n_columns : int
        Number of columns.
    columns : tuple of ColumnSummary
        Columns of the inputs with the largest effects, at most `MAX_COLUMNS`, in that order.
    target : ColumnSummary or None
        The outcome; None when there are several.
    association : float array of shape (len(columns), len(columns))
        Association of each pair of columns, from 0 to 1 (see `associations`); negative if one
        number falls as the other rises.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.data.summary import summarise
    >>> x = np.arange(20.0)
    >>> summary = summarise(Problem.of(np.c_[x, -x, x % 2], x), np.array([0.4, 0.5, 0.0]))
    >>> [column.name for column in summary.columns], summary.association[0, 1].tolist()
    (['x1', 'x0', 'x2'], -1.0)
    """

    n_rows: int
    n_given: int
    n_columns: int
    columns: tuple[ColumnSummary, ...]
    association: FloatArray
    target: ColumnSummary | None = None

    def __post_init__(self) -> None:
        association = np.array(self.association, dtype=np.float64)
        association.setflags(write=False)
        object.__setattr__(self, "association", association)

    def content(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["columns"] = [column._asdict() for column in self.columns]
        plain["target"] = None if self.target is None else self.target._asdict()
        return plain

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> DataSummary:
        """Make a summary from what `content` returned."""
        known = {field.name for field in fields(cls)} & content.keys()
        arguments = {name: content[name] for name in known}
        arguments["columns"] = tuple(ColumnSummary(**column) for column in content["columns"])
        if content.get("target") is not None:
            arguments["target"] = ColumnSummary(**content["target"])
        return cls(**arguments)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Columns of each group of inputs, by its name."""
        members: dict[str, list[str]] = {}
        for column in self.columns:
            members.setdefault(column.player, []).append(column.name)
        return {name: tuple(some) for name, some in members.items() if some != [name]}


def summarise(problem: Problem, effects: FloatArray) -> DataSummary:
    """Summarise the columns of the inputs with the largest effects."""
    order = np.argsort(-effects, kind="stable")
    player_of = {int(c): problem.player_names[j] for j in order for c in problem.players[j]}
    # Copies of a column may have been joined, so that players share one.
    chosen = np.array(list(player_of)[:MAX_COLUMNS], dtype=np.intp)
    rows = np.linspace(0, len(problem.X) - 1, min(_ROWS, len(problem.X))).astype(np.intp)
    return DataSummary(
        n_rows=len(problem.X),
        n_given=problem.n_given or len(problem.X),
        n_columns=problem.X.shape[1],
        columns=tuple(
            _column(problem.X[:, c], problem.table.names[c], bool(problem.categorical[c]), player)
            for c, player in ((c, player_of[int(c)]) for c in chosen)
        ),
        association=associations(problem.X[np.ix_(rows, chosen)], problem.categorical[chosen]),
        target=_target(problem.target),
    )


def _column(values: FloatArray, name: str, is_category: bool, player: str) -> ColumnSummary:
    known = values[~np.isnan(values)]
    kind = "category" if is_category else "number"
    summary = ColumnSummary(name, kind, player, len(values) - len(known), len(np.unique(known)))
    if is_category or not len(known):
        return summary
    low, middle, high = (float(q) for q in np.quantile(known, (0, 0.5, 1)))
    return summary._replace(low=low, middle=middle, high=high)


def _target(target: Target) -> ColumnSummary | None:
    name = target.name or "y"
    if target.classes is not None:
        return ColumnSummary(name, "category", name, 0, len(target.classes))
    return _column(target.y[:, 0], name, False, name) if target.y.shape[1] == 1 else None


def associations(X: FloatArray, categorical: BoolArray) -> FloatArray:
    """Return the association of each pair of columns: 0 is none, 1 if one determines the other.

    For two numbers the absolute value of their rank correlation, with its sign; for a number and a
    category the correlation ratio of the ranks; for two categories Cramer's V. All three are one
    formula, the squared correlations of all functions of the one (its ranks, or indicators of its
    categories) with those of the other, divided by the smaller number of functions, minus what
    chance alone gives. Missing numbers count as average ones, missing categories as a category.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.summary import associations
    >>> x = np.arange(100.0)
    >>> associations(np.c_[x, x**3, x > 49, x % 2], np.array([False, False, True, True])).round(1)
    array([[1. , 1. , 0.9, 0. ],
           [1. , 1. , 0.9, 0. ],
           [0.9, 0.9, 1. , 0. ],
           [0. , 0. , 0. , 1. ]])
    """
    n_levels = int(np.clip(_INDICATORS // max(int(categorical.sum()), 1), 3, _MAX_LEVELS))
    blocks = [
        _indicators(x, n_levels) if is_category else _ranks(x)[:, None]
        for x, is_category in zip(X.T, categorical, strict=True)
    ]
    sizes = np.array([block.shape[1] for block in blocks])
    # Indicators add up to a constant, which takes one of them away.
    dimensions = np.maximum(sizes - categorical, 1)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    correlations = np.hstack(blocks)
    correlations = correlations.T @ correlations / len(X)
    squares = np.add.reduceat(np.add.reduceat(correlations**2, starts, axis=0), starts, axis=1)
    signs = np.sign(correlations[np.ix_(starts, starts)])
    signs[categorical] = signs[:, categorical] = 1.0
    return _of_squares(squares, dimensions, len(X)) * np.where(signs < 0, -1.0, 1.0)


def _of_squares(squares: FloatArray, dimensions: IntpArray, n_rows: int) -> FloatArray:
    """Convert summed squared correlations to associations, minus what chance alone gives."""
    chance = np.outer(dimensions, dimensions) / max(n_rows - 1, 1)
    most = np.minimum.outer(dimensions, dimensions)
    room = most - chance
    shares = np.divide(squares - chance, room, out=np.zeros_like(squares), where=room > 0)
    association: FloatArray = np.sqrt(np.clip(shares, 0.0, 1.0))
    np.fill_diagonal(association, 1.0)
    return association


def _ranks(values: FloatArray) -> FloatArray:
    """Return mid-ranks with mean 0 and variance 1; missing values have rank 0."""
    known = ~np.isnan(values)
    _, place, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    ranks = np.zeros(len(values))
    ranks[known] = (np.cumsum(counts) - counts / 2)[place]
    ranks[known] -= ranks[known].mean() if known.any() else 0.0
    spread = ranks.std()
    return np.divide(ranks, spread, dtype=np.float64) if spread > 0 else ranks


def _indicators(codes: FloatArray, n_levels: int) -> FloatArray:
    """Return centred indicators of the most frequent categories and of all others together."""
    labels, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    levels = np.minimum(rank, n_levels - 1)[place]
    indicators = (levels[:, None] == np.arange(min(len(labels), n_levels))).astype(np.float64)
    shares = indicators.mean(axis=0)
    return np.asarray((indicators - shares) / np.sqrt(shares))


def cluster_order(association: FloatArray) -> IntpArray:
    """Return an order in which associated columns are neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.summary import cluster_order
    >>> together = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> cluster_order(together).tolist() in ([1, 0, 2], [1, 2, 0], [0, 2, 1], [2, 0, 1])
    True
    """
    if len(association) < 3:
        return np.arange(len(association))
    distance = 1 - np.abs(association)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average",
                   optimal_ordering=len(association) <= _ORDERED)  # fmt: skip
    return np.asarray(leaves_list(tree), dtype=np.intp)
