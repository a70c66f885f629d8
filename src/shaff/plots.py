"""Displays: arrays in an object that draws itself with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shaff._files import replacing
from shaff.subsets import FloatArray

if TYPE_CHECKING:
    from shaff.result import EffectsResult

_BAR, _REST, _INK, _GRID = "#4477aa", "#b8c4d0", "#333333", "#e6e6e6"
_PALE = "#aac4de"
_ALPHA = 0.05
_FIRST_ORDER, _TOTAL = "#ccbb44", "#aa3377"
_MAX_NAME = 32
# Fixed, so that the same result gives the same file.
_METADATA: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


@dataclass(eq=False)
class EffectsDisplay:
    """Bar chart of Shapley effects, largest first.

    Parameters
    ----------
    names : tuple of str
    effects : float array of shape (n_players,)
    low, high : float arrays of shape (n_players,) or None
        Interval of each player's raw effect.
    first_order, total : float arrays of shape (n_players,) or None
        Sobol indices, drawn as markers.
    explained_variance : float
    target : str or None
    p_values : float array of shape (n_players,) or None
        Of "the effect is 0"; the bars of players with more than 0.05 are pale.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.plots import EffectsDisplay
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
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_result(cls, result: EffectsResult, level: float = 0.95) -> EffectsDisplay:
        """The chart of a result, with its intervals at `level` and Holm's p-values if it has
        them."""
        has_errors = result.standard_error is not None
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
        )

    def plot(self, ax: Any = None, max_players: int = 20, markers: bool = True) -> EffectsDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        max_players : int, default=20
            Bars; the players left over share one more.
        markers : bool, default=True
            Mark first-order and total Sobol indices, where there are any.

        Returns
        -------
        EffectsDisplay
        """
        if max_players < 1:
            raise ValueError(f"max_players must be at least 1, got {max_players!r}.")
        shown = self._largest(max_players)
        if ax is None:
            ax = _axes(_matplotlib("pyplot").figure, len(shown.names))
        _draw_bars(ax, shown, n_rest=max(0, len(self.names) - max_players))
        has_legend = markers and _draw_markers(ax, shown)
        _draw_values(ax, shown)
        _dress(ax, shown)
        ax.set_title(self._title(), loc="left", fontsize=11, color=_INK, parse_math=False,
                     pad=26 if has_legend else 8)  # fmt: skip
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def save(self, path: str | os.PathLike[str], max_players: int = 20) -> None:
        """Draw into an image file, which appears whole or not at all; no window, no display."""
        rc_context = _matplotlib("pyplot").rc_context
        n_bars = min(len(self.names), max_players + 1)
        # A bare figure: pyplot's would stay open and might need a screen.
        ax = _axes(_matplotlib("figure").Figure, n_bars)
        self.plot(ax=ax, max_players=max_players)
        suffix = os.path.splitext(path)[1].lower()
        with rc_context({"svg.hashsalt": "shaff"}), replacing(path) as temporary:
            self.figure_.savefig(temporary, dpi=150, metadata=_METADATA.get(suffix))

    def _largest(self, max_players: int) -> EffectsDisplay:
        """The same display in drawing order, with the players past `max_players` as one."""
        order = np.argsort(-self.effects, kind="stable")
        kept, rest = order[:max_players], order[max_players:]
        names = [_shortened(self.names[j]) for j in kept]

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

    def _title(self) -> str:
        target = "y" if self.target is None else _shortened(self.target)
        return f"Shapley effects on {target}"


def _matplotlib(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        message = 'Plots need matplotlib: pip install "shaff[plot]"'
        raise ImportError(message) from error


def _axes(new_figure: Callable[..., Any], n_bars: int) -> Any:
    figure = new_figure(figsize=(7.0, 1.4 + 0.32 * n_bars), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    return figure.subplots()


def _shortened(name: str) -> str:
    """Cut in the middle: long names of one family tend to differ at the end."""
    name = " ".join(name.split())
    if len(name) <= _MAX_NAME:
        return name
    half = (_MAX_NAME - 1) // 2
    return f"{name[:half].rstrip()}…{name[-half:].lstrip()}"


def _draw_bars(ax: Any, shown: EffectsDisplay, n_rest: int) -> None:
    rows = np.arange(len(shown.names))
    colors = [_PALE if pale else _BAR for pale in _unsure(shown)]
    if n_rest:
        colors[-1] = _REST
    ax.barh(rows, shown.effects, height=0.68, color=colors, zorder=2)
    if shown.low is not None and shown.high is not None:
        # The interval is that of the raw effect, so it need not be centred on the bar.
        ax.hlines(rows, shown.low, shown.high, color=_INK, linewidth=1.3, zorder=4)


def _unsure(shown: EffectsDisplay) -> list[bool]:
    """Which bars are not significantly above 0; none if that was not tested."""
    if shown.p_values is None:
        return [False] * len(shown.names)
    return [bool(p > _ALPHA) for p in shown.p_values]


def _draw_markers(ax: Any, shown: EffectsDisplay) -> bool:
    """Sobol indices on the lower edge of the bars, clear of the intervals; True if any."""
    rows = np.arange(len(shown.names)) + 0.22
    styles = (
        (shown.first_order, "o", _FIRST_ORDER, "first-order Sobol index"),
        (shown.total, "D", _TOTAL, "total Sobol index"),
    )
    handles = [
        ax.scatter(
            values, rows, s=24, marker=marker, c=color, edgecolors="white", linewidths=0.8,
            zorder=5, label=label, clip_on=False,
        )
        for values, marker, color, label in styles
        if values is not None
    ]  # fmt: skip
    if handles:
        # Above the axes: inside, some result would have a bar there.
        ax.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False,
            fontsize=9, labelcolor=_INK, borderaxespad=0.2, borderpad=0, handletextpad=0.2,
        )  # fmt: skip
    return bool(handles)


def _draw_values(ax: Any, shown: EffectsDisplay) -> None:
    """The number of each bar in a column of its own, right of all that is drawn."""
    transform = ax.get_yaxis_transform()
    for row, effect in enumerate(shown.effects):
        text = f"{effect:.3f}".replace("-0.000", "0.000").replace("-", "−")
        ax.text(1.08, row, text, transform=transform, ha="right", va="center_baseline",
                fontsize=9, color=_INK)  # fmt: skip


def _dress(ax: Any, shown: EffectsDisplay) -> None:
    ax.set_yticks(np.arange(len(shown.names)), shown.names)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)  # a "$" in a column name is no formula
    ax.set_ylim(len(shown.names) - 0.4, -0.6)
    together = shown.explained_variance
    suffix = "" if np.isnan(together) else f" (all players together: {together:.0%})"
    pale = "\npale: not significantly above 0" if any(_unsure(shown)) else ""
    ax.set_xlabel(f"share of the variance{suffix}{pale}", fontsize=9, color=_INK)
    ax.tick_params(length=0, labelsize=9, colors=_INK)
    ax.grid(axis="x", color=_GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    ax.axvline(0, color=_INK, linewidth=0.8, zorder=3)
    ax.set_facecolor("white")
    ax.figure.set_facecolor("white")
    ax.spines[:].set_visible(False)
