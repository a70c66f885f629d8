"""Rows that are not independent: copies, units that were seen repeatedly, series in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from shaff.data.time import n_blocks_wanted
from shaff.fitting.checks.copies import dependent_twins
from shaff.fitting.checks.order import serial_correlation, wanders
from shaff.fitting.checks.residuals import residuals_of
from shaff.fitting.checks.units import repeated_unit
from shaff.fitting.facts import Facts


def dependence(facts: Facts) -> dict[str, Any]:
    """Run the checks of whether rows depend on each other, which is seen in held-out rows."""
    problem = facts.task.problem
    if facts.solution is None or facts.solution.errors is None:
        return {}
    if problem.time is not None:
        return {"wanders": wanders(problem), "n_blocks_wanted": _n_blocks(facts)}
    if problem.row_groups is not None or problem.has_splits:
        return {}
    unit, twins = repeated_unit(facts), dependent_twins(facts)
    if unit is not None or twins is not None:  # which often stand together, and look like a series
        return {"unit": unit, "twins": twins}
    left = residuals_of(facts)
    return {"serial": None if left is None else serial_correlation(problem, left)}


def _n_blocks(facts: Facts) -> int | None:
    assert facts.solution is not None
    psi, time = facts.solution.values.influences, facts.selection.problem.time
    if psi is None or time is None:
        return None
    return n_blocks_wanted(time, psi[0].astype(np.float64))
