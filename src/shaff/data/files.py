"""Table files: parquet, and CSV, which has no types: what its text spells decides here."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shaff._words import listed
from shaff.data.columns import CODE, MOST
from shaff.data.rows import draw_rows
from shaff.errors import InputError

if TYPE_CHECKING:
    import polars as pl

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET = (".parquet", ".pq")
BATCH_ROWS = 65_536
_NULLS = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
# Words for "missing", in columns of numbers or dates; in other columns they are categories.
_BLANKS = {"?", "-", "--", ".", "..", "*", "n/a", "n.a.", "na", "#n/a", "nil", "none", "missing"}
_MAX_OTHERS = 3
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y")
_CLOCKS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
_COMMA_NUMBER = r"^[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?$"
_THOUSANDS_NUMBER = r"^[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?$"


class TableFile(NamedTuple):
    """A table from a file: its rows or a sample of them, and what to say about its columns."""

    frame: pl.DataFrame
    n_rows: int
    said: dict[str, str]


class _Reading(NamedTuple):
    """One way to read text; ``kind`` is what it then is."""

    column: pl.Series
    kind: str


def check_file(path: Path) -> str:
    """The ending of a file that is there and can be read, else an error.

    Examples
    --------
    >>> from pathlib import Path
    >>> from shaff.data.files import check_file
    >>> check_file(Path("none.csv"))
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: there is no file none.csv.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    suffixes = path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]
    kind = "".join(suffixes).lower()
    if kind not in (*CSV, *PARQUET):
        endings = ", ".join((*CSV, *PARQUET))
        raise InputError(f"cannot read {path}: its name must end in one of {endings}.")
    return kind


def read_file(path: Path, max_rows: int, seed: int) -> TableFile:
    """The table, or of a longer parquet file a random sample of its rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shaff.data.files import read_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("size;day\\n1,5;2020-01-31\\n?;2020-02-29\\n")
    ...     table = read_file(path, max_rows=100, seed=0)
    >>> table.frame["size"].to_list(), table.said
    ([1.5, None], {'size': "holds numbers with decimal commas but for '?': read as missing."})
    """
    kind = check_file(path)
    import polars as pl

    try:
        if kind in CSV:
            return _read_csv(path)
        return TableFile(*read_parquet_sample(path, max_rows, seed), {})
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError, csv.Error) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"cannot read {path}: {reason}") from error


def _read_csv(path: Path) -> TableFile:
    import polars as pl

    separator, names = _header(path)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path} has more than one column named {twice[0]!r}.")
    # All as text: the whole column decides its type.
    text = pl.read_csv(path, separator=separator, null_values=_NULLS, infer_schema_length=0)
    columns, said = [], {}
    for column in text:
        typed, note = _typed(column, has_comma=separator != ",")
        columns.append(typed.alias(column.name))
        if note:
            said[column.name] = note
    return TableFile(pl.DataFrame(columns), text.height, said)


def _header(path: Path) -> tuple[str, list[str]]:
    """Separator and column names; the most frequent candidate in the first line separates."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    separator = max(",;\t", key=line.count)
    return separator, next(csv.reader([line], delimiter=separator), [])


def _typed(text: pl.Series, has_comma: bool) -> tuple[pl.Series, str]:
    """Numbers, truth values or dates, if the text spells them, and what to say about it."""
    bare = text.str.strip_chars()
    lower = bare.str.to_lowercase()
    if bare.count() == 0:
        return text, ""
    if lower.is_in(["true", "false"]).all():
        return lower == "true", ""
    for readings in (_number_readings(bare, has_comma), _date_readings(bare)):
        # The first of those that leave least unread.
        best = max(readings, key=lambda reading: reading.column.count(), default=None)
        if best is None or not _is_accepted(best.column, bare):
            continue
        if "numbers" in best.kind and bare.str.contains(CODE).any():
            return text, "holds codes with leading zeros: read as categories."
        return best.column, _note(best, bare)
    return text, ""


def _number_readings(bare: pl.Series, has_comma: bool) -> Iterator[_Reading]:
    import polars as pl

    plain = bare.cast(pl.Float64, strict=False)
    yield _Reading(plain, "numbers")
    if plain.count() == bare.count():
        return
    if has_comma:
        comma = bare.set(~bare.str.contains(_COMMA_NUMBER), None)
        comma = comma.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
        yield _Reading(comma.cast(pl.Float64), "numbers with decimal commas")
    thousands = bare.set(~bare.str.contains(_THOUSANDS_NUMBER), None)
    thousands = thousands.str.replace_all(",", "", literal=True)
    yield _Reading(thousands.cast(pl.Float64), "numbers with commas between thousands")


def _date_readings(bare: pl.Series) -> Iterator[_Reading]:
    if not bare.str.contains(r"^\d{1,4}[-/.]\d").any():
        return
    for form in _DATES:
        yield _Reading(bare.str.to_date(form, strict=False), "dates")
    clock = bare.str.replace(r"T", " ").str.replace(r"Z$", "+00:00")
    for form in _CLOCKS:
        yield _Reading(clock.str.to_datetime(form, strict=False), "dates")
        yield _Reading(clock.str.to_datetime(f"{form}%#z", strict=False), "dates")


def _unread(column: pl.Series, bare: pl.Series) -> list[str]:
    return sorted(bare.filter(column.is_null() & bare.is_not_null()).unique().to_list())


def _is_accepted(column: pl.Series, bare: pl.Series) -> bool:
    """All is read but words for "missing", or nearly all but a few words of any kind."""
    if column.count() == bare.count():
        return True
    others = _unread(column, bare)
    if all(word.casefold() in _BLANKS for word in others):
        return column.count() > 0
    return len(others) <= _MAX_OTHERS and column.count() >= MOST * bare.count()


def _note(reading: _Reading, bare: pl.Series) -> str:
    others = _unread(reading.column, bare)
    if others:
        return f"holds {reading.kind} but for {listed(others)}: read as missing."
    # Plain numbers need no word, and dates get theirs from the reader of columns.
    return f"holds {reading.kind}." if "commas" in reading.kind else ""


def read_parquet_sample(
    path: str | os.PathLike[str], max_rows: int | None = 100_000, seed: int = 0
) -> tuple[Any, int]:
    """A random sample of the rows of a parquet file, in memory for the sample only.

    The file is read in batches, of which only the drawn rows are kept.

    Parameters
    ----------
    path : path
    max_rows : int or None
        Rows to keep; None keeps all.
    seed : int

    Returns
    -------
    frame : polars.DataFrame
        The rows, in their order.
    n_rows : int
        Rows in the file.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from shaff.data.files import read_parquet_sample
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pl.DataFrame({"a": range(1000)}).write_parquet(f"{folder}/a.parquet")
    ...     frame, n_rows = read_parquet_sample(f"{folder}/a.parquet", max_rows=100)
    >>> frame.shape, n_rows
    ((100, 1), 1000)
    """
    import polars as pl

    scan = pl.scan_parquet(os.fspath(path), glob=False)
    n_rows = int(scan.select(pl.len()).collect().item())
    if max_rows is None or n_rows <= max_rows:
        return scan.collect(), n_rows
    chosen = draw_rows(n_rows, max_rows, None, seed)
    is_drawn = np.zeros(n_rows, dtype=bool)
    is_drawn[chosen] = True
    parts = []
    for start in range(0, n_rows, BATCH_ROWS):
        batch = scan.slice(start, BATCH_ROWS).collect()
        parts.append(batch.filter(pl.Series(is_drawn[start : start + BATCH_ROWS])))
    return pl.concat(parts), n_rows
