"""The commands of ``shaff``, a thin layer over the public interface."""

from __future__ import annotations

import csv
import dataclasses
import difflib
import gzip
import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shaff import ShapleyEffects
from shaff._version import __version__
from shaff.datasets import load_diabetes
from shaff.plots import EffectsDisplay
from shaff.result import EffectsResult, summary_table
from shaff.row_sample import read_parquet_sample, sample_note

# typer exports no base class of its usage errors, and newer versions no longer use click's.
UsageError: Any = typer.BadParameter.__mro__[1]
Abort = typer.Abort

app = typer.Typer(
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    help="Which inputs drive this outcome? Shapley effects, correct under dependence.",
)

_NULLS = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
_IMAGES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")

Seed = Annotated[int, typer.Option(help="Seed of all random numbers.")]
Jobs = Annotated[
    int, typer.Option(help="Processor cores, -1 for all; the result does not depend on it.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shaff {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("demo-output"),
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Explain disease progression in scikit-learn's diabetes data (442 patients)."""
    X, y, names = load_diabetes()
    frame = pl.DataFrame(X, schema=list(names))
    result = _fit(ShapleyEffects(**_settings(seed, jobs)), frame, y, "disease progression")
    output.mkdir(parents=True, exist_ok=True)
    _print_result(result)
    EffectsDisplay.from_result(result).save(output / "effects.png")
    result.to_json(output / "effects.json")
    typer.echo(f"\nSaved {output / 'effects.png'} and {output / 'effects.json'}")


@app.command()
def explain(
    data: Annotated[Path, typer.Argument(help="Table with a header: .csv, .csv.gz, .parquet.")],
    target: Annotated[str, typer.Option(help="Column to explain.")],
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; repeat, or separate by commas.")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    published: Annotated[
        bool, typer.Option("--published", help="The paper's algorithm, exactly.")
    ] = False,
    max_rows: Annotated[
        int, typer.Option(help="Of a longer table, explain a random sample of so many rows.")
    ] = 100_000,
    json: Annotated[
        str | None, typer.Option(help="Write the result here; - is the standard output, alone.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the bar chart here: .png, .svg, .pdf.")
    ] = None,
) -> None:
    """Shapley effects of the columns of a table on one of them."""
    # Outputs are checked first: a long computation must not end in a wrong path.
    if json is not None and json != "-":
        _check_folder(Path(json), "--json")
    if plot is not None:
        _check_folder(plot, "--plot")
        _check_image(plot)
    frame, n_rows = _read(data, max_rows, seed)
    y = _target(frame, target, data)
    X = frame.drop([target, *_dropped(frame, drop or [])])
    kind = ShapleyEffects.as_published if published else ShapleyEffects
    result = _fit(kind(**_settings(seed, jobs), max_rows=max_rows), X, y, target)
    if n_rows > frame.height:
        note = sample_note(frame.height, n_rows)
        result = dataclasses.replace(result, notes=(note, *result.notes))
    _deliver(result, json, plot)


@app.command()
def paper(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: minutes.")] = False,
    output: Annotated[
        Path, typer.Option(help="Folder of page, figures and runs; what it holds is not run again.")
    ] = Path("paper-output"),
    seed: Seed = 0,
    jobs: Jobs = -1,
    repetitions: Annotated[int | None, typer.Option(help="At most so many.", min=1)] = None,
    trees: Annotated[int | None, typer.Option(help="At most so many a forest.", min=1)] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Start no run after this time; 0 only draws and writes.")
    ] = None,
) -> None:
    """Reproduce the tables and figures of the SHAFF paper."""
    from shaff.paper.command import reproduce
    from shaff.paper.plan import FULL, QUICK

    def tell(task: Any, run: Any, left: int) -> None:
        typer.echo(f"{task.key}: error {run.error:.3f}, {run.seconds:.1f} s; {left} left", err=True)

    study = (QUICK if quick else FULL).limited(repetitions, trees, seed)
    seconds = None if minutes is None else 60 * minutes
    typer.echo(reproduce(study, output, n_jobs=jobs, seconds=seconds, tell=tell))
    typer.echo(f"\nSaved {output / 'paper.md'} and its figures and runs in {output / 'paper'}")


def _settings(seed: int, jobs: int) -> dict[str, Any]:
    # A progress bar is for people: none in files and pipes.
    return {"random_state": seed, "n_jobs": jobs, "verbose": int(sys.stderr.isatty())}


def _fit(effects: ShapleyEffects, X: pl.DataFrame, y: Any, target: str) -> EffectsResult:
    if X.width == 0:
        raise ValueError(f"no column is left to explain {target!r} with.")
    result: EffectsResult = effects.fit(X, y).result_
    return dataclasses.replace(result, target=target)


def _deliver(result: EffectsResult, json: str | None, plot: Path | None) -> None:
    if plot is not None:
        EffectsDisplay.from_result(result).save(plot)
    if json == "-":
        typer.echo(result.to_json())
        return
    _print_result(result)
    if json is not None:
        result.to_json(json)
    saved = [str(path) for path in (json, plot) if path is not None]
    if saved:
        typer.echo(f"\nSaved {' and '.join(saved)}")


def _read(path: Path, max_rows: int, seed: int) -> tuple[pl.DataFrame, int]:
    """The table, or of a longer parquet file a sample of its rows; and the rows of the file."""
    if not path.exists():
        raise ValueError(f"there is no file {path}.")
    suffixes = path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]
    kind = "".join(suffixes).lower()
    try:
        if kind in (".parquet", ".pq"):
            return read_parquet_sample(path, max_rows, seed)
        if kind in (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"):
            frame = _read_csv(path)
            return frame, frame.height
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError, csv.Error) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"cannot read {path}: {reason}") from error
    raise ValueError(f"cannot read {path}: its name must end in .csv, .csv.gz or .parquet.")


def _read_csv(path: Path) -> pl.DataFrame:
    separator, names = _header(path)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path} has more than one column named {twice[0]!r}.")
    # The whole file decides the types: a late "x" in a column of numbers is seen.
    return pl.read_csv(path, separator=separator, null_values=_NULLS, infer_schema_length=None)


def _header(path: Path) -> tuple[str, list[str]]:
    """Separator and column names; the most frequent candidate in the first line separates."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    separator = max(",;\t", key=line.count)
    return separator, next(csv.reader([line], delimiter=separator), [])


def _target(frame: pl.DataFrame, target: str, path: Path) -> Any:
    if frame.height == 0:
        raise ValueError(f"{path} has no rows.")
    column = frame[_known(frame, target, "--target")]
    if column.null_count():
        raise ValueError(f"target {target!r} is missing in {column.null_count()} rows.")
    return column


def _dropped(frame: pl.DataFrame, words: list[str]) -> list[str]:
    names: list[str] = []
    for word in words:
        # A name may hold a comma itself.
        parts = [word] if word in frame.columns else [part.strip() for part in word.split(",")]
        names.extend(_known(frame, part, "--drop") for part in parts if part)
    return list(dict.fromkeys(names))


def _known(frame: pl.DataFrame, name: str, option: str) -> str:
    if name in frame.columns:
        return name
    folded = {column.casefold(): column for column in frame.columns}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    hint = f" did you mean {folded[close[0]]!r}?" if close else f" there are {_listed(frame)}."
    raise ValueError(f"{option}: no column is named {name!r};{hint}")


def _listed(frame: pl.DataFrame, limit: int = 8) -> str:
    shown = ", ".join(map(repr, frame.columns[:limit]))
    more = len(frame.columns) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def _check_folder(path: Path, option: str) -> None:
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a folder.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"{option}: there is no folder {path.parent}.")


def _check_image(path: Path) -> None:
    if path.suffix.lower() not in _IMAGES:
        raise ValueError(f"--plot: {path} must end in one of {', '.join(_IMAGES)}.")


def _print_result(result: EffectsResult) -> None:
    console = Console(highlight=False)
    # On a narrow terminal the bars give way to the names.
    bar_width = 6 if console.width < 100 else 12
    header, rows = summary_table(result, result.order, bar_width=bar_width)
    table = Table(box=None, pad_edge=False)
    table.add_column(header[0], overflow="fold")
    for name in header[1:-1]:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(header[-1], no_wrap=True)
    for *cells, bar in rows:
        # Text, not markup: a column may be called "[b]".
        table.add_row(*map(Text, cells), Text(bar.replace("#", "█"), style="blue"))
    title = Text(f"Shapley effects on {result.target}", style="bold")
    # Lines of text wrap on a terminal only, so that files and pipes get them whole.
    console.print(title, soft_wrap=not console.is_terminal)
    console.print()
    console.print(table)
    console.print()
    for line in result.footer():
        console.print(Text(line), soft_wrap=not console.is_terminal)
