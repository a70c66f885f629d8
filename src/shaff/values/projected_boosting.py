"""Projected boosting: the accurate value function (docs/theory.md, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from shaff._seeds import LARGEST_SEED
from shaff._threads import run_in_threads
from shaff._typing import BoolArray, FloatArray, IntArray
from shaff._warn import warn
from shaff._work import current_engine, run_tasks
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.trees import boosters
from shaff.trees.boosters import read_ensemble
from shaff.trees.ensemble import Ensemble
from shaff.values.boosting_fold import BoostingFold, FoldColumns, Start
from shaff.values.default_booster import default_booster
from shaff.values.linear_start import LinearStart, Scale, choose_penalty, fits
from shaff.values.outcome import Outcome

StartName = Literal["auto", "constant", "linear", "normal_scores", "quadratic"]
SCALES: tuple[Scale, ...] = ("linear", "normal_scores", "quadratic")
# Shorter stages stop on noise, longer ones grow trees for nothing; scouts that are shorter or see
# fewer rows choose a wrong start (`benchmarks.values` for errors and times).
STAGE_TREES = 50
MAX_TREES = 500
SCOUT_TREES = 50
SCOUT_LEARNING_RATE = 0.2
SCOUT_ROWS = 500
# A stage must raise the probes' mean value by this much for boosting to go on.
# Larger, and weak signals get no trees; smaller, and trees fit noise (`benchmarks.truth`).
MIN_IMPROVEMENT = 2e-4
# So many trees are grown without one where a scout had to look twice.
# Fewer, and signals without main effects are missed (`benchmarks.truth`).
PATIENCE = 100
# Leaves of a scout for small trees; trees of one that is asked again.
# Without them rare classes and late signals are lost (`benchmarks.data`, `benchmarks.truth`).
FEW_LEAVES, PATIENT_TREES = 6, 150
# Less shrinkage overfits small subsets, more shrinks the effects (`benchmarks.values`).
SHRINKAGES = (1.0, 3.0, 10.0, 30.0)
GROWING_SHRINKAGE = 3.0
# Fewer probes choose by luck (`benchmarks.seeds`).
N_PROBES = 8
# Smaller blocks share fewer cells (`benchmarks.values`), larger waves take memory
# (`benchmarks.memory`).
BLOCK_SUBSETS = 64
WAVE_SUBSETS = 512
WAVE_BYTES = 2**28
# Shares of the trees after which a subset may stop.
# Without early stops small subsets overfit (`benchmarks.values`).
STOPPING_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


class ProjectedBoosting:
    """v(U) of boosting replayed on trees that are projected on U, cross-fitted.

    In each fold a booster is fitted once, on all columns. For a subset U its trees are kept but
    seen through U: splits on other columns send a row both ways, and a cell is the set of rows
    that reach the same leaves. The cells' steps are boosted anew, one after the other, from a
    start that only knows U. Held-out rows give v(U).

    Parameters
    ----------
    problem : Problem
        With several outputs there is a booster for each, and v sums errors and variances. Folds
        are those of its ``cv``, by default five; rows of one group stay in one fold; integer
        weights count as repeated rows; the results are the same bits for any ``n_jobs``.
    estimator : regressor of scikit-learn (HistGradientBoosting), LightGBM, XGBoost or CatBoost
        Cloned for each fold and held to one thread. None is a tuned HistGradientBoosting whose
        number of trees is chosen on held-out rows.
    start : {"auto", "constant", "linear", "normal_scores", "quadratic"}
        Where boosting starts: at the mean, or at a ridge fit on the columns of U: as they are, as
        normal quantiles of their ranks, or with their squares and products. "auto" takes what
        explains most on held-out rows, and leaves products out when rows are too few for them.
    shrinkage : float or None
        A cell steps by ``sum(residuals) / (count + shrinkage)``. None chooses on held-out rows.
    early_stopping : bool
        Whether each subset stops after the share of the trees that is best for it: small subsets
        overfit sooner. A fold's stop is chosen on the held-out rows of the other folds.

    Attributes
    ----------
    start_ : str
        The start in use.
    shrinkage_ : float
    n_trees_ : int
        Trees a fold.
    gains : float array of shape (n_columns,)
        Share of each column in the split gains of boosters grown on y itself.

    Notes
    -----
    All choices maximise the mean of v over the full set and a few random subsets. Each v is
    measured on held-out rows, so larger is better for every one of them.

    Examples
    --------
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import experiment_1a
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.projected_boosting import ProjectedBoosting
    >>> exp = experiment_1a(n=500, random_state=0)
    >>> boosting = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=0))
    >>> subsets = Subsets.from_indices([[0, 1, 9], range(15)], n_players=15)
    >>> bool(abs(boosting.values(subsets).v - exp.value(subsets)).max() < 0.05)
    True
    """

    def __init__(
        self,
        problem: Problem,
        *,
        estimator: Any = None,
        start: StartName = "auto",
        shrinkage: float | None = None,
        early_stopping: bool = True,
        like: ProjectedBoosting | None = None,
    ) -> None:
        if start not in ("auto", "constant", *SCALES):
            raise InputError(f"start={start!r} is not one of {('auto', 'constant', *SCALES)}.")
        if estimator is not None:
            boosters.check_booster(estimator)
        self._set_up(problem)
        self.early_stopping = early_stopping
        self._staged = estimator is None
        self._estimator = default_booster(len(problem.X)) if self._staged else estimator
        with threadpool_limits(1, user_api="blas"):
            if like is None:
                self._choose_start(start)
                self._grow()
            else:
                self._start_like(like)
                self._grow_at_once(like.n_trees_)
            self.shrinkage_ = self._choose_shrinkage() if shrinkage is None else float(shrinkage)

    @classmethod
    def from_fitted(
        cls,
        model: Any,
        problem: Problem,
        *,
        shrinkage: float | None = None,
        early_stopping: bool = True,
    ) -> ProjectedBoosting:
        """Use the trees of a fitted booster as they are.

        The rows of the problem are rows that the model was not trained on. The steps of the cells
        are cross-fitted on folds of these rows; the start is constant.

        Examples
        --------
        >>> from sklearn.ensemble import HistGradientBoostingRegressor
        >>> from shaff.data.problem import Problem
        >>> from shaff.datasets import experiment_1a
        >>> from shaff.values.projected_boosting import ProjectedBoosting
        >>> exp = experiment_1a(n=1000, random_state=0)
        >>> model = HistGradientBoostingRegressor(max_features=0.3).fit(exp.X[:500], exp.y[:500])
        >>> held_out = Problem.of(exp.X[500:], exp.y[500:])
        >>> ProjectedBoosting.from_fitted(model, held_out).explained_variance() > 0.8
        True
        """
        self = cls.__new__(cls)
        # What were categories are the numbers that the model knows them by.
        data = replace(
            problem, table=replace(problem.table, categorical=np.zeros_like(problem.categorical))
        )
        if data.y.shape[1] != 1:
            raise InputError("A fitted booster explains one output; y has several.")
        ensemble = read_ensemble(model)
        if ensemble.n_columns != data.X.shape[1]:
            raise InputError(
                f"The model was fitted on {ensemble.n_columns} columns, X has {data.X.shape[1]}."
            )
        boosters.check_booster(model)
        if ensemble.has_seen(data.X):
            warn(
                f"These are the rows that {type(model).__name__} was trained on: its trees have "
                "seen them, so that all looks better explained than it is. Pass other rows."
            )
        self._set_up(data)
        self.early_stopping = early_stopping
        self.start_, self.n_trees_ = "constant", ensemble.n_trees
        self.gains = _shares([ensemble], data.X.shape[1])
        self._models = [
            BoostingFold(data, fold, Start(), FoldColumns(data, fold, native=True))
            for fold in self.folds
        ]
        for fold_model in self._models:
            fold_model.set_trees([ensemble])
        self.shrinkage_ = self._choose_shrinkage() if shrinkage is None else float(shrinkage)
        return self

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self._data.players)

    def explained_variance(self) -> float:
        """v of the full set."""
        return float(self.values(Subsets.full(self.n_players)).v[0])

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Price each subset; the correction takes off the noise of the cells' steps."""
        masks = self._masks(subsets)
        parts = []
        for wave in self._waves(len(masks)):
            found = self._held_out(masks[wave], corrected=True)
            parts.append(
                self._outcome.values(subsets[wave], found.residuals**2, influences, found.products)
            )
        return Values.concatenate(parts)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means m_U(x), shape (n_subsets, n_rows, n_outputs).

        Rows of the data are predicted by the fold that held them out (NaN if none did), other
        rows by the mean of the folds.
        """
        masks = self._masks(subsets)
        waves = self._waves(len(masks))
        found = [self._held_out(masks[wave]) for wave in waves]
        if rows is None:
            residual = np.concatenate([part.residuals for part in found])
            out = np.asarray(self._data.y[None] - residual, dtype=np.float64)
            out[:, self._outcome.weight == 0] = np.nan
            return out
        new = np.ascontiguousarray(rows, dtype=np.float64)
        return self._predict_new(masks, np.concatenate([part.stages for part in found]), new)

    # Fitting ----------------------------------------------------------------------------------

    def _set_up(self, data: Problem) -> None:
        self._data = data
        rng = check_random_state(data.seed)
        self._seed = int(rng.randint(LARGEST_SEED))
        self.folds = data.folds(data.seed)
        self._outcome = Outcome.held_out(data, self.folds)
        self._cancel = np.zeros(1, dtype=np.uint8)
        self._probes = self._masks(_probes(self.n_players, rng))

    def _choose_start(self, name: StartName) -> None:
        """Fix the start; short boosters on the first folds decide between mean and ridge."""
        starts: dict[str, list[Start]] = {"constant": [Start() for _ in self.folds]}
        if name != "constant":
            scale, linear = self._best_linear(SCALES if name == "auto" else (name,))
            starts[scale] = linear
        scouts = {key: self._fit_scouts(parts) for key, parts in starts.items()}
        ensembles = [coding.ensemble for model in scouts["constant"] for coding in model.codings]
        self.gains = _shares(ensembles, self._data.X.shape[1])
        bare = {key: self._start_error(models) for key, models in scouts.items()}
        grown = {key: self._probe_error(models) for key, models in scouts.items()}
        best = min(scouts, key=lambda key: min(bare[key], grown[key]))
        self.start_ = best if name == "auto" else name
        chosen = scouts[self.start_]
        self._trees_help = self._improves(grown[self.start_], bare[self.start_], chosen)
        self._patience = STAGE_TREES
        if self._staged:
            self._look_again(starts[self.start_], grown[self.start_], bare[self.start_])
        self._begin(starts[self.start_], chosen)

    def _start_like(self, other: ProjectedBoosting) -> None:
        """What another run has chosen, without scouts of its own."""
        self.start_, self.gains, self._estimator = other.start_, other.gains, other._estimator
        starts = [Start() for _ in self.folds]
        if self.start_ != "constant":
            _, starts = self._best_linear((self.start_,))
        self._begin(starts, other._models)

    def _begin(self, starts: list[Start], others: list[BoostingFold]) -> None:
        """Folds without a tree yet."""
        pairs = zip(self.folds, starts, strict=True)
        self._models = [self._new_fold(fold, start) for fold, start in pairs]
        for model in self._models:
            model.set_trees([coding.ensemble.first_trees(0) for coding in others[0].codings])

    def _look_again(self, starts: list[Start], grown: float, bare: float) -> None:
        """Small trees may help where large ones overfit at once, such as with a rare class; more
        trees where a signal has no main effects and shows late."""
        small = default_booster(len(self._data.X), SCOUT_LEARNING_RATE, FEW_LEAVES)
        scouts = self._fit_scouts(starts, small)
        error = self._probe_error(scouts)
        if error < min(grown, bare):
            self._estimator = default_booster(len(self._data.X), leaves=FEW_LEAVES)
        if not self._trees_help:
            self._patience = PATIENCE
            patient = self._fit_scouts(starts, n_trees=PATIENT_TREES)
            best = min(error, self._probe_error(patient))
            self._trees_help = self._improves(best, bare, scouts)

    def _fit_scouts(
        self, starts: list[Start], booster: Any = None, n_trees: int = SCOUT_TREES
    ) -> list[BoostingFold]:
        """Short, fast-learning boosters on as few folds as hold out rows enough to compare."""
        quick = default_booster(len(self._data.X), SCOUT_LEARNING_RATE)
        quick = quick if booster is None else booster
        sizes = np.cumsum([len(fold.test) for fold in self.folds])
        n_scouts = 1 + int(np.sum(sizes[:-1] < SCOUT_ROWS))
        pairs = list(zip(self.folds, starts, strict=True))[:n_scouts]
        models = [self._new_fold(fold, start) for fold, start in pairs]
        self._fit(models, [self._new_clones(model, quick, n_trees) for model in models])
        return models

    def _best_linear(self, scales: tuple[Any, ...]) -> tuple[Scale, list[Start]]:
        """The scale of the columns, and the penalty, with the smallest held-out error."""
        data, candidates = self._data, []
        n_train = min(len(fold.train) for fold in self.folds)
        n_columns = max(int(data.visible(fold.train).sum()) for fold in self.folds)
        usable = [s for s in scales if fits(s, n_train, n_columns) or len(scales) == 1]
        for scale in usable:
            linear = [LinearStart.of(data, fold, scale) for fold in self.folds]
            features = [part.fold_features(data.X) for part in linear]
            penalty, error = choose_penalty(linear, features, data.y, data.weight, self._probes)
            candidates.append((error, scale, [Start(part, penalty) for part in linear]))
        _, scale, starts = min(candidates, key=lambda candidate: candidate[0])
        return scale, starts

    def _new_fold(self, fold: Fold, start: Start) -> BoostingFold:
        native = boosters.takes_categories(self._estimator)
        return BoostingFold(self._data, fold, start, FoldColumns(self._data, fold, native))

    def _new_clones(self, model: BoostingFold, estimator: Any, n_trees: int | None) -> list[Any]:
        """One unfitted booster an output; `n_trees` is for the default booster."""
        categorical = model.columns.categorical[self._order(model)]
        clones = [
            boosters.prepare(estimator, categorical, self._seed + k)
            for k in range(self._data.y.shape[1])
        ]
        for clone in clones:
            if n_trees is not None:
                clone.set_params(max_iter=n_trees, warm_start=True)
        return clones

    def _fit(self, models: list[BoostingFold], clones: list[list[Any]]) -> None:
        """Fit every fold's boosters and take their trees over; folds run in parallel."""

        def fit(model: BoostingFold, clone: Any, output: int) -> Ensemble:
            weighted, order = self._data.sample_weight is not None, self._order(model)
            weight = model.train_weight if weighted else None
            X, categorical = model.train_X(output)[:, order], model.columns.categorical[order]
            fitted = boosters.fit(clone, X, model.target(output), weight, categorical)
            ensemble = read_ensemble(fitted)
            return ensemble.with_reversed_columns() if order.step == -1 else ensemble

        n_outputs = self._data.y.shape[1]
        tasks = [
            (model, clone, k)
            for model, parts in zip(models, clones, strict=True)
            for k, clone in enumerate(parts)
        ]
        if current_engine() is None:
            ensembles = self._parallel(fit, tasks)
        else:
            ensembles = self._fit_elsewhere(models, clones)
        for index, model in enumerate(models):
            model.set_trees(ensembles[index * n_outputs : (index + 1) * n_outputs])

    def _fit_elsewhere(self, models: list[BoostingFold], clones: list[list[Any]]) -> list[Ensemble]:
        """The same by workers that have the data; ``clones`` become the fitted ones."""
        native, places = boosters.takes_categories(self._estimator), range(self._data.y.shape[1])
        tasks = [
            (self._number(model), native, self._order(model), k, parts[k], model.target(k))
            for model, parts in zip(models, clones, strict=True)
            for k in places
        ]
        fitted = iter(run_tasks(_fit_fold, self._data, tasks, self._data.n_jobs))
        ensembles = []
        for parts in clones:
            for k in places:
                parts[k], ensemble = next(fitted)
                ensembles.append(ensemble)
        return ensembles

    def _number(self, model: BoostingFold) -> int:
        return next(k for k, fold in enumerate(self.folds) if fold is model.fold)

    def _order(self, model: BoostingFold) -> slice:
        """In every second fold the default booster sees the columns in the opposite order.

        Of equal splits a booster takes the first, so copies of a column would not share alike.
        Other boosters may have settings by the number of a column.
        """
        odd = self._number(model) % 2
        return slice(None, None, -1) if odd and self._staged else slice(None)

    def _grow(self) -> None:
        """Fit the boosters; the default one in stages, until held-out rows gain no more."""
        if not self._staged:
            self._grow_at_once(None)
            return
        clones = [self._new_clones(m, self._estimator, STAGE_TREES) for m in self._models]
        residuals = [model.start_residual(self._probes) for model in self._models]
        best, self.n_trees_, grown = self._start_error(self._models), 0, 0
        # The scout saves whole stages where the start has said it all.
        while self._trees_help and grown < min(MAX_TREES, self.n_trees_ + self._patience):
            self._grow_stage(clones, residuals, grown)
            grown += STAGE_TREES
            error = self._residual_error(self._models, residuals)
            if self._improves(error, best, self._models):
                best, self.n_trees_ = error, grown
        for model in self._models:
            model.set_trees([c.ensemble.first_trees(self.n_trees_) for c in model.codings])

    def _grow_at_once(self, n_trees: int | None) -> None:
        """Fit the boosters with so many trees; None means as many as the estimator wants."""
        if n_trees != 0:
            clones = [self._new_clones(m, self._estimator, n_trees) for m in self._models]
            self._fit(self._models, clones)
        self.n_trees_ = max(c.ensemble.n_trees for m in self._models for c in m.codings)

    def _grow_stage(self, clones: list[list[Any]], residuals: list[FloatArray], grown: int) -> None:
        for parts in clones:
            for clone in parts:
                clone.set_params(max_iter=grown + STAGE_TREES)
        self._fit(self._models, clones)
        for model, residual in zip(self._models, residuals, strict=True):
            trees = range(grown, grown + STAGE_TREES)
            model.replay(self._probes, residual, GROWING_SHRINKAGE, self._cancel, trees)

    def _choose_shrinkage(self) -> float:
        if self.n_trees_ == 0:
            return GROWING_SHRINKAGE
        errors = [self._probe_error(self._models, shrinkage) for shrinkage in SHRINKAGES]
        return SHRINKAGES[int(np.argmin(errors))]

    def _probe_error(
        self, models: list[BoostingFold], shrinkage: float = GROWING_SHRINKAGE
    ) -> float:
        residuals = [model.start_residual(self._probes) for model in models]

        def replay(model: BoostingFold, residual: FloatArray) -> None:
            model.replay(self._probes, residual, shrinkage, self._cancel)

        self._parallel(replay, list(zip(models, residuals, strict=True)))
        return self._residual_error(models, residuals)

    def _start_error(self, models: list[BoostingFold]) -> float:
        residuals = [model.start_residual(self._probes) for model in models]
        return self._residual_error(models, residuals)

    def _residual_error(self, models: list[BoostingFold], residuals: list[FloatArray]) -> float:
        """Summed squared error of the held-out rows over the probes."""
        error = 0.0
        for model, residual in zip(models, residuals, strict=True):
            held_out = residual[:, :, len(model.fold.train) :]
            error += float((held_out**2 @ self._data.weight[model.fold.test]).sum())
        return error

    def _improves(self, error: float, best: float, models: list[BoostingFold]) -> bool:
        """Whether the probes' mean value rose by enough."""
        weight = sum(float(self._data.weight[model.fold.test].sum()) for model in models)
        one_value = self._outcome.variance * weight * len(self._probes)
        return error < best - MIN_IMPROVEMENT * one_value

    # Evaluation -------------------------------------------------------------------------------

    def _masks(self, subsets: Subsets) -> BoolArray:
        if subsets.n_players != self.n_players:
            raise InputError(
                f"The subsets are over {subsets.n_players} players, expected {self.n_players}."
            )
        return subsets.to_columns(self._data.players, self._data.X.shape[1]).masks()

    @property
    def _stages(self) -> list[int]:
        """Numbers of trees after which a subset may stop."""
        shares = STOPPING_SHARES if self.early_stopping else (1.0,)
        return sorted({round(share * self.n_trees_) for share in shares})

    def _waves(self, n_subsets: int) -> list[slice]:
        """As many subsets at a time as memory holds."""
        subset_bytes = 8 * self._data.y.size * 2 * (len(self._stages) + 2)
        return _slices(n_subsets, int(np.clip(WAVE_BYTES // subset_bytes, 1, WAVE_SUBSETS)))

    def _held_out(self, masks: BoolArray, corrected: bool = False) -> _HeldOut:
        """Residuals of the rows by the folds that hold them out."""
        stages, shrinkage, cancel = self._stages, self.shrinkage_, self._cancel

        def evaluate(model: BoostingFold, block: slice) -> tuple[FloatArray, FloatArray | None]:
            residuals = model.held_out_residuals(masks[block], shrinkage, cancel, stages)
            if not corrected:
                return residuals, None
            return residuals, model.half_products(masks[block], shrinkage, cancel, stages)

        blocks = _slices(len(masks), BLOCK_SUBSETS)
        tasks = [(model, block) for block in blocks for model in self._models]
        with threadpool_limits(1, user_api="blas"):
            parts = self._parallel(evaluate, tasks)
        shape = (len(masks), *self._data.y.shape)
        out = _HeldOut(np.zeros(shape), np.zeros(len(masks), dtype=np.int64))
        if corrected:
            out = replace(out, products=np.zeros(shape))
        for index, block in enumerate(blocks):
            folds = parts[index * len(self._models) : (index + 1) * len(self._models)]
            out.stages[block] = np.asarray(stages)[self._stop(folds, out.block(block))]
        return out

    def _stop(self, parts: list[tuple[FloatArray, FloatArray | None]], out: _HeldOut) -> IntArray:
        """Fill in each fold's residuals at the stage with the smallest error in the other folds,
        so that no row decides when its own prediction stops; return the stages of all folds."""
        weights = [self._data.weight[fold.test] for fold in self.folds]
        errors = np.stack(
            [
                ((residuals**2) @ weight).sum(axis=1)
                for (residuals, _), weight in zip(parts, weights, strict=True)
            ]
        )
        subsets = np.arange(len(out.residuals))
        for k, (residuals, products) in enumerate(parts):
            others = errors.sum(axis=0) - errors[k] if len(parts) > 1 else errors[k]
            stage, test = others.argmin(axis=0), self.folds[k].test
            out.residuals[:, test] = residuals[stage, :, subsets].transpose(0, 2, 1)
            if products is not None and out.products is not None:
                out.products[:, test] = products[stage, :, subsets].transpose(0, 2, 1)
        return np.asarray(errors.sum(axis=0).argmin(axis=0), dtype=np.int64)

    def _predict_new(self, masks: BoolArray, stages: IntArray, rows: FloatArray) -> FloatArray:
        def predict(model: BoostingFold, members: IntArray, n_trees: int) -> FloatArray:
            return model.predict(masks[members], rows, self.shrinkage_, self._cancel, n_trees)

        tasks = [
            (model, np.flatnonzero(stages == stage)[block], int(stage))
            for stage in np.unique(stages)
            for block in _slices(int((stages == stage).sum()), BLOCK_SUBSETS)
            for model in self._models
        ]
        out = np.zeros((len(masks), len(rows), self._data.y.shape[1]))
        with threadpool_limits(1, user_api="blas"):
            parts = self._parallel(predict, tasks)
        for (_, members, _), part in zip(tasks, parts, strict=True):
            out[members] += part.transpose(1, 2, 0) / len(self._models)
        return out

    def _parallel(self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        return run_in_threads(function, tasks, self._data.n_jobs, self._cancel)


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """What the folds say of the rows that they hold out; 0 for rows that none does.

    Parameters
    ----------
    residuals : float array of shape (n_subsets, n_rows, n_outputs)
    stages : int array of shape (n_subsets,)
        The number of trees that is best over all folds.
    products : float array of the shape of the residuals, or None
        Of the residuals by two halves of the training rows.
    """

    residuals: FloatArray
    stages: IntArray
    products: FloatArray | None = None

    def block(self, subsets: slice) -> _HeldOut:
        """Views on some of the subsets."""
        products = None if self.products is None else self.products[subsets]
        return _HeldOut(self.residuals[subsets], self.stages[subsets], products)


def _fit_fold(
    data: Problem, number: int, native: bool, order: slice, output: int, clone: Any, y: FloatArray
) -> tuple[Any, Ensemble]:
    """One booster of one fold, from the data alone: what a worker is asked for."""
    fold = data.folds(data.seed)[number]
    columns = FoldColumns(data, fold, native)
    X, categorical = columns.training(data.X[fold.train], output), columns.categorical
    weight = None if data.sample_weight is None else data.sample_weight[fold.train]
    fitted = boosters.fit(clone, X[:, order], y, weight, categorical[order])
    ensemble = read_ensemble(fitted)
    return fitted, ensemble.with_reversed_columns() if order.step == -1 else ensemble


def _slices(n: int, size: int) -> list[slice]:
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def _probes(n_players: int, rng: np.random.RandomState) -> Subsets:
    """The full set and random subsets of all sizes, on which choices are made."""
    masks = np.ones((1 + N_PROBES, n_players), dtype=bool)
    sizes = np.linspace(1, max(n_players - 1, 1), N_PROBES).round().astype(int)
    for mask, size in zip(masks[1:], sizes, strict=True):
        mask[rng.permutation(n_players)[size:]] = False
    return Subsets.from_masks(masks)


def _shares(ensembles: list[Ensemble], n_columns: int) -> FloatArray:
    total = np.sum([ensemble.column_gains() for ensemble in ensembles], axis=0)
    return np.asarray(total / total.sum() if total.sum() > 0 else np.zeros(n_columns))
