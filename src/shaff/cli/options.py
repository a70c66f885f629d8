"""The options of the commands, each defined once, and the file that may hold them."""

from __future__ import annotations

import difflib
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shaff._util.words import listed
from shaff.errors import InputError
from shaff.values.learners import LEARNERS

# What is learnt from a subset, by name.
Learner = StrEnum("Learner", {name.upper(): name for name in LEARNERS})  # type: ignore[misc]
AUTO = Learner("auto")


class Dates(StrEnum):
    """What ``01/02/2021`` begins with."""

    DAY = "day-first"
    MONTH = "month-first"


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("0 cores compute nothing: give 1 or more, or -1 for all.")
    return jobs


def _check_tol(tol: float | None) -> float | None:
    if tol is not None and not 0 < tol < 1:
        raise typer.BadParameter(f"{tol} is no standard error to aim for: give 0.001 or so.")
    return tol


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Let the file speak for every option that the command line does not name."""
    if path is None or context.resilient_parsing:
        return path
    parameters = {parameter.name: parameter for parameter in context.command.params}
    known = {str(name) for name in parameters} - {"config"}
    settings = {}
    for key, value in _settings(path, str(context.command.name)).items():
        name = key.replace("-", "_")
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = (
                f"did you mean {close[0]!r}?"
                if close
                else f"there are {listed(sorted(known), 40)}."
            )
            raise InputError(f"--config: {path} has an unknown option {key!r}; {hint}")
        _check_value(path, key, value, parameters[name])
        settings[name] = value
    context.default_map = settings
    return path


def _settings(path: Path, command: str) -> dict[str, Any]:
    """The options of a TOML file: those of the table with the command's name, or of the file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"--config: there is no file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config: {path} is no TOML file: {error}.") from error
    table = content.get(command, content)
    if not isinstance(table, dict):
        raise InputError(f"--config: {command!r} in {path} is no table of options.")
    return table


def _check_value(path: Path, key: str, value: Any, parameter: Any) -> None:
    """TOML has types of its own: a list where one value is roles for is not one."""
    several = parameter.multiple or parameter.nargs == -1
    values = value if isinstance(value, list) else [value]
    flag = getattr(parameter, "is_flag", False)
    if isinstance(value, list) != several and (isinstance(value, list) or several):
        wanted = "a list" if several else "one value"
        raise InputError(f"--config: {key!r} in {path} must be {wanted}.")
    if any(isinstance(one, dict) or isinstance(one, bool) != flag for one in values):
        raise InputError(f"--config: {key!r} in {path} has a value of the wrong type.")


# Headings of the help.
COLUMNS, READING, COMPUTING, RESULTS = "Columns", "Reading", "Computing", "Results"
_NAMES = "repeat, or separate by commas"
Data = Annotated[
    list[Path],
    typer.Argument(
        help="Table with a header: .csv, .tsv, .txt, .jsonl (also packed), .parquet, .feather, "
        ".xlsx, .sqlite, .duckdb; several files of one kind, a folder of parquet files, or - for "
        "text on the standard input.",
        show_default=False,
    ),
]
Target = Annotated[
    str,
    typer.Option(
        help="Column to explain.", show_default=False, metavar="NAME", rich_help_panel=COLUMNS
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help=f"Column to leave out; {_NAMES}.", metavar="NAME", rich_help_panel=COLUMNS),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Explain by these columns and no others; {_NAMES}.",
        metavar="NAME",
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Column of categories, whatever it spells; {_NAMES}.",
        metavar="NAME",
        rich_help_panel=COLUMNS,
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME=A,B: columns that are one player; repeat.",
        metavar="NAME=A,B",
        rich_help_panel=COLUMNS,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        help="Column whose values divide the rows into segments, each explained by itself.",
        metavar="NAME",
        rich_help_panel=COLUMNS,
    ),
]
RowGroups = Annotated[
    str | None,
    typer.Option(
        help="Column that says which rows belong together: one person, one day.",
        metavar="NAME",
        rich_help_panel=COLUMNS,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(help="Column of the rows' weights.", metavar="NAME", rich_help_panel=COLUMNS),
]
Classes = Annotated[
    bool,
    typer.Option(
        "--classes",
        help="The target holds classes, though it spells numbers.",
        rich_help_panel=COLUMNS,
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option(
        "--drop-missing-target", help="Leave out rows that have no target.", rich_help_panel=COLUMNS
    ),
]
MaxRows = Annotated[
    int,
    typer.Option(
        help="Of a longer table, explain a random sample of so many rows.",
        min=10,
        metavar="N",
        rich_help_panel=READING,
    ),
]
Estimator = Annotated[
    Learner,
    typer.Option(help="What is learnt from subsets of the columns.", rich_help_panel=COMPUTING),
]
SubsetCount = Annotated[
    int | None,
    typer.Option(
        help="Subsets of columns to price; as many as needed if not given.",
        min=2,
        metavar="N",
        rich_help_panel=COMPUTING,
    ),
]
Tol = Annotated[
    float | None,
    typer.Option(
        help="Standard error that not evaluated subsets may leave.",
        callback=_check_tol,
        metavar="X",
        rich_help_panel=COMPUTING,
    ),
]
WithInteractions = Annotated[
    bool,
    typer.Option(
        "--interactions",
        help="Also which pairs of columns tell more together than apart; needs more subsets.",
        rich_help_panel=COMPUTING,
    ),
]
Published = Annotated[
    bool,
    typer.Option("--published", help="The paper's algorithm, exactly.", rich_help_panel=COMPUTING),
]
Seed = Annotated[
    int,
    typer.Option(
        help="Seed of all random numbers.",
        min=0,
        max=2**32 - 1,
        metavar="N",
        rich_help_panel=COMPUTING,
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        help="Processor cores, -1 for all; the result does not depend on it.",
        callback=_check_jobs,
        metavar="N",
        rich_help_panel=COMPUTING,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Of a text file; UTF-8, UTF-16 and Windows-1252 are recognised.",
        metavar="NAME",
        rich_help_panel=READING,
    ),
]
DateOrder = Annotated[
    Dates | None,
    typer.Option(
        "--dates",
        help="How 01/02/2021 begins, if the column does not tell.",
        rich_help_panel=READING,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        help="SELECT to explain the rows of, in a database.", metavar="SQL", rich_help_panel=READING
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        help="Table of a database; the only one if not given.",
        metavar="NAME",
        rich_help_panel=READING,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        help="Sheet of a spreadsheet; the first if not given.",
        metavar="NAME",
        rich_help_panel=READING,
    ),
]
Json = Annotated[
    str | None,
    typer.Option(
        help="Write the result here; - is the standard output, alone.",
        metavar="PATH",
        rich_help_panel=RESULTS,
    ),
]
Csv = Annotated[
    str | None,
    typer.Option(
        help="Write the table here; - is the standard output, alone.",
        metavar="PATH",
        rich_help_panel=RESULTS,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        help="Draw the bar chart here: .png, .svg, .pdf, .jpg.",
        metavar="PATH",
        rich_help_panel=RESULTS,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        help="Write the report here, a page for any browser.",
        metavar="PATH",
        rich_help_panel=RESULTS,
    ),
]
Local = Annotated[
    str | None,
    typer.Option(
        help="Also explain single rows: numbers of rows of the table, from 1 on (3,7,20-25), all, "
        "or a file of new rows.",
        metavar="ROWS",
        rich_help_panel=RESULTS,
    ),
]
LocalOutput = Annotated[
    Path | None,
    typer.Option(
        help="Write what --local found here: .csv or .json.",
        metavar="PATH",
        rich_help_panel=RESULTS,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite files that are there.", rich_help_panel=RESULTS)
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
Config = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with any of these options; the command line comes first.",
        callback=_read_config,
        is_eager=True,
    ),
]
