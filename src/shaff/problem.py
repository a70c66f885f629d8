"""What is asked: a table, a target, the players, weights and groups of rows, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length

from shaff._warn import warn
from shaff.columns import MIN_ROWS, Table, is_frame, is_missing, read_column, take_rows
from shaff.subsets import BoolArray, FloatArray, IntArray
from shaff.values.cross_fitting import make_folds
from shaff.values.held_out import as_target
from shaff.values.variance import count_rows

Splits = list[tuple[IntArray, IntArray]]
MAX_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Target:
    """The outcome as numbers.

    Parameters
    ----------
    y : float array of shape (n_rows, n_outputs)
        For a classification the indicators of the classes; with two classes that of the second
        only, since the first would say the same again.
    classes : tuple of str or None
    name : str or None
    outputs : tuple of str or None
        Names of the outputs when there are several.
    labels : array of shape (n_rows,) or None
        The classes as they were given, for classifiers to be fitted on.
    """

    y: FloatArray
    classes: tuple[str, ...] | None = None
    name: str | None = None
    outputs: tuple[str, ...] | None = None
    labels: npt.NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """All that the three steps need to know of the data.

    ``frame`` is X as it was given, for models that are not made of trees.
    """

    frame: Any
    table: Table
    target: Target
    players: list[npt.NDArray[np.intp]]
    player_names: tuple[str, ...]
    sample_weight: FloatArray | None
    row_groups: npt.NDArray[Any] | None
    cv: int | Splits | None
    n_jobs: int | None
    seed: int

    @property
    def X(self) -> FloatArray:
        """The matrix."""
        return self.table.X

    @property
    def y(self) -> FloatArray:
        """The targets, shape (n_rows, n_outputs)."""
        return self.target.y

    @property
    def counts(self) -> BoolArray:
        """Rows that have weight."""
        if self.sample_weight is None:
            return np.ones(len(self.X), dtype=bool)
        return np.asarray(self.sample_weight > 0)

    @property
    def has_splits(self) -> bool:
        """Whether the user's splitter says what is held out, which only boosting keeps to."""
        return isinstance(self.cv, list)

    @property
    def n_measured(self) -> int:
        """Rows that v is measured on: a splitter may hold out some of them only."""
        if isinstance(self.cv, list):
            return sum(len(test) for _, test in self.cv)
        return len(self.X)

    @property
    def n_units(self) -> int:
        """Independent observations that v is measured on: rows, or their groups if fewer."""
        if self.row_groups is None:
            return self.n_measured
        return min(self.n_measured, len(np.unique(self.row_groups)))


def read_target(y: Any, n_rows: int, as_classes: bool = False) -> Target:
    """Numbers of shape (n,) or (n, n_outputs), or class labels, which become indicators.

    Strings, booleans and categories are classes; numbers are unless ``as_classes``.

    Examples
    --------
    >>> from shaff.problem import read_target
    >>> read_target(["no", "yes", "no"], 3).y.tolist()
    [[0.0], [1.0], [0.0]]
    """
    if y is None:
        raise ValueError(
            "This ShapleyEffects estimator requires y to be passed, but the target y is None."
        )
    values, name, outputs = _target_values(y)
    if values.ndim == 2 and values.shape[1] == 1 and values.shape[0] > 0:
        if not is_frame(y):
            warn(_column_vector_warning())
        values, name, outputs = values[:, 0], name or (outputs or (None,))[0], None
    if values.ndim not in (1, 2):
        raise ValueError(f"y has {values.ndim} dimensions: expected 1, or 2 for several outputs.")
    if len(values) != n_rows:
        check_consistent_length(np.empty(n_rows), values)
    if as_classes or values.dtype.kind in "OUSb":
        return _read_classes(values, name)
    return _read_outputs(values, name, outputs)


def _target_values(y: Any) -> tuple[npt.NDArray[Any], str | None, tuple[str, ...] | None]:
    """y as an array (of objects, if it is not plain numbers), its name and its columns' names."""
    native = nw.from_native(y, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(native, nw.Series):
        return _series_values(native), _text(native.name), None
    if isinstance(native, nw.DataFrame):
        columns = [_series_values(column) for column in native.iter_columns()]
        values = np.column_stack(columns) if columns else np.empty((len(native), 0))
        return values, None, tuple(str(name) for name in native.columns)
    values = np.asarray(y)
    if values.ndim == 1 and (values.dtype.kind == "O" or isinstance(y, list | tuple)):
        values = _from_objects(list(y) if isinstance(y, list | tuple) else values.tolist())
    return values, None, None


def _text(name: Any) -> str | None:
    return None if name in (None, "") else str(name)


def _series_values(series: nw.Series[Any]) -> npt.NDArray[Any]:
    """Numbers where the column has a type for them, else objects."""
    if series.dtype in (nw.Date, nw.Datetime, nw.Duration, nw.Time):
        raise TypeError(f"y holds {series.dtype}: convert it to numbers or to labels of classes.")
    if series.dtype.is_numeric():
        return read_column(series, "y").values
    labels = series.to_list()
    if series.dtype in (nw.Categorical, nw.Enum):
        labels = [None if is_missing(label) else str(label) for label in labels]
    return _from_objects(labels)


def _from_objects(values: list[Any]) -> npt.NDArray[Any]:
    """Python objects: numbers if all are, else labels; missing ones are None."""
    labels = [None if is_missing(v) else v for v in values]
    known = [v for v in labels if v is not None]
    flags = [isinstance(v, bool | np.bool_) for v in known]
    numbers = [isinstance(v, Number) and not isinstance(v, complex) for v in known]
    if known and all(numbers) and not any(flags):
        return np.array([np.nan if v is None else float(v) for v in labels])
    if any(numbers) and not all(flags):
        raise TypeError("y mixes numbers and labels: pass one or the other.")
    if not all(isinstance(v, str | bytes | bool | np.bool_) for v in known):
        kind = next(type(v).__name__ for v in known if not isinstance(v, str | bytes))
        raise TypeError(f"y holds values of type {kind}: expected numbers or labels of classes.")
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def _read_outputs(
    values: npt.NDArray[Any], name: str | None, outputs: tuple[str, ...] | None
) -> Target:
    if values.dtype.kind not in "iuf":
        raise TypeError(f"y holds {values.dtype}: expected numbers or labels of classes.")
    numbers = values.astype(np.float64)
    if np.isnan(numbers).any():
        raise ValueError("Input y contains NaN: drop those rows, or fill them in.")
    if np.isinf(numbers).any():
        raise ValueError("Input y contains infinity: replace those values.")
    for spread in np.ptp(numbers, axis=0).reshape(-1):
        if not 1e-100 < spread < 1e100 and spread != 0:
            raise ValueError(f"The values of y spread over {spread:.0e}: rescale y.")
    if numbers.ndim == 1:
        return Target(np.ascontiguousarray(numbers[:, None]), name=name)
    if numbers.shape[1] == 0:
        raise ValueError("y has no columns.")
    outputs = outputs or tuple(f"y{k}" for k in range(numbers.shape[1]))
    return Target(np.ascontiguousarray(numbers), name=name, outputs=outputs)


def _column_vector_warning() -> Any:
    from sklearn.exceptions import DataConversionWarning

    return DataConversionWarning(
        "A column-vector y was passed when a 1d array was expected: it is read as one output."
    )


def _read_classes(values: npt.NDArray[Any], name: str | None) -> Target:
    if values.ndim == 2:
        raise ValueError("y holds labels in several columns: pass one column of classes.")
    if any(is_missing(v) for v in values.tolist()):
        raise ValueError("Input y contains NaN (missing labels): drop those rows.")
    if values.dtype.kind == "f" and np.array_equal(values, np.round(values)):
        values = values.astype(np.int64)  # so that a class is "1" from whatever container
    classes, codes = np.unique(values.astype(str), return_inverse=True)
    if len(classes) > MAX_CLASSES:
        raise ValueError(
            f"y has {len(classes)} different labels; shaff explains at most {MAX_CLASSES} classes. "
            "If they are numbers stored as text, convert them."
        )
    if len(classes) > len(values) / 2 and len(values) >= MIN_ROWS:
        raise ValueError(
            f"y has {len(classes)} different labels in {len(values)} rows: is it a name or a "
            "number stored as text? Classes must repeat."
        )
    indicators = np.eye(len(classes))[codes]
    y = indicators[:, 1:] if len(classes) == 2 else indicators
    names = tuple(classes.tolist())
    outputs = names if len(names) > 2 else None
    return Target(np.ascontiguousarray(y), names, name, outputs, values)


def read_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """One finite, non-negative weight a row, not all zero.

    Whole numbers count rows. Others have no unit, and mean 1 over the rows that count.

    Examples
    --------
    >>> from shaff.problem import read_sample_weight
    >>> read_sample_weight([2, 0, 1], 3).tolist(), read_sample_weight([0.2, 0, 0.1], 3).tolist()
    ([2.0, 0.0, 1.0], [1.3333333333333333, 0.0, 0.6666666666666666])
    """
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}.") from error
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}: expected ({n_rows},).")
    if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
        raise ValueError("sample_weight must be finite, non-negative, and not all zero.")
    whole = count_rows(weight)
    counted = int(weight.sum() if whole else np.count_nonzero(weight))
    if counted < MIN_ROWS <= n_rows:
        raise ValueError(f"Only {counted} rows have weight; shaff needs at least {MIN_ROWS}.")
    return weight if whole else weight / weight[weight > 0].mean()


def without_idle_rows(problem: Problem) -> Problem:
    """The problem without the rows of weight 0, which count for nothing.

    Splits that the user gave count all rows: there they stay.
    """
    rows = np.flatnonzero(problem.counts)
    if len(rows) == len(problem.X) or problem.has_splits:
        return problem
    target, groups, weight = problem.target, problem.row_groups, problem.sample_weight
    labels = None if target.labels is None else target.labels[rows]
    return replace(
        problem,
        frame=take_rows(problem.frame, rows),
        table=replace(problem.table, X=problem.X[rows]),
        target=replace(target, y=target.y[rows], labels=labels),
        sample_weight=None if weight is None else weight[rows],
        row_groups=None if groups is None else read_row_groups(groups[rows], len(rows)),
    )


def read_cv(
    cv: Any, n_rows: int, target: Target, row_groups: npt.NDArray[Any] | None
) -> int | Splits | None:
    """None or a number of folds as they are; what a splitter says, asked once.

    Asked again it might say something else, and a generator would have nothing left to say.
    """
    if cv is None or isinstance(cv, int | np.integer):
        return None if cv is None else int(cv)
    y = as_target(target.y) if target.labels is None else target.labels
    return [(fold.train, fold.test) for fold in make_folds(n_rows, cv, row_groups, y=y)]


def read_row_groups(row_groups: Any, n_rows: int) -> npt.NDArray[Any] | None:
    """One label a row, at least two different ones."""
    if row_groups is None:
        return None
    labels = np.asarray(row_groups.to_numpy() if hasattr(row_groups, "to_numpy") else row_groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"row_groups has shape {labels.shape}: expected ({n_rows},).")
    if any(is_missing(label) for label in labels.tolist()):
        raise ValueError("row_groups has missing labels: give each such row a group of its own.")
    codes = np.unique(labels.astype(str), return_inverse=True)[1]
    if codes.max() < 1:
        raise ValueError("row_groups has one group only: nothing can be held out.")
    return codes


def check_rows(n_rows: int) -> None:
    """Fewer rows than this tell nothing."""
    if n_rows < MIN_ROWS:
        raise ValueError(f"X has n_samples={n_rows} rows; shaff needs at least {MIN_ROWS}.")
