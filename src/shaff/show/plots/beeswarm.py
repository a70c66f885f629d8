"""The values of all rows at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import BoolArray, FloatArray
from shaff._util.words import shortened
from shaff.results.local import LocalEffects
from shaff.show.plots.display import (
    GREY,
    INK,
    Display,
    color_bar,
    dress_rows,
    low_to_high,
    matplotlib_module,
    rows_size,
    set_title,
)
from shaff.show.plots.labels import make_labels
from shaff.show.plots.swarm import ranks, some_rows, swarm


@dataclass(eq=False, repr=False)
class BeeswarmDisplay(Display):
    """A point for each row and input: to the right where the input raises the prediction, pale
    blue where the input is low itself, red where it is high, grey where it has no order.

    Parameters
    ----------
    names : tuple of str
        Inputs, in drawing order.
    values, data : float arrays of shape (n_rows, n_inputs)
    is_category : bool array of shape (n_inputs,)
    target : str

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import BeeswarmDisplay
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> display = BeeswarmDisplay(("age",), 2 * x, x, np.array([False]), "y").plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['age']
    """

    names: tuple[str, ...]
    values: FloatArray
    data: FloatArray
    is_category: BoolArray
    target: str = "y"

    @classmethod
    def from_result(cls, local: LocalEffects) -> BeeswarmDisplay:
        """Return the picture of the values of one output."""
        order = local.order
        names = tuple(local.names[k] for k in order)
        is_category = np.array([name in local.levels for name in names], dtype=bool)
        return cls(
            names, local.values[:, order], local.data[:, order], is_category, local.target_name
        )

    def _size(self, max_inputs: int) -> tuple[float, float]:
        width, height = rows_size(min(len(self.names), max_inputs), 7.6)
        return width, height + 0.12 * min(len(self.names), max_inputs)

    def _draw(self, ax: Any, max_inputs: int) -> None:
        shown = self.names[:max_inputs]
        rows = some_rows(len(self.values))
        colors = low_to_high()
        for k in range(len(shown)):
            known = rows[np.isfinite(self.values[rows, k])]
            places = k + swarm(self.values[known, k])
            tint = ranks(self.data[known, k], bool(self.is_category[k]))
            plain = np.isnan(tint)
            point = {"s": 11, "linewidths": 0, "zorder": 4, "alpha": 0.8, "rasterized": True}
            x = self.values[known, k]
            ax.scatter(x[plain], places[plain], c=GREY, **point)
            ax.scatter(
                x[~plain], places[~plain], c=tint[~plain], cmap=colors, vmin=0, vmax=1, **point
            )
        dress_rows(ax, make_labels(list(shown)))
        self._add_key(ax, colors)
        ax.set_xlabel(
            f"what it adds to the prediction of {shortened(self.target, 40)}", fontsize=9, color=INK
        ).set_parse_math(False)
        set_title(ax, "What each input adds, row by row")

    def _add_key(self, ax: Any, colors: Any) -> None:
        mappable = matplotlib_module("cm").ScalarMappable(cmap=colors)
        shape = {"fraction": 0.02, "pad": 0.02, "aspect": 40}
        bar = color_bar(ax, mappable, ("low", "high"), ticks=[0, 1], **shape)
        bar.set_label("the input itself", fontsize=9, color=INK, labelpad=-12)

    def _columns(self) -> dict[str, Any]:
        n_rows, p = self.values.shape
        return {
            "input": [name for name in self.names for _ in range(n_rows)],
            "row": np.tile(np.arange(n_rows), p),
            "value": self.values.T.ravel(),
            "data": self.data.T.ravel(),
        }

    def __repr__(self) -> str:
        return f"BeeswarmDisplay({len(self.values)} rows, {len(self.names)} inputs)"
