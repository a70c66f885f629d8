"""Displays, one class a picture: data in an object that draws itself with matplotlib.

Each is made by ``from_result`` (or by `EffectsResult.plot`), those of single rows by ``from_local``
(or by the methods of `LocalEffects`); it keeps its arrays, and has ``plot``,
``frame``, ``save``, ``set_style`` and ``help``, which is what skore asks of a display.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from shaff.errors import InputError
from shaff.show.plots.beeswarm import BeeswarmDisplay
from shaff.show.plots.comparison import ComparisonDisplay
from shaff.show.plots.convergence import ConvergenceDisplay
from shaff.show.plots.dependence import DependenceDisplay
from shaff.show.plots.display import Display
from shaff.show.plots.effects import EffectsDisplay
from shaff.show.plots.interactions import InteractionsDisplay
from shaff.show.plots.local_dependence import LocalDependenceDisplay
from shaff.show.plots.many import ManyDisplay
from shaff.show.plots.outputs import OutputsDisplay
from shaff.show.plots.sobol import SobolDisplay
from shaff.show.plots.waterfall import WaterfallDisplay

if TYPE_CHECKING:
    from shaff.results.effects import EffectsResult

__all__ = [
    "BeeswarmDisplay",
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "DependenceDisplay",
    "Display",
    "EffectsDisplay",
    "InteractionsDisplay",
    "LocalDependenceDisplay",
    "ManyDisplay",
    "OutputsDisplay",
    "SobolDisplay",
    "WaterfallDisplay",
    "plot_result",
]

Kind = Literal["effects", "sobol", "dependence", "convergence", "outputs"]


def plot_result(
    result: EffectsResult,
    kind: Kind = "effects",
    *,
    ax: Any = None,
    max_players: int = 20,
    level: float = 0.95,
    sobol: bool = False,
) -> Display:
    """The picture of a result by its name; see `EffectsResult.plot`."""
    if kind == "effects":
        return EffectsDisplay.from_result(result, level).plot(ax, max_players, sobol=sobol)
    if kind == "outputs":
        return OutputsDisplay.from_result(result, level).plot(ax, max_players)
    others: dict[str, Any] = {
        "sobol": SobolDisplay,
        "dependence": DependenceDisplay,
        "convergence": ConvergenceDisplay,
    }
    if kind not in others:
        raise InputError(f"kind={kind!r} is unknown: use one of {get_args(Kind)}.")
    display: Display = others[kind].from_result(result)
    return display.plot(ax, max_players)
