"""CSV and similar text: from bytes to text, columns, and what the columns spell."""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shaff._util.numbers import EXACT
from shaff._util.words import repeated
from shaff.data.remarks import Remark
from shaff.data.sources.packed import called, read_bytes
from shaff.data.spelling import (
    CODE,
    LONG_CODES,
    DateOrder,
    Spelling,
    have_too_many_digits,
    read_spelling,
)
from shaff.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_NULLS = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
_SEPARATORS = ",;\t|"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class TextTable(NamedTuple):
    """Columns of text, and remarks on how the file was read.

    ``decimal_comma`` says that the separator leaves the comma free for numbers.
    """

    frame: pl.DataFrame
    decimal_comma: bool
    remarks: tuple[Remark, ...] = ()


def read_text_file(path: Path, encoding: str | None = None) -> TextTable:
    """Read a table of text with a header, without converting its cells.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shaff.data.sources.text import read_text_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_bytes("größe;tag\\n1,5;2020-01-31\\n".encode("latin-1"))
    ...     table = read_text_file(path)
    >>> table.frame.columns, table.decimal_comma
    (['größe', 'tag'], True)
    """
    text, remarks = _decoded(read_bytes(path), path, encoding)
    return parse_text(text, path)._replace(remarks=remarks)


def parse_text(text: str, path: Path) -> TextTable:
    """Split text into columns by the separator that occurs most often in the header."""
    import polars as pl

    # A blank line, or one that names the separator for spreadsheets, is no header.
    lines = text.lstrip("\r\n")
    separator = ""
    if lines[:4].lower() == "sep=":
        separator, lines = _named_separator(lines, path), lines.partition("\n")[2]
    line = lines.partition("\n")[0]
    if not line.strip():
        raise InputError(f"{called(path)} is empty: there is no table in it.")
    separator = separator or max(_SEPARATORS, key=line.count)
    names = next(csv.reader([line.rstrip("\r")], delimiter=separator), [])
    _check_names(names, path)
    # All as text: the whole column decides its type.
    frame = pl.read_csv(
        io.BytesIO(lines.encode()), separator=separator, null_values=_NULLS, infer_schema_length=0
    )
    if frame.height < lines.rstrip("\r\n").count("\n"):
        _check_quotes(lines, separator, frame.height, path)
    if len(names) == frame.width:
        frame.columns = names  # polars leaves doubled quotes in names as they are
    return TextTable(frame, separator != ",")


def _check_quotes(text: str, separator: str, n_rows: int, path: Path) -> None:
    """Whether cells that go over several lines were meant to.

    A quotation mark that is missing joins the cells up to the next one, and polars reads that as
    one cell. The reader of Python keeps to the rules.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        reason = None if sum(1 for _ in rows) <= n_rows + 1 else "rows would be lost"
    except csv.Error as error:
        reason = f"line {rows.line_num}: {error}"
    if reason is not None:
        raise InputError(
            f"cannot read {called(path)}: its quotation marks do not match ({reason}); a cell that "
            'begins with " ends with one, and those within it are doubled.'
        )


def _named_separator(text: str, path: Path) -> str:
    named = text[4:5]
    if not named.isascii() or named in '"\r\n':
        raise InputError(
            f"cannot read {called(path)}: it begins with {text[:5].strip()!r}, but only a plain "
            "character such as ; separates columns."
        )
    return named


def _check_names(names: list[str], path: Path) -> None:
    twice = repeated(names)
    if twice is not None:
        raise InputError(f"{called(path)} has more than one column named {twice!r}.")
    spelling = read_spelling(dict.fromkeys(names, 1))
    if spelling is not None and spelling.kind in ("numbers", "whole numbers") and len(names) > 1:
        raise InputError(
            f"{called(path)} begins with a row of numbers: it needs a first line with the names "
            "of its columns."
        )


def _decoded(raw: bytes, path: Path, encoding: str | None) -> tuple[str, tuple[Remark, ...]]:
    """The text, and a remark where its encoding was a guess."""
    name = encoding or _recognised(raw)
    try:
        text = raw.decode(name)
    except UnicodeDecodeError:
        raise InputError(
            f"cannot read {called(path)} as {name} text: name its encoding, such as --encoding "
            "cp1250."
        ) from None
    except (LookupError, ValueError):  # Python also has encodings that are none: "undefined"
        raise InputError(f"--encoding: {encoding!r} is no encoding that Python knows.") from None
    if "\x00" in text:
        raise InputError(f"cannot read {called(path)}: it holds no text but binary data.")
    if encoding is None and name == "cp1252":
        return text, (Remark("Windows-1252"),)
    return text, ()


def _recognised(raw: bytes) -> str:
    """Recognise an encoding by its mark, or else by its bytes.

    UTF-16 has many zeros on one side, and what is not UTF-8 is the Western European code of
    spreadsheets.
    """
    for mark, name in _MARKS.items():
        if raw.startswith(mark):
            return name
    head = raw[:1000]
    for side, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 3 and head[side::2].count(0) > 0.4 * len(head[side::2]):
            return name
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _keeps_digits(text: pl.Series, numbers: pl.Series) -> bool:
    largest = numbers.abs().max()
    if not isinstance(largest, float) or largest <= EXACT:
        return True
    return not have_too_many_digits(text.drop_nulls().unique().to_list())


def typed(
    text: pl.Series, decimal_comma: bool = False, order: DateOrder | None = None
) -> tuple[pl.Series, Spelling | None]:
    """Convert a column to the numbers, truth values or dates that it spells, if any.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff.data.sources.text import typed
    >>> column, spelling = typed(pl.Series("rate", ["43.7%", "5%", None]))
    >>> column.to_list(), spelling.remarks[0].details["form"]
    ([43.7, 5.0, None], 'percentages')
    """
    import polars as pl

    bare = text.str.strip_chars()
    if bare.count() == 0:
        return text, None
    numbers = bare.cast(pl.Float64, strict=False)
    # Most columns: nothing to look up.
    if numbers.count() == bare.count() and not bare.str.contains(f"^{CODE.pattern}$").any():
        return (numbers, None) if _keeps_digits(bare, numbers) else (text, LONG_CODES)
    lower = bare.str.to_lowercase()
    if lower.is_in(["true", "false"]).all():
        return lower == "true", None
    labels = bare.drop_nulls().value_counts(name="rows")
    counts = dict(labels.iter_rows())
    spelling = read_spelling(counts, decimal_comma=decimal_comma, order=order)
    if spelling is None or not spelling.values:
        return text, spelling
    values = pl.Series(list(spelling.values.values()))
    old = pl.Series(list(spelling.values), dtype=pl.String)
    return bare.replace_strict(old, values, default=None, return_dtype=values.dtype), spelling
