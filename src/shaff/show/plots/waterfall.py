"""How one prediction comes about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import counted, shortened
from shaff.errors import InputError
from shaff.results.local import LocalEffects
from shaff.show.plots.display import BLUE, INK, RED, Display, name_rows, rows_size, set_title
from shaff.show.plots.labels import make_labels
from shaff.show.rows import quantity_digits, typeset

MAX_LABEL = 18
# Half of the height of a bar, and where the line from the mean begins.
_HALF, _TOP = 0.31, -0.62


@dataclass(eq=False, repr=False)
class WaterfallDisplay(Display):
    """From the mean to the prediction of one row, the largest steps first.

    Parameters
    ----------
    names : tuple of str
        Inputs, in drawing order.
    labels : tuple of str
        Their values in the row; may be empty.
    values : float array of shape (n_inputs,)
    base, prediction : float
    errors : float array of shape (n_inputs,) or None
        Standard errors of the values.
    target : str
    row : int
        Position of the row in the table.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import WaterfallDisplay
    >>> display = WaterfallDisplay(("a", "b"), ("3", ""), np.array([0.5, -0.2]), 1.0, 1.3).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['a = 3', 'b']
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    values: FloatArray
    base: float
    prediction: float
    errors: FloatArray | None = None
    target: str = "y"
    row: int = 0
    _default_inputs = 12

    @classmethod
    def from_result(cls, local: LocalEffects, row: int = 0) -> WaterfallDisplay:
        """Return the picture of the row at this position."""
        local = local.take([row])
        values = local.values[0]
        if np.isnan(values).any():
            raise InputError("This row has no values: no model was trained without it.")
        order = np.argsort(-np.abs(values), kind="stable")
        return cls(
            tuple(local.names[k] for k in order),
            tuple(shortened(local.label(0, int(k)), MAX_LABEL) for k in order),
            values[order],
            local.base,
            float(local.predictions[0]),
            None if local.standard_errors is None else local.standard_errors[0, order],
            local.target_name,
            int(local.rows[0]),
        )

    def _size(self, max_inputs: int) -> tuple[float, float]:
        width, height = rows_size(min(len(self.names), max_inputs))
        return width, height + 0.8

    @property
    def _digits(self) -> int:
        """Three figures of the largest step, and as many digits for all."""
        return quantity_digits(float(np.abs(self.values).max(initial=0.0)))

    def _draw(self, ax: Any, max_inputs: int) -> None:
        names, values = self._shown(max_inputs)
        ends = self.base + np.cumsum(values)
        starts = np.concatenate([[self.base], ends[:-1]])
        places, colors = np.arange(len(values)), [RED if v > 0 else BLUE for v in values]
        ax.barh(places, values, left=starts, color=colors, height=2 * _HALF, zorder=3)
        # From the mean down through the steps to the prediction.
        levels = np.concatenate([[self.base], ends])
        tops, bottoms = (
            np.append(_TOP, places + _HALF),
            np.append(places - _HALF, len(values) - 0.4),
        )
        ax.vlines(levels, tops, bottoms, color=INK, linewidth=0.8, zorder=2)
        if self.errors is not None:
            errors = np.append(self.errors, 0.0)[: len(values)]
            ax.hlines(places, ends - errors, ends + errors, color=INK, linewidth=1.2, zorder=4)
        span = max(float(np.ptp(levels)), 1e-12)
        reach = np.zeros(len(values)) if self.errors is None else errors * (values > 0)
        self._write(ax, places, starts, ends, reach + 0.012 * span)
        self._dress(ax, names, levels, span)

    def _shown(self, max_inputs: int) -> tuple[list[str], FloatArray]:
        """The largest steps, and all others as one."""
        labels = make_labels(list(self.names))
        full = [f"{n} = {v}" if v else n for n, v in zip(labels, self.labels, strict=True)]
        if len(full) <= max_inputs:
            return full, self.values
        first = max_inputs - 1
        rest = f"{counted(len(full) - first, 'other')} together"
        return [*full[:first], rest], np.append(self.values[:first], self.values[first:].sum())

    def _write(
        self, ax: Any, places: Any, starts: FloatArray, ends: FloatArray, gaps: FloatArray
    ) -> None:
        """Each step as a number, beyond its end."""
        for place, start, end, gap in zip(places, starts, ends, gaps, strict=True):
            step = end - start
            ax.text(
                max(start, end) + gap, place, typeset(f"{step:+z.{self._digits}f}"),
                va="center", ha="left", fontsize=8, color=INK, zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )  # fmt: skip

    def _dress(self, ax: Any, names: list[str], levels: FloatArray, span: float) -> None:
        name_rows(ax, names)
        ax.set_ylim(len(names) + 0.1, -1.1)
        ax.set_xlim(levels.min() - 0.06 * span, levels.max() + 0.16 * span)
        ends = (("mean", self.base, _TOP, "bottom"),
                ("prediction", self.prediction, len(names) - 0.4, "top"))  # fmt: skip
        for what, value, height, side in ends:
            text = typeset(f"{what} {value:z.{self._digits}f}")
            # Away from the nearer edge, so that no end of the picture cuts it.
            away = "left" if value < levels.mean() else "right"
            ax.text(value, height, text, va=side, ha=away, fontsize=9, color=INK, weight="bold")
        ax.set_xlabel(shortened(self.target, 60), fontsize=9, color=INK).set_parse_math(False)
        set_title(ax, f"Row {self.row}: how its prediction comes about")

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "input": list(self.names),
            "data": list(self.labels),
            "value": self.values,
        }
        return columns if self.errors is None else {**columns, "standard_error": self.errors}

    def __repr__(self) -> str:
        return f"WaterfallDisplay(row {self.row}, {len(self.names)} inputs)"
