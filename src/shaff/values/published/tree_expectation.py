"""Expectation of scikit-learn trees when only some of their columns are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import BaseDecisionTree

from shaff._core import add_tree_expectation
from shaff._util.typing import BoolArray, FloatArray
from shaff.values.models.held_out import HeldOut

BackgroundArray = npt.NDArray[np.int32]


def held_out_expectation(
    held_out: HeldOut,
    X: FloatArray,
    known: BoolArray,
    background: BackgroundArray,
    rows: FloatArray | None = None,
) -> FloatArray:
    """Expectation of tree models given the known columns.

    Known splits send a row to its side. At any other split the expectation is taken over both
    sides: by their cover (TreeSHAP) when ``background`` has no columns, else over the values of
    the background rows (interventional SHAP, kernelSHAP, SAGE).

    Parameters
    ----------
    held_out : HeldOut
        Tree models and the rows that they have not seen.
    X : float array of shape (n_train, n_columns)
        The rows that the models were fitted on, and the source of the background.
    known : bool array of shape (n_subsets, n_columns)
    background : int32 array of shape (n_subsets, n_draws)
        Rows of X.
    rows : float array of shape (n_rows, n_columns), optional
        Points to predict with all models; by default each row of X with those that have not seen
        it.

    Returns
    -------
    float array of shape (n_subsets, n_rows, n_outputs)
        NaN for rows that every model has seen.
    """
    training = _as_columns(X)
    points = training if rows is None else _as_columns(rows)
    everything = np.arange(points.shape[1], dtype=np.int32)
    sums = np.zeros((len(known), points.shape[1], _n_outputs(held_out)))
    counts = np.zeros(points.shape[1])
    for model, unseen in zip(held_out.predictors, held_out.rows, strict=True):
        asked = unseen if rows is None else everything
        trees = _trees(model)
        for tree in trees:
            add_tree_expectation(
                **_node_arrays(tree), columns=points, rows=asked, background_columns=training,
                background_rows=background, known=known.view(np.uint8), sums=sums,
            )  # fmt: skip
        counts[asked] += len(trees)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts[:, None])


def no_background(n_subsets: int) -> BackgroundArray:
    """The background that stands for expectation by cover.

    Examples
    --------
    >>> from shaff.values.published.tree_expectation import no_background
    >>> no_background(3).shape
    (3, 0)
    """
    return np.zeros((n_subsets, 0), dtype=np.int32)


def _trees(model: Any) -> list[Any]:
    members = [model] if isinstance(model, BaseDecisionTree) else model.estimators_
    return [member.tree_ for member in members]


def _n_outputs(held_out: HeldOut) -> int:
    return int(_trees(held_out.predictors[0])[0].n_outputs)


def _as_columns(X: FloatArray) -> npt.NDArray[np.float32]:
    # scikit-learn compares float32 values with float64 thresholds.
    return np.ascontiguousarray(X.astype(np.float32).T)


def _node_arrays(tree: Any) -> dict[str, npt.NDArray[Any]]:
    return {
        "left": np.ascontiguousarray(tree.children_left),
        "right": np.ascontiguousarray(tree.children_right),
        "feature": np.ascontiguousarray(tree.feature),
        "threshold": np.ascontiguousarray(tree.threshold),
        "missing_left": np.ascontiguousarray(tree.missing_go_to_left),
        "cover": np.ascontiguousarray(tree.weighted_n_node_samples),
        "value": np.ascontiguousarray(tree.value[:, :, 0]),
    }
