"""A study as text: our errors beside the paper's, and which of its claims hold."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from math import inf

import numpy as np

from paper.claims import CLAIMS, FAR, HALF, SIMILAR
from paper.growth import growth_markdown
from paper.plan import RETRAINED, Effort, Study
from paper.results import Results
from paper.runs import Run
from paper.study import all_tasks
from paper.systems import draw_experiment
from paper.tables import FIGURES, STATE_OF_THE_ART, TABLES, PaperTable, Row
from paper.theorem import theorem_markdown
from shaff._util.typing import FloatArray
from shaff._version import __version__

# Variables that have a column of their own.
SHOWN = 15

_CLAIMS_REMARK = (
    "Errors are means of the repetitions in brackets, of both systems on the same data and in the "
    "same sizes; the trees are the paper's 500 or, if more repetitions were run with them, 100. "
    "± is the standard error of the difference. *Holds* and *not reproduced* stand "
    "where a t-test over the repetitions says so at 5 %; *not decided* where our repetitions "
    "are too few; a claim about several effects holds if each of its comparisons does, groups of "
    "variables with equal exact effects being compared by their means. Words are the "
    "paper's: *significantly* is a test, *overestimates* a sign. Of errors, *competitive* "
    "and *as efficient* are taken to mean less "
    f"than {SIMILAR:g} times the other, *divided by two* less than {HALF:g} times and *much "
    f"stronger* more than {FAR:g} times."
)


def table_markdown(table: PaperTable, results: Results) -> str:
    """A table in Markdown: mean error ± its standard error (repetitions), then the paper's.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from paper.plan import QUICK
    >>> from paper.report import table_markdown
    >>> from paper.results import Results
    >>> from paper.runs import RunStore
    >>> from paper.tables import NUMBER_OF_SUBSETS
    >>> store = RunStore(pathlib.Path(tempfile.mkdtemp()) / "runs.json")
    >>> print(table_markdown(NUMBER_OF_SUBSETS, Results(QUICK, store)).splitlines()[2])
    | K = 10 | no run | 0.67 |
    """
    header = ["", *(f"{name}, ours | {name}, paper" for name in table.experiments)]
    body = [
        [row.label, *(_cell(row, name, results) for name in table.experiments)]
        for row in table.rows
    ]
    return _markdown(header, body, 1 + 2 * len(table.experiments))


def _markdown(header: Sequence[str], body: Sequence[Sequence[str]], n_columns: int) -> str:
    lines = [header, *body]
    text = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([text[0], "|" + "---|" * n_columns, *text[1:]])


def _cell(row: Row, experiment: str, results: Results) -> str:
    printed = row.printed.get(experiment)
    found = _mean(results.found(row.tasks(results.study, experiment)))
    return f"{found} | {'–' if printed is None else f'{printed:.2f}'}"


def _mean(runs: list[Run]) -> str:
    if not runs:
        return "no run"
    errors = np.array([run.error for run in runs])
    text = f"{errors.mean():.3f}"
    if len(errors) > 1:
        text += f" ± {errors.std(ddof=1) / np.sqrt(len(errors)):.3f}"
    return f"{text} ({len(errors)})"


def effects_markdown(results: Results, experiment: str) -> str:
    """Mean effects of the systems of a figure, under the exact ones."""
    drawn = draw_experiment(results.study.tasks("shaff", experiment)[0])
    body = [["exact", *_shown(drawn.effects), "–"]]
    for label, system in FIGURES[experiment].items():
        effects = results.effects(system, experiment)
        if effects is not None:
            body.append([label, *_shown(effects.mean(axis=0)), str(len(effects))])
    names = list(drawn.names[:SHOWN])
    if len(drawn.names) > SHOWN:
        names.append(f"the other {len(drawn.names) - SHOWN} together")
    return _markdown(["", *names, "repetitions"], body, len(names) + 2)


def _shown(effects: FloatArray) -> list[str]:
    """The first effects, and the sum of the others where there are more."""
    rest = [effects[SHOWN:].sum()] if len(effects) > SHOWN else []
    return [f"{effect:.3f}" for effect in [*effects[:SHOWN], *rest]]


def convergence_markdown(results: Results) -> str:
    """Mean error by the number of rows."""
    body = [
        [curve.experiment, curve.label, str(n), f"{np.mean(errors):.3f} ({len(errors)})"]
        for curve in results.curves()
        for n, errors in curve.errors.items()
    ]
    return _markdown(["experiment", "system", "rows", "error"], body, 4) if body else "No run yet."


def claims_markdown(results: Results) -> str:
    """The paper's claims, each with our verdict."""
    words = {True: "holds", False: "**not reproduced**", None: "not decided"}
    body = []
    for claim in CLAIMS:
        verdict = claim.check(results)
        found = ("no run", "") if verdict is None else (words[verdict.holds], verdict.numbers)
        body.append([claim.text, *found])
    return _markdown(["the paper says", "in our runs", "errors or effects"], body, 3)


def settings_markdown(study: Study) -> str:
    """What was run, in sentences."""
    rows = (row for table in TABLES for row in table.rows if row.system in RETRAINED)
    retrained = ", ".join(row.label for row in rows)
    lines = [
        f"- SHAFF and the defaults: {_effort(study.published, study)}.",
        f"- Other systems with one model: {_effort(study.one_model, study)}.",
        f"- Systems that fit a forest for every subset ({retrained}): "
        f"{_effort(study.retrained, study)}.",
        f"- SHAFF with fewer trees: {_effort(study.fewer_trees, study)}.",
        f"- SAGE with more subsets: {_effort(study.more_subsets, study)}.",
        f"- Convergence: {_effort(study.convergence, study)}.",
        f"- Times of Table 2: {_effort(study.growth, study)}.",
        "- The defaults of shaff use neither these trees nor K: they choose model and subsets.",
        "- In every cell the number in brackets says how many repetitions it is the mean of.",
        f"- shaff {__version__}.",
    ]
    return "\n".join(lines)


def _effort(effort: Effort, study: Study) -> str:
    limits = [
        f"at most {limit:g} {what}"
        for limit, what in ((effort.max_rows, "rows"), (effort.max_subsets, "subsets"))
        if limit != inf
    ]
    seeds = f"seeds from {study.seed}"
    count = "1 repetition" if effort.repetitions == 1 else f"up to {effort.repetitions} repetitions"
    planned = f"{count} ({seeds}), {effort.n_trees} trees"
    return ", ".join([planned, *limits])


def systems_markdown() -> str:
    """Table 1 of the paper, and what its systems are called here."""
    body = [
        [*words, ", ".join(f'`preset("{name}")`' for name in names) or "`as_published()`"]
        for *words, names in STATE_OF_THE_ART
    ]
    header = ["", "model", "local or global", "subset sampling", "conditional expectations", "here"]
    return _markdown(header, body, len(header))


def tables_text(results: Results) -> str:
    """All tables, each under its title."""
    parts = [
        "## Table 1: Shapley algorithms",
        systems_markdown(),
        "## Table 2: time as it grows",
        growth_markdown(results.study, results.store),
    ]
    for table in TABLES:
        parts += [f"## {table.title}", table_markdown(table, results)]
    for experiment in FIGURES:
        parts += [
            f"## Experiment {experiment}: mean effects",
            effects_markdown(results, experiment),
        ]
    parts += ["## Error by the number of rows", convergence_markdown(results)]
    parts += [
        "## The theorem: n, M and K grow together",
        theorem_markdown(results.study, results.store),
    ]
    parts += ["## The paper's claims", _CLAIMS_REMARK, claims_markdown(results)]
    return "\n\n".join(parts)


def page(results: Results, images: Sequence[str]) -> str:
    """The whole page: what was run, tables, figures, and where and why we differ."""
    words = files("paper")
    pictures = "\n\n".join(f"![{_caption(name)}]({name})" for name in images)
    sizes = "the paper's sizes" if results.study.one_model.max_rows == inf else "quick sizes"
    return "\n\n".join(
        [
            f"# The paper, reproduced: {sizes}",
            words.joinpath("introduction.md").read_text(encoding="utf-8").strip(),
            settings_markdown(results.study) + "\n" + _cost(results),
            tables_text(results),
            "## Figures",
            pictures,
            words.joinpath("discussion.md").read_text(encoding="utf-8").strip(),
            "",
        ]
    )


def _cost(results: Results) -> str:
    planned = all_tasks(results.study)
    runs = results.found(planned)
    hours = sum(run.seconds for run in runs) / 3600
    return f"- {len(runs)} of {len(planned)} runs are done, in {hours:.1f} processor hours."


def _caption(image: str) -> str:
    """What a picture shows, for those who cannot see it."""
    name = image.rpartition("/")[2].removesuffix(".png")
    if name == "projection":
        return "A tree's partition of two variables, and its projection on the first"
    if name == "convergence":
        return "Error of SHAFF and of the defaults against the number of rows"
    return f"Box plots of the effects in {name.replace('-', ' ')}, with the exact effects"
