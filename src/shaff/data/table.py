"""Conversion of any table to a numeric matrix, with names, categories and groups of columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from numbers import Complex, Number, Real
from types import MappingProxyType
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from shaff._util.frames import BACKENDS, Backend
from shaff._util.labels import spelt
from shaff._util.missing import is_missing
from shaff._util.numbers import as_floats, is_number, unmasked
from shaff._util.typing import BoolArray, FloatArray, is_whole
from shaff._util.words import column_sentence, repeated
from shaff.data.remarks import Remark, merged
from shaff.data.spelling import Spelling, read_spelling
from shaff.errors import InputError, InputTypeError

# Fewer rows leave folds of one row or two: there is nothing to measure errors with.
MIN_ROWS = 10
# Categories of a column that are as many as this share of its rows tell rows apart, no more.
NEARLY_UNIQUE = 0.5
# What may name a category: things that print as what they are.
_WIDE = (nw.Int128, nw.UInt128, nw.Decimal)
_LABELS = (str, bytes, Number, date, time, timedelta, np.generic)
Columns = Sequence[str | int]
Groups = Mapping[str, Columns | Mapping[str, Columns]]


@dataclass(frozen=True, eq=False)
class Table:
    """A table as numbers.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
        NaN where a value is missing. Categories are codes: 0, 1, ... in order of their names.
    names : tuple of str
        Names of the columns.
    categorical : bool array of shape (n_columns,)
        Which columns hold codes of categories.
    remarks : tuple of Remark
        How columns that are not plain numbers were read, and which rows.
    levels : dict of str to tuple
        Categories of each categorical column, in the order of their codes.
    spelled : dict of str to dict
        Texts of each column that was read as numbers or dates, and how often each occurs.
    """

    X: FloatArray
    names: tuple[str, ...]
    categorical: BoolArray
    remarks: tuple[Remark, ...] = ()
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    spelled: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns that narwhals reads."""
    return nw.dependencies.is_into_dataframe(X)


def check_table(X: Any) -> None:
    """Refuse objects that look like a table but must be converted first.

    Examples
    --------
    >>> from shaff.data.table import check_table
    >>> check_table({"a": [1, 2]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shaff.errors.InputTypeError: X is a dict: make it a data frame first, ...
    """
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
        raise InputTypeError(
            f"X is a {type(X).__name__}: make it a data frame first, such as pandas.DataFrame(X)."
        )
    if getattr(getattr(X, "dtype", None), "names", None):
        raise InputTypeError(
            "X is an array with named fields: make it a data frame first, such as "
            "pandas.DataFrame(X)."
        )


def collected(X: Any) -> Any:
    """Return X with the rows of a lazy frame computed, and what is masked in an array missing;
    anything else unchanged.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff.data.table import collected
    >>> collected(pl.LazyFrame({"a": [1, 2]}).filter(pl.col("a") > 1)).shape
    (1, 1)
    """
    if is_frame(X):
        return X  # whose names are looked at later
    native = nw.from_native(X, allow_series=True, pass_through=True)
    return native.collect().to_native() if isinstance(native, nw.LazyFrame) else unmasked(X)


def library_of(X: Any) -> Backend | None:
    """Return the library of a frame, if results can be returned in it.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff.data.table import library_of
    >>> library_of(pl.DataFrame()), library_of([[1.0]])
    ('polars', None)
    """
    if not is_frame(X):
        return None
    name = nw.get_native_namespace(X).__name__
    return next((backend for backend in BACKENDS if backend == name), None)


def index_of(X: Any) -> Any:
    """Return the index of a frame of pandas; None for anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.data.table import index_of
    >>> index_of(pd.DataFrame({"a": [1]}, index=["x"])).tolist()
    ['x']
    """
    return nw.maybe_get_index(nw.from_native(X)) if library_of(X) == "pandas" else None


def read_table(X: Any, categorical: str | Sequence[str | int] = "auto") -> Table:
    """Read a frame, or a matrix that has been checked already.

    ``categorical="auto"`` takes strings and categorical types as categories; a list names the
    columns that are categories whatever their type. Dates and durations become days.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.data.table import read_table
    >>> table = read_table(pd.DataFrame({"a": [1, 2, None], "b": ["u", "v", "u"]}))
    >>> table.X.tolist(), table.categorical.tolist()
    ([[1.0, 0.0], [2.0, 1.0], [nan, 0.0]], [False, True])
    """
    table = _read_frame(X, categorical) if is_frame(X) else _read_matrix(X, categorical)
    _check_columns(table)
    return table


def category_columns(X: Any) -> list[str]:
    """Return the names of the columns of a frame that hold categories."""
    table = _read_frame(X, "auto")
    return [name for name in table.names if name in table.levels]


def recode(X: Any, codes: Mapping[str, Mapping[str, float]]) -> Any:
    """Replace labels in a frame by numbers, column by column; unknown labels become missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.data.table import recode
    >>> recode(pd.DataFrame({"town": ["Rome", "Oslo", "Bern"]}), {"town": {"Rome": 0, "Oslo": 1}})
       town
    0   0.0
    1   1.0
    2   NaN
    """
    frame = nw.from_native(X, eager_only=True)
    columns = [
        nw.new_series(
            name,
            [
                math.nan if is_missing(v) else code.get(str(v), math.nan)
                for v in frame[name].to_list()
            ],
            nw.Float64,
            backend=frame.implementation,
        )
        for name, code in codes.items()
    ]
    return frame.with_columns(*columns).to_native() if columns else X


def _read_matrix(X: Any, categorical: str | Sequence[str | int]) -> Table:
    matrix = np.asarray(X, dtype=np.float64)
    names = tuple(f"x{j}" for j in range(matrix.shape[1]))
    chosen = _chosen_categories(categorical, names)
    is_category = np.array([name in chosen for name in names], dtype=bool)
    levels: dict[str, tuple[Any, ...]] = {}
    if is_category.any():
        matrix = matrix.copy()
        for j in np.flatnonzero(is_category):
            known = ~np.isnan(matrix[:, j])
            found, matrix[known, j] = np.unique(matrix[known, j], return_inverse=True)
            levels[names[j]] = tuple(found.tolist())
    return Table(matrix, names, is_category, levels=levels)


def _read_frame(X: Any, categorical: str | Sequence[str | int]) -> Table:
    names = _column_names(X)
    chosen = _chosen_categories(categorical, names)
    frame = nw.from_native(X, eager_only=True)
    matrix = np.empty((len(frame), len(names)))
    kinds = np.zeros(len(names), dtype=bool)
    read: dict[str, Column] = {}
    remarks: list[Remark] = []
    for j, (name, series) in enumerate(zip(names, frame.iter_columns(), strict=True)):
        column = read[name] = read_column(series, name, name in chosen)
        matrix[:, j], kinds[j] = column.values, column.is_category
        remarks += [replace(remark, columns=(name,)) for remark in column.remarks]
    with_levels = {name: c for name, c in read.items() if c.is_category or c.levels}
    levels = {name: column.levels for name, column in with_levels.items()}
    spelled = {name: column.spelled for name, column in read.items() if column.spelled}
    return Table(matrix, names, kinds, merged(remarks), levels, spelled)


def _column_names(X: Any) -> tuple[str, ...]:
    """Return the column names as text, all different; none for anything but a frame."""
    named = getattr(X, "column_names", None)
    names = tuple(str(name) for name in (getattr(X, "columns", ()) if named is None else named))
    double = repeated(names)
    if double is not None:
        raise InputError(f"Column {double!r} occurs more than once: rename one of them.")
    return names


def _chosen_categories(categorical: str | Sequence[str | int], names: tuple[str, ...]) -> set[str]:
    if isinstance(categorical, str):
        if categorical != "auto":
            raise InputError(f'categorical={categorical!r}: pass "auto" or a list of columns.')
        return set()
    if not isinstance(categorical, Iterable):
        raise InputTypeError(f'categorical={categorical!r}: pass "auto" or a list of columns.')
    return {names[j] for j in (_column_index(c, names, "categorical") for c in categorical)}


def _column_index(column: str | int, names: tuple[str, ...], argument: str) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    if is_whole(column) and 0 <= int(column) < len(names):
        return int(column)
    raise InputError(f"{argument} names the column {column!r}, which the data do not have.")


class Column(NamedTuple):
    """A column as numbers.

    Parameters
    ----------
    values : float array of shape (n_rows,)
        Numbers or codes of categories; NaN where a value is missing.
    is_category : bool, default=False
        Whether the values are codes.
    remarks : tuple of Remark, default=()
        How the column was read, without its name.
    levels : tuple of str, default=()
        Categories in the order of their codes.
    spelled : dict, default={}
        Texts that spelled the numbers, and how often each occurs.
    """

    values: FloatArray
    is_category: bool = False
    remarks: tuple[Remark, ...] = ()
    levels: tuple[str, ...] = ()
    spelled: Mapping[str, int] = MappingProxyType({})


def read_column(column: nw.Series[Any], name: str, chosen: bool = False) -> Column:
    """Read one column of a frame by its type; ``chosen`` makes it categories in any case."""
    dtype = column.dtype
    if dtype == nw.String and not chosen:
        return _read_text(column.to_list(), name)
    if is_ordered(dtype) and not chosen:
        ranks, levels = read_ranks(column)
        return Column(ranks, remarks=(Remark("ordered"),), levels=levels)
    if chosen or dtype in (nw.Categorical, nw.Enum):
        return _categories(column.to_list(), name)
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Column(_numbers(column, name))
    if dtype == nw.Date or dtype == nw.Datetime:
        return Column(_days(column.to_list()), remarks=(Remark("dates"),))
    if dtype == nw.Duration:
        return Column(_days(column.to_list()), remarks=(Remark("durations"),))
    if dtype == nw.Object:
        return _read_objects(column.to_list(), name)
    if column.null_count() == len(column):
        return Column(np.full(len(column), np.nan))  # polars and pyarrow have a type for it
    kind = dtype if dtype != nw.Unknown else getattr(nw.to_native(column), "dtype", dtype)
    raise InputTypeError(
        f"Column {name!r} holds {kind}, which shaff cannot read: {_remedy(str(kind))}."
    )


def read_values(values: list[Any], name: str) -> Column:
    """Read a column that is a plain list, by what its values are.

    Examples
    --------
    >>> from shaff.data.table import read_values
    >>> read_values(["2021-01-03", "2021-01-01"], "day").values.tolist()
    [18630.0, 18628.0]
    """
    is_text = all(isinstance(v, str) or is_missing(v) for v in values)
    return _read_text(values, name) if is_text else _read_objects(values, name)


def is_ordered(dtype: Any) -> bool:
    """Whether a type holds categories in an order: ordered ones of pandas, Enum of polars.

    Of two categories any order says the same, and unordered is what they are read as.
    """
    return dtype == nw.Enum and len(getattr(dtype, "categories", ())) > 2


def read_ranks(column: nw.Series[Any]) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the places of ordered categories in their order, NaN where one is missing, and the
    categories.

    Examples
    --------
    >>> import narwhals as nw
    >>> import polars as pl
    >>> from shaff.data.table import read_ranks
    >>> sizes = pl.Series(["S", "L"], dtype=pl.Enum(["S", "M", "L"]))
    >>> read_ranks(nw.from_native(sizes, series_only=True))[0].tolist()
    [0.0, 2.0]
    """
    levels = tuple(map(str, column.dtype.categories))  # type: ignore[attr-defined]
    place = {label: float(k) for k, label in enumerate(levels)}
    ranks = [math.nan if is_missing(v) else place[str(v)] for v in column.to_list()]
    return np.array(ranks, dtype=np.float64), levels


def _remedy(kind: str) -> str:
    if kind.startswith("period"):
        return "make dates of its periods by .dt.to_timestamp()"
    if kind.startswith("Sparse"):
        return "make it dense by .sparse.to_dense()"
    return "drop or convert it"


def _read_text(values: list[Any], name: str) -> Column:
    """Read text as what it spells, or else as categories.

    Whole numbers stay categories, with a remark, since 1, 2, 3 kept as text may be labels.
    """
    counts = Counter(v for v in values if isinstance(v, str))
    spelling = read_spelling(counts)
    if spelling is None:
        return _categories(values, name)
    if spelling.kind == "whole numbers":
        return _categories(values, name)._replace(remarks=(Remark(spelling.kind),))
    if not spelling.values:
        return _categories(values, name)._replace(remarks=spelling.remarks)
    plain = {"form": spelling.kind, "unread": (), "is_date": spelling.kind == "dates"}
    found = [Remark("spelled in text", details={**plain, **remark.details})
             for remark in spelling.remarks or (Remark("spelled"),)]  # fmt: skip
    return Column(spelled_numbers(values, spelling), remarks=tuple(found), spelled=counts)


def spelled_numbers(values: list[Any], spelling: Spelling) -> FloatArray:
    """Return what text spells, dates as days; NaN for anything else."""
    spelled = [spelling.values.get(v) if isinstance(v, str) else None for v in values]
    if spelling.kind == "dates":
        return _days(spelled)
    return np.array([np.nan if v is None else v for v in spelled], dtype=np.float64)


def _read_objects(values: list[Any], name: str) -> Column:
    """Read a column of Python objects by what they are."""
    known = [v for v in values if not is_missing(v)]
    if all(map(is_number, known)):
        return Column(as_floats(values, f"Column {name!r}"))
    if all(isinstance(v, date | timedelta) for v in known):
        return Column(_days(values), remarks=(Remark("dates or durations"),))
    return _categories(values, name)


def _numbers(column: nw.Series[Any], name: str) -> FloatArray:
    """Numbers of any width: numpy has none of 128 bits."""
    values = column.to_list() if column.dtype in _WIDE else column.to_numpy()
    if column.dtype.is_integer() and column.null_count():
        values = column.to_list()  # as numbers they have been rounded already
    return as_floats(values, f"Column {name!r}")


def _days(values: list[Any]) -> FloatArray:
    """Return days since 1970 for dates, days for durations, NaN for missing values."""
    return np.array([np.nan if is_missing(v) else _in_days(v) for v in values])


def _in_days(value: date | timedelta) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds() / 86_400
    if not isinstance(value, datetime):
        return float((value - date(1970, 1, 1)).days)
    # A clock without a time zone is read as it stands.
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / 86_400


def _categories(values: list[Any], name: str) -> Column:
    """Code categories in the order of their labels, the same for every frame library."""
    known = [v for v in values if not is_missing(v)]
    kinds = {type(v) for v in known}
    bad = next((kind for kind in kinds if not issubclass(kind, _LABELS) or _is_complex(kind)), None)
    if bad is not None:
        raise InputTypeError(
            f"Column {name!r} holds values of type {bad.__name__}, which shaff cannot read: "
            "drop or convert it."
        )
    code = {label: float(k) for k, label in enumerate(sorted({spelt(v) for v in known}))}
    codes = np.array([np.nan if is_missing(v) else code[spelt(v)] for v in values])
    return Column(codes, True, _category_remarks(kinds, len(code), len(known)), tuple(code))


def _is_complex(kind: type) -> bool:
    return issubclass(kind, Complex) and not issubclass(kind, Real)


def _category_remarks(kinds: set[type], n_levels: int, n_known: int) -> tuple[Remark, ...]:
    if str in kinds and any(issubclass(kind, Number) for kind in kinds):
        return (Remark("mixed"),)
    if n_levels > NEARLY_UNIQUE * n_known and n_known >= MIN_ROWS:
        return (Remark("nearly unique", details={"is_unique": n_levels == n_known}),)
    return ()


def _check_columns(table: Table) -> None:
    # Column by column: a large table has no room for another.
    largest = np.array([np.nanmax(np.abs(column), initial=0.0) for column in table.X.T])
    is_empty = np.array([len(column) > 0 and np.isnan(column).all() for column in table.X.T])
    for is_bad, said in (
        (np.isinf(largest), "holds infinite values (infinity): replace them."),
        (largest > np.finfo(np.float32).max, "holds values beyond 3e38: rescale them."),
        (is_empty, "has no value at all (only NaN): leave out what is empty."),
    ):
        if is_bad.any():
            names = [table.names[j] for j in np.flatnonzero(is_bad)]
            raise InputError(column_sentence(names, said))


def is_sparse(array: Any) -> bool:
    """Whether an array is a sparse matrix of scipy, without importing scipy."""
    return hasattr(array, "toarray") and hasattr(array, "tocsr")


def take_rows(array: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Return some rows of an array or frame of any kind; None stays None.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.table import take_rows
    >>> take_rows(["a", "b", "c"], np.array([0, 2])).tolist()
    ['a', 'c']
    """
    if array is None:
        return None
    native = nw.from_native(array, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows.tolist()].to_native()
    if is_sparse(array):
        return array.tocsr()[rows]
    return array[rows] if hasattr(array, "shape") else np.asarray(array)[rows]


def in_order(X: Any, names: Sequence[str] | None) -> Any:
    """Return a frame with its columns in the order of ``names``; None leaves it unchanged.

    Examples
    --------
    >>> import pandas as pd
    >>> from shaff.data.table import in_order
    >>> in_order(pd.DataFrame({"a": [1], "b": [2]}), ["b", "a"]).columns.tolist()
    ['b', 'a']
    """
    frame = nw.from_native(X, eager_only=True)
    # LightGBM knows no blanks in names.
    column_of = {name.replace(" ", "_"): name for name in map(str, frame.columns)}
    fitted = [] if names is None else [name.replace(" ", "_") for name in names]
    if names is None or fitted == list(column_of):
        return X
    if sorted(fitted) != sorted(column_of):
        lacking = [name for name in fitted if name not in column_of]
        what = f"X lacks {lacking[0]!r}" if lacking else f"X has {len(column_of)}"
        raise InputError(f"The model was fitted on {len(fitted)} columns by name; {what}.")
    return frame.select([column_of[name] for name in fitted]).to_native()


def _twice(column: str, one: str, other: str) -> str:
    if one == other:
        return f"Column {column!r} is twice in the group {one!r}."
    return f"Column {column!r} is in two groups, {one!r} and {other!r}."


def read_players(
    groups: Mapping[str, Columns] | None, names: tuple[str, ...]
) -> tuple[list[npt.NDArray[np.intp]], tuple[str, ...]]:
    """Return the columns and the name of each input; ungrouped columns are inputs by themselves.

    Examples
    --------
    >>> from shaff.data.table import read_players
    >>> read_players({"both": ["a", "c"]}, ("a", "b", "c"))[1]
    ('both', 'b')
    """
    if groups is None:
        return [np.array([j]) for j in range(len(names))], names
    if not isinstance(groups, Mapping):
        raise InputTypeError("groups must map the name of each group to its list of columns.")
    group_of: dict[int, str] = {}
    for label, columns in groups.items():
        if not isinstance(columns, Iterable) or isinstance(columns, str):
            raise InputTypeError(f"groups[{label!r}] must be a list of columns, not {columns!r}.")
        if not list(columns):
            raise InputError(f"The group {label!r} has no columns: name some, or leave it out.")
        for j in (_column_index(c, names, f"groups[{label!r}]") for c in columns):
            if j in group_of:
                raise InputError(_twice(names[j], group_of[j], str(label)))
            group_of[j] = str(label)
    members: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        if j not in group_of and name in groups:
            raise InputError(f"The group {name!r} has the name of a column outside of it.")
        members.setdefault(group_of.get(j, name), []).append(j)
    return [np.array(columns) for columns in members.values()], tuple(members)
