"""Results of many fits in one table: several outcomes, segments of the rows, or models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np

from shaff._util.frames import Backend
from shaff._util.labels import label_array, spelt
from shaff._util.missing import is_missing
from shaff._util.numbers import EXACT
from shaff._util.seeds import draw_seed
from shaff._util.typing import IntpArray
from shaff._util.words import counted
from shaff._util.work import current_engine, engaged, stream_outcomes
from shaff.data.named import are_names, column, without_columns
from shaff.data.table import collected, is_frame, library_of, take_rows
from shaff.errors import InputError, UserError
from shaff.estimator import ShapleyEffects
from shaff.fitting.progress import progress_bar
from shaff.results.effects import EffectsResult
from shaff.results.many import Key, ManyEffects

MISSING = "missing"


@dataclass(frozen=True, eq=False)
class _Table:
    """Everything that the fits share, sent to each worker once.

    Parameters
    ----------
    X : array or frame
        The inputs.
    targets : dict of arrays
        Each outcome by its name.
    segments : dict of int arrays or None
        Places of the rows of each segment, by its name.
    models : dict of estimators or None
        Each learner or model by its name.
    rows : dict
        Weights and groups of rows, as far as there are any.
    settings : dict
        Other parameters of `ShapleyEffects`.
    """

    X: Any
    targets: Mapping[str, Any]
    segments: Mapping[str, IntpArray] | None
    models: Mapping[str, Any] | None
    rows: Mapping[str, Any]
    settings: Mapping[str, Any]

    def explain(self, target: str, segment: str | None, model: str | None) -> EffectsResult:
        """Return the result of one fit, as it would be by itself."""
        settings = dict(self.settings)
        if model is not None and self.models is not None:
            settings["estimator"] = self.models[model]
        data = {"X": self.X, "y": self.targets[target], **self.rows}
        if segment is not None and self.segments is not None:
            data = {k: take_rows(v, self.segments[segment]) for k, v in data.items()}
        return ShapleyEffects(**settings).fit(**data).result_


def explain_many(
    X: Any,
    y: Any,
    *,
    by: Any = None,
    models: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    row_groups: Any = None,
    time: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **settings: Any,
) -> ManyEffects:
    """Estimate Shapley effects for many outcomes, segments or models of one table.

    Each fit is the same as that of a separate `ShapleyEffects`. If a fit fails, its reason is kept,
    and the others continue.

    Parameters
    ----------
    X : array or frame of shape (n_rows, n_columns)
        The table.
    y : array, column name, list of column names, mapping or frame
        One outcome, or several: names of columns of X, a mapping of names to arrays, or a frame.
        Columns of X that are outcomes are not inputs.
    by : column name, array of shape (n_rows,) or None, default=None
        Label of the segment of each row; each segment is fitted separately. A column of X that is
        named here is not an input. Rows whose label is missing form the segment "missing".
    models : dict or None, default=None
        Names of models to values of the parameter ``estimator`` of `ShapleyEffects`. All of them
        explain the outcome; ``explains="predictions"`` explains what each of them predicts.
    sample_weight : array of shape (n_rows,) or None, default=None
        Weight of each row.
    row_groups : array of shape (n_rows,) or None, default=None
        Labels of rows that belong together and are never on both sides of a split.
    time : array of shape (n_rows,) or None, default=None
        When each row was observed; see `ShapleyEffects.fit`.
    n_jobs : int or None, default=None
        Number of fits at a time, in processes of their own or on the backend that
        ``joblib.parallel_config`` selects; with ``backend="threading"`` the number of threads of
        one fit at a time. The results are the same. None means one.
    verbose : int, default=0
        1 shows a progress bar.
    **settings
        Other parameters of `ShapleyEffects`.

    Returns
    -------
    ManyEffects
        The result of each fit by its key, and the reasons of fits that failed.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff import explain_many
    >>> frame = pl.DataFrame({"a": [1.0, 2, 3, 4, 5, 6, 7, 8] * 8, "town": ["Rome", "Oslo"] * 32})
    >>> frame = frame.with_columns(b=pl.col("a") ** 2)
    >>> many = explain_many(frame, "b", by="town", estimator="smooth", random_state=0)
    >>> many["Oslo"].names
    ('a',)
    """
    X = collected(X)
    settings["random_state"] = _whole_seed(settings.get("random_state"))
    targets, segments, used = _read_targets(X, y), _read_segments(X, by), _names_used(y, by)
    by_row = {"sample_weight": sample_weight, "row_groups": row_groups, "time": time}
    rows = {name: array for name, array in by_row.items() if array is not None}
    table = _Table(without_columns(X, used), targets, segments, models, rows, settings)
    jobs = list(product(targets, segments or [None], models or [None]))
    dimensions = _dimensions(len(targets), segments, models)
    with engaged(n_jobs, prefer="processes"), progress_bar(verbose, "Explaining") as progress:
        found: dict[int, EffectsResult | str] = {}
        for number, outcome in _outcomes(table, jobs, n_jobs):
            found[number] = outcome
            progress.update(len(found), len(jobs))
    return _gathered(jobs, found, dimensions, library_of(X))


def _outcomes(
    table: _Table, jobs: list[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[tuple[int, EffectsResult | str]]:
    """Yield the number of each job, and its result or the reason why there is none."""
    engine = current_engine()
    if engine is None:
        here = replace(table, settings={**table.settings, "n_jobs": n_jobs})
        yield from ((number, _explain_one(here, *job)) for number, job in enumerate(jobs))
        return
    for number, outcome in stream_outcomes(engine, _explain_one, table, jobs):
        # A fit that no worker survives is a failure like any other.
        yield number, outcome.value if outcome.error is None else str(outcome.error)


def _explain_one(table: _Table, *job: str | None) -> EffectsResult | str:
    try:
        return table.explain(*job)  # type: ignore[arg-type]
    except UserError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _gathered(
    jobs: list[tuple[Any, ...]],
    found: Mapping[int, EffectsResult | str],
    dimensions: tuple[str, ...],
    library: Backend | None,
) -> ManyEffects:
    """Gather the results in the order of the jobs, by the dimensions in use."""
    in_use = [k for k, name in enumerate(("target", "segment", "model")) if name in dimensions]
    results: dict[Key, EffectsResult] = {}
    failures: dict[Key, str] = {}
    for number, job in enumerate(jobs):
        parts = tuple(job[k] for k in in_use)
        key: Key = parts[0] if len(parts) == 1 else parts
        outcome = found[number]
        if isinstance(outcome, str):
            failures[key] = outcome
        else:
            results[key] = outcome
    return ManyEffects(dimensions, results, failures, library)


def _dimensions(n_targets: int, segments: Any, models: Any) -> tuple[str, ...]:
    named = {"target": n_targets > 1, "segment": segments is not None, "model": models is not None}
    in_use = tuple(name for name, used in named.items() if used)
    return in_use or ("target",)


def _whole_seed(random_state: Any) -> int:
    """Return one seed for all fits, so that segments do not differ by their seeds."""
    whole = isinstance(random_state, int | np.integer)
    return int(random_state) if whole else draw_seed(random_state)


def _read_targets(X: Any, y: Any) -> dict[str, Any]:
    y = collected(y)
    if isinstance(y, str):
        return {y: column(X, y, "y")}
    if isinstance(y, Mapping):
        targets = {str(name): array for name, array in y.items()}
    elif is_frame(y):
        frame = nw.from_native(y, eager_only=True)
        targets = {str(name): frame[name].to_native() for name in frame.columns}
    elif are_names(X, y):
        targets = {name: column(X, name, "y") for name in y}
    else:
        return {"y": y}
    if not targets:
        raise InputError("y holds no target.")
    return targets


def _read_segments(X: Any, by: Any) -> dict[str, IntpArray] | None:
    if by is None:
        return None
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = _labels_of(collected(column(X, by, "by") if isinstance(by, str) else by))
    if len(labels) != n_rows:
        raise InputError(f"by has {counted(len(labels), 'label')}, X has {counted(n_rows, 'row')}.")
    known = {label for label in labels if label is not None}
    order = [*sorted(known, key=_sort_key), *[None] * (len(known) < len(set(labels)))]
    rows: dict[Any, list[int]] = {label: [] for label in order}
    for row, label in enumerate(labels):
        rows[label].append(row)
    names = [MISSING if label is None else spelt(label) for label in order]
    if len(set(names)) < len(names):
        raise InputError("by has labels that are spelt the same: give them other names.")
    return {n: np.array(rows[k], dtype=np.intp) for n, k in zip(names, order, strict=True)}


def _labels_of(column: Any) -> list[Any]:
    """Return the labels as plain values, None where one is missing."""
    series = nw.from_native(column, series_only=True, pass_through=True)
    is_series = isinstance(series, nw.Series)
    values = series.to_list() if is_series else label_array(column).tolist()
    if any(isinstance(value, list) for value in values):
        raise InputError("by must be one label per row.")
    return _as_whole([None if is_missing(value) else value for value in values])


def _as_whole(labels: list[Any]) -> list[Any]:
    """Numbers that are all whole as integers: a segment 0 is called "0" although it comes from a
    column with gaps, which only floats have."""
    known = [label for label in labels if label is not None]
    if not all(isinstance(v, float) and v == v // 1 and abs(v) <= EXACT for v in known):
        return labels
    return [None if label is None else int(label) for label in labels]


def _sort_key(label: Any) -> tuple[str, Any]:
    """Sort numbers by size and other labels by name."""
    number = isinstance(label, int | float)
    return ("", label) if number else (type(label).__name__, str(label))


def _names_used(y: Any, by: Any) -> set[str]:
    """Return the columns of X that are not inputs."""
    names = [y] if isinstance(y, str) else list(y) if isinstance(y, list | tuple) else []
    return {name for name in [*names, by] if isinstance(name, str)}
