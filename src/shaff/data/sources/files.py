"""Table files of all kinds: several files as one table, and samples of long ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shaff._util.typing import Tell, say_nothing
from shaff._util.words import counted
from shaff.data.remarks import Remark, merged
from shaff.data.rows import sampled
from shaff.data.sources.blocks import sample_frame
from shaff.data.sources.databases import DUCKDB, SQLITE, read_database
from shaff.data.sources.lakes import PolarsLake
from shaff.data.sources.packed import STANDARD_INPUT, called, read_bytes
from shaff.data.sources.parquet_pages import check_parquet
from shaff.data.sources.text import read_text_file, typed
from shaff.data.spelling import DateOrder, Spelling
from shaff.errors import InputError, UserError, first_line

if TYPE_CHECKING:
    import polars as pl

TEXT = (".csv", ".tsv", ".txt")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
EXCEL = (".xlsx", ".xls", ".xlsb", ".ods")
DATABASES = (*SQLITE, *DUCKDB)
KINDS = (*TEXT, *JSON_LINES, *PARQUET, *ARROW, *EXCEL, *DATABASES)
PACKINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")


@dataclass(frozen=True)
class Source:
    """Files of a table, and what must be known to read them.

    Parameters
    ----------
    paths : tuple of path
        Files of one kind with the same columns; a folder stands for the parquet files in it, and
        ``-`` for text on the standard input.
    encoding : str or None
        Encoding of text; None recognises UTF-8, UTF-16 and Windows-1252.
    query, table : str or None
        A SELECT, or the name of a table, in a database; None takes its only table.
    sheet : str or None
        Sheet of a spreadsheet; None takes the first.
    order : {"day", "month"} or None
        What ``01/02/2021`` begins with if the column does not tell.
    """

    paths: tuple[Path, ...]
    encoding: str | None = None
    query: str | None = None
    table: str | None = None
    sheet: str | None = None
    order: DateOrder | None = None


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table as it was read.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows, or a sample of them.
    n_rows : int
        Number of all rows.
    is_text : bool, default=False
        Whether all cells are still text, since the file has no types; see `with_types`.
    decimal_comma : bool, default=False
        Whether numbers may have decimal commas, which the separator leaves free.
    remarks : tuple of Remark, default=()
        How the table was read.
    """

    frame: pl.DataFrame
    n_rows: int
    is_text: bool = False
    decimal_comma: bool = False
    remarks: tuple[Remark, ...] = ()


def check_source(source: Source) -> str:
    """Return the ending of the files; refuse files that do not exist or cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from shaff.data.sources.files import Source, check_source
    >>> check_source(Source((Path("none.csv"),)))
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: there is no file none.csv.
    """
    kinds = [_kind(path) for path in source.paths]
    if len(set(kinds)) > 1:
        raise InputError(f"{source.paths[0]} and {source.paths[kinds.index(kinds[-1])]} are of "
                         "different kinds: files of one table must be alike.")  # fmt: skip
    for option, kind in (("query", DATABASES), ("table", DATABASES), ("sheet", EXCEL)):
        if getattr(source, option) is not None and kinds[0] not in kind:
            raise InputError(f"--{option} is for files that end in one of {', '.join(kind)}.")
    if source.query is not None and source.table is not None:
        raise InputError("--query and --table: name one of them.")
    if len(kinds) > 1 and kinds[0] in (*DATABASES, *EXCEL):
        raise InputError("only one database or spreadsheet can be read at a time.")
    return kinds[0]


def _kind(path: Path) -> str:
    if path == STANDARD_INPUT:
        return ".csv"
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    if path.is_dir():
        return ".parquet"
    name = path.with_suffix("") if path.suffix.lower() in PACKINGS else path
    kind = name.suffix.lower()
    packed = name != path
    if kind not in KINDS or (packed and kind not in (*TEXT, *JSON_LINES)):
        endings = ", ".join((*KINDS, ".csv.gz"))
        raise InputError(f"cannot read {path}: its name must end in one of {endings}.")
    return TEXT[0] if kind in TEXT else kind


def read_source(
    source: Source,
    max_rows: int = 100_000,
    seed: int = 0,
    row_groups: str | None = None,
    tell: Tell = say_nothing,
) -> TableFile:
    """Read a table, or a random sample of the rows of a long parquet, Arrow or database table.

    Parameters
    ----------
    source : Source
        The files, and what must be known to read them.
    max_rows : int, default=100_000
        Size of the sample.
    seed : int, default=0
        Seed of the sample.
    row_groups : str or None, default=None
        Column whose labels say which rows are sampled together; one that the table does not have
        counts for nothing.
    tell : callable, optional
        Called with the number of rows read and of all rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shaff.data.sources.files import Source, read_source, with_types
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("size;day\\n1,5;2020-01-31\\n?;2020-02-29\\n")
    ...     table = with_types(read_source(Source((path,))))
    >>> table.frame["size"].to_list()
    [1.5, None]
    >>> table.remarks[0].columns, table.remarks[0].details
    (('size',), {'form': 'numbers with decimal commas', 'unread': ('?',)})
    """
    kind = check_source(source)
    with _as_input_errors(source):
        if kind in DATABASES:
            frame, n_rows = read_database(
                source.paths[0], source.query, source.table, max_rows, seed, row_groups, tell
            )
        elif kind in (*PARQUET, *ARROW):
            frame, n_rows = _read_scanned(source, kind, max_rows, seed, row_groups, tell)
        elif kind in EXCEL:
            frame = _read_excel(source)
            n_rows = frame.height
        else:
            table = _read_texts(source) if kind in TEXT else _read_json_lines(source)
            return replace(table, remarks=(*table.remarks, *_several(source)))
    remarks = [sampled(frame.height, n_rows)] if n_rows > frame.height else []
    return TableFile(frame, n_rows, remarks=(*remarks, *_several(source)))


@contextmanager
def _as_input_errors(source: Source) -> Iterator[None]:
    """Turn errors of other libraries into an `InputError` that names the file."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(
            f'{source.paths[0]} needs {error.name}: pip install "shaff[files]"'
        ) from None
    except (UserError, MemoryError):
        raise
    except (Exception, _panic()) as error:  # a broken file breaks each library in its own way
        reason = getattr(error, "strerror", None) or _reason(error)
        # A file that cannot be opened has its name in the error already.
        where = getattr(error, "filename", None) or _all_names(source)
        raise InputError(f"cannot read {where}: {reason}") from error


def _reason(error: BaseException) -> str:
    """What a library says; polars, where it has lost its way, names lines of its own source."""
    if type(error).__name__ == "PanicException":
        return "it is damaged, or of a kind that polars cannot read."
    return first_line(error)


def _panic() -> type[BaseException]:
    import polars as pl

    return getattr(pl.exceptions, "PanicException", pl.exceptions.ComputeError)


def _all_names(source: Source) -> str:
    if source.paths == (STANDARD_INPUT,):
        return called(STANDARD_INPUT)
    more = f" and {counted(len(source.paths) - 1, 'file')} more" if len(source.paths) > 1 else ""
    return f"{source.paths[0]}{more}"


def _several(source: Source) -> list[Remark]:
    n_files = len(_files(source))
    return [Remark("several files", details={"n_files": n_files})] if n_files > 1 else []


def _files(source: Source) -> list[Path]:
    files: list[Path] = []
    for path in source.paths:
        if path.is_dir():
            found = sorted(file for end in PARQUET for file in path.rglob(f"*{end}"))
            if not found:
                raise InputError(f"the folder {path} holds no parquet file.")
            files += found
        else:
            files.append(path)
    return files


def _read_scanned(
    source: Source, kind: str, max_rows: int, seed: int, row_groups: str | None, tell: Tell
) -> tuple[pl.DataFrame, int]:
    """Rows, or a sample of them, that polars reads block by block, and the number of all rows."""
    import polars as pl

    scan = _scanned(source, kind)
    n_rows = int(scan.select(pl.len()).collect().item())
    if n_rows <= max_rows:
        frame = scan.collect()
        if frame.height != n_rows:  # where a file says it twice
            raise InputError(f"{_all_names(source)} is damaged: it has {frame.height} rows, and "
                             f"says that they are {n_rows}.")  # fmt: skip
        return frame, n_rows
    lake = PolarsLake(scan, _all_names(source))
    labels = row_groups if row_groups in lake.names else None
    return sample_frame(lake, n_rows, max_rows, seed, labels, tell), n_rows


def _scanned(source: Source, kind: str) -> pl.LazyFrame:
    import polars as pl

    files = [os.fspath(path) for path in _files(source)]
    if kind in ARROW:
        for file in files:
            _check_batches(file)
        return pl.concat([pl.scan_ipc(file) for file in files])
    for file in files:
        check_parquet(file)
    # Folders such as year=2020 are a column.
    hive = any("=" in part for path in _files(source) for part in path.parent.parts)
    return pl.scan_parquet(files, glob=False, hive_partitioning=hive)


def _check_batches(file: str) -> None:
    """Refuse an Arrow file whose batches contradict themselves.

    polars takes a batch to be as long as it says, and reads past the end of a file where it is
    told to. pyarrow, where it is installed, compares lengths without reading the numbers.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return
    try:
        with pa.memory_map(file) as source, pa.ipc.open_file(source) as reader:
            for k in range(reader.num_record_batches):
                reader.get_batch(k)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"cannot read {file}: {first_line(error)}") from error
    except pa.ArrowException:  # a type that only polars knows
        return


def _read_excel(source: Source) -> pl.DataFrame:
    import polars as pl

    path = source.paths[0]
    _check_archive(path)
    return pl.read_excel(path, sheet_name=source.sheet, engine="calamine")


def _check_archive(path: Path) -> None:
    """A spreadsheet is a zip archive, which may claim more than memory holds, or be damaged: its
    checksums are compared here, since the reader does not look at them."""
    import zipfile

    from shaff.data.sources.packed import HARMLESS, MAX_GROWTH, check_size

    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
        check_size(path, unpacked)
        if unpacked > max(HARMLESS, MAX_GROWTH * path.stat().st_size):
            raise InputError(f"cannot read {path}: it unpacks to {unpacked / 1e9:.1f} GB, far more "
                             "than a table of its size.")  # fmt: skip
        damaged = archive.testzip()
    if damaged is not None:
        raise InputError(f"cannot read {path}: it is damaged ({damaged}).")


def _read_json_lines(source: Source) -> TableFile:
    import io

    import polars as pl

    parts = [
        pl.read_ndjson(io.BytesIO(read_bytes(path)), infer_schema_length=None)
        for path in source.paths
    ]
    frame = _joined(parts, source)
    return TableFile(frame, frame.height)


def _read_texts(source: Source) -> TableFile:
    tables = [read_text_file(path, source.encoding) for path in source.paths]
    frame = _joined([table.frame for table in tables], source)
    remarks = merged(remark for table in tables for remark in table.remarks)
    return TableFile(frame, frame.height, True, tables[0].decimal_comma, remarks)


def _joined(parts: Sequence[pl.DataFrame], source: Source) -> pl.DataFrame:
    import polars as pl

    first = parts[0]
    for path, part in zip(source.paths, parts, strict=True):
        other = set(first.columns) ^ set(part.columns)
        if other:
            name = min(other)
            has, lacks = (path, source.paths[0])[:: 1 if name in part.columns else -1]
            raise InputError(f"{has} has the column {name!r}, {lacks} has not: files of one table "
                             "must have the same columns.")  # fmt: skip
    return pl.concat([part.select(first.columns) for part in parts], how="vertical_relaxed")


def with_types(
    table: TableFile, keep_text: Sequence[str] = (), order: DateOrder | None = None
) -> TableFile:
    """Convert text to what it spells; columns in ``keep_text`` stay as they are."""
    if not table.is_text:
        return table
    columns: list[pl.Series] = []
    remarks: list[Remark] = []
    for text in table.frame:
        if text.name in keep_text:
            columns.append(text)
            continue
        column, spelling = typed(text, table.decimal_comma, order)
        columns.append(column.alias(text.name))
        if spelling is None:
            continue
        if spelling.kind == "open dates":
            raise _open_dates(text.name, spelling)
        remarks += [replace(remark, columns=(text.name,)) for remark in spelling.remarks]
    frame = table.frame.select(columns)
    return replace(table, frame=frame, is_text=False, remarks=(*table.remarks, *merged(remarks)))


def _open_dates(name: str, spelling: Spelling) -> InputError:
    example = spelling.remarks[0].details["example"]
    return InputError(
        f"column {name!r} holds dates such as {example!r} that may begin with the day or the "
        "month: say which by --dates day-first or --dates month-first, or leave it out by --drop."
    )
