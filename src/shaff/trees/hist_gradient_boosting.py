"""Reader of scikit-learn's HistGradientBoostingRegressor.

The trees have no public form: of the readers, only this one touches private attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shaff._util.missing import is_missing
from shaff._util.typing import BoolArray, IntArray
from shaff.trees.ensemble import LEAF, Ensemble, Tree
from shaff.trees.library import BoosterLibrary, UnreadableTreesError


def read(model: Any) -> Ensemble:
    """Read a fitted HistGradientBoostingRegressor with squared loss, or a loss of counts."""
    check_is_fitted(model)
    if model.loss not in ("squared_error", *LOSSES):
        raise UnreadableTreesError(
            f"HistGradientBoostingRegressor has loss={model.loss!r}; only 'squared_error', "
            "'poisson' and 'gamma' can be replayed on subsets."
        )
    try:
        return _read_private(model)
    except (AttributeError, KeyError, IndexError, ValueError) as error:
        import sklearn

        raise RuntimeError(
            f"shaff cannot read the trees of HistGradientBoostingRegressor from scikit-learn "
            f"{sklearn.__version__}: its private attributes have changed ({error!r}). Please "
            "report this; until then use another scikit-learn version or another booster."
        ) from error


def _read_private(model: Any) -> Ensemble:
    columns, encoded = _input_columns(model)
    trees = [_read_tree(predictor, columns, encoded) for (predictor,) in model._predictors]
    known = {column: np.sort(categories) for column, categories in encoded.items()}
    return Ensemble.from_trees(
        trees,
        model.n_features_in_,
        base_score=float(np.ravel(model._baseline_prediction)[0]),
        learning_rate=float(model.learning_rate),
        shrinkage=float(model.l2_regularization),
        known_categories=known,
    )


def _input_columns(model: Any) -> tuple[IntArray, dict[int, IntArray]]:
    """Input column of each internal one, and the categories of the encoded input columns.

    The model moves categorical columns to the front and numbers their categories.
    """
    p = model.n_features_in_
    if model.is_categorical_ is None:
        return np.arange(p), {}
    categorical = np.asarray(model.is_categorical_, dtype=bool)
    columns = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
    return columns, {j: _numbers(labels) for j, labels in _labels(model).items()}


def _labels(model: Any) -> dict[int, list[Any]]:
    """The categories of each column without the missing one, which the encoder puts last."""
    encoder = model._preprocessor.named_transformers_["encoder"]
    columns = np.flatnonzero(model.is_categorical_).tolist()
    return {
        column: [label for label in labels if not is_missing(label)]
        for column, labels in zip(columns, encoder.categories_, strict=True)
    }


def _numbers(labels: list[Any]) -> IntArray:
    """What stands for the categories in a matrix: themselves, or their places if they are text."""
    if any(isinstance(label, str) for label in labels):
        return np.arange(len(labels))
    numbers = np.asarray(labels, dtype=np.float64)
    if (numbers < 0).any() or (numbers != np.trunc(numbers)).any():
        raise NotImplementedError(
            "Categories must be whole numbers that start at 0 to be projected."
        )
    return numbers.astype(np.int64)


def category_codes(model: Any, columns: list[str]) -> dict[str, dict[str, float]]:
    """The model's own encoder knows the labels."""
    if model.is_categorical_ is None:
        return {}
    names = list(getattr(model, "feature_names_in_", []))
    known = {names[j]: labels for j, labels in _labels(model).items() if names}
    return {
        name: dict(
            zip(map(str, known[name]), _numbers(known[name]).astype(float).tolist(), strict=True)
        )
        for name in columns
        if name in known
    }


def _read_tree(predictor: Any, columns: IntArray, encoded: dict[int, IntArray]) -> Tree:
    nodes = predictor.nodes
    split = nodes["is_leaf"] == 0
    feature = np.where(split, columns[nodes["feature_idx"]], LEAF)
    left_categories = {}
    for node in np.flatnonzero(split & (nodes["is_categorical"] != 0)):
        known = encoded[int(feature[node])]
        members = _members(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        # Bits past the categories stand for missing ones, which `missing_left` tells already.
        left_categories[int(node)] = known[members[members < len(known)]]
    return Tree(
        feature=feature,
        threshold=nodes["num_threshold"],
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        missing_left=nodes["missing_go_to_left"] != 0,
        value=nodes["value"],
        gain=np.where(split, nodes["gain"], 0.0),
        left_categories=left_categories,
        count=nodes["count"],
    )


def _members(bitset: Any) -> IntArray:
    words = np.ascontiguousarray(bitset, dtype="<u4")
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))


def _category_settings(categorical: BoolArray) -> dict[str, Any]:
    return {"categorical_features": categorical} if categorical.any() else {}


LOSSES = {"poisson": "poisson", "gamma": "gamma"}
LIBRARY = BoosterLibrary(
    regressor="HistGradientBoostingRegressor",
    classifier="HistGradientBoostingClassifier",
    module="sklearn.ensemble",
    read=read,
    column_sampling=("max_features",),
    category_settings=_category_settings,
    category_codes=category_codes,
    loss_name="loss",
    losses=LOSSES,
)
