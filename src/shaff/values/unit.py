"""Values in another unit: shares of a variance that is not that of the numbers explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray
from shaff.data.outcome import VarianceUnit
from shaff.data.problem import Problem
from shaff.protocols import Game, ValueFunction, Values
from shaff.subsets import Subsets

_SHARES = ("v", "replicates", "plain", "runs")


def in_units(game: Game, problem: Problem) -> Game:
    """Return a game whose values are shares of the variance that the outcome names, if it does."""
    unit = problem.variance_unit
    if unit is None:
        return game
    known = None if game.evaluated is None else in_unit(game.evaluated, unit)
    curve = game.learning_curve
    return replace(
        game,
        values=ValuesInUnit(game.values, unit),
        evaluated=known,
        learning_curve=None if curve is None else partial(_curve_in_unit, curve, unit),
    )


def in_unit(values: Values, unit: VarianceUnit) -> Values:
    """Return values as shares of another variance.

    The ratio of the variances is estimated from the same rows: its influences are part of those of
    the values.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.outcome import VarianceUnit
    >>> from shaff.protocols import Values
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.unit import in_unit
    >>> y = np.array([0.0, 1.0, 0.0, 3.0])
    >>> half = VarianceUnit.of(y, y**2 / 2 + 1, np.ones(4))
    >>> in_unit(Values(Subsets.full(2), np.array([0.5])), half).v.round(3).tolist()
    [0.6]
    """
    arrays = {name: getattr(values, name) for name in _SHARES}
    scaled = {name: a * unit.ratio for name, a in arrays.items() if a is not None}
    psi = values.influences
    if psi is not None:
        own = np.outer(values.v, unit.log_ratio_influence)
        scaled["influences"] = (unit.ratio * (psi + own)).astype(np.float32)
    return replace(values, **scaled)


class ValuesInUnit:
    """A value function whose values are shares of another variance; see `in_unit`."""

    def __init__(self, values: ValueFunction, unit: VarianceUnit) -> None:
        self._values, self._unit = values, unit
        self.n_players = values.n_players

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset."""
        return in_unit(self._values.values(subsets, influences=influences), self._unit)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means, shape (n_subsets, n_rows, n_outputs)."""
        return self._values.predict(subsets, rows)

    def recall(self, values: Values) -> None:
        """Hand on values from elsewhere, for value functions that have a memory."""
        recall = getattr(self._values, "recall", None)
        if recall is not None:
            recall(values)


def _curve_in_unit(
    ask: Callable[[], tuple[Values, Values] | None], unit: VarianceUnit
) -> tuple[Values, Values] | None:
    found = ask()
    return None if found is None else (in_unit(found[0], unit), in_unit(found[1], unit))
