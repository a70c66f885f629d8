"""`ShapleyEffects`: read the data, then design, values, solve."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import joblib
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from shaff import inference
from shaff._version import __version__
from shaff.columns import Groups, Table, is_frame, read_players, read_table
from shaff.datasets import RandomState
from shaff.designs import DesignContext, ForestPaths, check_design, make_design
from shaff.evaluation import Checkpoint, Progress, evaluate, fingerprint, progress_bar
from shaff.games import Game, fitted_game, is_projectable, make_game
from shaff.presets import find_preset
from shaff.problem import (
    MIN_ROWS,
    Problem,
    check_rows,
    read_row_groups,
    read_sample_weight,
    read_target,
)
from shaff.protocols import Design, Effects, ValueFunction, Values
from shaff.result import EffectsResult
from shaff.row_sample import sample_rows
from shaff.screening import screen
from shaff.solve import check_solver, make_solver
from shaff.solve.odd_process import Proxy
from shaff.solve.projection import project_to_simplex
from shaff.solve.proxy import linear_proxy
from shaff.subsets import BoolArray, FloatArray, Subsets
from shaff.values.projected_forest import FOREST_ERRORS

# More players than this are screened first: the Gaussian process needs a few subsets for each.
SCREENED_ABOVE = 25
# A screen that loses more of the explained variance than this is not used.
SCREEN_LOSS = 0.01
# Sobol indices are added when their subsets are few beside those of the design.
SOBOL_PLAYERS = 50


class ShapleyEffects(BaseEstimator):  # type: ignore[misc]
    """Shapley effects of the inputs on an outcome, from a table of data.

    The effect of an input is its fair share (its Shapley value) of the variance of y that all
    inputs explain together. Effects add up to the explained variance, also when the inputs
    depend on each other.

    Parameters
    ----------
    estimator : None, "auto", "forest", "boosting", "stack" or a model
        What prices a subset of the inputs. "auto" (None) takes boosting or a forest, whichever
        explains more of rows it has not seen. Forests of scikit-learn and boosters (scikit-learn,
        LightGBM, XGBoost, CatBoost) are cloned, fitted and projected; any other model is fitted
        and its predictions are explained through a surrogate.
    design : str or ForestPaths, default="auto"
        Which subsets are priced: "gaussian_process" ("auto"), "forest_paths" (the paper's),
        "leverage", "monte_carlo", "antithetic", "orthogonal" or "exhaustive".
    solver : {"auto", "gaussian_process", "least_squares", "permutations"}, default="auto"
        How prices become effects; "auto" fits the design.
    n_subsets : int or None
        Evaluations of v to spend. None stops when the largest standard error that the design
        leaves is under ``tol``, at 200 evaluations at the latest (6 a player, if that is more).
    tol : float or None
        Largest standard error of an effect to aim for; None means 0.003.
    groups : dict or None
        Name of a group to its columns: the group is one player. Other columns play alone.
    categorical : "auto" or list of columns
        Columns of categories. "auto": strings and categorical types.
    cv : int, splitter or None
        Folds of projected boosting; None means five.
    n_jobs : int or None
        Threads, -1 for all cores. The result is the same for any number.
    random_state : int, RandomState or None
    verbose : int, default=0
        1 shows a progress bar with the time left.
    forest_error : {"unbiased", "plain"}, default="unbiased"
        "plain" is the out-of-bag error of the finite forest, as in the paper; "unbiased"
        estimates that of an infinite forest.
    max_rows : int or None, default=100_000
        More rows than this are sampled (whole row groups), and all is computed on the sample: the
        error bars are those of the sample, and a note says so. None uses all rows.
    checkpoint : path or None
        Folder in which priced subsets are saved as they come. A run that was stopped goes on from
        there, with the same result; it needs an integer ``random_state``.

    Attributes
    ----------
    effects_ : float array of shape (n_players,)
        Non-negative, summing to ``explained_variance_`` (all 0 if that is not positive).
    feature_importances_ : float array of shape (n_players,)
        The effects, for `SelectFromModel` and `RFE`.
    explained_variance_ : float
        Share of the variance of y that all inputs explain, out of sample.
    result_ : EffectsResult
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X has column names.

    Examples
    --------
    >>> from shaff import ShapleyEffects
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> est = ShapleyEffects(estimator="forest", random_state=0).fit(X, y)
    >>> names[est.effects_.argmax()]
    'log triglycerides'
    >>> bool(abs(est.effects_.sum() - est.explained_variance_) < 1e-9)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        design: str | ForestPaths = "auto",
        solver: str = "auto",
        n_subsets: int | None = None,
        tol: float | None = None,
        groups: Groups | None = None,
        categorical: str | Sequence[str | int] = "auto",
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        forest_error: str = "unbiased",
        max_rows: int | None = 100_000,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.design = design
        self.solver = solver
        self.n_subsets = n_subsets
        self.tol = tol
        self.groups = groups
        self.categorical = categorical
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.forest_error = forest_error
        self.max_rows = max_rows
        self.checkpoint = checkpoint

    @classmethod
    def as_published(cls, **settings: Any) -> Self:
        """The paper's SHAFF: forest paths, projected forest, constrained least squares.

        500 draws, 500 trees, a third of the variables per node, at least 5 rows a leaf, the plain
        out-of-bag error and the printed weights. ``settings`` override any of it; pass
        ``estimator=RandomForestRegressor(500, max_features=1.0, min_samples_leaf=5)`` for
        experiment 1b.

        Examples
        --------
        >>> from shaff import ShapleyEffects
        >>> ShapleyEffects.as_published(random_state=0).design
        ForestPaths(n_draws=500, paired_weights='published')
        """
        published: dict[str, Any] = {
            "estimator": RandomForestRegressor(500, max_features=1 / 3, min_samples_leaf=5),
            "design": ForestPaths(n_draws=500, paired_weights="published"),
            "solver": "least_squares",
            "forest_error": "plain",
        }
        return cls(**{**published, **settings})

    @classmethod
    def preset(cls, name: str, options: Mapping[str, Any] | None = None, **settings: Any) -> Self:
        """Another system of the paper's Table 1, by name, from the same three steps.

        Parameters
        ----------
        name : str
            "song", "kernel_shap", "tree_shap", "aas_gaussian", "aas_copula", "aas_empirical",
            "sage", "broto", "broto_sampled", "williamson", "covert_lee", "mdi" or "sobol_mda".
        options : dict or None
            Of the value function, such as ``{"n_background": 100}``.
        **settings
            Of `ShapleyEffects`, over those of the preset; ``estimator`` is the model that the
            system fits, by default the forest of the paper.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> from shaff import ShapleyEffects
        >>> from shaff.datasets import load_diabetes
        >>> X, y, names = load_diabetes()
        >>> est = ShapleyEffects.preset("williamson", estimator=LinearRegression(), n_subsets=60)
        >>> names[est.set_params(random_state=0).fit(X, y).effects_.argmax()]
        'bmi'
        """
        return cls(**find_preset(name).settings(options, **settings))

    @classmethod
    def from_fitted(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        rows: str = "held_out",
        sample_weight: Any = None,
        row_groups: Any = None,
        n_labelled: int | None = None,
        **settings: Any,
    ) -> Self:
        """Effects from a model that has been fitted already.

        Parameters
        ----------
        model : fitted forest, booster or other model
            Trees keep their structure; what they predict is computed again from these rows. Any
            other model labels the rows, and the labels are explained.
        X, y : the rows
            Models other than forests and boosters need no y.
        rows : {"held_out", "training"}
            Whether the model has not seen the rows, or they are a forest's training rows: then
            each row is predicted by the trees that have it out of bag.
        n_labelled : int or None
            Rows that a model other than a forest or booster labels: those of X, and further ones
            drawn between neighbouring rows (`shaff.resampling.resample_rows`).
        **settings
            Of `ShapleyEffects`.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> from shaff import ShapleyEffects
        >>> from shaff.datasets import load_diabetes
        >>> X, y, names = load_diabetes()
        >>> forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
        >>> est = ShapleyEffects.from_fitted(forest, X, y, rows="training", random_state=0)
        >>> est.effects_.shape
        (10,)
        """
        if rows not in ("held_out", "training"):
            raise ValueError(f'rows={rows!r} is unknown: use "held_out" or "training".')
        self = cls(estimator=model, **settings)
        if y is None and not is_projectable(model):
            y = model.predict(X)
        # Bags tell which of the training rows are in them: none may be left out.
        max_rows = None if rows == "training" else self.max_rows
        as_classes = is_classifier(model)
        problem = self._read(X, y, sample_weight, row_groups, as_classes, max_rows)
        game = fitted_game(model, problem, rows, self.forest_error, n_labelled)
        return self._run(problem, game, joblib.hash(model))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, row_groups: Any = None) -> Self:
        """Compute the effects of the columns (or groups) of X on y.

        Parameters
        ----------
        X : array or frame (numpy, pandas, polars, pyarrow) of shape (n_rows, n_columns)
            Missing values (NaN, null) are kept as such.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            Numbers, or labels of classes: then v is the explained variance of their indicators.
        sample_weight : array of shape (n_rows,) or None
        row_groups : array of shape (n_rows,) or None
            Rows that belong together (one patient, one day): never on both sides of a split.

        Returns
        -------
        self
        """
        as_classes = hasattr(self.estimator, "fit") and is_classifier(self.estimator)
        problem = self._read(X, y, sample_weight, row_groups, as_classes, self.max_rows)
        return self._run(problem, None, "")

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The players' names, in the order of the effects."""
        check_is_fitted(self)
        return np.asarray(self.result_.names, dtype=object)

    # Reading ------------------------------------------------------------------------------------

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        row_groups: Any,
        as_classes: bool,
        max_rows: int | None,
    ) -> Problem:
        self._check_settings()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        sample = sample_rows((X, y, sample_weight, row_groups), max_rows, int(seed))
        X, y, sample_weight, row_groups = sample.arrays
        table = self._read_table(X)
        table = replace(table, notes=(*sample.notes, *table.notes))
        n_rows = len(table.X)
        check_rows(n_rows)
        target = read_target(y, n_rows, as_classes)
        players, names = read_players(self.groups, table.names)
        return Problem(
            X if is_frame(X) else table.X,
            table,
            target,
            players,
            names,
            read_sample_weight(sample_weight, n_rows),
            read_row_groups(row_groups, n_rows),
            self.cv,
            self.n_jobs,
            int(seed),
        )

    def _check_settings(self) -> None:
        self._design = check_design(self.design)
        self._solver = check_solver(self.solver, self._design)
        if self.n_subsets is not None and not (
            isinstance(self.n_subsets, int | np.integer) and self.n_subsets >= 2
        ):
            raise ValueError(
                f"n_subsets={self.n_subsets!r}: expected a whole number of at least 2."
            )
        if self.tol is not None and not self.tol > 0:
            raise ValueError(f"tol={self.tol!r}: expected a positive number.")
        if self.max_rows is not None and not (
            isinstance(self.max_rows, int | np.integer) and self.max_rows >= MIN_ROWS
        ):
            raise ValueError(f"max_rows={self.max_rows!r}: expected None or at least {MIN_ROWS}.")
        if self.forest_error not in FOREST_ERRORS:
            raise ValueError(f"forest_error={self.forest_error!r}: use one of {FOREST_ERRORS}.")

    def _read_table(self, X: Any) -> Table:
        if is_frame(X):
            table = read_table(X, self.categorical)
            validate_data(self, table.X, ensure_all_finite="allow-nan", reset=True)
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
            return table
        matrix = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
        )
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return read_table(matrix, self.categorical)

    # The three steps ----------------------------------------------------------------------------

    def _run(self, problem: Problem, game: Game | None, model_hash: str) -> Self:
        counted = (
            problem.y if problem.sample_weight is None else problem.y[problem.sample_weight > 0]
        )
        if np.ptp(counted, axis=0).max() == 0:
            warnings.warn("y is constant: all effects are 0.", stacklevel=3)
            return self._store(_constant_result(problem, self))
        game = game or make_game(self.estimator, problem, self.forest_error)
        problem = game.problem or problem
        with progress_bar(self.verbose) as progress:
            run = _Run(self, problem, game, progress, self._checkpoint(problem, model_hash))
            return self._store(run.result())

    def _checkpoint(self, problem: Problem, model_hash: str) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        settings = self.get_params(deep=False)
        for name in ("n_jobs", "verbose", "checkpoint", "design", "solver", "n_subsets", "tol"):
            settings.pop(name)  # none of them changes the value of a subset
        arrays = (problem.X, problem.y, problem.sample_weight, problem.row_groups)
        versions = (__version__, sklearn.__version__)
        return Checkpoint(
            self.checkpoint, fingerprint(*arrays, settings, problem.seed, model_hash, versions)
        )

    def _store(self, result: EffectsResult) -> Self:
        self.result_ = result
        self.effects_ = result.effects
        self.explained_variance_ = result.explained_variance
        return self

    @property
    def feature_importances_(self) -> FloatArray:
        """The effects, under the name that scikit-learn's selectors look for."""
        check_is_fitted(self)
        return self.effects_


@dataclass
class _Run:
    """One fit: the loop between design and values, the solution, the error bars."""

    settings: ShapleyEffects
    problem: Problem
    game: Game
    progress: Progress
    checkpoint: Checkpoint | None

    def result(self) -> EffectsResult:
        kept, notes = self._screen()
        values = _Restricted(self.game.values, kept)
        design = make_design(self.settings.design, self._context(kept))
        history, proposed = self._evaluate(values, design)
        v_all = float(history.v[0])
        if v_all <= 0:
            warnings.warn(
                f"Nothing is explained out of sample (explained variance {v_all:.3f}): "
                "all effects are 0.",
                stacklevel=5,
            )
        effects = self._solve(design, proposed, history, kept)
        errors = None
        if v_all > 0:
            errors = inference.uncertainty(effects, history, self.problem.row_groups)
        first_order, total, n_more = self._sobol(values, history)
        result = self._assemble(
            kept, effects, errors, first_order, total, v_all, len(history.v) + n_more, notes
        )
        return replace(result, per_output=self._per_output(effects, history, kept))

    def _per_output(
        self, effects: Effects, history: Values, kept: BoolArray
    ) -> dict[str, FloatArray] | None:
        """Effects on each output alone: the solution is linear in the values."""
        v = history.by_output
        if v is None or effects.linear_map is None:
            return None
        raw = effects.linear_map @ np.vstack([v[1:], v[:1]])
        names = self.problem.target.outputs or [f"y{k}" for k in range(v.shape[1])]
        return {
            name: _spread(project_to_simplex(raw[:, k], float(v[0, k])), kept)
            for k, name in enumerate(names)
        }

    def _screen(self) -> tuple[BoolArray, tuple[str, ...]]:
        """Which players play, when there are many; the others get effect 0."""
        n_players = len(self.problem.players)
        everyone = np.ones(n_players, dtype=bool)
        if n_players <= SCREENED_ABOVE or self.settings._design != "gaussian_process":
            return everyone, ()
        problem = self.problem
        columns = screen(problem.X, problem.y, self.game.gains, problem.table.categorical)
        kept = np.array([columns[player].any() for player in self.problem.players])
        pair = Subsets.from_masks(np.vstack([everyone, kept]))
        v_all, v_kept = evaluate(self.game.values, pair, checkpoint=self.checkpoint).v
        if kept.all() or v_kept < v_all - SCREEN_LOSS:
            return everyone, ()
        note = (
            f"Screened: {kept.sum()} of {n_players} players take part, the others get effect 0; "
            f"those kept explain {v_kept:.3f}, all together {v_all:.3f}."
        )
        return kept, (note,)

    def _context(self, kept: BoolArray) -> DesignContext:
        players = [p for p, keep in zip(self.problem.players, kept, strict=True) if keep]
        return DesignContext(
            int(kept.sum()),
            self.settings.n_subsets,
            self.settings.tol,
            self.problem.seed,
            self.game.forest,
            players,
            self._relevance(players),
            self._proxy(players),
        )

    def _relevance(self, players: list[npt.NDArray[np.intp]]) -> FloatArray | None:
        gains = self.game.gains
        return None if gains is None else np.array([gains[player].sum() for player in players])

    def _proxy(self, players: list[npt.NDArray[np.intp]]) -> Proxy | None:
        """The linear game, where the data allow it: it halves the error on near-linear data."""
        problem, columns = self.problem, np.concatenate(players)
        plain = problem.y.shape[1] == 1 and not problem.table.categorical.any()
        single = len(columns) == len(players)
        if not plain or not single or np.isnan(problem.X[:, columns]).any():
            return None
        return linear_proxy(problem.X[:, columns], problem.y[:, 0])

    def _evaluate(self, values: ValueFunction, design: Design) -> tuple[Values, Subsets]:
        """Step 1 and step 2 in turn, until the design is content."""
        history = evaluate(
            values, Subsets.full(values.n_players), influences=True, checkpoint=self.checkpoint
        )
        proposals: list[Subsets] = []
        total = self._expected_total(values.n_players)
        while (proposal := design.propose(history)) is not None:
            proposals.append(proposal)
            done = len(history.v)
            more = evaluate(
                values,
                proposal,
                influences=True,
                checkpoint=self.checkpoint,
                progress=self.progress,
                done=done,
                total=max(total or 0, done + len(proposal)),
            )
            history = Values.concatenate([history, more])
            error = getattr(design, "error", None)
            if error is not None and np.isfinite(error):
                self.progress.update(len(history.v), total, f"error bar {error:.4f}")
        nothing = Subsets.full(values.n_players)[:0]
        return history, Subsets.concatenate(proposals) if proposals else nothing

    def _expected_total(self, n_players: int) -> int | None:
        if self.settings.n_subsets is not None:
            return self.settings.n_subsets + 1
        return None

    def _solve(
        self, design: Design, proposed: Subsets, history: Values, kept: BoolArray
    ) -> Effects:
        """Step 3."""
        if proposed.n_players == 1 or len(proposed) == 0:
            return _single_player(proposed.n_players, float(history.v[0]))
        players = [p for p, keep in zip(self.problem.players, kept, strict=True) if keep]
        solver = make_solver(
            self.settings._solver, design, self._relevance(players), self._proxy(players)
        )
        return solver.solve(proposed, history.v[1:], float(history.v[0]))

    def _sobol(
        self, values: ValueFunction, history: Values
    ) -> tuple[FloatArray | None, FloatArray | None, int]:
        """First-order and total indices; most of their subsets have been priced already."""
        n_players = values.n_players
        alone = Subsets.singletons(n_players)
        known = dict(zip(history.subsets.keys(), history.v, strict=True))
        known[Subsets.full(n_players).complement().keys()[0]] = 0.0
        wanted = Subsets.concatenate([alone, alone.complement()])
        missing = wanted[np.array([key not in known for key in wanted.keys()])]
        if len(missing) and n_players > SOBOL_PLAYERS:
            return None, None, 0
        if len(missing):
            more = evaluate(values, missing, checkpoint=self.checkpoint)
            known.update(zip(more.subsets.keys(), more.v, strict=True))
        v = np.array([known[key] for key in wanted.keys()])
        return v[:n_players], history.v[0] - v[n_players:], len(missing)

    def _assemble(
        self,
        kept: BoolArray,
        effects: Effects,
        errors: inference.Uncertainty | None,
        first_order: FloatArray | None,
        total: FloatArray | None,
        v_all: float,
        n_subsets: int,
        notes: tuple[str, ...],
    ) -> EffectsResult:
        seed = self.settings.random_state
        result = EffectsResult(
            names=self.problem.player_names,
            effects=_spread(effects.effects, kept),
            raw_effects=_spread(effects.raw, kept),
            explained_variance=v_all,
            n_rows=len(self.problem.X),
            n_subsets=n_subsets,
            estimator=self.game.name,
            design=self.settings._design,
            solver=self.settings._solver,
            first_order=None if first_order is None else _spread(first_order, kept),
            total=None if total is None else _spread(total, kept),
            random_state=int(seed) if isinstance(seed, int | np.integer) else None,
            notes=(*self.problem.table.notes, *self.game.notes, *notes),
            target=self.problem.target.name,
        )
        if errors is None:
            return result
        covariance = np.zeros((len(kept), len(kept)))
        covariance[np.ix_(kept, kept)] = errors.covariance
        p_values = np.ones(len(kept))
        p_values[kept] = errors.p_values
        return replace(
            result,
            standard_errors={k: _spread(e, kept) for k, e in errors.standard_errors.items()},
            covariance=covariance,
            explained_variance_error=errors.explained_variance_error,
            p_values=p_values,
        )


class _Restricted:
    """A value function among the players that were kept; the others are never in a subset."""

    def __init__(self, values: ValueFunction, kept: BoolArray) -> None:
        self.inner = values
        self.kept = kept

    @property
    def n_players(self) -> int:
        return int(self.kept.sum())

    def _all_players(self, subsets: Subsets) -> Subsets:
        masks = np.zeros((len(subsets), len(self.kept)), dtype=bool)
        masks[:, self.kept] = subsets.masks()
        return Subsets.from_masks(masks)

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        if self.kept.all():
            return self.inner.values(subsets, influences=influences)
        priced = self.inner.values(self._all_players(subsets), influences=influences)
        return replace(priced, subsets=subsets)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        return self.inner.predict(self._all_players(subsets), rows)


def _spread(values: FloatArray, kept: BoolArray) -> FloatArray:
    """Values of the kept players among all; 0 elsewhere."""
    everyone = np.zeros(len(kept))
    everyone[kept] = values
    return everyone


def _single_player(n_players: int, v_all: float) -> Effects:
    """Nothing to share: one player, or a forest that never splits on more than all."""
    raw = np.full(n_players, v_all / n_players)
    linear_map = np.full((n_players, 1), 1 / n_players)
    return Effects(np.maximum(raw, 0.0), raw, linear_map)


def _constant_result(problem: Problem, settings: ShapleyEffects) -> EffectsResult:
    n_players = len(problem.players)
    return EffectsResult(
        names=problem.player_names,
        effects=np.zeros(n_players),
        raw_effects=np.zeros(n_players),
        explained_variance=0.0,
        n_rows=len(problem.X),
        n_subsets=0,
        estimator="none",
        design=settings._design,
        solver=settings._solver,
        notes=("y is constant: there is nothing to explain.",),
        target=problem.target.name,
    )


def shapley_effects(X: Any, y: Any, **settings: Any) -> EffectsResult:
    """Shapley effects in one call: ``ShapleyEffects(**settings).fit(X, y).result_``.

    Parameters
    ----------
    X, y
        As in `ShapleyEffects.fit`; ``sample_weight`` and ``row_groups`` may be among the settings.
    **settings
        Of `ShapleyEffects`.

    Returns
    -------
    EffectsResult

    Examples
    --------
    >>> from shaff import shapley_effects
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> shapley_effects(X, y, estimator="forest", random_state=0).n_rows
    442
    """
    rows = {k: settings.pop(k, None) for k in ("sample_weight", "row_groups")}
    return ShapleyEffects(**settings).fit(X, y, **rows).result_
