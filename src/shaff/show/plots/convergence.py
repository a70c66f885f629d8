"""How the error of the design fell while subsets were evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff.errors import InputError
from shaff.results.effects import EffectsResult
from shaff.show.plots.display import (
    BLUE,
    GRID,
    INK,
    PURPLE,
    Display,
    dress,
    matplotlib_module,
    set_title,
)


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The largest standard error from evaluating some subsets only, beside that from the rows.

    Parameters
    ----------
    evaluations, errors : float arrays of shape (n_steps,)
    data_error : float or None
        Largest standard error from the rows, which more subsets do not lower.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.plots import ConvergenceDisplay
    >>> ConvergenceDisplay(np.array([20, 40]), np.array([0.01, 0.002])).plot().ax_.get_xlabel()
    'subsets evaluated'
    """

    evaluations: FloatArray
    errors: FloatArray
    data_error: float | None = None

    @classmethod
    def from_result(cls, result: EffectsResult, level: float = 0.95) -> ConvergenceDisplay:
        """Return the picture of a result whose design took several steps."""
        if result.convergence is None:
            raise InputError(
                "The design of this result took one step: there is no convergence to draw."
            )
        data = (result.errors_by_source or {}).get("data")
        largest = None if data is None else float(data.max())
        return cls(result.convergence[:, 0], result.convergence[:, 1], largest)

    def _size(self, max_inputs: int) -> tuple[float, float]:
        return 6.0, 3.4

    def _draw(self, ax: Any, max_inputs: int) -> None:
        ax.plot(self.evaluations, self.errors, color=BLUE, marker="o", markersize=5, zorder=3)
        if self.data_error:
            ax.axhline(self.data_error, color=PURPLE, linestyle="--", linewidth=1.2, zorder=2)
            ax.annotate("error from the rows, which more subsets do not lower",
                        (1, self.data_error), xycoords=("axes fraction", "data"), ha="right",
                        xytext=(0, 4), textcoords="offset points", fontsize=9,
                        color=PURPLE)  # fmt: skip
        dress(ax)
        ax.set_yscale("log", subs=[])
        ticker = matplotlib_module("ticker")
        ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        ax.grid(color=GRID, linewidth=0.8, zorder=0)
        ax.margins(y=0.15)
        ax.set_xlabel("subsets evaluated", fontsize=9, color=INK)
        ax.set_ylabel("largest standard error", fontsize=9, color=INK)
        set_title(ax, "Error from not evaluating every subset")

    def _columns(self) -> dict[str, Any]:
        return {"evaluations": np.array(self.evaluations), "design_error": np.array(self.errors)}

    def __repr__(self) -> str:
        return f"ConvergenceDisplay({len(self.errors)} steps)"
