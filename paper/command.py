"""The whole reproduction: run what is missing, draw the figures, write the page."""

from __future__ import annotations

from pathlib import Path

from paper.figures import convergence_figure, experiment_figure
from paper.plan import Study
from paper.report import page, tables_text
from paper.results import Results
from paper.runs import RunStore
from paper.study import Tell, all_tasks, run_tasks
from paper.tables import FIGURES
from shaff._util.files import replacing


def reproduce(
    study: Study,
    output: Path,
    *,
    n_jobs: int | None = None,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> str:
    """Run what is missing, write ``paper.md`` and ``paper/``, and return the tables.

    Parameters
    ----------
    study : Study
    output : Path
        A folder. The runs in its ``paper/runs.json`` are not run again.
    n_jobs : int, optional
        Number of runs at a time.
    seconds : float or None, default=None
        No run is started after this time; the page holds what is there.
    tell : callable or None, default=None
        Called after each run, as ``tell(task, run, n_left)``.
    """
    store = RunStore(output / "paper" / "runs.json")
    run_tasks(all_tasks(study), store, n_jobs=n_jobs, seconds=seconds, tell=tell)
    results = Results(study, store)
    write_page(results, output)
    return tables_text(results)


def write_page(results: Results, output: Path) -> None:
    """Write the figures and the page of all runs so far."""
    figures = {f"experiment-{name}.png": experiment_figure(results, name) for name in FIGURES}
    figures["convergence.png"] = convergence_figure(results)
    drawn = {f"paper/{name}": figure for name, figure in figures.items() if figure is not None}
    (output / "paper").mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        with replacing(output / name) as path:
            figure.savefig(path, dpi=110)
    with replacing(output / "paper.md") as path:
        path.write_text(page(results, list(drawn)), encoding="utf-8")
