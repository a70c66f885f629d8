"""Notes about the learner."""

from __future__ import annotations

from collections.abc import Iterator

from shaff.fitting.facts import Facts


def about_the_learner(facts: Facts) -> Iterator[str]:
    """What the value function says about itself."""
    if facts.game is not None:
        yield from facts.game.notes
