"""A small result for the examples in docstrings."""

from __future__ import annotations

from typing import Any

from shaff.results.effects import EffectsResult


def example(**changes: Any) -> EffectsResult:
    """Return a result of two inputs, with some fields changed.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> example()
    EffectsResult(2 inputs, explained variance 0.400, largest effect 'bmi' 0.300)
    """
    effects = changes.get("effects", [0.1, 0.3])
    fields: dict[str, Any] = {
        "names": ("age", "bmi"),
        "effects": effects,
        "raw_effects": effects,
        "explained_variance": sum(effects),
        "n_rows": 442,
        "n_subsets": 4,
        "estimator": "forest",
        "design": "exhaustive",
        "solver": "least_squares",
    }
    return EffectsResult(**{**fields, **changes})
