"""`ShapleyEffects`: read the data, then design, values, solve."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from shaff._version import __version__
from shaff._warn import warn
from shaff.columns import (
    MIN_ROWS,
    Groups,
    Table,
    category_columns,
    in_order,
    is_frame,
    read_players,
    read_table,
    recode,
)
from shaff.datasets import RandomState
from shaff.designs import ForestPaths, check_design
from shaff.evaluation import Checkpoint, fingerprint, progress_bar
from shaff.games import (
    Game,
    NothingToExplainError,
    fitted_game,
    is_projectable,
    make_game,
)
from shaff.presets import find_preset
from shaff.problem import (
    Problem,
    check_rows,
    read_cv,
    read_row_groups,
    read_sample_weight,
    read_target,
    without_idle_rows,
)
from shaff.result import EffectsResult
from shaff.row_sample import sample_rows
from shaff.run import Run, constant_result
from shaff.solve import check_solver
from shaff.subsets import FloatArray
from shaff.trees import category_codes, fitted_names, is_booster
from shaff.values.held_out import paper_forest
from shaff.values.projected_forest import FOREST_ERRORS


class ShapleyEffects(BaseEstimator):  # type: ignore[misc]
    """Shapley effects of the inputs on an outcome, from a table of data.

    The effect of an input is its fair share (its Shapley value) of the variance of y that all
    inputs explain together. Effects add up to the explained variance, also when the inputs
    depend on each other.

    Parameters
    ----------
    estimator : None, "auto", "forest", "boosting", "stack" or a model
        What prices a subset of the inputs. "auto" (None) takes boosting, a forest or their stack,
        whichever explains more of rows it has not seen. Forests of scikit-learn and boosters
        (HistGradientBoosting, LightGBM, XGBoost, CatBoost) are cloned, fitted and projected; any
        other model is fitted and its predictions are explained through a surrogate.
    design : str or ForestPaths, default="auto"
        Which subsets are priced: "gaussian_process" ("auto"), "forest_paths" (the paper's),
        "leverage", "monte_carlo", "antithetic", "orthogonal", "exhaustive", and the designs of
        other systems, see `preset`.
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
        Folds of projected boosting; None means five. With a splitter "auto" takes boosting;
        forests are measured out of bag and do without it.
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
    feature_importances_ : float array of shape (n_columns,)
        The effects, those of a group in equal parts, for `SelectFromModel` and `RFE`.
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
    'bmi'
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
            "estimator": paper_forest(),
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
            other model labels the rows, and the labels are explained. A booster that was fitted
            on a frame with categories takes such a frame.
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
        if type(model).__name__ == "Booster":
            raise TypeError(
                "A bare Booster does not say what it was fitted to: pass the scikit-learn model of "
                "its library, such as LGBMRegressor or XGBRegressor."
            )
        self = cls(estimator=model, **settings)
        if y is None and not is_projectable(model):
            y = np.zeros(len(X))  # in the place of what the model will say
        if is_projectable(model) and is_frame(X):
            X = in_order(X, fitted_names(model))
        if is_booster(model) and is_frame(X):
            X = recode(X, category_codes(model, category_columns(X)))
        # Bags tell which of the training rows are in them: none may be left out.
        problem = self._read(
            X, y, sample_weight, row_groups, is_classifier(model), rows == "training"
        )

        def make() -> Game:
            return fitted_game(model, problem, rows, self.forest_error, n_labelled)

        return self._run(problem, make, model)

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
            When fit fails or is interrupted, it is left as it was before.
        """
        as_classes = hasattr(self.estimator, "fit") and is_classifier(self.estimator)
        with _all_or_nothing(self):
            problem = self._read(X, y, sample_weight, row_groups, as_classes)
            return self._run(
                problem, lambda: make_game(self.estimator, problem, self.forest_error), None
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The players' names, in the order of the effects; `input_features` is not used."""
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
        all_rows: bool = False,
    ) -> Problem:
        self._check_settings()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        max_rows = None if all_rows else self.max_rows
        sample = sample_rows((X, y, sample_weight, row_groups), max_rows, int(seed))
        X, y, sample_weight, row_groups = sample.arrays
        table = self._read_table(X)
        table = replace(table, notes=(*sample.notes, *table.notes))
        n_rows = len(table.X)
        check_rows(n_rows)
        target = read_target(y, n_rows, as_classes)
        players, names = read_players(self.groups, table.names)
        self._players = players
        row_groups = read_row_groups(row_groups, n_rows)
        problem = Problem(
            X if is_frame(X) else table.X,
            table,
            target,
            players,
            names,
            read_sample_weight(sample_weight, n_rows),
            row_groups,
            read_cv(self.cv, n_rows, target, row_groups),
            self.n_jobs,
            int(seed),
        )
        return problem if all_rows else without_idle_rows(problem)

    def _check_settings(self) -> None:
        self._design = check_design(self.design)
        self._solver = check_solver(self.solver, self._design)
        if self.n_subsets is not None and not (
            isinstance(self.n_subsets, int | np.integer) and self.n_subsets >= 2
        ):
            raise ValueError(
                f"n_subsets={self.n_subsets!r}: expected a whole number of at least 2."
            )
        if self.tol is not None and not (isinstance(self.tol, Real) and self.tol > 0):
            raise ValueError(f"tol={self.tol!r}: expected a positive number.")
        if self.max_rows is not None and not (
            isinstance(self.max_rows, int | np.integer) and self.max_rows >= MIN_ROWS
        ):
            raise ValueError(f"max_rows={self.max_rows!r}: expected None or at least {MIN_ROWS}.")
        if self.forest_error not in FOREST_ERRORS:
            raise ValueError(f"forest_error={self.forest_error!r}: use one of {FOREST_ERRORS}.")
        if self.checkpoint is not None and not isinstance(self.random_state, int | np.integer):
            raise ValueError("checkpoint needs a whole number as random_state, to be found again.")

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

    def _run(self, problem: Problem, make: Callable[[], Game], model: Any) -> Self:
        try:
            game = make()
        except NothingToExplainError as nothing:
            warn(str(nothing))
            return self._store(constant_result(nothing.problem, self))
        problem = game.problem or problem
        with progress_bar(self.verbose) as progress:
            run = Run(self, problem, game, progress, self._checkpoint(problem, model))
            return self._store(run.result())

    def _checkpoint(self, problem: Problem, model: Any) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        settings = self.get_params(deep=False)
        for name in ("n_jobs", "verbose", "checkpoint", "design", "solver", "n_subsets", "tol"):
            settings.pop(name)  # none of them changes the value of a subset
        settings["cv"] = problem.cv  # the splits themselves: a splitter may be random
        arrays = (problem.X, problem.y, problem.sample_weight, problem.row_groups)
        versions = (__version__, sklearn.__version__)
        return Checkpoint(
            self.checkpoint, fingerprint(*arrays, settings, problem.seed, model, versions)
        )

    def _store(self, result: EffectsResult) -> Self:
        self.result_ = result
        self.effects_ = result.effects
        self.explained_variance_ = result.explained_variance
        return self

    @property
    def feature_importances_(self) -> FloatArray:
        """The effects of the columns, under the name that scikit-learn's selectors look for.

        The columns of a group have equal parts of its effect.
        """
        check_is_fitted(self)
        importances = np.zeros(self.n_features_in_)
        for player, effect in zip(self._players, self.effects_, strict=True):
            importances[player] = effect / len(player)
        return importances


@contextmanager
def _all_or_nothing(estimator: ShapleyEffects) -> Iterator[None]:
    """An error takes back whatever attributes were set in between."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


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
