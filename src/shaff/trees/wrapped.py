"""Models around models: what is inside a fitted pipeline, search or ensemble of forests."""

from __future__ import annotations

from copy import copy
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import Pipeline

from shaff.trees.forest import least_leaf
from shaff.trees.kinds import is_bagged, is_forest


class Wrapped(NamedTuple):
    """A model that others stand around.

    Parameters
    ----------
    core : model
        The innermost model.
    steps : tuple of Pipeline
        What the columns go through on the way to it, the first step first.
    is_merged : bool
        Whether the core is put together from several forests, so that no bag is known.
    is_rescaled : bool
        Whether it was fitted to another scale of the outcome.
    """

    core: Any
    steps: tuple[Any, ...] = ()
    is_merged: bool = False
    is_rescaled: bool = False


def unwrap(model: Any) -> Wrapped:
    """Return what is inside a fitted model; of a model that wraps none, the model itself.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shaff.trees.wrapped import unwrap
    >>> inside = unwrap(make_pipeline(StandardScaler(), RandomForestRegressor()))
    >>> inside.core, len(inside.steps)
    (RandomForestRegressor(), 1)
    """
    found = Wrapped(model)
    while (inner := _one_layer(found)) is not None:
        found = inner
    return found


def _one_layer(found: Wrapped) -> Wrapped | None:
    """Take off the outermost layer; None if there is none."""
    model = found.core
    if hasattr(model, "best_estimator_"):
        return found._replace(core=model.best_estimator_)
    if isinstance(model, TransformedTargetRegressor) and hasattr(model, "regressor_"):
        return found._replace(core=model.regressor_, is_rescaled=True)
    if isinstance(model, Pipeline):
        before = (model[:-1],) if len(model.steps) > 1 else ()
        return found._replace(core=model.steps[-1][1], steps=(*found.steps, *before))
    forest = _merged(_parts(model))
    return None if forest is None else found._replace(core=forest, is_merged=True)


def _parts(model: Any) -> list[Any]:
    """The fitted models that an ensemble averages in equal parts, over all columns."""
    if isinstance(model, CalibratedClassifierCV):
        return [part.estimator for part in getattr(model, "calibrated_classifiers_", [])]
    if isinstance(model, VotingRegressor | VotingClassifier):
        equal = model.weights is None and getattr(model, "voting", "soft") == "soft"
        return list(getattr(model, "estimators_", [])) if equal else []
    if is_bagged(model) and not is_forest(model):
        columns = getattr(model, "estimators_features_", [])
        whole = all(np.array_equal(c, np.arange(model.n_features_in_)) for c in columns)
        return list(getattr(model, "estimators_", [])) if whole else []
    return []


def _merged(parts: list[Any]) -> Any:
    """One forest of the trees of several that are alike; None if they are not, or no forests.

    Trees keep their structure only, so that it does not matter what stands in their leaves.
    """
    if not parts or not all(is_forest(part) and not is_bagged(part) for part in parts):
        return None
    kinds = {(type(p), len(p.estimators_), p.n_features_in_, least_leaf(p, 1000)) for p in parts}
    if len(kinds) > 1:
        return None
    forest = copy(parts[0])
    forest.estimators_ = list(chain.from_iterable(part.estimators_ for part in parts))
    forest.n_estimators = len(forest.estimators_)
    return forest
