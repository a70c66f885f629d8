"""The learners that ``estimator`` of `ShapleyEffects` knows by name: a new one is one line here.

Nothing of a learner is imported before it is used, so that the command line knows the names at
no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shaff.data.problem import Problem
    from shaff.protocols import Game, ValueFunction


@dataclass(frozen=True)
class Learner:
    """A learner that has a name.

    Parameters
    ----------
    name : str
        What ``estimator`` takes, and what a result calls it.
    words : str
        The learner in a sentence, with its article.
    place : str
        Module under `shaff.values` and function of a problem that makes the value function.

    Examples
    --------
    >>> from shaff.values.registry import LEARNERS
    >>> LEARNERS["forest"].words
    'a random forest'
    """

    name: str
    words: str
    place: str

    @property
    def make(self) -> Callable[[Problem], ValueFunction | Game]:
        """The function that makes the value function, imported now."""
        module, function = self.place.split(":")
        found: Callable[[Problem], ValueFunction | Game]
        found = getattr(import_module(f"shaff.values.{module}"), function)
        return found


# Those of other systems are in `shaff.values.published.systems`.
LEARNERS = {
    learner.name: learner
    for learner in (
        Learner("auto", "boosted trees and smooth curves", "auto:make_auto"),
        Learner("forest", "a random forest", "forest.grown:make_forest"),
        Learner("boosting", "boosted trees", "boosting.grown:make_boosting"),
        Learner("smooth", "smooth curves", "smooth.smooth_values:make_smooth"),
        Learner("stack", "a blend of models", "stack:make_stack"),
    )
}


def learner_words(name: str) -> str:
    """Return a learner in words, by the name that a result has for it.

    Examples
    --------
    >>> from shaff.values.registry import learner_words
    >>> learner_words("boosting"), learner_words("path_dependent"), learner_words("none")
    ('boosted trees', 'path dependent', 'no model')
    """
    if name == "none":  # of an outcome that does not vary
        return "no model"
    return LEARNERS[name].words if name in LEARNERS else name.replace("_", " ")
