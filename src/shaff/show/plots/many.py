"""Many results in one picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import decimals
from shaff.errors import InputError
from shaff.results.many import ManyEffects
from shaff.show.plots.display import INK, Display, dress, no_formulas, set_title
from shaff.show.plots.labels import make_labels

# Cells up to which each has its number.
_MOST_NUMBERS = 300


@dataclass(eq=False, repr=False)
class ManyDisplay(Display):
    """A table of colours: a row for each result, a column for each input.

    Parameters
    ----------
    labels : tuple of str
        Names of the results.
    names : tuple of str
        The inputs, the largest mean effect first.
    effects : float array of shape (n_results, n_inputs)
        NaN where a result does not have an input.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import ManyDisplay
    >>> display = ManyDisplay(("Rome", "Oslo"), ("age",), np.array([[0.1], [0.3]])).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['Rome', 'Oslo']
    """

    labels: tuple[str, ...]
    names: tuple[str, ...]
    effects: FloatArray

    @classmethod
    def from_result(cls, many: ManyEffects) -> ManyDisplay:
        """Return the picture of results, which need not have the same inputs."""
        if not many.results:
            raise InputError("All of them failed: there is nothing to draw.")
        results = {many._label(key): result for key, result in many.results.items()}
        names = list(dict.fromkeys(name for result in results.values() for name in result.names))
        effects = np.full((len(results), len(names)), np.nan)
        for row, result in zip(effects, results.values(), strict=True):
            row[[names.index(name) for name in result.names]] = result.effects
        order = np.argsort(-np.nanmean(effects, axis=0), kind="stable")
        return cls(tuple(results), tuple(names[j] for j in order), effects[:, order])

    def _size(self, max_inputs: int) -> tuple[float, float]:
        n_columns = min(len(self.names), max_inputs)
        return 3.0 + 0.55 * n_columns, 1.8 + 0.28 * len(self.labels)

    def _draw(self, ax: Any, max_inputs: int) -> None:
        shown = self.effects[:, :max_inputs]
        dress(ax)
        # Seen on white, and read by colour-blind eyes and in print.
        ax.imshow(shown, aspect="auto", cmap="Blues", vmin=0, vmax=np.nanmax([*shown.flat, 1e-12]))
        ax.set_yticks(range(len(self.labels)), make_labels(list(self.labels)))
        names = make_labels(list(self.names[:max_inputs]))
        ax.set_xticks(range(len(names)), names, rotation=40, ha="right")
        no_formulas([*ax.get_yticklabels(), *ax.get_xticklabels()])
        if shown.size <= _MOST_NUMBERS:
            self._write_numbers(ax, shown)
        set_title(ax, "Shapley effects, a row for each result")

    @staticmethod
    def _write_numbers(ax: Any, shown: FloatArray) -> None:
        largest = float(np.nanmax(shown, initial=0.0))
        digits = min(decimals(largest), 3)
        for (row, column), effect in np.ndenumerate(shown):
            if not np.isnan(effect):
                color = "white" if effect > 0.6 * largest else INK
                ax.text(column, row, f"{effect:.{digits}f}", ha="center", va="center",
                        fontsize=7, color=color)  # fmt: skip

    def _columns(self) -> dict[str, Any]:
        return {
            "result": [label for label in self.labels for _ in self.names],
            "input": list(self.names) * len(self.labels),
            "effect": self.effects.ravel(),
        }

    def __repr__(self) -> str:
        return f"ManyDisplay({len(self.labels)} results, {len(self.names)} inputs)"
