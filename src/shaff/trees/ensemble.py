"""One tree ensemble for every library: what the readers return and the kernels take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.typing import BoolArray, FloatArray, IntArray, WordArray
from shaff.errors import InputError

Int32Array = npt.NDArray[np.int32]
LEAF = -1
# Fields of an ensemble with an entry for each node.
_NODE_FIELDS = ("feature", "threshold", "left", "right", "missing_left", "zero_missing",
                "category_set", "value", "gain", "count")  # fmt: skip
# Slopes are shrunk a little even where steps are not: equal rows decide none.
LEAST_SHRINKAGE = 1e-3
ZERO_WIDTH = 1e-35  # LightGBM's: smaller numbers are zeros when zeros count as missing


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree as a reader builds it; children are indices within the tree, the root is 0.

    Parameters
    ----------
    feature : int array of shape (n_nodes,)
        Column of the split, `LEAF` at a leaf.
    threshold : float array of shape (n_nodes,)
        ``x <= threshold`` goes left. Libraries with a strict rule have it resolved here.
    left, right : int arrays of shape (n_nodes,)
    missing_left : bool array of shape (n_nodes,)
        Where missing values go.
    value, gain : float arrays of shape (n_nodes,)
        Leaf values with the learning rate in them; loss reduction of the splits.
    left_categories : mapping of node to an int array
        At these nodes the listed categories go left, in place of the threshold rule.
    zero_missing : bool array of shape (n_nodes,) or None
        Where zeros count as missing.
    count : float array of shape (n_nodes,) or None
        Weight of the training rows at each leaf, where the library states it.
    """

    feature: npt.ArrayLike
    threshold: npt.ArrayLike
    left: npt.ArrayLike
    right: npt.ArrayLike
    missing_left: npt.ArrayLike
    value: npt.ArrayLike
    gain: npt.ArrayLike
    left_categories: Mapping[int, npt.ArrayLike] = field(default_factory=dict)
    zero_missing: npt.ArrayLike | None = None
    count: npt.ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees of one model, their nodes concatenated.

    Parameters
    ----------
    feature, left, right, category_set : int32 arrays of shape (n_nodes,)
        As in `Tree`, children now counted over all nodes. `category_set` is -1 at numeric splits.
    threshold, value, gain, count : float arrays of shape (n_nodes,)
    missing_left, zero_missing : bool arrays of shape (n_nodes,)
    set_offset, set_words : int64 and uint64 arrays
        Bit sets of the categories that go left; set k is ``set_words[set_offset[k] :
        set_offset[k + 1]]``.
    tree_offset : int64 array of shape (n_trees + 1,)
        Tree t is the nodes ``tree_offset[t] : tree_offset[t + 1]``, its root first.
    n_columns : int
    base_score : float
        Prediction before the first tree.
    learning_rate, shrinkage : float
        A leaf's step is ``learning_rate * sum(residuals) / (count + shrinkage)``.
    single_precision : bool
        Whether the library rounds the inputs to float32 before it compares them.
    known_categories : mapping of column to a sorted int array
        Categories seen in training; others count as missing. Columns not listed know all.
    slope_ratio : float or None
        Shrinkage of the slopes of linear leaves, per unit of shrinkage; None for constant leaves.
    """

    feature: Int32Array
    threshold: FloatArray
    left: Int32Array
    right: Int32Array
    missing_left: BoolArray
    zero_missing: BoolArray
    category_set: Int32Array
    set_offset: IntArray
    set_words: WordArray
    value: FloatArray
    gain: FloatArray
    count: FloatArray
    tree_offset: IntArray
    n_columns: int
    base_score: float
    learning_rate: float
    shrinkage: float
    single_precision: bool = False
    known_categories: Mapping[int, IntArray] = field(default_factory=dict)
    slope_ratio: float | None = None

    @classmethod
    def from_trees(cls, trees: Sequence[Tree], n_columns: int, **header: Any) -> Ensemble:
        """Concatenate trees; `header` holds the fields that are not about nodes."""
        sizes = [len(np.asarray(tree.feature)) for tree in trees]
        offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        starts = np.repeat(offset[:-1], sizes)
        category_set, set_offset, set_words = _pack_sets(trees, offset)
        return cls(
            feature=_join(trees, "feature", np.int32),
            threshold=_join(trees, "threshold", np.float64),
            left=(_join(trees, "left", np.int64) + starts).astype(np.int32),
            right=(_join(trees, "right", np.int64) + starts).astype(np.int32),
            missing_left=_join(trees, "missing_left", np.bool_),
            zero_missing=_join(trees, "zero_missing", np.bool_),
            category_set=category_set,
            set_offset=set_offset,
            set_words=set_words,
            value=_join(trees, "value", np.float64),
            gain=_join(trees, "gain", np.float64),
            count=_join(trees, "count", np.float64),
            tree_offset=offset,
            n_columns=n_columns,
            **header,
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_offset) - 1

    def slope_shrinkage(self, shrinkage: float) -> float:
        """Shrinkage of the slopes where that of the steps is this one; 0 for constant leaves."""
        return (self.slope_ratio or 0.0) * max(shrinkage, LEAST_SHRINKAGE)

    def column_gains(self) -> FloatArray:
        """Summed gain of the splits on each column, shape (n_columns,)."""
        splits = self.feature != LEAF
        return np.bincount(
            self.feature[splits], weights=self.gain[splits], minlength=self.n_columns
        ).astype(np.float64)

    def with_more(self, other: Ensemble) -> Ensemble:
        """Return an ensemble with the trees of another after its own; the header is this one's."""
        n_nodes, n_words = len(self.feature), len(self.set_words)
        n_sets = len(self.set_offset) - 1
        more = {
            "left": other.left + n_nodes,
            "right": other.right + n_nodes,
            "category_set": np.where(other.category_set < 0, -1, other.category_set + n_sets),
            "set_offset": other.set_offset[1:] + n_words,
            "tree_offset": other.tree_offset[1:] + n_nodes,
        }
        joined: dict[str, Any] = {}
        for name in (*_NODE_FIELDS, "set_offset", "set_words", "tree_offset"):
            own = getattr(self, name)
            joined[name] = np.concatenate(
                [own, more.get(name, getattr(other, name))], dtype=own.dtype
            )
        return replace(self, **joined)

    def first_trees(self, n_trees: int) -> Ensemble:
        """The model stopped after `n_trees` trees."""
        end = int(self.tree_offset[n_trees])
        nodes = {name: getattr(self, name)[:end] for name in _NODE_FIELDS}
        return replace(self, **nodes, tree_offset=self.tree_offset[: n_trees + 1])

    def categorical_columns(self) -> set[int]:
        """Columns with a split on categories."""
        return {int(j) for j in np.unique(self.feature[self.category_set >= 0])}

    def set_members(self, index: int) -> IntArray:
        """Categories in one of the bit sets."""
        words = self.set_words[self.set_offset[index] : self.set_offset[index + 1]]
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(np.int64)

    def as_read(self, X: npt.ArrayLike) -> FloatArray:
        """X as the library sees it: rounded if it does so, unknown categories missing."""
        data = np.array(X, dtype=np.float64)
        if self.single_precision:
            data = data.astype(np.float32).astype(np.float64)
        for column, known in self.known_categories.items():
            data[~np.isin(data[:, column], known), column] = np.nan
        return data

    def goes_left(self, node: int, x: FloatArray) -> BoolArray:
        """Routing rule of one split for the entries of its column, as returned by `as_read`."""
        missing = np.isnan(x)
        if self.zero_missing[node]:
            missing |= np.abs(x) <= ZERO_WIDTH
        if self.category_set[node] >= 0:
            left = np.isin(np.trunc(x), self.set_members(int(self.category_set[node])))
        else:
            left = x <= self.threshold[node]
        return np.asarray(np.where(missing, self.missing_left[node], left), dtype=bool)

    def has_seen(self, X: npt.ArrayLike) -> bool:
        """Whether these are the training rows: the first tree has just as many at each leaf.

        False where the library does not tell, and for trees that were grown on a sample of rows.
        """
        if self.n_trees == 0:
            return False
        tree = self.first_trees(1)
        told, leaves = tree.count, np.flatnonzero(tree.feature == LEAF)
        counts = np.zeros(len(told))
        for node, rows in tree._leaves(self.as_read(X), 0):
            counts[node] = len(rows)
        return len(leaves) > 1 and np.allclose(told[leaves], counts[leaves])

    def _leaves(self, data: FloatArray, root: int) -> Iterator[tuple[int, IntArray]]:
        """Each leaf under a node, with the rows that reach it."""
        stack = [(root, np.arange(len(data)))]
        while stack:
            node, rows = stack.pop()
            if self.feature[node] == LEAF:
                yield node, rows
                continue
            left = self.goes_left(node, data[rows, self.feature[node]])
            stack.append((int(self.left[node]), rows[left]))
            stack.append((int(self.right[node]), rows[~left]))

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """The model's own prediction, shape (n,). Plain and slow: it is there to check readers.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.ensemble import HistGradientBoostingRegressor
        >>> from shaff.trees.boosters import read_ensemble
        >>> X = np.arange(60.0).reshape(-1, 1)
        >>> model = HistGradientBoostingRegressor(max_iter=5).fit(X, np.sqrt(X[:, 0]))
        >>> bool(np.allclose(read_ensemble(model).predict(X), model.predict(X)))
        True
        """
        if self.slope_ratio is not None:
            raise InputError("Trees with linear leaves are replayed and keep no predictions.")
        data = self.as_read(X)
        total = np.full(len(data), self.base_score)
        for root in self.tree_offset[:-1]:
            for leaf, rows in self._leaves(data, int(root)):
                total[rows] += self.value[leaf]
        return total


def _join(trees: Sequence[Tree], name: str, dtype: npt.DTypeLike) -> Any:
    parts = []
    for tree in trees:
        part = getattr(tree, name)
        parts.append(np.zeros(len(np.asarray(tree.feature))) if part is None else np.asarray(part))
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)


def _pack_sets(trees: Sequence[Tree], offset: IntArray) -> tuple[Int32Array, IntArray, WordArray]:
    category_set = np.full(int(offset[-1]), -1, dtype=np.int32)
    packed: list[WordArray] = []
    for start, tree in zip(offset[:-1], trees, strict=True):
        for node, categories in tree.left_categories.items():
            category_set[start + node] = len(packed)
            packed.append(_bits(np.asarray(categories, dtype=np.int64)))
    ends = np.cumsum([0, *(len(words) for words in packed)]).astype(np.int64)
    words = np.concatenate(packed) if packed else np.zeros(0, dtype=np.uint64)
    return category_set, ends, words


def _bits(members: IntArray) -> WordArray:
    n_words = int(members.max(initial=0)) // 64 + 1
    bits = np.zeros(64 * n_words, dtype=bool)
    bits[members] = True
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)
