"""Reader of LightGBM's LGBMRegressor and Booster, from the public model dump."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shaff._util.typing import BoolArray
from shaff.errors import InputError
from shaff.trees.ensemble import LEAF, Ensemble, Tree
from shaff.trees.library import BoosterLibrary, UnreadableTreesError


def read(model: Any) -> Ensemble:
    """Read a fitted LGBMRegressor or Booster of squared loss, or a loss of counts or amounts."""
    booster = _booster(model)
    dump = booster.dump_model()
    parameters = booster.params
    _refuse_other_kinds(dump, parameters)
    return Ensemble.from_trees(
        [_read_tree(tree["tree_structure"]) for tree in dump["tree_info"]],
        dump["max_feature_idx"] + 1,
        # The first tree's leaves hold the mean.
        base_score=0.0,
        learning_rate=_number(parameters, "learning_rate", getattr(model, "learning_rate", 0.1)),
        shrinkage=_number(parameters, "lambda_l2", getattr(model, "reg_lambda", 0.0)),
    )


def _booster(model: Any) -> Any:
    """What is inside of a regressor; a booster as it is."""
    if hasattr(model, "dump_model"):
        return model
    check_is_fitted(model)
    return model.booster_


def _raw_settings(booster: Any) -> dict[str, Any]:
    """Settings of a booster; those that it was not given are LightGBM's defaults."""
    return {**booster.params, "objective": _objective(booster.dump_model(num_iteration=1))}


def _objective(dump: dict[str, Any]) -> str:
    """Name of the objective, which its settings follow."""
    return str(dump.get("objective", "")).split(" ")[0]


def category_codes(model: Any, columns: list[str]) -> dict[str, dict[str, float]]:
    """LightGBM numbers the labels of pandas' categories, column by column."""
    levels = _booster(model).pandas_categorical or []
    if levels and len(levels) != len(columns):
        raise InputError(
            f"The model was fitted on {len(levels)} columns of categories, X has {len(columns)}."
        )
    return {
        name: {str(label): float(k) for k, label in enumerate(labels)}
        for name, labels in zip(columns, levels, strict=False)
    }


_ALIASES = {
    "learning_rate": ("learning_rate", "eta", "shrinkage_rate"),
    "lambda_l2": ("lambda_l2", "reg_lambda", "lambda"),
    "boosting": ("boosting", "boosting_type", "boost"),
    "linear_tree": ("linear_tree", "linear_trees"),
}


def _parameter(parameters: dict[str, Any], name: str, default: Any) -> Any:
    found = [parameters[alias] for alias in _ALIASES[name] if alias in parameters]
    return found[0] if found else default


def _number(parameters: dict[str, Any], name: str, default: float) -> float:
    return float(_parameter(parameters, name, default))


def _refuse_other_kinds(dump: dict[str, Any], parameters: dict[str, Any]) -> None:
    objective = _objective(dump)
    if objective not in ("regression", *LOSSES):
        raise UnreadableTreesError(
            f"LGBMRegressor has objective={objective!r}; only squared loss ('regression') and "
            "'poisson', 'gamma' and 'tweedie' can be replayed on subsets."
        )
    boosting = _parameter(parameters, "boosting", "gbdt")
    if boosting not in ("gbdt", "gbrt", "goss"):
        raise UnreadableTreesError(f"LightGBM's boosting_type={boosting!r} cannot be replayed.")
    if _parameter(parameters, "linear_tree", False):
        raise UnreadableTreesError("LightGBM's linear trees cannot be projected on subsets.")


def _read_tree(structure: dict[str, Any]) -> Tree:
    """Lay the nested nodes out in the order in which they are met."""
    nodes = [structure]
    left, right = [0], [0]
    for index, node in enumerate(nodes):
        if "split_feature" not in node:
            continue
        left[index], right[index] = len(nodes), len(nodes) + 1
        nodes += [node["left_child"], node["right_child"]]
        left += [0, 0]
        right += [0, 0]
    categorical = {
        index: [int(category) for category in str(node["threshold"]).split("||")]
        for index, node in enumerate(nodes)
        if node.get("decision_type") == "=="
    }
    return Tree(
        feature=[node.get("split_feature", LEAF) for node in nodes],
        threshold=[0.0 if i in categorical else _threshold(n) for i, n in enumerate(nodes)],
        left=left,
        right=right,
        missing_left=[_missing_left(node) for node in nodes],
        value=[node.get("leaf_value", 0.0) for node in nodes],
        gain=[max(node.get("split_gain", 0.0), 0.0) for node in nodes],
        left_categories=categorical,
        zero_missing=[node.get("missing_type") == "Zero" for node in nodes],
        count=[node.get("leaf_count", 0) for node in nodes],
    )


def _threshold(node: dict[str, Any]) -> float:
    return float(node.get("threshold", 0.0))


def _missing_left(node: dict[str, Any]) -> bool:
    """NaN goes right at categorical splits, and counts as 0 when training saw none."""
    if "split_feature" not in node or node["decision_type"] == "==":
        return False
    if node["missing_type"] == "None":
        return _threshold(node) >= 0.0
    return bool(node["default_left"])


def _category_arguments(categorical: BoolArray) -> dict[str, Any]:
    if not categorical.any():
        return {}
    return {"categorical_feature": np.flatnonzero(categorical).tolist()}


LOSSES = {"poisson": "poisson", "gamma": "gamma", "tweedie": "tweedie"}
LIBRARY = BoosterLibrary(
    regressor="LGBMRegressor",
    classifier="LGBMClassifier",
    module="lightgbm",
    read=read,
    column_sampling=("feature_fraction_bynode", "feature_fraction", "colsample_bytree"),
    one_thread={"n_jobs": 1, "deterministic": True, "force_row_wise": True, "verbose": -1},
    category_arguments=_category_arguments,
    category_codes=category_codes,
    losses=LOSSES,
    raw_settings=_raw_settings,
    raw_names=lambda booster: list(booster.feature_name()),
)
