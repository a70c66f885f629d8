"""Proportional marginal effects beside the Shapley effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.frames import sorted_columns
from shaff._util.typing import FloatArray
from shaff._util.words import counted
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.show.plots.display import BLUE, INK, Display, dress_rows, rows_size, set_title
from shaff.show.plots.labels import make_labels, target_label

_MARK = "#d9822b"


@dataclass(eq=False, repr=False)
class MarginalDisplay(Display):
    """Bars of proportional marginal effects, with marks for the Shapley effects.

    Parameters
    ----------
    names : tuple of str
    effects : float array of shape (n_inputs,)
    low, high, shapley : float arrays of shape (n_inputs,) or None
    target : str or None, default=None
    level : float, default=0.95
        Level of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import MarginalDisplay
    >>> MarginalDisplay(("cause", "proxy"), np.array([0.4, 0.0])).plot()
    MarginalDisplay(2 inputs, on y)
    """

    names: tuple[str, ...]
    effects: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    shapley: FloatArray | None = None
    target: str | None = None
    level: float = 0.95

    @classmethod
    def from_result(
        cls, found: ProportionalMarginalEffects, level: float = 0.95
    ) -> MarginalDisplay:
        """Return the picture of the effects, with their intervals at ``level``."""
        has_errors = found.standard_errors is not None
        low, high = found.confidence_interval(level) if has_errors else (None, None)
        return cls(found.names, found.effects, low, high, found.shapley, found.target, level)

    @property
    def _order(self) -> Any:
        return np.argsort(-self.effects, kind="stable")

    def _size(self, max_inputs: int) -> tuple[float, float]:
        return rows_size(min(len(self.names), max_inputs))

    def _draw(self, ax: Any, max_inputs: int) -> None:
        chosen = self._order[:max_inputs]
        rows, key = np.arange(len(chosen)), []
        ax.barh(rows, self.effects[chosen], height=0.68, color=BLUE, zorder=2)
        if self.low is not None and self.high is not None:
            ax.hlines(rows, self.low[chosen], self.high[chosen], color=INK, linewidth=1.3, zorder=4)
            key.append(f"line: {100 * self.level:g} % interval")
        if self.shapley is not None:
            ax.plot(self.shapley[chosen], rows, "D", color=_MARK, markersize=5, zorder=5)
            key.append("diamond: Shapley effect")
        dress_rows(ax, make_labels([self.names[j] for j in chosen]))
        caption = "\n".join(filter(None, ("share of the variance", "; ".join(key))))
        ax.set_xlabel(caption, fontsize=9, color=INK)
        set_title(ax, f"Proportional marginal effects on {target_label(self.target)}")

    def _columns(self) -> dict[str, Any]:
        arrays = {"effect": self.effects, "low": self.low, "high": self.high,
                  "shapley": self.shapley}  # fmt: skip
        return sorted_columns(self.names, arrays, self._order)

    def __repr__(self) -> str:
        inputs = counted(len(self.names), "input")
        return f"MarginalDisplay({inputs}, on {self.target or 'y'})"
