"""Boosting replayed on subsets in all folds, stage by stage, for as long as it helps each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.arrays import slices
from shaff._util.threads import Cancel, block_size, run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.values.boosting.fold import BoostingFold, Halves
from shaff.values.noise import n_noise_folds

# Subsets that are replayed together. Smaller blocks share fewer cells (`benchmarks.values`).
BLOCK_SUBSETS = 64
# A subset whose value has fallen by so much since its best stage is replayed no further. Less, and
# noise would end it; more, and small subsets are replayed to the end for nothing
# (`benchmarks.accuracy`).
LOST_VALUE = 1e-3


@dataclass(frozen=True, eq=False)
class HeldOutResiduals:
    """Residuals of the rows by the folds that hold them out; 0 for rows that no fold holds out.

    Parameters
    ----------
    residuals : float array of shape (n_subsets, n_rows, n_outputs)
    stops : int array of shape (n_subsets, 1 + n_folds)
        The number of trees that is best over all folds; then that of each fold, by the others.
    products : float array of the shape of the residuals, or None
        Products of the residuals by two halves of the training rows; NaN in folds that are not
        asked.
    """

    residuals: FloatArray
    stops: IntArray
    products: FloatArray | None = None

    def block(self, subsets: slice) -> HeldOutResiduals:
        """Views on some of the subsets."""
        products = None if self.products is None else self.products[subsets]
        return HeldOutResiduals(self.residuals[subsets], self.stops[subsets], products)


class FoldReplay:
    """Some subsets in one fold: residuals so far, and those of held-out rows at each stage.

    Parameters
    ----------
    model : BoostingFold
    masks : bool array of shape (n_subsets, n_columns)
    n_stages : int
    products : bool
        Whether the products of two halves are wanted.
    """

    def __init__(
        self, model: BoostingFold, masks: BoolArray, n_stages: int, products: bool
    ) -> None:
        self._model, self._masks, self._products = model, masks, products
        self._subsets = np.arange(len(masks))
        self._residual: FloatArray | None = None
        self._halves: Halves | None = None
        data = model.data
        self.rows = test = model.fold.test
        self._weight = data.weight[test]
        shape = (n_stages, data.y.shape[1], len(masks), len(test))
        self.kept, self.products = np.empty(shape), np.empty(shape) if products else None
        # A stage that is not reached is never the best.
        self.errors = np.full((n_stages, len(masks)), np.inf)

    def advance(self, stage: int, trees: range, shrinkage: float, cancel: Cancel) -> None:
        """Replay the trees of a stage."""
        n_train, masks = len(self._model.fold.train), self._masks[self._subsets]
        if self._residual is None:
            self._residual = self._model.start_residual(masks)
            if self._products:
                self._halves = Halves.of(self._residual, n_train, self._model.n_first)
        self._model.replay(masks, self._residual, shrinkage, cancel, trees, self._halves)
        held_out = self._residual[:, :, n_train:]
        self.kept[stage][:, self._subsets] = held_out
        # Sums by rows: the bits of a product of matrices depend on how many subsets there are.
        self.errors[stage, self._subsets] = (held_out**2 * self._weight).sum(axis=(0, 2))
        if self.products is not None and self._halves is not None:
            self.products[stage][:, self._subsets] = self._halves.products()

    def keep(self, goes_on: BoolArray) -> None:
        """Leave out subsets, of those that are still replayed."""
        self._subsets = self._subsets[goes_on]
        if self._residual is not None:
            self._residual = np.ascontiguousarray(self._residual[:, goes_on])
        if self._halves is not None:
            self._halves = self._halves.of_subsets(goes_on)


class BlockReplay:
    """A block of subsets in all folds.

    Parameters
    ----------
    models : list of BoostingFold
    masks : bool array of shape (n_subsets, n_columns)
    n_stages : int
    products : bool
    one_value : float
        The error that a value of 1 stands for.
    """

    def __init__(
        self,
        models: list[BoostingFold],
        masks: BoolArray,
        n_stages: int,
        products: bool,
        one_value: float,
    ) -> None:
        n_noisy = n_noise_folds([model.fold.test for model in models]) if products else 0
        first = len(models) - n_noisy
        self.folds = [FoldReplay(m, masks, n_stages, k >= first) for k, m in enumerate(models)]
        self._lost = LOST_VALUE * one_value
        self._subsets = np.arange(len(masks))

    @property
    def is_done(self) -> bool:
        """Whether no subset is replayed any further."""
        return len(self._subsets) == 0

    def end_stage(self, stage: int) -> None:
        """Leave out the subsets that have been better before."""
        if self.is_done:
            return
        errors = np.sum([fold.errors[: stage + 1] for fold in self.folds], axis=0)[:, self._subsets]
        goes_on = errors[stage] <= errors.min(axis=0) + self._lost
        if goes_on.all():
            return
        self._subsets = self._subsets[goes_on]
        for fold in self.folds:
            fold.keep(goes_on)

    def stop(self, out: HeldOutResiduals, stages: list[int]) -> None:
        """Fill in each fold's residuals at the stage with the smallest error in the other folds,
        so that no row decides when its own prediction stops; and the stages of all folds."""
        subsets = np.arange(len(out.residuals))
        for k, fold in enumerate(self.folds):
            others = [other for other in self.folds if other is not fold] or [fold]
            stage = np.sum([other.errors for other in others], axis=0).argmin(axis=0)
            test = fold.rows
            out.stops[:, 1 + k] = np.asarray(stages)[stage]
            out.residuals[:, test] = fold.kept[stage, :, subsets].transpose(0, 2, 1)
            if fold.products is not None and out.products is not None:
                out.products[:, test] = fold.products[stage, :, subsets].transpose(0, 2, 1)
        best = np.sum([fold.errors for fold in self.folds], axis=0).argmin(axis=0)
        out.stops[:, 0] = np.asarray(stages)[best]


def replay_stages(
    models: list[BoostingFold],
    masks: BoolArray,
    stages: list[int],
    shrinkage: float,
    cancel: Cancel,
    n_jobs: int | None,
    *,
    one_value: float,
    products: bool,
) -> HeldOutResiduals:
    """Residuals of the rows by the folds that hold them out, each subset at its best stage.

    Parameters
    ----------
    models : list of BoostingFold
    masks : bool array of shape (n_subsets, n_columns)
    stages : list of int
        Numbers of trees after which a subset may stop.
    shrinkage : float
    cancel : uint8 array of shape (1,)
    n_jobs : int or None
        Threads that replay blocks of subsets in single folds; the values do not depend on it.
    one_value : float
        The error that a value of 1 stands for.
    products : bool
        Whether the products of two halves are wanted.
    """
    shape = (len(masks), *models[0].data.y.shape)
    out = HeldOutResiduals(
        np.zeros(shape),
        np.zeros((len(masks), 1 + len(models)), dtype=np.int64),
        np.full(shape, np.nan) if products else None,
    )
    parts = slices(len(masks), block_size(len(masks), len(models), n_jobs, BLOCK_SUBSETS))
    blocks = [BlockReplay(models, masks[p], len(stages), products, one_value) for p in parts]
    for stage, (done, end) in enumerate(zip([0, *stages], stages, strict=False)):
        folds = [fold for block in blocks if not block.is_done for fold in block.folds]
        # What takes longest is begun first, so that no thread is left alone with it at the end.
        folds.sort(key=lambda fold: fold.products is None)
        tasks = [(fold, stage, range(done, end), shrinkage, cancel) for fold in folds]
        run_in_threads(FoldReplay.advance, tasks, n_jobs, cancel)
        for block in blocks:
            block.end_stage(stage)
    for part, block in zip(parts, blocks, strict=True):
        block.stop(out.block(part), stages)
    return out
