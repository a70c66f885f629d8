"""Projected boosting measured on rows that come in blocks: steps are learnt once, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from shaff._util.arrays import slices
from shaff._util.threads import Cancel, run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray
from shaff.data.folds import fold_numbers
from shaff.data.sources.sampled import MeasuredRows
from shaff.values.boosting.fold import BoostingFold
from shaff.values.boosting.steps import FoldSteps
from shaff.values.losses import LimitedLoss
from shaff.values.sums import ErrorSums

# Steps that are kept; those of further subsets are learnt again for each block of rows.
KEPT_BYTES = 3 * 2**29
# Subsets that share a tree's preparation.
BLOCK_SUBSETS = 64
# Errors that are held at a time.
MAX_ERRORS = 2**23
Place = tuple[int, int]


class KeptSteps:
    """Steps that have been learnt, as long as there is room for them.

    Each is learnt by the thread that asks for it first, and others wait for it. They do not travel:
    another process learns its own.
    """

    def __init__(self) -> None:
        self._kept: dict[Place, FoldSteps] = {}
        self._lock = threading.Lock()
        self._learning: dict[Place, threading.Lock] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptSteps, ()

    @property
    def is_full(self) -> bool:
        """Whether further steps are learnt each time that they are asked for."""
        return sum(steps.nbytes for steps in list(self._kept.values())) >= KEPT_BYTES

    def get(self, place: Place, learn: Callable[[int, int], FoldSteps]) -> FoldSteps:
        """Return what was learnt before, or learn it now."""
        with self._lock:
            own = self._learning.setdefault(place, threading.Lock())
        if place in self._kept:
            return self._kept[place]
        if self.is_full:
            return learn(*place)
        with own:
            if place not in self._kept:
                self._kept[place] = learn(*place)
            return self._kept[place]


class BoostingPass:
    """Some subsets, evaluated on whatever rows come.

    A row is predicted by the model of its fold, which stops where that fold does, and compared with
    the mean of the fold's training rows: what held-out rows of the sample go through.

    Parameters
    ----------
    models : list of BoostingFold
    masks : bool array of shape (n_subsets, n_columns)
    stops : int array of shape (n_subsets, n_folds)
        Trees after which a subset stops.
    shrinkage : float
    cancel : Cancel
    limited : LimitedLoss or None
        The loss; None means squared errors.
    """

    def __init__(
        self,
        models: list[BoostingFold],
        masks: BoolArray,
        stops: IntArray,
        shrinkage: float,
        cancel: Cancel,
        limited: LimitedLoss | None = None,
    ) -> None:
        self._models, self._masks, self._stops = models, masks, stops
        self._limited = limited
        self._shrinkage, self.cancel = shrinkage, cancel
        self.n_subsets, self.n_folds = len(masks), len(models)
        self._blocks = slices(len(masks), BLOCK_SUBSETS)
        self._kept = KeptSteps()

    def learn(self, n_jobs: int | None) -> None:
        """Learn the steps in threads, as many as are kept."""
        places = [(k, b) for b in range(len(self._blocks)) for k in range(self.n_folds)]
        run_in_threads(self._learn_if_kept, places, n_jobs, self.cancel)

    @property
    def fold_of(self) -> IntpArray:
        """The fold that holds out each row of the sample, -1 if none does."""
        folds, n_rows = (model.fold for model in self._models), len(self._models[0].data.X)
        return fold_numbers(folds, n_rows, elsewhere=-1)

    def sums(self, rows: MeasuredRows, n_units: int | None) -> ErrorSums:
        """The errors of some rows, in the columns that the models see."""
        sums = ErrorSums(self.n_subsets, rows.y.shape[1], self.n_folds, n_units)
        for k, model in enumerate(self._models):
            own = np.flatnonzero(rows.fold == k)
            size = max(1, MAX_ERRORS // (self.n_subsets * rows.y.shape[1]))
            for first in range(0, len(own), size):
                self._add(sums, k, model, rows, own[first : first + size])
        return sums

    def _add(
        self, sums: ErrorSums, k: int, model: BoostingFold, rows: MeasuredRows, own: IntpArray
    ) -> None:
        y, new = rows.y[own], model.new_rows(rows.X[own])
        errors = np.empty((y.shape[1], self.n_subsets, len(own)))
        corrected = np.empty_like(errors)
        for b, block in enumerate(self._blocks):
            steps = self._kept.get((k, b), self._learn)
            residual = y.T[:, None] - steps.predict(new, self.cancel)
            np.square(residual[0], out=errors[:, block])
            np.multiply(residual[1], residual[2], out=corrected[:, block])
            if self._limited is not None:
                lossy = _losses(self._limited, y, residual[0], corrected[:, block])
                errors[:, block], corrected[:, block] = lossy
        unit = None if rows.unit is None else rows.unit[own]
        away = y - model.mean
        constant = away**2 if self._limited is None else self._limited.errors(y, away)
        sums.add(rows.weight[own], constant, errors, corrected, unit, k)

    def _learn(self, k: int, b: int) -> FoldSteps:
        block = self._blocks[b]
        stops = np.ascontiguousarray(self._stops[block, k])
        return self._models[k].learn(
            self._masks[block], stops, self._shrinkage, self.cancel, halves=True
        )

    def _learn_if_kept(self, k: int, b: int) -> None:
        if not self._kept.is_full:
            self._kept.get((k, b), self._learn)


def _losses(
    limited: LimitedLoss, y: FloatArray, residual: FloatArray, products: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Losses and corrected losses, shape (n_outputs, n_subsets, n_rows), by the residuals of all
    training rows and the products of those of two halves."""
    own, squares = residual.transpose(1, 2, 0), products.transpose(1, 2, 0)
    errors = limited.errors(y, own)
    corrected = errors - limited.noise(y, own, own**2 - squares)
    return errors.transpose(2, 0, 1), corrected.transpose(2, 0, 1)
