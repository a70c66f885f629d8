"""Reader of XGBoost's XGBRegressor and Booster, from the public JSON form."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shaff._util.typing import BoolArray
from shaff.trees.ensemble import LEAF, Ensemble, Tree
from shaff.trees.library import BoosterLibrary, UnreadableTreesError


def read(model: Any) -> Ensemble:
    """Read a fitted XGBRegressor or Booster of squared loss, or a loss of counts or amounts."""
    booster = _booster(model)
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    settings = json.loads(booster.save_config())["learner"]
    _refuse_other_kinds(learner)
    trees = learner["gradient_booster"]["model"]["trees"]
    training = settings["gradient_booster"]["tree_train_param"]
    return Ensemble.from_trees(
        [_read_tree(tree) for tree in trees[: _n_trees(booster, len(trees))]],
        int(learner["learner_model_param"]["num_feature"]),
        base_score=float(learner["learner_model_param"]["base_score"].strip("[]")),
        learning_rate=float(training.get("learning_rate", training.get("eta"))),
        shrinkage=float(training.get("reg_lambda", training.get("lambda"))),
        single_precision=True,
    )


def _booster(model: Any) -> Any:
    """What is inside of a regressor; a booster as it is."""
    if not hasattr(model, "get_booster"):
        return model
    check_is_fitted(model)
    return model.get_booster()


def _raw_settings(booster: Any) -> dict[str, Any]:
    """Settings of a booster that follow from its trees and objective."""
    learner = json.loads(booster.save_config())["learner"]
    trees = learner["gradient_booster"].get("tree_train_param", {})
    sampled = {name: float(trees[name]) for name in SAMPLING if name in trees}
    return {**sampled, "objective": learner["objective"]["name"]}


def category_codes(model: Any, columns: list[str]) -> dict[str, dict[str, float]]:
    """XGBoost keeps the labels of the columns of categories since version 3.1."""
    booster = _booster(model)
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    encoded = learner["gradient_booster"]["model"].get("cats", {}).get("enc", [])
    labels = dict(zip(booster.feature_names or [], map(_labels, encoded), strict=False))
    return {
        name: {label: float(k) for k, label in enumerate(labels[name])}
        for name in columns
        if labels.get(name)
    }


def _labels(encoded: dict[str, Any]) -> list[str]:
    """Labels as text; strings come as their bytes in one row, with where each begins."""
    values = encoded["values"]
    if "offsets" not in encoded:
        return [str(value) for value in values]
    text = bytes(value % 256 for value in values)
    return [text[a:b].decode() for a, b in pairwise(encoded["offsets"])]


def _n_trees(booster: Any, n_trees: int) -> int:
    """Trees that predict: those up to the best iteration if training stopped early."""
    best = booster.attributes().get("best_iteration")
    return n_trees if best is None else int(best) + 1


def _refuse_other_kinds(learner: dict[str, Any]) -> None:
    objective = learner["objective"]["name"]
    if objective not in ("reg:squarederror", *LOSSES):
        raise UnreadableTreesError(
            f"XGBRegressor has objective={objective!r}; only 'reg:squarederror', 'count:poisson', "
            "'reg:gamma' and 'reg:tweedie' can be replayed on subsets."
        )
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise UnreadableTreesError(f"XGBoost's booster={booster['name']!r} cannot be replayed.")
    shape = booster["model"]["gbtree_model_param"]
    if int(shape.get("num_parallel_tree", 1)) > 1:
        raise UnreadableTreesError("XGBoost's num_parallel_tree > 1 cannot be replayed.")
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        raise UnreadableTreesError("XGBoost models of several outputs cannot be replayed.")


def _read_tree(tree: dict[str, Any]) -> Tree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    missing_left = np.array(tree["default_left"], dtype=bool)
    sets = _category_sets(tree)
    # The listed categories go right, all others left: the sides change their names.
    swapped = list(sets)
    left[swapped], right[swapped] = right[swapped], left[swapped]
    missing_left[swapped] = ~missing_left[swapped]
    leaf = left == -1
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    return Tree(
        feature=np.where(leaf, LEAF, tree["split_indices"]),
        # x < c is x <= the float32 number before c.
        threshold=np.nextafter(condition, np.float32(-np.inf)),
        left=np.where(leaf, 0, left),
        right=np.where(leaf, 0, right),
        missing_left=missing_left,
        value=np.where(leaf, condition, 0.0),
        gain=np.where(leaf, 0.0, tree["loss_changes"]),
        left_categories=sets,
        count=tree["sum_hessian"],
    )


def _category_sets(tree: dict[str, Any]) -> dict[int, list[int]]:
    """The categories that each split on categories lists."""
    places = zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    )
    return {node: tree["categories"][start : start + size] for node, start, size in places}


def _category_settings(categorical: BoolArray) -> dict[str, Any]:
    if not categorical.any():
        return {}
    types = ["c" if is_category else "q" for is_category in categorical]
    return {"enable_categorical": True, "feature_types": types}


def _takes_categories(model: Any) -> bool:
    return bool(model.get_params()["tree_method"] != "exact")


SAMPLING = ("colsample_bynode", "colsample_bylevel", "colsample_bytree")
LOSSES = {"count:poisson": "poisson", "reg:gamma": "gamma", "reg:tweedie": "tweedie"}
LIBRARY = BoosterLibrary(
    regressor="XGBRegressor",
    classifier="XGBClassifier",
    module="xgboost",
    read=read,
    column_sampling=SAMPLING,
    one_thread={"n_jobs": 1},
    takes_categories=_takes_categories,
    category_settings=_category_settings,
    category_codes=category_codes,
    losses=LOSSES,
    raw_settings=_raw_settings,
    raw_names=lambda booster: booster.feature_names,
)
