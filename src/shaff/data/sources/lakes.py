"""Tables that need not fit in memory, read block by block by the library that holds them.

A `Lake` knows its columns and yields its rows in blocks, in the same order each time. There is one
class per library, which is imported only when it is met; `open_lake` finds the right one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import narwhals as nw

from shaff._util.words import listed
from shaff.errors import InputError, UserError, first_line

# Rows of a block. Memory is in proportion to it, and so is what is shared by the rows of one
# (`benchmarks.lake --kernel`).
BLOCK_ROWS = 32_768


class Lake(Protocol):
    """A table of any size.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    what : str
        Name or kind of the table, for messages about it.
    """

    names: tuple[str, ...]
    what: str

    def frames(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Yield some columns of all rows, in frames of any library of about ``size`` rows.

        The rows come in the same order each time.
        """


def open_lake(X: Any) -> Lake | None:
    """Return the lake that reads X block by block, or None if X is no such table.

    Parameters
    ----------
    X : path, polars.LazyFrame, pyarrow Dataset, dask DataFrame, DuckDB relation or anything else
        A path is that of a parquet file, or of a folder of such files; folders such as
        ``year=2020`` are a column.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff.data.sources.lakes import open_lake
    >>> open_lake(pl.LazyFrame({"a": [1], "b": [2]})).names
    ('a', 'b')
    >>> open_lake([[1.0, 2.0]]) is None
    True
    """
    if isinstance(X, str | os.PathLike):
        return ArrowLake.of_path(X)
    for kind in type(X).__mro__:
        found = LAKES.get((kind.__module__.partition(".")[0].lstrip("_"), kind.__name__))
        if found is not None:
            return found(X)
    return None


def frames_of(lake: Lake, columns: Sequence[str], size: int = BLOCK_ROWS) -> Iterator[Any]:
    """Yield frames of narwhals of at most ``size`` rows, none of them empty.

    Errors of the lake's library become an `InputError` that names the lake.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff.data.sources.lakes import frames_of, open_lake
    >>> lake = open_lake(pl.LazyFrame({"a": [1, 2, 3], "b": [4, 5, 6]}))
    >>> [frame["a"].to_list() for frame in frames_of(lake, ["a"], size=2)]
    [[1, 2], [3]]
    """
    check_columns(lake, columns)
    with as_input_errors(lake.what):
        for native in lake.frames(columns, size):
            frame = nw.from_native(native, eager_only=True)
            for first in range(0, len(frame), size):
                yield frame[first : first + size]


def check_columns(lake: Lake, columns: Sequence[str]) -> None:
    """Refuse names of columns that the lake does not have."""
    for name in columns:
        if name not in lake.names:
            raise InputError(
                f"There is no column {name!r} in {lake.what}; there are {listed(lake.names)}."
            )


@contextmanager
def as_input_errors(what: str) -> Iterator[None]:
    """Turn errors of a library that reads data into an `InputError` that names the data."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"cannot read {what}: {first_line(error)}") from error


class ArrowLake:
    """A dataset of pyarrow."""

    what = "the dataset"

    def __init__(self, dataset: Any, what: str | None = None) -> None:
        self._dataset, self.what = dataset, what or self.what
        # Where pandas keeps the numbers of its rows.
        self.names = tuple(n for n in dataset.schema.names if not n.startswith("__index_level_"))
        with as_input_errors(self.what):
            self._check_files()

    @classmethod
    def of_path(cls, path: str | os.PathLike[str]) -> ArrowLake:
        """Open a parquet file or a folder of such files."""
        try:
            import pyarrow.dataset
        except ImportError:
            raise InputError(
                f'{os.fspath(path)} is read with pyarrow: pip install "shaff[lake]"'
            ) from None
        what = os.fspath(path)
        if "://" not in what:
            _check_path(what)
        with as_input_errors(what):
            dataset = pyarrow.dataset.dataset(what, format="parquet", partitioning="hive")
            if not dataset.schema.names:
                raise InputError(f"the folder {what} holds no parquet file.")
        return cls(dataset, what)

    def _check_files(self) -> None:
        """Refuse files with other columns or types, which pyarrow would fill with nulls."""
        schema = self._dataset.schema
        for fragment in self._dataset.get_fragments():
            own = getattr(fragment, "physical_schema", None)
            path = getattr(fragment, "path", None)
            if own is None or path is None:
                continue
            partition = set(_partition_names(fragment))
            for name in set(schema.names) ^ (set(own.names) | partition):
                has = "lacks" if name in schema.names else "has"
                raise InputError(
                    f"{path} {has} the column {name!r}, unlike the files before it: files of one "
                    "table must have the same columns."
                )
            for field in own:
                kind = schema.field(field.name).type
                if field.type != kind and not _same_kind(field.type, kind):
                    raise InputError(
                        f"{path} holds {field.type} in the column {field.name!r}, files before it "
                        f"{kind}: files of one table must agree."
                    )

    def frames(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Yield tables of pyarrow; little is read ahead, which would take memory."""
        import pyarrow

        batches = self._dataset.to_batches(
            columns=list(columns), batch_size=size, batch_readahead=2, fragment_readahead=1
        )
        for batch in batches:
            yield pyarrow.Table.from_batches([batch])


def _check_path(path: str) -> None:
    if not os.path.exists(path):
        raise InputError(f"there is no file {path}.")
    if os.path.isfile(path) and not path.endswith((".parquet", ".pq")):
        raise InputError(
            f"cannot read {path} block by block: its name must end in .parquet or .pq. Read it as "
            "a table first, or use the command line."
        )


def _partition_names(fragment: Any) -> list[str]:
    import pyarrow.dataset

    return list(pyarrow.dataset.get_partition_keys(fragment.partition_expression))


def _same_kind(a: Any, b: Any) -> bool:
    """Whether two types read alike: dictionaries as their values, and text of any width."""
    import pyarrow.types as kinds

    def plain(kind: Any) -> Any:
        return plain(kind.value_type) if kinds.is_dictionary(kind) else kind

    a, b = plain(a), plain(b)
    text = (kinds.is_string, kinds.is_large_string)
    return a == b or all(any(test(kind) for test in text) for kind in (a, b))


class PolarsLake:
    """A lazy frame of polars."""

    what = "the lazy frame"

    def __init__(self, frame: Any, what: str | None = None) -> None:
        self._frame, self.what = frame, what or self.what
        with as_input_errors(self.what):
            self.names = tuple(frame.collect_schema().names())

    def frames(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Yield frames of polars, slice by slice if its version has no batches yet."""
        selected = self._frame.select(list(columns))
        if hasattr(selected, "collect_batches"):
            yield from selected.collect_batches(chunk_size=size, maintain_order=True)
            return
        first = 0
        while (part := selected.slice(first, size).collect()).height:
            yield part
            first += size


class DaskLake:
    """A data frame of dask, whose partitions fit in memory one by one."""

    what = "the dask frame"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(map(str, frame.columns))

    def frames(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Yield frames of pandas, one per partition."""
        selected = self._frame[list(columns)]
        for k in range(selected.npartitions):
            # On the caller's engine, a cluster if there is one.
            yield selected.get_partition(k).compute().reset_index(drop=True)


class DuckLake:
    """A relation of DuckDB."""

    what = "the relation"

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        self.names = tuple(relation.columns)

    def frames(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Yield tables of pyarrow, from a new query each time."""
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        query = self._relation.project(quoted)
        reader = getattr(query, "to_arrow_reader", None) or query.fetch_record_batch
        try:
            import pyarrow
        except ImportError:
            raise InputError(
                'DuckDB hands its rows to pyarrow: pip install "shaff[lake]"'
            ) from None
        for batch in reader(size):
            yield pyarrow.Table.from_batches([batch])


LAKES: dict[tuple[str, str], type[ArrowLake | PolarsLake | DaskLake | DuckLake]] = {
    ("pyarrow", "Dataset"): ArrowLake,
    ("polars", "LazyFrame"): PolarsLake,
    ("dask", "DataFrame"): DaskLake,
    ("duckdb", "DuckDBPyRelation"): DuckLake,
}
