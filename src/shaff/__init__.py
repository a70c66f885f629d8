"""Shapley effects from data, correct when inputs depend on each other."""

from shaff._version import __version__
from shaff.designs.forest_paths import ForestPaths
from shaff.effects import ShapleyEffects, shapley_effects
from shaff.result import EffectsResult, load_result

__all__ = [
    "EffectsResult",
    "ForestPaths",
    "ShapleyEffects",
    "__version__",
    "load_result",
    "shapley_effects",
]
