"""Displays: arrays in an object that draws itself with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from shaff._files import replacing
from shaff._typing import FloatArray
from shaff.errors import InputError

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
        Sobol indices, drawn as markers; none where NaN.
    explained_variance : float
    target : str or None
    p_values : float array of shape (n_players,) or None
        Of "the effect is 0"; the bars of players with more than 0.05 are pale.
    level : float, default=0.95
        Of the intervals.

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
    level: float = 0.95
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
            level,
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
            raise InputError(f"max_players must be at least 1, got {max_players!r}.")
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
        names = _labels([self.names[j] for j in kept])

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


def _labels(names: list[str]) -> list[str]:
    """Short names, all different."""
    labels = [_shortened(name) for name in names]
    for label in {label for label in labels if labels.count(label) > 1 and "…" in label}:
        alike = [k for k, other in enumerate(labels) if other == label]
        start = _first_difference([names[k] for k in alike])
        for k in alike:
            labels[k] = _shortened_to(names[k], start)
    return [
        f"{label} ({labels[:k].count(label) + 1})" if labels.count(label) > 1 else label
        for k, label in enumerate(labels)
    ]


def _first_difference(names: list[str]) -> int:
    """Where the first word begins that is not common to all, or else the first letter."""
    # The first and the last in the order of letters share no more than all do.
    pairs = zip(min(names), max(names), strict=False)
    common = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = max(common.rfind(mark) for mark in " _-.,/(") + 1
    return start if len(common) - start <= _MAX_NAME // 4 else len(common)


def _shortened_to(name: str, start: int) -> str:
    """The beginning of a name, and what there is room for from ``start`` on."""
    head = f"{name[: min(start, _MAX_NAME // 3)].rstrip()}…"
    part = " ".join(name[start:].split())
    room = _MAX_NAME - len(head)
    return head + (part if len(part) <= room else f"{part[: room - 1].rstrip()}…")


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
            values[is_known], rows[is_known], s=24, marker=marker, c=color, edgecolors="white",
            linewidths=0.8, zorder=5, label=label, clip_on=False,
        )
        for values, marker, color, label in styles
        if values is not None and (is_known := np.isfinite(values)).any()
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
        text = f"{effect:z.3f}".replace("-", "−")
        ax.text(1.08, row, text, transform=transform, ha="right", va="center_baseline",
                fontsize=9, color=_INK)  # fmt: skip


def _dress(ax: Any, shown: EffectsDisplay) -> None:
    ax.set_yticks(np.arange(len(shown.names)), shown.names)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)  # a "$" in a column name is no formula
    ax.set_ylim(len(shown.names) - 0.4, -0.6)
    ax.set_xlabel(_caption(shown), fontsize=9, color=_INK)
    ax.tick_params(length=0, labelsize=9, colors=_INK)
    ax.grid(axis="x", color=_GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    ax.axvline(0, color=_INK, linewidth=0.8, zorder=3)
    ax.set_facecolor("white")
    ax.figure.set_facecolor("white")
    ax.spines[:].set_visible(False)


def _caption(shown: EffectsDisplay) -> str:
    """What the axis is, and a key to what is drawn."""
    together = shown.explained_variance
    suffix = "" if np.isnan(together) else f" (all players together: {together:.0%})"
    if together <= 0:
        suffix = " (nothing is explained out of sample)"
    key = []
    if shown.low is not None:
        key.append(f"line: {100 * shown.level:g} % interval of the raw effect")
    # A bar that is too short to be seen is not seen to be pale.
    visible = 0.005 * np.abs(shown.effects).max(initial=0.0)
    pale = zip(_unsure(shown), shown.effects, strict=True)
    if any(unsure and abs(effect) > visible for unsure, effect in pale):
        key.append("pale: not significantly above 0")
    return "\n".join(filter(None, (f"share of the variance{suffix}", "; ".join(key))))
