"""Which inputs go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.summary import cluster_order
from shaff.errors import InputError
from shaff.results.effects import EffectsResult
from shaff.show.plots.display import Display, color_bar, dress, no_formulas, set_title
from shaff.show.plots.labels import make_labels


@dataclass(eq=False, repr=False)
class DependenceDisplay(Display):
    """Associations of all pairs of columns; associated columns stand side by side.

    Parameters
    ----------
    names : tuple of str
    association : float array of shape (n_columns, n_columns)
        From -1 to 1, see `shaff.data.summary.associations`; the first columns matter most.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import DependenceDisplay
    >>> display = DependenceDisplay(("a", "b"), np.array([[1.0, 0.8], [0.8, 1.0]])).plot()
    >>> display.ax_.get_title(loc="left")
    'Which inputs go together'
    """

    names: tuple[str, ...]
    association: FloatArray

    @classmethod
    def from_result(cls, result: EffectsResult, level: float = 0.95) -> DependenceDisplay:
        """Return the picture of a result that knows its data."""
        if result.data is None:
            raise InputError("This result does not say how its inputs are associated.")
        names = tuple(column.name for column in result.data.columns)
        return cls(names, result.data.association)

    def _size(self, max_inputs: int) -> tuple[float, float]:
        side = 2.6 + 0.26 * min(len(self.names), max_inputs)
        return side + 1.0, side

    def _draw(self, ax: Any, max_inputs: int) -> None:
        first = self.association[:max_inputs, :max_inputs]
        order = cluster_order(first)
        names = make_labels([self.names[j] for j in order])
        image = ax.imshow(first[np.ix_(order, order)], cmap="RdBu", vmin=-1, vmax=1)
        dress(ax)
        ax.set_xticks(range(len(names)), names, rotation=90)
        ax.set_yticks(range(len(names)), names)
        no_formulas([*ax.get_xticklabels(), *ax.get_yticklabels()])
        words = ("opposite", "nothing", "together")
        color_bar(ax, image, words, shrink=0.6, ticks=[-1, 0, 1])
        set_title(ax, "Which inputs go together")

    def _columns(self) -> dict[str, Any]:
        one, other = np.triu_indices(len(self.names), 1)
        found = self.association[one, other]
        order = np.argsort(-np.abs(found), kind="stable")
        return {
            "column_1": [self.names[j] for j in one[order]],
            "column_2": [self.names[j] for j in other[order]],
            "association": found[order],
        }

    def __repr__(self) -> str:
        return f"DependenceDisplay({len(self.names)} columns)"
