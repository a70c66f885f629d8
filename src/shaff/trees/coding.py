"""Whole-number codes of the columns, in which an ensemble's splits are exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray, IntArray
from shaff.errors import InputError
from shaff.trees.ensemble import LEAF, ZERO_WIDTH, Ensemble, Tree, _pack_sets

MISSING = np.uint16(0xFFFF)
MAX_CODES = 0xFFFF
CodeArray = npt.NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Coding:
    """An ensemble's splits in codes.

    A numeric column's code is the number of the ensemble's thresholds below the value, so
    ``x <= threshold`` becomes a comparison of small integers; a category is its own code.

    Parameters
    ----------
    ensemble : Ensemble
    cuts : tuple of float arrays, one a column
        Distinct thresholds, ascending.
    threshold : uint16 array of shape (n_nodes,)
    category_set, set_offset, set_words
        As in `Ensemble`, over codes.
    """

    ensemble: Ensemble
    cuts: tuple[FloatArray, ...]
    threshold: CodeArray
    category_set: npt.NDArray[np.int32]
    set_offset: IntArray
    set_words: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, ensemble: Ensemble, cuts: tuple[FloatArray, ...] | None = None) -> Coding:
        """Code the splits of an ensemble; ``cuts``: where they may be, if that is known."""
        if cuts is None:
            cuts = tuple(_cuts(ensemble, column) for column in range(ensemble.n_columns))
        threshold = np.zeros(len(ensemble.feature), dtype=np.uint16)
        numeric = (ensemble.feature != LEAF) & (ensemble.category_set < 0)
        for column, points in enumerate(cuts):
            nodes = np.flatnonzero(numeric & (ensemble.feature == column))
            threshold[nodes] = np.searchsorted(points, ensemble.threshold[nodes])
        sets = _code_sets(ensemble, cuts)
        return cls(ensemble, cuts, threshold, *sets)

    @property
    def nodes(self) -> dict[str, Any]:
        """Arrays of the nodes of all trees, by the names that the core has for them."""
        own = ("threshold", "category_set", "set_offset", "set_words")
        return {
            **{name: getattr(self.ensemble, name) for name in ("feature", "left", "right")},
            "missing_left": self.ensemble.missing_left.view(np.uint8),
            **{name: getattr(self, name) for name in own},
        }

    def encode(self, X: npt.ArrayLike) -> CodeArray:
        """Codes of the entries, shape (n_columns, n_rows)."""
        data = self.ensemble.as_read(X)
        codes = np.empty((data.shape[1], data.shape[0]), dtype=np.uint16)
        categorical = self.ensemble.categorical_columns() | self.ensemble.known_categories.keys()
        for column, points in enumerate(self.cuts):
            x = data[:, column]
            code = _category_codes(x) if column in categorical else np.searchsorted(points, x)
            codes[column] = np.where(np.isnan(x), MISSING, code)
        return codes


def _cuts(ensemble: Ensemble, column: int) -> FloatArray:
    nodes = (ensemble.feature == column) & (ensemble.category_set < 0)
    points = np.unique(ensemble.threshold[nodes])
    if ensemble.zero_missing[nodes].any():
        points = np.unique([*points, np.nextafter(-ZERO_WIDTH, -1), ZERO_WIDTH])
    if len(points) >= MAX_CODES:
        raise InputError(
            f"Column {column} has {len(points)} distinct thresholds in one booster; at most "
            f"{MAX_CODES - 1} can be handled. Use fewer trees or leaves."
        )
    return np.asarray(points, dtype=np.float64)


def _category_codes(x: FloatArray) -> IntArray:
    category = np.trunc(np.nan_to_num(x)).astype(np.int64)
    if category.max(initial=0) >= MAX_CODES:
        raise InputError(f"Category numbers must be below {MAX_CODES}, got {category.max()}.")
    # Negative numbers are in no set; neither is the largest code.
    return np.where(category < 0, MAX_CODES - 1, category)


def _code_sets(
    ensemble: Ensemble, cuts: tuple[FloatArray, ...]
) -> tuple[npt.NDArray[np.int32], IntArray, npt.NDArray[np.uint64]]:
    """The bit sets over codes; a split with zeros missing is one, as no threshold can say it."""
    if not ensemble.zero_missing.any():
        return ensemble.category_set, ensemble.set_offset, ensemble.set_words
    left: dict[int, npt.ArrayLike] = {}
    for node in np.flatnonzero(ensemble.category_set >= 0):
        left[int(node)] = ensemble.set_members(int(ensemble.category_set[node]))
    for node in np.flatnonzero(ensemble.zero_missing & (ensemble.category_set < 0)):
        if ensemble.feature[node] != LEAF:
            points = cuts[ensemble.feature[node]]
            # Each code stands for the interval that ends at its cut; the last one has no end.
            ends = np.append(points, np.inf)
            left[int(node)] = np.flatnonzero(ensemble.goes_left(int(node), ends))
    whole = Tree(ensemble.feature, (), (), (), (), (), (), left_categories=left)
    offset = np.array([0, len(ensemble.feature)], dtype=np.int64)
    return _pack_sets([whole], offset)
