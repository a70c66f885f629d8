"""Shapley effects from data, correct when inputs depend on each other."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from shaff._version import __version__

if _TYPE_CHECKING:
    from shaff.comparing import compare
    from shaff.designs.forest_paths import ForestPaths
    from shaff.estimator import ShapleyEffects, explain_model, shapley_effects
    from shaff.games import GameSolution, solve_game
    from shaff.many import explain_many
    from shaff.results.comparison import Comparison
    from shaff.results.effects import EffectsResult
    from shaff.results.files import load_result
    from shaff.results.interactions import Interactions
    from shaff.results.local import LocalEffects
    from shaff.results.many import ManyEffects
    from shaff.simulators import Simulation, explain_simulator
    from shaff.values.forest.setting import ForestValues

__all__ = [
    "Comparison",
    "EffectsResult",
    "ForestPaths",
    "ForestValues",
    "GameSolution",
    "Interactions",
    "LocalEffects",
    "ManyEffects",
    "ShapleyEffects",
    "Simulation",
    "__version__",
    "compare",
    "explain_many",
    "explain_model",
    "explain_simulator",
    "load_result",
    "shapley_effects",
    "solve_game",
]

_HOMES = {
    "Comparison": "shaff.results.comparison",
    "EffectsResult": "shaff.results.effects",
    "ForestPaths": "shaff.designs.forest_paths",
    "ForestValues": "shaff.values.forest.setting",
    "GameSolution": "shaff.games",
    "Interactions": "shaff.results.interactions",
    "LocalEffects": "shaff.results.local",
    "ManyEffects": "shaff.results.many",
    "ShapleyEffects": "shaff.estimator",
    "Simulation": "shaff.simulators",
    "compare": "shaff.comparing",
    "explain_many": "shaff.many",
    "explain_simulator": "shaff.simulators",
    "explain_model": "shaff.estimator",
    "load_result": "shaff.results.files",
    "shapley_effects": "shaff.estimator",
    "solve_game": "shaff.games",
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
