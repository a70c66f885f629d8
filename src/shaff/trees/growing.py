"""Forests grown tree by tree: categories ordered inside each bag, rows drawn in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from shaff._util.arrays import count_rows
from shaff._util.statistics import equal_means_p_value
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff._util.work import in_blocks, run_tasks
from shaff.errors import InputError
from shaff.trees.bags import check_bootstrap, draw_bags, forest_bags
from shaff.trees.forest import Forest, read_forest
from shaff.trees.kinds import is_bagged, is_randomised
from shaff.trees.units import ColumnUnits

# A looser test, or fewer rows: a factor of noise is evaluated below 0; a stricter one, or more: a
# weak factor is lost (`benchmarks.data`).
ORDER_LEVEL = 0.05  # of the test whether the mean targets of categories differ at all
RARE_ROWS = 5  # in the bag, as in a leaf
RankArray = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class CategoryOrders:
    """The order in which each tree sees the categories of a column.

    Parameters
    ----------
    offset : int64 array of shape (n_columns,)
        Where the ranks of a column start; -1 for a column of numbers.
    ranks : uint32 array of shape (n_trees, n_ranks)
        Place of each category, in the order of the codes, among those of its column.
    """

    offset: npt.NDArray[np.int64]
    ranks: RankArray

    @classmethod
    def none(cls) -> CategoryOrders:
        """Return orders for a table without categories."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.uint32))


@dataclass(frozen=True, eq=False)
class GrownForest:
    """Trees with their bags, the orders of their categories, the columns' split gains, and the
    units in which they see columns; None means those of the table."""

    forest: Forest
    bags: npt.NDArray[np.uint16]
    orders: CategoryOrders
    gains: FloatArray | None = None
    units: ColumnUnits | None = None

    def as_seen(self, X: FloatArray) -> FloatArray:
        """Return rows of the table as the trees see them."""
        return X if self.units is None else self.units.encode(X)

    @classmethod
    def of_fitted(
        cls, model: Any, n_rows: int, bags: npt.NDArray[np.uint16] | None = None
    ) -> GrownForest:
        """The trees of a fitted forest with their own bags, or with others."""
        columns = getattr(model, "estimators_features_", None)
        trees = list(np.ravel(model.estimators_))
        forest = read_forest(trees, model.n_features_in_, columns)
        gains = getattr(model, "feature_importances_", None)
        bags = forest_bags(model, n_rows) if bags is None else bags
        return cls(forest, bags, CategoryOrders.none(), gains)


@dataclass(frozen=True, eq=False)
class TreeSample:
    """The rows and columns that some trees of a forest grow on.

    Parameters
    ----------
    rows : uint16 array of shape (n_rows,)
        The bag: how often each row is in it.
    columns : int array
        Columns that the trees may split on.
    """

    rows: npt.NDArray[np.uint16]
    columns: IntpArray


def grow_forest(
    model: Any,
    X: FloatArray,
    y: FloatArray,
    *,
    categorical: BoolArray,
    sample_weight: FloatArray | None = None,
    growth_weight: FloatArray | None = None,
    row_groups: npt.NDArray[Any] | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
    samples: Sequence[TreeSample] | None = None,
) -> GrownForest:
    """Grow a forest with the settings of a scikit-learn forest.

    Each tree orders the categories of a column by their mean target in its bag, as ranger does
    (Wright and Koenig 2019); with several outputs by the first principal component of their mean
    targets. Categories that the bag lacks stand at the overall mean. Rows out of the bag have no
    say in the order, so that nothing of them leaks. Unlike ranger, a tree takes a random order
    if the means differ by no more than chance (F-test at 5 %): an order made of noise would let
    a factor of many levels fit the noise of the bag, and give it a value below 0.

    Parameters
    ----------
    model : RandomForest, ExtraTrees or Bagging, regressor or classifier
        Only its settings are used. Classifiers are grown on the indicators of the classes, which
        is the Gini criterion.
    X : float array of shape (n_rows, n_columns)
        NaN is missing; categories are codes.
    y : float array of shape (n_rows, n_outputs)
    categorical : bool array of shape (n_columns,)
    sample_weight : float array of shape (n_rows,) or None
        Weights of the rows in the bag, on top of how often they were drawn. Whole weights count
        as repeated rows, also in the least size of a leaf.
    growth_weight : float array of shape (n_rows,) or None
        Further weights that only shape the trees (``class_weight``).
    row_groups : int array of shape (n_rows,) or None
        Rows of one group are in a bag together or not at all.
    samples : sequence of TreeSample or None
        As many trees grow on the rows and columns of each; None draws bags of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.trees.growing import grow_forest
    >>> X, y = np.tile([[0.0], [1.0], [2.0]], (20, 1)), np.tile([[5.0], [9.0], [1.0]], (20, 1))
    >>> grown = grow_forest(RandomForestRegressor(2), X, y, categorical=np.array([True]))
    >>> grown.orders.ranks.tolist()
    [[1, 2, 0], [1, 2, 0]]
    """
    check_bootstrap(model)
    template = _tree_template(model, len(X))
    rng = np.random.RandomState(seed)
    share, bag_seed = _bag_share(model, len(X)), rng.randint(2**31 - 1)
    if samples is None:
        bags = draw_bags(model.n_estimators, len(X), row_groups, bag_seed, share, model.bootstrap)
        seen = [np.arange(X.shape[1])] * len(bags)
    else:
        bags = np.stack([sample.rows for sample in samples for _ in range(model.n_estimators)])
        seen = [sample.columns for sample in samples for _ in range(model.n_estimators)]
    seeds = rng.randint(2**31 - 1, size=len(bags))
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    growth = weight if growth_weight is None else weight * growth_weight
    columns = [_CategoryColumn(X, int(j)) for j in np.flatnonzero(categorical)]
    data = _GrowingData(X.astype(np.float32), y, weight, growth, columns, template)
    tasks = [
        (bags[b.start : b.stop], seen[b.start : b.stop], seeds[b.start : b.stop])
        for b in in_blocks(len(bags))
    ]
    grown = run_tasks(_grow_trees, data, tasks, n_jobs)
    trees, ranks = zip(*(tree for block in grown for tree in block), strict=True)
    gains = np.zeros(X.shape[1])
    for tree, own in zip(trees, seen, strict=True):
        gains[own] += tree.feature_importances_
    orders = _join_orders(columns, ranks, X.shape[1])
    return GrownForest(read_forest(list(trees), X.shape[1], seen), bags, orders, gains / len(trees))


@dataclass(frozen=True, eq=False)
class _GrowingData:
    """Data that all trees of a forest grow on; see `grow_forest`."""

    X: npt.NDArray[np.float32]
    y: FloatArray
    weight: FloatArray
    growth: FloatArray
    columns: list[_CategoryColumn]
    template: Any

    @cached_property
    def count(self) -> FloatArray:
        """How many rows each row is: as many as its weight says, if weights count rows."""
        return self.weight if count_rows(self.weight) else np.ones(len(self.weight))

    @cached_property
    def copies(self) -> IntpArray:
        """How often a tree has to see a row: copies past the least size of a node change none."""
        least = max(self.template.min_samples_leaf, self.template.min_samples_split)
        return np.clip(self.count, 1, least).astype(np.intp)


def _grow_trees(
    data: _GrowingData,
    bags: npt.NDArray[np.uint16],
    seen: list[IntpArray],
    seeds: npt.NDArray[Any],
) -> list[tuple[Any, list[RankArray]]]:
    """Fitted trees, and the orders in which they see the categories of each column."""
    parts = zip(bags, seen, seeds.tolist(), strict=True)
    return [_grow_tree(data, bag, own, seed) for bag, own, seed in parts]


def _grow_tree(
    data: _GrowingData, bag: npt.NDArray[np.uint16], own: IntpArray, seed: int
) -> tuple[Any, list[RankArray]]:
    inside = np.flatnonzero(bag * data.weight > 0)
    rows, ranks = data.X[inside], []
    y, shuffle = data.y[inside], np.random.RandomState(seed)
    for column in data.columns:
        ranks.append(column.ranks(inside, y, data.weight[inside], data.count[inside], shuffle))
        rows[:, column.index] = column.encode(inside, ranks[-1])
    tree = clone(data.template).set_params(random_state=seed)
    copies = data.copies[inside]
    weight = np.repeat(bag[inside] * data.growth[inside] / copies, copies)
    rows = np.repeat(rows[:, own], copies, axis=0)
    return tree.fit(rows, np.repeat(y, copies, axis=0), sample_weight=weight), ranks


class _CategoryColumn:
    """One column of categories.

    A tree sees the category of rank r under the r-th smallest code: thresholds then live on the
    scale of the codes, as those of any other column.
    """

    def __init__(self, X: FloatArray, index: int) -> None:
        self.index = index
        codes = X[:, index]
        self.missing = np.isnan(codes)
        levels, first = np.unique(codes[~self.missing], return_index=True)
        self.levels = levels.astype(np.float32)
        self.by_appearance = np.argsort(first)  # which does not depend on their names
        self.position = np.searchsorted(self.levels, codes).astype(np.intp)

    def ranks(
        self,
        inside: IntpArray,
        y: FloatArray,
        weight: FloatArray,
        count: FloatArray,
        rng: np.random.RandomState,
    ) -> RankArray:
        """Place of each category in the order of the mean targets of the bag's distinct rows."""
        known = ~self.missing[inside]
        position, weight, y = self.position[inside][known], weight[known], y[known]
        n_rows = np.bincount(position, count[known], len(self.levels)).astype(np.float64)
        score = _level_scores(position, y, weight, n_rows)
        if score is None:
            return rng.permutation(len(self.levels))[np.argsort(self.by_appearance)].astype(
                np.uint32
            )
        # Levels of few rows stand together: by the means of their noise a tree would tell the
        # rows of its bag apart, and nothing of other rows.
        score[n_rows < RARE_ROWS] = 0.0
        return np.unique(score, return_inverse=True)[1].astype(np.uint32)

    def encode(self, inside: IntpArray, ranks: RankArray) -> npt.NDArray[np.float32]:
        """The column as the tree sees it."""
        missing = self.missing[inside]
        encoded = np.full(len(inside), np.nan, dtype=np.float32)
        encoded[~missing] = self.levels[ranks[self.position[inside][~missing]]]
        return encoded


def _level_scores(
    position: IntpArray, y: FloatArray, weight: FloatArray, n_rows: FloatArray
) -> FloatArray | None:
    """One number per category to order them by, 0 for those that do not occur; None if their means
    do not differ by more than chance. ``n_rows`` are the rows of each."""
    n_levels = len(n_rows)
    count = np.bincount(position, weights=weight, minlength=n_levels)
    total = np.stack(
        [np.bincount(position, weights=weight * t, minlength=n_levels) for t in y.T], axis=1
    )
    overall = total.sum(axis=0) / max(count.sum(), 1e-300)
    seen = count > 0
    deviation = np.where(seen[:, None], total / np.where(seen, count, 1.0)[:, None] - overall, 0.0)
    between = float((count @ deviation**2).sum())
    around = float((weight @ (y - overall) ** 2).sum())
    if (
        equal_means_p_value(between, around - between, int(seen.sum()), int(n_rows.sum()))
        >= ORDER_LEVEL
    ):
        return None
    if y.shape[1] == 1:
        return np.asarray(deviation[:, 0])
    scatter = deviation.T @ (deviation * count[:, None])
    return np.asarray(deviation @ np.linalg.eigh(scatter)[1][:, -1])


def _join_orders(
    columns: list[_CategoryColumn], ranks: tuple[list[RankArray], ...], n_columns: int
) -> CategoryOrders:
    if not columns:
        return CategoryOrders.none()
    offset = np.full(n_columns, -1, dtype=np.int64)
    sizes = [len(column.levels) for column in columns]
    offset[[column.index for column in columns]] = np.cumsum([0, *sizes[:-1]])
    return CategoryOrders(offset, np.stack([np.concatenate(parts) for parts in ranks]))


def _tree_template(model: Any, n_rows: int) -> Any:
    """An unfitted regression tree with the settings of the forest's trees.

    Shares of rows are shares of all rows, of which a tree sees those in its bag only.
    """
    template = _tree_settings(model)
    for name, least in (("min_samples_leaf", 1), ("min_samples_split", 2)):
        share = getattr(template, name)
        if isinstance(share, float):
            template.set_params(**{name: max(least, int(np.ceil(share * n_rows)))})
    return template


def _tree_settings(model: Any) -> Any:
    if is_bagged(model):
        if model.max_features != 1.0 or not isinstance(
            model.estimator, DecisionTreeRegressor | None
        ):
            raise InputError(
                f"{type(model).__name__} with categories, weights or row groups must bag "
                "DecisionTreeRegressor on all columns: or use a RandomForestRegressor."
            )
        return DecisionTreeRegressor() if model.estimator is None else clone(model.estimator)
    template = ExtraTreeRegressor() if is_randomised(model) else DecisionTreeRegressor()
    settings = {k: v for k, v in model.get_params().items() if k in template.get_params()}
    if is_classifier(model):
        settings.pop("criterion")
    return template.set_params(**settings)


def _bag_share(model: Any, n_rows: int) -> float:
    """Size of a bag as a share of the rows."""
    size = model.max_samples
    if size is None:
        return 1.0
    return float(size) if isinstance(size, float) else size / n_rows
