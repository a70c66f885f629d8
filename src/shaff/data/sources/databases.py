"""Tables and queries of SQLite and DuckDB files, which are opened to read and for nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from shaff._util.typing import Tell, say_nothing
from shaff._util.words import listed
from shaff.data.rows import draw_rows
from shaff.errors import InputError

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
    tell: Tell = say_nothing,
) -> tuple[pl.DataFrame, int]:
    """The rows of a table or a query, or a sample of them, and how many there are.

    Parameters
    ----------
    path : path
        Ending in one of `SQLITE` or `DUCKDB`.
    query : str or None
        One SELECT.
    table : str or None
        A table or view; None takes the only one.
    max_rows : int
        More rows than this are sampled while they are read.
    seed : int
    tell : callable
        Told how many rows of how many are read.

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
            query = 'SELECT * FROM "{}"'.format(name.replace('"', '""'))
        return _read_query(connection, query.strip().rstrip(";"), max_rows, seed, tell)


@contextmanager
def _opened(path: Path, kind: str) -> Iterator[Any]:
    """A connection that cannot write; what goes wrong with it is a sentence."""
    connection, error_type = _connect_duckdb(path) if kind == "duckdb" else _connect_sqlite(path)
    try:
        yield connection
    except error_type as error:
        # SQLite tells of Ctrl-C in its own words.
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"cannot read {path}: {reason}") from error
    finally:
        connection.close()


def _connect_sqlite(path: Path) -> tuple[Any, type[Exception]]:
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=_LOCK_SECONDS)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: 0, _STEPS)
    return connection, sqlite3.Error


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _connect_duckdb(path: Path) -> tuple[Any, type[Exception]]:
    try:
        import duckdb
    except ImportError:
        raise InputError(f'{path} needs duckdb: pip install "shaff[files]"') from None
    try:
        return duckdb.connect(str(path), read_only=True, config=_SANDBOX), duckdb.Error
    except duckdb.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"cannot read {path}: {reason}") from error


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


def _read_query(
    connection: Any, query: str, max_rows: int, seed: int, tell: Tell
) -> tuple[pl.DataFrame, int]:
    import polars as pl

    # As a part of another SELECT a query can be nothing but one SELECT itself.
    inner = f"(\n{query}\n)"
    n_rows = int(connection.execute(f"SELECT COUNT(*) FROM {inner}").fetchone()[0])
    is_drawn = np.ones(n_rows, dtype=bool)
    if n_rows > max_rows:
        is_drawn[:] = False
        is_drawn[draw_rows(n_rows, max_rows, None, seed)] = True
    cursor = connection.execute(f"SELECT * FROM {inner}")
    names = [column[0] for column in cursor.description]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the query has more than one column named {twice!r}.")
    rows: list[Any] = []
    for start in range(0, n_rows, BATCH_ROWS):
        batch = cursor.fetchmany(min(BATCH_ROWS, n_rows - start))
        tell(start + len(batch), n_rows)
        drawn = is_drawn[start : start + len(batch)]
        rows += [row for row, keep in zip(batch, drawn, strict=True) if keep]
    # Tables of SQLite need not keep to one type in a column.
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None,
                        strict=False), n_rows  # fmt: skip
