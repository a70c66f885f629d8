"""Columns and outcomes in units that the trees of scikit-learn can hold.

These trees compare columns in single precision, take numbers that differ by less than 1e-7 for
equal, and outcomes whose variance is below 1e-16 for constant. What they cannot tell apart is given
to them in other units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shaff._util.typing import BoolArray, FloatArray

# Sums of so many bits and a million rows are exact: the same rows have the same sum in any order.
GRID = 2.0**30
# Ranges of columns and outcomes that are left as they are, and how far from 0 they may lie, in
# ranges: inside of these the trees lose nothing that could be told.
COLUMN_RANGE, COLUMN_OFFSET = (2.0**-4, 2.0**100), 2.0**7
OUTCOME_RANGE, OUTCOME_OFFSET = (2.0**-10, 2.0**100), 2.0**10


class ColumnUnits(Protocol):
    """How the trees of a forest see columns."""

    def encode(self, X: FloatArray) -> FloatArray:
        """Return rows of the table as the trees see them."""


@dataclass(frozen=True, eq=False)
class ColumnRanks:
    """Columns as places among the numbers that they hold: no unit is left.

    Parameters
    ----------
    levels : tuple of float arrays or None, one a column
        Sorted numbers of a column; None for a column of categories, which stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.trees.units import ColumnRanks
    >>> ranks = ColumnRanks.of(np.array([[1.0], [3.0], [1e30]]), np.array([False]))
    >>> ranks.encode(np.array([[1.0], [2.0], [1e31], [np.nan]])).ravel().tolist()
    [0.0, 0.5, 2.0, nan]
    """

    levels: tuple[FloatArray | None, ...]

    @classmethod
    def of(cls, X: FloatArray, categorical: BoolArray) -> ColumnRanks:
        """Find the numbers of each column."""
        columns = zip(X.T, categorical, strict=True)
        return cls(tuple(None if c else np.unique(x[~np.isnan(x)]) for x, c in columns))

    def encode(self, X: FloatArray) -> FloatArray:
        """Return places; new numbers stand between those of their neighbours."""
        out = X.copy()
        for column, levels in enumerate(self.levels):
            if levels is not None and len(levels):
                out[:, column] = _places(levels, X[:, column])
        return out


def _places(levels: FloatArray, x: FloatArray) -> FloatArray:
    inside = np.clip(x, levels[0], levels[-1])
    above = np.minimum(np.searchsorted(levels, inside), len(levels) - 1)
    low, high = levels[np.maximum(above - 1, 0)], levels[above]
    # Halves: the difference of large numbers may overflow.
    width = np.where(high > low, high / 2 - low / 2, 1.0)
    return np.asarray(above - (high / 2 - inside / 2) / width)


@dataclass(frozen=True, eq=False)
class ColumnShifts:
    """Columns moved to 0 and stretched by a power of two, where they need it.

    Parameters
    ----------
    origin, stretch : float arrays of shape (n_columns,)
        0 and 1 for a column that stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.trees.units import ColumnShifts
    >>> X = np.array([[0.0, 1e9], [4.0, 1e9 + 4]])
    >>> ColumnShifts.of(X, np.zeros(2, dtype=bool)).encode(X).tolist()
    [[0.0, 0.0], [4.0, 4.0]]
    """

    origin: FloatArray
    stretch: FloatArray

    @classmethod
    def of(cls, X: FloatArray, categorical: BoolArray) -> ColumnShifts:
        """Find the columns that need it."""
        shifts = np.array([_shift(*_ends(x), COLUMN_RANGE, COLUMN_OFFSET) for x in X.T])
        shifts[categorical] = 0.0, 1.0
        return cls(shifts[:, 0], shifts[:, 1])

    def encode(self, X: FloatArray) -> FloatArray:
        """Return the columns moved and stretched."""
        return np.asarray((X - self.origin) * self.stretch)


def _ends(x: FloatArray) -> tuple[float, float]:
    known = x[~np.isnan(x)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def _shift(
    low: float, high: float, usual: tuple[float, float], offset: float
) -> tuple[float, float]:
    """Return where numbers between these ends should start, and what to multiply them by."""
    width = high - low
    origin = low if max(abs(low), abs(high)) > offset * width else 0.0
    ordinary = width == 0 or usual[0] <= width <= usual[1]
    return origin, 1.0 if ordinary else float(np.ldexp(1.0, -np.frexp(width)[1]))


def on_grid(y: FloatArray) -> FloatArray:
    """Return outcomes as whole numbers, around their means: no unit is left, and sums are exact, so
    that splits which part the rows alike tie, and rounding does not choose between them.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.trees.units import on_grid
    >>> (on_grid(np.array([[1e-9], [3e-9]])) / 2**30).ravel().tolist()
    [-1.0, 1.0]
    """
    centred = y - y.mean(axis=0)
    largest = np.abs(centred).max(initial=0.0)
    return np.asarray(np.rint(centred / largest * GRID) if largest > 0 else centred)


def in_range(y: FloatArray, model: Any) -> FloatArray:
    """Return outcomes moved to 0 and stretched by a power of two, where they need it and the model
    has no say in their units.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.trees.units import in_range
    >>> in_range(np.array([[1.0], [3.0]]) * 2.0**-40, RandomForestRegressor()).ravel().tolist()
    [0.25, 0.75]
    """
    if _has_units(model):
        return y
    shifts = [_shift(*_ends(output), OUTCOME_RANGE, OUTCOME_OFFSET) for output in y.T]
    # One unit for all outputs: the larger one counts for more.
    widest = int(np.argmax([high - low for low, high in map(_ends, y.T)]))
    return np.asarray((y - [origin for origin, _ in shifts]) * shifts[widest][1])


def _has_units(model: Any) -> bool:
    """Whether a forest asks for outcomes above 0, or for a decrease in their own units."""
    settings = {name.split("__")[-1]: value for name, value in model.get_params().items()}
    return settings.get("criterion") == "poisson" or bool(settings.get("min_impurity_decrease"))
