"""Step 3: from values to effects. `SOLVERS` is the registry of names."""

from __future__ import annotations

from typing import Any

from shaff.errors import InputError
from shaff.protocols import DesignSetting, SolverSetting
from shaff.solve.gaussian_process import BayesianQuadrature
from shaff.solve.least_squares import LeastSquares
from shaff.solve.permutations import PermutationMeans
from shaff.solve.total_sobol import TotalSobol

__all__ = ["SOLVERS", "find_solver"]

_SETTINGS: tuple[SolverSetting, ...] = (
    LeastSquares(),
    BayesianQuadrature(),
    PermutationMeans(),
    TotalSobol(),
)
SOLVERS: dict[str, SolverSetting] = {setting.name: setting for setting in _SETTINGS}
# The kinds of proposals, in words.
_KINDS = {"subsets": "subsets", "orders": "permutations", "all_but_one": "all inputs but one"}


def find_solver(solver: Any, design: DesignSetting) -> SolverSetting:
    """Return the setting of that name ("auto" means the design's own), or the setting itself.

    A solver that cannot take what the design gives, or is not known, is an error.

    Examples
    --------
    >>> from shaff.designs import find_design
    >>> from shaff.solve import find_solver
    >>> find_solver("auto", find_design("leverage")).name
    'least_squares'
    """
    found = _find(design.solver if solver == "auto" else solver)
    if design.gives not in found.takes:
        kinds = " or ".join(_KINDS.get(kind, kind) for kind in found.takes)
        raise InputError(f'solver="{found.name}" needs a design of {kinds}, not {design.name!r}.')
    return found


def _find(solver: Any) -> SolverSetting:
    if isinstance(solver, SolverSetting):
        return solver
    if not isinstance(solver, str) or solver not in SOLVERS:
        names = ("auto", *SOLVERS)
        raise InputError(f"solver={solver!r} is unknown: use one of {names}, or a SolverSetting.")
    return SOLVERS[solver]
