"""Two results side by side: which effects differ, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from shaff._util.frames import Backend, make_frame
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted
from shaff.errors import InputError
from shaff.results.intervals import ConfidenceInterval
from shaff.show.text import aligned, number_text, p_value_text
from shaff.uncertainty.inference import (
    adjust_p_values,
    spanned_p_values,
)

if TYPE_CHECKING:
    from shaff.show.plots.comparison import ComparisonDisplay


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Differences of the effects of two results, player by player. See `compare`.

    Parameters
    ----------
    names : tuple of str
        Players of both results.
    effects : float array of shape (2, n_players)
        As reported, of the first and of the second result.
    estimates : float array of shape (n_ways, n_players)
        Differences of the raw effects, second less first: by corrected values, and where there
        are any by plain ones.
    standard_errors : float array of shape (n_players,)
        Of the differences.
    labels : (str, str)
        What the two are called.
    notes : tuple of str
    library : {"pandas", "polars", "pyarrow"} or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.results.comparison import Comparison
    >>> found = Comparison(
    ...     ("age",), np.array([[0.1], [0.4]]), np.array([[0.3]]), np.array([0.1]))
    >>> found.p_values.round(4).tolist()
    [0.0027]
    """

    names: tuple[str, ...]
    effects: FloatArray
    estimates: FloatArray
    standard_errors: FloatArray
    labels: tuple[str, str] = ("a", "b")
    notes: tuple[str, ...] = ()
    library: Backend | None = None

    @property
    def differences(self) -> FloatArray:
        """Second less first, shape (n_players,)."""
        return np.asarray(self.estimates[0])

    @property
    def p_values(self) -> FloatArray:
        """Of "the two effects are equal", two-sided, not adjusted for their number."""
        return spanned_p_values(self.estimates, self.standard_errors)

    @property
    def order(self) -> IntpArray:
        """The players, the largest difference first, whatever its sign."""
        return np.argsort(-np.abs(self.differences), kind="stable")

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Of the differences; as those of effects they span plain and corrected values."""
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.")
        half = float(ndtri((1 + level) / 2)) * self.standard_errors
        return ConfidenceInterval(
            self.estimates.min(axis=0) - half, self.estimates.max(axis=0) + half
        )

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """One row a player, the largest difference first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the frame that was explained, else pandas.
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``player``, the two effects, ``difference``, ``low``, ``high``,
            ``standard_error``, ``p_value`` and ``p_adjusted`` (Holm's).
        """
        low, high = self.confidence_interval(level)
        columns = {
            **{f"effect_{k}": e for k, e in zip(self.labels, self.effects, strict=True)},
            "difference": self.differences,
            "low": low,
            "high": high,
            "standard_error": self.standard_errors,
            "p_value": self.p_values,
            "p_adjusted": adjust_p_values(self.p_values),
        }
        players = {"player": [self.names[j] for j in self.order]}
        numbers = {name: array[self.order] for name, array in columns.items()}
        return make_frame({**players, **numbers}, backend or self.library or "pandas")

    def summary(self, max_players: int = 20) -> str:
        """The largest differences as a text table."""
        low, high = self.confidence_interval()
        adjusted = adjust_p_values(self.p_values)
        header = ["player", *self.labels, "difference", "error", "p (Holm)", "95 % interval"]
        rows = [
            [
                self.names[j],
                *(number_text(e[j]) for e in self.effects),
                number_text(self.differences[j]),
                number_text(self.standard_errors[j]),
                p_value_text(adjusted[j]),
                f"{number_text(low[j])} to {number_text(high[j])}",
            ]
            for j in self.order[:max_players]
        ]
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join([*aligned([header, *rows]), *notes])

    def plot(self, ax: Any = None, max_players: int = 20) -> ComparisonDisplay:
        """The differences with their intervals; needs matplotlib."""
        from shaff.show.plots.comparison import ComparisonDisplay

        low, high = self.confidence_interval()
        return ComparisonDisplay(self.names, self.differences, low, high, self.labels).plot(
            ax, max_players
        )

    def __repr__(self) -> str:
        sure = int((adjust_p_values(self.p_values) < 0.05).sum())
        return f"Comparison({counted(len(self.names), 'player')}, {sure} surely different)"
