"""Bars with intervals: the picture of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from shaff._util.frames import sorted_columns
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import decimals
from shaff.errors import InputError
from shaff.results.effects import EffectsResult
from shaff.show.plots.display import (
    BLUE,
    GREY,
    INK,
    PALE,
    Display,
    dress_rows,
    rows_size,
    set_title,
)
from shaff.show.plots.labels import make_labels, target_label, unfolded
from shaff.show.plots.sobol import draw_indices
from shaff.show.rows import amount_text, are_significant, effect_digits, typeset

# Colour of the bars of layers and groups, which are sums of others.
SUM = "#5b6b7c"
# Width of the panel of Sobol indices beside that of the bars.
_PANEL = 0.45
# Inches that a number beside a bar takes, and the part of the axes that it may take.
_NUMBER, _NUMBER_PART = 0.62, (0.1, 0.4)


@dataclass(eq=False, repr=False)
class EffectsDisplay(Display):
    """Bar chart of Shapley effects, largest first.

    Parameters
    ----------
    names : tuple of str
    effects : float array of shape (n_inputs,)
    low, high : float arrays of shape (n_inputs,) or None
        Interval of each raw effect.
    first_order, total : float arrays of shape (n_inputs,) or None
        Sobol indices, for a panel of their own; NaN leaves out an input.
    explained_variance : float
    target : str or None
    p_values : float array of shape (n_inputs,) or None
        p-values of "the effect is 0"; the bars of inputs with more than 0.05 are pale.
    level : float, default=0.95
        Level of the intervals.
    members : dict of tuples of str
        The columns of groups of inputs.
    digits : int or None, default=None
        Digits after the point of the numbers; None follows the largest effect.
    measure : str, default="variance"
        What effects are shares of.
    parts : dict of tuples of str
        The inputs of each layer or group of groups, drawn below a bar of their sum.
    upper : EffectsDisplay or None, default=None
        The bars of these sums.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import EffectsDisplay
    >>> display = EffectsDisplay(("age", "bmi"), np.array([0.1, 0.3]), explained_variance=0.4)
    >>> [label.get_text() for label in display.plot().ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    names: tuple[str, ...]
    effects: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    first_order: FloatArray | None = None
    total: FloatArray | None = None
    explained_variance: float = np.nan
    target: str | None = None
    p_values: FloatArray | None = None
    level: float = 0.95
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digits: int | None = None
    measure: str = "variance"
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    upper: EffectsDisplay | None = None

    @classmethod
    def from_result(cls, result: EffectsResult, level: float = 0.95) -> EffectsDisplay:
        """Return the chart of a result, with its intervals at ``level`` and adjusted p-values."""
        has_errors = result.standard_errors is not None
        low, high = result.confidence_interval(level) if has_errors else (None, None)
        return cls(
            result.names,
            result.effects,
            low,
            high,
            result.first_order,
            result.total,
            result.explained_variance,
            result.target,
            None if result.p_values is None else result.null_test(),
            level,
            {} if result.data is None else result.data.groups,
            effect_digits(result),
            result.measure,
            result.parts,
            cls.from_result(result.upper_level(), level) if result.parts else None,
        )

    def plot(self, ax: Any = None, max_inputs: int = 20, *, sobol: bool = False) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of bars; the remaining inputs share one more.
        sobol : bool, default=False
            Draw first-order and total Sobol indices, where there are any, in a panel of their own
            to the right: they may be many times as large as the effects. Needs a new figure.

        Returns
        -------
        self
        """
        if sobol and ax is not None:
            raise InputError(
                "sobol=True draws two panels: leave out ax, or draw a SobolDisplay into it."
            )
        return self._plot(ax, max_inputs, sobol=sobol and self._has_indices)

    @property
    def _digits(self) -> int:
        largest = float(np.abs(self.effects).max(initial=0.0))
        return decimals(largest) if self.digits is None else self.digits

    @property
    def _has_detected(self) -> bool:
        """Whether a bar is significant and its interval includes 0."""
        if self.low is None or self.p_values is None:
            return False
        sure = np.array(are_significant(self.p_values, len(self.low)), dtype=bool)
        return bool((sure & (self.low <= 0)).any())

    @property
    def _has_indices(self) -> bool:
        indices = (self.first_order, self.total)
        return any(array is not None and np.isfinite(array).any() for array in indices)

    def _widths(self, sobol: bool = False) -> tuple[float, ...]:
        return (1.0, _PANEL) if sobol else (1.0,)

    def _size(self, max_inputs: int, sobol: bool = False) -> tuple[float, float]:
        n_rows = min(len(self.names), max_inputs + 1) + len(self._headings(max_inputs))
        return rows_size(n_rows, 9.5 if sobol else 7.0)

    def _draw(self, ax: Any, max_inputs: int, sobol: bool = False) -> None:
        shown, headings = self._with_headings(self._largest(max_inputs), max_inputs)
        _draw_bars(ax, shown, max(0, len(self.names) - max_inputs), headings)
        dress_rows(ax, shown.names)
        _draw_headings(ax, headings, self._breaks(headings, max_inputs))
        _draw_values(ax, shown.effects, shown._digits)
        ax.set_xlabel(_caption(shown), fontsize=9, color=INK)
        set_title(ax, f"Shapley effects on {target_label(self.target)}")
        if sobol:
            panel = ax.figure.axes[1]
            draw_indices(panel, shown.first_order, shown.total, None)
            dress_rows(panel, [""] * len(shown.names))
            panel.set_xlabel("Sobol indices", fontsize=9, color=INK)

    def _columns(self) -> dict[str, Any]:
        order = np.argsort(-self.effects, kind="stable")
        arrays = ("low", "high", "first_order", "total", "p_values")
        given = {"effect": self.effects, **{name: getattr(self, name) for name in arrays}}
        return sorted_columns(self.names, given, order)

    def __repr__(self) -> str:
        return f"EffectsDisplay({len(self.names)} inputs, on {self.target or 'y'})"

    def _largest(self, max_inputs: int) -> EffectsDisplay:
        """The same display in drawing order, with the inputs past ``max_inputs`` as one."""
        order = self._positions()
        kept, rest = order[:max_inputs], order[max_inputs:]
        names = make_labels([self.names[j] for j in kept])
        for k, j in enumerate(kept):
            if self.names[j] in self.members:
                names[k] = unfolded(names[k], self.members[self.names[j]])

        def cut(array: FloatArray | None, last: float = np.nan) -> FloatArray | None:
            if array is None:
                return None
            return np.append(array[kept], [last] if len(rest) else [])

        if len(rest):
            names.append(f"{len(rest)} others")
        effects = cut(self.effects, float(self.effects[rest].sum()))
        assert effects is not None
        return replace(
            self,
            names=tuple(names),
            effects=effects,
            low=cut(self.low),
            high=cut(self.high),
            first_order=cut(self.first_order),
            total=cut(self.total),
            p_values=cut(self.p_values, 0.0),
        )

    def _positions(self) -> IntpArray:
        """Positions from the top: the largest first, part by part where there are any."""
        order = np.argsort(-self.effects, kind="stable")
        part_of = {name: k for k, part in enumerate(self.parts.values()) for name in part}
        parts = np.array([part_of.get(self.names[j], 0) for j in order], dtype=np.intp)
        return order[np.argsort(parts, kind="stable")]

    def _headings(self, max_inputs: int) -> dict[str, int]:
        """The parts whose sums are drawn, and the row of their first input."""
        shown = [self.names[j] for j in self._positions()[:max_inputs]]
        several = {part: names for part, names in self.parts.items() if names != (part,)}
        first = {part: [k for k, name in enumerate(shown) if name in names]
                 for part, names in several.items()}  # fmt: skip
        return {part: rows[0] for part, rows in first.items() if rows}

    def _with_headings(
        self, shown: EffectsDisplay, max_inputs: int
    ) -> tuple[EffectsDisplay, list[int]]:
        """Put the bar of each part above those of its inputs; also return the rows of parts."""
        upper, starts = self.upper, self._headings(max_inputs)
        if upper is None:
            return shown, []
        places = [upper.names.index(part) for part in starts]
        rows = list(starts.values())

        def insert(name: str) -> FloatArray | None:
            own, above = getattr(shown, name), getattr(upper, name)
            if own is None:
                return None
            sums = np.full(len(places), np.nan) if above is None else above[places]
            return np.insert(own, rows, sums)

        arrays = ("effects", "low", "high", "first_order", "total", "p_values")
        names = np.insert(np.array(shown.names, dtype=object), rows, make_labels(list(starts)))
        changed: dict[str, Any] = {name: insert(name) for name in arrays}
        drawn = replace(shown, names=tuple(names), **changed)
        return drawn, [row + k for k, row in enumerate(rows)]

    def _breaks(self, headings: list[int], max_inputs: int) -> list[int]:
        """Rows at which another part begins."""
        part_of = {name: k for k, part in enumerate(self.parts.values()) for name in part}
        parts = [part_of.get(self.names[j], 0) for j in self._positions()[:max_inputs]]
        first = {part: parts.index(part) for part in parts}
        # Bars of parts stand above the first input of each.
        above = [row - k for k, row in enumerate(headings)]
        starts = [start + sum(row < start for row in above) for start in first.values()]
        return [start for start in starts if start]


def _draw_headings(ax: Any, rows: list[int], breaks: list[int]) -> None:
    """Names of parts in bold, and lines between parts."""
    labels = ax.get_yticklabels()
    for row in rows:
        labels[row].set_fontweight("bold")
    for row in breaks:
        ax.axhline(row - 0.5, color=GREY, linewidth=0.8, zorder=1)


def _draw_bars(ax: Any, shown: EffectsDisplay, n_rest: int, headings: list[int]) -> None:
    rows = np.arange(len(shown.names))
    colors = [BLUE if real else PALE for real in are_significant(shown.p_values, len(rows))]
    for row in headings:
        colors[row] = SUM
    if n_rest:
        colors[-1] = GREY
    ax.barh(rows, shown.effects, height=0.68, color=colors, zorder=2)
    if shown.low is not None and shown.high is not None:
        # The interval is that of the raw effect, so it need not be centred on the bar.
        ax.hlines(rows, shown.low, shown.high, color=INK, linewidth=1.3, zorder=4)


def _draw_values(ax: Any, effects: FloatArray, digits: int) -> None:
    """The number of each bar at the right edge of the axes, which make room for it: outside it
    would lie on the next subplot."""
    width = ax.get_window_extent().width / ax.figure.dpi
    part = float(np.clip(_NUMBER / max(width, 1e-6), *_NUMBER_PART))
    left, right = ax.get_xlim()
    ax.set_xticks([tick for tick in ax.get_xticks() if left <= tick <= right])
    ax.set_xlim(left, left + (right - left) / (1 - part))
    for row, effect in enumerate(effects):
        text = typeset(amount_text(effect, digits))
        ax.text(1, row, text, transform=ax.get_yaxis_transform(), ha="right",
                va="center_baseline", fontsize=9, color=INK)  # fmt: skip


def _caption(shown: EffectsDisplay) -> str:
    """What the axis is, and a key to what is drawn."""
    together = shown.explained_variance
    suffix = "" if np.isnan(together) else f" (all inputs together: {together:.{shown._digits}f})"
    if together <= 0:
        suffix = " (nothing is explained on held-out rows)"
    key, last = [], ""
    if shown.low is not None:
        key.append(f"line: {100 * shown.level:g} % interval")
    if shown.upper is not None:
        part = "layer" if "layer 1" in shown.parts else "group"
        key.append(f"grey: sum of its {part}")
    # A bar that is too short to be seen is not seen to be pale.
    visible = 0.005 * np.abs(shown.effects).max(initial=0.0)
    real = are_significant(shown.p_values, len(shown.effects))
    if (np.abs(shown.effects[~np.array(real, dtype=bool)]) > visible).any():
        key.append("pale: not significantly above zero")
    if shown._has_detected:
        last = "dark bars whose line reaches 0: detected, too small to measure"
    return "\n".join(filter(None, (f"share of the {shown.measure}{suffix}", "; ".join(key), last)))
