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
from shaff.data.named import by_name
from shaff.data.new_rows import NewRows, read_new_rows
from shaff.data.problem import Problem, RawData, read_problem
from shaff.data.remarks import Remark
from shaff.data.rows import n_given_rows
from shaff.data.sources.sampled import SampledData, ValueRows, draw
from shaff.data.structure import Order
from shaff.data.table import (
    Groups,
    category_columns,
    collected,
    in_order,
    index_of,
    is_frame,
    is_sparse,
    library_of,
    recode,
)
from shaff.designs import ForestPaths
from shaff.errors import InputError, InputTypeError, as_user_errors, words_for_full_memory
from shaff.fitting.facts import Task
from shaff.fitting.fit import fit as run_fit
from shaff.fitting.fitted_game import ConstantGame
from shaff.fitting.interactions import Budget, find_interactions, no_interactions
from shaff.fitting.marginal import find_marginal_effects, no_marginal_effects
from shaff.fitting.notes.reading import sentence
from shaff.fitting.presets import find_preset
from shaff.fitting.progress import with_progress
from shaff.fitting.provenance import Provenance, changed_settings
from shaff.fitting.settings import Settings, check_budget
from shaff.protocols import DesignSetting, Game, SolverSetting
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.show.notebook import result_html
from shaff.trees.boosters import category_codes, fitted_names, is_booster
from shaff.trees.kinds import paper_forest
from shaff.values.forest.setting import as_in_the_paper
from shaff.values.given import Explained, FittedQuestion, find_projection, fitted_values
from shaff.values.labelled import Labelling, make_labelled
from shaff.values.losses import check_loss
from shaff.values.making import (
    check_holds_out_folds,
    check_instance,
    check_measurable,
    estimator_for_all_rows,
    explained_by_fit,
    explained_by_fitted,
    fitted_model,
    is_own,
    make_values,
    model_of,
)
from shaff.values.models.asking import names_classes

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
    estimator : None, str, model or ValueSetting, default=None
        The learner that evaluates a subset of the inputs. None and "auto" mean boosting, stacked
        with smooth regressions where these add to it (and with log-linear or logistic ones of
        counts or two classes), and averaged over several splits where rows are few. "boosting",
        "smooth" and "forest" name one learner; "stack" combines all three, and ridge regression.
        Forests of scikit-learn and boosters (HistGradientBoosting, LightGBM, XGBoost, CatBoost) are
        cloned, fitted and projected, also at the end of a pipeline whose steps keep columns apart.
        Of other models, those that are quickly fitted (linear models, nearest neighbours, single
        trees, ...) are refitted on each subset; in place of the rest, learners of shaff explain the
        outcome. See the page "Models of your own" of the guide, and ``explains``. `ForestValues`
        has the options of forests.
    design : str or DesignSetting, default="auto"
        How the subsets to evaluate are chosen. "auto" means "gaussian_process", which chooses the
        subsets that are most informative about the effects. "forest_paths" is the paper's design;
        "leverage", "monte_carlo", "antithetic", "orthogonal" and "exhaustive" are others. See also
        `preset`.
    solver : {"auto", "gaussian_process", "least_squares", "permutations"}, default="auto"
        How the values of the subsets become effects. "auto" takes the solver that fits the design.
    n_subsets : int or None, default=None
        Number of subsets to evaluate. None stops as soon as the largest standard error due to the
        design is below ``tol``, and at the latest after 200 evaluations; from 14 inputs on after 15
        per input, up to 400; from 41 inputs on after 10 per input.
    tol : float or None, default=None
        Target for the largest standard error of an effect that is due to the design. None means
        half of the standard error of the explained variance due to the rows, between 0.0003 and
        0.003.
    groups : dict or None, default=None
        Groups of inputs, as a mapping from the name of a group to its columns. A group has one
        effect. Columns in no group stand for themselves. Groups of groups, as in
        ``{"home": {"size": ["area", "rooms"], "place": ["x", "y"]}}``, are a hierarchy: effects
        are Owen effects, and those of "size" and "place" add up to that of "home".
    categorical : "auto" or list of str or int, default="auto"
        Columns that hold categories. "auto" means columns of strings and of categorical types.
    cv : int, splitter or None, default=None
        Folds of projected boosting. None means five. With a splitter, "auto" takes boosting.
        Forests are measured out of bag and do not use it.
    n_jobs : int or None, default=None
        Number of threads; -1 means all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of everything random. The same integer gives the same bits.
    verbose : int, default=0
        With 1, progress bars with the time left are shown.
    max_rows : int or None, default=100_000
        Tables with more rows are sampled (whole row groups), and everything is computed on the
        sample: error bars are those of the sample, and a note says so. None uses all rows. For data
        that need not fit in memory, None samples 100 000 rows for the learners and measures all
        rows.
    checkpoint : path or None, default=None
        Folder in which the values of subsets, and the sums over rows that ``value_rows`` adds, are
        saved as they come. A run that was stopped continues from there with the same result. It
        needs an integer ``random_state``.
    screen : "auto", False or int, default="auto"
        Selection of inputs when there are more than 25. In each fold, a screen on its training rows
        keeps the inputs that tests detect, and at least 25; a number here is how many it keeps. An
        input is evaluated by name if any fold keeps it. If more than 60 (or that number) are kept,
        only those that tests detect and those that most folds keep are evaluated by name. The
        remaining inputs are evaluated together, as one. False evaluates every input by name.
    value_rows : "sample", "all" or int, default="sample"
        Rows on which v is measured when ``max_rows`` draws a sample: those of the sample, all rows,
        or about this many. The learners are grown on the sample in any case. Other rows are read
        once, in blocks, and each is predicted by the learner of one fold; error bars are those of
        all rows measured. Only boosting can do this, so "auto" means boosting then.
    explains : {"outcome", "predictions"} or None, default=None
        What effects are shares of: the variance of the outcome, or that of what a model of yours
        predicts. None means the outcome, if it is given; `from_fitted` without y explains
        predictions.
    loss : str, default="squared_error"
        How held-out rows are measured. "squared_error" explains the variance of y; "log_loss" the
        log-loss of classes, and in addition their squared errors (Brier scores); "poisson", "gamma"
        and "tweedie" the deviance of counts, and of positive or non-negative amounts ("tweedie:1.7"
        has that power, "tweedie" 1.5). It is independent of the loss of a booster that is given as
        ``estimator``. See the page "Losses" of the guide.
    order : list of lists of str or int, or None, default=None
        Layers of inputs, those that come first in time or cause first, such as
        ``[["age", "sex"], ["bmi"]]``. An input is credited with what it adds once all earlier
        layers are known; within a layer credit is shared as always. Each input (column or group,
        by its name or the place of its column) is in one layer. None means no order.

    Attributes
    ----------
    effects_ : float array of shape (n_inputs,)
        The Shapley effects: non-negative, with the sum ``explained_variance_`` (all 0 if that is
        not positive).
    feature_importances_ : float array of shape (n_columns,)
        The effects per column, for `SelectFromModel` and `RFE`. The columns of a group have equal
        parts of its effect.
    explained_variance_ : float
        Share of the variance of y that all inputs explain on held-out rows, corrected for the
        learner's own variance. ``result_.plain_explained_variance`` is without the correction.
    result_ : EffectsResult
        Effects with error bars, tests, Sobol indices, notes, plots and the report.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns, only if X has names.

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
        *,
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
        max_rows: int | None = 100_000,
        checkpoint: str | os.PathLike[str] | None = None,
        screen: str | bool | int = "auto",
        value_rows: ValueRows = "sample",
        explains: Explained | None = None,
        loss: str = "squared_error",
        order: Order | None = None,
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
        self.max_rows = max_rows
        self.checkpoint = checkpoint
        self.screen = screen
        self.value_rows = value_rows
        self.explains = explains
        self.loss = loss
        self.order = order

    @classmethod
    def as_published(cls, **settings: Any) -> Self:
        """Make the paper's SHAFF: forest paths, projected forest, constrained least squares.

        500 draws, 500 trees, a third of the variables per node, at least 5 rows per leaf, the plain
        out-of-bag error and the printed weights. ``settings`` override any of it; pass
        ``estimator=RandomForestRegressor(500, max_features=1.0, min_samples_leaf=5)`` for
        experiment 1b. Another forest keeps the plain error; `ForestValues` can change it.

        Examples
        --------
        >>> from shaff import ShapleyEffects
        >>> ShapleyEffects.as_published(random_state=0).design
        ForestPaths(n_draws=500, paired_weights='published', repeats='counted')
        """
        published: dict[str, Any] = {
            "estimator": paper_forest(),
            "design": ForestPaths(n_draws=500, paired_weights="published"),
            "solver": "least_squares",
            **settings,
        }
        return cls(**{**published, "estimator": as_in_the_paper(published["estimator"])})

    @classmethod
    def preset(
        cls, name: str, *, options: Mapping[str, Any] | None = None, **settings: Any
    ) -> Self:
        """Make another system of the paper's Table 1, by name, from the same three steps.

        Parameters
        ----------
        name : str
            "song", "kernel_shap", "tree_shap", "aas_gaussian", "aas_copula", "aas_empirical",
            "sage", "broto", "broto_sampled", "williamson", "covert_lee", "mdi" or "sobol_mda".
        options : dict or None, default=None
            Options of the value function, such as ``{"n_background": 100}``.
        **settings
            Parameters of `ShapleyEffects`, which override those of the preset. ``estimator`` is the
            model that the system fits, by default the forest of the paper.

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
        *,
        rows: str = "held_out",
        sample_weight: Any = None,
        row_groups: Any = None,
        **settings: Any,
    ) -> Self:
        """Compute effects with a model that has been fitted already.

        Parameters
        ----------
        model : fitted forest, booster or other model, function, or ForestValues of a forest
            The trees of forests and boosters keep their structure; what they predict is computed
            again from these rows. They are found inside of searches, of pipelines whose steps keep
            the columns apart, and of ensembles of forests; effects are those of the columns of X.
            Of any other model, or function of the rows, the predictions are explained if y is not
            given; if it is, learners of shaff explain y in its place, and what the model itself
            explains of y stands beside. A booster that was fitted on a frame with categories takes
            such a frame.
        X : array or frame of shape (n_rows, n_columns)
            Rows with the columns that the model was fitted on.
        y : array of shape (n_rows,), name of a column of X, or None, default=None
            The outcome, which is explained; None explains the predictions of the model. See also
            ``explains``.
        rows : {"held_out", "training"}, default="held_out"
            Whether the model has not seen the rows, or they are a forest's training rows. In the
            latter case each row is predicted by the trees that have it out of bag.
        sample_weight, row_groups : arrays of shape (n_rows,), names or None, default=None
            As in `fit`.
        **settings
            Parameters of `ShapleyEffects`.

        Returns
        -------
        ShapleyEffects
            A fitted estimator.

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
        if "estimator" in settings:
            raise InputTypeError("estimator cannot be set: the model that is passed stands there.")
        self = cls(estimator=model, **settings)
        X, y, *weights = by_name(RawData(*map(collected, (X, y, sample_weight, row_groups))))
        values, model = model, fitted_model(model)
        has_outcome = y is not None
        explains = explained_by_fitted(self.explains, has_outcome)
        check_measurable(self.loss, values, explains)
        projection = find_projection(model) if explains == "outcome" else None
        # What stands around trees takes rows as they are; trees alone take their own numbers.
        bare = projection is not None and not projection.is_wrapped
        if not has_outcome:
            y = np.zeros(n_given_rows(X))  # in the place of what the model will say
        if bare and is_frame(X):
            X = in_order(X, fitted_names(model))
        codes: Mapping[str, Mapping[str, float]] = {}
        if bare and is_booster(model) and is_frame(X):
            codes = category_codes(model, category_columns(X))
            X = recode(X, codes)
        # Bags tell which of the training rows are in them: none may be left out.
        resolved = self._resolve(names_classes(model), all_rows=rows == "training")
        sampled = SampledData(RawData(X, y, *weights), resolved.reading)

        asked = FittedQuestion(explains, rows, has_outcome, projection, bool(codes))

        def make(problem: Problem) -> Game:
            return fitted_values(values, problem, asked)

        call = self._call(sampled, model, has_outcome, {"rows": rows})
        with words_for_full_memory():
            self._run(sampled, resolved, make, model, explains, call=call)
        self._codes = codes
        return self

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        row_groups: Any = None,
        *,
        time: Any = None,
    ) -> Self:
        """Compute the effects of the columns (or groups of columns) of X on y.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_columns), or path
            A table of numpy, scipy, pandas, polars or pyarrow. Missing values (NaN, null) are kept
            as such. Sparse matrices are made dense. Data that need not fit in memory are read in
            blocks: the path of a parquet file or of a folder of them, a LazyFrame of polars, a
            Dataset of pyarrow, a frame of dask, a relation of DuckDB.
        y : array of shape (n_rows,) or (n_rows, n_outputs), or name of a column of X
            The outcome: numbers, or labels of classes, of which v is the explained variance of
            their indicators. A name, or a list of names, takes columns out of X.
        sample_weight : array of shape (n_rows,), name or None, default=None
            Weights of the rows, or the name of the column that holds them.
        row_groups : array of shape (n_rows,), name or None, default=None
            Labels of rows that belong together (one patient, one day), or the name of the column
            that holds them. Such rows are never on both sides of a split.
        time : array of shape (n_rows,), name or None, default=None
            When each row was observed, as numbers or dates, or the name of the column that says so,
            which then is no input. Folds are stretches of time with a gap on both sides, and error
            bars count blocks of time, as long as rows depend on each other. If y wanders like a
            random walk, p-values are withheld. See the page "Series in time" of the guide.

        Returns
        -------
        self
            The estimator. When fit fails or is interrupted, it is left as it was before.

        Examples
        --------
        >>> import pandas as pd
        >>> from shaff import ShapleyEffects
        >>> from shaff.datasets import load_diabetes
        >>> X, y, names = load_diabetes()
        >>> table = pd.DataFrame(X, columns=names).assign(progression=y)
        >>> est = ShapleyEffects("forest", random_state=0).fit(table, "progression")
        >>> est.result_.target, est.n_features_in_
        ('progression', 10)
        """
        return self._fit(RawData(X, y, sample_weight, row_groups, time))

    def explain(self, X: Any = None, *, errors: bool = False) -> LocalEffects:
        """Explain single rows: what each input adds to their predictions.

        The values are conditional Shapley values, computed from the subsets that `fit` has
        evaluated. In each row they add up to its prediction minus the mean of y.

        Parameters
        ----------
        X : array, sparse matrix, frame or None, default=None
            Rows with the columns of `fit`, in the same order, or by name in a frame. Categories
            that were not there in `fit` count as missing, and a note says so. None explains the
            rows of `fit`, each predicted by learners that have not seen it; so does the table of
            `fit` itself. With more than ``max_rows`` rows these are the rows of the sample.
        errors : bool, default=False
            Whether to compute the standard error of each value due to the subsets that were not
            evaluated.

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
        with words_for_full_memory():
            return self._explain_rows(collected(X), errors)

    def _explain_rows(self, X: Any, errors: bool) -> LocalEffects:
        if X is None:
            local = self._fitted_game.explain(None, errors)
            index = None if self._index is None else self._index[local.rows]
            return replace(local, library=self.result_.library, index=index)
        new = self._read_rows(X)
        is_same = np.array_equal(new.X, self._fitted_game.problem.X, equal_nan=True)
        local = self._fitted_game.explain(None if is_same else new, errors)
        return replace(local, library=library_of(X), index=index_of(X))

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
        """Return the names of the inputs, in the order of the effects.

        Parameters
        ----------
        input_features : ignored
            Not used; scikit-learn's selectors pass it.
        """
        check_is_fitted(self)
        return np.asarray(self.result_.names, dtype=object)

    def interactions(
        self, *, n_subsets: int | None = None, tol: float | None = None
    ) -> Interactions:
        """Estimate the pairwise interactions of the inputs.

        The values that `fit` has computed are used again; further subsets are evaluated as needed.

        Parameters
        ----------
        n_subsets : int or None, default=None
            Number of subsets to evaluate, those of `fit` included. None stops as soon as the
            largest standard error due to the design is below ``tol``, and at the latest after twice
            the evaluations that `fit` may spend.
        tol : float or None, default=None
            Largest standard error of an interaction, due to the design, that is aimed at. None
            means half of the standard error of the explained variance due to the rows, between
            0.0003 and 0.003.

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
        if self.result_.layers:
            raise InputError("Interactions have no order: fit without it to estimate them.")
        if isinstance(self._fitted_game, ConstantGame):
            return no_interactions(self.result_.names, self._fitted_game.problem.target)
        with warnings.catch_warnings(), words_for_full_memory():
            found = find_interactions(self._fitted_game, Budget(n_subsets, tol, self.verbose))
        return replace(found, library=self.result_.library)

    def proportional_marginal_effects(self) -> ProportionalMarginalEffects:
        """Estimate the proportional marginal effects of at most 12 inputs.

        They divide the explained variance in proportion to what is lost without an input: an input
        that acts only through others has 0, and copies share one effect. See the page "Which
        measure answers my question?" of the guide.

        The values that `fit` has computed are used again, and all further subsets are evaluated:
        4095 for 12 inputs. Their influences take 16 kilobytes of memory per row then.

        Returns
        -------
        ProportionalMarginalEffects

        Examples
        --------
        >>> import numpy as np
        >>> from shaff import ShapleyEffects
        >>> cause, other, noise = np.random.default_rng(0).standard_normal((3, 500))
        >>> X = np.column_stack([cause, cause + noise, other])
        >>> est = ShapleyEffects(random_state=0).fit(X, 2 * cause + other)
        >>> est.proportional_marginal_effects().effects.round(1).tolist()
        [0.8, 0.0, 0.2]
        """
        check_is_fitted(self)
        if isinstance(self._fitted_game, ConstantGame):
            return no_marginal_effects(self.result_.names)
        with warnings.catch_warnings():
            # Effects that heed an order or a hierarchy are others.
            shapley = None if self.result_.parts else self.result_.effects
            found = find_marginal_effects(self._fitted_game, shapley, self.verbose)
        return replace(found, library=self.result_.library)

    # One fit ------------------------------------------------------------------------------------

    def _resolve(self, as_classes: bool, all_rows: bool = False) -> Settings:
        return Settings.resolve(self.get_params(deep=False), as_classes, all_rows)

    def _fit(
        self,
        given: RawData,
        remarks: tuple[Remark, ...] = (),
        call: str | None = None,
        labelling: Labelling | None = None,
    ) -> Self:
        """`fit`, told how the data were read before, how the call is to be written, and where
        further points may be drawn."""
        model = model_of(self.estimator)
        check_instance(model)
        as_classes = hasattr(model, "fit") and is_classifier(model)
        with _all_or_nothing(self), words_for_full_memory():
            settings = self._resolve(as_classes)
            if given.time is not None:
                check_holds_out_folds(settings.estimator)
            sampled = draw(given, settings.reading, settings.value_rows)
            if sampled.rest is not None:
                learner = estimator_for_all_rows(settings.estimator, self.cv)
                settings = replace(settings, estimator=learner)
            explains = explained_by_fit(settings.estimator, self.explains)
            check_measurable(settings.reading.loss, settings.estimator, explains)
            if labelling is not None and is_own(settings.estimator) and sampled.rest is None:
                make = partial(make_labelled, settings.estimator, labelling=labelling)
            else:
                make = partial(make_values, settings.estimator, explains=explains)
            return self._run(sampled, settings, make, None, explains, remarks, call)

    def _run(
        self,
        sampled: SampledData,
        settings: Settings,
        make: Callable[[Problem], Game],
        model: Any = None,
        explains: Explained = "outcome",
        remarks: tuple[Remark, ...] = (),
        call: str | None = None,
    ) -> Self:
        """Read, then all steps in order, then keep what comes out."""
        given = sampled.data
        problem = sampled.with_remarks(read_problem(given, sampled.options, self._check_matrix))
        check_loss(problem.loss, problem.target)
        self._remember_columns(problem, is_frame(given.X))
        in_steps = model is not None or is_own(settings.estimator)
        step = "Growing learners" if model is None else "Asking, learning"
        task = Task(
            settings,
            problem,
            sampled,
            with_progress(make, settings.verbose, in_steps, step),
            Provenance(call or self._call(sampled, model), library_of(given.X), remarks),
            model,
            explains_outcome=explains == "outcome",
        )
        # Scikit-learn sets and resets the filters of warnings in its worker threads, which may
        # leave them changed for everyone.
        with warnings.catch_warnings():
            self.result_, self._fitted_game = run_fit(task)
        self._players = problem.players
        self._is_named = is_frame(given.X)
        # Rows of a sample of a lake have an index of their own.
        self._index = index_of(given.X) if sampled.tally is None else None
        # How a fitted booster calls the categories of a frame.
        self._codes: Mapping[str, Mapping[str, float]] = {}
        self.effects_ = self.result_.effects
        self.explained_variance_ = self.result_.explained_variance
        return self

    def _call(
        self,
        sampled: SampledData,
        model: Any,
        has_outcome: bool = True,
        of_fitted: Mapping[str, Any] | None = None,
    ) -> str:
        """The call that gives the same result: without what cannot change it, or tells where
        somebody's files are. ``of_fitted`` are the arguments that only `from_fitted` has."""
        given, asked = sampled.data, sampled.column_names
        # What stands for an array, or was the name of a column.
        written = {name: name if asked is None else repr(getattr(asked, name))
                   for name in ("y", "sample_weight", "row_groups", "time")}  # fmt: skip
        rows = [f"{name}={written[name]}" for name in ("sample_weight", "row_groups", "time")
                if getattr(given, name) is not None]  # fmt: skip
        start = "ShapleyEffects(" if model is None else "ShapleyEffects.from_fitted("
        rows += [f"{k}={v!r}" for k, v in (of_fitted or {}).items() if v not in (None, "held_out")]
        table = ["X", *[written["y"]] * has_outcome, *rows]
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


def shapley_effects(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    row_groups: Any = None,
    time: Any = None,
    **settings: Any,
) -> EffectsResult:
    """Compute Shapley effects in one call: ``ShapleyEffects(**settings).fit(X, y).result_``.

    Parameters
    ----------
    X, y, sample_weight, row_groups, time
        The data, as in `ShapleyEffects.fit`.
    **settings
        Parameters of `ShapleyEffects`.

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
    return ShapleyEffects(**settings).fit(X, y, sample_weight, row_groups, time=time).result_


def explain_model(model: Any, X: Any, y: Any = None, **settings: Any) -> ShapleyEffects:
    """Explain the predictions of any model, or of any function of the rows.

    Effects are shares of the variance of the predictions, under the dependence of the inputs that
    the rows show. Learners are fitted to the predictions, and ``result_.explained_variance`` is how
    much of them these learners explain on held-out rows. The model is called on each row once, in
    batches, and on about twenty rows a second time.

    Parameters
    ----------
    model : fitted model or function
        A function from rows to predictions, of shape (n_rows,) or (n_rows, n_outputs), or anything
        that has ``predict_proba`` or ``predict``: pipelines, searches, boosters, networks.
    X : array or frame of shape (n_rows, n_columns)
        Rows as the model takes them: it is given a frame for a frame, and an array for an array.
    y : array of shape (n_rows,), name of a column of X, or None, default=None
        The outcome, if there is one; the result then also says how much of it the model explains.
    **settings
        Parameters of `ShapleyEffects`, and those of `ShapleyEffects.from_fitted`. ``max_rows`` is
        the budget: with more rows, the model is called on a sample. ``verbose=1`` shows on how many
        rows it was called.

    Returns
    -------
    ShapleyEffects
        A fitted estimator: ``result_`` has the effects, ``explain`` explains single rows.

    Examples
    --------
    >>> from shaff import explain_model
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> def risk(rows):
    ...     return rows[:, 2] + 0.5 * rows[:, 8]
    >>> est = explain_model(risk, X, random_state=0)
    >>> est.result_.target, names[est.effects_.argmax()]
    ('the predictions of risk', 'bmi')
    """
    return ShapleyEffects.from_fitted(model, X, y, **{"explains": "predictions", **settings})
