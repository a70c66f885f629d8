"""Step 2 of the paper: projected random forests (Algorithm 1 and section 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from shaff import _core
from shaff.protocols import Values
from shaff.subsets import FloatArray, Subsets
from shaff.trees.forest import Forest, RankedData
from shaff.trees.growing import CategoryOrders
from shaff.values.threads import run_in_threads
from shaff.values.variance import Outcome

FOREST_ERRORS = ("unbiased", "plain")
N_TREE_BLOCKS = 10
_CELLS_PER_TASK = 8_000_000  # doubles that one task may hold at a time
_CELLS_AT_ONCE = 250_000  # of which, numbers that are worked on together
_SUBSETS_PER_TASK = 128  # share the preparation of a tree; more would leave the cache
BagArray = npt.NDArray[np.uint16]


class ProjectedForest:
    """Value function: out-of-bag explained variance of the forest projected on a subset.

    Parameters
    ----------
    forest : Forest
    X : float array of shape (n_rows, n_columns), with NaN for missing
    y : float array of shape (n_rows,) or (n_rows, n_outputs)
    bags : uint16 array of shape (n_trees, n_rows)
        How often each row is in the bag of each tree; only trees whose bag lacks it predict a row.
    sample_weight : float array of shape (n_rows,) or None
        Of the rows that v is measured on, and in the cells beside the multiplicity in the bag.
    cell_weight : float array of shape (n_rows,) or None
        In the cells, where that is another: 1 if the bags were drawn by weight.
    players : list of int arrays or None
        The columns of each player; None makes each column a player.
    min_node_size : float, default=5
        Least in-bag weight of a projected cell.
    error : {"unbiased", "plain"}, default="unbiased"
        "plain" is the paper's squared error of the finite forest. "unbiased" replaces it by an
        unbiased estimate of the error of the infinite forest, from products of the errors of
        different trees, so that far fewer trees do.
    orders : CategoryOrders or None
        For trees that see the categories of a column in an order of their own.
    n_jobs : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.datasets import experiment_2
    >>> from shaff.subsets import Subsets
    >>> from shaff.trees.bags import forest_bags
    >>> from shaff.trees.forest import read_forest
    >>> from shaff.values.projected_forest import ProjectedForest
    >>> exp = experiment_2(n=500, random_state=0)
    >>> model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    >>> forest = read_forest(model.estimators_, n_columns=15)
    >>> prf = ProjectedForest(forest, exp.X, exp.y, forest_bags(model, len(exp.X)))
    >>> prf.values(Subsets.from_indices([[0, 1, 2], [10]], 15)).v.round(1).tolist()
    [0.5, -0.0]
    """

    def __init__(
        self,
        forest: Forest,
        X: FloatArray,
        y: FloatArray,
        bags: BagArray,
        *,
        sample_weight: FloatArray | None = None,
        cell_weight: FloatArray | None = None,
        players: Sequence[npt.NDArray[np.intp]] | None = None,
        min_node_size: float = 5,
        error: str = "unbiased",
        orders: CategoryOrders | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.forest = forest
        self.X = X
        self.outcome = Outcome.of(y, sample_weight)
        self.cell_weight = self.outcome.weight if cell_weight is None else cell_weight
        # Errors are differences of products: far from the mean they would lose their digits.
        self._mean = np.average(self.outcome.y, axis=0, weights=self.outcome.weight)
        self._centred = np.ascontiguousarray(self.outcome.y - self._mean)
        self.bags = np.ascontiguousarray(bags, dtype=np.uint16)
        self.players = [np.array([j]) for j in range(X.shape[1])] if players is None else players
        self.min_node_size = float(min_node_size)
        self.error = error
        self.orders = CategoryOrders.none() if orders is None else orders
        self.n_jobs = n_jobs
        self._ranked = RankedData.from_matrix(X)
        self._cuts = self._ranked.cuts(forest)
        self._block_counts = [self._count_predictions(trees) for trees in self.tree_blocks]
        self._n_predictions = np.sum(self._block_counts, axis=0)
        self._check_predictions()

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.players)

    @property
    def tree_blocks(self) -> list[range]:
        """The trees in ten blocks for the jackknife to leave out; in one if they are few."""
        n_blocks = N_TREE_BLOCKS if self.forest.n_trees >= N_TREE_BLOCKS else 1
        edges = np.linspace(0, self.forest.n_trees, n_blocks + 1).astype(int)
        return [range(a, b) for a, b in pairwise(edges)]

    def _count_predictions(self, trees: range) -> npt.NDArray[np.intp]:
        """How many of the trees predict each row: those that have a bag without it."""
        bags = self.bags[trees.start : trees.stop]
        predicts = (bags == 0) & (bags @ self.cell_weight > 0)[:, None]
        return np.asarray(predicts.sum(axis=0), dtype=np.intp)

    def _check_predictions(self) -> None:
        needed = 2 if self.error == "unbiased" else 1
        if (self._n_predictions < needed).all():
            trees = "two trees" if needed == 2 else "any tree"
            raise ValueError(
                f"No row is out of bag in {trees}: grow more trees"
                + (', or use forest_error="plain".' if needed == 2 else ".")
            )

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Price each subset; a task is a block of subsets over all trees, in tree order."""
        columns = subsets.to_columns(self.players, self.X.shape[1])
        cancel = np.zeros(1, dtype=np.uint8)
        blocks = self._blocks(columns, len(self.tree_blocks) if influences else 1)
        tasks = [(block, influences, cancel) for block in blocks]
        priced = Values.concatenate(run_in_threads(self._price, tasks, self.n_jobs, cancel))
        empty = subsets.sizes == 0
        for array in (priced.v, priced.influences, priced.replicates, priced.by_output):
            if array is not None:
                array[empty] = 0.0
        return replace(priced, subsets=subsets)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means of the projected forest, shape (n_subsets, n_rows, n_outputs).

        ``rows=None``: the training rows, out of bag (NaN where no tree has a row out of bag).
        """
        if rows is not None:
            new = np.asarray(rows, dtype=np.float64)
            return self._with_queries(new)._means(subsets, first_row=len(self.X))
        return self._means(subsets)

    def _means(self, subsets: Subsets, first_row: int = 0) -> FloatArray:
        """Of the rows from ``first_row`` on, by the trees that have them out of bag."""
        columns = subsets.to_columns(self.players, self.X.shape[1])
        is_query = (np.arange(len(self.X)) >= first_row).astype(np.uint8)
        cancel = np.zeros(1, dtype=np.uint8)
        total, _ = self._sums(columns, range(self.forest.n_trees), cancel, is_query)
        with np.errstate(invalid="ignore"):
            means = self._mean + total / self._n_predictions[:, None]
        return np.asarray(means[:, first_row:], dtype=np.float64)

    def _with_queries(self, rows: FloatArray) -> ProjectedForest:
        """The same forest with further rows that are in no bag."""
        n_new, n_outputs = len(rows), self.outcome.y.shape[1]
        weight = np.append(self.outcome.weight, np.zeros(n_new))  # so that the mean stays
        return ProjectedForest(
            self.forest,
            np.vstack([self.X, self._known_categories(rows)]),
            np.vstack([self.outcome.y, np.zeros((n_new, n_outputs))]),
            np.hstack([self.bags, np.zeros((len(self.bags), n_new), dtype=np.uint16)]),
            sample_weight=weight,
            cell_weight=np.append(self.cell_weight, np.zeros(n_new)),
            players=self.players,
            min_node_size=self.min_node_size,
            error=self.error,
            orders=self.orders,
            n_jobs=self.n_jobs,
        )

    def _known_categories(self, rows: FloatArray) -> FloatArray:
        """New categories have no place in the trees' orders: they go the way of missing ones."""
        known = rows.copy()
        for column in np.flatnonzero(self.orders.offset >= 0):
            known[~np.isin(rows[:, column], self.X[:, column]), column] = np.nan
        return known

    def _blocks(self, columns: Subsets, n_parts: int) -> list[Subsets]:
        per_subset = n_parts * len(self.X) * 2 * self.outcome.y.shape[1]
        by_memory = max(1, _CELLS_PER_TASK // per_subset)
        by_jobs = -(-len(columns) // effective_n_jobs(self.n_jobs or 1))
        size = min(_SUBSETS_PER_TASK, by_memory, max(1, by_jobs))
        return [columns[start : start + size] for start in range(0, len(columns), size)]

    def _sums(
        self,
        columns: Subsets,
        trees: range,
        cancel: npt.NDArray[np.uint8],
        is_query: npt.NDArray[np.uint8] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        n_rows, n_outputs = self.outcome.y.shape
        total = np.zeros((len(columns), n_rows, n_outputs))
        squares = np.zeros_like(total)
        _core.project_forest(
            self.forest.offsets,
            self.forest.feature,
            self._cuts,
            self.forest.left,
            self.forest.right,
            self.forest.missing_left,
            self._ranked.codes,
            self._ranked.has_missing,
            self.orders.offset,
            self.orders.ranks,
            self.bags,
            self.cell_weight,
            np.ones(n_rows, dtype=np.uint8) if is_query is None else is_query,
            self._centred,
            self.min_node_size,
            trees.start,
            trees.stop,
            columns.words,
            total,
            squares,
            cancel,
        )
        return total, squares

    def _price(self, columns: Subsets, influences: bool, cancel: npt.NDArray[np.uint8]) -> Values:
        blocks = self.tree_blocks if influences else [range(self.forest.n_trees)]
        sums = [self._sums(columns, trees, cancel) for trees in blocks]
        # A few subsets at a time: what follows makes several arrays of the size of the sums.
        size = max(1, _CELLS_AT_ONCE // self.outcome.y.size)
        parts = [slice(k, k + size) for k in range(0, len(columns), size)]
        return Values.concatenate(
            [
                self._price_sums(columns[k], [(t[k], q[k]) for t, q in sums], influences)
                for k in parts
            ]
        )

    def _price_sums(
        self, columns: Subsets, sums: list[tuple[FloatArray, FloatArray]], influences: bool
    ) -> Values:
        """From the sums over the trees of each block."""
        total = np.sum([block_total for block_total, _ in sums], axis=0)
        squares = np.sum([block_squares for _, block_squares in sums], axis=0)
        by_output, usable = self._errors(total, squares, self._n_predictions)
        errors = by_output.sum(axis=2)
        v = self.outcome.explained(errors, usable)
        v_by_output = self.outcome.explained_by_output(by_output, usable)
        if not influences:
            return Values(columns, v, by_output=v_by_output)
        # A row without an error counts as an average one.
        mean_error = (1 - v[:, None]) * self.outcome.variance
        psi = self.outcome.influences(np.where(usable, errors, mean_error), v)
        if len(sums) == 1:
            return Values(columns, v, psi, by_output=v_by_output)
        replicates = [
            self._without(n_left_out, total - block_total, squares - block_squares)
            for n_left_out, (block_total, block_squares) in zip(
                self._block_counts, sums, strict=True
            )
        ]
        return Values(columns, v, psi, np.column_stack(replicates), v_by_output)

    def _without(
        self, n_left_out: npt.NDArray[np.intp], total: FloatArray, squares: FloatArray
    ) -> FloatArray:
        """Values from the sums over the trees of all other blocks."""
        errors, usable = self._errors(total, squares, self._n_predictions - n_left_out)
        return self.outcome.explained(errors.sum(axis=2), usable)

    def _errors(
        self, total: FloatArray, squares: FloatArray, count: npt.NDArray[np.intp]
    ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Squared error of each row and output, and which rows have one; 0 for the others."""
        y, n_trees = self._centred, count[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.error == "plain":
                errors, usable = (y - total / n_trees) ** 2, count >= 1
            else:
                # Sum over pairs of different trees of the product of their errors.
                sum_of_errors = (n_trees * y - total) ** 2
                errors_squared = n_trees * y**2 - 2 * y * total + squares
                errors = (sum_of_errors - errors_squared) / (n_trees * (n_trees - 1))
                usable = count >= 2
        errors[:, ~usable] = 0.0
        return errors, usable
