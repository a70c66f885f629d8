"""Who plays, when there are many: a screen inside each fold, and one score of the others."""

from shaff.screening.cast import OTHERS, Cast, Together, cast_players, cast_together
from shaff.screening.choice import FEWEST, screen
from shaff.screening.twins import interchangeable

__all__ = [
    "FEWEST",
    "OTHERS",
    "Cast",
    "Together",
    "cast_players",
    "cast_together",
    "interchangeable",
    "screen",
]
