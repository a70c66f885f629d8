"""What stands in the rows of the paper's tables: a way to choose subsets x a way to price them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from shaff.datasets import Experiment, experiment_1a, experiment_1b, experiment_2
from shaff.designs.forest_paths import ForestPaths, ForestPathsDesign, path_subsets
from shaff.designs.kernel_draws import KernelDrawsDesign
from shaff.effects import ShapleyEffects
from shaff.paper.runs import Run, Task
from shaff.presets import PRESETS, Part, solve_game
from shaff.protocols import Design, Effects
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.subsets import FloatArray
from shaff.values.forest_game import projected_forest_game
from shaff.values.held_out import paper_forest

EXPERIMENTS: dict[str, Callable[[int, int], Experiment]] = {
    "1a": experiment_1a,
    "1b": experiment_1b,
    "2": experiment_2,
}

_PROJECTED = Part("values.forest_game:projected_forest_game")
_RETRAINED = Part("values.retrained:RetrainedValues")
_MARGINAL = Part("values.marginal:MarginalValues")
_PATH_DEPENDENT = Part("values.path_dependent:PathDependentValues")


@dataclass(frozen=True)
class Combination:
    """A row of Table 4: subsets from forest paths (pIS) or the kernel (pMC), K draws in pairs.

    Parameters
    ----------
    values : Part
    paths : bool
        Draw along the paths of a forest, with the paper's weights; else from the Shapley kernel.
    """

    values: Part
    paths: bool

    def effects(
        self, experiment: Experiment, forest: RandomForestRegressor, n_subsets: int, seed: int
    ) -> FloatArray:
        """The three steps with the constrained least squares of the paper."""
        data = (experiment.X, experiment.y)
        game = self.values(*data, estimator=forest, random_state=seed)
        if not self.paths:
            design: Design = KernelDrawsDesign(game.n_players, n_subsets, seed, paired=True)
            return solve_game(game, design, LeastSquaresSolver()).effects
        grown = game if self.values is _PROJECTED else projected_forest_game(
            *data, forest, random_state=seed
        )  # fmt: skip
        paths = ForestPathsDesign(
            *path_subsets(grown.forest), n_subsets, paired_weights="published", random_state=seed
        )
        # Which players take part is known once the subsets are drawn.
        paths.draw()
        return solve_game(game, paths, LeastSquaresSolver(active=paths.active)).effects


@dataclass(frozen=True)
class OtherSystem:
    """A system of Table 1 by the name of its preset."""

    preset: str

    def effects(
        self, experiment: Experiment, forest: RandomForestRegressor, n_subsets: int, seed: int
    ) -> FloatArray:
        """Effects of the preset with the paper's forest."""
        system: Any = PRESETS[self.preset]
        found: Effects = system.effects(
            experiment.X, experiment.y, forest, n_subsets=n_subsets, random_state=seed
        )
        return found.effects


class Published:
    """SHAFF as published, through the public interface."""

    def effects(
        self, experiment: Experiment, forest: RandomForestRegressor, n_subsets: int, seed: int
    ) -> FloatArray:
        """Effects from K draws."""
        design = ForestPaths(n_draws=n_subsets, paired_weights="published")
        model = ShapleyEffects.as_published(estimator=forest, design=design, random_state=seed)
        return model.fit(experiment.X, experiment.y).effects_


class Defaults:
    """shaff as it comes: its own model, design and number of subsets."""

    def effects(
        self, experiment: Experiment, forest: RandomForestRegressor, n_subsets: int, seed: int
    ) -> FloatArray:
        """Effects; neither the forest nor the number of subsets is used."""
        return ShapleyEffects(random_state=seed).fit(experiment.X, experiment.y).effects_


class System(Protocol):
    """What a row of a table needs."""

    def effects(
        self, experiment: Experiment, forest: RandomForestRegressor, n_subsets: int, seed: int
    ) -> FloatArray:
        """Estimated effects, shape (n_variables,)."""
        ...


SYSTEMS: dict[str, System] = {
    "shaff": Defaults(),
    "shaff_published": Published(),
    "paths_retrained": Combination(_RETRAINED, paths=True),
    "paths_marginal": Combination(_MARGINAL, paths=True),
    "paths_tree_shap": Combination(_PATH_DEPENDENT, paths=True),
    "pairs_projected": Combination(_PROJECTED, paths=False),
    "pairs_retrained": Combination(_RETRAINED, paths=False),
    "williamson": OtherSystem("williamson"),
    "sage": OtherSystem("sage"),
}


def run_task(task: Task) -> Run:
    """Draw the data of a task, run its system, and compare with the exact effects.

    Examples
    --------
    >>> from shaff.paper.runs import Task
    >>> from shaff.paper.systems import run_task
    >>> run = run_task(Task("1a", "pairs_projected", 0, n_rows=200, n_subsets=40, n_trees=10))
    >>> len(run.effects), 0 < run.error < 1
    (15, True)
    """
    experiment = EXPERIMENTS[task.experiment](task.n_rows, task.seed)
    forest = paper_forest(task.n_trees)
    if task.experiment == "1b":
        forest.set_params(max_features=1.0)
    start = perf_counter()
    system = SYSTEMS[task.system]
    effects = system.effects(experiment, forest, task.n_subsets, task.seed)
    seconds = perf_counter() - start
    error = float(np.abs(effects - experiment.effects).sum())
    return Run([float(effect) for effect in effects], error, seconds)
