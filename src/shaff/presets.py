"""The other systems of the paper's Table 1, each a triple of the same parts.

A preset names a value function, a design and a solver with their options; a new system is one
entry of `PRESETS`. MDI alone is no such triple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy.typing as npt
from sklearn.utils import check_random_state

from shaff.datasets import RandomState
from shaff.protocols import Design, Effects, Solver, ValueFunction, Values
from shaff.subsets import Subsets
from shaff.values.arrays import Players


@dataclass(frozen=True)
class Part:
    """A name to import, ``module:attribute`` under shaff, and options to call it with."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Import the name and call it; keyword arguments override the options."""
        module, name = self.path.split(":")
        return getattr(import_module(f"shaff.{module}"), name)(*args, **{**self.options, **kwargs})


@dataclass(frozen=True)
class Preset:
    """One system.

    Parameters
    ----------
    reference : str
        Who published it.
    values : Part
    design : Part
    solver : Part
    n_subsets : int or None
        Default budget; None for a design that has no choice.
    needs_model : bool
        Whether the value function takes an estimator.
    note : str
        Where this differs from the publication.
    """

    reference: str
    values: Part
    design: Part
    solver: Part
    n_subsets: int | None = 500
    needs_model: bool = True
    note: str = ""

    def value_function(
        self, X: npt.ArrayLike, y: npt.ArrayLike, estimator: Any = None, **options: Any
    ) -> ValueFunction:
        """Step 2 on the given data; ``options`` go to the value function."""
        model = {"estimator": estimator} if self.needs_model else {}
        function: ValueFunction = self.values(X, y, **model, **options)
        return function

    def make_design(
        self, n_players: int, n_subsets: int | None = None, random_state: RandomState = None
    ) -> Design:
        """Step 1, with the default budget if none is given."""
        if self.n_subsets is None:
            design: Design = self.design(n_players)
        else:
            design = self.design(
                n_players, n_subsets=n_subsets or self.n_subsets, random_state=random_state
            )
        return design

    def make_solver(self, design: Design) -> Solver:
        """Step 3 for a design of this preset."""
        orders = getattr(design, "orders", None)
        solver: Solver = self.solver() if orders is None else self.solver(orders)
        return solver

    def effects(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        estimator: Any = None,
        *,
        n_subsets: int | None = None,
        players: Players | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        **options: Any,
    ) -> Effects:
        """The three steps in order."""
        rng = check_random_state(random_state)
        game = self.value_function(
            X, y, estimator, players=players, n_jobs=n_jobs, random_state=rng, **options
        )
        design = self.make_design(game.n_players, n_subsets, rng)
        return solve_game(game, design, self.make_solver(design))


@dataclass(frozen=True)
class Measure:
    """A system that is no game: one function from data to effects.

    Parameters
    ----------
    reference : str
    measure : Part
    note : str
    """

    reference: str
    measure: Part
    note: str = ""

    def effects(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        estimator: Any = None,
        *,
        players: Players | None = None,
        random_state: RandomState = None,
    ) -> Effects:
        """Measure the data."""
        effects: Effects = self.measure(X, y, estimator, players=players, random_state=random_state)
        return effects


def solve_game(game: ValueFunction, design: Design, solver: Solver) -> Effects:
    """Price what the design proposes until it is content, then solve.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.leave_one_out import LeaveOneOutDesign
    >>> from shaff.presets import solve_game
    >>> from shaff.solve.total_sobol import TotalSobolSolver
    >>> from shaff.values.neighbours import NeighbourValues
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> game = NeighbourValues(X, X[:, 0], random_state=0)
    >>> solve_game(game, LeaveOneOutDesign(2), TotalSobolSolver()).effects.round().tolist()
    [1.0, 0.0]
    """
    history = game.values(Subsets.full(game.n_players))
    weighted: list[Subsets] = []
    while (proposal := design.propose(history)) is not None:
        weighted.append(proposal)
        history = Values.concatenate([history, game.values(proposal)])
    empty = Subsets.full(game.n_players)[:0]
    subsets = Subsets.concatenate(weighted) if weighted else empty
    return solver.solve(subsets, history.v[1:], float(history.v[0]))


_MARGINAL = "values.marginal:MarginalValues"
_GAUSSIAN = "values.gaussian:GaussianValues"
_DRAWS = Part("designs.kernel_draws:KernelDrawsDesign")
_PAIRS = Part("designs.monte_carlo:MonteCarloDesign", {"exhaust_borders": False})
_ORDERS = Part("designs.permutations:PermutationDesign", {"kind": "plain"})
_JOINING = Part("solve.permutations:PermutationSolver")
_LEAST_SQUARES = Part("solve.least_squares:LeastSquaresSolver", {"constrained": False})

PRESETS: dict[str, Preset | Measure] = {
    "song": Preset(
        "Song, Nelson & Staum (2016)",
        Part(_GAUSSIAN),
        _ORDERS,
        _JOINING,
        note="Give `mean`, `covariance` and a KnownModel for the setting of the publication.",
    ),
    "kernel_shap": Preset(
        "Lundberg & Lee (2017)",
        Part(_MARGINAL),
        Part("designs.monte_carlo:MonteCarloDesign", {"exhaust_borders": True}),
        _LEAST_SQUARES,
        note="Local in its publication; its expectations are priced as v(U).",
    ),
    "tree_shap": Preset(
        "Lundberg, Erion & Lee (2018)",
        Part("values.path_dependent:PathDependentValues"),
        _PAIRS,
        _LEAST_SQUARES,
        note="Local and over all subsets in its publication; its expectations are priced as v(U).",
    ),
    "aas_gaussian": Preset("Aas, Jullum & Løland (2021)", Part(_GAUSSIAN), _DRAWS, _LEAST_SQUARES),
    "aas_copula": Preset(
        "Aas, Jullum & Løland (2021)",
        Part(_GAUSSIAN, {"conditional": "copula"}),
        _DRAWS,
        _LEAST_SQUARES,
    ),
    "aas_empirical": Preset(
        "Aas, Jullum & Løland (2021)",
        Part(_GAUSSIAN, {"conditional": "empirical", "n_draws": 100}),
        _DRAWS,
        _LEAST_SQUARES,
    ),
    "sage": Preset(
        "Covert, Lundberg & Lee (2020), SAGE",
        Part(_MARGINAL),
        _ORDERS,
        _JOINING,
        note="Every subset is priced on all rows; the publication draws one row an order.",
    ),
    "broto": Preset(
        "Broto, Bachoc & Depecker (2020), all subsets",
        Part("values.neighbours:NeighbourValues"),
        Part("designs.exhaustive:ExhaustiveDesign"),
        _LEAST_SQUARES,
        n_subsets=None,
        needs_model=False,
    ),
    "broto_sampled": Preset(
        "Broto, Bachoc & Depecker (2020), random permutations",
        Part("values.neighbours:NeighbourValues"),
        _ORDERS,
        _JOINING,
        needs_model=False,
    ),
    "williamson": Preset(
        "Williamson & Feng (2020)",
        Part("values.retrained:RetrainedValues"),
        _DRAWS,
        _LEAST_SQUARES,
        note="K = 500 as in the paper; its authors recommend twice the number of rows.",
    ),
    "covert_lee": Preset("Covert & Lee (2021)", Part(_MARGINAL), _PAIRS, _LEAST_SQUARES),
    "mdi": Measure(
        "Breiman (2003), mean decrease in impurity",
        Part("values.mdi:mdi_effects"),
        note="Measured in sample; not a value of a game.",
    ),
    "sobol_mda": Preset(
        "Bénard, Da Veiga & Scornet (2022), Sobol-MDA",
        Part("values.forest_game:projected_forest_game"),
        Part("designs.leave_one_out:LeaveOneOutDesign"),
        Part("solve.total_sobol:TotalSobolSolver"),
        n_subsets=None,
        note="Total Sobol indices, not Shapley effects.",
    ),
}
