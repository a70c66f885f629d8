"""Displays, one class for each picture: data in an object that draws itself with matplotlib.

Each is made by ``from_result``, or by the ``plot`` of a result, which takes the name that a picture
has in `KINDS`. It keeps its arrays, and has ``plot``, ``frame``, ``save``, ``set_style`` and
``help``, which is what skore asks of a display.
"""

from __future__ import annotations

from typing import Any

from shaff.errors import InputError
from shaff.results.base import Result
from shaff.results.change import Change
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.many import ManyEffects
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.results.selection import Selection
from shaff.show.plots.beeswarm import BeeswarmDisplay
from shaff.show.plots.change import ChangeDisplay
from shaff.show.plots.comparison import ComparisonDisplay
from shaff.show.plots.convergence import ConvergenceDisplay
from shaff.show.plots.dependence import DependenceDisplay
from shaff.show.plots.display import Display
from shaff.show.plots.effects import EffectsDisplay
from shaff.show.plots.interactions import InteractionsDisplay
from shaff.show.plots.local_dependence import LocalDependenceDisplay
from shaff.show.plots.many import ManyDisplay
from shaff.show.plots.marginal import MarginalDisplay
from shaff.show.plots.outputs import OutputsDisplay
from shaff.show.plots.path import PathDisplay
from shaff.show.plots.sobol import SobolDisplay
from shaff.show.plots.waterfall import WaterfallDisplay

__all__ = [
    "BeeswarmDisplay",
    "ChangeDisplay",
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "DependenceDisplay",
    "Display",
    "EffectsDisplay",
    "InteractionsDisplay",
    "LocalDependenceDisplay",
    "ManyDisplay",
    "MarginalDisplay",
    "OutputsDisplay",
    "PathDisplay",
    "SobolDisplay",
    "WaterfallDisplay",
    "make_display",
    "plot",
]

# The pictures of each result by name, the default first.
KINDS: dict[type[Result], dict[str, Any]] = {
    EffectsResult: {
        "effects": EffectsDisplay,
        "sobol": SobolDisplay,
        "dependence": DependenceDisplay,
        "convergence": ConvergenceDisplay,
        "outputs": OutputsDisplay,
    },
    LocalEffects: {
        "beeswarm": BeeswarmDisplay,
        "waterfall": WaterfallDisplay,
        "dependence": LocalDependenceDisplay,
    },
    Interactions: {"heatmap": InteractionsDisplay},
    Comparison: {"differences": ComparisonDisplay},
    Change: {"change": ChangeDisplay},
    ManyEffects: {"heatmap": ManyDisplay},
    Selection: {"path": PathDisplay},
    ProportionalMarginalEffects: {"effects": MarginalDisplay},
}


def make_display(result: Result, kind: str | None = None, **options: Any) -> Display:
    """Return the picture of a result by its name, not drawn yet; None means the default one.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.plots import make_display
    >>> make_display(example())
    EffectsDisplay(2 inputs, on y)
    """
    kinds = KINDS[type(result)]
    if kind is None:
        kind = next(iter(kinds))
    if kind not in kinds:
        known = ", ".join(f'"{name}"' for name in kinds)
        raise InputError(f"kind={kind!r} is unknown: use one of {known}.")
    display: Display = kinds[kind].from_result(result, **options)
    return display


def plot(
    result: Result,
    kind: str,
    *,
    ax: Any = None,
    max_inputs: int | None = None,
    sobol: bool = False,
    **options: Any,
) -> Display:
    """Draw a result; see the ``plot`` of its class."""
    display = make_display(result, kind, **options)
    n_drawn = display._default_inputs if max_inputs is None else max_inputs
    if isinstance(display, EffectsDisplay):
        return display.plot(ax, n_drawn, sobol=sobol)
    return display.plot(ax, n_drawn)
