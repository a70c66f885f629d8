"""What is asked: a table, a target, the players, weights and groups of rows, checked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length

from shaff.columns import Table
from shaff.subsets import FloatArray

MIN_ROWS = 10


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
    """

    y: FloatArray
    classes: tuple[str, ...] | None = None
    name: str | None = None
    outputs: tuple[str, ...] | None = None

    @property
    def labels(self) -> npt.NDArray[np.intp]:
        """The class of each row, as its place among the classes."""
        if self.y.shape[1] == 1:
            return self.y[:, 0].astype(np.intp)
        return self.y.argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Problem:
    """All that the three steps need to know of the data."""

    table: Table
    target: Target
    players: list[npt.NDArray[np.intp]]
    player_names: tuple[str, ...]
    sample_weight: FloatArray | None
    row_groups: npt.NDArray[Any] | None
    cv: Any
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
    name = getattr(y, "name", None)
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1 and values.shape[0] > 0:
        warnings.warn(_column_vector_warning(), stacklevel=4)
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise ValueError(f"y has {values.ndim} dimensions: expected 1, or 2 for several outputs.")
    if len(values) != n_rows:
        check_consistent_length(np.empty(n_rows), values)
    label = None if name is None else str(name)
    if as_classes or values.dtype.kind in "OUSb":
        return _read_classes(values, label)
    numbers = values.astype(np.float64)
    if np.isnan(numbers).any():
        raise ValueError("Input y contains NaN: drop those rows, or fill them in.")
    if np.isinf(numbers).any():
        raise ValueError("Input y contains infinity: replace those values.")
    return Target(np.ascontiguousarray(numbers.reshape(n_rows, -1)), None, label)


def _column_vector_warning() -> Any:
    from sklearn.exceptions import DataConversionWarning

    return DataConversionWarning(
        "A column-vector y was passed when a 1d array was expected: it is read as one output."
    )


def _read_classes(values: npt.NDArray[Any], name: str | None) -> Target:
    if values.ndim == 2:
        raise ValueError("y holds labels in several columns: pass one column of classes.")
    if values.dtype.kind == "O" and all(isinstance(v, int | float) for v in values):
        return read_target(values.astype(np.float64), len(values))
    if any(v is None or v != v for v in values.tolist()):
        raise ValueError("Input y contains NaN (missing labels): drop those rows.")
    labels = values.astype(str)
    classes, codes = np.unique(labels, return_inverse=True)
    return Target(np.eye(len(classes))[codes], tuple(classes.tolist()), name)


def read_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """One finite, non-negative weight a row, not all zero."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}: expected ({n_rows},).")
    if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
        raise ValueError("sample_weight must be finite, non-negative, and not all zero.")
    return weight


def read_row_groups(row_groups: Any, n_rows: int) -> npt.NDArray[Any] | None:
    """One label a row, at least two different ones."""
    if row_groups is None:
        return None
    labels = np.asarray(row_groups.to_numpy() if hasattr(row_groups, "to_numpy") else row_groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"row_groups has shape {labels.shape}: expected ({n_rows},).")
    codes = np.unique(labels.astype(str), return_inverse=True)[1]
    if codes.max() < 1:
        raise ValueError("row_groups has one group only: nothing can be held out.")
    return codes


def check_rows(n_rows: int) -> None:
    """Fewer rows than this tell nothing."""
    if n_rows < MIN_ROWS:
        raise ValueError(f"X has n_samples={n_rows} rows; shaff needs at least {MIN_ROWS}.")
