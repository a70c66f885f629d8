"""Tables of a study as text: our errors beside the paper's."""

from __future__ import annotations

import numpy as np

from shaff.paper.plan import Study
from shaff.paper.runs import Run, RunStore
from shaff.paper.tables import Row, Table


def table_markdown(table: Table, study: Study, store: RunStore) -> str:
    """A table in Markdown: mean error ± its standard error, then the paper's figure.

    Cells whose runs are not all there yet say how many are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shaff.paper.plan import QUICK
    >>> from shaff.paper.report import table_markdown
    >>> from shaff.paper.runs import RunStore
    >>> from shaff.paper.tables import NUMBER_OF_SUBSETS
    >>> store = RunStore(pathlib.Path(tempfile.mkdtemp()) / "runs.json")
    >>> print(table_markdown(NUMBER_OF_SUBSETS, QUICK, store).splitlines()[-1])
    | K = 3000 | no run | 0.21 |
    """
    header = ["", *(f"{name}, ours | {name}, paper" for name in table.experiments)]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * (1 + 2 * len(table.experiments))]
    for row in table.rows:
        cells = [_cell(row, name, study, store) for name in table.experiments]
        lines.append("| " + " | ".join([row.label, *cells]) + " |")
    return "\n".join([f"**{table.title}**", "", *lines])


def _cell(row: Row, experiment: str, study: Study, store: RunStore) -> str:
    tasks = study.tasks(row, experiment)
    runs = [run for task in tasks if (run := store.get(task)) is not None]
    printed = row.printed.get(experiment)
    return f"{_ours(runs, len(tasks))} | {'–' if printed is None else f'{printed:.2f}'}"


def _ours(runs: list[Run], wanted: int) -> str:
    if not runs:
        return "no run"
    errors = np.array([run.error for run in runs])
    text = f"{errors.mean():.3f}"
    if len(errors) > 1:
        text += f" ± {errors.std(ddof=1) / np.sqrt(len(errors)):.3f}"
    return text if len(errors) == wanted else f"{text} ({len(errors)} of {wanted} runs)"
