"""Which rows each tree of a fitted scikit-learn forest was grown on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from shaff._util.typing import FloatArray
from shaff.errors import InputError
from shaff.trees.kinds import leaves_rows_out


def forest_bags(model: Any, n_rows: int) -> npt.NDArray[np.uint16]:
    """In-bag multiplicities of a fitted forest on its training rows, shape (n_trees, n_rows).

    Raises
    ------
    ValueError
        If the forest has no out-of-bag rows, or was not fitted on ``n_rows`` rows.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.datasets import load_diabetes
    >>> from shaff.trees.bags import forest_bags
    >>> X, y, _ = load_diabetes()
    >>> bags = forest_bags(RandomForestRegressor(5, random_state=0).fit(X, y), len(X))
    >>> bags.shape, bags.sum(axis=1).tolist()
    ((5, 442), [442, 442, 442, 442, 442])
    """
    check_bootstrap(model)
    # Private, since nothing public tells the number of rows when bags are smaller than the data.
    if model._n_samples != n_rows:
        raise InputError(_other_data(model, n_rows))
    samples = model.estimators_samples_
    bags = np.zeros((len(samples), n_rows), dtype=np.uint16)
    for bag, sample in zip(bags, samples, strict=True):
        bag += np.bincount(sample, minlength=n_rows).astype(np.uint16)
    # The bags are drawn again from the seeds: after warm_start or on other data they do not fit.
    for tree, bag in zip(np.ravel(model.estimators_), bags, strict=True):
        if tree.tree_.n_node_samples[0] != np.count_nonzero(bag):
            raise InputError(_other_data(model, n_rows))
    return bags


def drawn_by_weight(model: Any, bags: npt.NDArray[np.uint16]) -> bool:
    """Whether sample weights went into the bags, as from scikit-learn 1.9 on, and not the trees."""
    grown_on = [tree.tree_.weighted_n_node_samples[0] for tree in np.ravel(model.estimators_)]
    return np.allclose(grown_on, bags.sum(axis=1))


def check_targets(model: Any, y: FloatArray, bag_weight: FloatArray) -> None:
    """Refuse rows of which the trees do not have the mean: they were grown on others.

    Parameters
    ----------
    model : fitted forest
    y : float array of shape (n_rows, n_outputs)
        For a classification the indicators of the classes, of the second only if there are two.
    bag_weight : float array of shape (n_trees, n_rows)
    """
    if getattr(model, "class_weight", None) is not None:
        return
    means = bag_weight @ y / bag_weight.sum(axis=1, keepdims=True)
    for tree, mean in zip(np.ravel(model.estimators_), means, strict=True):
        known = tree.tree_.value[0]
        if is_classifier(tree):
            # Our order of the classes may be another.
            mean = np.sort(mean if len(mean) > 1 else [1 - mean[0], mean[0]])
            known = np.sort(known[0] / known[0].sum())
        elif tree.criterion == "absolute_error":
            continue
        if len(known.ravel()) != len(mean) or not np.allclose(
            known.ravel(), mean, rtol=1e-5, atol=1e-5 * float(y.std())
        ):
            raise InputError(_other_data(model, len(y)))


def check_bootstrap(model: Any) -> None:
    """Refuse a forest without out-of-bag rows."""
    if not leaves_rows_out(model):
        raise InputError(
            f"{type(model).__name__} has bootstrap=False: every row is in every bag, so nothing is "
            "out of bag. Set bootstrap=True, or fit it yourself and pass held-out rows to "
            "ShapleyEffects.from_fitted."
        )


def _other_data(model: Any, n_rows: int) -> str:
    return (
        f"{type(model).__name__} was not fitted on these {n_rows} rows: the bags of its trees do "
        'not match. Pass the rows it was fitted on, or held-out rows with rows="held_out".'
    )


def draw_bags(
    n_trees: int,
    n_rows: int,
    row_groups: npt.NDArray[Any] | None,
    seed: int,
    share: float = 1.0,
    replace: bool = True,
) -> npt.NDArray[np.uint16]:
    """Bags of shape (n_trees, n_rows); the rows of a group go in or out together.

    A bag draws ``share`` times as many groups as there are, with replacement (bootstrap) or not.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.trees.bags import draw_bags
    >>> draw_bags(3, 4, np.array([0, 0, 1, 1]), seed=0).tolist()
    [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 2, 2]]
    """
    rng = np.random.RandomState(seed)
    groups = np.arange(n_rows) if row_groups is None else row_groups
    n_groups = int(groups.max()) + 1
    n_draws = max(1, round(share * n_groups))
    bags = np.empty((n_trees, n_rows), dtype=np.uint16)
    for bag in bags:
        drawn = (
            rng.randint(n_groups, size=n_draws) if replace else rng.permutation(n_groups)[:n_draws]
        )
        bag[:] = np.bincount(drawn, minlength=n_groups)[groups]
    return bags
