"""Step 1: which subsets to price. `make_design` is the registry of names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.designs.forest_paths import WEIGHTINGS, ForestPaths, ForestPathsDesign, path_subsets
from shaff.designs.gaussian_process import GaussianProcessDesign
from shaff.designs.kernel_draws import KernelDrawsDesign
from shaff.designs.leave_one_out import LeaveOneOutDesign
from shaff.designs.leverage import LeverageDesign
from shaff.designs.monte_carlo import MonteCarloDesign
from shaff.designs.permutations import PermutationDesign
from shaff.protocols import Design
from shaff.solve.odd_process import Proxy
from shaff.subsets import FloatArray
from shaff.trees.forest import Forest

__all__ = ["DESIGNS", "DesignContext", "ForestPaths", "make_design"]

DEFAULT_TOLERANCE = 0.003
LARGEST_EXHAUSTIVE = 16  # players


@dataclass(frozen=True, eq=False)
class DesignContext:
    """What a design may know.

    Parameters
    ----------
    n_players : int
    n_subsets : int or None
        The budget asked for, or None.
    tol : float or None
    seed : int
    forest : Forest or None
    players : list of int arrays
    relevance : float array of shape (n_players,) or None
    proxy : Proxy or None
    """

    n_players: int
    n_subsets: int | None
    tol: float | None
    seed: int
    forest: Forest | None = None
    players: list[npt.NDArray[np.intp]] | None = None
    relevance: FloatArray | None = None
    proxy: Proxy | None = None

    @property
    def budget(self) -> int:
        """Evaluations to spend at most: as asked for, else 200, or 6 a player if that is more."""
        return max(200, 6 * self.n_players) if self.n_subsets is None else self.n_subsets


def _gaussian_process(context: DesignContext) -> Design:
    # A budget that was asked for is spent, unless a tolerance was asked for too.
    default = DEFAULT_TOLERANCE if context.n_subsets is None else None
    return GaussianProcessDesign(
        context.n_players,
        context.budget,
        default if context.tol is None else context.tol,
        context.relevance,
        context.seed,
        proxy=context.proxy,
    )


def _exhaustive(context: DesignContext) -> Design:
    if context.n_players > LARGEST_EXHAUSTIVE:
        raise ValueError(
            f'design="exhaustive" would price 2^{context.n_players} subsets; it is for at most '
            f"{LARGEST_EXHAUSTIVE} players."
        )
    return ExhaustiveDesign(context.n_players)


def _forest_paths(context: DesignContext, setting: ForestPaths | None = None) -> Design:
    setting = setting or ForestPaths()
    if context.forest is None:
        raise ValueError(
            'design="forest_paths" follows the paths of a forest: use it with estimator="forest" '
            "or a scikit-learn forest."
        )
    if setting.paired_weights not in WEIGHTINGS:
        raise ValueError(
            f"paired_weights={setting.paired_weights!r} is unknown: use one of {WEIGHTINGS}."
        )
    candidates, frequency = path_subsets(context.forest, context.players)
    n_subsets = context.n_subsets
    if setting.n_draws is None and n_subsets is None:
        n_subsets = context.budget
    return ForestPathsDesign(
        candidates, frequency, setting.n_draws, n_subsets, setting.paired_weights, context.seed
    )


def _permutations(
    kind: Literal["antithetic", "orthogonal", "plain"],
) -> Callable[[DesignContext], Design]:
    def make(context: DesignContext) -> Design:
        return PermutationDesign(
            context.n_players, context.budget, kind=kind, random_state=context.seed
        )

    return make


DESIGNS: dict[str, Callable[[DesignContext], Design]] = {
    "auto": _gaussian_process,
    "gaussian_process": _gaussian_process,
    "forest_paths": _forest_paths,
    "leverage": lambda c: LeverageDesign(c.n_players, c.budget, c.seed),
    "monte_carlo": lambda c: MonteCarloDesign(c.n_players, c.budget, c.seed),
    "antithetic": _permutations("antithetic"),
    "orthogonal": _permutations("orthogonal"),
    "exhaustive": _exhaustive,
    # Those of the other systems in the paper's Table 1.
    "permutations": _permutations("plain"),
    "kernel_draws": lambda c: KernelDrawsDesign(c.n_players, c.budget, c.seed),
    "paired_draws": lambda c: KernelDrawsDesign(c.n_players, c.budget // 2, c.seed, paired=True),
    "leave_one_out": lambda c: LeaveOneOutDesign(c.n_players),
}


def check_design(design: Any) -> str:
    """The name of a design, or a ValueError that lists the names."""
    if isinstance(design, ForestPaths):
        return "forest_paths"
    if design not in DESIGNS:
        raise ValueError(f"design={design!r} is unknown: use one of {tuple(DESIGNS)}.")
    return "gaussian_process" if design == "auto" else str(design)


def make_design(design: Any, context: DesignContext) -> Design:
    """The design of that name, ready to propose."""
    if isinstance(design, ForestPaths):
        return _forest_paths(context, design)
    return DESIGNS[design](context)
