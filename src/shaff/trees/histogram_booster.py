"""The booster that shaff grows itself, on histograms of binned columns."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shaff import _core
from shaff._util.threads import Cancel
from shaff._util.typing import FloatArray, IntArray, WordArray
from shaff.trees.binning import Bins
from shaff.trees.ensemble import Ensemble
from shaff.trees.scaling import ValueArray


@dataclass(frozen=True)
class HistogramBooster:
    """Gradient boosting by least squares, leaf by leaf, best split first.

    Parameters
    ----------
    learning_rate : float
    max_leaf_nodes : int
        Leaves of a tree, at most.
    min_samples_leaf : int
        Rows of a leaf, at least.
    shrinkage : float
        A leaf steps by ``learning_rate * sum(residuals) / (count + shrinkage)``.
    max_features : float
        Share of the columns that each node looks at, drawn at random.
    slope_ratio : float or None
        None for constant leaves. Otherwise a leaf steps by a ridge regression on up to three
        numeric columns that its tree splits on; slopes are shrunk by this much times the
        shrinkage.

    Notes
    -----
    With ``max_features=1`` the trees are those of scikit-learn's HistGradientBoostingRegressor.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.trees.binning import Bins
    >>> from shaff.trees.histogram_booster import Growth, HistogramBooster
    >>> X = np.arange(60.0).reshape(-1, 1)
    >>> booster = HistogramBooster(learning_rate=0.5, shrinkage=0.0)
    >>> bins = Bins.of(X, np.array([False]))
    >>> growth = Growth(booster, bins, bins.as_bytes(bins.encode(X)), np.sqrt(X[:, 0]))
    >>> growth.grow(5).n_trees
    5
    >>> ensemble = growth.grow(20)
    >>> ensemble.n_trees, bool(np.mean(abs(ensemble.predict(X) - np.sqrt(X[:, 0]))) < 0.5)
    (25, True)
    """

    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 5
    shrinkage: float = 5.0
    max_features: float = 1.0
    slope_ratio: float | None = None


class Growth:
    """Trees that are being grown; growing goes on from where it was.

    Parameters
    ----------
    booster : HistogramBooster
    bins : Bins
    rows : uint8 array of shape (n_columns, n_rows)
        The rows in bins, by `Bins.as_bytes`.
    y : float array of shape (n_rows,)
    weight : float array of shape (n_rows,) or None
        Whole weights count as repeated rows.
    seed : int
        Decides, with the numbers of tree and node, which columns a node looks at.
    values : float32 array of shape (n_columns, n_rows) or None
        The rows by `Scaling`, for linear leaves; without them leaves are constant.

    Attributes
    ----------
    ensemble : Ensemble
        The trees so far.
    residual : float array of shape (n_rows,)
        What they leave of y.
    """

    def __init__(
        self,
        booster: HistogramBooster,
        bins: Bins,
        rows: npt.NDArray[np.uint8],
        y: FloatArray,
        weight: FloatArray | None = None,
        seed: int = 0,
        values: ValueArray | None = None,
    ) -> None:
        self._booster, self._bins, self._rows, self._seed = booster, bins, rows, seed
        self._values = None if booster.slope_ratio is None else values
        self._weight = np.zeros(0) if weight is None else np.ascontiguousarray(weight)
        base = float(np.average(y, weights=weight))
        self.residual = np.asarray(y - base, dtype=np.float64)
        self.ensemble = replace(
            bins.no_trees(),
            base_score=base,
            learning_rate=booster.learning_rate,
            shrinkage=booster.shrinkage,
            slope_ratio=None if values is None else booster.slope_ratio,
        )

    def grow(self, n_trees: int, cancel: Cancel | None = None) -> Ensemble:
        """Grow ``n_trees`` more trees, and return all that there are now."""
        booster = self._booster
        grown = _core.grow_trees(
            self._rows,
            self._bins.n_bins,
            self._bins.categorical,
            self._weight,
            booster.learning_rate,
            booster.shrinkage,
            booster.max_features,
            booster.min_samples_leaf,
            booster.max_leaf_nodes,
            self.ensemble.n_trees,
            n_trees,
            self._seed,
            self.residual,
            np.zeros(1, dtype=np.uint8) if cancel is None else cancel,
            self._values,
            self.ensemble.slope_shrinkage(booster.shrinkage),
        )
        self.ensemble = self.ensemble.with_more(self._read(grown))
        return self.ensemble

    def with_rows(self, rows: npt.NDArray[np.uint8], values: ValueArray | None) -> Growth:
        """The same growth on these rows; it goes on by itself."""
        other = copy.copy(self)
        other._rows, other.residual = rows, self.residual.copy()
        other._values = None if self.ensemble.slope_ratio is None else values
        return other

    def without_rows(self) -> Growth:
        """The same growth, light enough to be sent to where the rows are."""
        return self.with_rows(np.zeros((0, 0), dtype=np.uint8), None)

    def _read(self, grown: _core.Trees) -> Ensemble:
        """Read new trees, cut at values in place of bins."""
        feature, cut, left, right, missing_left, category_set, value, gain, count, sets, offset = (
            grown
        )
        threshold = np.zeros(len(feature))
        for column, cuts in enumerate(self._bins.cuts):
            nodes = np.flatnonzero((feature == column) & (category_set < 0))
            # Past the last cut all that is not missing goes left.
            threshold[nodes] = np.append(cuts, np.inf)[cut[nodes]]
        set_column = np.zeros(len(sets), dtype=np.int32)
        set_column[category_set[category_set >= 0]] = feature[category_set >= 0]
        words = _category_sets(sets, set_column, self._bins.categories)
        return replace(
            self.ensemble,
            feature=feature,
            threshold=threshold,
            left=left,
            right=right,
            missing_left=missing_left.view(np.bool_),
            zero_missing=np.zeros(len(feature), dtype=np.bool_),
            category_set=category_set,
            set_offset=np.arange(len(words) + 1, dtype=np.int64) * words.shape[1],
            set_words=words.ravel(),
            value=value,
            gain=gain,
            count=count,
            tree_offset=offset,
        )


def _category_sets(
    sets: WordArray, column: npt.NDArray[np.int32], categories: Mapping[int, IntArray]
) -> WordArray:
    """Bit sets of categories from those of their bins; set k is of column ``column[k]``."""
    largest = max((int(known.max(initial=0)) for known in categories.values()), default=0)
    members = np.zeros((len(sets), 64 * (largest // 64 + 1)), dtype=bool)
    in_bins = np.unpackbits(sets.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    for j, known in categories.items():
        mine = np.flatnonzero(column == j)
        members[np.ix_(mine, known)] = in_bins[mine, : len(known)]
    return np.packbits(members, axis=1, bitorder="little").view("<u8").astype(np.uint64)
