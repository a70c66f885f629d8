"""Effects on each class or output alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff.errors import InputError
from shaff.results.effects import EffectsResult
from shaff.show.plots.display import (
    BRIGHT,
    INK,
    MARKERS,
    Display,
    dress_rows,
    key_above,
    no_formulas,
    rows_size,
    set_title,
)
from shaff.show.plots.labels import make_labels, target_label


@dataclass(eq=False, repr=False)
class OutputsDisplay(Display):
    """A dot with its interval for each class or output, in one row per input.

    Parameters
    ----------
    names : tuple of str
        Inputs, in drawing order.
    effects : dict of float arrays of shape (n_inputs,)
        By class or output; at most seven are drawn, those with most explained.
    low, high : dicts of float arrays of shape (n_inputs,)
        Intervals, where there are any.
    target : str or None
    measure : str, default="variance"
        What effects are shares of.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import OutputsDisplay
    >>> display = OutputsDisplay(("a",), {"yes": np.array([0.2]), "no": np.array([0.1])})
    >>> [text.get_text() for text in display.plot().ax_.get_legend().get_texts()]
    ['yes', 'no']
    """

    names: tuple[str, ...]
    effects: Mapping[str, FloatArray]
    low: Mapping[str, FloatArray] = field(default_factory=dict)
    high: Mapping[str, FloatArray] = field(default_factory=dict)
    target: str | None = None
    measure: str = "variance"

    @classmethod
    def from_result(cls, result: EffectsResult, level: float = 0.95) -> OutputsDisplay:
        """Return the picture of a result with several classes or outputs."""
        if result.per_output is None:
            raise InputError("This result has one output only: draw its effects.")
        columns = {output: result._output_columns(output, level) for output in result.outputs}

        def ordered(name: str) -> dict[str, FloatArray]:
            return {k: c[name][result.order] for k, c in columns.items() if name in c}

        names = tuple(result.names[j] for j in result.order)
        return cls(
            names, ordered("effect"), ordered("low"), ordered("high"), result.target, result.measure
        )

    def _size(self, max_inputs: int) -> tuple[float, float]:
        width, height = rows_size(min(len(self.names), max_inputs))
        return width, height * (1 + 0.12 * len(self._shown))

    @property
    def _shown(self) -> list[str]:
        explained = {output: -float(e.sum()) for output, e in self.effects.items()}
        kept = sorted(explained, key=lambda output: explained[output])[: len(BRIGHT)]
        return [output for output in self.effects if output in kept]

    def _draw(self, ax: Any, max_inputs: int) -> None:
        rows, shown = np.arange(min(len(self.names), max_inputs)), self._shown
        offsets = 0.62 * (np.arange(len(shown)) - (len(shown) - 1) / 2) / max(len(shown), 1)
        labels, handles = make_labels(list(shown)), []
        for k, output in enumerate(shown):
            places, color = rows + offsets[k], BRIGHT[k]
            if output in self.low:
                low, high = self.low[output][rows], self.high[output][rows]
                ax.hlines(places, low, high, color=color, linewidth=1.3, zorder=3)
            handles.append(ax.scatter(
                self.effects[output][rows], places, s=30, marker=MARKERS[k], c=color,
                edgecolors="white", linewidths=0.6, zorder=4, label=labels[k],
            ))  # fmt: skip
        dress_rows(ax, make_labels(list(self.names[: len(rows)])))
        key_above(ax, handles, columns=4)
        no_formulas(ax.get_legend().get_texts())
        ax.set_xlabel(f"share of the {self.measure} of each class or output", fontsize=9, color=INK)
        said = f"Shapley effects on each class or output of {target_label(self.target)}"
        set_title(ax, said, pad=44 if len(shown) > 4 else 28)

    def _columns(self) -> dict[str, Any]:
        outputs = [output for output in self.effects for _ in self.names]
        columns: dict[str, Any] = {"output": outputs, "input": list(self.names) * len(self.effects)}
        for name, arrays in (("effect", self.effects), ("low", self.low), ("high", self.high)):
            if arrays:
                columns[name] = np.concatenate(list(arrays.values()))
        return columns

    def __repr__(self) -> str:
        return f"OutputsDisplay({len(self.names)} inputs, {len(self.effects)} outputs)"
