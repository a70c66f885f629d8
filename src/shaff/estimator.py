"""`ShapleyEffects`: the estimator that users meet."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from shaff._util.typing import FloatArray, RandomState
from shaff._util.warn import warn
from shaff.data.new_rows import NewRows, read_new_rows
from shaff.data.problem import Problem, RawData, read_problem
from shaff.data.sources.sampled import SampledData, ValueRows, draw
from shaff.data.table import (
    Groups,
    category_columns,
    collected,
    in_order,
    is_frame,
    is_sparse,
    library_of,
    recode,
)
from shaff.designs import ForestPaths
from shaff.errors import InputError, InputTypeError, as_user_errors
from shaff.fitting.fit import explain
from shaff.fitting.fitted_game import ConstantGame
from shaff.fitting.hints import with_hints
from shaff.fitting.interactions import Budget, find_interactions, no_interactions
from shaff.fitting.notes.reading import sentence
from shaff.fitting.presets import find_preset
from shaff.fitting.progress import with_progress
from shaff.fitting.provenance import changed_settings, library_versions
from shaff.fitting.settings import Settings, check_budget
from shaff.protocols import DesignSetting, Game, SolverSetting
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.show.notebook import result_html
from shaff.trees.boosters import category_codes, fitted_names, is_booster
from shaff.trees.kinds import paper_forest
from shaff.values.registry import estimator_for_all_rows, fitted_values, is_projectable, make_values

# Settings that change no result.
_SILENT = frozenset({"n_jobs", "verbose", "checkpoint"})
_SILENT_FITTED = _SILENT | {"estimator"}


class ShapleyEffects(BaseEstimator):  # type: ignore[misc]
    """Shapley effects of the inputs on an outcome, from a table of data.

    The effect of an input is its fair share (its Shapley value) of the variance of y that all
    inputs explain together. Effects add up to the explained variance, also when the inputs
    depend on each other.

    Parameters
    ----------
    estimator : None, "auto", "forest", "boosting", "smooth", "stack", a model or a ValueSetting
        What prices a subset of the inputs. "auto" (None) is the stack of ridge, forest, boosting
        and smooth regressions, averaged over several splits, up to 5000 rows, and boosting beyond.
        Forests of scikit-learn and boosters (HistGradientBoosting, LightGBM, XGBoost, CatBoost)
        are cloned, fitted and projected; any other model is fitted and its predictions are
        explained through a surrogate.
    design : str or ForestPaths, default="auto"
        Which subsets are evaluated: "gaussian_process" ("auto"), "forest_paths" (the paper's),
        "leverage", "monte_carlo", "antithetic", "orthogonal", "exhaustive", and the designs of
        other systems, see `preset`.
    solver : {"auto", "gaussian_process", "least_squares", "permutations"}, default="auto"
        How prices become effects; "auto" fits the design.
    n_subsets : int or None
        Evaluations of v to spend. None stops when the largest standard error that the design
        leaves is under ``tol``, at 200 evaluations at the latest (15 a player, up to 400, if that
        is more; 10 a player beyond).
    tol : float or None
        Largest standard error of an effect to aim for; None means half of the error of
        v(all) that the rows leave, between 0.0003 and 0.003.
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
        error bars are those of the sample, and a note says so. None uses all rows; of data that
        need not fit in memory 100 000 are sampled then, and all are measured.
    checkpoint : path or None
        Folder in which evaluated subsets, and sums over rows that ``value_rows`` adds, are saved as
        they come. A run that was stopped goes on from there, with the same result; it needs an
        integer ``random_state``.
    screen : "auto", False or int, default="auto"
        Of more than 25 players those that a screen keeps play by name, and all others play as
        one. It looks at the training rows of each fold by itself, and keeps those that tests
        find, the best 25 in any case. A number is how many each fold keeps. Whoever one fold
        keeps plays; of more than 60 (or that number) those that tests find and those that most
        folds keep. False turns it off.
    value_rows : "sample", "all" or int, default="sample"
        Rows that v is measured on when ``max_rows`` samples: those of the sample, all, or about so
        many. Learners are grown on the sample in any case; other rows are read once, in blocks,
        each predicted by the learner of one fold, and the error bars are those of all rows
        measured. Boosting only, which "auto" then is.

    Attributes
    ----------
    effects_ : float array of shape (n_players,)
        Non-negative, summing to ``explained_variance_`` (all 0 if that is not positive).
    feature_importances_ : float array of shape (n_columns,)
        The effects, those of a group in equal parts, for `SelectFromModel` and `RFE`.
    explained_variance_ : float
        Share of the variance of y that all inputs explain, corrected for what the learner's own
        variance takes; ``result_.plain_explained_variance`` is without that.
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
        design: str | DesignSetting = "auto",
        solver: str | SolverSetting = "auto",
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
        screen: str | bool | int = "auto",
        value_rows: ValueRows = "sample",
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
        self.screen = screen
        self.value_rows = value_rows

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
            drawn between neighbouring rows (`shaff.values.models.resampling.resample_rows`).
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
            raise InputError(f'rows={rows!r} is unknown: use "held_out" or "training".')
        if type(model).__name__ == "Booster":
            raise InputTypeError(
                "A bare Booster does not say what it was fitted to: pass the scikit-learn model of "
                "its library, such as LGBMRegressor or XGBRegressor."
            )
        self, X, y = cls(estimator=model, **settings), collected(X), collected(y)
        if y is None and not is_projectable(model):
            y = np.zeros(len(X))  # in the place of what the model will say
        if is_projectable(model) and is_frame(X):
            X = in_order(X, fitted_names(model))
        codes: Mapping[str, Mapping[str, float]] = {}
        if is_booster(model) and is_frame(X):
            codes = category_codes(model, category_columns(X))
            X = recode(X, codes)
        # Bags tell which of the training rows are in them: none may be left out.
        resolved = self._resolve(is_classifier(model), all_rows=rows == "training")
        drawn = SampledData(RawData(X, y, sample_weight, row_groups), resolved.reading)

        def make(problem: Problem) -> Game:
            return fitted_values(model, problem, rows, n_labelled)

        self._explain(drawn, resolved, make, model)
        self._codes = codes
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None, row_groups: Any = None) -> Self:
        """Compute the effects of the columns (or groups) of X on y.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_columns), or a lake
            Of numpy, scipy, pandas, polars or pyarrow. Missing values (NaN, null) are kept as
            such. Sparse matrices are made dense. Or data that need not fit in memory, which are
            read in blocks: a parquet file or a folder of them by its path, a LazyFrame of polars, a
            Dataset of pyarrow, a frame of dask, a relation of DuckDB.
        y : array of shape (n_rows,) or (n_rows, n_outputs), or name
            Numbers, or labels of classes: then v is the explained variance of their indicators. Of
            a lake the name of its column, or several names.
        sample_weight : array of shape (n_rows,) or None, or name
        row_groups : array of shape (n_rows,) or None, or name
            Rows that belong together (one patient, one day): never on both sides of a split.

        Returns
        -------
        self
            When fit fails or is interrupted, it is left as it was before.
        """
        as_classes = hasattr(self.estimator, "fit") and is_classifier(self.estimator)
        with _all_or_nothing(self):
            settings = self._resolve(as_classes)
            drawn = draw(
                RawData(X, y, sample_weight, row_groups), settings.reading, settings.value_rows
            )
            if drawn.rest is not None:
                settings = replace(
                    settings, estimator=estimator_for_all_rows(settings.estimator, self.cv)
                )
            return self._explain(drawn, settings, partial(make_values, settings.estimator))

    def explain(self, X: Any = None, *, errors: bool = False) -> LocalEffects:
        """What each input has added to the prediction of single rows.

        These are conditional Shapley values from the evaluations of `fit`: in each row they add up
        to how far its prediction is from the mean of y.

        Parameters
        ----------
        X : array, sparse matrix, frame or None
            Rows with the columns of `fit`: in the same order, or by name in a frame. Categories
            that were not there in `fit` count as missing, and a note says so. None explains the
            rows of `fit`, each predicted by learners that have not seen it; so does the table of
            `fit` itself. With more than ``max_rows`` rows these are the rows of the sample.
        errors : bool, default=False
            Also tell the error that the subsets which were not evaluated leave in each value.

        Returns
        -------
        LocalEffects

        Examples
        --------
        >>> from shaff import ShapleyEffects
        >>> from shaff.datasets import load_diabetes
        >>> X, y, names = load_diabetes()
        >>> est = ShapleyEffects(estimator="forest", random_state=0).fit(X[:400], y[:400])
        >>> local = est.explain(X[400:])
        >>> local.values.shape
        (42, 10)
        >>> bool(abs(local.base + local.values.sum(axis=1) - local.predictions).max() < 1e-9)
        True
        """
        check_is_fitted(self)
        if X is None:
            return replace(self._fitted_game.explain(None, errors), library=self.result_.library)
        X = collected(X)
        new = self._read_rows(X)
        is_same = np.array_equal(new.X, self._fitted_game.problem.X, equal_nan=True)
        local = self._fitted_game.explain(None if is_same else new, errors)
        return replace(local, library=library_of(X))

    def _read_rows(self, X: Any) -> NewRows:
        """Rows as those of `fit` were read."""
        if is_frame(X):
            there = set(map(str, getattr(X, "column_names", X.columns)))
            X = recode(X, {name: codes for name, codes in self._codes.items() if name in there})
        new = read_new_rows(X, self._fitted_game.problem.table, self._is_named)
        for remark in new.warnings:
            warn(sentence(remark))
        return new

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The players' names, in the order of the effects; `input_features` is not used."""
        check_is_fitted(self)
        return np.asarray(self.result_.names, dtype=object)

    def interactions(
        self, *, n_subsets: int | None = None, tol: float | None = None
    ) -> Interactions:
        """Pairwise interactions of the players, from the evaluations of `fit` and further ones.

        Parameters
        ----------
        n_subsets : int or None
            Evaluations of v to spend, those of `fit` included. None stops when the largest
            standard error that the design leaves is under ``tol``, at twice the evaluations that
            `fit` may spend at the latest.
        tol : float or None
            Largest standard error of an interaction to aim for; None means half of the error of
            v(all) that the rows leave, between 0.0003 and 0.003.

        Returns
        -------
        Interactions

        Examples
        --------
        >>> from shaff import ShapleyEffects
        >>> from shaff.datasets import load_diabetes
        >>> X, y, names = load_diabetes()
        >>> est = ShapleyEffects(estimator="forest", n_subsets=60, random_state=0).fit(X, y)
        >>> est.interactions(n_subsets=100).values.shape
        (10, 10)
        """
        check_is_fitted(self)
        check_budget(n_subsets, tol)
        if isinstance(self._fitted_game, ConstantGame):
            return no_interactions(self.result_.names)
        with warnings.catch_warnings():
            found = find_interactions(self._fitted_game, Budget(n_subsets, tol, self.verbose))
        return replace(found, library=self.result_.library)

    # One fit ------------------------------------------------------------------------------------

    def _resolve(self, as_classes: bool, all_rows: bool = False) -> Settings:
        return Settings.resolve(self.get_params(deep=False), as_classes, all_rows)

    def _explain(
        self,
        drawn: SampledData,
        settings: Settings,
        make: Callable[[Problem], Game],
        model: Any = None,
    ) -> Self:
        """Read, then all steps in order, then keep what comes out."""
        given = drawn.data
        problem = drawn.with_remarks(read_problem(given, drawn.options, self._check_matrix))
        self._remember_columns(problem, is_frame(given.X))
        # Scikit-learn sets and resets the filters of warnings in its worker threads, which may
        # leave them changed for everyone.
        is_built_in = model is None and isinstance(settings.estimator, str | None)
        make = with_progress(make, settings.verbose, in_steps=is_built_in)
        with warnings.catch_warnings():
            result, played = explain(settings, problem, make, model, drawn.rest)
        if model is None or is_projectable(model):  # others are asked, and y may be no answer
            result = with_hints(problem, result)
        result = replace(
            result,
            call=self._call(drawn, model),
            data=drawn.summarised(result.data, result.n_rows),
            versions=library_versions(),
            library=library_of(given.X),
        )
        self._players, self._fitted_game = problem.players, played
        self._is_named = is_frame(given.X)
        # How a fitted booster calls the categories of a frame.
        self._codes: Mapping[str, Mapping[str, float]] = {}
        self.result_, self.effects_ = result, result.effects
        self.explained_variance_ = result.explained_variance
        return self

    def _call(self, drawn: SampledData, model: Any) -> str:
        """The call that gives the same result: without what cannot change it, or tells where
        somebody's files are."""
        given, asked = drawn.data, drawn.column_names
        # What stands for an array, or was the name of a column.
        written = {name: name if asked is None else repr(getattr(asked, name))
                   for name in ("y", "sample_weight", "row_groups")}  # fmt: skip
        rows = [f"{name}={written[name]}" for name in ("sample_weight", "row_groups")
                if getattr(given, name) is not None]  # fmt: skip
        start = "ShapleyEffects(" if model is None else "ShapleyEffects.from_fitted("
        table = ["X", written["y"], *rows]
        settings = changed_settings(self, leave_out=_SILENT if model is None else _SILENT_FITTED)
        if model is not None:
            return f"{start}{', '.join(['model', *table, *settings])})"
        return f"{start}{', '.join(settings)}).fit({', '.join(table)})"

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram, and the result once there is one."""
        return self._with_result(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._with_result(bundle["text/html"])
        return bundle

    def _with_result(self, diagram: str) -> str:
        return diagram + (result_html(self.result_) if hasattr(self, "result_") else "")

    def _check_matrix(self, X: Any) -> FloatArray:
        with as_user_errors():
            matrix: Any = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                ensure_all_finite="allow-nan",
                ensure_min_samples=2,
            )
        return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)

    def _remember_columns(self, problem: Problem, named: bool) -> None:
        """What scikit-learn asks of a fitted estimator."""
        if named:
            with as_user_errors():
                validate_data(self, problem.X, ensure_all_finite="allow-nan", reset=True)
            self.feature_names_in_ = np.asarray(problem.table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

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
