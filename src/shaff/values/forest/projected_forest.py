"""Step 2 of the paper: projected random forests (Algorithm 1 and section 2.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shaff import _core
from shaff._util.arrays import slices
from shaff._util.threads import block_size, run_in_threads
from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.trees.forest import RankedData
from shaff.trees.growing import GrownForest
from shaff.values.outcome import Outcome

# How a forest is measured on the rows out of its bags; see `ProjectedForest`.
ERRORS = ("unbiased", "plain")
# Where a query stops when its cell becomes too small; see `CellRule`.
STOPS = ("split", "level")
# Fewer blocks make the ensemble error uncertain (`benchmarks.coverage`), larger tasks take memory
# (`benchmarks.memory`) or leave the cache (`benchmarks.kernel`).
N_TREE_BLOCKS = 10
_CELLS_PER_TASK = 8_000_000  # doubles that one task may hold at a time
_CELLS_AT_ONCE = 250_000  # of which, numbers that are worked on together
_SUBSETS_PER_TASK = 128  # share the preparation of a tree; more would leave the cache


@dataclass(frozen=True)
class CellRule:
    """How a forest is projected, and how it is measured.

    Parameters
    ----------
    error : {"unbiased", "plain"}
        See `ProjectedForest`.
    min_node_size : float or None
        Least in-bag weight of a projected cell; None takes the least leaf of the forest.
    stop : {"split", "level"}
        Whether a query stops before the split, or before the level of the tree, that would leave
        its cell with less.
    """

    error: str = "unbiased"
    min_node_size: float | None = None
    stop: str = "split"


class ProjectedForest:
    """Value function: out-of-bag explained variance of the forest projected on a subset.

    Parameters
    ----------
    problem : Problem
        Its weights are those of the rows that v is measured on, and in the cells beside the
        multiplicity in the bag.
    grown : GrownForest
        Trees, their bags (only trees whose bag lacks it predict a row) and the order in which
        each tree sees the categories of a column.
    min_node_size : float, default=5
        Least in-bag weight of a projected cell.
    cell_weight : float array of shape (n_rows,) or None
        Weights of the rows in the cells, where they are others: 1 if the bags were drawn by weight.
    error : {"unbiased", "plain"}, default="unbiased"
        "plain" is the paper's squared error of the finite forest. "unbiased" replaces it by an
        unbiased estimate of the error of the infinite forest, from products of the errors of
        different trees, so that far fewer trees suffice.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import experiment_2
    >>> from shaff.subsets import Subsets
    >>> from shaff.trees.growing import GrownForest
    >>> from shaff.values.forest.projected_forest import ProjectedForest
    >>> exp = experiment_2(n=500, random_state=0)
    >>> model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    >>> grown = GrownForest.of_fitted(model, n_rows=500)
    >>> prf = ProjectedForest(Problem.of(exp.X, exp.y), grown)
    >>> prf.values(Subsets.from_indices([[0, 1, 2], [10]], 15)).v.round(1).tolist()
    [0.5, -0.0]
    """

    def __init__(
        self,
        problem: Problem,
        grown: GrownForest,
        *,
        min_node_size: float = 5,
        cell_weight: FloatArray | None = None,
        error: str = "unbiased",
    ) -> None:
        self.problem, self.grown, self.forest = problem, grown, grown.forest
        self.X, self.players, self.n_jobs = problem.X, problem.players, problem.n_jobs
        self.n_players = len(problem.players)
        # The paper compares with the sample variance.
        published = error == "plain"
        self.outcome = (
            Outcome.of(problem.y, problem.sample_weight, problem.loss)
            if published
            else Outcome.left_out(problem)
        )
        self.cell_weight = self.outcome.weight if cell_weight is None else cell_weight
        # Errors are differences of products: far from the mean they would lose their digits.
        self._mean = np.average(self.outcome.y, axis=0, weights=self.outcome.weight)
        self._centred = np.ascontiguousarray(self.outcome.y - self._mean)
        self.bags = np.ascontiguousarray(grown.bags, dtype=np.uint16)
        self.orders = grown.orders
        self.min_node_size = float(min_node_size)
        self.error = error
        self._ranked = RankedData.from_matrix(grown.as_seen(self.X))
        self._cuts = self._ranked.cuts(self.forest)
        self._block_counts = [self._count_predictions(trees) for trees in self.tree_blocks]
        self._n_predictions = np.sum(self._block_counts, axis=0)
        self._check_predictions()

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
            raise InputError(
                f"No row is out of bag in {trees}: grow more trees"
                + (', or use ForestValues(model, error="plain").' if needed == 2 else ".")
            )

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset; a task is a block of subsets over all trees, in tree order."""
        columns = subsets.to_columns(self.players, self.X.shape[1])
        cancel = np.zeros(1, dtype=np.uint8)
        blocks = self._blocks(columns, len(self.tree_blocks) if influences else 1)
        tasks = [(block, influences, cancel) for block in blocks]
        evaluated = Values.concatenate(run_in_threads(self._evaluate, tasks, self.n_jobs, cancel))
        if evaluated.means is not None:
            # As in a single block: the bits of sums depend on the order in memory.
            evaluated = replace(evaluated, means=np.asfortranarray(evaluated.means))
        if evaluated.replicates is not None:
            evaluated.replicates[subsets.sizes == 0] = 0.0
        return replace(evaluated, subsets=subsets)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means of the projected forest, shape (n_subsets, n_rows, n_outputs).

        ``rows=None``: the training rows, out of bag (NaN where no tree has a row out of bag).
        """
        if rows is not None:
            new = np.asarray(rows, dtype=np.float64)
            return self._with_queries(new)._means(subsets, first_row=len(self.X))
        return self._means(subsets)

    def predict_blocks(self, subsets: Subsets, n_blocks: int) -> FloatArray:
        """Out-of-bag predictions by blocks of trees, shape (n_blocks, n_subsets, n_rows,
        n_outputs); by all trees where a block has none."""
        columns = subsets.to_columns(self.players, self.X.shape[1])
        edges = np.linspace(0, self.forest.n_trees, n_blocks + 1).astype(int)
        blocks, cancel = [range(a, b) for a, b in pairwise(edges)], np.zeros(1, dtype=np.uint8)
        some = self._blocks(columns, 1, len(blocks))
        tasks = [(few, trees, cancel) for trees in blocks for few in some]
        sums = [t for t, _ in run_in_threads(self._sums, tasks, self.n_jobs, cancel)]
        totals = [np.concatenate(sums[own]) for own in slices(len(sums), len(some))]
        counts = [self._count_predictions(trees)[:, None] for trees in blocks]
        with np.errstate(invalid="ignore", divide="ignore"):
            whole = np.sum(totals, axis=0) / np.sum(counts, axis=0)
            parts = [t / n for t, n in zip(totals, counts, strict=True)]
        filled = [np.where(n > 0, part, whole) for part, n in zip(parts, counts, strict=True)]
        return np.asarray(self._mean + np.stack(filled))

    def _means(self, subsets: Subsets, first_row: int = 0) -> FloatArray:
        """Conditional means of the rows from ``first_row`` on, by trees with them out of bag."""
        columns = subsets.to_columns(self.players, self.X.shape[1])
        is_query = (np.arange(len(self.X)) >= first_row).astype(np.uint8)
        cancel = np.zeros(1, dtype=np.uint8)

        def mean(block: Subsets) -> FloatArray:
            total, _ = self._sums(block, range(self.forest.n_trees), cancel, is_query)
            return total[:, first_row:]

        tasks = [(block,) for block in self._blocks(columns, 1)]
        total = np.concatenate(run_in_threads(mean, tasks, self.n_jobs, cancel))
        with np.errstate(invalid="ignore"):
            return np.asarray(self._mean + total / self._n_predictions[first_row:, None])

    def _with_queries(self, rows: FloatArray) -> ProjectedForest:
        """The same forest with further rows that are in no bag."""
        n_new, n_outputs = len(rows), self.outcome.y.shape[1]
        y = np.vstack([self.outcome.y, np.zeros((n_new, n_outputs))])
        more = replace(
            self.problem.with_matrix(np.vstack([self.X, self._known_categories(rows)])),
            target=replace(self.problem.target, y=y),
            loss="squared_error",  # nothing is measured of further rows
            sample_weight=np.append(self.outcome.weight, np.zeros(n_new)),  # the mean stays
        )
        bags = np.hstack([self.bags, np.zeros((len(self.bags), n_new), dtype=np.uint16)])
        return type(self)(
            more,
            replace(self.grown, bags=bags),
            min_node_size=self.min_node_size,
            cell_weight=np.append(self.cell_weight, np.zeros(n_new)),
            error=self.error,
        )

    def _known_categories(self, rows: FloatArray) -> FloatArray:
        """New categories have no place in the trees' orders: they go the way of missing ones."""
        known = rows.copy()
        for column in np.flatnonzero(self.orders.offset >= 0):
            known[~np.isin(rows[:, column], self.X[:, column]), column] = np.nan
        return known

    def _blocks(self, columns: Subsets, n_parts: int, n_times: int = 1) -> list[Subsets]:
        """The subsets in blocks, each of ``n_times`` tasks that hold ``n_parts`` sums."""
        per_subset = n_parts * len(self.X) * 2 * self.outcome.y.shape[1]
        most = min(_SUBSETS_PER_TASK, max(1, _CELLS_PER_TASK // per_subset))
        size = block_size(len(columns), n_times, self.n_jobs, most)
        return [columns[some] for some in slices(len(columns), size)]

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

    def _evaluate(
        self, columns: Subsets, influences: bool, cancel: npt.NDArray[np.uint8]
    ) -> Values:
        blocks = self.tree_blocks if influences else [range(self.forest.n_trees)]
        sums = [self._sums(columns, trees, cancel) for trees in blocks]
        # A few subsets at a time: what follows makes several arrays of the size of the sums.
        size = max(1, _CELLS_AT_ONCE // self.outcome.y.size)
        parts = [slice(k, k + size) for k in range(0, len(columns), size)]
        return Values.concatenate(
            [
                self._evaluate_sums(columns[k], [(t[k], q[k]) for t, q in sums], influences)
                for k in parts
            ]
        )

    def _evaluate_sums(
        self, columns: Subsets, sums: list[tuple[FloatArray, FloatArray]], influences: bool
    ) -> Values:
        """Values from the sums over the trees of each block."""
        total = np.sum([block_total for block_total, _ in sums], axis=0)
        squares = np.sum([block_squares for _, block_squares in sums], axis=0)
        errors, _ = self._errors(total, squares, self._n_predictions)
        evaluated = self.outcome.values(columns, errors, influences, means=self._kept_means(total))
        if len(sums) == 1:
            return evaluated
        replicates = [
            self._without(n_left_out, total - block_total, squares - block_squares)
            for n_left_out, (block_total, block_squares) in zip(
                self._block_counts, sums, strict=True
            )
        ]
        return replace(evaluated, replicates=np.column_stack(replicates))

    def _kept_means(self, total: FloatArray) -> FloatArray:
        """Conditional means of the rows that are kept, from the sums over all trees."""
        rows = self.outcome.sample
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._mean + total[:, rows] / self._n_predictions[rows, None])

    def _without(
        self, n_left_out: npt.NDArray[np.intp], total: FloatArray, squares: FloatArray
    ) -> FloatArray:
        """Values from the sums over the trees of all other blocks."""
        errors, usable = self._errors(total, squares, self._n_predictions - n_left_out)
        return self.outcome.explained(errors.sum(axis=2), usable)

    def _errors(
        self, total: FloatArray, squares: FloatArray, count: npt.NDArray[np.intp]
    ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Squared error of each row and output, NaN for rows without, and which rows have one."""
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
            residuals = None if self.outcome.limited is None else y - total / n_trees
        errors[:, ~usable] = np.nan
        return (errors if residuals is None else self._as_losses(errors, residuals)), usable

    def _as_losses(self, squares: FloatArray, residuals: FloatArray) -> FloatArray:
        """Losses of the mean of the trees, less what their noise adds, by squared errors that are
        without it."""
        noise = self.outcome.noise_of(residuals, residuals**2 - squares)
        return np.where(np.isnan(squares), np.nan, self.outcome.errors_of(residuals) - noise)
