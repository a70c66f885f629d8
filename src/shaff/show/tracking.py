"""Results in other people's records of experiments."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shaff.show.plots import EffectsDisplay

if TYPE_CHECKING:
    from shaff.results.effects import EffectsResult

# More metrics than this would bury the others of a run.
MAX_METRICS = 50
_FORBIDDEN = re.compile(r"[^\w\-. /]")


def log_to_mlflow(result: EffectsResult, run_id: str | None = None) -> None:
    """Metrics and files of a result into a run of MLflow; None is the active run, or a new one."""
    try:
        import mlflow
    except ImportError as error:
        raise ImportError("log_to_mlflow needs MLflow: pip install mlflow") from error
    # All files are made before anything is sent: nothing is logged by halves.
    with tempfile.TemporaryDirectory() as folder:
        write_files(result, Path(folder))
        active = mlflow.active_run()
        run = active.info.run_id if run_id is None and active is not None else run_id
        run = run or mlflow.start_run().info.run_id
        client = mlflow.MlflowClient()
        for name, value in metrics(result).items():
            client.log_metric(run, name, value)
        client.log_artifacts(run, folder, artifact_path="shaff")


def write_files(result: EffectsResult, folder: Path) -> None:
    """``effects.json``, ``report.html`` and ``effects.png``."""
    result.to_json(folder / "effects.json")
    result.to_html(folder / "report.html")
    EffectsDisplay.from_result(result).save(folder / "effects.png")


def metrics(result: EffectsResult) -> dict[str, float]:
    """Explained variance and the largest effects, under names that MLflow takes.

    Examples
    --------
    >>> from shaff.results.effects import EffectsResult
    >>> from shaff.show.tracking import metrics
    >>> result = EffectsResult(
    ...     names=("age (years)",), effects=[0.4], raw_effects=[0.4], explained_variance=0.4,
    ...     n_rows=442, n_subsets=4, estimator="forest", design="exhaustive",
    ...     solver="least_squares")
    >>> metrics(result)
    {'shaff.explained_variance': 0.4, 'shaff.effect.age _years_': 0.4}
    """
    named: dict[str, Any] = {"explained_variance": result.explained_variance}
    if result.explained_variance_error is not None:
        named["explained_variance_error"] = result.explained_variance_error
    for j in result.order[:MAX_METRICS]:
        name = _FORBIDDEN.sub("_", result.names[j])[:200]
        while f"effect.{name}" in named:
            name += "_"
        named[f"effect.{name}"] = result.effects[j]
    return {f"shaff.{name}": float(v) for name, v in named.items() if np.isfinite(v)}
