"""The commands of ``shaff``, a thin layer over the public interface."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shaff._util.files import replacing
from shaff._version import __version__
from shaff.cli import options, streams
from shaff.cli.local import read_local_rows
from shaff.cli.outcomes import OutcomeWords
from shaff.cli.outputs import Outputs, public_call
from shaff.cli.selecting import check_kept, read_question, write_kept
from shaff.data.sources.files import Source, check_source
from shaff.errors import InputError

# The rest is imported where it is used: help and wrong words need no scikit-learn.
if TYPE_CHECKING:
    from shaff import EffectsResult, ManyEffects, Selection, ShapleyEffects
    from shaff.cli.reading import TableInputs
    from shaff.data.remarks import Remark
    from shaff.results.files import AnyResult
    from shaff.results.local import LocalEffects

# typer exports no base class of its usage errors, and newer versions no longer use click's.
UsageError: Any = typer.BadParameter.__mro__[1]
Abort = typer.Abort


class _Plain:
    """A command whose help names no type beside a flag, which takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_Plain, typer.core.TyperCommand):
    pass


class _Group(_Plain, typer.core.TyperGroup):
    pass


app = typer.Typer(
    cls=_Group,
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
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="With --version: also the kernel and what shaff depends on."
        ),
    ] = False,
) -> None:
    if version:
        _print_version(verbose)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(cls=_Command)
def explain(
    context: typer.Context,
    data: options.Data,
    target: options.Target,
    event: options.Event = None,
    horizon: options.Horizon = None,
    of: options.Of = None,
    exceeds: options.Exceeds = None,
    exposure: options.Exposure = None,
    drop: options.Drop = None,
    only: options.Only = None,
    categorical: options.Categorical = None,
    group: options.Group = None,
    order: options.Order = None,
    row_groups: options.RowGroups = None,
    time: options.Time = None,
    weight: options.Weight = None,
    by: options.By = None,
    classes: options.Classes = False,
    drop_missing_target: options.DropMissingTarget = False,
    max_rows: options.MaxRows = 100_000,
    estimator: options.Estimator = options.AUTO,
    loss: options.Loss = "squared_error",
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
    markdown: options.Markdown = None,
    plot: options.Plot = None,
    local: options.Local = None,
    local_output: options.LocalOutput = None,
    force: options.Force = False,
    checkpoint: options.CheckpointFolder = None,
    quiet: options.Quiet = False,
    config: options.Config = None,
    debug: options.Debug = False,
) -> None:
    """Estimate the Shapley effects of the columns of a table on one of them."""
    outputs = Outputs(json, csv, plot, html, local_output, markdown=markdown)
    outputs.check(force, data)
    local_rows = read_local_rows(local, local_output)
    source = _source(data, dates, encoding=encoding, query=query, table=table, sheet=sheet)
    if by is not None and (local is not None or interactions):
        raise InputError("--by explains segments: leave out --local and --interactions.")
    if published and estimator is not options.AUTO:
        raise InputError("--published: the paper uses its own forest; leave out --estimator.")
    outcome = OutcomeWords(event, horizon, of, exceeds, exposure)
    outcome.check(classes)
    from shaff.cli.reading import ColumnRoles, read_inputs
    from shaff.data.problem import RawData

    roles = ColumnRoles(target, drop or (), only or (), categorical or (), group or (), row_groups,
                  weight, classes, drop_missing_target, by, time, outcome, order)  # fmt: skip
    inputs = read_inputs(source, roles, max_rows, seed, int(not quiet))
    settings = {"max_rows": max_rows, "n_subsets": subsets, "tol": tol, "loss": loss,
                "checkpoint": checkpoint, **inputs.settings}  # fmt: skip
    effects = _estimator(published, estimator, **_settings(seed, jobs, quiet), **settings)
    if inputs.by is not None:
        from shaff import explain_many

        shared = {**effects.get_params(deep=False), **inputs.rows}
        many = explain_many(inputs.X, inputs.y, by=inputs.by, **shared)
        _deliver_many(many, outputs, inputs.remarks)
        return
    new_rows = None if local_rows is None else local_rows.new_rows(source, inputs, max_rows)
    given = RawData(inputs.X, inputs.y, **inputs.rows)
    result = effects._fit(given, inputs.remarks, public_call(context.obj)).result_
    if interactions:
        result = result.with_interactions(effects.interactions())
    rows = None if local_rows is None else local_rows.explain(effects, inputs, new_rows)
    _deliver(result, outputs, rows)


@app.command(cls=_Command)
def select(
    data: options.Data,
    target: options.Target,
    all_relevant: options.AllRelevant = False,
    minimal: options.Minimal = False,
    alpha: options.Alpha = None,
    adjust: options.Adjust = None,
    tolerance: options.Tolerance = None,
    drop: options.Drop = None,
    only: options.Only = None,
    categorical: options.Categorical = None,
    group: options.Group = None,
    row_groups: options.RowGroups = None,
    time: options.Time = None,
    weight: options.Weight = None,
    classes: options.Classes = False,
    drop_missing_target: options.DropMissingTarget = False,
    max_rows: options.MaxRows = 100_000,
    estimator: options.Estimator = options.AUTO,
    subsets: options.SubsetCount = None,
    tol: options.Tol = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    encoding: options.Encoding = None,
    dates: options.DateOrder = None,
    query: options.Query = None,
    table: options.Table = None,
    sheet: options.Sheet = None,
    output: options.KeptOutput = None,
    json: options.Json = None,
    csv: options.Csv = None,
    markdown: options.Markdown = None,
    plot: options.PathPlot = None,
    quiet: options.Quiet = False,
    force: options.Force = False,
    config: options.Config = None,
    debug: options.Debug = False,
) -> None:
    """Select columns: all that matter for one of them, or the fewest that predict it as well."""
    outputs = Outputs(json, csv, plot, kept=output, markdown=markdown)
    outputs.check(force, data)
    asked = read_question(all_relevant, minimal, alpha, adjust, tolerance, plot)
    source = _source(data, dates, encoding=encoding, query=query, table=table, sheet=sheet)
    from shaff.cli.reading import ColumnRoles, read_inputs

    roles = ColumnRoles(target, drop or (), only or (), categorical or (), group or (), row_groups,
                  weight, classes, drop_missing_target, time=time)  # fmt: skip
    inputs = read_inputs(source, roles, max_rows, seed, int(not quiet))
    check_kept(output, inputs, max_rows)
    settings = {"max_rows": max_rows, "n_subsets": subsets, "tol": tol, **inputs.settings}
    effects = _estimator(False, estimator, **_settings(seed, jobs, quiet), **settings)
    _deliver_selection(asked.select(effects, inputs), inputs, outputs)


@app.command(cls=_Command)
def show(
    result: Annotated[Path, typer.Argument(help="What --json wrote.", show_default=False)],
    html: options.Html = None,
    csv: options.Csv = None,
    markdown: options.Markdown = None,
    plot: options.Plot = None,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Show the table, chart or report of a saved result."""
    outputs = Outputs(None, csv, plot, html, markdown=markdown)
    outputs.check(force, [result])
    from shaff import ManyEffects

    saved = _saved(result)
    if isinstance(saved, ManyEffects):
        _deliver_many(saved, outputs)
        return
    _deliver(_as_effects(saved, result, "show"), outputs)


@app.command(cls=_Command)
def compare(
    first: Annotated[Path, typer.Argument(help="What --json wrote.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another such file.", show_default=False)],
    labels: options.Labels = None,
    units: options.InUnits = None,
    level: options.Level = 0.95,
    other_outcome: options.OtherOutcome = False,
    html: options.Html = None,
    json: options.Json = None,
    csv: options.Csv = None,
    plot: options.Plot = None,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Compare the effects of two saved results, input by input: second minus first.

    The two are taken as independent: files do not keep the influence of each row.
    """
    outputs = Outputs(json, csv, plot, html)
    outputs.check(force, [first, second])
    names = _labels(labels, first, second)
    from shaff import compare as compare_results
    from shaff.cli.printing import print_saved
    from shaff.results.comparison import UNITS, Units

    saved = [_as_effects(_saved(path), path, "compare") for path in (first, second)]
    found = compare_results(*saved, labels=names, other_outcome=other_outcome)
    one_unit: Units | None = None if units is None else UNITS[list(options.Units).index(units)]
    if not outputs.is_alone:
        typer.echo(found.summary(level=level, units=one_unit))
    written = outputs.write_comparison(found, level, one_unit)
    if not outputs.is_alone:
        print_saved([str(path) for path in written])


def _labels(given: str | None, first: Path, second: Path) -> tuple[str, str]:
    """What two results are called."""
    if given is None:
        return _names_of_files(first, second)
    names = [name.strip() for name in given.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise InputError(
            f"--labels: give two different names with a comma between them, not {given!r}."
        )
    return names[0], names[1]


def _names_of_files(first: Path, second: Path) -> tuple[str, str]:
    """The names of two files, with their folders and endings where they need these to differ."""
    if first == second:
        raise InputError(f"{first} is given twice: tell them apart by different names, --labels.")
    one, other = first.stem, second.stem
    return (one, other) if one != other else (str(first), str(second))


def _saved(path: Path) -> AnyResult:
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    from shaff import load_result

    return load_result(path)


def _as_effects(saved: AnyResult, path: Path, command: str) -> EffectsResult:
    from shaff import EffectsResult

    if not isinstance(saved, EffectsResult):
        raise InputError(f"{path} holds {type(saved).__name__}: {command} takes effects.")
    return saved


@app.command(cls=_Command)
def demo(
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("demo-output"),
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
) -> None:
    """Explain disease progression in scikit-learn's diabetes data (442 patients).

    Writes the table, report, chart and result; those of an earlier demo are replaced.
    """
    import polars as pl

    from shaff import ShapleyEffects
    from shaff.data.problem import RawData
    from shaff.datasets import load_diabetes

    X, y, names = load_diabetes()
    frame = pl.DataFrame(X, schema=list(names))
    given = RawData(frame, pl.Series(DEMO_TARGET, y))
    effects = ShapleyEffects(**_settings(seed, jobs, quiet))._fit(given, call="shaff demo")
    output.mkdir(parents=True, exist_ok=True)
    # A table to try the other commands on.
    with replacing(output / "diabetes.csv") as temporary:
        frame.with_columns(pl.Series(DEMO_TARGET, y)).write_csv(temporary)
    files = Outputs(
        json=str(output / "effects.json"),
        plot=output / "effects.png",
        html=output / "report.html",
    )
    _deliver(effects.result_, files)
    typer.echo(f"Open {output / 'report.html'} in a browser.")


def _source(data: list[Path], dates: options.Dates | None, **how: str | None) -> Source:
    """The files as they are to be read, which must be there."""
    order = {None: None, options.Dates.DAY: "day", options.Dates.MONTH: "month"}[dates]
    source = Source(tuple(data), order=order, **how)  # type: ignore[arg-type]
    check_source(source)
    return source


def _settings(seed: int, jobs: int, quiet: bool) -> dict[str, Any]:
    return {"random_state": seed, "n_jobs": jobs, "verbose": int(not quiet)}


def _estimator(published: bool, learner: options.Learner, **settings: Any) -> ShapleyEffects:
    from shaff import ShapleyEffects

    if published:
        return ShapleyEffects.as_published(**settings)
    return ShapleyEffects(learner.value, **settings)


def _deliver_many(many: ManyEffects, outputs: Outputs, remarks: tuple[Remark, ...] = ()) -> None:
    from shaff.cli.printing import print_saved
    from shaff.fitting.notes.reading import sentence

    if not outputs.is_alone:
        streams.write("\n".join([many.summary(), *map(sentence, remarks), ""]))
    saved = outputs.write_many(many)
    if not outputs.is_alone:
        print_saved([str(path) for path in saved])


def _deliver_selection(found: Selection, inputs: TableInputs, outputs: Outputs) -> None:
    from shaff.cli.printing import print_saved, print_selection

    if not outputs.is_alone:
        print_selection(found)
    if outputs.kept is not None:
        write_kept(found, inputs, outputs.kept)
    saved = outputs.write(found)
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
