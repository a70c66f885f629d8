"""`ForestValues`: a projected forest with its options, as the ``estimator`` of `ShapleyEffects`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from shaff.data.problem import Problem
from shaff.errors import InputError, InputTypeError
from shaff.protocols import Game, ValueSetting
from shaff.trees.kinds import is_forest
from shaff.values.forest.grown import fitted_forest, make_forest
from shaff.values.forest.projected_forest import ERRORS


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

    name = "forest"

    def __post_init__(self) -> None:
        if self.error not in ERRORS:
            raise InputError(f"ForestValues: error={self.error!r}: use one of {ERRORS}.")
        if self.model is not None and not is_forest(self.model):
            raise InputTypeError(
                "ForestValues: model must be a forest of scikit-learn or None, not "
                f"{type(self.model).__name__}."
            )

    def make(self, problem: Problem) -> Game:
        """Grow the forest on these data; the default forest sees each of several copies once."""
        if self.model is not None:
            return make_forest(problem, self.model, self.error)
        distinct = problem.without_copies()
        game = make_forest(distinct, error=self.error)
        return replace(game, problem=game.problem or distinct)

    def make_fitted(self, problem: Problem, rows: str) -> Game:
        """Project the forest as it was fitted elsewhere; see `ShapleyEffects.from_fitted`."""
        return fitted_forest(self.model, problem, rows, self.error)


def with_plain_error(estimator: Any) -> Any:
    """Return the same ``estimator`` of `ShapleyEffects`; forests are measured by the plain error.

    Examples
    --------
    >>> from shaff.values.forest.setting import with_plain_error
    >>> with_plain_error("forest"), with_plain_error("boosting")
    (ForestValues(model=None, error='plain'), 'boosting')
    """
    if is_forest(estimator):
        return ForestValues(estimator, error="plain")
    by_name = isinstance(estimator, str) and estimator == ForestValues.name
    return ForestValues(error="plain") if by_name else estimator
