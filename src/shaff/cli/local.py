"""The option ``--local``: rows that are explained one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaff._util.words import listed
from shaff.cli.streams import without_native_errors
from shaff.data.sources.files import Source, check_source
from shaff.errors import InputError

if TYPE_CHECKING:
    from shaff import ShapleyEffects
    from shaff.cli.reading import TableInputs
    from shaff.results.local import LocalEffects

ALL = "all"
# More numbers than this are a slip of the pen.
MOST = 10_000_000


@dataclass(frozen=True)
class LocalRows:
    """Rows that the user wants explained.

    Parameters
    ----------
    numbers : tuple of int, default=()
        Numbers of rows of the table, from 1 on; empty means all.
    path : path or None, default=None
        A file of new rows instead.
    """

    numbers: tuple[int, ...] = ()
    path: Path | None = None

    def new_rows(self, source: Source, inputs: TableInputs, max_rows: int) -> Any:
        """Read the file, or check that the rows exist, so that nothing fails after the fit."""
        if self.path is not None:
            return _read(replace(source, paths=(self.path,)), inputs)
        if self.numbers and (inputs.numbers is None or inputs.X.height > max_rows):
            raise InputError(
                "--local: a sample of the rows is explained, which may lack these; give a file of "
                "rows, or raise --max-rows."
            )
        if self.numbers:
            assert inputs.numbers is not None
            known = set(inputs.numbers.tolist())
            wrong = [number for number in self.numbers if number not in known]
            if wrong:
                raise InputError(_no_such_row(wrong[0], inputs))
        return None

    def explain(self, effects: ShapleyEffects, inputs: TableInputs, new_rows: Any) -> LocalEffects:
        """Return the local effects; rows are numbered as in the file, from 1 on."""
        if new_rows is not None:
            local = effects.explain(new_rows)
            return replace(local, rows=local.rows + 1)
        local = effects.explain()
        if inputs.numbers is None:
            return local
        local = replace(local, rows=inputs.numbers[local.rows])
        if not self.numbers:
            return local
        place = {int(number): k for k, number in enumerate(local.rows)}
        gone = [number for number in self.numbers if number not in place]
        if gone:
            raise InputError(f"--local: row {gone[0]} has weight 0 and took no part in the fit.")
        return local.take([place[number] for number in self.numbers])


def read_local_rows(words: str | None, output: Path | None) -> LocalRows | None:
    """Return the rows that the words name; None if no rows are to be explained.

    Examples
    --------
    >>> from shaff.cli.local import read_local_rows
    >>> read_local_rows("3, 7-9", None).numbers
    (3, 7, 8, 9)
    """
    if words is None:
        if output is not None:
            raise InputError("--local-output: name the rows by --local.")
        return None
    if words.strip().casefold() == ALL:
        return LocalRows()
    numbers = _numbers(words)
    if numbers is not None:
        return LocalRows(numbers)
    try:
        check_source(Source((Path(words),)))
    except InputError as error:
        raise InputError(
            f"--local: {words!r} is neither numbers of rows (3,7,20-25), nor all, nor a file of "
            f"rows: {error}"
        ) from None
    return LocalRows(path=Path(words))


def _numbers(words: str) -> tuple[int, ...] | None:
    """Return numbers and spans of numbers; None if the words are something else."""
    found: list[int] = []
    for word in filter(None, (part.strip() for part in words.split(","))):
        first, dash, last = word.partition("-")
        if not first.strip().isdecimal() or (dash and not last.strip().isdecimal()):
            return None
        start, end = int(first), int(last) if dash else int(first)
        if start < 1 or end < start or end - start > MOST:
            raise InputError(f"--local: {word!r} names no rows; rows are counted from 1.")
        found.extend(range(start, end + 1))
    return tuple(dict.fromkeys(found)) or None


def _no_such_row(number: int, inputs: TableInputs) -> str:
    assert inputs.numbers is not None
    last = int(inputs.numbers[-1])
    if number > last:
        return f"--local: there is no row {number}; the last is {last}."
    return f"--local: row {number} was left out, since its target is missing."


def _read(source: Source, inputs: TableInputs) -> Any:
    """Read the rows of another file, with the columns that explain."""
    from shaff.data.sources.files import read_source, with_types

    plain = replace(source, query=None, table=None, sheet=None)
    with without_native_errors():
        table = read_source(plain, MOST, 0)
    lacking = [name for name in inputs.X.columns if name not in table.frame.columns]
    if lacking:
        raise InputError(f"--local: {source.paths[0]} lacks the columns {listed(lacking)}.")
    if not table.frame.height:
        raise InputError(f"--local: {source.paths[0]} has no rows.")
    table = replace(table, frame=table.frame.select(inputs.X.columns))
    return with_types(table, inputs.settings.get("categorical", []), source.order).frame
