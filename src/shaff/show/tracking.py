"""Results in trackers of experiments."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from shaff.results.effects import EffectsResult
from shaff.show.plots import EffectsDisplay

# More metrics than this would bury the others of a run.
MAX_METRICS = 50
_FORBIDDEN = re.compile(r"[^\w\-. /]")


def log_to_mlflow(result: EffectsResult, run_id: str | None = None) -> None:
    """Log metrics and files of a result to an MLflow run; None is the active run, or a new one."""
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
    """Write ``effects.json``, ``report.html`` and ``effects.png``."""
    result.to_json(folder / "effects.json")
    result.to_html(folder / "report.html")
    EffectsDisplay.from_result(result).save(folder / "effects.png")


def metrics(result: EffectsResult) -> dict[str, float]:
    """Return explained variance and the largest effects, under names that MLflow accepts.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.tracking import metrics
    >>> metrics(example(names=("age (years)",), effects=[0.4]))
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
