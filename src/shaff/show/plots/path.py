"""What the best set of each size explains."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import counted, shortened
from shaff.errors import InputError
from shaff.results.selection import Selection
from shaff.show.plots.display import (
    BLUE,
    GRID,
    INK,
    PALE,
    PURPLE,
    Display,
    dress,
    matplotlib_module,
    no_formulas,
    set_title,
)

# Sizes drawn beyond the set that is kept, at least, and sizes whose words have room to lean.
_MORE, _CROWDED = 3, 24
_NAME = 18


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """Explained variance of the best set of each size, beside that of all inputs.

    Parameters
    ----------
    values, errors : float arrays of shape (n_sizes,)
        What the best set of 0, 1, 2, ... inputs explains on held-out rows, and the standard error
        of the difference to all inputs.
    refitted : float array of shape (n_sizes,)
        The same by learners that were fitted on the set alone; NaN where none were.
    labels : tuple of str
        What each size has that the size before had not; empty where inputs were exchanged.
    size : int
        Size of the set that is kept.
    explained_variance : float
        What all inputs explain.
    target : str, default="y"

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import PathDisplay
    >>> v, none = np.array([0.0, 0.4, 0.5]), np.full(3, np.nan)
    >>> PathDisplay(v, np.full(3, 0.01), none, ("", "bmi", "age"), 2, 0.5).plot()
    PathDisplay(2 sizes, 2 inputs kept)
    """

    values: FloatArray
    errors: FloatArray
    refitted: FloatArray
    labels: tuple[str, ...]
    size: int
    explained_variance: float
    target: str = "y"

    @classmethod
    def from_result(cls, found: Selection) -> PathDisplay:
        """Return the picture of a selection of the fewest inputs."""
        if not found.path:
            raise InputError(
                "Only the minimal set has a path: draw the effects of relevant inputs by "
                "result_.plot()."
            )
        return cls(
            np.array([step.explained_variance for step in found.path]),
            np.array([step.standard_error for step in found.path]),
            np.array([step.refitted for step in found.path], dtype=np.float64),
            _labels([set(step.inputs) for step in found.path]),
            int(found.kept.sum()),
            found.explained_variance,
            found.target or "y",
        )

    def _drawn_sizes(self, max_inputs: int) -> int:
        return min(len(self.values), max(max_inputs, self.size + _MORE) + 1)

    def _size(self, max_inputs: int) -> tuple[float, float]:
        return min(4.0 + 0.35 * self._drawn_sizes(max_inputs), 11.0), 4.0

    def _draw(self, ax: Any, max_inputs: int) -> None:
        n = self._drawn_sizes(max_inputs)
        sizes, v, error = np.arange(n), self.values[:n], self.errors[:n]
        ax.fill_between(sizes, v - error, v + error, color=PALE, alpha=0.6, linewidth=0, zorder=1,
                        label="± standard error of the difference to all")  # fmt: skip
        ax.plot(sizes, v, color=BLUE, marker="o", markersize=4.5, zorder=3,
                label="best set of each size")  # fmt: skip
        ax.axhline(self.explained_variance, color=INK, linewidth=1, linestyle="--", zorder=2,
                   label="all inputs")  # fmt: skip
        known = np.flatnonzero(~np.isnan(self.refitted[:n]))
        if len(known):
            ax.plot(known, self.refitted[known], color=PURPLE, marker="D", markersize=6, zorder=4,
                    fillstyle="none", linestyle="none", label="refitted on the set")  # fmt: skip
        self._dress(ax, n)

    def _dress(self, ax: Any, n: int) -> None:
        dress(ax)
        ax.axvline(self.size, color=GRID, linewidth=6, zorder=0)
        ax.grid(axis="y", color=GRID, linewidth=0.8, zorder=0)
        words = [self._word(size) for size in range(n)]
        slope = {"rotation": 90, "va": "center"} if n > _CROWDED else {"rotation": 45}
        ax.set_xticks(range(n), words, ha="right", rotation_mode="anchor", **slope)
        no_formulas(ax.get_xticklabels())
        ax.get_xticklabels()[min(self.size, n - 1)].set_fontweight("bold")
        ax.yaxis.set_major_locator(matplotlib_module("ticker").MaxNLocator(6))
        ax.set_ylabel("explained variance on held-out rows", fontsize=9, color=INK)
        ax.set_xlabel("number of inputs, and which one is new", fontsize=9, color=INK)
        # The curve rises to the right, unless nothing is explained.
        place = "lower right" if self.size else "best"
        ax.legend(frameon=False, fontsize=9, labelcolor=INK, loc=place)
        target = shortened(self.target, 30)
        enough = f"{counted(self.size, 'input')} predict{'s' * (self.size == 1)} {target} as well"
        set_title(ax, f"{enough} as all" if self.size else f"No input is kept for {target}")

    def _word(self, size: int) -> str:
        """What stands below a size."""
        new = self.labels[size]
        exchanged = "" if size == 0 else "  another set"
        return f"{size}  + {shortened(new, _NAME)}" if new else f"{size}{exchanged}"

    def _columns(self) -> dict[str, Any]:
        return {
            "size": np.arange(len(self.values)),
            "explained_variance": np.array(self.values),
            "standard_error": np.array(self.errors),
            "refitted": np.array(self.refitted),
            "new_input": list(self.labels),
        }

    def __repr__(self) -> str:
        return f"PathDisplay({len(self.values) - 1} sizes, {self.size} inputs kept)"


def _labels(sets: list[set[str]]) -> tuple[str, ...]:
    """What is new in each set; nothing is said where inputs went as well."""
    labels = [""]
    for before, now in pairwise(sets):
        new, gone = now - before, before - now
        labels.append(next(iter(new)) if len(new) == 1 and not gone else "")
    return tuple(labels)
