"""What a model of scikit-learn is: a forest, a tree, and whether rows are out of its bags."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_regressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree

_BAGGED = (BaggingRegressor, BaggingClassifier)
_RANDOMISED = (ExtraTreesRegressor, ExtraTreesClassifier)
_FORESTS = (RandomForestRegressor, RandomForestClassifier, *_RANDOMISED)


def paper_forest(n_estimators: int = 500) -> RandomForestRegressor:
    """The forest of the paper's experiments: ``mtry = p/3``, leaves of 5 rows or more.

    Examples
    --------
    >>> from shaff.trees.kinds import paper_forest
    >>> paper_forest(100).n_estimators
    100
    """
    return RandomForestRegressor(n_estimators, max_features=1 / 3, min_samples_leaf=5)


def is_bagged(model: Any) -> bool:
    """Whether a model bags others, trees or not."""
    return isinstance(model, _BAGGED)


def is_randomised(model: Any) -> bool:
    """Whether the trees of a forest cut at random."""
    return isinstance(model, _RANDOMISED)


def is_forest(model: Any) -> bool:
    """Whether a model averages trees of scikit-learn.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingRegressor
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.trees.kinds import is_forest
    >>> is_forest(BaggingRegressor()), is_forest(BaggingRegressor(Ridge()))
    (True, False)
    """
    if is_bagged(model):
        return model.estimator is None or isinstance(model.estimator, BaseDecisionTree)
    return isinstance(model, _FORESTS)


def sees_all_columns(model: Any) -> bool:
    """Whether each tree of a forest is grown on all columns; only bagging may leave some out."""
    return not is_bagged(model) or (model.max_features == 1.0 and not model.bootstrap_features)


def is_tree_model(model: Any) -> bool:
    """Whether a model is a scikit-learn tree, or a regressor that averages them over all columns.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from shaff.trees.kinds import is_tree_model
    >>> is_tree_model(DecisionTreeRegressor().fit([[0], [1]], [0, 1]))
    True
    """
    forest = is_forest(model) and is_regressor(model)
    return isinstance(model, BaseDecisionTree) or (forest and sees_all_columns(model))


def leaves_rows_out(model: Any) -> bool:
    """Whether each tree of a forest is grown on part of the rows."""
    if is_bagged(model):
        return bool(model.bootstrap) or model.max_samples not in (None, 1.0)
    return bool(model.bootstrap)


def has_bags(model: Any) -> bool:
    """Whether a regressor averages trees, each grown on part of the rows and on all columns.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
    >>> from shaff.trees.kinds import has_bags
    >>> has_bags(RandomForestRegressor()), has_bags(ExtraTreesRegressor())
    (True, False)
    """
    forest = is_forest(model) and is_regressor(model)
    return forest and sees_all_columns(model) and leaves_rows_out(model)


def with_depth(model: Any, depth: int) -> Any:
    """A clone of a forest with trees of at most this depth; other models as they are."""
    if not is_forest(model) or (is_bagged(model) and model.estimator is None):
        return model
    name = "estimator__max_depth" if is_bagged(model) else "max_depth"
    limit = model.get_params()[name]
    return clone(model).set_params(**{name: depth if limit is None else min(depth, limit)})
