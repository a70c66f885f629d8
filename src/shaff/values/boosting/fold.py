"""One fold of projected boosting: start, trees and the replay on subsets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff import _core
from shaff._util.statistics import n_rows_of
from shaff._util.threads import Cancel
from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.subsets import Subsets
from shaff.trees.binning import Bins
from shaff.trees.coding import CodeArray, Coding
from shaff.trees.ensemble import Ensemble
from shaff.trees.histogram_booster import Growth, HistogramBooster
from shaff.trees.scaling import Scaling, ValueArray
from shaff.values.boosting.linear_start import LinearStart
from shaff.values.boosting.steps import CodedRows, FoldSteps, Learnt
from shaff.values.categories import MeanTargets

MAX_NATIVE_CATEGORIES = 255
# A booster that splits on categories fits their noise when they have fewer rows than this.
# Fewer, and factors of noise are evaluated below 0; more, and real ones lose (`benchmarks.data`).
ROWS_PER_CATEGORY = 40
FEW_CATEGORIES = 4


def max_native(n_rows: int) -> int:
    """The most categories of a column that boosters are trusted to split on themselves.

    Examples
    --------
    >>> from shaff.values.boosting.fold import max_native
    >>> max_native(1600)
    40
    """
    return min(MAX_NATIVE_CATEGORIES, max(FEW_CATEGORIES, n_rows // ROWS_PER_CATEGORY))


class FoldColumns:
    """The columns as the booster of a fold sees them.

    Categories stay as they are where the booster splits on categories and they have rows enough,
    else it would fit their noise; otherwise they become mean targets of the booster's output,
    learnt from the training rows.

    Parameters
    ----------
    data : Problem
    fold : Fold
    native : bool
        Whether the booster splits on categories.
    slopes : bool
        Whether the leaves of the default booster are linear.
    """

    def __init__(self, data: Problem, fold: Fold, native: bool, slopes: bool = False) -> None:
        self._data, self._fold, self.native, self.slopes = data, fold, native, slopes
        self._means: dict[int, MeanTargets] = {}
        self._binned: dict[int, BinnedFold] = {}
        self.categorical = np.zeros(data.X.shape[1], dtype=bool)
        weight, y = data.weight[fold.train], data.y[fold.train]
        visible = data.visible(fold.train)
        for column in np.flatnonzero(data.categorical & visible):
            codes = data.X[fold.train, column]
            n_categories, n_rows = len(np.unique(codes[~np.isnan(codes)])), n_rows_of(weight)
            if native and n_categories <= max_native(int(n_rows)):
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

    def binned(self, output: int) -> BinnedFold:
        """The rows in bins; they are found once, for all boosters of the fold."""
        sight = output if self.depend_on_output else 0
        if sight not in self._binned:
            self._binned[sight] = BinnedFold.of(self, self._data, self._fold, sight)
        return self._binned[sight]

    def training(self, X: FloatArray, output: int) -> FloatArray:
        """The training rows, whose own targets stay out of their mean targets."""
        encoded = self._fill(X)
        for column, means in self._means.items():
            encoded[:, column] = means.transform_training()[:, output]
        return encoded

    def other(self, X: FloatArray, output: int) -> FloatArray:
        """Other rows as the booster sees them."""
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
class BinnedFold:
    """The rows of a fold in bins.

    Parameters
    ----------
    bins : Bins
        Bins of the training rows.
    codes : uint16 array of shape (n_columns, n_rows)
        Codes of all rows, training rows first.
    training : uint8 array of shape (n_columns, n_train)
        The training rows as trees are grown on them.
    scaling : Scaling or None
        Of the training rows, for linear leaves.
    values, training_values : float32 arrays of the shapes of codes and training, or None
        The rows by the scaling.
    """

    bins: Bins
    codes: CodeArray
    training: npt.NDArray[np.uint8]
    scaling: Scaling | None = None
    values: ValueArray | None = None
    training_values: ValueArray | None = None

    @classmethod
    def of(cls, columns: FoldColumns, data: Problem, fold: Fold, output: int) -> BinnedFold:
        """Bin the columns as the booster of an output sees them."""
        train = columns.training(data.X[fold.train], output)
        weight = None if data.sample_weight is None else data.weight[fold.train]
        bins = Bins.of(train, columns.categorical, weight)
        rows = np.vstack([train, columns.other(data.X[fold.test], output)])
        codes = bins.encode(rows)
        binned = cls(bins, codes, bins.as_bytes(codes[:, : len(train)]))
        if not columns.slopes:
            return binned
        scaling = Scaling.of(train, columns.categorical, weight)
        values = scaling.apply(rows)
        own = np.ascontiguousarray(values[:, : len(train)])
        return replace(binned, scaling=scaling, values=values, training_values=own)

    @property
    def training_rows(self) -> tuple[npt.NDArray[np.uint8], ValueArray | None]:
        """The training rows as `Growth` takes them: in bins, and standardised."""
        return self.training, self.training_values


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

    def fold_features(self, X: FloatArray) -> FloatArray | None:
        """Features of the rows of the fold, training rows first; None at the mean."""
        return None if self.linear is None else self.linear.fold_features(X)


@dataclass(frozen=True, eq=False)
class Halves:
    """Residuals of two more replays, each with the steps of one half of the training rows.

    Parameters
    ----------
    n_first : int
        Training rows in the first half; they come first.
    train : float array of shape (n_outputs, n_subsets, n_train)
        Residual of each training row by its own half.
    test : float array of shape (n_outputs, n_subsets, 2, n_test)
        Residuals of the held-out rows by both halves.
    """

    n_first: int
    train: FloatArray
    test: FloatArray

    @classmethod
    def of(cls, start: FloatArray, n_train: int, n_first: int) -> Halves:
        """Begin with the residuals of the start, which do not depend on the halves."""
        test = np.repeat(start[:, :, None, n_train:], 2, axis=2)
        return cls(n_first, start[:, :, :n_train].copy(), test)

    def output(self, k: int) -> Halves:
        """Views on one output."""
        return Halves(self.n_first, self.train[k], self.test[k])

    def of_subsets(self, some: BoolArray) -> Halves:
        """Views on some of the subsets."""
        train, test = (np.ascontiguousarray(part[:, some]) for part in (self.train, self.test))
        return Halves(self.n_first, train, test)

    def products(self) -> FloatArray:
        """Products of the held-out residuals of both, shape (n_outputs, n_subsets, n_test).

        The noise in the steps of the halves is independent, so that on average the product has
        the error of boosting without it.
        """
        return np.asarray(self.test[:, :, 0] * self.test[:, :, 1])


def in_halves(fold: Fold, row_groups: npt.NDArray[Any] | None) -> Fold:
    """Return the same fold with one half of its training rows before the other."""
    first = in_first_half(fold, row_groups)
    return replace(fold, train=np.concatenate([fold.train[first], fold.train[~first]]))


def in_first_half(fold: Fold, row_groups: npt.NDArray[Any] | None) -> BoolArray:
    """Every second training row; rows of a group stay together."""
    unit = np.arange(len(fold.train))
    if row_groups is not None:
        unit = np.unique(row_groups[fold.train], return_inverse=True)[1]
    return np.asarray(unit % 2 == 0)


class BoostingFold:
    """Start, trees and coded rows of one fold.

    Parameters
    ----------
    data : Problem
    fold : Fold
        By `in_halves`.
    start : Start
    columns : FoldColumns
    """

    def __init__(self, data: Problem, fold: Fold, start: Start, columns: FoldColumns) -> None:
        self.data, self.fold, self.start, self.columns = data, fold, start, columns
        self.n_first = int(in_first_half(fold, data.row_groups).sum())
        self.train_weight = np.ascontiguousarray(data.weight[fold.train])
        y = data.y[fold.train]
        self.mean = self.train_weight @ y / self.train_weight.sum()
        self.codings: list[Coding] = []
        self._codes: list[CodeArray] = []
        self._values: list[ValueArray | None] = []
        self._features = start.fold_features(data.X)

    def train_X(self, output: int) -> FloatArray:
        """The training rows as the booster of an output sees them."""
        return self.columns.training(self.data.X[self.fold.train], output)

    def growth(self, booster: HistogramBooster, output: int, seed: int) -> Growth:
        """Trees for an output, none grown yet."""
        binned = self.columns.binned(output)
        weight = None if self.data.sample_weight is None else self.train_weight
        rows, values = binned.training_rows
        return Growth(booster, binned.bins, rows, self.target(output), weight, seed, values)

    def target(self, output: int) -> FloatArray:
        """What the booster is fitted to: the residual of the start on all columns."""
        everything = np.ones((1, self.data.X.shape[1]), dtype=bool)
        n_train = len(self.fold.train)
        return self.start_residual(everything)[output, 0, :n_train].copy()

    def set_grown_trees(self, ensembles: list[Ensemble]) -> None:
        """Set trees that were grown on the bins of the fold; see `set_trees`."""
        binned = [self.columns.binned(k) for k in range(len(ensembles))]
        self.codings = [
            Coding.of(ensemble, own.bins.cuts)
            for ensemble, own in zip(ensembles, binned, strict=True)
        ]
        self._codes = [own.codes for own in binned]
        self._values = [
            own.values if ensemble.slope_ratio is not None else None
            for ensemble, own in zip(ensembles, binned, strict=True)
        ]

    def set_trees(self, ensembles: list[Ensemble]) -> None:
        """Set the trees to replay, one ensemble per output."""
        self.codings = [Coding.of(ensemble) for ensemble in ensembles]
        test = self.data.X[self.fold.test]
        self._codes = [
            coding.encode(np.vstack([self.train_X(k), self.columns.other(test, k)]))
            for k, coding in enumerate(self.codings)
        ]
        self._values = [None] * len(ensembles)

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
        halves: Halves | None = None,
    ) -> None:
        """Replay trees, all of them by default; `residual` and `halves` are updated in place."""
        for k, coding in enumerate(self.codings):
            _replay(
                coding,
                self._codes[k],
                self._values[k],
                self.train_weight,
                masks,
                residual[k],
                shrinkage,
                cancel,
                trees,
                None if halves is None else halves.output(k),
            )

    def predict(
        self, masks: BoolArray, X: FloatArray, shrinkage: float, cancel: Cancel, n_trees: int
    ) -> FloatArray:
        """Predictions of rows outside the data, shape (n_outputs, n_subsets, n_rows)."""
        stops = np.full(len(masks), n_trees, dtype=np.int64)
        steps = self.learn(masks, stops, shrinkage, cancel)
        return np.asarray(steps.predict(self.new_rows(X), cancel)[0])

    def new_rows(self, X: FloatArray) -> CodedRows:
        """Rows outside the data as `learn`'s steps take them."""
        linear = self.start.linear
        seen = [self.columns.other(X, k) for k in range(len(self.codings))]
        return CodedRows(
            [coding.encode(own) for coding, own in zip(self.codings, seen, strict=True)],
            [self._new_values(own, k) for k, own in enumerate(seen)],
            None if linear is None else linear.features(X),
        )

    def _new_values(self, seen: FloatArray, output: int) -> ValueArray | None:
        if self._values[output] is None:
            return None
        scaling = self.columns.binned(output).scaling
        assert scaling is not None
        return scaling.apply(seen)

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
        `Halves`.
        """
        n_train, linear = len(self.fold.train), self.start.linear
        weight, share = [self.train_weight], [1.0]
        if halves:
            first = np.arange(n_train) < self.n_first
            weight += [self.train_weight * first, self.train_weight * ~first]
            share += [0.5, 0.5]
        learnt = Learnt(
            self.codings,
            [np.ascontiguousarray(codes[:, :n_train]) for codes in self._codes],
            [
                None if values is None else self.columns.binned(k).training_values
                for k, values in enumerate(self._values)
            ],
            np.stack(weight),
            np.array(share),
            shrinkage,
            np.ascontiguousarray(self.start_residual(masks)[:, :, :n_train]),
        )
        if linear is None:
            return FoldSteps(self.mean, learnt, masks, n_trees, cancel)
        start = linear, linear.coefficients(masks, self.start.penalty)
        return FoldSteps(start, learnt, masks, n_trees, cancel)


def _replay(
    coding: Coding,
    codes: CodeArray,
    values: ValueArray | None,
    train_weight: FloatArray,
    masks: BoolArray,
    residual: FloatArray,
    shrinkage: float,
    cancel: Cancel,
    trees: range | None,
    halves: Halves | None = None,
) -> None:
    ensemble = coding.ensemble
    offsets = ensemble.tree_offset
    if trees is not None:
        # A booster that stopped earlier than the others has fewer trees.
        offsets = offsets[min(trees.start, ensemble.n_trees) : trees.stop + 1]
    _core.replay_boosting(
        **coding.nodes,
        tree_offset=offsets,
        codes=codes,
        weight=train_weight,
        subsets=Subsets.from_masks(masks).words,
        learning_rate=ensemble.learning_rate,
        shrinkage=shrinkage,
        residual=residual,
        cancel=cancel,
        n_first=0 if halves is None else halves.n_first,
        half_train=None if halves is None else halves.train,
        half_test=None if halves is None else halves.test,
        gain=ensemble.gain,
        values=values,
        slope_shrinkage=ensemble.slope_shrinkage(shrinkage),
    )
