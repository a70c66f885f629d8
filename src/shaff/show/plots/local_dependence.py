"""What an input adds, by what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import listed, shortened
from shaff.errors import InputError
from shaff.results.direction import Shape
from shaff.results.local import LocalEffects
from shaff.show.plots.display import BLUE, GRID, INK, PALE, Display, dress, no_formulas, set_title
from shaff.show.plots.swarm import some_rows

MAX_LEVELS, MAX_LABEL = 12, 14


# Half of the width of the band around the curve, in standard errors.
_BAND = 1.96


@dataclass(eq=False, repr=False)
class LocalDependenceDisplay(Display):
    """The values of one input against the input itself, a point per row, and their mean.

    Parameters
    ----------
    name : str
    data, values : float arrays of shape (n_rows,)
    levels : tuple of str
        Names of the categories that ``data`` are codes of; none for numbers.
    shape : Shape or None
        The mean curve, where there is one.
    target : str

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import LocalDependenceDisplay
    >>> x = np.linspace(-1, 1, 50)
    >>> display = LocalDependenceDisplay("age", x, x**2).plot()
    >>> display.ax_.get_xlabel()
    'age'
    """

    name: str
    data: FloatArray
    values: FloatArray
    levels: tuple[str, ...] = ()
    shape: Shape | None = None
    target: str = "y"

    @classmethod
    def from_result(cls, local: LocalEffects, name: str | None = None) -> LocalDependenceDisplay:
        """Return the picture of one input, by default that of the largest values."""
        if name is None:
            name = local.names[local.order[0]]
        if name not in local.names:
            raise InputError(f"There is no input {name!r}; there are {listed(local.names)}.")
        k = local.names.index(name)
        data, values = local.data[:, k], local.values[:, k]
        if np.isnan(data).all():
            raise InputError(f"{name!r} has no column of its own in these rows to draw against.")
        levels = local.levels.get(name, ())
        return cls(name, data, values, levels, local.shape_of(k), local.target_name)

    def _size(self, max_inputs: int) -> tuple[float, float]:
        return 6.4, 4.2

    def _draw(self, ax: Any, max_inputs: int) -> None:
        rows = some_rows(len(self.values))
        rows = rows[np.isfinite(self.data[rows]) & np.isfinite(self.values[rows])]
        x = self.data[rows]
        if self.levels:
            x = self._categories(ax, x)
        color = BLUE if self.shape is None else PALE
        ax.scatter(x, self.values[rows], s=12, c=color, linewidths=0, zorder=3, alpha=0.8)
        if self.shape is not None:
            _draw_curve(ax, self.shape)
        dress(ax)
        ax.grid(color=GRID, linewidth=0.8, zorder=0)
        ax.axhline(0, color=INK, linewidth=0.8, zorder=2)
        label = shortened(self.name, 40)
        ax.set_xlabel(label, fontsize=9, color=INK).set_parse_math(False)
        said = f"what it adds to {shortened(self.target, 40)}"
        ax.set_ylabel(said, fontsize=9, color=INK).set_parse_math(False)
        direction = "" if self.shape is None else f": {self.shape.words}"
        set_title(ax, f"What {label} adds{direction}")

    def _categories(self, ax: Any, codes: FloatArray) -> FloatArray:
        """Categories side by side, those of the largest mean value first; points a little apart."""
        found = np.unique(self.data[np.isfinite(self.data)]).astype(np.intp)
        means = [np.nanmean(self.values[self.data == code]) for code in found]
        order = found[np.argsort(means, kind="stable")[::-1]]
        place = np.full(len(self.levels), np.nan)
        place[order[:MAX_LEVELS]] = np.arange(min(len(order), MAX_LEVELS))
        names = [shortened(self.levels[code], MAX_LABEL) for code in order[:MAX_LEVELS]]
        ax.set_xticks(range(len(names)), names, rotation=30 if len(names) > 6 else 0)
        no_formulas(ax.get_xticklabels())
        spread = 0.5 * ((0.618034 * np.arange(len(codes))) % 1 - 0.5)
        return np.asarray(place[codes.astype(np.intp)] + spread)

    def _columns(self) -> dict[str, Any]:
        if not self.levels:
            return {"data": self.data, "value": self.values}
        named = [None if np.isnan(c) else self.levels[int(c)] for c in self.data]
        return {"data": named, "value": self.values}

    def __repr__(self) -> str:
        return f"LocalDependenceDisplay({self.name!r}, {len(self.values)} rows)"


def _draw_curve(ax: Any, shape: Shape) -> None:
    """The means of the slices, with a band for the scatter of the values about them."""
    half = _BAND * shape.error
    band = {"color": BLUE, "alpha": 0.25, "linewidth": 0}
    ax.fill_between(shape.x, shape.y - half, shape.y + half, zorder=3.5, **band)
    ax.plot(shape.x, shape.y, color=BLUE, linewidth=2, zorder=4)
