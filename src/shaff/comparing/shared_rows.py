"""Which rows two fits share: as the user says, or by their entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import IntpArray
from shaff.comparing.side import RowInfluences, Side
from shaff.data.row_keys import Keys, repeats, row_keys
from shaff.errors import InputError, InputTypeError

# Rows that agree in two tables are the same rows if chance would make fewer than this share of
# them agree: coarse tables have equal rows of different people.
_BY_CHANCE = 0.05


@dataclass(frozen=True, eq=False)
class Shared:
    """The rows that two fits share.

    Parameters
    ----------
    first, second : int arrays of shape (n_shared,)
        Places of the shared rows in each of the two, as they were read.
    influences : pair of RowInfluences or None
        What each row did; None if the two are taken as independent.
    n_unpaired : int
        Number of rows that seem to be in both, though the errors are not paired.
    is_unsure : bool
        Whether this is because equal rows may be different ones.
    """

    first: IntpArray
    second: IntpArray
    influences: tuple[RowInfluences, RowInfluences] | None = None
    n_unpaired: int = 0
    is_unsure: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows that the errors are paired by."""
        return 0 if self.influences is None else len(self.first)


_NONE = np.zeros(0, dtype=np.intp)


def find_shared(
    sides: tuple[Side, Side], same_rows: bool | None, row_labels: tuple[Any, Any] | None
) -> Shared:
    """Return the rows that two fits share; see `shaff.compare` for the arguments."""
    if row_labels is not None:
        return _by_labels(sides, same_rows, row_labels)
    if same_rows is True:
        return _in_order(sides)
    if same_rows is False:
        return Shared(_NONE, _NONE)
    return _by_entries(sides)


def _in_order(sides: tuple[Side, Side]) -> Shared:
    """The same rows in the same order."""
    influences = _both_influences(sides, "same_rows=True")
    n, m = (len(one.units) for one in influences)
    if n != m or not np.array_equal(_places(sides[0]), _places(sides[1])):
        raise InputError(f"same_rows=True: the two results rest on different rows ({n} and {m}).")
    everyone = np.arange(len(influences[0].units))
    return Shared(everyone, everyone, influences)


def _by_labels(
    sides: tuple[Side, Side], same_rows: bool | None, row_labels: tuple[Any, Any]
) -> Shared:
    """The rows of equal labels."""
    if same_rows is not None:
        raise InputError("Give same_rows or row_labels, not both.")
    if not isinstance(row_labels, list | tuple) or len(row_labels) != 2:
        raise InputTypeError("row_labels must be a pair: the labels of the rows of a, and of b.")
    influences = _both_influences(sides, "row_labels")
    one, other = (_read_labels(*x) for x in zip(row_labels, sides, "ab", strict=True))
    _, first, second = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    if not len(first):
        raise InputError("row_labels: the two results have no row in common.")
    return Shared(first, second, influences)


def _by_entries(sides: tuple[Side, Side]) -> Shared:
    """The rows that agree in all columns that both have, if that cannot be chance."""
    if any(side.game is None for side in sides):
        return Shared(_NONE, _NONE, n_unpaired=_n_by_digests(sides))
    first, second = _agreeing(sides, with_outcome=False, in_order=True)
    sure = len(first) > 0
    if not sure:
        first, second = _agreeing(sides, with_outcome=True, in_order=False)
        sure = _n_by_chance(sides) < _BY_CHANCE * len(first)
    if not sure:
        return Shared(_NONE, _NONE, n_unpaired=len(first), is_unsure=True)
    found = [side.influences() for side in sides]
    if found[0] is None or found[1] is None:
        return Shared(_NONE, _NONE, n_unpaired=len(first))
    return Shared(first, second, (found[0], found[1]))


def _n_by_digests(sides: tuple[Side, Side]) -> int:
    """The number of rows if all columns that both have hold the same entries, else 0."""
    one, other = (side.result.column_digests or {} for side in sides)
    both = one.keys() & other.keys()
    return sides[0].result.n_rows if both and all(one[k] == other[k] for k in both) else 0


def _agreeing(
    sides: tuple[Side, Side], with_outcome: bool, in_order: bool
) -> tuple[IntpArray, IntpArray]:
    """Places of the rows that agree: all of them in order, or the n-th of each kind."""
    one, other = (_keys(side, sides, with_outcome) for side in sides)
    if in_order:
        whole = np.arange(len(one))
        return (whole, whole) if np.array_equal(one, other) else (_NONE, _NONE)
    unique = [np.rec.fromarrays([k, repeats(k)]) for k in (one, other)]
    _, first, second = np.intersect1d(unique[0], unique[1], assume_unique=True, return_indices=True)
    return first, second


def _n_by_chance(sides: tuple[Side, Side]) -> float:
    """How many rows of two tables would agree by chance, as often as rows of one table do."""
    keys = [_keys(side, sides, with_outcome=True) for side in sides]
    rates = [repeats(k).sum() / (len(k) * (len(k) - 1) / 2) for k in keys]
    return float(np.mean(rates)) * len(keys[0]) * len(keys[1])


def _keys(side: Side, sides: tuple[Side, Side], with_outcome: bool) -> Keys:
    """Keys of the rows of one of two fits, by the columns that both have."""
    tables = [one.game.problem.table for one in sides if one.game is not None]
    both = [name for name in tables[0].names if name in tables[1].names]
    assert side.game is not None
    problem = side.game.problem
    return row_keys(problem.table, both, problem.y if with_outcome else None)


def _both_influences(sides: tuple[Side, Side], option: str) -> tuple[RowInfluences, RowInfluences]:
    if any(side.game is None for side in sides):
        raise InputTypeError(f"{option} needs the fitted estimators, not their results.")
    first, second = (side.influences() for side in sides)
    if first is None or second is None:
        raise InputError(f"{option}: these values have no influences of single rows.")
    return first, second


def _places(side: Side) -> IntpArray:
    """Places of the rows in the user's table."""
    assert side.game is not None
    problem = side.game.problem
    return np.arange(len(problem.X)) if problem.places is None else problem.places


def _read_labels(given: Any, side: Side, name: str) -> Any:
    labels = np.asarray(given)
    assert side.game is not None
    n_given = side.game.problem.n_given or len(side.game.problem.X)
    if labels.shape != (n_given,):
        raise InputError(
            f"row_labels: {name} was fitted on {n_given} rows, but its labels have shape "
            f"{labels.shape}."
        )
    if len(np.unique(labels)) < n_given:
        raise InputError(f"row_labels: labels of {name} repeat, so they do not name single rows.")
    return labels[_places(side)]
