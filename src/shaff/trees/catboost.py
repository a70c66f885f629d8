"""Reader of CatBoost's CatBoostRegressor, from its public JSON form."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff.errors import InputError
from shaff.trees.ensemble import LEAF, Ensemble, Tree
from shaff.trees.library import BoosterLibrary, UnreadableTreesError


def read(model: Any) -> Ensemble:
    """Read a fitted CatBoostRegressor with symmetric trees and squared loss, or that of counts."""
    if not model.is_fitted():
        raise InputError("This CatBoostRegressor is not fitted yet.")
    parameters = model.get_all_params()
    _refuse_other_kinds(model, parameters)
    dump = _dump(model)
    scale, (bias,) = dump["scale_and_bias"]
    missing = {
        feature["feature_index"]: feature["nan_value_treatment"] == "AsTrue"
        for feature in dump["features_info"]["float_features"]
    }
    return Ensemble.from_trees(
        [_read_tree(tree, missing, scale) for tree in dump["oblivious_trees"]],
        len(model.feature_names_),
        base_score=float(bias),
        learning_rate=float(model.learning_rate_),
        shrinkage=float(parameters["l2_leaf_reg"]),
        single_precision=True,
    )


def _refuse_other_kinds(model: Any, parameters: dict[str, Any]) -> None:
    loss = parameters["loss_function"]
    if loss.partition(":")[0] not in ("RMSE", *LOSSES):
        raise UnreadableTreesError(
            f"CatBoostRegressor has loss_function={loss!r}; only 'RMSE', 'Poisson' and 'Tweedie' "
            "can be replayed on subsets."
        )
    if model.get_cat_feature_indices():
        raise UnreadableTreesError(
            "CatBoost's splits on categories use statistics of the target and cannot be "
            "projected; give the categories as numbers, or use HistGradientBoostingRegressor or "
            "LGBMRegressor."
        )
    if parameters.get("grow_policy", "SymmetricTree") != "SymmetricTree":
        raise UnreadableTreesError("Only CatBoost's symmetric trees can be projected.")


def _dump(model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return dict(json.loads(path.read_text()))


def _read_tree(tree: dict[str, Any], missing: dict[int, bool], scale: float) -> Tree:
    """A symmetric tree as a full binary tree, node i with children 2i + 1 and 2i + 2.

    The tree asks its last split first here, so that the leaves stand in the library's order:
    split k is bit k of the leaf number.
    """
    splits = (tree["splits"] or [])[::-1]
    depth = len(splits)
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    columns = np.array([split["float_feature_index"] for split in splits], dtype=np.int64)
    borders = np.array([split["border"] for split in splits])
    goes_right = np.array([missing[int(column)] for column in columns], dtype=bool)
    leaves, inner = np.full(2**depth, LEAF), np.arange(2**depth - 1)
    zeros = np.zeros(2**depth)
    return Tree(
        feature=np.concatenate([columns[level], leaves]),
        threshold=np.concatenate([borders[level], zeros]),
        left=np.concatenate([2 * inner + 1, zeros]),
        right=np.concatenate([2 * inner + 2, zeros]),
        missing_left=np.concatenate([~goes_right[level], zeros != 0]),
        value=np.concatenate([np.zeros(2**depth - 1), scale * np.array(tree["leaf_values"])]),
        gain=np.concatenate([_gains(tree, depth), zeros]),
        count=np.concatenate([np.zeros(2**depth - 1), tree["leaf_weights"]]),
    )


def _gains(tree: dict[str, Any], depth: int) -> FloatArray:
    """Variance of the leaf values that each node's split explains; the library stores no gain."""
    weight = np.array(tree["leaf_weights"], dtype=np.float64)
    total = weight * np.array(tree["leaf_values"], dtype=np.float64)
    levels: list[FloatArray] = []
    for _ in range(depth):
        pairs, sums = weight.reshape(-1, 2), total.reshape(-1, 2)
        means = sums / np.maximum(pairs, 1e-300)
        weight, total = pairs.sum(axis=1), sums.sum(axis=1)
        between = pairs.prod(axis=1) / np.maximum(weight, 1e-300)
        levels.append(between * (means[:, 1] - means[:, 0]) ** 2)
    return np.concatenate([*levels[::-1], np.zeros(0)])


def _seed_name(model: Any) -> str:
    """Name of the seed: the library lists only what was set, and takes either name but not both."""
    return "random_state" if "random_state" in model.get_params() else "random_seed"


def _codes_itself(model: Any) -> bool:
    """Whether a model was told of columns that it makes numbers of by itself."""
    settings = model.get_params()
    names = ("cat_features", "text_features", "embedding_features")
    return any(settings.get(name) is not None for name in names)


LOSSES = {"Poisson": "poisson", "Tweedie": "tweedie"}
LIBRARY = BoosterLibrary(
    regressor="CatBoostRegressor",
    classifier="CatBoostClassifier",
    module="catboost",
    read=read,
    column_sampling=("rsm", "colsample_bylevel"),
    # It takes only one of its four names for how much to say.
    one_thread={"thread_count": 1, "allow_writing_files": False, "verbose": False,
                "logging_level": None, "silent": None, "verbose_eval": None},
    seed_name=_seed_name,
    takes_categories=lambda model: False,
    loss_name="loss_function",
    losses=LOSSES,
    codes_itself=_codes_itself,
)  # fmt: skip
