"""Tables and queries of SQLite and DuckDB files, which are opened to read and for nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from shaff._util.typing import Tell, say_nothing
from shaff._util.words import listed, repeated
from shaff.data.sources.blocks import BlockSampler, RowCount
from shaff.data.sources.sqlite_pages import n_stored_columns
from shaff.errors import InputError, first_line

if TYPE_CHECKING:
    import polars as pl

SQLITE = (".sqlite", ".sqlite3", ".db")
DUCKDB = (".duckdb", ".ddb")
BATCH_ROWS = 10_000
# Steps of SQLite between two looks at Ctrl-C.
_STEPS = 100_000
_LOCK_SECONDS = 2.0
# What a query of SQLite may do: read rows and compute. Attaching other files, writing, changing
# settings and loading extensions are not among it.
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_PAGE_CHECK = "quick_check"
# DuckDB would read other files and the network within a query. Locked, no query undoes it.
_SANDBOX: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite_%' ORDER BY name",
    "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY table_name",
}


def read_database(
    path: Path,
    query: str | None,
    table: str | None,
    max_rows: int,
    seed: int,
    row_groups: str | None = None,
    tell: Tell = say_nothing,
) -> tuple[pl.DataFrame, int]:
    """Return the rows of a table or a query, or a sample of them, and the number of all rows.

    Parameters
    ----------
    path : path
        File whose name ends in one of `SQLITE` or `DUCKDB`.
    query : str or None
        One SELECT.
    table : str or None
        Name of a table or view; None takes the only one.
    max_rows : int
        More rows than this are sampled while they are read.
    seed : int
        Seed of the sample.
    row_groups : str or None, default=None
        Column whose labels say which rows are sampled together; one that there is not counts for
        nothing.
    tell : callable, optional
        Called with the number of rows read and of all rows.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> from contextlib import closing
    >>> from pathlib import Path
    >>> from shaff.data.sources.databases import read_database
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.sqlite"
    ...     with closing(sqlite3.connect(path)) as database, database:
    ...         _ = database.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
    ...     read_database(path, "SELECT a + 1 AS c FROM t", None, 100, 0)[0].to_dicts()
    [{'c': 2}]
    """
    kind = "duckdb" if path.suffix.lower() in DUCKDB else "sqlite"
    with _opened(path, kind) as connection:
        if query is None:
            name = _chosen_table(connection, kind, table, path)
            if kind == "sqlite":
                _check_pages(connection, name, path)
                _check_columns(connection, name, path)
            query = f"SELECT * FROM {_quoted(name)}"
        return _read_query(connection, query.strip().rstrip(";"), max_rows, seed, row_groups, tell)


@contextmanager
def _opened(path: Path, kind: str) -> Iterator[Any]:
    """Open a connection that cannot write, whose errors become an `InputError`."""
    connection, error_type = _connect_duckdb(path) if kind == "duckdb" else _connect_sqlite(path)
    try:
        yield connection
    except error_type as error:
        # SQLite tells of Ctrl-C in its own words.
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None
        raise InputError(f"cannot read {path}: {first_line(error)}") from error
    finally:
        connection.close()


def _connect_sqlite(path: Path) -> tuple[Any, type[Exception]]:
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=_LOCK_SECONDS)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: 0, _STEPS)
    return connection, sqlite3.Error


def _authorize(action: int, name: object, *_: object) -> int:
    is_check = action == sqlite3.SQLITE_PRAGMA and name == _PAGE_CHECK
    return sqlite3.SQLITE_OK if action in _ALLOWED or is_check else sqlite3.SQLITE_DENY


def _connect_duckdb(path: Path) -> tuple[Any, type[Exception]]:
    try:
        import duckdb
    except ImportError:
        raise InputError(f'{path} needs duckdb: pip install "shaff[files]"') from None
    try:
        return duckdb.connect(str(path), read_only=True, config=_SANDBOX), duckdb.Error
    except duckdb.Error as error:
        raise InputError(f"cannot read {path}: {first_line(error)}") from error


def _chosen_table(connection: Any, kind: str, table: str | None, path: Path) -> str:
    names = [str(name) for (name,) in connection.execute(_TABLES[kind]).fetchall()]
    if not names:
        raise InputError(f"{path} has no tables.")
    if table is None and len(names) == 1:
        return names[0]
    if table in names:
        return table
    which = "name one of its tables" if table is None else f"there is no table {table!r}"
    raise InputError(f"--table: {which}; {path} has {listed(names)}.")


def _check_pages(connection: Any, table: str, path: Path) -> None:
    """Refuse a table of SQLite whose pages contradict themselves: rows would be missing.

    SQLite has no checksums, and takes a page to hold as many rows as it says.
    """
    (found,) = connection.execute(f"PRAGMA {_PAGE_CHECK}({_quoted(table)})").fetchone() or ("ok",)
    if found != "ok":
        words = " ".join(str(found).replace("*** in database main ***", "").split())
        raise InputError(f"cannot read {path}: it is damaged ({words}).")


def _check_columns(connection: Any, table: str, path: Path) -> None:
    """Refuse a table of SQLite whose rows hold more columns than its definition, a text, names."""
    found = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
    ).fetchone()
    stored = None if found is None else n_stored_columns(path, int(found[0] or 0))
    named = len(connection.execute(f"SELECT * FROM {_quoted(table)} LIMIT 0").description)
    if stored is not None and stored > named:
        raise InputError(
            f"cannot read {path}: it is damaged (rows of {stored} columns, {named} of them named)."
        )


def _read_query(
    connection: Any, query: str, max_rows: int, seed: int, row_groups: str | None, tell: Tell
) -> tuple[pl.DataFrame, int]:
    import polars as pl

    # As a part of another SELECT a query can be nothing but one SELECT itself.
    inner = f"(\n{query}\n)"
    n_rows = int(connection.execute(f"SELECT COUNT(*) FROM {inner}").fetchone()[0])
    cursor = connection.execute(f"SELECT * FROM {inner}")
    names = [column[0] for column in cursor.description]
    twice = repeated(names)
    if twice is not None:
        raise InputError(f"the query has more than one column named {twice!r}.")
    group = names.index(row_groups) if row_groups in names and n_rows > max_rows else None
    count = RowCount(n_rows)
    if group is not None:
        labels = connection.execute(f"SELECT {_quoted(names[group])} FROM {inner}")
        count = _grouped_count(labels, seed)
        cursor = connection.execute(f"SELECT * FROM {inner}")
    sampler, rows, n_read = BlockSampler(count, max_rows, seed), [], 0
    for batch in _batches(cursor):
        sampled = sampler.rows(len(batch), _labels(batch, group))
        rows += [batch[k] for k in sampled]
        n_read += len(batch)
        tell(n_read, n_rows)
    sampler.check_all_seen()
    # Tables of SQLite need not keep to one type in a column.
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None,
                        strict=False), n_rows  # fmt: skip


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _batches(cursor: Any) -> Iterator[list[Any]]:
    while batch := cursor.fetchmany(BATCH_ROWS):
        yield batch


def _grouped_count(labels: Any, seed: int) -> RowCount:
    count = RowCount()
    for batch in _batches(labels):
        count.add(len(batch), _labels(batch, 0), seed)
    return count


def _labels(batch: list[Any], group: int | None) -> npt.NDArray[np.object_] | None:
    # As objects: a batch that mixes 1 and 1.5 must not spell 1 in another way than the next one.
    return None if group is None else np.array([row[group] for row in batch], dtype=object)
