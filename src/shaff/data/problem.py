"""The data of a fit: table, outcome, inputs, weights and groups of rows, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shaff._util.numbers import as_floats, check_digits
from shaff._util.seeds import draw_seed
from shaff._util.statistics import n_rows_of
from shaff._util.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    IntpArray,
    Players,
    RandomState,
    Tell,
    say_nothing,
)
from shaff.data.folds import Fold, Splits, check_names_all_rows, make_folds, read_cv
from shaff.data.outcome import DerivedOutcome, VarianceUnit
from shaff.data.remarks import Remark
from shaff.data.rows import check_rows, read_row_groups, read_sample_weight, sample_rows
from shaff.data.structure import PLAIN, Order, Structure, flattened, read_structure
from shaff.data.table import Groups, Table, is_frame, is_sparse, read_players, read_table, take_rows
from shaff.data.target import Target, read_target
from shaff.data.time import block_splits, outcome_blocks, read_time
from shaff.errors import InputError


@dataclass(frozen=True, eq=False)
class Views:
    """Columns that a screen lets the learner of each fold see.

    Parameters
    ----------
    seeds : list of int
        Seeds of the runs whose folds were screened.
    columns : dict of bytes to bool arrays of shape (n_columns,)
        Visible columns by the rows that a learner is trained on; see `Views.key`.
    """

    seeds: list[int]
    columns: dict[bytes, BoolArray]

    @staticmethod
    def key(train: IntArray, n_rows: int) -> bytes:
        """Return the key of a set of training rows."""
        inside = np.zeros(n_rows, dtype=bool)
        inside[train] = True
        return np.packbits(inside).tobytes()


class NothingToExplainError(Exception):
    """Raised if the outcome does not vary."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.target.constant}: all effects are 0.")
        self.problem = problem


@dataclass(frozen=True, eq=False)
class Problem:
    """The data as all steps of a fit need them, and from which value functions are made.

    Parameters
    ----------
    frame : array or frame
        X as the user gave it, for models that are not made of trees.
    table : Table
        X as numbers.
    target : Target
        The outcome as numbers.
    players : list of int arrays
        The columns of each player, which is an input or a group of inputs.
    player_names : tuple of str
        Names of the players.
    sample_weight : float array of shape (n_rows,) or None
        Weights of the rows; None means 1 for each.
    row_groups : int array of shape (n_rows,) or None
        Rows of one group are never on both sides of a split.
    cv : int, list of splits or None
        Number of folds, or the splits of the user's splitter; None means the default.
    n_jobs : int or None
        Number of threads.
    seed : int
        Seed of all random numbers.
    n_given : int or None
        Number of rows before any were left out, if that is known.
    tell : callable
        Called with the number of learners grown and of all learners.
    views : Views or None
        Which columns the learner of a fold may see; None means all.
    places : int array of shape (n_rows,) or None
        Places of the rows in the user's table; None means all, in order.
    row_of : int array of shape (n_read,) or None
        The row that each of the rows as they were read is part of, where copies were joined.
    time : int array of shape (n_rows,) or None
        Places of the rows in time; then ``cv`` and ``row_groups`` are blocks of it.
    blocks : int array of shape (n_rows,) or None
        Blocks of time that are independent observations, once they are known.
    loss : str
        Name of the loss that v is measured by; see `shaff.values.losses`.
    structure : Structure
        Order and hierarchy of the inputs, in the order in which they were read.

    Examples
    --------
    >>> from shaff.data.problem import Problem
    >>> Problem.of([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0]).y.shape
    (2, 1)
    """

    frame: Any
    table: Table
    target: Target
    players: list[IntpArray]
    player_names: tuple[str, ...]
    sample_weight: FloatArray | None = None
    row_groups: npt.NDArray[Any] | None = None
    cv: int | Splits | None = None
    n_jobs: int | None = None
    seed: int = 0
    n_given: int | None = None
    tell: Tell = say_nothing
    views: Views | None = None
    places: IntpArray | None = None
    row_of: IntpArray | None = None
    time: IntpArray | None = None
    blocks: IntpArray | None = None
    loss: str = "squared_error"
    structure: Structure = PLAIN

    @classmethod
    def of(
        cls,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        players: Players | None = None,
        categorical: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        row_groups: npt.ArrayLike | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        loss: str = "squared_error",
    ) -> Problem:
        """Make a problem from plain arrays, for value functions that are used by themselves.

        ``categorical`` marks the columns of codes 0, 1, ...; ``players`` are lists of columns,
        by default one player per column. Weights are not rescaled.
        """
        matrix, target = _checked_arrays(X, y)
        names = tuple(f"x{j}" for j in range(matrix.shape[1]))
        columns = range(matrix.shape[1]) if players is None else players
        members = [np.atleast_1d(np.asarray(c, dtype=np.intp)) for c in columns]
        groups = None if row_groups is None else np.asarray(row_groups)
        whole_seed = isinstance(random_state, int | np.integer)
        return cls(
            matrix,
            Table(matrix, names, _checked_mask(categorical, matrix.shape[1])),
            target,
            members,
            names if players is None else tuple(f"player{k}" for k in range(len(members))),
            _checked_weight(sample_weight, len(matrix)),
            groups,
            read_cv(cv, len(matrix), target, groups),
            n_jobs,
            int(random_state) if whole_seed else draw_seed(random_state),  # type: ignore[arg-type]
            loss=loss,
        )

    @property
    def X(self) -> FloatArray:
        """The matrix; NaN is missing."""
        return self.table.X

    @property
    def y(self) -> FloatArray:
        """The outcomes, shape (n_rows, n_outputs)."""
        return self.target.y

    @property
    def categorical(self) -> BoolArray:
        """Columns of category codes, shape (n_columns,)."""
        return self.table.categorical

    @property
    def weight(self) -> FloatArray:
        """Weights of the rows, all 1 by default."""
        return np.ones(len(self.X)) if self.sample_weight is None else self.sample_weight

    @property
    def variance_unit(self) -> VarianceUnit | None:
        """The variance that effects are shares of, where the outcome names one of its own."""
        squares = self.target.squares
        if squares is None:
            return None
        return VarianceUnit.of(self.y[:, 0], squares, self.weight)

    @property
    def has_weight(self) -> BoolArray:
        """Rows that have weight."""
        return np.asarray(self.weight > 0)

    @property
    def has_splits(self) -> bool:
        """Whether the user's splitter decides what is held out, which only boosting heeds."""
        return isinstance(self.cv, list)

    @property
    def n_measured(self) -> int:
        """Number of rows that v is measured on; a splitter may hold out only some of them."""
        if isinstance(self.cv, list):
            return sum(len(test) for _, test in self.cv)
        return self.n_read

    @property
    def n_read(self) -> int:
        """Number of rows before copies were joined."""
        return len(self.X) if self.row_of is None else len(self.row_of)

    @property
    def n_counted(self) -> int:
        """Number of rows that a learner counts: whole weights are repeated rows."""
        return int(n_rows_of(self.weight))

    @property
    def n_units(self) -> int:
        """Number of independent observations that v is measured on: rows, or groups if fewer."""
        if self.error_units is None:
            return min(self.n_measured, len(self.X))
        return min(self.n_measured, len(np.unique(self.error_units)))

    @property
    def error_units(self) -> npt.NDArray[Any] | None:
        """The independent observation that each row is part of; None if each row is one."""
        return self.row_groups if self.blocks is None else self.blocks

    def folds(self, seed: int) -> tuple[Fold, ...]:
        """Return the folds of a run with this seed."""
        return make_folds(len(self.X), self.cv, self.row_groups, draw_seed(seed), self.y)

    def visible(self, train: IntArray) -> BoolArray:
        """Mark the columns that a learner trained on these rows may see, shape (n_columns,)."""
        if self.views is None:
            return np.ones(self.X.shape[1], dtype=bool)
        return self.views.columns[Views.key(train, len(self.X))]

    def check_varies(self) -> None:
        """Raise `NothingToExplainError` if y is constant over the rows with weight."""
        if np.ptp(self.y[self.has_weight], axis=0).max() == 0:
            raise NothingToExplainError(self)

    def without_copies(self) -> Problem:
        """Return the problem with each column once; players that hold a copy share the original.

        A copy carries no further information, so that no learner needs to see both, and none can
        favour one of them.
        """
        if self.views is not None:
            return self  # seen to before it was screened
        original = _originals(self.X, self.categorical)
        kept = np.unique(original)  # those of `distinct_columns`
        if len(kept) == len(original):
            return self
        place = np.searchsorted(kept, original)
        table = replace(
            self.table,
            X=np.ascontiguousarray(self.X[:, kept]),
            names=tuple(self.table.names[j] for j in kept),
            categorical=self.categorical[kept],
        )
        return replace(self, table=table, players=[np.unique(place[p]) for p in self.players])

    def distinct_columns(self) -> IntpArray:
        """Return the columns that `without_copies` keeps."""
        return np.unique(_originals(self.X, self.categorical))

    def take(self, rows: IntpArray) -> Problem:
        """Return the problem with some of the rows."""
        groups, weight = self.row_groups, self.sample_weight
        return replace(
            self,
            frame=take_rows(self.frame, rows),
            table=replace(self.table, X=self.X[rows]),
            target=self.target.take(rows),
            sample_weight=None if weight is None else weight[rows],
            row_groups=None if groups is None else read_row_groups(groups[rows], len(rows)),
            places=rows if self.places is None else self.places[rows],
            time=None if self.time is None else np.unique(self.time[rows], return_inverse=True)[1],
        )

    def of_rows_read(self, influences: FloatArray) -> FloatArray:
        """Return influences on means of the rows as they were read: joined copies share that of
        their row. Shapes are (n_means, n_rows) and (n_means, n_read)."""
        if self.row_of is None:
            return influences
        share = self.n_read / len(self.X) / np.bincount(self.row_of)
        return np.asarray((influences * share)[:, self.row_of])

    def __getstate__(self) -> dict[str, Any]:
        # A progress bar may be bound to a window of this process.
        return {**self.__dict__, "tell": say_nothing}

    def in_time(self) -> Problem:
        """Return the problem with the folds and row groups that its times ask for."""
        if self.time is None:
            return self
        blocks = outcome_blocks(self.time, self.y)
        splits = block_splits(blocks, self.cv if isinstance(self.cv, int) else None)
        return replace(self, cv=splits, row_groups=blocks)

    def with_matrix(self, X: FloatArray) -> Problem:
        """Return the problem with another matrix of as many rows."""
        return replace(self, frame=X, table=replace(self.table, X=X))


class RawData(NamedTuple):
    """Data as the user gives them; anything but X may be None."""

    X: Any
    y: Any
    sample_weight: Any = None
    row_groups: Any = None
    time: Any = None


@dataclass(frozen=True, eq=False)
class ReadingOptions:
    """Options for reading rows; see `shaff.ShapleyEffects`.

    ``as_classes`` reads numbers in y as classes; ``all_rows`` keeps every row, also those without
    weight.
    """

    seed: int
    groups: Groups | None = None
    categorical: str | Sequence[str | int] = "auto"
    cv: Any = None
    n_jobs: int | None = None
    max_rows: int | None = None
    order: Order | None = None
    as_classes: bool = field(default=False, kw_only=True)
    all_rows: bool = field(default=False, kw_only=True)
    loss: str = field(default="squared_error", kw_only=True)


def read_problem(
    data: RawData, reading: ReadingOptions, check_matrix: Callable[[Any], Any] = np.asarray
) -> Problem:
    """Read and check all data; ``check_matrix`` returns the matrix of an X without names.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import RawData, ReadingOptions, read_problem
    >>> data = RawData(np.eye(12), ["no", "yes"] * 6)
    >>> read_problem(data, ReadingOptions(seed=0)).target.classes
    ('no', 'yes')
    """
    max_rows = None if reading.all_rows else reading.max_rows
    sample = sample_rows(data, max_rows, reading.seed)
    X, y, sample_weight, row_groups, time = sample.arrays
    _check_time(time, row_groups, reading.cv)
    check_names_all_rows(reading.cv, sample.places is not None)
    table = read_table(X if is_frame(X) else _matrix(X, check_matrix), reading.categorical)
    table = replace(table, remarks=(*sample.remarks, *table.remarks))
    n_rows = len(table.X)
    check_rows(n_rows)
    target = read_target(y, n_rows, reading.as_classes)
    table = replace(table, remarks=(*table.remarks, *_order_remarks(target)))
    flat, upper = flattened(reading.groups)
    players, names = read_players(flat, table.names)
    groups = read_row_groups(row_groups, n_rows)
    problem = Problem(
        X if is_frame(X) else table.X,
        table,
        target,
        players,
        names,
        _with_own_weight(y, read_sample_weight(sample_weight, n_rows)),
        groups,
        read_cv(reading.cv, n_rows, target, groups),
        reading.n_jobs,
        reading.seed,
        sample.n_given,
        places=sample.places,
        time=read_time(time, n_rows),
        loss=reading.loss,
        structure=read_structure(reading.order, upper, players, names, table.names),
    )
    return problem if reading.all_rows else without_idle_rows(problem).in_time()


def _with_own_weight(y: Any, sample_weight: FloatArray | None) -> FloatArray | None:
    """Weights of the rows, times those that an outcome brings along."""
    own = y.weights if isinstance(y, DerivedOutcome) else None
    if own is None:
        return sample_weight
    weight = own if sample_weight is None else own * sample_weight
    # They have no unit, also if they are whole: an exposure counts no rows.
    return np.asarray(weight / weight[weight > 0].mean())


def _order_remarks(target: Target) -> tuple[Remark, ...]:
    order = target.ordered
    if not order:
        return ()
    return (
        Remark(
            "ordered outcome", details={"ends": (order[0], order[-1]), "highest": len(order) - 1}
        ),
    )


def _matrix(X: Any, check_matrix: Callable[[Any], Any]) -> Any:
    matrix = check_matrix(X)
    if not is_sparse(X):
        check_digits(X, matrix, "X")
    return matrix


def _check_time(time: Any, row_groups: Any, cv: Any) -> None:
    """Refuse what would decide on folds beside time."""
    if time is None:
        return
    if row_groups is not None:
        raise InputError("Give time or row_groups, not both: rows of one time stay together.")
    if cv is not None and not isinstance(cv, int | np.integer):
        raise InputError("time makes folds of its own: pass a number of folds as cv, or None.")


def without_idle_rows(problem: Problem) -> Problem:
    """Return the problem without the rows of weight 0.

    They stay if the user's splitter decides what is held out, since it counts all rows.
    """
    rows = np.flatnonzero(problem.has_weight)
    if len(rows) == len(problem.X) or problem.has_splits:
        return problem
    return problem.take(rows)


def _originals(X: FloatArray, categorical: BoolArray) -> IntpArray:
    """Return for each column the first one that has the same entries.

    Categories are the same if each of one goes with one of the other, whatever their names.
    """
    seen: dict[tuple[bytes, bool], int] = {}
    # Zeros have two signs and NaN many forms.
    columns = np.where(np.isnan(X), np.nan, X + 0.0).T
    keys = [
        (np.ascontiguousarray(_by_appearance(c) if k else c).tobytes(), bool(k))
        for c, k in zip(columns, categorical, strict=True)
    ]
    return np.array([seen.setdefault(key, j) for j, key in enumerate(keys)], dtype=np.intp)


def _by_appearance(codes: FloatArray) -> FloatArray:
    """Return codes of categories in the order in which they first appear; NaN stays NaN."""
    _, first, kind = np.unique(codes, return_index=True, return_inverse=True)
    return np.where(np.isnan(codes), np.nan, np.argsort(np.argsort(first))[kind])


def _checked_arrays(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, Target]:
    matrix = np.ascontiguousarray(as_floats(X, "X"))
    outputs = as_floats(y, "y")
    outputs = outputs[:, None] if outputs.ndim == 1 else outputs
    if matrix.ndim != 2 or outputs.ndim != 2 or len(matrix) != len(outputs):
        raise InputError(f"X of shape {matrix.shape} and y of shape {outputs.shape} do not match.")
    if not np.isfinite(outputs).all():
        raise InputError("y has missing or infinite entries.")
    if np.isinf(matrix).any():
        raise InputError("X has infinite entries.")
    return matrix, Target(outputs)


def _checked_mask(categorical: npt.ArrayLike | None, n_columns: int) -> BoolArray:
    if categorical is None:
        return np.zeros(n_columns, dtype=bool)
    mask = np.asarray(categorical, dtype=bool)
    if mask.shape != (n_columns,):
        raise InputError(f"categorical has shape {mask.shape}, expected ({n_columns},).")
    return mask


def _checked_weight(sample_weight: npt.ArrayLike | None, n_rows: int) -> FloatArray | None:
    if sample_weight is None:
        return None
    weight = as_floats(sample_weight, "sample_weight")
    if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError("sample_weight must hold one non-negative number per row.")
    if weight.sum() <= 0:
        raise InputError("sample_weight is zero everywhere.")
    return weight
