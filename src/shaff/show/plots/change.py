"""What moved the mean of an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import shortened
from shaff.results.change import Change
from shaff.show.plots.display import (
    BLUE,
    INK,
    PALE,
    Display,
    dress_rows,
    rows_size,
    set_title,
)
from shaff.show.plots.labels import make_labels
from shaff.show.text import ACTING


@dataclass(eq=False, repr=False)
class ChangeDisplay(Display):
    """Parts of the change of a mean with their intervals, the largest first, the mechanism last.

    Parameters
    ----------
    names : tuple of str
        The causes in the order in which they are drawn.
    parts, low, high : float arrays of shape (n_causes,)
    title : str
    level : float, default=0.95
        Level of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import ChangeDisplay
    >>> parts = np.array([0.1, 0.2])
    >>> ChangeDisplay(("age", "how the inputs act"), parts, parts - 0.1, parts + 0.1, "y").plot()
    ChangeDisplay(2 causes)
    """

    names: tuple[str, ...]
    parts: FloatArray
    low: FloatArray
    high: FloatArray
    title: str
    level: float = 0.95

    @classmethod
    def from_result(cls, found: Change, level: float = 0.95) -> ChangeDisplay:
        """Return the picture of a change, with its intervals at ``level``."""
        order = np.append(found.order, len(found.names))
        low, high = found.confidence_interval(level)
        names = (*(found.names[j] for j in found.order), ACTING)
        one, other = (shortened(label, 24) for label in found.labels)
        title = f"Mean of {shortened(found.target_name, 30)}: {other} minus {one}"
        return cls(names, found.estimates[order], low[order], high[order], title, level)

    def _size(self, max_inputs: int) -> tuple[float, float]:
        return rows_size(min(len(self.names), max_inputs + 1))

    def _draw(self, ax: Any, max_inputs: int) -> None:
        last = len(self.names) - 1
        chosen = np.append(np.arange(min(last, max_inputs)), last)
        rows, low, high = np.arange(len(chosen)), self.low[chosen], self.high[chosen]
        sure = (low > 0) | (high < 0)
        colours = np.where(sure, BLUE, PALE).astype(object)
        ax.barh(rows, self.parts[chosen], height=0.68, color=colours.tolist(), zorder=2)
        ax.hlines(rows, low, high, color=INK, linewidth=1.3, zorder=4)
        dress_rows(ax, make_labels([self.names[j] for j in chosen]))
        ax.axhline(len(chosen) - 1.5, color=INK, linewidth=0.8, linestyle=":")
        caption = f"change of the mean\nline: {100 * self.level:g} % interval"
        if not sure.all():
            caption += "; pale: interval includes 0"
        ax.set_xlabel(caption, fontsize=9, color=INK)
        set_title(ax, self.title)

    def _columns(self) -> dict[str, Any]:
        arrays = {"change": self.parts, "low": self.low, "high": self.high}
        return {"cause": list(self.names), **arrays}

    def __repr__(self) -> str:
        return f"ChangeDisplay({len(self.names)} causes)"
