"""Shapley effects from data, correct when inputs depend on each other."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from shaff._version import __version__

if _TYPE_CHECKING:
    from shaff.change import explain_change
    from shaff.comparing import compare
    from shaff.data.outcome import DerivedOutcome
    from shaff.designs.forest_paths import ForestPaths
    from shaff.estimator import ShapleyEffects, explain_model, shapley_effects
    from shaff.games import GameSolution, solve_game
    from shaff.many import explain_many
    from shaff.outcomes.events import exceeds, rate
    from shaff.outcomes.survival import survival_outcome
    from shaff.results.change import Change
    from shaff.results.comparison import Comparison
    from shaff.results.effects import EffectsResult
    from shaff.results.files import load_result
    from shaff.results.interactions import Interactions
    from shaff.results.local import LocalEffects
    from shaff.results.many import ManyEffects
    from shaff.results.marginal import ProportionalMarginalEffects
    from shaff.results.selection import Selection
    from shaff.selection import AllRelevantSelector, MinimalSetSelector
    from shaff.simulators import Simulation, explain_simulator
    from shaff.values.forest.setting import ForestValues

__all__ = [
    "AllRelevantSelector",
    "Change",
    "Comparison",
    "DerivedOutcome",
    "EffectsResult",
    "ForestPaths",
    "ForestValues",
    "GameSolution",
    "Interactions",
    "LocalEffects",
    "ManyEffects",
    "MinimalSetSelector",
    "ProportionalMarginalEffects",
    "Selection",
    "ShapleyEffects",
    "Simulation",
    "__version__",
    "compare",
    "exceeds",
    "explain_change",
    "explain_many",
    "explain_model",
    "explain_simulator",
    "load_result",
    "rate",
    "shapley_effects",
    "solve_game",
    "survival_outcome",
]

_HOMES = {
    "Change": "shaff.results.change",
    "AllRelevantSelector": "shaff.selection",
    "Comparison": "shaff.results.comparison",
    "DerivedOutcome": "shaff.data.outcome",
    "EffectsResult": "shaff.results.effects",
    "ForestPaths": "shaff.designs.forest_paths",
    "ForestValues": "shaff.values.forest.setting",
    "GameSolution": "shaff.games",
    "Interactions": "shaff.results.interactions",
    "LocalEffects": "shaff.results.local",
    "ManyEffects": "shaff.results.many",
    "MinimalSetSelector": "shaff.selection",
    "Selection": "shaff.results.selection",
    "ProportionalMarginalEffects": "shaff.results.marginal",
    "ShapleyEffects": "shaff.estimator",
    "Simulation": "shaff.simulators",
    "compare": "shaff.comparing",
    "explain_change": "shaff.change",
    "exceeds": "shaff.outcomes.events",
    "explain_many": "shaff.many",
    "explain_simulator": "shaff.simulators",
    "explain_model": "shaff.estimator",
    "load_result": "shaff.results.files",
    "rate": "shaff.outcomes.events",
    "shapley_effects": "shaff.estimator",
    "solve_game": "shaff.games",
    "survival_outcome": "shaff.outcomes.survival",
}
_MODULES = ("datasets", "errors", "protocols", "subsets")


def __getattr__(name: str) -> object:
    """Public names and modules are imported when asked for: ``shaff --help`` needs few of them."""
    if name in _HOMES:
        return getattr(_import_module(_HOMES[name]), name)
    if name in _MODULES:
        return _import_module(f"shaff.{name}")
    raise AttributeError(f"module 'shaff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
