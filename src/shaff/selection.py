"""Selectors of inputs: all that matter, or the fewest that predict as well as all."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from shaff._util.seeds import unfitted
from shaff._util.threads import one_blas_thread
from shaff._util.typing import BoolArray, IntpArray, RandomState
from shaff._util.warn import warn
from shaff._util.work import engaged
from shaff.data.named import column_names, without_columns
from shaff.data.table import is_frame, library_of
from shaff.errors import InputError, InputTypeError
from shaff.estimator import ShapleyEffects
from shaff.fitting.fitted_game import ConstantGame, FittedGame
from shaff.fitting.notes import selection as notes
from shaff.fitting.refit import refit
from shaff.fitting.smallest_set import SetSearch, Step, Yardstick, smallest
from shaff.gaussian_process.value_model import ValueModel
from shaff.protocols import Values
from shaff.results.effects import Adjustment, EffectsResult
from shaff.results.selection import PathStep, Selection
from shaff.show.plots import Display
from shaff.subsets import Subsets
from shaff.uncertainty.inference import ADJUSTMENTS
from shaff.values.making import estimator_for_all_rows, explained_by_fit

ONE_ERROR = "1se"


class _EffectsSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What both selectors share: a fit of `ShapleyEffects`, and scikit-learn's side."""

    effects: ShapleyEffects | None
    n_jobs: int | None
    random_state: RandomState

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        row_groups: Any = None,
        *,
        time: Any = None,
    ) -> Self:
        """Select among the columns (or groups of columns) of X.

        Parameters
        ----------
        X, y, sample_weight, row_groups, time
            As in `ShapleyEffects.fit`.

        Returns
        -------
        self
        """
        self._check_settings()
        fitted = self._made().fit(X, y, sample_weight, row_groups, time=time)
        selection = self._select(fitted)
        self._keep(fitted, selection, X)
        if not selection.kept.any():
            warn(selection.sentence)
        return self

    def _check_settings(self) -> None:
        """Refuse wrong settings before the work."""
        raise NotImplementedError

    def _select(self, fitted: ShapleyEffects) -> Selection:
        raise NotImplementedError

    def _made(self) -> ShapleyEffects:
        """The estimator to fit: a clone of ``effects``, with what is set here."""
        if self.effects is not None and not isinstance(self.effects, ShapleyEffects):
            raise InputTypeError(f"effects must be a ShapleyEffects or None, not {self.effects!r}.")
        made: ShapleyEffects = ShapleyEffects() if self.effects is None else unfitted(self.effects)
        own = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        made.set_params(**{name: value for name, value in own.items() if value is not None})
        return made

    def _keep(self, fitted: ShapleyEffects, selection: Selection, X: Any) -> None:
        self.n_features_in_ = fitted.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        self.effects_, self.result_, self.selection_ = fitted, fitted.result_, selection
        self.support_ = _columns_of(fitted, selection.kept)
        self.sentence_ = selection.sentence
        # The outcome, weights and the like, where they are columns of X.
        names = column_names(X) if is_frame(X) else []
        inputs = set(getattr(self, "feature_names_in_", names))
        self._not_inputs = [name for name in names if name not in inputs]

    def transform(self, X: Any) -> Any:
        """Return the columns that are kept.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_columns)
            Rows with the columns of `fit`.

        Returns
        -------
        array, sparse matrix or frame of shape (n_rows, n_kept)
            A frame of the library that ``set_output`` names, else an array.
        """
        check_is_fitted(self)
        if is_frame(X):
            X = without_columns(X, [n for n in self._not_inputs if n in column_names(X)])
            if library_of(X) == _get_output_config("transform", self)["dense"] == "polars":
                return self._polars(X)
        return super().transform(X)

    def _polars(self, X: Any) -> Any:
        """Columns of a polars frame with their types, which scikit-learn keeps for pandas only."""
        super().transform(X)  # its checks and warnings
        return X[:, np.flatnonzero(self.support_).tolist()]

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class AllRelevantSelector(_EffectsSelector):
    """Keep all inputs whose Shapley effect is significantly above 0.

    An input matters if it helps to predict y, alone or together with others, or if it shares
    information with an input that does. Inputs that carry the same information are all kept. Inputs
    that the screen merges into "all others" (see ``screen`` of `ShapleyEffects`) are tested as one,
    and are not kept.

    Parameters
    ----------
    effects : ShapleyEffects or None, default=None
        The estimator to fit, with its settings. None means the default one.
    alpha : float, default=0.05
        Level of the tests, between 0 and 1; see ``adjust``.
    adjust : {"holm", "fdr"}, default="holm"
        How the tests allow for the number of inputs. With "holm", the chance that any input is kept
        that does not matter is at most ``alpha``. With "fdr" (Benjamini and Hochberg), the share of
        such inputs among those that are kept is expected to be at most ``alpha``, which finds more
        weak ones.
    n_jobs : int or None, default=None
        Number of threads; None keeps that of ``effects``.
    random_state : int, RandomState or None, default=None
        Seed; None keeps that of ``effects``.

    Attributes
    ----------
    support_ : bool array of shape (n_columns,)
        Which columns are kept.
    selection_ : Selection
        Inputs that are kept, with effects and adjusted p-values, as a table or JSON.
    sentence_ : str
        The finding in one sentence.
    result_ : EffectsResult
        The effects that were tested.
    effects_ : ShapleyEffects
        The fitted estimator.
    n_features_in_ : int
    feature_names_in_ : array of str
        Names of the columns, only if X has names.

    Examples
    --------
    >>> from shaff import AllRelevantSelector
    >>> from shaff.datasets import experiment_1a
    >>> data = experiment_1a(n=300, random_state=0)
    >>> selector = AllRelevantSelector(random_state=0).fit(data.X, data.y)
    >>> selector.transform(data.X).shape
    (300, 13)
    """

    def __init__(
        self,
        effects: ShapleyEffects | None = None,
        *,
        alpha: float = 0.05,
        adjust: Adjustment = "holm",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.effects = effects
        self.alpha = alpha
        self.adjust = adjust
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_settings(self) -> None:
        if not isinstance(self.alpha, Real) or not 0 < self.alpha < 1:
            raise InputError(f"alpha must lie between 0 and 1, got {self.alpha!r}.")
        if not isinstance(self.adjust, str) or self.adjust not in ADJUSTMENTS:
            raise InputError(f'adjust={self.adjust!r} is unknown: use "holm" or "fdr".')

    def _select(self, fitted: ShapleyEffects) -> Selection:
        result, n_inputs = fitted.result_, len(fitted.result_.names)
        p_values = np.ones(n_inputs)
        if not isinstance(fitted._fitted_game, ConstantGame):
            _check_p_values(result)
            p_values = result.null_test(self.adjust)
        kept, target = p_values <= self.alpha, result.target_name
        alpha = float(self.alpha)
        return Selection(
            result.names,
            kept,
            result.effects,
            "all_relevant",
            notes.rule_name(alpha, self.adjust),
            notes.relevant(int(kept.sum()), n_inputs, target, alpha, self.adjust),
            _held_out(result),
            p_values,
            target=result.target,
            notes=result.notes,
            library=result.library,
        )


class MinimalSetSelector(_EffectsSelector):
    """Keep the fewest inputs that predict y as well as all of them do.

    For each number of inputs, the set that explains most on held-out rows is searched for, by
    forward and backward steps and exchanges. The smallest that is within ``tolerance`` of all
    inputs is checked by learners that are fitted on it alone, and enlarged as long as they lose
    more than that. Of several copies of a column one is kept.

    Parameters
    ----------
    effects : ShapleyEffects or None, default=None
        The estimator to fit, with its settings. None means the default one.
    tolerance : "1se" or float, default="1se"
        Largest loss of explained variance. "1se" means one standard error of the loss itself, by
        rows in common: less than the standard error of what all inputs explain. With 0 nothing may
        be lost on these rows.
    n_jobs : int or None, default=None
        Number of threads; None keeps that of ``effects``.
    random_state : int, RandomState or None, default=None
        Seed; None keeps that of ``effects``.

    Attributes
    ----------
    support_ : bool array of shape (n_columns,)
        Which columns are kept.
    path_ : tuple of PathStep
        The best set of each size that was found: ``size``, ``inputs``, ``explained_variance``, and
        the ``standard_error`` of its difference to all inputs.
    stand_ins_ : dict of str to tuples of str
        For inputs that are kept, those that could take their place.
    selection_ : Selection
        All of this, as a table, a plot or JSON.
    sentence_ : str
        The finding in one sentence.
    result_ : EffectsResult
        The effects of all inputs.
    effects_ : ShapleyEffects
        The fitted estimator.
    n_features_in_ : int
    feature_names_in_ : array of str
        Names of the columns, only if X has names.

    Examples
    --------
    >>> from shaff import MinimalSetSelector
    >>> from shaff.datasets import experiment_1a
    >>> data = experiment_1a(n=300, random_state=0)  # columns 11 and 12 are copies of column 1
    >>> selector = MinimalSetSelector(random_state=0).fit(data.X, data.y)
    >>> int(selector.support_[[1, 11, 12]].sum()), selector.stand_ins_["x1"]
    (1, ('x11', 'x12'))
    """

    def __init__(
        self,
        effects: ShapleyEffects | None = None,
        *,
        tolerance: Literal["1se"] | float = "1se",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.effects = effects
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def path_(self) -> tuple[PathStep, ...]:
        """The best set of each size that was found."""
        check_is_fitted(self)
        path: tuple[PathStep, ...] = self.selection_.path
        return path

    @property
    def stand_ins_(self) -> dict[str, tuple[str, ...]]:
        """For inputs that are kept, those that could take their place."""
        check_is_fitted(self)
        return dict(self.selection_.stand_ins)

    def plot(self, ax: Any = None, *, max_inputs: int = 20) -> Display:
        """Draw what the best set of each size explains; see `Selection.plot`."""
        check_is_fitted(self)
        drawn: Display = self.selection_.plot(ax=ax, max_inputs=max_inputs)
        return drawn

    def _check_settings(self) -> None:
        if isinstance(self.tolerance, str) and self.tolerance == ONE_ERROR:
            return
        if not isinstance(self.tolerance, Real) or not 0 <= self.tolerance < 1:
            raise InputError(
                f'tolerance must be "1se" or a loss of explained variance from 0 to below 1, got '
                f"{self.tolerance!r}."
            )

    def _select(self, fitted: ShapleyEffects) -> Selection:
        game = fitted._fitted_game
        if isinstance(game, ConstantGame):
            nothing = np.zeros(len(fitted.result_.names), dtype=bool)
            return self._selection(fitted.result_, nothing, 0.0, notes=fitted.result_.notes)
        tolerance = None if self.tolerance == ONE_ERROR else float(self.tolerance)
        with engaged(game.problem.n_jobs), one_blas_thread:
            found = _Minimal(fitted, game, tolerance)
            size, path = found.run()
            kept = found.inputs(path[size].mask)
            stand_ins = found.stand_ins(path[size], kept)
        return self._selection(
            fitted.result_,
            kept,
            found.whole.v,
            path[size],
            path=tuple(found.public(step) for step in path),
            stand_ins=stand_ins,
            notes=(*found.notes, *fitted.result_.notes),
        )

    def _selection(
        self,
        result: EffectsResult,
        kept: BoolArray,
        explained: float,
        step: Step | None = None,
        **more: Any,
    ) -> Selection:
        own, error = 0.0, 0.0
        if step is not None:
            is_refitted = not np.isnan(step.refit)
            own = step.refit if is_refitted else step.v
            error = step.refit_error if is_refitted else step.error
        sentence = notes.minimal(
            int(kept.sum()),
            len(kept),
            result.target_name,
            (own, explained),
            error,
            result.measure,
        )
        return Selection(
            result.names,
            kept,
            result.effects,
            "minimal_set",
            str(self.tolerance),
            sentence,
            explained,
            target=result.target,
            library=result.library,
            **more,
        )


class _Minimal:
    """The search for the smallest set of one fitted game."""

    def __init__(self, fitted: ShapleyEffects, game: FittedGame, tolerance: float | None) -> None:
        self._game, self._result = game, fitted.result_
        self._learner = _refit_learner(fitted)
        self.notes: list[str] = []
        units = game.selection.problem.error_units
        full = game.evaluator.evaluate(Subsets.full(game.evaluator.n_players))
        if full.influences is None:
            raise InputError(
                f"{game.game.name!r} values have no influences of single rows, so losses have "
                "no standard error: use another estimator."
            )
        self.whole = Yardstick.of(full, tolerance, units)
        # Of copies the first in the table; "all others" cannot be had one by one.
        order = np.argsort(game.selection.kept, kind="stable")
        _, first = np.unique(game.selection.kinds[order], return_index=True)
        self._players: IntpArray = np.sort(order[first])
        self._yardstick = self._named_yardstick(units, tolerance)

    def _named_yardstick(self, units: Any, tolerance: float | None) -> Yardstick:
        """All inputs, or all that take part by name where no set of these comes close."""
        if not self._game.selection.has_others:
            return self.whole
        mask = np.zeros(self._game.evaluator.n_players, dtype=bool)
        mask[self._players] = True
        named = Yardstick.of(self._game.evaluator.evaluate(Subsets.from_masks(mask)),
                             tolerance, units)  # fmt: skip
        if self.whole.allows(named.v, self.whole.error(named.influences)):
            return self.whole
        self.notes += notes.falls_short(named.v, self.whole.v, len(self._game.selection.others))
        return named

    def run(self) -> tuple[int, list[Step]]:
        """Return the size that is kept, and the best set of each size."""
        evaluator, known = self._game.evaluator, self._game.evaluator.evaluated()
        search = SetSearch(
            evaluator.evaluate,
            self._model(known),
            self._players,
            evaluator.n_players,
            self._yardstick,
            known,
        )
        return smallest(search.run(), self._yardstick, self._refit)

    def _model(self, known: Values) -> ValueModel | None:
        inner = known.subsets.sizes < known.subsets.n_players
        if not inner.any():
            return None
        context, v = self._game.context, known.v_plain
        whole = float(v[~inner][0])
        return ValueModel(known.subsets[inner], v[inner], whole, context.proxy, context.relevance)

    def _refit(self, mask: BoolArray) -> Values:
        return refit(self._game, self._learner, np.flatnonzero(mask))

    def inputs(self, mask: BoolArray) -> BoolArray:
        """Mark the inputs that a set of players is made of."""
        kept = np.zeros(len(self._result.names), dtype=bool)
        kept[self._game.selection.kept[np.flatnonzero(mask)]] = True
        return kept

    def public(self, step: Step) -> PathStep:
        """The step in names of inputs."""
        names = [self._result.names[k] for k in np.flatnonzero(self.inputs(step.mask))]
        again = (None, None) if np.isnan(step.refit) else (step.refit, step.refit_error)
        return PathStep(len(names), tuple(names), step.v, step.error, *again)

    def stand_ins(self, step: Step, kept: BoolArray) -> dict[str, tuple[str, ...]]:
        """Copies of each input that is kept, and inputs that say the same and lose no more."""
        found = {}
        for player in np.flatnonzero(step.mask):
            input = int(self._game.selection.kept[player])
            others = [self._result.names[k] for k in self._mates(input)
                      if not kept[k] and self._could_replace(step, int(player), k)]  # fmt: skip
            if others:
                found[self._result.names[input]] = tuple(others)
        return found

    def _mates(self, input: int) -> list[int]:
        """Inputs that say the same as one of them, by copies and by `interchangeable`."""
        names = self._result.names
        groups = [group for group in self._result.interchangeable if names[input] in group]
        by_name = {name for group in groups for name in group} - {names[input]}
        return [k for k in range(len(names)) if names[k] in by_name]

    def _could_replace(self, step: Step, player: int, input: int) -> bool:
        """Whether the set with another input in the place of one is within the tolerance."""
        places = np.flatnonzero(self._game.selection.kept == input)
        if not len(places):
            return False
        kinds = self._game.selection.kinds
        if kinds[places[0]] == kinds[player]:
            return True
        mask = step.mask.copy()
        mask[player], mask[places[0]] = False, True
        values = self._game.evaluator.evaluate(Subsets.from_masks(mask))
        own = Yardstick.of(values, None)
        return self._yardstick.allows(own.v, self._yardstick.error(own.influences))


def _refit_learner(fitted: ShapleyEffects) -> Any:
    """The learner of refits: that of the fit, or shaff's own for the predictions of a model."""
    if fitted.value_rows != "sample":
        return estimator_for_all_rows(fitted.estimator, fitted.cv)
    explains = explained_by_fit(fitted.estimator, fitted.explains)
    return fitted.estimator if explains == "outcome" else "auto"


def _check_p_values(result: EffectsResult) -> None:
    if result.p_values is None:
        raise InputError(
            "AllRelevantSelector needs p-values, and this fit has none (the notes of the same "
            "ShapleyEffects say why): use MinimalSetSelector, or other settings of effects."
        )


def _held_out(result: EffectsResult) -> float:
    plain = result.plain_explained_variance
    return result.explained_variance if plain is None else plain


def _columns_of(fitted: ShapleyEffects, kept: BoolArray) -> BoolArray:
    """Mark the columns of some inputs."""
    support = np.zeros(fitted.n_features_in_, dtype=bool)
    for k in np.flatnonzero(kept):
        support[fitted._players[k]] = True
    return support
