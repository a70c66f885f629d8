"""The commands of ``shaff``, a thin layer over the public interface."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shaff._version import __version__
from shaff.cli import options
from shaff.cli.local import read_local_rows
from shaff.cli.outputs import Outputs, public_call
from shaff.data.sources.files import Source, check_source
from shaff.errors import InputError

# The rest is imported where it is used: help and wrong words need no scikit-learn.
if TYPE_CHECKING:
    from shaff import EffectsResult, ShapleyEffects
    from shaff.cli.reading import TableInputs
    from shaff.results.local import LocalEffects

# typer exports no base class of its usage errors, and newer versions no longer use click's.
UsageError: Any = typer.BadParameter.__mro__[1]
Abort = typer.Abort

app = typer.Typer(
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    help="Which inputs drive this outcome? Shapley effects, correct under dependence.",
)

DEMO_TARGET = "disease progression"


def _print_version(verbose: bool) -> None:
    typer.echo(f"shaff {__version__}")
    if verbose:
        from importlib import metadata

        from shaff._core import kernel_name

        typer.echo(f"projection kernel: {kernel_name()}")
        for name in ("numpy", "scipy", "scikit-learn"):
            typer.echo(f"{name} {metadata.version(name)}")
    raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show it.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --version: also what it runs on.")
    ] = False,
) -> None:
    if version:
        _print_version(verbose)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def explain(
    context: typer.Context,
    data: options.Data,
    target: options.Target,
    drop: options.Drop = None,
    only: options.Only = None,
    categorical: options.Categorical = None,
    group: options.Group = None,
    row_groups: options.RowGroups = None,
    time: options.Time = None,
    weight: options.Weight = None,
    by: options.By = None,
    classes: options.Classes = False,
    drop_missing_target: options.DropMissingTarget = False,
    max_rows: options.MaxRows = 100_000,
    estimator: options.Estimator = options.AUTO,
    subsets: options.SubsetCount = None,
    tol: options.Tol = None,
    interactions: options.WithInteractions = False,
    published: options.Published = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    encoding: options.Encoding = None,
    dates: options.DateOrder = None,
    query: options.Query = None,
    table: options.Table = None,
    sheet: options.Sheet = None,
    html: options.Html = None,
    json: options.Json = None,
    csv: options.Csv = None,
    plot: options.Plot = None,
    local: options.Local = None,
    local_output: options.LocalOutput = None,
    force: options.Force = False,
    config: options.Config = None,
    debug: options.Debug = False,
) -> None:
    """Estimate the Shapley effects of the columns of a table on one of them."""
    outputs = Outputs(json, csv, plot, html, local_output)
    outputs.check(force, data)
    local_rows = read_local_rows(local, local_output)
    order = {None: None, options.Dates.DAY: "day", options.Dates.MONTH: "month"}[dates]
    source = Source(tuple(data), encoding, query, table, sheet, order)  # type: ignore[arg-type]
    check_source(source)
    if by is not None and (json is not None or html is not None):
        raise InputError("--by has a table and a picture: leave out --json and --html.")
    if published and estimator is not options.AUTO:
        raise InputError("--published: the paper has a forest of its own; leave out --estimator.")
    from shaff.cli.reading import ColumnRoles, read_inputs
    from shaff.data.problem import RawData

    roles = ColumnRoles(target, drop or (), only or (), categorical or (), group or (), row_groups,
                  weight, classes, drop_missing_target, by, time)  # fmt: skip
    inputs = read_inputs(source, roles, max_rows, seed, _verbose())
    settings = {"max_rows": max_rows, "n_subsets": subsets, "tol": tol, **inputs.settings}
    effects = _estimator(published, estimator, **_settings(seed, jobs), **settings)
    if inputs.by is not None:
        _deliver_many(effects, inputs, outputs)
        return
    new_rows = None if local_rows is None else local_rows.new_rows(source, inputs, max_rows)
    given = RawData(inputs.X, inputs.y, **inputs.rows)
    result = effects._fit(given, inputs.remarks, public_call(context.obj)).result_
    if interactions:
        result = result.with_interactions(effects.interactions())
    rows = None if local_rows is None else local_rows.explain(effects, inputs, new_rows)
    _deliver(result, outputs, rows)


@app.command()
def show(
    result: Annotated[Path, typer.Argument(help="What --json wrote.", show_default=False)],
    html: options.Html = None,
    csv: options.Csv = None,
    plot: options.Plot = None,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Show the table, chart or report of a saved result."""
    outputs = Outputs(None, csv, plot, html)
    outputs.check(force, [result])
    if not result.is_file():
        raise InputError(f"there is no file {result}.")
    from shaff import EffectsResult, load_result

    saved = load_result(result)
    if not isinstance(saved, EffectsResult):
        raise InputError(f"{result} holds {type(saved).__name__}: show takes effects.")
    _deliver(saved, outputs)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("demo-output"),
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
) -> None:
    """Explain disease progression in scikit-learn's diabetes data (442 patients).

    Writes report, chart and result; those of an earlier demo are replaced.
    """
    import polars as pl

    from shaff import ShapleyEffects
    from shaff.data.problem import RawData
    from shaff.datasets import load_diabetes

    X, y, names = load_diabetes()
    frame = pl.DataFrame(X, schema=list(names))
    given = RawData(frame, pl.Series(DEMO_TARGET, y))
    effects = ShapleyEffects(**_settings(seed, jobs))._fit(given, call="shaff demo")
    output.mkdir(parents=True, exist_ok=True)
    files = Outputs(
        json=str(output / "effects.json"),
        plot=output / "effects.png",
        html=output / "report.html",
    )
    _deliver(effects.result_, files)
    typer.echo(f"Open {output / 'report.html'} in a browser.")


def _settings(seed: int, jobs: int) -> dict[str, Any]:
    return {"random_state": seed, "n_jobs": jobs, "verbose": _verbose()}


def _verbose() -> int:
    # A progress bar is for people: none in files and pipes.
    return int(sys.stderr.isatty())


def _estimator(published: bool, learner: options.Learner, **settings: Any) -> ShapleyEffects:
    from shaff import ShapleyEffects

    if published:
        return ShapleyEffects.as_published(**settings)
    return ShapleyEffects(learner.value, **settings)


def _deliver_many(effects: ShapleyEffects, inputs: TableInputs, outputs: Outputs) -> None:
    from shaff import explain_many
    from shaff.cli.printing import print_saved
    from shaff.fitting.notes.reading import sentence

    settings = {**effects.get_params(deep=False), **inputs.rows}
    many = explain_many(inputs.X, inputs.y, by=inputs.by, **settings)
    if not outputs.is_alone:
        typer.echo("\n".join([many.summary(), *map(sentence, inputs.remarks)]))
    saved = outputs.write_many(many)
    if not outputs.is_alone:
        print_saved([str(path) for path in saved])


def _deliver(result: EffectsResult, outputs: Outputs, local: LocalEffects | None = None) -> None:
    from shaff.cli.printing import print_local, print_result, print_saved

    # First the terminal: what took long must not be lost on a full disk.
    if not outputs.is_alone:
        print_result(result)
        if local is not None:
            print_local(local)
    saved = outputs.write(result, local)
    if not outputs.is_alone:
        print_saved([str(path) for path in saved])
