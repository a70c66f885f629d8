"""The value functions of the other systems in the paper's Table 1, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

from shaff._util.seeds import seeded
from shaff.data.problem import Problem
from shaff.data.target import as_target
from shaff.errors import InputError
from shaff.protocols import Game, LearnerFacts, ValueFunction, ValueSetting
from shaff.trees.forest import Forest, read_forest
from shaff.values.level_order import level_ranks, order_levels, ordered_rows

# Name -> where it is, imported when it is used: a function of a problem.
SYSTEMS = {
    "retrained": "models.retrained:RetrainedValues",
    "marginal": "published.marginal:MarginalValues",
    "path_dependent": "published.path_dependent:PathDependentValues",
    "gaussian": "published.gaussian:GaussianValues",
    "neighbours": "published.neighbours:NeighbourValues",
    "projected_forest": "forest.grown:published_forest",
    "mdi": "published.mdi:MDIValues",
}


def as_game(made: ValueFunction | Game, name: str) -> Game:
    """Return what a setting has made as a game with a name."""
    return made if isinstance(made, Game) else Game(made, name)


@dataclass(frozen=True, eq=False)
class PublishedValues(ValueSetting):
    """A value function by name, as the ``estimator`` of `ShapleyEffects`.

    Parameters
    ----------
    values : str
        A name of `SYSTEMS`.
    model : scikit-learn regressor, KnownModel or None
        What the value function fits; None is the forest of the paper.
    options : dict
        Further arguments of the value function.
    paths_of : scikit-learn forest or None
        A forest to grow beside, for ``design="forest_paths"``.
    reference : str
        Reference and differences from the publication, for the result.

    Examples
    --------
    >>> from shaff import ShapleyEffects
    >>> from shaff.datasets import load_diabetes
    >>> from shaff.values.published.systems import PublishedValues
    >>> X, y, names = load_diabetes()
    >>> values = PublishedValues("neighbours")
    >>> ShapleyEffects(values, n_subsets=60, random_state=0).fit(X, y).result_.estimator
    'neighbours'
    """

    values: str
    model: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    paths_of: Any = None
    reference: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """Name of the value function."""
        return self.values

    def make(self, problem: Problem) -> Game:
        """Step 2 on the rows of the problem, with the levels of categories in one order."""
        function = find_values(self.values)
        takes = signature(function).parameters
        self._check(problem, takes)
        model = {"estimator": self.model} if "estimator" in takes else {}
        ordered = order_levels(problem)
        game = as_game(function(ordered, **self.options, **model), self.values)
        forest = game.forest if self.paths_of is None else self._grow(ordered)
        return Game(
            game.values,
            self.values,
            forest=forest,
            encode=partial(ordered_rows, level_ranks(problem)),
            facts=LearnerFacts(
                reference=self.reference, orders_levels=bool(problem.categorical.any())
            ),
        )

    def _check(self, problem: Problem, takes: Mapping[str, Any]) -> None:
        if self.model is not None and "estimator" not in takes:
            raise InputError(f"{self.values!r} values fit no model: leave estimator out.")
        unknown = [name for name in self.options if name not in takes]
        if unknown:
            raise InputError(f"{self.values!r} values have no option {unknown[0]!r}.")
        if problem.sample_weight is not None or problem.row_groups is not None:
            raise InputError(f"{self.values!r} values take neither sample_weight nor row_groups.")

    def _grow(self, problem: Problem) -> Forest:
        """A forest beside the value function, whose paths the design may follow."""
        grown = seeded(self.paths_of, problem.seed).fit(problem.X, as_target(problem.y))
        return read_forest(list(grown.estimators_), problem.X.shape[1])


def find_values(name: str) -> Callable[..., Any]:
    """The value function of that name, imported, or an error that lists the names."""
    if name not in SYSTEMS:
        raise InputError(f"values={name!r} is unknown: use one of {tuple(SYSTEMS)}.")
    module, attribute = SYSTEMS[name].split(":")
    found: Callable[..., Any] = getattr(import_module(f"shaff.values.{module}"), attribute)
    return found
