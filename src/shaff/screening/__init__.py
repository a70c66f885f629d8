"""Selection of players among many: a screen inside each fold, and one score of the others."""

from shaff.screening.choice import FEWEST, screen
from shaff.screening.selection import (
    OTHERS,
    GroupedValues,
    PlayerSelection,
    select_players,
    select_together,
)

__all__ = [
    "FEWEST",
    "OTHERS",
    "GroupedValues",
    "PlayerSelection",
    "screen",
    "select_players",
    "select_together",
]
