"""Weights of rows against censoring that depends on the inputs.

Rows that are likely to be censored by their inputs, and are not, stand for those that are. Time is
cut into intervals; a logistic regression on the inputs (numbers with their squares, categories,
which values are missing) tells how likely a row at risk is to be censored in each, by folds that
have not seen the row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.table import is_frame, read_table
from shaff.errors import InputError, InputTypeError

# Intervals of time, and rows that are censored in each. More intervals follow the times better,
# and their hazards are less sure (`benchmarks.survival dependent`).
MOST_INTERVALS, ROWS_PER_INTERVAL = 10, 20
# Fewer censored rows tell nothing about what censoring depends on.
FEWEST_CENSORED = 10
# Weights stop at this many times the median of their interval: single rows may not decide.
MOST_WEIGHT = 10.0
_FOLDS = 5
# Standardised numbers are cut here, where their squares would run away.
_FARTHEST = 3.0


class CensoringWeights(NamedTuple):
    """Inverse probabilities of not being censored.

    Parameters
    ----------
    weights : float array of shape (n_rows, n_intervals)
    edges : float array of shape (n_intervals - 1,)
        Times at which all but the last interval end.
    """

    weights: FloatArray
    edges: FloatArray


def censoring_weights(
    time: FloatArray, event: BoolArray, horizon: float, X: Any
) -> CensoringWeights:
    """Return weights of the rows in each interval of time, from their inputs X.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.outcomes.censoring import censoring_weights
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal(1000)
    >>> time, leaves = rng.exponential(size=1000), rng.exponential(np.exp(-x))
    >>> found = censoring_weights(np.minimum(time, leaves), time <= leaves, 1.0, x[:, None])
    >>> bool(found.weights[x > 1, -1].mean() > 2 * found.weights[x < -1, -1].mean())
    True
    """
    inputs = _inputs(X, len(time))
    is_censored = ~event & (time < horizon)
    n_censored = int(is_censored.sum())
    if n_censored < FEWEST_CENSORED:
        return CensoringWeights(np.ones((len(time), 1)), np.zeros(0))
    n_intervals = int(np.clip(n_censored // ROWS_PER_INTERVAL, 1, MOST_INTERVALS))
    inner = np.linspace(0, 1, n_intervals + 1)[1:-1]
    edges = np.unique(np.quantile(time[is_censored], inner))
    last = np.searchsorted(edges, np.minimum(time, horizon))
    hazards = _hazards(inputs, last, is_censored, event & (time <= horizon), len(edges) + 1)
    # In the middle of each interval.
    logs = np.log1p(-hazards)
    inverse = np.exp(-(np.cumsum(logs, axis=1) - logs / 2))
    return CensoringWeights(np.minimum(inverse, MOST_WEIGHT * np.median(inverse, axis=0)), edges)


def _inputs(X: Any, n_rows: int) -> FloatArray:
    """The inputs as columns of a regression."""
    table = read_table(X if is_frame(X) else _matrix(X))
    if len(table.X) != n_rows:
        raise InputError(f"censoring has {len(table.X)} rows, time has {n_rows}.")
    parts = [
        _indicators(column) if is_category else _number(column)
        for column, is_category in zip(table.X.T, table.categorical, strict=True)
    ]
    if not any(part.shape[1] for part in parts):
        raise InputError('No column of censoring varies: use censoring="independent".')
    return np.hstack([part for part in parts if part.shape[1]])


def _matrix(X: Any) -> FloatArray:
    """A table without names, which holds numbers."""
    try:
        matrix = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.ndim != 2:
        raise InputTypeError(
            "censoring must be a table of inputs: a frame, or a matrix of numbers."
        )
    return matrix


def _indicators(codes: FloatArray) -> FloatArray:
    levels = np.unique(np.nan_to_num(codes, nan=-1.0))[1:]
    return np.asarray(np.nan_to_num(codes, nan=-1.0)[:, None] == levels, dtype=np.float64)


def _number(column: FloatArray) -> FloatArray:
    """A standardised number, its square, and whether it is missing; nothing that is constant."""
    missing = np.isnan(column)
    spread = float(np.nanstd(column)) if not missing.all() else 0.0
    if spread == 0:
        varies = missing.any() and not missing.all()
        return np.asarray(missing[:, None][:, : int(varies)], dtype=np.float64)
    scaled = np.clip((column - np.nanmean(column)) / spread, -_FARTHEST, _FARTHEST)
    parts = np.stack([scaled, scaled**2, missing], axis=1)
    return np.asarray(np.nan_to_num(parts, nan=0.0)[:, : 2 + int(missing.any())])


def _hazards(
    inputs: FloatArray, last: IntpArray, censored: BoolArray, event: BoolArray, n_intervals: int
) -> FloatArray:
    """Probability of being censored in each interval if at risk, shape (n_rows, n_intervals)."""
    hazards = np.empty((len(last), n_intervals))
    for train, test in KFold(_FOLDS, shuffle=True, random_state=0).split(inputs):
        row, interval = _at_risk(train, last)
        is_last = interval == last[row]
        label = censored[row] & is_last
        # A row that leaves by its event is at risk for half of that interval.
        weight = np.where(event[row] & is_last, 0.5, 1.0)
        if label.all() or not label.any():
            hazards[test] = label.mean()
            continue
        model = LogisticRegression(max_iter=1000)
        model.fit(_periods(inputs, row, interval, n_intervals), label, weight)
        for k in range(n_intervals):
            rows = _periods(inputs, test, np.full(len(test), k), n_intervals)
            hazards[test, k] = model.predict_proba(rows)[:, 1]
    return np.clip(hazards, 0.0, 0.99)


def _at_risk(rows: IntpArray, last: IntpArray) -> tuple[IntpArray, IntpArray]:
    """Each row once for each interval that it is at risk in."""
    times = last[rows] + 1
    row = np.repeat(rows, times)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)


def _periods(
    inputs: FloatArray, row: IntpArray, interval: IntpArray, n_intervals: int
) -> FloatArray:
    return np.hstack([inputs[row], np.eye(n_intervals)[interval][:, 1:]])
