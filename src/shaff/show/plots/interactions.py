"""Which pairs of inputs explain more together than apart, and which share information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.statistics import by_strongest_pair, symmetric
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff._util.words import decimals
from shaff.results.interactions import Interactions
from shaff.show.plots.display import GRID, INK, Display, color_bar, dress, no_formulas, set_title
from shaff.show.plots.labels import make_labels, target_label
from shaff.show.rows import FEWEST_DIGITS, number_text, typeset

# Numbers are written into the cells of so few inputs, signs into those of more.
_WITH_NUMBERS = 12
# From so many inputs on the key has room in the empty corner above the staircase.
_WITH_CORNER = 5
_KEY = "overlap: the two share information; synergy: more together than apart"
# Opacity of pairs whose interval includes 0; and how far the colours go, short of the darkest.
_PALE, _DEEPEST = 0.45, 0.8
# Longer names below the columns are turned.
_SHORT = 4


@dataclass(eq=False, repr=False)
class InteractionsDisplay(Display):
    """Heat map of interactions; the inputs of the strongest pairs stand first.

    Parameters
    ----------
    names : tuple of str
    values : float array of shape (n_chosen, n_inputs)
        Symmetric; its diagonal is not drawn.
    low, high : float arrays of shape (n_chosen, n_inputs) or None
        Intervals; pairs whose interval includes 0 are written in grey, or have no sign.
    target : str or None
    level : float, default=0.95
        Level of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import InteractionsDisplay
    >>> values = np.array([[0.0, 0.01, 0.0], [0.01, 0.0, 0.2], [0.0, 0.2, 0.0]])
    >>> display = InteractionsDisplay(("a", "b", "c"), values).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['c', 'a']
    """

    names: tuple[str, ...]
    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    target: str | None = None
    level: float = 0.95

    @classmethod
    def from_result(cls, found: Interactions, level: float = 0.95) -> InteractionsDisplay:
        """Return the picture of the evaluated pairs, with intervals if there are errors."""
        n = len(found.looked_at)
        names = tuple(found.names[j] for j in found.looked_at)
        display = cls(names, symmetric(found.pair_values, n), target=found.target, level=level)
        if found.pair_errors is not None:
            bounds = found.confidence_interval(level)
            display.low, display.high = (symmetric(bound, n) for bound in bounds)
        return display

    def _size(self, max_inputs: int) -> tuple[float, float]:
        n = min(len(self.names), max_inputs)
        cell = 0.6 if n <= _WITH_NUMBERS else 0.28
        side = 2.4 if n < _WITH_CORNER else 0.0
        return 3.0 + side + cell * n, 2.3 + cell * n

    def _draw(self, ax: Any, max_inputs: int) -> None:
        chosen = by_strongest_pair(self.values)[:max_inputs]
        names = make_labels([self.names[j] for j in chosen])
        set_title(ax, f"Interactions on {target_label(self.target)}")
        if len(chosen) < 2:
            ax.set_axis_off()
            ax.text(0, 0.5, "one input has no pairs", fontsize=9, color=INK)
            return
        stairs, sure = _stairs(self.values, chosen, np.nan), _stairs(self._sure(), chosen, 1.0)
        top = float(np.nanmax(np.abs(stairs)))
        scale = (top or 1.0) / _DEEPEST
        alpha = np.where(sure > 0, 1.0, _PALE)
        image = ax.imshow(stairs, cmap="RdBu", vmin=-scale, vmax=scale, alpha=alpha)
        dress(ax)
        turned = 0 if max(map(len, names), default=0) <= _SHORT else 90
        ax.set_xticks(range(len(names) - 1), names[:-1], rotation=turned)
        ax.set_yticks(range(len(names) - 1), names[1:])
        no_formulas([*ax.get_xticklabels(), *ax.get_yticklabels()])
        _draw_grid(ax, len(chosen) - 1)
        digits = self._digits(top)
        self._write(ax, stairs, sure > 0, top, digits)
        _draw_key(ax, image, top, digits, corner=len(chosen) >= _WITH_CORNER)
        ax.set_xlabel(self._caption(chosen), fontsize=9, color=INK, loc="left")

    def _digits(self, top: float) -> int:
        """Digits that show two figures of the strongest interaction: there is room for few."""
        return max(decimals(top) - 1, FEWEST_DIGITS) if top else 0

    def _write(self, ax: Any, stairs: FloatArray, sure: BoolArray, top: float, digits: int) -> None:
        """Numbers where there is room, else the sign where the interval excludes 0."""
        few = len(stairs) < _WITH_NUMBERS
        for row, column in zip(*np.nonzero(np.isfinite(stairs)), strict=True):
            value, is_sure = float(stairs[row, column]), bool(sure[row, column])
            color = "#666666" if not is_sure else "white" if abs(value) > 0.7 * top else INK
            if few:
                text = typeset(number_text(value, digits))
                ax.text(column, row, text, ha="center", va="center", fontsize=9, color=color)
            elif is_sure and self.low is not None:
                sign = "−" if value < 0 else "+"
                ax.text(column, row, sign, ha="center", va="center", fontsize=11, color=color)

    def _sure(self) -> BoolArray:
        if self.low is None or self.high is None:
            return np.ones(self.values.shape, dtype=bool)
        return np.asarray((self.low > 0) | (self.high < 0))

    def _caption(self, chosen: IntpArray) -> str:
        lines = [_KEY]
        if self.low is not None:
            how = "pale" if len(chosen) <= _WITH_NUMBERS else "no sign"
            lines.append(f"{how}: {100 * self.level:g} % interval includes 0")
        if len(chosen) < len(self.names):
            lines.append(f"the {len(chosen)} of {len(self.names)} inputs in the strongest pairs")
        return "\n".join(lines)

    def _columns(self) -> dict[str, Any]:
        one, other = np.triu_indices(len(self.names), 1)
        order = np.argsort(-np.abs(self.values[one, other]), kind="stable")
        one, other = one[order], other[order]
        arrays = {"interaction": self.values, "low": self.low, "high": self.high}
        numbers = {name: a[one, other] for name, a in arrays.items() if a is not None}
        sides = {"input_1": one, "input_2": other}
        return {**{k: [self.names[j] for j in js] for k, js in sides.items()}, **numbers}

    def __repr__(self) -> str:
        return f"InteractionsDisplay({len(self.names)} inputs, on {self.target or 'y'})"


def _stairs(matrix: FloatArray | BoolArray, chosen: IntpArray, elsewhere: float) -> FloatArray:
    """Below the diagonal: rows from the second input on, columns up to the last but one."""
    n = len(chosen) - 1
    stairs, below = np.full((n, n), elsewhere), np.tril_indices(n)
    stairs[below] = matrix[np.ix_(chosen, chosen)][1:, :-1][below]
    return stairs


def _draw_grid(ax: Any, n: int) -> None:
    """Lines around the cells of the staircase alone."""
    for k in range(n):
        ax.plot([-0.5, k + 0.5], [k + 0.5] * 2, color=GRID, linewidth=0.8)
        ax.plot([k - 0.5] * 2, [k - 0.5, n - 0.5], color=GRID, linewidth=0.8)


def _draw_key(ax: Any, image: Any, top: float, digits: int, corner: bool) -> None:
    """What the colours mean: two words for two things, at the ends of the scale."""
    ticks = [-top, 0, top] if top else [0]
    numbers = [typeset(number_text(tick, digits)) if tick else "0" for tick in ticks]
    if not corner:
        words = [f"{numbers[0]}  overlap", "0", f"{numbers[-1]}  synergy"] if top else ["0"]
        color_bar(ax, image, words, shrink=0.6, ticks=ticks).solids.set_alpha(1)
        return
    place = ax.inset_axes((0.56, 0.87, 0.4, 0.025))
    bar = ax.figure.colorbar(image, cax=place, orientation="horizontal", ticks=ticks)
    bar.solids.set_alpha(1)
    bar.outline.set_visible(False)
    place.tick_params(length=0, labelsize=9, colors=INK)
    place.set_xticklabels(numbers)
    for x, text, side in ((0, "overlap", "left"), (1, "synergy", "right")):
        place.text(x, 1.5, text, transform=place.transAxes, ha=side, fontsize=9, color=INK)
