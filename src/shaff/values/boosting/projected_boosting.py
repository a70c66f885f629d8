"""Projected boosting: the accurate value function (docs/theory.md, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from shaff._util.arrays import slices
from shaff._util.seeds import LARGEST_SEED, joint_seed
from shaff._util.threads import block_size, one_blas_thread, run_in_threads
from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff._util.warn import warn
from shaff._util.work import current_engine, run_tasks
from shaff.data.folds import Fold
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.trees import boosters
from shaff.trees.boosters import read_ensemble
from shaff.trees.ensemble import Ensemble
from shaff.trees.histogram_booster import Growth, HistogramBooster
from shaff.values.boosting.default_booster import default_booster
from shaff.values.boosting.elsewhere import SharedBins, fit_fold, grow_more
from shaff.values.boosting.fold import BoostingFold, FoldColumns, Start, in_halves
from shaff.values.boosting.linear_start import Scale, best_penalty, fits, tried_start
from shaff.values.boosting.row_pass import BoostingPass
from shaff.values.boosting.staged_replay import BLOCK_SUBSETS, HeldOutResiduals, replay_stages
from shaff.values.losses import check_loss
from shaff.values.noise import spread_noise
from shaff.values.outcome import Outcome

StartName = Literal["auto", "constant", "linear", "normal_scores", "quadratic"]
SCALES: tuple[Scale, ...] = ("linear", "normal_scores", "quadratic")
# Shorter stages stop on noise, longer ones grow trees for nothing; scouts that are shorter or see
# fewer rows choose a wrong start (`benchmarks.values` for errors and times).
STAGE_TREES = 25
MAX_TREES = 400
SCOUT_TREES = 30
SCOUT_LEARNING_RATE = 0.2
SCOUT_ROWS = 500
# Held-out rows that choose the shrinkage. Fewer choose by luck, more take time
# (`benchmarks.pairs --case 2:100000`).
SHRINKAGE_ROWS = 10_000
# A stage must raise the mean of the best values of the probes by this much for boosting to go on.
# Larger, and weak signals get no trees; smaller, and trees fit noise (`benchmarks.truth`).
MIN_IMPROVEMENT = 1e-4
# So many trees are grown without one where a scout had to look twice.
# Fewer, and signals without main effects are missed (`benchmarks.truth`).
PATIENCE = 100
# Leaves of a scout for small trees; trees of one that is asked again.
# Without them rare classes and late signals are lost (`benchmarks.data`, `benchmarks.truth`).
FEW_LEAVES, PATIENT_TREES = 4, 150
# Less shrinkage overfits small subsets, more shrinks the effects (`benchmarks.values`).
SHRINKAGES = (1.0, 3.0, 10.0, 30.0)
GROWING_SHRINKAGE = 3.0
# Fewer probes choose by luck (`benchmarks.seeds`).
N_PROBES = 8
# Larger waves take memory (`benchmarks.memory`), smaller ones share fewer cells
# (`benchmarks.values`).
WAVE_SUBSETS = 512
WAVE_BYTES = 2**29
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
        Cloned for each fold and held to one thread. None is `default_booster`, whose number of
        trees is chosen on held-out rows. A booster of counts or amounts (Poisson, gamma, Tweedie)
        is fitted to y with its own loss; the steps of its cells are those of squares as always.
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
        Number of trees per fold.
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
    >>> from shaff.values.boosting.projected_boosting import ProjectedBoosting
    >>> exp = experiment_1a(n=500, random_state=0)
    >>> boosting = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=0))
    >>> subsets = Subsets.from_indices([[0, 1, 9], range(15)], n_players=15)
    >>> bool(abs(boosting.values(subsets).v - exp.value(subsets)).max() < 0.05)
    True
    """

    shrinkage_: float
    _booster: HistogramBooster

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
        self._set_up(problem)
        self._fits_outcome = self._has_own_loss(estimator)
        start = "constant" if self._fits_outcome else start
        self.early_stopping = early_stopping
        self._estimator = estimator
        self._booster = default_booster(problem.n_counted) if like is None else like._booster
        native = estimator is None or boosters.takes_categories(estimator)
        slopes = self._booster.slope_ratio is not None
        self._columns = [FoldColumns(problem, fold, native, slopes) for fold in self.folds]
        with one_blas_thread:
            if like is None:
                self._choose_start(start)
                self._grow()
            else:
                self._start_like(like)
                self._grow_at_once(like.n_trees_)
            if shrinkage is None:
                shrinkage = self._choose_shrinkage() if like is None else like.shrinkage_
            self.shrinkage_ = float(shrinkage)
        if estimator is not None:  # its trees have been read by now
            boosters.check_booster(estimator)

    @classmethod
    def from_fitted(
        cls,
        model: Any,
        problem: Problem,
        *,
        shrinkage: float | None = None,
        early_stopping: bool = True,
        ensemble: Ensemble | None = None,
    ) -> ProjectedBoosting:
        """Use the trees of a fitted booster as they are.

        The rows of the problem are rows that the model was not trained on. The steps of the cells
        are cross-fitted on folds of these rows; the start is constant. ``ensemble`` is what was
        read of the model, if it was.

        Examples
        --------
        >>> from sklearn.ensemble import HistGradientBoostingRegressor
        >>> from shaff.data.problem import Problem
        >>> from shaff.datasets import experiment_1a
        >>> from shaff.values.boosting.projected_boosting import ProjectedBoosting
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
        ensemble = read_ensemble(model) if ensemble is None else ensemble
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

    def explained_variance(self) -> float:
        """v of the full set."""
        return float(self.values(Subsets.full(self.n_players)).v[0])

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset; the correction takes off the noise of the cells' steps."""
        parts = []
        for wave, found in self._in_waves(subsets, corrected=True):
            residuals, squares = found.residuals, found.residuals**2
            assert found.products is not None
            noise = spread_noise(squares - found.products, squares, self.outcome.weight)
            means = self.outcome.means_of(residuals)
            evaluated = self.outcome.evaluate(subsets[wave], residuals, influences, [noise], means)
            parts.append(replace(evaluated, stops=found.stops))
        return Values.concatenate(parts)

    def recall(self, values: Values) -> None:
        """Take note of what was evaluated elsewhere, or by an earlier run."""
        if values.stops is not None:
            self._stops_of.update(zip(values.subsets.keys(), values.stops, strict=True))

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means m_U(x), shape (n_subsets, n_rows, n_outputs).

        Rows of the data are predicted by the fold that held them out (NaN if none did), other
        rows by the mean of the folds.
        """
        if rows is None:
            residual = np.concatenate([part.residuals for _, part in self._in_waves(subsets)])
            out = np.asarray(self._data.y[None] - residual, dtype=np.float64)
            out[:, self.outcome.weight == 0] = np.nan
            return out
        new = np.ascontiguousarray(rows, dtype=np.float64)
        return self._predict_new(self._masks(subsets), self._known_stops(subsets)[:, 0], new)

    def _known_stops(self, subsets: Subsets) -> IntArray:
        """When each subset stops, over all folds and in each: as `values` has found, or finds now;
        shape (n_subsets, 1 + n_folds)."""
        unknown = np.array([key not in self._stops_of for key in subsets.keys()], dtype=bool)
        for _ in self._in_waves(subsets[unknown]):
            pass
        found = [self._stops_of[key] for key in subsets.keys()]
        return np.array(found, dtype=np.int64).reshape(len(subsets), 1 + len(self.folds))

    def over_rows(self, subsets: Subsets) -> BoostingPass:
        """Evaluate the subsets on rows outside of the data: see `RowPass`."""
        masks, stops = self._masks(subsets), self._known_stops(subsets)[:, 1:]
        return BoostingPass(
            self._models, masks, stops, self.shrinkage_, self._cancel, self.outcome.limited
        )

    # Fitting ----------------------------------------------------------------------------------

    def _has_own_loss(self, estimator: Any) -> bool:
        """Whether a booster is fitted with another loss than squares: then to the outcome itself,
        as residuals are no counts."""
        loss = "squared_error" if estimator is None else boosters.loss_of(estimator)
        try:
            check_loss(loss, self._data.target)
        except InputError as error:
            raise InputError(f"{type(estimator).__name__}: {error}") from None
        return loss != "squared_error"

    def _fitted_to(self, model: BoostingFold, output: int) -> FloatArray:
        """What the given booster is fitted to, on the training rows of a fold."""
        if self._fits_outcome:
            return np.ascontiguousarray(self._data.y[model.fold.train, output])
        return model.target(output)

    def _set_up(self, data: Problem) -> None:
        self._data, self.n_players = data, len(data.players)
        rng = check_random_state(data.seed)
        self._seed = int(rng.randint(LARGEST_SEED))
        self.folds = [in_halves(fold, data.row_groups) for fold in data.folds(data.seed)]
        self.outcome = Outcome.held_out(data, self.folds)
        self._cancel = np.zeros(1, dtype=np.uint8)
        # Trees after which a subset stops, for rows that are predicted later.
        self._stops_of: dict[bytes, IntArray] = {}
        self._probes = self._masks(_probes(self.n_players, rng))
        # Error of the probes with all trees and the shrinkage of growing, where it is known.
        self._grown_error: float | None = None
        self._shared_bins: SharedBins | None = None

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
        self._patience = 2 * STAGE_TREES
        if self._estimator is None:
            self._look_again(starts[self.start_], grown[self.start_], bare[self.start_])
        self._models = self._new_models(starts[self.start_])

    def _start_like(self, other: ProjectedBoosting) -> None:
        """Take over what another run has chosen, without scouts of its own."""
        self.start_, self.gains = other.start_, other.gains
        starts = [Start() for _ in self.folds]
        if self.start_ != "constant":
            _, starts = self._best_linear((self.start_,))
        self._models = self._new_models(starts)

    def _new_models(self, starts: list[Start]) -> list[BoostingFold]:
        """Models of the first folds, one per start, without any tree yet."""
        return self._parallel(
            self._new_model, list(zip(self.folds, starts, self._columns, strict=False))
        )

    def _new_model(self, fold: Fold, start: Start, columns: FoldColumns) -> BoostingFold:
        model, outputs = BoostingFold(self._data, fold, start, columns), self._data.y.shape[1]
        model.set_grown_trees([columns.binned(k).bins.no_trees() for k in range(outputs)])
        return model

    def _look_again(self, starts: list[Start], grown: float, bare: float) -> None:
        """Small trees may help where large ones overfit at once, such as with a rare class; more
        trees where a signal has no main effects and shows late."""
        small = default_booster(self._data.n_counted, SCOUT_LEARNING_RATE, FEW_LEAVES)
        scouts = self._fit_scouts(starts, small)
        error = self._probe_error(scouts)
        if error < min(grown, bare):
            self._booster = default_booster(self._data.n_counted, leaves=FEW_LEAVES)
        if not self._trees_help:
            self._patience = PATIENCE
            patient = self._fit_scouts(starts, n_trees=PATIENT_TREES)
            best = min(error, self._probe_error(patient))
            self._trees_help = self._improves(best, bare, scouts)

    def _fit_scouts(
        self,
        starts: list[Start],
        booster: HistogramBooster | None = None,
        n_trees: int = SCOUT_TREES,
    ) -> list[BoostingFold]:
        """Short, fast-learning boosters on as few folds as hold out rows enough to compare."""
        quick = default_booster(self._data.n_counted, SCOUT_LEARNING_RATE)
        models = self._new_models(starts[: self._n_folds_with(SCOUT_ROWS)])
        self._grow_trees(models, self._growths(models, booster or quick), n_trees)
        return models

    def _n_folds_with(self, n_rows: int) -> int:
        """Smallest number of folds that hold out so many rows, or all folds."""
        sizes = np.cumsum([len(fold.test) for fold in self.folds])
        return 1 + int(np.sum(sizes[:-1] < n_rows))

    def _best_linear(self, scales: tuple[Any, ...]) -> tuple[Scale, list[Start]]:
        """The scale of the columns, and the penalty, with the smallest held-out error."""
        data, candidates = self._data, []
        n_train = min(len(fold.train) for fold in self.folds)
        n_columns = max(int(data.visible(fold.train).sum()) for fold in self.folds)
        usable = [s for s in scales if fits(s, n_train, n_columns) or len(scales) == 1]
        tasks = [(data, fold, scale, self._probes) for scale in usable for fold in self.folds]
        found = self._parallel(tried_start, tasks)
        for scale, some in zip(usable, slices(len(found), len(self.folds)), strict=True):
            penalty, error = best_penalty([errors for _, errors in found[some]])
            candidates.append((error, scale, [Start(part, penalty) for part, _ in found[some]]))
        _, scale, starts = min(candidates, key=lambda candidate: candidate[0])
        return scale, starts

    def _growths(self, models: list[BoostingFold], booster: HistogramBooster) -> list[list[Growth]]:
        """A growth per output for each fold; no two draw the same columns."""
        outputs = range(self._data.y.shape[1])

        def growths(fold: int, model: BoostingFold) -> list[Growth]:
            return [model.growth(booster, k, joint_seed(self._seed, fold, k)) for k in outputs]

        return self._parallel(growths, list(enumerate(models)))

    def _grow_trees(
        self, models: list[BoostingFold], growths: list[list[Growth]], n_trees: int
    ) -> None:
        """Let every fold's boosters grow so many more trees; folds run in parallel."""

        def grow(growth: Growth) -> Ensemble:
            return growth.grow(n_trees, self._cancel)

        if current_engine() is None:
            ensembles = self._parallel(grow, [(growth,) for parts in growths for growth in parts])
        else:
            ensembles = self._grow_elsewhere(growths, n_trees)
        for model, parts in zip(models, _by_fold(ensembles, len(models)), strict=True):
            model.set_grown_trees(parts)

    def _fit_estimators(self) -> None:
        """Fit a clone of the given booster for every fold and output; they run in parallel."""

        def fit(model: BoostingFold, output: int) -> Ensemble:
            weight = None if self._data.sample_weight is None else model.train_weight
            categorical, target = model.columns.categorical, self._fitted_to(model, output)
            clone = boosters.prepare(self._estimator, categorical, self._seed + output)
            X = model.train_X(output)
            return read_ensemble(boosters.fit(clone, X, target, weight, categorical))

        tasks = [(model, k) for model in self._models for k in range(self._data.y.shape[1])]
        if current_engine() is None:
            ensembles = self._parallel(fit, tasks)
        else:
            ensembles = self._fit_elsewhere()
        for model, parts in zip(self._models, _by_fold(ensembles, len(self._models)), strict=True):
            model.set_trees(parts)

    def _grow_elsewhere(self, growths: list[list[Growth]], n_trees: int) -> list[Ensemble]:
        """Grow trees by workers that have the bins of all folds; a growth goes there and back."""
        if self._shared_bins is None:
            self._shared_bins = SharedBins(self._columns, self._data.y.shape[1])
        places = [(fold, k) for fold, parts in enumerate(growths) for k in range(len(parts))]
        tasks = [(fold, k, growths[fold][k].without_rows(), n_trees) for fold, k in places]
        grown = run_tasks(grow_more, self._shared_bins, tasks, self._data.n_jobs)
        for (fold, k), growth in zip(places, grown, strict=True):
            growths[fold][k] = growth.with_rows(*self._columns[fold].binned(k).training_rows)
        return [growth.ensemble for growth in grown]

    def _fit_elsewhere(self) -> list[Ensemble]:
        """Fit the given boosters by workers that have the data."""
        tasks = [
            (
                fold,
                k,
                model.columns.native,
                self._fitted_to(model, k),
                self._estimator,
                self._seed + k,
            )
            for fold, model in enumerate(self._models)
            for k in range(self._data.y.shape[1])
        ]
        return run_tasks(fit_fold, self._data, tasks, self._data.n_jobs)

    def _grow(self) -> None:
        """Fit the boosters; the default one in stages, until held-out rows gain no more."""
        if self._estimator is not None:
            self._fit_estimators()
            self.n_trees_ = max(c.ensemble.n_trees for m in self._models for c in m.codings)
            return
        growths = self._growths(self._models, self._booster)
        residuals = self._start_residuals(self._models)
        least, self.n_trees_, grown = self._probe_errors(self._models, residuals), 0, 0
        best = float(least.sum())
        # The scout saves whole stages where the start has said it all.
        while self._trees_help and grown < min(MAX_TREES, self.n_trees_ + self._patience):
            self._grow_trees(self._models, growths, STAGE_TREES)
            trees = range(grown, grown + STAGE_TREES)
            self._replay_probes(self._models, residuals, GROWING_SHRINKAGE, trees)
            grown += STAGE_TREES
            errors = self._probe_errors(self._models, residuals)
            # Each subset stops where it is best: what small ones lose by more trees is not lost.
            least = np.minimum(least, errors)
            if self._improves(float(least.sum()), best, self._models):
                best, self.n_trees_ = float(least.sum()), grown
                self._grown_error = float(errors.sum())
        for model in self._models:
            model.set_grown_trees([c.ensemble.first_trees(self.n_trees_) for c in model.codings])

    def _grow_at_once(self, n_trees: int) -> None:
        """Grow so many trees of the default booster."""
        self.n_trees_ = n_trees
        if n_trees > 0:
            self._grow_trees(self._models, self._growths(self._models, self._booster), n_trees)

    def _replay_probes(
        self,
        models: list[BoostingFold],
        residuals: list[FloatArray],
        shrinkage: float,
        trees: range | None = None,
    ) -> None:
        """Take off the residuals of the probes what all trees, or some, explain."""

        def replay(model: BoostingFold, residual: FloatArray) -> None:
            model.replay(self._probes, residual, shrinkage, self._cancel, trees)

        self._parallel(replay, list(zip(models, residuals, strict=True)))

    def _choose_shrinkage(self) -> float:
        """Choose the shrinkage: go up while the error falls, else down."""
        if self.n_trees_ == 0:
            return GROWING_SHRINKAGE
        models = self._models[: self._n_folds_with(SHRINKAGE_ROWS)]
        middle = SHRINKAGES.index(GROWING_SHRINKAGE)
        best, least = GROWING_SHRINKAGE, self._grown_error
        if least is None or len(models) < len(self._models):
            least = self._probe_error(models)
        for way in (SHRINKAGES[middle + 1 :], SHRINKAGES[middle - 1 :: -1]):
            for shrinkage in way:
                error = self._probe_error(models, shrinkage)
                if error >= least:
                    break
                best, least = shrinkage, error
            if best != GROWING_SHRINKAGE:
                break
        return best

    def _probe_error(
        self, models: list[BoostingFold], shrinkage: float = GROWING_SHRINKAGE
    ) -> float:
        residuals = self._start_residuals(models)
        self._replay_probes(models, residuals, shrinkage)
        return self._residual_error(models, residuals)

    def _start_error(self, models: list[BoostingFold]) -> float:
        residuals = self._start_residuals(models)
        return self._residual_error(models, residuals)

    def _start_residuals(self, models: list[BoostingFold]) -> list[FloatArray]:
        """Residuals of the probes before any tree."""
        return self._parallel(BoostingFold.start_residual, [(m, self._probes) for m in models])

    def _residual_error(self, models: list[BoostingFold], residuals: list[FloatArray]) -> float:
        """Summed squared error of the held-out rows over the probes."""
        return float(self._probe_errors(models, residuals).sum())

    def _probe_errors(self, models: list[BoostingFold], residuals: list[FloatArray]) -> FloatArray:
        """Summed squared error of the held-out rows, shape (n_probes,)."""
        errors = np.zeros(len(self._probes))
        for model, residual in zip(models, residuals, strict=True):
            held_out = residual[:, :, len(model.fold.train) :]
            errors += (held_out**2 @ self._data.weight[model.fold.test]).sum(axis=0)
        return errors

    def _improves(self, error: float, best: float, models: list[BoostingFold]) -> bool:
        """Whether the probes' mean value rose by enough."""
        weight = sum(float(self._data.weight[model.fold.test].sum()) for model in models)
        one_value = self.outcome.variance * weight * len(self._probes)
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
        """Slices of the subsets, each as large as memory allows."""
        # Residuals and products, at each stage and in the end; and in each fold those of all rows.
        n_copies = 2 * (len(self._stages) + 1) + 2 * len(self.folds)
        subset_bytes = 8 * self._data.y.size * n_copies
        return slices(n_subsets, int(np.clip(WAVE_BYTES // subset_bytes, 1, WAVE_SUBSETS)))

    def _in_waves(
        self, subsets: Subsets, corrected: bool = False
    ) -> Iterator[tuple[slice, HeldOutResiduals]]:
        """Evaluate the subsets in waves, and remember when they stop."""
        masks = self._masks(subsets)
        for wave in self._waves(len(masks)):
            found = self._held_out(masks[wave], corrected)
            self._stops_of.update(zip(subsets[wave].keys(), found.stops, strict=True))
            yield wave, found

    def _held_out(self, masks: BoolArray, corrected: bool = False) -> HeldOutResiduals:
        """Residuals of the rows by the folds that hold them out."""
        with one_blas_thread:
            return replay_stages(
                self._models,
                masks,
                self._stages,
                self.shrinkage_,
                self._cancel,
                self._data.n_jobs,
                one_value=self.outcome.variance * float(self.outcome.weight.sum()),
                products=corrected,
            )

    def _predict_new(self, masks: BoolArray, stages: IntArray, rows: FloatArray) -> FloatArray:
        def predict(model: BoostingFold, members: IntArray, n_trees: int) -> FloatArray:
            return model.predict(masks[members], rows, self.shrinkage_, self._cancel, n_trees)

        size = block_size(len(masks), len(self._models), self._data.n_jobs, BLOCK_SUBSETS)
        tasks = [
            (model, np.flatnonzero(stages == stage)[block], int(stage))
            for stage in np.unique(stages)
            for block in slices(int((stages == stage).sum()), size)
            for model in self._models
        ]
        out = np.zeros((len(masks), len(rows), self._data.y.shape[1]))
        with one_blas_thread:
            parts = self._parallel(predict, tasks)
        for (_, members, _), part in zip(tasks, parts, strict=True):
            out[members] += part.transpose(1, 2, 0) / len(self._models)
        return out

    def _parallel(self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        return run_in_threads(function, tasks, self._data.n_jobs, self._cancel)


def _by_fold(ensembles: list[Ensemble], n_folds: int) -> list[list[Ensemble]]:
    n_outputs = len(ensembles) // n_folds
    return [ensembles[k * n_outputs : (k + 1) * n_outputs] for k in range(n_folds)]


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
