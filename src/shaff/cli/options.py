"""The options of the commands, each defined once, and the file that may hold them."""

from __future__ import annotations

import difflib
import re
import tomllib
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from shaff._util.words import listed
from shaff.errors import InputError, first_line
from shaff.values.registry import LEARNERS

# Learners that evaluate a subset of the inputs, by name.
Learner = StrEnum("Learner", {name.upper(): name for name in LEARNERS})  # type: ignore[misc]
AUTO = Learner("auto")


# A name with more parts than any option has. It is looked for where a name can begin: elsewhere,
# each character of a long word would be taken for a beginning.
_DOTTED = re.compile(r"(?<![^\s=\[\]{}#.,])(?:[^\s=\[\]{}#.,]+[ \t]*\.[ \t]*){100}")


class Dates(StrEnum):
    """What ``01/02/2021`` begins with."""

    DAY = "day-first"
    MONTH = "month-first"


class Units(StrEnum):
    """What differences of effects are measured in."""

    SHARE = "share"
    VARIANCE = "variance"


def _check_level(level: float) -> float:
    if not 0 < level < 1:
        raise typer.BadParameter(f"{level} is no level of an interval: give 0.95 or so.")
    return level


class Survival(StrEnum):
    """What is explained of a time until an event."""

    RESTRICTED_MEAN = "restricted_mean"
    SURVIVAL = "survival"


class Adjustment(StrEnum):
    """How tests allow for their number."""

    HOLM = "holm"
    FDR = "fdr"


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("0 is no number of cores: give 1 or more, or -1 for all.")
    return jobs


def _check_tol(tol: float | None) -> float | None:
    if tol is not None and not 0 < tol < 1:
        raise typer.BadParameter(f"{tol} is no standard error to aim for: give 0.001 or so.")
    return tol


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take every option that the command line does not name from the file."""
    if path is None or context.resilient_parsing:
        return path
    parameters = {parameter.name: parameter for parameter in context.command.params}
    known = {str(name) for name in parameters} - {"config"}
    settings = {}
    for key, value in _settings(path, str(context.command.name)).items():
        name = key.replace("-", "_")
        if name not in known:
            hint = _hint(name, known)
            raise InputError(f"--config: {path} has an unknown option {key!r}; {hint}")
        _check_value(path, key, value, parameters[name])
        settings[name] = value
    context.default_map = settings
    return path


def _hint(name: str, known: set[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {listed(sorted(known), 40)}."


def _settings(path: Path, command: str) -> dict[str, Any]:
    """Options in a TOML file: in its table with the command's name, or else in the whole file."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors of Windows leave a mark
        if _DOTTED.search(text):  # which takes very long to read
            raise InputError(
                f"--config: {path} is no file of options: it has a name of many parts."
            )
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"--config: there is no file {path}.") from None
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"--config: {path} is no TOML file: {first_line(error)}.") from error
    table = content.get(command, content)
    if not isinstance(table, dict):
        raise InputError(f"--config: {command!r} in {path} is no table of options.")
    return table


def _check_value(path: Path, key: str, value: Any, parameter: Any) -> None:
    """Refuse a value whose TOML type is not that of the option."""
    several = parameter.multiple or parameter.nargs == -1
    values = value if isinstance(value, list) else [value]
    flag = getattr(parameter, "is_flag", False)
    if isinstance(value, list) != several and (isinstance(value, list) or several):
        expected = "a list" if several else "one value"
        raise InputError(f"--config: {key!r} in {path} must be {expected}.")
    if any(isinstance(one, dict) or isinstance(one, bool) != flag for one in values):
        raise InputError(f"--config: {key!r} in {path} has a value of the wrong type.")


# Headings of the help.
COLUMNS, READING, COMPUTING, RESULTS = "Columns", "Reading", "Computing", "Results"
_REPEAT = "repeat, or separate by commas"


def _option(help: str, *names: str, panel: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, **more)


_column = partial(_option, panel=COLUMNS, metavar="NAME")
_rows = partial(_option, panel=COLUMNS)
_reading = partial(_option, panel=READING)
_computing = partial(_option, panel=COMPUTING)
_result = partial(_option, panel=RESULTS, metavar="PATH")

Data = Annotated[
    list[Path],
    typer.Argument(
        help="Table with a header: .csv, .tsv, .txt, .jsonl (also packed), .parquet, .feather, "
        ".xlsx, .sqlite, .duckdb; several files of one kind, a folder of parquet files, or - for "
        "text on the standard input.",
        show_default=False,
    ),
]
Target = Annotated[str, _column("Column to explain.", show_default=False)]
Event = Annotated[
    str | None,
    _column("Column of 0 and 1: whether the event came at the target's time, or was censored."),
]
Horizon = Annotated[
    float | None, _rows("Largest time that counts; with --event.", metavar="TIME", min=0)
]
Of = Annotated[
    Survival | None,
    _rows("What is explained up to the horizon: the time, or surviving it; with --event."),
]
Exceeds = Annotated[
    str | None,
    _rows("Explain whether the target exceeds a limit, or a quantile: 10, q0.9.", metavar="LIMIT"),
]
Exposure = Annotated[
    str | None, _column("Column that the target's counts are divided and weighted by.")
]
Drop = Annotated[list[str] | None, _column(f"Column to leave out; {_REPEAT}.")]
Only = Annotated[list[str] | None, _column(f"Use only these columns as inputs; {_REPEAT}.")]
Categorical = Annotated[
    list[str] | None, _column(f"Column to treat as categories, whatever it contains; {_REPEAT}.")
]
Group = Annotated[
    list[str] | None,
    _column(
        "NAME=A,B: columns that count as one input; repeat. UPPER::NAME=A,B puts it in a group of "
        "groups.",
        metavar="NAME=A,B",
    ),
]
Order = Annotated[
    str | None,
    _column(
        'Layers of inputs, from first to last in time or cause: "age,sex;bmi;pressure".',
        metavar="A,B;C",
    ),
]
By = Annotated[
    str | None,
    _column("Column whose values divide the rows into segments, each explained separately."),
]
RowGroups = Annotated[
    str | None, _column("Column that says which rows belong together: one person, one day.")
]
Time = Annotated[
    str | None, _column("Column that says when each row was observed: numbers or dates.")
]
Weight = Annotated[str | None, _column("Column of the rows' weights.")]
Classes = Annotated[
    bool, _rows("The target holds classes, although they are written as numbers.", "--classes")
]
DropMissingTarget = Annotated[
    bool, _rows("Leave out rows that have no target.", "--drop-missing-target")
]
MaxRows = Annotated[
    int,
    _reading("Explain a random sample of this many rows of a longer table.", min=10, metavar="N"),
]
Encoding = Annotated[
    str | None,
    _reading(
        "Encoding of a text file; UTF-8, UTF-16 and Windows-1252 are recognised.", metavar="NAME"
    ),
]
DateOrder = Annotated[
    Dates | None, _reading("What 01/02/2021 begins with, if the column leaves it open.", "--dates")
]
Query = Annotated[
    str | None, _reading("SELECT whose rows are explained, in a database.", metavar="SQL")
]
Table = Annotated[
    str | None, _reading("Table of a database; the only one if not given.", metavar="NAME")
]
Sheet = Annotated[
    str | None, _reading("Sheet of a spreadsheet; the first if not given.", metavar="NAME")
]
Estimator = Annotated[Learner, _computing("Learner that is fitted to subsets of the inputs.")]
Loss = Annotated[
    str,
    _computing(
        "Loss on held-out rows: squared_error, log_loss (classes), poisson (counts), "
        "gamma, tweedie, or tweedie:1.7 for that power.",
        metavar="NAME",
    ),
]
SubsetCount = Annotated[
    int | None,
    _computing("Subsets to evaluate; as many as needed if not given.", min=2, metavar="N"),
]
Tol = Annotated[
    float | None,
    _computing(
        "Standard error that subsets not evaluated may cause.", callback=_check_tol, metavar="X"
    ),
]
WithInteractions = Annotated[
    bool,
    _computing("Also estimate pairwise interactions, which needs more subsets.", "--interactions"),
]
Published = Annotated[bool, _computing("The paper's algorithm, exactly.", "--published")]
Seed = Annotated[int, _computing("Seed of all random numbers.", min=0, max=2**32 - 1, metavar="N")]
Jobs = Annotated[
    int,
    _computing(
        "Processor cores, -1 for all; the result does not depend on it.",
        callback=_check_jobs,
        metavar="N",
    ),
]
AllRelevant = Annotated[
    bool,
    _computing("Keep all columns whose effect is significantly above 0 (default).",
               "--all-relevant"),
]  # fmt: skip
Minimal = Annotated[
    bool, _computing("Keep the fewest columns that predict as well as all.", "--minimal")
]
Alpha = Annotated[
    float | None,
    _computing("Level of the tests of --all-relevant; 0.05 if not given.", metavar="X"),
]
Adjust = Annotated[
    Adjustment | None,
    _computing("What the level limits: the chance of any false column (holm, if not given), or "
               "the expected share of false ones (fdr)."),
]  # fmt: skip
Tolerance = Annotated[
    str | None,
    _computing("Explained variance that --minimal may lose: 1se (if not given) or a number.",
               metavar="X"),
]  # fmt: skip
KeptOutput = Annotated[
    Path | None,
    _result("Write the table of the columns that are kept to this file: .csv or .parquet."),
]
PathPlot = Annotated[
    Path | None,
    _result("Save explained variance against the number of columns as a chart (--minimal)."),
]
Json = Annotated[str | None, _result("Write the result to this file; - prints it alone.")]
Csv = Annotated[str | None, _result("Write the table to this file; - prints it alone.")]
Markdown = Annotated[
    str | None,
    _result("Write headline, table and notes to this file as Markdown; - prints them alone."),
]
Plot = Annotated[Path | None, _result("Save the bar chart to this file: .png, .svg, .pdf, .jpg.")]
Html = Annotated[Path | None, _result("Write the report to this file, a page for any browser.")]
Local = Annotated[
    str | None,
    _result(
        "Also explain single rows: row numbers, counted from 1 (3,7,20-25), all, or a "
        "file of new rows.",
        metavar="ROWS",
    ),
]
LocalOutput = Annotated[
    Path | None, _result("Write what --local found to this file: .csv or .json.")
]
Labels = Annotated[
    str | None,
    _option("Names of the two results; their file names if not given.", panel=COMPUTING,
            metavar="A,B"),
]  # fmt: skip
InUnits = Annotated[
    Units | None,
    _computing("Differences of shares, or in units of the variance; both if not given.", "--units"),
]
Level = Annotated[float, _computing("Level of the intervals.", callback=_check_level, metavar="X")]
OtherOutcome = Annotated[
    bool,
    _computing("Compare although the outcomes have different names.", "--other-outcome"),
]
CheckpointFolder = Annotated[
    str | None,
    _option(
        "Folder in which evaluated subsets are saved: the same command resumes from there.",
        "--checkpoint",
        panel=COMPUTING,
        metavar="FOLDER",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not show progress.")]
Force = Annotated[bool, _option("Overwrite existing files.", "--force", panel=RESULTS)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Config = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with any of these options; the command line takes precedence.",
        callback=_read_config,
        is_eager=True,
    ),
]
