"""`ForestValues`: a projected forest with its options, as the ``estimator`` of `ShapleyEffects`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shaff.data.problem import Problem
from shaff.errors import InputError, InputTypeError
from shaff.protocols import Game, ValueSetting
from shaff.trees.kinds import is_forest
from shaff.values.forest.grown import fitted_forest, make_forest
from shaff.values.forest.projected_forest import ERRORS, STOPS, CellRule
from shaff.values.level_order import level_ranks, order_levels, ordered_rows

LEVELS = ("bag", "all")


@dataclass(frozen=True, eq=False)
class ForestValues(ValueSetting):
    """A forest with the error that it is measured by, as the ``estimator`` of `ShapleyEffects`.

    Parameters
    ----------
    model : forest of scikit-learn or None, default=None
        The forest to clone, fit and project; None is the default forest, as with
        ``estimator="forest"``. `ShapleyEffects.from_fitted` takes a forest that is fitted.
    error : {"unbiased", "plain"}, default="unbiased"
        "unbiased" estimates the out-of-bag error of a forest of infinitely many trees, so that
        few trees suffice. "plain" is the out-of-bag error of the trees at hand, as in the paper:
        it is larger, by the more the fewer trees there are.
    min_node_size : float or None, default=None
        Fewest rows of the bag in a cell of the projected partition; a larger number smooths. None
        takes the forest's own ``min_samples_leaf``. The software of the paper keeps the two
        apart: its ``min_node_size`` limits projected cells, and in trees which nodes are split.
    stop : {"split", "level"}, default="split"
        Where a row stops on its way down a tree when its cell would become too small: before the
        split that does it (Algorithm 1 of the paper), or before the level of that split (its
        section 2.2). "level" is slow, and there for comparison.
    levels : {"bag", "all"}, default="bag"
        The rows that tell each tree the order of the levels of a category, by their mean outcome:
        those of its bag, or all, as in the paper's software. "all" has seen the outcome of the rows
        that are predicted, and gives categories that tell nothing a small effect.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff import ForestValues, ShapleyEffects
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> forest = ForestValues(RandomForestRegressor(200, min_samples_leaf=5), error="plain")
    >>> est = ShapleyEffects(forest, n_subsets=60, random_state=0).fit(X, y)
    >>> est.result_.estimator
    'forest'
    """

    model: Any = None
    error: str = "unbiased"
    min_node_size: float | None = None
    stop: str = "split"
    levels: str = "bag"

    name = "forest"

    def __post_init__(self) -> None:
        for name, known in (("error", ERRORS), ("stop", STOPS), ("levels", LEVELS)):
            if getattr(self, name) not in known:
                given = getattr(self, name)
                raise InputError(f"ForestValues: {name}={given!r}: use one of {known}.")
        if self.min_node_size is not None and not self.min_node_size > 0:
            raise InputError(
                f"ForestValues: min_node_size must be above 0, not {self.min_node_size!r}."
            )
        if self.model is not None and not is_forest(self.model):
            raise InputTypeError(
                "ForestValues: model must be a forest of scikit-learn or None, not "
                f"{type(self.model).__name__}."
            )

    @property
    def _cell_rule(self) -> CellRule:
        return CellRule(self.error, self.min_node_size, self.stop)

    def make(self, problem: Problem) -> Game:
        """Grow the forest on these data; the default forest sees each of several copies once."""
        if self.levels == "all" and problem.categorical.any():
            return self._make_ordered(problem)
        if self.model is not None:
            return make_forest(problem, self.model, self._cell_rule)
        distinct = problem.without_copies()
        game = make_forest(distinct, how=self._cell_rule)
        return replace(game, problem=game.problem or distinct)

    def _make_ordered(self, problem: Problem) -> Game:
        """The forest on categories that all rows have put in an order."""
        game = replace(self, levels="bag").make(order_levels(problem))
        facts = replace(game.facts, orders_levels=True)
        encode = partial(ordered_rows, level_ranks(problem))
        return replace(game, problem=None, facts=facts, encode=encode)

    def make_fitted(self, problem: Problem, rows: str) -> Game:
        """Project the forest as it was fitted elsewhere; see `ShapleyEffects.from_fitted`."""
        return fitted_forest(self.model, problem, rows, self._cell_rule)


def as_in_the_paper(estimator: Any) -> Any:
    """Return the same ``estimator`` of `ShapleyEffects`; forests are measured by the plain error,
    and see categories in the order of all rows.

    Examples
    --------
    >>> from shaff.values.forest.setting import as_in_the_paper
    >>> as_in_the_paper("forest").error, as_in_the_paper("boosting")
    ('plain', 'boosting')
    """
    by_name = isinstance(estimator, str) and estimator == ForestValues.name
    if not by_name and not is_forest(estimator):
        return estimator
    return ForestValues(None if by_name else estimator, error="plain", levels="all")
