"""The other systems of the paper's Table 1, each a triple of the same parts.

A preset names a value function, a design and a solver; a new system is one entry of `PRESETS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np

from shaff.problem import Problem
from shaff.protocols import ValueFunction
from shaff.subsets import BoolArray, FloatArray
from shaff.trees.forest import Forest, read_forest

# Name of a value function -> where it is; imported when it is used.
VALUES = {
    "retrained": "retrained:RetrainedValues",
    "marginal": "marginal:MarginalValues",
    "path_dependent": "path_dependent:PathDependentValues",
    "gaussian": "gaussian:GaussianValues",
    "neighbours": "neighbours:NeighbourValues",
    "projected_forest": "forest_game:projected_forest_game",
    "mdi": "mdi:MDIValues",
}


@dataclass(frozen=True, eq=False)
class PricedBy:
    """A value function by name, as the ``estimator`` of `ShapleyEffects`.

    Parameters
    ----------
    values : str
        A name of `VALUES`.
    model : scikit-learn regressor, KnownModel or None
        What the value function fits; None is the forest of the paper.
    options : dict
        Further arguments of the value function.
    paths_of : scikit-learn forest or None
        A forest to grow beside, for ``design="forest_paths"``.
    note : str
        For the result.

    Examples
    --------
    >>> from shaff import ShapleyEffects
    >>> from shaff.datasets import load_diabetes
    >>> from shaff.presets import PricedBy
    >>> X, y, names = load_diabetes()
    >>> model = ShapleyEffects(PricedBy("neighbours"), n_subsets=60, random_state=0).fit(X, y)
    >>> model.result_.estimator
    'neighbours'
    """

    values: str
    model: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    paths_of: Any = None
    note: str = field(default="", repr=False)

    def value_function(self, problem: Problem) -> ValueFunction:
        """Step 2 on the rows of the problem."""
        function = find_values(self.values)
        takes = signature(function).parameters
        self._check(problem, takes)
        offered = {"players": problem.players, "n_jobs": problem.n_jobs, "cv": problem.cv}
        arguments = {k: v for k, v in offered.items() if k in takes} | dict(self.options)
        if "estimator" in takes:
            arguments["estimator"] = self.model
        X = order_levels(problem.X, problem.y, problem.table.categorical)
        made: ValueFunction = function(X, problem.y, random_state=problem.seed, **arguments)
        return made

    def _check(self, problem: Problem, takes: Mapping[str, Any]) -> None:
        if self.model is not None and "estimator" not in takes:
            raise ValueError(f"{self.values!r} values fit no model: leave estimator out.")
        unknown = [name for name in self.options if name not in takes]
        if unknown:
            raise ValueError(f"{self.values!r} values have no option {unknown[0]!r}.")
        if problem.sample_weight is not None or problem.row_groups is not None:
            raise ValueError(f"{self.values!r} values take neither sample_weight nor row_groups.")

    def forest(self, problem: Problem, function: ValueFunction) -> Forest | None:
        """Whose paths the design may follow: the projected forest itself, or one grown beside."""
        if self.paths_of is None:
            return getattr(function, "forest", None)
        from shaff.values.held_out import as_target, seeded

        X = order_levels(problem.X, problem.y, problem.table.categorical)
        grown = seeded(self.paths_of, problem.seed).fit(X, as_target(problem.y))
        return read_forest(list(grown.estimators_), X.shape[1])

    def notes(self, problem: Problem) -> tuple[str, ...]:
        """What a reader of the result should know."""
        ordered = "Levels of categories are ordered by their mean of y over all rows, as in ranger."
        return tuple(
            note for note in (self.note, ordered * bool(problem.table.categorical.any())) if note
        )


def find_values(name: str) -> Callable[..., Any]:
    """The value function of that name, imported, or a ValueError that lists the names."""
    if name not in VALUES:
        raise ValueError(f"values={name!r} is unknown: use one of {tuple(VALUES)}.")
    module, attribute = VALUES[name].split(":")
    found: Callable[..., Any] = getattr(import_module(f"shaff.values.{module}"), attribute)
    return found


def order_levels(X: FloatArray, y: FloatArray, categorical: BoolArray) -> FloatArray:
    """Codes of categories replaced by the rank of their mean y (of the first output).

    What ranger does with unordered factors (``respect.unordered.factors = "order"``), and the
    paper with it: once, over all rows. The order has seen the rows that are priced later.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.presets import order_levels
    >>> X, y = np.array([[0.0], [1.0], [2.0], [0.0]]), np.array([[5.0], [1.0], [4.0], [5.0]])
    >>> order_levels(X, y, np.array([True])).ravel().tolist()
    [2.0, 0.0, 1.0, 2.0]
    """
    if not categorical.any():
        return X
    ordered = X.copy()
    for j in np.flatnonzero(categorical):
        present = ~np.isnan(X[:, j])
        codes = np.unique(X[present, j], return_inverse=True)[1]
        means = np.bincount(codes, weights=y[present, 0]) / np.bincount(codes)
        ordered[present, j] = np.argsort(np.argsort(means, kind="stable"))[codes]
    return ordered


@dataclass(frozen=True)
class Preset:
    """One system.

    Parameters
    ----------
    reference : str
        Who published it.
    values, design, solver : str
        Names of the three steps.
    n_subsets : int or None
        Evaluations by default; None for a design that has no choice.
    options : dict
        Of the value function.
    note : str
        Where this differs from the publication.
    """

    reference: str
    values: str
    design: str
    solver: str
    n_subsets: int | None = 500
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def settings(self, options: Mapping[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
        """Settings of `ShapleyEffects`; those given override the preset's."""
        note = f"{self.reference}. {self.note}".strip()
        model = settings.pop("estimator", None)
        priced_by = PricedBy(self.values, model, {**self.options, **(options or {})}, note=note)
        steps = {"design": self.design, "solver": self.solver, "n_subsets": self.n_subsets}
        return {"estimator": priced_by, **steps, **settings}


def find_preset(name: str) -> Preset:
    """The preset of that name, or a ValueError that lists the names."""
    if name not in PRESETS:
        raise ValueError(f"preset {name!r} is unknown: use one of {', '.join(PRESETS)}.")
    return PRESETS[name]


_LEAST_SQUARES = "least_squares"
_LOCAL = "Local in its publication; its expectations are priced as v(U)."

PRESETS: dict[str, Preset] = {
    "song": Preset(
        "Song, Nelson & Staum (2016)",
        "gaussian",
        "permutations",
        "permutations",
        note="Give `mean`, `covariance` and a KnownModel for the setting of the publication.",
    ),
    "kernel_shap": Preset(
        "Lundberg & Lee (2017), kernelSHAP", "marginal", "monte_carlo", _LEAST_SQUARES, note=_LOCAL
    ),
    "tree_shap": Preset(
        "Lundberg, Erion & Lee (2018), TreeSHAP",
        "path_dependent",
        "paired_draws",
        _LEAST_SQUARES,
        note=f"{_LOCAL} Over all subsets in its publication.",
    ),
    "aas_gaussian": Preset(
        "Aas, Jullum & Løland (2021)", "gaussian", "kernel_draws", _LEAST_SQUARES, note=_LOCAL
    ),
    "aas_copula": Preset(
        "Aas, Jullum & Løland (2021)",
        "gaussian",
        "kernel_draws",
        _LEAST_SQUARES,
        options={"conditional": "copula"},
        note=_LOCAL,
    ),
    "aas_empirical": Preset(
        "Aas, Jullum & Løland (2021)",
        "gaussian",
        "kernel_draws",
        _LEAST_SQUARES,
        options={"conditional": "empirical", "n_draws": 100},
        note=_LOCAL,
    ),
    "sage": Preset(
        "Covert, Lundberg & Lee (2020), SAGE",
        "marginal",
        "permutations",
        "permutations",
        note="Every subset is priced on all rows; the publication draws one row an order.",
    ),
    "broto": Preset(
        "Broto, Bachoc & Depecker (2020), all subsets",
        "neighbours",
        "exhaustive",
        _LEAST_SQUARES,
        n_subsets=None,
    ),
    "broto_sampled": Preset(
        "Broto, Bachoc & Depecker (2020), random permutations",
        "neighbours",
        "permutations",
        "permutations",
    ),
    "williamson": Preset(
        "Williamson & Feng (2020)",
        "retrained",
        "kernel_draws",
        _LEAST_SQUARES,
        note="K = 500 as in the paper; its authors recommend twice the number of rows.",
    ),
    "covert_lee": Preset("Covert & Lee (2021)", "marginal", "paired_draws", _LEAST_SQUARES),
    "mdi": Preset(
        "Breiman (2003), mean decrease in impurity",
        "mdi",
        "leave_one_out",
        "total_sobol",
        n_subsets=None,
        note="Measured in sample, its explained variance too; no Shapley effect.",
    ),
    "sobol_mda": Preset(
        "Bénard, Da Veiga & Scornet (2022), Sobol-MDA",
        "projected_forest",
        "leave_one_out",
        "total_sobol",
        n_subsets=None,
        note="Total Sobol indices, not Shapley effects: they do not sum to what is explained.",
    ),
}
