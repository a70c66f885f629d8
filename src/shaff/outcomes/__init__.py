"""Outcomes that are no plain column: survival with censoring, exceedance, counts per exposure."""

from shaff.outcomes.events import exceeds, rate
from shaff.outcomes.survival import survival_outcome

__all__ = ["exceeds", "rate", "survival_outcome"]
