"""What moved the mean of an outcome between two tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from shaff._util.labels import label_array, two_labels
from shaff._util.missing import is_missing
from shaff._util.numbers import as_floats
from shaff._util.seeds import draw_seed
from shaff._util.typing import FloatArray, IntpArray, is_whole
from shaff._util.warn import warn
from shaff._util.words import listed
from shaff.data.named import column, column_names, columns, without_columns
from shaff.data.outcome import DerivedOutcome
from shaff.data.table import MIN_ROWS, collected, is_frame, library_of, take_rows
from shaff.errors import InputError
from shaff.estimator import ShapleyEffects
from shaff.fitting.progress import progress_bar
from shaff.results.change import Change

# Share of the largest outcome that sums of as many numbers as there are rows are off by, at most.
_ROUNDING = 1e-12


class _OutcomeTable(NamedTuple):
    """Inputs and outcome of one of the two."""

    X: Any
    y: FloatArray

    def take(self, rows: IntpArray) -> _OutcomeTable:
        return _OutcomeTable(take_rows(self.X, rows), self.y[rows])


def explain_change(
    before: Any,
    after: Any,
    y: Any,
    *,
    n_splits: int = 6,
    labels: tuple[str, str] = ("before", "after"),
    **settings: Any,
) -> Change:
    """Divide the change of an outcome's mean into what its inputs did, and how they act.

    The mean of the outcome may differ between two tables because the inputs are distributed
    differently, or because the same inputs lead to another outcome. The conditional means m_U of
    the outcome given the inputs in U are learned from the first table and averaged over the rows of
    the second; each input has a Shapley value in this game. The same is done with the tables
    exchanged, and the part of an input is the mean of the two. The rest of the change is the part
    of the mechanism.

    Parameters
    ----------
    before, after : array or frame of shape (n_rows, n_columns)
        The two tables, with the same columns. Their rows are taken as independent.
    y : column name, or pair of arrays
        The outcome: numbers, or two classes, of which the share of the second one in order of
        their names is explained.
    n_splits : int, default=6
        The errors come from this many random splits of both tables into halves, each of which is
        fitted separately: fewer are quicker and give wider intervals. At least 2.
    labels : (str, str)
        Names of the two tables.
    **settings
        Parameters of `ShapleyEffects`. The default learner is a good choice; ``n_jobs`` and
        ``verbose`` go to each fit.

    Returns
    -------
    Change

    Examples
    --------
    >>> import numpy as np
    >>> from shaff import explain_change
    >>> rng = np.random.default_rng(0)
    >>> then, now = rng.standard_normal((200, 2)), rng.standard_normal((200, 2)) + [1.0, 0.0]
    >>> outcomes = (then[:, 0], now[:, 0] + 0.5)  # the first input has moved, and there is a shift
    >>> found = explain_change(then, now, outcomes, estimator="smooth", n_splits=2, random_state=0)
    >>> bool(abs(found.parts[0] - 1) < 0.2), bool(abs(found.mechanism - 0.5) < 0.1)
    (True, True)
    """
    if not is_whole(n_splits) or n_splits < 2:
        raise InputError(f"n_splits={n_splits!r}: give a whole number of at least 2.")
    said = two_labels(labels)
    tables = _read_tables(collected(before), collected(after), y)
    seed = settings.get("random_state")
    whole = int(seed) if isinstance(seed, int | np.integer) else draw_seed(seed)
    verbose = settings.pop("verbose", 0)
    settings["random_state"] = whole
    with _each_once():
        names, parts, notes = _divide(*tables, settings)
    halves = []
    with progress_bar(verbose, "Explaining") as progress, _quiet():
        for one, other in _splits(tables, n_splits, whole):
            halves.append(0.5 * (_divide(*other, settings)[1] - _divide(*one, settings)[1]))
            progress.update(len(halves), n_splits)
    return Change(
        names=names,
        parts=parts[:-1],
        mechanism=float(parts[-1]),
        means=np.array([table.y.mean() for table in tables]),
        # Two halves differ by twice the error of the whole.
        covariance=np.mean([np.outer(half, half) for half in halves], axis=0),
        n_splits=int(n_splits),
        n_rows=(len(tables[0].y), len(tables[1].y)),
        labels=said,
        target=y if isinstance(y, str) else None,
        notes=notes,
        library=library_of(before) if is_frame(before) else None,
    )


def _divide(
    before: _OutcomeTable, after: _OutcomeTable, settings: dict[str, Any]
) -> tuple[tuple[str, ...], FloatArray, tuple[str, ...]]:
    """Names of the inputs, their parts with that of the mechanism last, and notes."""
    moved, notes = [], []
    for table, other in ((before, after), (after, before)):
        local = ShapleyEffects(**settings).fit(*table).explain(other.X)
        moved.append(local.values.mean(axis=0))
        notes += [note for note in local.notes if note not in notes]
    parts = _without_rounding((moved[0] - moved[1]) / 2, before.y)
    rest = after.y.mean() - before.y.mean() - parts.sum()
    return local.names, np.append(parts, rest), tuple(notes)


def _without_rounding(parts: FloatArray, y: FloatArray) -> FloatArray:
    """Parts with 0 in the place of rounding errors: a column that is constant moves nothing."""
    return np.where(np.abs(parts) < _ROUNDING * np.abs(y).max(), 0.0, parts)


@contextmanager
def _each_once() -> Iterator[None]:
    """Give each warning of several fits once."""
    with warnings.catch_warnings(record=True) as caught:
        yield
    for heard in {str(one.message): one.message for one in caught}.values():
        warn(heard)


@contextmanager
def _quiet() -> Iterator[None]:
    """Give no warnings of halves: those of the whole tables have been given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _splits(
    tables: tuple[_OutcomeTable, _OutcomeTable], n_splits: int, seed: int
) -> Iterator[tuple[tuple[_OutcomeTable, _OutcomeTable], tuple[_OutcomeTable, _OutcomeTable]]]:
    """Yield both tables halved at random."""
    rng = np.random.default_rng(seed)
    for _ in range(n_splits):
        orders = [rng.permutation(len(table.y)) for table in tables]
        cuts = [(order[: len(order) // 2], order[len(order) // 2 :]) for order in orders]
        yield tuple(  # type: ignore[misc]
            tuple(table.take(np.sort(cut[k])) for table, cut in zip(tables, cuts, strict=True))
            for k in (0, 1)
        )


def _read_tables(before: Any, after: Any, y: Any) -> tuple[_OutcomeTable, _OutcomeTable]:
    _check_columns(before, after)
    if is_frame(before):  # by name, whatever the order of the columns
        after = columns(after, column_names(before))
    if isinstance(y, str):
        outcomes = [column(X, y, "y") for X in (before, after)]
        before, after = (without_columns(X, {y}) for X in (before, after))
    elif isinstance(y, list | tuple) and len(y) == 2:
        outcomes = [_unweighted(outcome) for outcome in y]
    else:
        raise InputError("y must be the name of a column, or a pair of arrays.")
    numbers = _numbers([_plain(outcome) for outcome in outcomes])
    tables = tuple(_OutcomeTable(X, n) for X, n in zip((before, after), numbers, strict=True))
    for table, name in zip(tables, ("before", "after"), strict=True):
        _check_rows(table, name)
    return tables  # type: ignore[return-value]


def _unweighted(outcome: Any) -> Any:
    if isinstance(outcome, DerivedOutcome) and outcome.weights is not None:
        raise InputError(
            "y has weights, and explain_change counts all rows alike: pass y.values for the change "
            "of the plain mean."
        )
    return outcome


def _check_columns(before: Any, after: Any) -> None:
    if is_frame(before) != is_frame(after):
        raise InputError("before and after must both be frames, or both arrays.")
    if not is_frame(before):
        shapes = [np.shape(X)[1:] for X in (before, after)]
        if shapes[0] != shapes[1]:
            raise InputError(f"before and after have different columns: shapes {shapes}.")
        return
    one, other = (set(column_names(X)) for X in (before, after))
    if one != other:
        raise InputError(f"Only one of the two tables has {listed(sorted(one ^ other))}.")


def _check_rows(table: _OutcomeTable, name: str) -> None:
    n_rows = table.X.shape[0] if hasattr(table.X, "shape") else len(table.X)
    if n_rows != len(table.y):
        raise InputError(f"{name} has {n_rows} rows, but {len(table.y)} outcomes.")
    if n_rows < 2 * MIN_ROWS:
        raise InputError(f"{name} has {n_rows} rows; its halves need at least {MIN_ROWS} each.")


def _plain(outcome: Any) -> Any:
    return label_array(collected(outcome))


def _numbers(outcomes: list[Any]) -> list[FloatArray]:
    """The outcomes as numbers; of two classes whether it is the second."""
    if all(np.issubdtype(o.dtype, np.number) or o.dtype == bool for o in outcomes):
        numbers = [as_floats(o, "y") for o in outcomes]
        if not all(n.ndim == 1 and np.isfinite(n).all() for n in numbers):
            raise InputError("y must hold one finite number per row.")
        return numbers
    if any(is_missing(label) for o in outcomes for label in o.tolist()):
        raise InputError("y has missing labels: drop those rows.")
    classes = sorted({str(label) for o in outcomes for label in o.tolist()})
    if len(classes) != 2:
        raise InputError(f"y must hold numbers or two classes, not {len(classes)} classes.")
    return [np.array([float(str(c) == classes[1]) for c in o.tolist()]) for o in outcomes]
