"""Hints for people: what in the data or the result is likely not what they meant.

Each rule is a function from the question and its answer to sentences; `WARNINGS` and `REMARKS` have
them in the order of their weight. The rules are plain on purpose, with limits that leave healthy
tables alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray
from shaff._util.words import column_sentence, counted
from shaff.data.problem import Problem
from shaff.results.effects import EffectsResult

# One input alone explains this much: more than nature allows, as a rule.
LEAK = 0.99
# Effects divide what is explained: below this there is little to divide.
LITTLE = 0.1
# The standard error of the largest effect, as a share of it, from which on the order is open.
UNSURE = 0.25
# The largest 1 % of the rows make up this much of the variance of y: more than twice as much as in
# a normal law, and more than in an exponential one (0.22).
TAIL_ROWS, TAIL_SHARE = 0.01, 0.3
ENOUGH_ROWS = 100
# Units that are seen again and again: so many of them, each so often.
MIN_UNITS, ROWS_A_UNIT = 10, 2
# Least squares with fewer rows a column is no match for learners that shrink.
ROWS_A_COLUMN = 10
_TINY = np.finfo(float).tiny
_UNIT_NAME = re.compile(
    r"(?i)(?:^|[_\s.-])(?:id|nr|no|key|code|subject|patient|person|participant|customer|client|user|"
    r"firm|company|household|family|school|pupil|student|player|driver|store|shop|site|station|plot|"
    r"animal|country|state|county|region|batch|lot)s?(?:$|[_\s.-])|(?<=[a-z])I[Dd]$"
)


@one_blas_thread
def with_hints(problem: Problem, result: EffectsResult) -> EffectsResult:
    """A result whose notes begin with what a person should look at, and end with what is good to
    know.

    Parameters
    ----------
    problem : Problem
        The data as they were read.
    result : EffectsResult

    Examples
    --------
    >>> import numpy as np
    >>> from shaff import ShapleyEffects
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> print(ShapleyEffects("smooth", random_state=0).fit(X, X[:, 0] + 1).result_.notes[0])
    'x0' alone explains 100.0 % of y: is it y in other words, or known only after it? Leave it out.
    """
    first, last = (
        [sentence for hint in part for sentence in hint(problem, result)]
        for part in (WARNINGS, REMARKS)
    )
    return replace(result, notes=(*first, *result.notes, *last))


def _leak(problem: Problem, result: EffectsResult) -> Iterator[str]:
    alone = result.first_order
    if alone is None or not np.nanmax(alone, initial=0.0) > LEAK:
        return
    y = result.target or "y"
    name = result.names[int(np.nanargmax(alone))]
    yield (
        f"{name!r} alone explains {100 * np.nanmax(alone):.1f} % of {y}: is it {y} in other words, "
        "or known only after it? Leave it out."
    )


def _repeated_units(problem: Problem, result: EffectsResult) -> Iterator[str]:
    if problem.row_groups is not None:
        return
    units = (j for j in range(len(problem.table.names)) if _is_unit(problem, j))
    for j in itertools.islice(units, 1):
        name = problem.table.names[j]
        yield (
            f"Column {name!r} repeats, as if each value were one unit seen several times (a "
            "person, a firm, a day). If it is, rows of one unit know each other's outcome and too "
            f"much seems explained: make it the row groups (row_groups, --row-groups {name}), not "
            "an input."
        )


def _is_unit(problem: Problem, j: int) -> bool:
    column = problem.X[:, j]
    is_whole = problem.categorical[j] or np.array_equal(column, np.round(column))
    if not is_whole or np.isnan(column).any():
        return False
    n_units = len(np.unique(column))
    if n_units < MIN_UNITS or len(column) < ROWS_A_UNIT * n_units:
        return False
    if _UNIT_NAME.search(problem.table.names[j]):
        return True
    # Rows of one unit stand together, and something else about it never changes: its sex, its town.
    in_blocks = 1 + np.count_nonzero(np.diff(column)) == n_units
    others = (problem.X[:, k] for k in range(problem.X.shape[1]) if k != j)
    return in_blocks and any(_is_fixed(other, column, n_units) for other in others)


def _is_fixed(column: FloatArray, unit: FloatArray, n_units: int) -> bool:
    """Whether a column that varies has one value a unit."""
    if np.isnan(column).any() or np.ptp(column) == 0:
        return False
    return len(np.unique(np.stack([unit, column]), axis=1).T) == n_units


def _row_numbers(problem: Problem, result: EffectsResult) -> Iterator[str]:
    names = [name for name, column, category in _columns(problem)
             if not category and _counts_rows(column)]  # fmt: skip
    if names:
        yield column_sentence(
            names, "has the numbers 1, 2, 3 ... of the rows: leave it out, unless order is meant."
        )


def _counts_rows(column: FloatArray) -> bool:
    if np.isnan(column).any() or len(column) < MIN_UNITS:
        return False
    return np.array_equal(np.sort(column), np.arange(len(column)) + column.min())


def _constants(problem: Problem, result: EffectsResult) -> Iterator[str]:
    names = [name for name, column, _ in _columns(problem) if _is_constant(column)]
    if names:
        yield column_sentence(names, "has one value only, which explains nothing: effect 0.")


def _is_constant(column: FloatArray) -> bool:
    # A value beside gaps tells rows apart.
    return not np.isnan(column).any() and np.ptp(column) == 0


def _heavy_tail(problem: Problem, result: EffectsResult) -> Iterator[str]:
    y = problem.y[:, 0]
    if problem.y.shape[1] > 1 or problem.target.classes or len(y) < ENOUGH_ROWS:
        return
    squares = np.sort((y - y.mean()) ** 2)
    n_tail = max(1, round(TAIL_ROWS * len(y)))
    share = squares[-n_tail:].sum() / max(squares.sum(), _TINY)
    if share < TAIL_SHARE:
        return
    advice = "check them"
    if y.min() >= 0:
        advice = "try its logarithm" if y.min() > 0 else "try the logarithm of 1 + it"
    yield (
        f"{counted(n_tail, 'row')} of {len(y)} {'makes' if n_tail == 1 else 'make'} up "
        f"{100 * share:.0f} % of the variance of {result.target or 'y'}, and so of the effects: "
        f"{advice}."
    )


def _little(problem: Problem, result: EffectsResult) -> Iterator[str]:
    if 0 < result.explained_variance < LITTLE:
        yield (
            f"Little is explained ({100 * result.explained_variance:.1f} %): most of what drives "
            f"{result.target or 'y'} is not in these columns, or is chance."
        )


def _unsure(problem: Problem, result: EffectsResult) -> Iterator[str]:
    error = result.standard_errors
    if error is None or result.explained_variance <= 0 or len(result.names) < 2:
        return
    top = int(result.effects.argmax())
    if error[top] > UNSURE * result.effects[top]:
        yield "The intervals are wide beside the effects: the order of the inputs is not settled."


def _linear_is_enough(problem: Problem, result: EffectsResult) -> Iterator[str]:
    error, plain = result.explained_variance_error, result.plain_explained_variance
    explained = result.explained_variance if plain is None else plain
    if error is None or explained < LITTLE or not _is_plain(problem):
        return
    linear = _linear_explained(problem.X, problem.y[:, 0])
    if linear >= explained - error:
        yield (
            f"A linear model is enough here: it explains {linear:.3f} out of sample, no less than "
            "learners that bend and interact, within their error."
        )


def _is_plain(problem: Problem) -> bool:
    """Whether least squares can be asked: numbers without gaps, one outcome, rows alike."""
    rows, columns = problem.X.shape
    alike = problem.sample_weight is None and problem.row_groups is None
    numbers = not problem.categorical.any() and not np.isnan(problem.X).any()
    return alike and numbers and problem.y.shape[1] == 1 and rows > ROWS_A_COLUMN * columns


def _linear_explained(X: FloatArray, y: FloatArray) -> float:
    """Explained variance of least squares, each row predicted without itself."""
    scaled = X - X.mean(axis=0)
    scaled /= scaled.std(axis=0) + _TINY
    # Rows are many beside the columns, where this is a quarter of the work of an SVD.
    sizes, axes = np.linalg.eigh(scaled.T @ scaled)
    known = sizes > 1e-12 * sizes.max()
    basis = scaled @ (axes[:, known] / np.sqrt(sizes[known]))
    basis = np.column_stack([np.full(len(y), len(y) ** -0.5), basis])
    own = (basis**2).sum(axis=1)
    errors = (y - basis @ (basis.T @ y)) / np.maximum(1 - own, _TINY)
    return float(1 - (errors**2).sum() / ((y - y.mean()) ** 2).sum())


def _columns(problem: Problem) -> Iterator[tuple[str, FloatArray, bool]]:
    table = problem.table
    for j, name in enumerate(table.names):
        yield name, table.X[:, j], bool(table.categorical[j])


_Hint = Callable[[Problem, EffectsResult], Iterator[str]]
WARNINGS: tuple[_Hint, ...] = (_leak, _repeated_units, _row_numbers, _heavy_tail, _little, _unsure)
REMARKS: tuple[_Hint, ...] = (_linear_is_enough, _constants)
