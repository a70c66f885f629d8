"""Which effects differ between two results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.frames import sorted_columns
from shaff._util.typing import FloatArray
from shaff._util.words import counted, shortened
from shaff.results.comparison import Comparison, Units
from shaff.show.plots.display import BLUE, INK, PALE, Display, dress_rows, rows_size, set_title
from shaff.show.plots.labels import make_labels

CAPTIONS: dict[Units, str] = {
    "share": "difference of shares of the {measure}",
    "variance": "difference in units of the variance of the outcome",
}


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """Differences of effects with their intervals, the largest first.

    Parameters
    ----------
    names : tuple of str
    differences, low, high : float arrays of shape (n_inputs,)
    labels : (str, str)
    level : float, default=0.95
        Level of the intervals.
    units : {"share", "variance"}, default="share"
    measure : str, default="variance"
        What effects are shares of.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import ComparisonDisplay
    >>> one = np.array([0.1])
    >>> ComparisonDisplay(("age",), one, one - 0.05, one + 0.05, ("men", "women")).plot()
    ComparisonDisplay(1 input, women minus men)
    """

    names: tuple[str, ...]
    differences: FloatArray
    low: FloatArray
    high: FloatArray
    labels: tuple[str, str] = ("a", "b")
    level: float = 0.95
    units: Units = "share"
    measure: str = "variance"

    @classmethod
    def from_result(
        cls, found: Comparison, level: float = 0.95, units: Units = "share"
    ) -> ComparisonDisplay:
        """Return the picture of a comparison, with its intervals at ``level``."""
        shown = found._in(units)
        low, high = shown.confidence_interval(level)
        names, labels = shown.names, shown.labels
        return cls(names, shown.differences, low, high, labels, level, units, shown.measure)

    @property
    def _order(self) -> Any:
        return np.argsort(-np.abs(self.differences), kind="stable")

    def _size(self, max_inputs: int) -> tuple[float, float]:
        return rows_size(min(len(self.names), max_inputs))

    def _draw(self, ax: Any, max_inputs: int) -> None:
        chosen = self._order[:max_inputs]
        rows, values = np.arange(len(chosen)), self.differences[chosen]
        low, high = self.low[chosen], self.high[chosen]
        sure = (low > 0) | (high < 0)
        ax.barh(rows, values, height=0.68, color=np.where(sure, BLUE, PALE), zorder=2)
        ax.hlines(rows, low, high, color=INK, linewidth=1.3, zorder=4)
        dress_rows(ax, make_labels([self.names[j] for j in chosen]))
        said = CAPTIONS[self.units].format(measure=self.measure)
        caption = f"{said}\nline: {100 * self.level:g} % interval"
        if not sure.all():
            caption += "; pale: interval includes 0"
        ax.set_xlabel(caption, fontsize=9, color=INK)
        one, other = (shortened(label, 30) for label in self.labels)
        set_title(ax, f"Effects: {other} minus {one}")

    def _columns(self) -> dict[str, Any]:
        arrays = {"difference": self.differences, "low": self.low, "high": self.high}
        return sorted_columns(self.names, arrays, self._order)

    def __repr__(self) -> str:
        one, other = self.labels
        return f"ComparisonDisplay({counted(len(self.names), 'input')}, {other} minus {one})"
