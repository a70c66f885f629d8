"""First-order index, Shapley effect and total index of each input in one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.frames import sorted_columns
from shaff._util.typing import FloatArray
from shaff.errors import InputError
from shaff.results.effects import EffectsResult
from shaff.show.plots.display import (
    BLUE,
    GREY,
    INK,
    PURPLE,
    YELLOW,
    Display,
    dress_rows,
    key_above,
    rows_size,
    set_title,
)
from shaff.show.plots.labels import make_labels, target_label


@dataclass(eq=False, repr=False)
class SobolDisplay(Display):
    """What an input explains alone (first-order index), its fair share (Shapley effect) and what
    no other input can replace (total index).

    Parameters
    ----------
    names : tuple of str
    effects, first_order, total : float arrays of shape (n_inputs,)
        NaN where an input was never evaluated.
    target : str or None
    measure : str, default="variance"
        What effects are shares of.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import SobolDisplay
    >>> display = SobolDisplay(
    ...     ("a", "b"), np.array([0.1, 0.3]), np.array([0.2, 0.4]), np.array([0.0, 0.2]))
    >>> display.plot().ax_.get_xlabel()
    'share of the variance'
    """

    names: tuple[str, ...]
    effects: FloatArray
    first_order: FloatArray
    total: FloatArray
    target: str | None = None
    measure: str = "variance"

    @classmethod
    def from_result(cls, result: EffectsResult, level: float = 0.95) -> SobolDisplay:
        """Return the picture of a result that has Sobol indices."""
        if result.first_order is None or result.total is None:
            raise InputError(
                "This result has no Sobol indices: they cost too much with many inputs."
            )
        first, total = result.first_order, result.total
        return cls(result.names, result.effects, first, total, result.target, result.measure)

    @property
    def _order(self) -> Any:
        known = np.flatnonzero(np.isfinite(self.first_order))
        return known[np.argsort(-self.effects[known], kind="stable")]

    def _size(self, max_inputs: int) -> tuple[float, float]:
        return rows_size(min(len(self._order), max_inputs))

    def _draw(self, ax: Any, max_inputs: int) -> None:
        chosen = self._order[:max_inputs]
        first, total = self.first_order[chosen], self.total[chosen]
        draw_indices(ax, first, total, self.effects[chosen])
        dress_rows(ax, make_labels([self.names[j] for j in chosen]))
        ax.set_xlabel(f"share of the {self.measure}", fontsize=9, color=INK)
        said = f"Sobol indices and Shapley effects on {target_label(self.target)}"
        set_title(ax, said, pad=26)

    def _columns(self) -> dict[str, Any]:
        arrays = {"first_order": self.first_order, "effect": self.effects, "total": self.total}
        return sorted_columns(self.names, arrays, self._order)

    def __repr__(self) -> str:
        return f"SobolDisplay({len(self._order)} inputs)"


def draw_indices(
    ax: Any, first: FloatArray | None, total: FloatArray | None, effects: FloatArray | None
) -> None:
    """Dots of the indices that there are, joined by a line, with a key above."""
    known = [array for array in (first, effects, total) if array is not None]
    rows = np.arange(len(known[0]))
    ends = np.sort(np.stack(known), axis=0)
    ax.hlines(rows, ends[0], ends[-1], color=GREY, linewidth=1.6, zorder=2)
    styles = (
        (first, "o", YELLOW, "alone (first-order index)"),
        (effects, "s", BLUE, "Shapley effect"),
        (total, "D", PURPLE, "irreplaceable (total index)"),
    )
    handles = [
        ax.scatter(values, rows, s=34, marker=marker, c=color, edgecolors="white",
                   linewidths=0.8, zorder=5, label=label, clip_on=False)
        for values, marker, color, label in styles
        if values is not None and np.isfinite(values).any()
    ]  # fmt: skip
    key_above(ax, handles, columns=3 if effects is not None else 1)
