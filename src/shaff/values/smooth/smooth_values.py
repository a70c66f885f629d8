"""Smooth values: ridge regressions on smooth functions, each row predicted without itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shaff._util.seeds import draw_seed
from shaff._util.threads import one_blas_thread, run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.folds import Fold, fold_numbers
from shaff.data.problem import Problem
from shaff.protocols import Game, Values
from shaff.subsets import Subsets
from shaff.values.outcome import Outcome
from shaff.values.smooth.anova_ridge import Model, anova_models
from shaff.values.smooth.fold_ridge import FoldRidge, FoldsLeftOut
from shaff.values.smooth.kernel import KernelRidge
from shaff.values.smooth.leave_out import Choice, LeaveOutTarget, LeftOut, choose

# The kernel costs several times as much: only for few rows, and if it lowers the error by this.
# More rows take time (`benchmarks.pairs`); a bar nearer to 1 lets luck choose
# (`benchmarks.seeds`).
MAX_KERNEL_ROWS = 1500
KERNEL_GAIN = 0.95
# Rows up to which each row is left out by itself. More take time (`benchmarks.pairs`), fewer are
# predicted with a fifth of the rows less (`benchmarks.truth`).
MAX_ROWS_LEFT_OUT = 2000
# Place of the model of lines.
LINES = 0
# Subsets that models are tried on, with more players than a few.
# Fewer probes drop models that some subsets need (`benchmarks.truth`).
FEW_PLAYERS, N_PROBES = 3, 8
# What a model must add to v, on average over these, to be kept.
MODEL_GAIN = 5e-4
# New rows at a time: memory only (`benchmarks.local --memory`).
ROWS_AT_ONCE = 4096
ModelName = Literal["auto", "anova", "kernel"]


class SmoothValues:
    """v(U) of smooth regressions on the columns of U, each row predicted without itself.

    Several models are fitted to a subset: lines; curves; curves with products of the pairs of
    columns that matter; with products of all pairs, or a product kernel where that is clearly
    better on all columns. A row's prediction is that of the model and penalty which predict the
    rows of the other folds best. Whole weights are copies of a row, which are left out together.
    With many rows, with row groups and with given splits, whole folds are left out.

    Parameters
    ----------
    problem : Problem
    fold_of : sequence of int arrays of shape (n_rows,) or None
        Several divisions into folds, over which the choices are averaged; None means one of five
        random folds. Rows of a group have one fold.
    model : {"auto", "anova", "kernel"}

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.smooth.smooth_values import SmoothValues
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> smooth = SmoothValues(Problem.of(X, X[:, 0] * X[:, 1], random_state=0))
    >>> (smooth.values(Subsets.from_indices([[0], [0, 1]], 2)).v > 0.9).tolist()
    [False, True]
    """

    def __init__(
        self,
        problem: Problem,
        fold_of: Sequence[IntpArray] | None = None,
        model: ModelName = "auto",
    ) -> None:
        self._problem, self.n_players = problem, len(problem.players)
        seed = draw_seed(problem.seed)
        if leaves_folds(problem):
            self._leave_out_folds(problem, seed)
        else:
            self._leave_out_rows(problem, fold_of, seed)
        # Models and penalties of subsets, for rows that are predicted later.
        self._choice_of: dict[bytes, list[tuple[int, float]]] = {}
        with one_blas_thread:
            self.models = self._find_models(model, seed)

    def _leave_out_folds(self, problem: Problem, seed: int) -> None:
        folds = problem.folds(problem.seed)
        self._outcome = Outcome.held_out(problem, folds)
        self._targets = [
            LeaveOutTarget.by_folds(problem.y, problem.weight, folds, problem.row_groups, seed)
        ]

    def _leave_out_rows(
        self, problem: Problem, fold_of: Sequence[IntpArray] | None, seed: int
    ) -> None:
        self._outcome = Outcome.left_out(problem)
        given = [None] if fold_of is None else list(fold_of)
        if problem.views is not None and fold_of is None:
            given = [_fold_of(problem)]
        self._targets = [
            LeaveOutTarget.of(problem.y, problem.sample_weight, folds, seed) for folds in given
        ]

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset; the correction takes off what the noise of the fits adds."""
        residuals, noise = self.left_out(subsets)
        means = self._outcome.means_of(residuals)
        return self._outcome.evaluate(subsets, residuals, influences, [noise], means)

    def left_out(self, subsets: Subsets) -> tuple[FloatArray, FloatArray]:
        """Residuals of the rows without themselves, shape (n_subsets, n_rows, n_outputs), and
        what the noise of the fits adds to their squares: means over the divisions into folds."""
        found = [self._average(choices) for choices in self._choices(subsets)]
        return np.stack([r for r, _ in found]), np.stack([h for _, h in found])

    def runs_and_noise(self, subsets: Subsets) -> tuple[FloatArray, FloatArray]:
        """Predictions by each division, shape (n_runs, n_subsets, n_rows, n_outputs), and the mean
        noise in their squared errors, shape (n_subsets, n_rows, n_outputs)."""
        choices = self._choices(subsets)
        residuals = np.array([[c.residuals for c in some] for some in choices])
        noise = np.stack([self._average(some)[1] for some in choices])
        return np.asarray(self._problem.y - residuals.swapaxes(0, 1)), noise

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Means given the columns of each subset, shape (n_subsets, n_rows, n_outputs).

        The data's rows are predicted without themselves, other rows by the fit on all.
        """
        if rows is None:
            return np.asarray(self._problem.y - self.left_out(subsets)[0])
        new = np.asarray(rows, dtype=np.float64)
        masks, chosen = self._masks(subsets), self._chosen_for(subsets)
        used = sorted({model for some in chosen for model, _ in some})
        out = np.empty((len(masks), len(new), self._problem.y.shape[1]))
        with one_blas_thread:
            n_jobs = self._problem.n_jobs
            fits = run_in_threads(self._fit, list(zip(masks, chosen, strict=True)), n_jobs)
            for start in range(0, len(new), ROWS_AT_ONCE):
                block = slice(start, start + ROWS_AT_ONCE)
                prepared = {k: self.models[k].prepare(new[block]) for k in used}
                tasks = [(some, prepared) for some in fits]
                out[:, block] = np.stack(run_in_threads(self._apply, tasks, n_jobs))
        return out

    def predict_halves(self, halves: Sequence[Fold]) -> FloatArray:
        """Means given all columns, each half of the rows predicted by a regression of the other:
        shape (1, n_rows, n_outputs). The model is the one that all rows choose."""
        problem = self._problem
        model = self.models[self._chosen_for(Subsets.full(self.n_players))[0][0][0]]
        target = LeaveOutTarget.by_folds(
            problem.y, problem.weight, halves, problem.row_groups, problem.seed
        )
        with one_blas_thread:
            features = model.known_features()
            ridge = FoldRidge(features, target, problem.n_jobs)
            fit = FoldsLeftOut(ridge, [(np.arange(len(features)), list(range(len(halves))))])
            return np.asarray(problem.y - choose([fit], target).residuals)[None]

    def _chosen_for(self, subsets: Subsets) -> list[list[tuple[int, float]]]:
        """Models and penalties for further rows: as was found before, or is found now."""
        unknown = np.array([key not in self._choice_of for key in subsets.keys()], dtype=bool)
        if unknown.any():
            self._choices(subsets[unknown])
        return [self._choice_of[key] for key in subsets.keys()]

    def _fit(self, mask: BoolArray, chosen: list[tuple[int, float]]) -> list[tuple[int, Any]]:
        return [(model, self.models[model].fit(mask, penalty)) for model, penalty in chosen]

    def _apply(self, fits: list[tuple[int, Any]], prepared: dict[int, Any]) -> FloatArray:
        """Predictions averaged over the divisions into folds."""
        parts = [self.models[model].apply(fit, prepared[model]) for model, fit in fits]
        return np.asarray(np.mean(parts, axis=0))

    def _find_models(self, model: ModelName, seed: int) -> list[Model]:
        """Return the models to choose from; the kernel replaces the last one, which also models
        interactions, if it is better."""
        X, target, categorical = self._problem.X, self._targets[0], self._problem.categorical
        views, n_jobs = self._problem.views, self._problem.n_jobs
        if model == "kernel" and views is None:
            return [KernelRidge(X, target, categorical, seed)]
        seen = None if views is None else self._views(target)
        models = anova_models(X, target, categorical, seen, n_jobs)
        # The kernel knows no folds, and none that see different columns.
        is_plain = target.folds is None and views is None
        if model == "anova" or len(X) > MAX_KERNEL_ROWS or not is_plain:
            return self._useful(models)
        everything = np.ones(X.shape[1], dtype=bool)
        fits = run_in_threads(_leave_out, [(model, everything) for model in models], n_jobs)
        choice = choose(fits, target)
        if choice.model == LINES:
            return self._useful(models)
        kernel = KernelRidge(X, target, categorical, seed)
        bar = KERNEL_GAIN * choice.error(target)
        if self._error(kernel, target) >= bar or self._mean_error(kernel, seed) >= bar:
            return self._useful(models)
        return self._useful([*(models[:-1] if len(models) > 2 else models), kernel])

    def _mean_error(self, kernel: KernelRidge, seed: int) -> float:
        """Mean error over all divisions into folds: relevances found on few rows vary by chance."""
        X, categorical = self._problem.X, self._problem.categorical
        others = self._targets[1:]
        errors = [self._error(KernelRidge(X, t, categorical, seed), t) for t in others]
        return float(np.mean([self._error(kernel, self._targets[0]), *errors]))

    def _error(self, kernel: KernelRidge, target: LeaveOutTarget) -> float:
        everything = np.ones(self._problem.X.shape[1], dtype=bool)
        return choose([kernel.leave_out(everything)], target).error(target)

    def _views(self, target: LeaveOutTarget) -> BoolArray:
        """Columns that each fold may see, shape (n_folds, n_columns)."""
        trained = [np.flatnonzero(rows) for rows in target.training]
        return np.stack([self._problem.visible(rows) for rows in trained])

    def _useful(self, models: Sequence[Model]) -> list[Model]:
        """Return the models that a few subsets need: the others only cost time."""
        if self.n_players <= FEW_PLAYERS or len(models) == 1:
            return list(models)
        rng = np.random.RandomState(self._problem.seed)
        sizes = np.linspace(1, self.n_players, N_PROBES).round().astype(np.int64)
        ranks = rng.random_sample((N_PROBES, self.n_players)).argsort(axis=1).argsort(axis=1)
        probes = self._masks(Subsets.from_masks(ranks < sizes[:, None]))
        errors = run_in_threads(
            self._errors_of_models, [(models, mask) for mask in probes], self._problem.n_jobs
        )
        one_value = self._outcome.variance * float(self._outcome.weight.sum())
        return [models[k] for k in _needed(np.array(errors), MODEL_GAIN * one_value)]

    def _errors_of_models(self, models: Sequence[Model], mask: BoolArray) -> list[float]:
        """The error of each model at its best penalty."""
        target = self._targets[0]
        return [float(m.leave_out(mask).errors(target).sum(axis=1).min()) for m in models]

    def _masks(self, subsets: Subsets) -> BoolArray:
        return subsets.to_columns(self._problem.players, self._problem.X.shape[1]).masks()

    def _choices(self, subsets: Subsets) -> list[list[Choice]]:
        """For each subset, what each division into folds chooses."""
        with one_blas_thread:
            tasks = [(mask,) for mask in self._masks(subsets)]
            found = run_in_threads(self._evaluate, tasks, self._problem.n_jobs)
        for key, choices in zip(subsets.keys(), found, strict=True):
            self._choice_of[key] = [(choice.model, choice.penalty) for choice in choices]
        return found

    def _evaluate(self, mask: BoolArray) -> list[Choice]:
        fits = [model.leave_out(mask) for model in self.models]
        return [choose(fits, target) for target in self._targets]

    @staticmethod
    def _average(choices: Sequence[Choice]) -> tuple[FloatArray, FloatArray]:
        residuals = np.mean([choice.residuals for choice in choices], axis=0)
        return residuals, np.mean([choice.noise for choice in choices], axis=0)


def _leave_out(model: Model, mask: BoolArray) -> LeftOut:
    return model.leave_out(mask)


def _needed(errors: FloatArray, least: float) -> list[int]:
    """Models that lower the mean error of the probes, shape (n_probes, n_models), by enough: the
    best one, then what helps most beside those that are there."""
    kept = [int(errors.sum(axis=0).argmin())]
    while True:
        best = errors[:, kept].min(axis=1, keepdims=True)
        gains = np.maximum(best - errors, 0.0).mean(axis=0)
        if gains.max() <= least:
            return sorted(kept)
        kept.append(int(gains.argmax()))


def leaves_folds(problem: Problem) -> bool:
    """Whether whole folds are left out: with many rows, where that is as good and costs less, and
    where rows belong together or a splitter says what is held out."""
    together = problem.row_groups is not None or problem.has_splits
    return together or len(problem.X) > MAX_ROWS_LEFT_OUT


def _fold_of(problem: Problem) -> IntpArray:
    """The fold of each row in the first run that has views."""
    assert problem.views is not None
    return fold_numbers(problem.folds(problem.views.seeds[0]), len(problem.X))


def make_smooth(problem: Problem) -> Game:
    """Make smooth values, which leave out rows one by one, or fold by fold."""
    return Game(SmoothValues(problem), "smooth")
