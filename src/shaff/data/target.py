"""The outcome: numbers, or labels of classes, which become indicators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length

from shaff._util.labels import label_codes, text_of
from shaff._util.missing import is_missing
from shaff._util.numbers import EXACT, as_floats, is_number, unmasked
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.warn import warn
from shaff.data.outcome import DerivedOutcome
from shaff.data.table import MIN_ROWS, is_frame, is_ordered, read_column, read_ranks
from shaff.errors import InputError, InputTypeError, as_user_errors

# More classes are mostly numbers that were meant as such, and take memory (`benchmarks.memory`).
MAX_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Target:
    """The outcome as numbers.

    Parameters
    ----------
    y : float array of shape (n_rows, n_outputs)
        Numbers, or indicators of classes; of two classes only that of the second, since that of
        the first is redundant.
    classes : tuple of str or None
        Names of the classes; None if the outcome is a number.
    name : str or None
        Name of the outcome, if it has one.
    outputs : tuple of str or None
        Names of the outputs when there are several.
    labels : array of shape (n_rows,) or None
        The classes as the user gave them, for classifiers to be fitted on.
    squares : float array of shape (n_rows,) or None
        What stands for the squared outcome, and ``details`` for a sentence on how the outcome was
        computed; see `shaff.data.outcome.DerivedOutcome`.
    ordered : tuple of str
        Categories in their order, where y holds their ranks.
    """

    y: FloatArray
    classes: tuple[str, ...] | None = None
    name: str | None = None
    outputs: tuple[str, ...] | None = None
    labels: npt.NDArray[Any] | None = None
    squares: FloatArray | None = None
    details: str = ""
    ordered: tuple[str, ...] = ()

    @property
    def constant(self) -> str:
        """What a sentence says of an outcome, or of predictions, that do not vary."""
        name = self.name or ""
        is_predicted = name.startswith("the predictions of ")
        return f"The{name[3:]} are constant" if is_predicted else "y is constant"

    def take(self, rows: IntpArray) -> Target:
        """Return the outcome of some rows."""
        labels = None if self.labels is None else self.labels[rows]
        squares = None if self.squares is None else self.squares[rows]
        return replace(self, y=self.y[rows], labels=labels, squares=squares)


def as_target(y: FloatArray) -> FloatArray:
    """Return y as scikit-learn expects it: with one dimension for one output.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.target import as_target
    >>> as_target(np.zeros((3, 1))).shape, as_target(np.zeros((3, 2))).shape
    ((3,), (3, 2))
    """
    return y[:, 0] if y.shape[1] == 1 else y


def read_target(y: Any, n_rows: int, as_classes: bool = False) -> Target:
    """Read numbers of shape (n,) or (n, n_outputs), or class labels, which become indicators.

    Strings, booleans and categories are classes; numbers are not, unless ``as_classes``. Ordered
    categories are their ranks, unless ``as_classes``.

    Examples
    --------
    >>> from shaff.data.target import read_target
    >>> read_target(["no", "yes", "no"], 3).y.tolist()
    [[0.0], [1.0], [0.0]]
    """
    if y is None:
        raise InputError(
            "This ShapleyEffects estimator requires y to be passed, but the target y is None."
        )
    if isinstance(y, DerivedOutcome):
        return _read_derived(y, n_rows)
    values, name, outputs = _target_values(y, as_classes)
    if values.ndim == 2 and values.shape[1] == 1 and values.shape[0] > 0:
        if not is_frame(y):
            warn(_column_vector_warning())
        values, name, outputs = values[:, 0], name or (outputs or (None,))[0], None
    if values.ndim not in (1, 2):
        raise InputError(f"y has {values.ndim} dimensions: expected 1, or 2 for several outputs.")
    _check_length(values, n_rows)
    if as_classes or values.dtype.kind in "OUSb":
        return _read_classes(values, name)
    return replace(_read_outputs(values, name, outputs), ordered=_order_of(y))


def _check_length(values: Any, n_rows: int) -> None:
    if len(values) != n_rows:
        with as_user_errors():
            check_consistent_length(np.empty(n_rows), values)


def _read_derived(outcome: DerivedOutcome, n_rows: int) -> Target:
    _check_length(outcome, n_rows)
    target = _read_outputs(outcome.values, outcome.description, None)
    known = replace(target, squares=outcome.squares, details=outcome.details)
    if outcome.classes is None:
        return known
    labels = np.array(outcome.classes, dtype=object)[outcome.values.astype(np.intp)]
    return replace(known, classes=outcome.classes, labels=labels)


def _order_of(y: Any) -> tuple[str, ...]:
    """The categories of an outcome that has an order."""
    native = nw.from_native(y, allow_series=True, eager_only=True, pass_through=True)
    is_one = isinstance(native, nw.Series) and is_ordered(native.dtype)
    return read_ranks(native)[1] if is_one else ()


def read_values(y: Any, as_classes: bool = False) -> npt.NDArray[Any]:
    """Return the values of y, as numbers or as objects; ordered categories as their ranks, unless
    ``as_classes``."""
    return _target_values(y, as_classes)[0]


def check_known(values: npt.NDArray[Any]) -> None:
    """Refuse numbers and labels that are missing, and infinite numbers."""
    if values.dtype.kind not in "f":
        if any(is_missing(v) for v in values.reshape(-1).tolist()):
            raise InputError("Input y contains NaN (missing labels): drop those rows.")
        return
    if np.isnan(values).any():
        raise InputError("Input y contains NaN: drop those rows, or fill them in.")
    if np.isinf(values).any():
        raise InputError("Input y contains infinity: replace those values.")


def read_more(y: Any, target: Target) -> FloatArray:
    """Read the outcome of further rows in the same way, shape (n_rows, n_outputs).

    A class that the first rows do not have gets 0 in every indicator.

    Examples
    --------
    >>> from shaff.data.target import read_more, read_target
    >>> read_more(["yes", "perhaps"], read_target(["no", "yes", "no"], 3)).tolist()
    [[1.0], [0.0]]
    """
    values = read_values(y, as_classes=target.classes is not None)
    check_known(values)
    if target.classes is None:
        return np.ascontiguousarray(as_floats(values, "y").reshape(len(values), -1))
    known = target.classes[1:] if len(target.classes) == 2 else target.classes
    names, codes = label_codes(_as_whole(values.reshape(-1)))
    indicators = [[name == one for one in known] for name in names]
    return np.asarray(indicators, dtype=np.float64)[codes]


def _as_whole(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert floats that are whole to integers, so that a class is always "1", never "1.0"."""
    if values.dtype.kind != "f" or not np.array_equal(values, np.round(values)):
        return values
    return values.astype(np.int64 if np.abs(values).max(initial=0.0) <= EXACT else object)


def _target_values(
    y: Any, as_classes: bool = False
) -> tuple[npt.NDArray[Any], str | None, tuple[str, ...] | None]:
    """Return y as an array, of objects if it is not plain numbers, its name and column names."""
    native = nw.from_native(y, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(native, nw.Series):
        return _series_values(native, as_classes), _text(native.name), None
    if isinstance(native, nw.DataFrame):
        columns = [_series_values(column, as_classes) for column in native.iter_columns()]
        values = np.column_stack(columns) if columns else np.empty((len(native), 0))
        return values, None, tuple(str(name) for name in native.columns)
    values = _as_array(unmasked(y))
    if values.ndim == 1 and (values.dtype.kind == "O" or isinstance(y, list | tuple)):
        values = _from_objects(list(y) if isinstance(y, list | tuple) else values.tolist())
    return values, None, None


def _as_array(y: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(y)
    except ValueError:
        raise InputError("The rows of y have different lengths: pass one array.") from None


def _text(name: Any) -> str | None:
    return None if name in (None, "") else str(name)


def _series_values(series: nw.Series[Any], as_classes: bool = False) -> npt.NDArray[Any]:
    """Return numbers if the column has a type for them, or else objects."""
    if series.dtype in (nw.Date, nw.Datetime, nw.Duration, nw.Time):
        raise InputTypeError(
            f"y holds {series.dtype}: convert it to numbers or to labels of classes."
        )
    if is_ordered(series.dtype) and not as_classes:
        return read_ranks(series)[0]
    if series.dtype.is_numeric():
        return read_column(series, "y").values
    labels = series.to_list()
    if series.dtype in (nw.Categorical, nw.Enum):
        labels = [None if is_missing(label) else str(label) for label in labels]
    return _from_objects(labels)


def _from_objects(values: list[Any]) -> npt.NDArray[Any]:
    """Read Python objects as numbers if all are, or else as labels; None is missing."""
    labels = [None if is_missing(v) else v for v in values]
    known = [v for v in labels if v is not None]
    flags = [isinstance(v, bool | np.bool_) for v in known]
    numbers = [is_number(v) for v in known]
    if known and all(numbers) and not any(flags):
        return as_floats(labels, "y")
    if any(numbers) and not all(flags):
        raise InputTypeError("y mixes numbers and labels: pass one or the other.")
    if not all(isinstance(v, str | bytes | bool | np.bool_) for v in known):
        kind = next(type(v).__name__ for v in known if not isinstance(v, str | bytes))
        raise InputTypeError(
            f"y holds values of type {kind}: expected numbers or labels of classes."
        )
    if len({text_of(v) for v in set(known)}) < len(set(known)):
        raise InputTypeError(
            "y mixes text and bytes that are spelt the same: pass one or the other."
        )
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def check_spread(numbers: FloatArray, what: str) -> None:
    """Refuse numbers whose squares are no numbers any more."""
    for spread in np.ptp(numbers, axis=0).reshape(-1):
        if not 1e-100 < spread < 1e100 and spread != 0:
            raise InputError(f"{what} spread over {spread:.0e}: rescale them.")


def _read_outputs(
    values: npt.NDArray[Any], name: str | None, outputs: tuple[str, ...] | None
) -> Target:
    if values.dtype.kind not in "iuf":
        raise InputTypeError(f"y holds {values.dtype}: expected numbers or labels of classes.")
    numbers = as_floats(values, "y")
    check_known(numbers)
    check_spread(numbers, "The values of y")
    if numbers.ndim == 1:
        return Target(np.ascontiguousarray(numbers[:, None]), name=name)
    if numbers.shape[1] == 0:
        raise InputError("y has no columns.")
    outputs = outputs or tuple(f"y{k}" for k in range(numbers.shape[1]))
    return Target(np.ascontiguousarray(numbers), name=name, outputs=outputs)


def _column_vector_warning() -> Any:
    from sklearn.exceptions import DataConversionWarning

    return DataConversionWarning(
        "A column-vector y was passed when a 1d array was expected: it is read as one output."
    )


def _read_classes(values: npt.NDArray[Any], name: str | None) -> Target:
    if values.ndim == 2:
        raise InputError("y holds labels in several columns: pass one column of classes.")
    if any(is_missing(v) for v in values.tolist()):
        raise InputError("Input y contains NaN (missing labels): drop those rows.")
    values = _as_whole(values)
    if values.dtype.kind == "f":
        raise InputError(
            "y holds numbers with fractions, which are no classes: classes are labels or whole "
            "numbers, and the log-loss is for them."
        )
    names, codes = label_codes(values)
    if len(names) > MAX_CLASSES:
        raise InputError(
            f"y has {len(names)} different labels; shaff explains at most {MAX_CLASSES} classes. "
            "If they are numbers stored as text, convert them."
        )
    if len(names) > len(values) / 2 and len(values) >= MIN_ROWS:
        raise InputError(
            f"y has {len(names)} different labels in {len(values)} rows: is it a name or a "
            "number stored as text? Classes must repeat."
        )
    indicators = np.eye(len(names))[codes]
    y = indicators[:, 1:] if len(names) == 2 else indicators
    outputs = names if len(names) > 2 else None
    return Target(np.ascontiguousarray(y), names, name, outputs, values)
