"""One fold of projected boosting: start, trees and the replay on subsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff import _core
from shaff._threads import Cancel
from shaff._typing import BoolArray, FloatArray, IntArray
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.subsets import Subsets
from shaff.trees.coding import CodeArray, Coding
from shaff.trees.ensemble import Ensemble
from shaff.values.boosting_steps import FoldSteps, Learnt, NewRows
from shaff.values.categories import MeanTargets
from shaff.values.linear_start import LinearStart

MAX_NATIVE_CATEGORIES = 255
# A booster that splits on categories fits their noise when they have fewer rows than this.
# Fewer, and factors of noise are priced below 0; more, and real ones lose (`benchmarks.data`).
ROWS_PER_CATEGORY = 40
FEW_CATEGORIES = 4


def max_native(n_rows: int) -> int:
    """The most categories of a column that boosters are trusted to split on themselves.

    Examples
    --------
    >>> from shaff.values.boosting_fold import max_native
    >>> max_native(1600)
    40
    """
    return min(MAX_NATIVE_CATEGORIES, max(FEW_CATEGORIES, n_rows // ROWS_PER_CATEGORY))


class FoldColumns:
    """The columns as the booster of a fold sees them.

    Categories stay as they are where the booster splits on categories and they have rows enough,
    else it would fit their noise; otherwise they become mean targets of the booster's output,
    learnt from the training rows.
    """

    def __init__(self, data: Problem, fold: Fold, native: bool) -> None:
        self._means: dict[int, MeanTargets] = {}
        self.categorical = np.zeros(data.X.shape[1], dtype=bool)
        weight, y = data.weight[fold.train], data.y[fold.train]
        visible = data.visible(fold.train)
        for column in np.flatnonzero(data.categorical & visible):
            codes = data.X[fold.train, column]
            if native and len(np.unique(codes[~np.isnan(codes)])) <= max_native(len(codes)):
                self.categorical[column] = True
            else:
                groups = None if data.row_groups is None else data.row_groups[fold.train]
                self._means[int(column)] = MeanTargets(codes, y, weight, groups)
        # Libraries stumble over columns without a single value.
        self._void = np.isnan(data.X[fold.train]).all(axis=0) | ~visible

    @property
    def depend_on_output(self) -> bool:
        """Whether the boosters of several outputs see different columns."""
        return bool(self._means)

    def training(self, X: FloatArray, output: int) -> FloatArray:
        """The training rows, whose own targets stay out of their mean targets."""
        encoded = self._fill(X)
        for column, means in self._means.items():
            encoded[:, column] = means.transform_training()[:, output]
        return encoded

    def other(self, X: FloatArray, output: int) -> FloatArray:
        """Any other rows."""
        encoded = self._fill(X)
        for column, means in self._means.items():
            encoded[:, column] = means.transform(X[:, column])[:, output]
        return encoded

    def _fill(self, X: FloatArray) -> FloatArray:
        if not self._means and not self._void.any():
            return X
        filled = X.copy()
        filled[:, self._void] = 0.0
        return filled


@dataclass(frozen=True, eq=False)
class Start:
    """Where boosting starts: at the mean, or at a ridge fit on the columns of the subset.

    Parameters
    ----------
    linear : LinearStart or None
        None starts at the mean.
    penalty : float
    """

    linear: LinearStart | None = None
    penalty: float = 0.0


class BoostingFold:
    """Start, trees and coded rows of one fold.

    Parameters
    ----------
    data : Problem
    fold : Fold
    start : Start
    columns : FoldColumns
    """

    def __init__(self, data: Problem, fold: Fold, start: Start, columns: FoldColumns) -> None:
        self.data, self.fold, self.start, self.columns = data, fold, start, columns
        self.train_weight = np.ascontiguousarray(data.weight[fold.train])
        y = data.y[fold.train]
        self.mean = self.train_weight @ y / self.train_weight.sum()
        rows = data.X[fold.train]
        n_sights = data.y.shape[1] if columns.depend_on_output else 1
        self._train_X = [columns.training(rows, k) for k in range(n_sights)]
        self.codings: list[Coding] = []
        self._codes: list[CodeArray] = []
        self._features = None if start.linear is None else start.linear.fold_features(data.X)

    def train_X(self, output: int) -> FloatArray:
        """The training rows as the booster of an output sees them."""
        return self._train_X[output % len(self._train_X)]

    def target(self, output: int) -> FloatArray:
        """What the booster is fitted to: the residual of the start on all columns."""
        everything = np.ones((1, self.data.X.shape[1]), dtype=bool)
        n_train = len(self.fold.train)
        return self.start_residual(everything)[output, 0, :n_train].copy()

    def set_trees(self, ensembles: list[Ensemble]) -> None:
        """The structure to replay, one ensemble an output."""
        self.codings = [Coding.of(ensemble) for ensemble in ensembles]
        test = self.data.X[self.fold.test]
        self._codes = [
            coding.encode(np.vstack([self.train_X(k), self.columns.other(test, k)]))
            for k, coding in enumerate(self.codings)
        ]

    def start_residual(self, masks: BoolArray) -> FloatArray:
        """Residuals of the start, training rows first, shape (n_outputs, n_subsets, n_rows)."""
        y = self.data.y[self.fold.rows].T[:, None]
        if self.start.linear is None or self._features is None:
            return np.repeat(y - self.mean[:, None, None], len(masks), axis=1)
        return np.asarray(y - self.start.linear.predict(masks, self._features, self.start.penalty))

    def replay(
        self,
        masks: BoolArray,
        residual: FloatArray,
        shrinkage: float,
        cancel: Cancel,
        trees: range | None = None,
    ) -> None:
        """Replay trees, all of them by default; `residual` is updated in place."""
        for coding, codes, part in zip(self.codings, self._codes, residual, strict=True):
            _replay(coding, codes, self.train_weight, masks, part, shrinkage, cancel, trees)

    def held_out_residuals(
        self, masks: BoolArray, shrinkage: float, cancel: Cancel, stages: list[int]
    ) -> FloatArray:
        """Residuals of the held-out rows after each number of trees in `stages`, shape
        (n_stages, n_outputs, n_subsets, n_test)."""
        residual, done = self.start_residual(masks), 0
        held_out = residual[:, :, len(self.fold.train) :]
        kept = np.empty((len(stages), *held_out.shape))
        for index, stage in enumerate(stages):
            self.replay(masks, residual, shrinkage, cancel, range(done, stage))
            kept[index] = held_out
            done = stage
        return kept

    def half_products(
        self, masks: BoolArray, shrinkage: float, cancel: Cancel, stages: list[int]
    ) -> FloatArray:
        """Products of the held-out residuals of two replays, each with the steps of one half of the
        training rows, as in `held_out_residuals`.

        The noise in the steps of the halves is independent, so that on average the product has
        the error of boosting without it.
        """
        start = self.start_residual(masks)
        first, second = (
            self._replay_half(masks, start, half, shrinkage, cancel, stages)
            for half in self._halves()
        )
        return np.asarray(first * second)

    def _halves(self) -> list[IntArray]:
        """Positions of the training rows in two halves; rows of a group stay together."""
        unit = np.arange(len(self.fold.train))
        if self.data.row_groups is not None:
            unit = np.unique(self.data.row_groups[self.fold.train], return_inverse=True)[1]
        return [np.flatnonzero(unit % 2 == k) for k in range(2)]

    def _replay_half(
        self,
        masks: BoolArray,
        start: FloatArray,
        half: IntArray,
        shrinkage: float,
        cancel: Cancel,
        stages: list[int],
    ) -> FloatArray:
        n_train = len(self.fold.train)
        rows = np.concatenate([half, np.arange(n_train, start.shape[2])])
        residual, done = np.ascontiguousarray(start[:, :, rows]), 0
        kept = np.empty((len(stages), *residual[:, :, len(half) :].shape))
        codes = [np.ascontiguousarray(whole[:, rows]) for whole in self._codes]
        weight = np.ascontiguousarray(self.train_weight[half])
        for index, stage in enumerate(stages):
            trees = range(done, stage)
            for coding, code, part in zip(self.codings, codes, residual, strict=True):
                # Half the rows, half the shrinkage: cells are shrunk as by all rows.
                _replay(coding, code, weight, masks, part, shrinkage / 2, cancel, trees)
            kept[index] = residual[:, :, len(half) :]
            done = stage
        return kept

    def predict(
        self, masks: BoolArray, X: FloatArray, shrinkage: float, cancel: Cancel, n_trees: int
    ) -> FloatArray:
        """Predictions of rows outside the data, shape (n_outputs, n_subsets, n_rows)."""
        stops = np.full(len(masks), n_trees, dtype=np.int64)
        steps = self.learn(masks, stops, shrinkage, cancel)
        return np.asarray(steps.predict(self.new_rows(X), cancel)[0])

    def new_rows(self, X: FloatArray) -> NewRows:
        """Rows outside the data as `learn`'s steps take them."""
        linear = self.start.linear
        return NewRows(
            [c.encode(self.columns.other(X, k)) for k, c in enumerate(self.codings)],
            None if linear is None else linear.features(X),
        )

    def learn(
        self,
        masks: BoolArray,
        n_trees: IntArray,
        shrinkage: float,
        cancel: Cancel,
        halves: bool = False,
    ) -> FoldSteps:
        """The steps of the cells for some subsets, which stop after ``n_trees``.

        The first learner has all training rows. With ``halves`` two more have one half each, as in
        `half_products`.
        """
        n_train, linear = len(self.fold.train), self.start.linear
        weight, shrinkages = [self.train_weight], [shrinkage]
        for half in self._halves() if halves else ():
            weight.append(np.zeros(n_train))
            weight[-1][half] = self.train_weight[half]
            shrinkages.append(shrinkage / 2)
        learnt = Learnt(
            self.codings,
            [np.ascontiguousarray(codes[:, :n_train]) for codes in self._codes],
            np.stack(weight),
            np.array(shrinkages),
            np.ascontiguousarray(self.start_residual(masks)[:, :, :n_train]),
        )
        if linear is None:
            return FoldSteps(self.mean, learnt, masks, n_trees, cancel)
        start = linear, linear.coefficients(masks, self.start.penalty)
        return FoldSteps(start, learnt, masks, n_trees, cancel)


def _replay(
    coding: Coding,
    codes: CodeArray,
    train_weight: FloatArray,
    masks: BoolArray,
    residual: FloatArray,
    shrinkage: float,
    cancel: Cancel,
    trees: range | None,
) -> None:
    ensemble = coding.ensemble
    offsets = ensemble.tree_offset
    if trees is not None:
        # A booster that stopped earlier than the others has fewer trees.
        offsets = offsets[min(trees.start, ensemble.n_trees) : trees.stop + 1]
    _core.replay_boosting(
        ensemble.feature,
        coding.threshold,
        ensemble.left,
        ensemble.right,
        ensemble.missing_left.view(np.uint8),
        coding.category_set,
        coding.set_offset,
        coding.set_words,
        offsets,
        codes,
        train_weight,
        Subsets.from_masks(masks).words,
        ensemble.learning_rate,
        shrinkage,
        residual,
        cancel,
    )
