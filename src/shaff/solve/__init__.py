"""Step 3: from values to effects. `make_solver` is the registry of names."""

from __future__ import annotations

from typing import Any

from shaff.protocols import Design, Solver
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.solve.odd_process import Proxy
from shaff.solve.permutations import PermutationSolver
from shaff.solve.total_sobol import TotalSobolSolver
from shaff.subsets import FloatArray

__all__ = ["SOLVERS", "make_solver"]

SOLVERS = ("auto", "least_squares", "gaussian_process", "permutations", "total_sobol")
_ORDERS = ("antithetic", "orthogonal", "permutations")
# What "auto" means for each design.
_BY_DESIGN = {
    "gaussian_process": "gaussian_process",
    "exhaustive": "gaussian_process",
    **dict.fromkeys(_ORDERS, "permutations"),
    "leave_one_out": "total_sobol",
}


def check_solver(solver: Any, design: str) -> str:
    """The name of the solver, with "auto" resolved, or a ValueError that lists the names."""
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown: use one of {SOLVERS}.")
    if solver == "permutations" and design not in _ORDERS:
        raise ValueError(f'solver="permutations" needs a design of permutations, not {design!r}.')
    if (solver == "total_sobol") != (design == "leave_one_out") and solver != "auto":
        raise ValueError('solver="total_sobol" and design="leave_one_out" go together only.')
    return _BY_DESIGN.get(design, "least_squares") if solver == "auto" else str(solver)


def make_solver(
    name: str, design: Design, relevance: FloatArray | None = None, proxy: Proxy | None = None
) -> Solver:
    """The solver of that name, for what the design has proposed."""
    if name == "gaussian_process":
        return GaussianProcessSolver(proxy=proxy, relevance=relevance)
    if name == "permutations":
        return PermutationSolver(design.orders)  # type: ignore[attr-defined]
    if name == "total_sobol":
        return TotalSobolSolver()
    return LeastSquaresSolver(active=getattr(design, "active", None))
