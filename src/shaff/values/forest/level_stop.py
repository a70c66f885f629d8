"""Projected forests that stop before a level: section 2.2 of the paper, word by word.

"[A query] is stopped before reaching a tree level where it falls in an empty cell of the associated
projected partition." Algorithm 1 of the paper, which `ProjectedForest` follows, stops inside a
level instead: before the first split that leaves too few rows. This is the slow way, in NumPy, to
see what the difference amounts to (docs/paper.md, "What the paper's words can mean").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.subsets import Subsets
from shaff.values.forest.projected_forest import ProjectedForest


class LevelStopForest(ProjectedForest):
    """`ProjectedForest` whose queries stop before the level at which their cell is too small."""

    def _sums(
        self,
        columns: Subsets,
        trees: range,
        cancel: npt.NDArray[np.uint8],
        is_query: npt.NDArray[np.uint8] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        total = np.zeros((len(columns), *self.outcome.y.shape))
        squares = np.zeros_like(total)
        asked = np.ones(len(self.X), dtype=bool) if is_query is None else is_query.astype(bool)
        for t in trees:
            weight = self.bags[t] * self.cell_weight
            out = np.flatnonzero((self.bags[t] == 0) & asked)
            if weight.sum() <= 0:
                continue
            tree = self._tree(t)
            for k, subset in enumerate(columns.masks()):
                if cancel[0]:
                    return total, squares
                predicted = self._predictions(tree.cells(subset), weight)[out]
                total[k, out] += predicted
                squares[k, out] += predicted**2
        return total, squares

    def _tree(self, t: int) -> _Tree:
        nodes = slice(*self.forest.offsets[t : t + 2])
        feature = self.forest.feature[nodes]
        sides = np.zeros((len(feature), len(self.X)), dtype=bool)
        for node in np.flatnonzero(feature >= 0):
            sides[node] = self._goes_left(t, int(self.forest.offsets[t]) + int(node))
        return _Tree(feature, self.forest.left[nodes], self.forest.right[nodes], sides)

    def _goes_left(self, t: int, node: int) -> BoolArray:
        column = int(self.forest.feature[node])
        codes = self._ranked.codes[column]
        missing = codes == np.iinfo(codes.dtype).max
        ranks = codes.astype(np.int64)
        if len(self.orders.offset) and self.orders.offset[column] >= 0:
            place = self.orders.offset[column] + np.where(missing, 0, ranks)
            ranks = self.orders.ranks[t][place].astype(np.int64)
        return np.where(missing, bool(self.forest.missing_left[node]), ranks < self._cuts[node])

    def _predictions(self, levels: Iterator[IntpArray], weight: FloatArray) -> FloatArray:
        """Means of the last cells that are large enough, shape (n_rows, n_outputs)."""
        predicted = np.zeros(self._centred.shape)
        goes_on = np.ones(len(weight), dtype=bool)
        for cell in levels:
            mass = np.bincount(cell, weight)
            goes_on &= (mass >= self.min_node_size)[cell] | (mass == weight.sum())[cell]
            if not goes_on.any():
                break
            sums = [np.bincount(cell, weight * y) for y in self._centred.T]
            means = np.stack(sums, axis=1) / np.where(mass > 0, mass, 1.0)[:, None]
            predicted[goes_on] = means[cell[goes_on]]
        return predicted


@dataclass(frozen=True, eq=False)
class _Tree:
    """One tree, and on which side of each node's split each row is."""

    feature: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    goes_left: BoolArray

    def cells(self, subset: BoolArray) -> Iterator[IntpArray]:
        """The projected partition of each level, as the number of each row's cell.

        Two rows are in one cell if they reach the same nodes, a row going both ways at splits on
        other columns.
        """
        nodes, reached = np.zeros(1, dtype=np.intp), np.ones((1, self.goes_left.shape[1]), bool)
        cell = np.zeros(self.goes_left.shape[1], dtype=np.intp)
        while len(nodes):
            yield cell
            inner = self.feature[nodes] >= 0
            nodes, reached = nodes[inner], reached[inner]
            own = subset[self.feature[nodes]]
            sides = self.goes_left[nodes]
            cell = _refined(cell, reached[own], sides[own])
            either = ~own[:, None]
            reached = np.concatenate([reached & (sides | either), reached & (~sides | either)])
            nodes = np.concatenate([self.left[nodes], self.right[nodes]]).astype(np.intp)


def _refined(cell: IntpArray, reached: BoolArray, sides: BoolArray) -> IntpArray:
    """Cells of rows that were in one, and go the same way at every split that they reach."""
    if len(reached) == 0:
        return cell
    ways = np.packbits(np.concatenate([reached & sides, reached & ~sides]), axis=0).T
    rows = np.column_stack([ways, cell.astype(np.int64).view(np.uint8).reshape(len(cell), -1)])
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.intp)
