"""The whole reproduction: run what is missing, draw the figures, write the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paper.figures import convergence_figure, experiment_figure, projection_figure
from paper.plan import Study
from paper.report import page, tables_text
from paper.results import Results
from paper.runs import RunStore
from paper.study import Tell, chosen_tasks, run_tasks
from paper.tables import FIGURES
from shaff._util.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reproduce(
    study: Study,
    output: Path,
    *,
    only: str | None = None,
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
    only : str or None, default=None
        A part of the study, by name; None runs all of it.
    n_jobs : int, optional
        Number of runs at a time.
    seconds : float or None, default=None
        No run is started after this time; the page holds what is there.
    tell : callable or None, default=None
        Called after each run, as ``tell(task, run, n_left)``.
    """
    store = RunStore(output / "paper" / "runs.json")
    run_tasks(chosen_tasks(study, only), store, n_jobs=n_jobs, seconds=seconds, tell=tell)
    results = Results(study, store)
    write_page(results, output)
    return tables_text(results)


def write_page(results: Results, output: Path) -> None:
    """Write the figures and the page of all runs so far."""
    figures: dict[str, Figure | None] = {"projection.png": projection_figure()}
    figures |= {f"experiment-{name}.png": experiment_figure(results, name) for name in FIGURES}
    figures["convergence.png"] = convergence_figure(results)
    drawn = {f"paper/{name}": figure for name, figure in figures.items() if figure is not None}
    (output / "paper").mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        with replacing(output / name) as path:
            figure.savefig(path, dpi=110)
    with replacing(output / "paper.md") as path:
        path.write_text(page(results, list(drawn)), encoding="utf-8")
