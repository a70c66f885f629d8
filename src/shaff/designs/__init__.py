"""Step 1: which subsets to evaluate. `DESIGNS` is the registry of names."""

from __future__ import annotations

from typing import Any

from shaff.designs.exhaustive import Exhaustive
from shaff.designs.forest_paths import ForestPaths
from shaff.designs.gaussian_process import GaussianProcess
from shaff.designs.kernel_draws import KernelDraws
from shaff.designs.leave_one_out import LeaveOneOut
from shaff.designs.leverage import Leverage
from shaff.designs.monte_carlo import MonteCarlo
from shaff.designs.permutations import Permutations
from shaff.errors import InputError
from shaff.protocols import DesignSetting

__all__ = ["DESIGNS", "ForestPaths", "find_design"]

_SETTINGS: tuple[DesignSetting, ...] = (
    GaussianProcess(),
    ForestPaths(),
    Leverage(),
    MonteCarlo(),
    Permutations("antithetic"),
    Permutations("orthogonal"),
    Exhaustive(),
    # Those of the other systems in the paper's Table 1.
    Permutations("plain"),
    KernelDraws(),
    KernelDraws(paired=True),
    LeaveOneOut(),
)
DESIGNS: dict[str, DesignSetting] = {
    "auto": _SETTINGS[0],
    **{setting.name: setting for setting in _SETTINGS},
}


def find_design(design: Any) -> DesignSetting:
    """Return the setting of that name, or the setting itself; else raise an error with the names.

    Examples
    --------
    >>> from shaff.designs import find_design
    >>> find_design("auto").name
    'gaussian_process'
    """
    if isinstance(design, DesignSetting):
        return design
    if not isinstance(design, str) or design not in DESIGNS:
        raise InputError(
            f"design={design!r} is unknown: use one of {tuple(DESIGNS)}, or a DesignSetting."
        )
    return DESIGNS[design]
