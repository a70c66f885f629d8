"""The commands of ``shaff``, a thin layer over the public interface."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shaff._files import check_target
from shaff._version import __version__
from shaff._words import column_sentence, counted, listed
from shaff.data.files import TableFile, check_file, read_file
from shaff.errors import InputError

# The rest is imported where it is used: help and wrong words need no scikit-learn.
if TYPE_CHECKING:
    import polars as pl

    from shaff import EffectsResult, ShapleyEffects

# typer exports no base class of its usage errors, and newer versions no longer use click's.
UsageError: Any = typer.BadParameter.__mro__[1]
Abort = typer.Abort

app = typer.Typer(
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    help="Which inputs drive this outcome? Shapley effects, correct under dependence.",
)

_IMAGES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("0 cores compute nothing: give 1 or more, or -1 for all.")
    return jobs


Seed = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0, max=2**32 - 1)]
Jobs = Annotated[
    int,
    typer.Option(
        help="Processor cores, -1 for all; the result does not depend on it.",
        callback=_check_jobs,
    ),
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
    import polars as pl

    from shaff import ShapleyEffects
    from shaff.datasets import load_diabetes
    from shaff.plots import EffectsDisplay

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
    data: Annotated[
        Path, typer.Argument(help="Table with a header: .csv, .tsv, .txt (also .gz), .parquet.")
    ],
    target: Annotated[str, typer.Option(help="Column to explain.")],
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; repeat, or separate by commas.")
    ] = None,
    drop_missing_target: Annotated[
        bool, typer.Option("--drop-missing-target", help="Leave out rows that have no target.")
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    published: Annotated[
        bool, typer.Option("--published", help="The paper's algorithm, exactly.")
    ] = False,
    max_rows: Annotated[
        int,
        typer.Option(help="Of a longer table, explain a random sample of so many rows.", min=10),
    ] = 100_000,
    json: Annotated[
        str | None, typer.Option(help="Write the result here; - is the standard output, alone.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the bar chart here: .png, .svg, .pdf, .jpg.")
    ] = None,
) -> None:
    """Shapley effects of the columns of a table on one of them."""
    # Names are checked first: a long computation must not end in a wrong path.
    _check_outputs(json, plot)
    check_file(data)
    from shaff import ShapleyEffects

    table = read_file(data, max_rows, seed)
    frame, notes = _with_target(table.frame, target, data, drop_missing_target)
    X = frame.drop([target, *_dropped(frame, drop or [], target)])
    kind = ShapleyEffects.as_published if published else ShapleyEffects
    result = _fit(kind(**_settings(seed, jobs), max_rows=max_rows), X, frame[target], target)
    notes += _file_notes(table, [*X.columns, target])
    _deliver(dataclasses.replace(result, notes=(*notes, *result.notes)), json, plot)


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
        raise InputError(f"no column is left to explain {target!r} with.")
    result: EffectsResult = effects.fit(X, y).result_
    return dataclasses.replace(result, target=target)


def _deliver(result: EffectsResult, json: str | None, plot: Path | None) -> None:
    if plot is not None:
        from shaff.plots import EffectsDisplay

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


def _file_notes(table: TableFile, names: list[str]) -> list[str]:
    """What to say about the sample of a long file, and about columns as they were read."""
    from shaff.data.rows import sample_note

    n_sample = table.frame.height
    notes = [sample_note(n_sample, table.n_rows)] if table.n_rows > n_sample else []
    columns: dict[str, list[str]] = {}
    for name in names:
        if name in table.said:
            columns.setdefault(table.said[name], []).append(name)
    return notes + [column_sentence(of_note, said) for said, of_note in columns.items()]


def _with_target(
    frame: pl.DataFrame, target: str, path: Path, drop_missing: bool
) -> tuple[pl.DataFrame, list[str]]:
    """The rows that have a target, and what to say about the others."""
    if frame.height == 0:
        raise InputError(f"{path} has no rows.")
    column = frame[_known(frame, target, "--target")]
    has_target = column.is_not_null()
    if column.dtype.is_float():
        has_target &= ~column.is_nan().fill_null(True)
    n_missing = int((~has_target).sum())
    if not n_missing:
        return frame, []
    rows = counted(n_missing, "row")
    if not drop_missing:
        raise InputError(
            f"target {target!r} is missing in {rows}: leave them out by --drop-missing-target, or "
            "fill them in."
        )
    return frame.filter(has_target), [f"Left out {rows} in which {target!r} is missing."]


def _dropped(frame: pl.DataFrame, words: list[str], target: str) -> list[str]:
    names: list[str] = []
    for word in words:
        # A name may hold a comma itself.
        parts = [word] if word in frame.columns else [part.strip() for part in word.split(",")]
        names.extend(_known(frame, part, "--drop") for part in parts if part)
    if target in names:
        raise InputError(f"--drop: {target!r} is the target, which cannot be left out.")
    return list(dict.fromkeys(names))


def _known(frame: pl.DataFrame, name: str, option: str) -> str:
    if name in frame.columns:
        return name
    folded = {column.strip().casefold(): column for column in frame.columns}
    close = difflib.get_close_matches(name.strip().casefold(), folded, n=1)
    hint = f"did you mean {folded[close[0]]!r}?" if close else f"there are {listed(frame.columns)}."
    raise InputError(f"{option}: no column is named {name!r}; {hint}")


def _check_outputs(json: str | None, plot: Path | None) -> None:
    if json is not None and json != "-":
        _check_output(Path(json), "--json")
    if plot is not None:
        _check_output(plot, "--plot")
        if plot.suffix.lower() not in _IMAGES:
            raise InputError(f"--plot: {plot} must end in one of {', '.join(_IMAGES)}.")


def _check_output(path: Path, option: str) -> None:
    try:
        check_target(path)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None
    if not path.resolve().parent.is_dir():
        raise InputError(f"{option}: there is no folder {path.parent}.")


def _print_result(result: EffectsResult) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shaff.result import summary_table

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
