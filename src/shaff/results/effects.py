"""EffectsResult: effects with their errors and origin, as a table, a plot or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from shaff._util.arrays import frozen
from shaff._util.files import replacing
from shaff._util.frames import Backend, installed_backend, make_frame, sorted_columns
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff._util.words import counted, listed
from shaff._version import __version__
from shaff.data.summary import DataSummary
from shaff.errors import InputError
from shaff.results.base import Result, check_level
from shaff.results.direction import direction_words
from shaff.results.interactions import Interactions
from shaff.results.intervals import ConfidenceInterval, Difference, RankInterval
from shaff.results.levels import summed_fields
from shaff.uncertainty.inference import (
    ADJUSTMENTS,
    spanned_p_values,
    surely_above,
)
from shaff.uncertainty.shortfall import SKILL

if TYPE_CHECKING:
    from shaff.results.base import Display
    from shaff.results.comparison import Comparison
    from shaff.results.local import LocalEffects

ERROR_SOURCES = ("data", "design", "ensemble", "algorithm")
Adjustment = Literal["holm", "fdr"]
IntervalMethod = Literal["normal", "nonnegative", "simultaneous"]
INTERVAL_METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)
_LARGEST = 1e100
_BESIDE = {"rmse": "rmse_of_mean", "accuracy": "accuracy_of_largest"}
_ONE_PER_INPUT = ("effects", "raw_effects", "plain_effects", "reach", "first_order", "total",
                  "p_values", "screened", "variance_covariances", "brier_effects",
                  "brier_errors")  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class EffectsResult(Result):
    """Shapley effects, their uncertainty, and how they were made. All arrays are read-only.

    Parameters
    ----------
    names : tuple of str
        The inputs (columns or groups of columns), in the order of every array below.
    effects : float array of shape (n_inputs,)
        Reported effects: non-negative, summing to `explained_variance` if that is positive.
    raw_effects : float array of shape (n_inputs,)
        Effects before the sign constraint; errors and intervals are those of the raw effects.
    explained_variance : float
        v(all): the share of the variance of y that all inputs explain on held-out rows.
    first_order, total : float arrays of shape (n_inputs,) or None
        First-order Sobol indices v({j}) and total Sobol indices v(all) - v(all without j); NaN
        for inputs that were never evaluated.
    errors_by_source : dict of float arrays of shape (n_inputs,) or None
        Standard errors of `raw_effects` by source: "data" (other rows would have given other
        effects), "design" (not all subsets were evaluated), "ensemble" (finitely many trees),
        "algorithm" (random splits and seeds). See `standard_errors` for the total.
    covariance : float array of shape (n_inputs, n_inputs) or None
        Total covariance of `raw_effects`.
    p_values : float array of shape (n_inputs,) or None
        p-values of "the effect is 0", not adjusted for their number; see `null_test`.
    explained_variance_error : float or None
        Standard error of `explained_variance`.
    n_rows : int
        Number of rows that v was measured on.
    n_grown : int or None
        Number of rows that the learners were trained on, where they are fewer; see ``value_rows``
        of `shaff.ShapleyEffects`.
    n_subsets : int
        Number of evaluations of v.
    estimator, design, solver : str
        Names of the three steps.
    random_state : int or None
        The seed, where it was an integer.
    notes : tuple of str
        What a reader must know, in plain sentences, the most important first.
    target : str or None
        Name of the outcome y, or "the predictions of" a model.
    explains : {"outcome", "predictions"}, default="outcome"
        What effects are shares of: the variance of the outcome, or of what a model predicts.
    through : str or None
        How a model of the user's explains the outcome, in words; None if none was given.
    per_output : dict of float arrays of shape (n_inputs,) or None
        Effects on each class or output alone, from the same evaluations, when there are several.
        They sum to the explained variance of that output; `effects` are their means, weighted by
        the variances of the outputs (but for the sign constraint).
    per_output_errors : dict of float arrays of shape (n_inputs,) or None
        Standard errors of `per_output`.
    plain_effects : float array of shape (n_inputs,) or None
        Raw effects from the values without correction, as the learners predict held-out rows; None
        where no value was corrected. Intervals span both, tests are about these.
    plain_explained_variance : float or None
        `explained_variance` without correction.
    learning_rise, learning_rise_error : float or None
        How much larger `plain_explained_variance` is than with half of the rows, and the standard
        error of this difference: if it still rises, more rows would explain more.
    reach : float array of shape (n_inputs,) or None
        What the learners are likely to miss of each effect, from the correction and the rise. Upper
        ends of intervals are raised by this much, in addition to the error.
    explained_reach : float or None
        The same for `explained_variance`.
    screened : float array of shape (n_inputs,) or None
        For inputs that the screen has merged into "all others", the largest correlation with y that
        a test of them has shown; NaN for inputs that are evaluated by name. None if all are.
    others : dict of str to float or None
        Joint figures of "all others": "effect", "raw_effect", and if known "plain_effect",
        "standard_error" and "p_value". In the arrays above each of them has an equal part of it.
    interchangeable : tuple of tuples of str
        Groups of inputs that carry the same information and share their effect: correlations beyond
        0.99, increasing or decreasing functions of each other, categories and their codes.
    convergence : float array of shape (n_steps, 2) or None
        Number of evaluations so far, and the largest standard error that the design leaves then.
    directions : dict of str or None
        For inputs of one numeric column, how y changes as the input grows: "increasing",
        "decreasing", "U-shaped", "inverted U", "mixed" (it depends on other inputs, or turns more
        than once), "unclear" (these rows do not tell) or "none" (it hardly changes). With two
        classes y is the probability of the second, and tables say towards which class.
    curves : dict of float arrays of shape (2, n_slices), or None
        Curves behind the directions: means of the input, and of what it adds to the prediction, in
        slices of the rows.
    data : DataSummary or None
        How the table was read, and which columns are associated.
    interactions : Interactions or None
        Interactions of pairs of inputs, if requested; see `ShapleyEffects.interactions`.
    subsets : bool array of shape (n_evaluated, n_in_game) or None
        The subsets that were evaluated, the full set included; one column for each of
        `game_names`.
    values : float array of shape (n_evaluated,) or None
        v of each of the `subsets`.
    weights : float array of shape (n_in_game, n_evaluated) or None
        Linear map from `values` to the raw effects of `game_names`; None if the solver has none.
    game_names : tuple of str
        Names of the columns of `subsets`: the inputs that are evaluated by name, and "all others"
        last where the screen has merged inputs.
    classes : tuple of str
        Names of the classes, if the outcome is one of several; of two classes the probability of
        the second is explained, and `directions` are about that.
    outcome_variance, outcome_variance_error : float or None
        Variance of the outcome, summed over its outputs, and its standard error: effects are shares
        of it.
    outcome_details : str or None
        How a derived outcome was computed; see `shaff.survival_outcome`.
    variance_ratio : float or None
        Variance of the pseudo-values of a censored outcome, divided by `outcome_variance`, which is
        that of the outcome without censoring; None for other outcomes.
    variance_covariances : float array of shape (n_inputs,) or None
        Covariance of each raw effect and `outcome_variance`, due to the rows.
    held_out : dict of str to float or None
        How well all inputs together predict held-out rows: "rmse" (root mean squared error, in
        units of the outcome) and "rmse_of_mean" (that of the mean alone), or "loss" and
        "loss_of_mean" (mean deviances) with another loss than squared errors; for classes
        "accuracy", "accuracy_of_largest" (that of always naming the largest class) and "auc" (area
        under the ROC curve; with several classes the mean of each against the rest). "r2_of_model"
        is the share of the variance of the outcome, or of the indicators of its classes, that a
        model of the user's explains by itself on held-out rows.
    column_digests : dict of str or None
        Digest of the entries of each column, regardless of their order, by which `shaff.compare`
        recognises results of the same rows.
    data_hash : str or None
        BLAKE2b hash of inputs, outcome and weights as they were read, in the order of the rows: the
        same for the same data in another library. It leaves out rows outside the sample.
    layers : tuple of tuples of str
        The inputs of each layer of an order, the first layer first; empty without an order. See
        ``order`` of `shaff.ShapleyEffects`.
    hierarchy : dict of tuples of str, or None
        The inputs of each upper group, where there are groups of groups; their effects add up to
        that of the group, see `upper_level`.
    call : str or None
        Python call that reproduces this result.
    versions : dict of str or None
        Versions of Python and of the libraries that were used.
    library : {"pandas", "polars", "pyarrow"} or None
        Library of the given data frame; `to_frame` returns one of its kind.
    version : str
        Version of shaff that computed the effects.
    loss : str, default="squared_error"
        What was measured of held-out rows; see ``loss`` of `shaff.ShapleyEffects`. With another
        loss than squared errors, all shares are shares of its mean, the deviance, in place of the
        variance.
    brier_effects, brier_errors : float arrays of shape (n_inputs,) or None
        With log-loss: effects by squared errors (Brier scores), from the same evaluations, and
        their standard errors.
    brier_explained : float or None
        What all inputs explain by squared errors.

    Examples
    --------
    >>> from shaff import EffectsResult
    >>> EffectsResult(
    ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
    ...     explained_variance=0.4, n_rows=442, n_subsets=4,
    ...     estimator="forest", design="exhaustive", solver="least_squares")
    EffectsResult(2 inputs, explained variance 0.400, largest effect 'bmi' 0.300)
    """

    _format: ClassVar[str] = "shaff.EffectsResult"
    # Version 1 had neither plain values nor errors per output; version 2 did not know of the data,
    # the call, the screen or the way to convergence; version 3 did not know of directions; up to
    # version 4 `errors_by_source` was "standard_errors", and subsets were not kept; version 5 did
    # not know of classes, of the variance of the outcome, or of errors in its units; version 6 did
    # not know through which model the outcome was explained, nor its rows, nor of outcomes that are
    # computed from several columns, nor of other losses, layers and hierarchies; version 7 had no
    # hash of the data.
    _versions: ClassVar[tuple[int, ...]] = (1, 2, 3, 4, 5, 6, 7, 8)

    names: tuple[str, ...]
    effects: FloatArray
    raw_effects: FloatArray
    explained_variance: float
    n_rows: int
    n_subsets: int
    estimator: str
    design: str
    solver: str
    first_order: FloatArray | None = None
    total: FloatArray | None = None
    errors_by_source: dict[str, FloatArray] | None = None
    covariance: FloatArray | None = None
    p_values: FloatArray | None = None
    explained_variance_error: float | None = None
    random_state: int | None = None
    notes: tuple[str, ...] = ()
    target: str | None = None
    explains: str = "outcome"
    per_output: dict[str, FloatArray] | None = None
    per_output_errors: dict[str, FloatArray] | None = None
    plain_effects: FloatArray | None = None
    plain_explained_variance: float | None = None
    learning_rise: float | None = None
    learning_rise_error: float | None = None
    reach: FloatArray | None = None
    explained_reach: float | None = None
    screened: FloatArray | None = None
    others: dict[str, float] | None = None
    interchangeable: tuple[tuple[str, ...], ...] = ()
    convergence: FloatArray | None = None
    directions: dict[str, str] | None = None
    curves: dict[str, FloatArray] | None = None
    data: DataSummary | None = None
    interactions: Interactions | None = None
    subsets: BoolArray | None = None
    values: FloatArray | None = None
    weights: FloatArray | None = None
    game_names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    outcome_variance: float | None = None
    outcome_variance_error: float | None = None
    variance_covariances: FloatArray | None = None
    held_out: dict[str, float] | None = None
    column_digests: dict[str, str] | None = None
    data_hash: str | None = None
    layers: tuple[tuple[str, ...], ...] = ()
    hierarchy: dict[str, tuple[str, ...]] | None = None
    call: str | None = None
    versions: dict[str, str] | None = None
    library: Backend | None = None
    n_grown: int | None = None
    through: str | None = None
    outcome_details: str | None = None
    variance_ratio: float | None = None
    version: str = __version__
    loss: str = "squared_error"
    brier_effects: FloatArray | None = None
    brier_errors: FloatArray | None = None
    brier_explained: float | None = None

    def __post_init__(self) -> None:
        p = len(self.names)
        checked: dict[str, Any] = {
            "names": tuple(str(name) for name in self.names),
            "notes": tuple(str(note) for note in self.notes),
            "explained_variance": float(self.explained_variance),
            "interchangeable": tuple(tuple(map(str, g)) for g in self.interchangeable),
            "n_rows": int(self.n_rows),
            "n_subsets": int(self.n_subsets),
            "classes": tuple(map(str, self.classes)),
            "layers": tuple(tuple(map(str, layer)) for layer in self.layers),
        }
        if self.hierarchy is not None:
            checked["hierarchy"] = {str(k): tuple(map(str, v)) for k, v in self.hierarchy.items()}
        for field, kind in (
            ("explained_variance_error", float),
            ("plain_explained_variance", float),
            ("learning_rise", float),
            ("learning_rise_error", float),
            ("explained_reach", float),
            ("outcome_variance", float),
            ("outcome_variance_error", float),
            ("variance_ratio", float),
            ("brier_explained", float),
            ("random_state", int),
            ("n_grown", int),
        ):
            value = getattr(self, field)
            checked[field] = None if value is None else kind(value)
        for field in _ONE_PER_INPUT:
            checked[field] = frozen(getattr(self, field), (p,), field)
        for field in ("others", "held_out"):
            figures = getattr(self, field)
            if figures is not None:
                checked[field] = {str(k): float(v) for k, v in figures.items()}
        checked["covariance"] = frozen(self.covariance, (p, p), "covariance")
        checked["errors_by_source"] = _frozen_errors(self.errors_by_source, p)
        for field in ("per_output", "per_output_errors"):
            checked[field] = _frozen_arrays(getattr(self, field), p)
        steps = 0 if self.convergence is None else len(self.convergence)
        checked["convergence"] = frozen(self.convergence, (steps, 2), "convergence")
        for field in ("directions", "column_digests"):
            words = getattr(self, field)
            if words is not None:
                checked[field] = {str(k): str(v) for k, v in words.items()}
        if self.curves is not None:
            checked["curves"] = {str(k): _frozen_curve(c, k) for k, c in self.curves.items()}
        if isinstance(self.data, Mapping):
            checked["data"] = DataSummary.from_content(self.data)
        if isinstance(self.interactions, Mapping):
            checked["interactions"] = Interactions._from_content(self.interactions)
        self._set({**checked, **self._checked_game()})

    def _checked_game(self) -> dict[str, Any]:
        """Subsets, their values and weights, which have as many subsets each."""
        names = tuple(map(str, self.game_names or (self.names if self.subsets is not None else ())))
        subsets = None if self.subsets is None else _frozen_subsets(self.subsets, len(names))
        n = 0 if subsets is None else len(subsets)
        return {
            "game_names": names,
            "subsets": subsets,
            "values": frozen(self.values, (n,), "values"),
            "weights": frozen(self.weights, (len(names), n), "weights"),
        }

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        if self.data is not None:
            content["data"] = self.data.content()
        if self.interactions is not None:
            content["interactions"] = self.interactions._content()
        if self.subsets is not None:
            # A string of 0 and 1 for each subset.
            content["subsets"] = ["".join("01"[int(known)] for known in s) for s in self.subsets]
        return content

    @classmethod
    def _from_content(cls, content: Mapping[str, Any]) -> Self:
        earlier = {} if "standard_errors" not in content else {
            "errors_by_source": content["standard_errors"]
        }  # fmt: skip
        result = super()._from_content({**earlier, **content})
        _check_sizes(result)
        _check_figures(result)
        _check_parts(result)
        return result

    @property
    def standard_errors(self) -> FloatArray | None:
        """Total standard error of each raw effect, shape (n_inputs,), or None."""
        if self.covariance is not None:
            return np.sqrt(np.diag(self.covariance))
        if self.errors_by_source:
            return np.sqrt(sum(np.square(error) for error in self.errors_by_source.values()))
        return None

    def confidence_interval(
        self, level: float = 0.95, method: IntervalMethod = "normal"
    ) -> ConfidenceInterval:
        """Return intervals of the raw effects, from their total standard errors.

        They reach from the smaller of the plain and the corrected effect (see `plain_effects`)
        minus a quantile of standard errors to the larger of the two, or 0, plus the same and what
        the learners are likely to miss (see `reach`).

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the intervals, between 0 and 1.
        method : {"normal", "nonnegative", "simultaneous"}, default="normal"
            "normal": with a normal quantile; the lower bound may be negative, as raw effects may.
            "nonnegative": the same, cut at 0, since no true effect is negative; it covers a true
            effect whenever the normal interval does.
            "simultaneous": wide enough (by Sidak's inequality, which holds for any correlation) to
            cover the effects of all inputs at once with probability `level`.

        Returns
        -------
        ConfidenceInterval
            ``low`` and ``high``, each of shape (n_inputs,).

        Examples
        --------
        >>> from shaff.results._example import example
        >>> result = example(effects=[0.4, 0.1], errors_by_source={"data": [0.1, 0.1]})
        >>> result.confidence_interval().low.round(3).tolist()
        [0.204, -0.096]
        >>> result.confidence_interval(method="nonnegative").low.round(3).tolist()
        [0.204, 0.0]
        >>> result.confidence_interval(method="simultaneous").low.round(3).tolist()
        [0.176, -0.124]
        """
        check_level(level)
        if method not in INTERVAL_METHODS:
            raise InputError(f"method={method!r} is unknown: use one of {INTERVAL_METHODS}.")
        error = self.standard_errors
        if error is None:
            raise InputError("This result has no standard errors, so it has no intervals.")
        each = level ** (1 / len(error)) if method == "simultaneous" else level
        half = float(ndtri((1 + each) / 2)) * error
        lowest, highest = self._span
        low, high = lowest - half, highest + half
        is_other = self.is_screened
        low[is_other], high[is_other] = 0.0, self._most((1 + each) / 2)[is_other]
        if method == "nonnegative":
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        return ConfidenceInterval(low, high)

    @property
    def _span(self) -> tuple[FloatArray, FloatArray]:
        """The lower of the raw effects with and without correction, and the higher with what the
        learners are likely to miss; this is at least 0, as every true effect is."""
        highest = np.maximum(self.raw_effects, self._plain) + self._reach
        return np.minimum(self.raw_effects, self._plain), np.maximum(highest, 0.0)

    @property
    def _reach(self) -> FloatArray:
        return np.zeros(len(self.names)) if self.reach is None else self.reach

    @property
    def _plain(self) -> FloatArray:
        return self.raw_effects if self.plain_effects is None else self.plain_effects

    def upper_bound(self, level: float = 0.95) -> FloatArray:
        """Return one-sided upper bounds of the effects, shape (n_inputs,).

        Parameters
        ----------
        level : float, default=0.95
            Probability that a true effect lies below its bound.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> result = example(
        ...     effects=[0.4, 0.0], raw_effects=[0.4, -0.1], errors_by_source={"data": [0.1, 0.1]})
        >>> result.upper_bound().round(3).tolist()
        [0.564, 0.164]
        """
        check_level(level)
        if self.standard_errors is None:
            raise InputError("This result has no standard errors, so it has no bounds.")
        own = self._span[1] + float(ndtri(level)) * self.standard_errors
        return np.where(self.is_screened, self._most(level), own)

    @property
    def is_screened(self) -> npt.NDArray[np.bool_]:
        """Whether each input was screened, that is merged into "all others"; (n_inputs,)."""
        if self.screened is None:
            return np.zeros(len(self.names), dtype=bool)
        return np.asarray(~np.isnan(self.screened))

    def _most(self, level: float) -> FloatArray:
        """Upper bounds for each of "all others": their joint effect, or what the correlation that
        the input has shown allows, if that is more; 0 for other inputs."""
        if self.screened is None or self.others is None:
            return np.zeros(len(self.names))
        quantile, others = float(ndtri(level)), self.others
        together = max(others.get("raw_effect", 0.0), others.get("plain_effect", 0.0), 0.0)
        together += quantile * others.get("standard_error", 0.0)
        alone = np.maximum(self.screened + quantile / np.sqrt(self.n_rows), 0.0) ** 2
        return np.asarray(np.nan_to_num(np.maximum(alone, together), nan=0.0))

    def null_test(self, adjust: Adjustment | None = "holm") -> FloatArray:
        """Return p-values of "the effect is 0": the input does not help to predict y, neither
        alone nor together with others.

        A small p-value says that the input helps to predict held-out rows. A large one says
        little: weak effects are often missed. Screened inputs have p-value 1; the joint p-value of
        all of them is in `others`.

        Parameters
        ----------
        adjust : {"holm", "fdr", None}, default="holm"
            "holm" adjusts for the number of inputs: if all effects with a p-value under 0.05 are
            called real, the chance that any of them is not is at most 5 %. "fdr" (Benjamini and
            Hochberg) lets 5 % of those called real be wrong, on average. None does not adjust.

        Returns
        -------
        float array of shape (n_inputs,)

        Examples
        --------
        >>> from shaff.results._example import example
        >>> result = example(p_values=[0.01, 0.2])
        >>> result.null_test().tolist(), result.null_test(adjust=None).tolist()
        ([0.02, 0.2], [0.01, 0.2])
        """
        if adjust is not None and adjust not in ADJUSTMENTS:
            raise InputError(f'adjust={adjust!r} is unknown: use "holm", "fdr" or None.')
        if self.p_values is None:
            raise InputError("This result has no p-values.")
        return self.p_values.copy() if adjust is None else ADJUSTMENTS[adjust](self.p_values)

    @property
    def _estimates(self) -> FloatArray:
        """The raw effects, and those without correction, shape (1 or 2, n_inputs)."""
        plain = () if self.plain_effects is None else (self.plain_effects,)
        return np.stack([self.raw_effects, *plain])

    def _total_covariance(self) -> FloatArray:
        """Covariance of the raw effects, which are independent where it is not known."""
        if self.covariance is not None:
            return self.covariance
        if self.standard_errors is None:
            raise InputError("This result has no standard errors, so effects cannot be compared.")
        return np.diag(self.standard_errors**2)

    def difference(self, a: str | int, b: str | int, level: float = 0.95) -> Difference:
        """Return how much larger the effect of ``a`` is than that of ``b``.

        The error allows for the correlation of the two effects. As with `confidence_interval`, the
        interval spans the differences with and without correction; the p-value is under 0.05 when
        the 95 % interval excludes 0.

        Parameters
        ----------
        a, b : str or int
            Inputs, by name or by position.
        level : float, default=0.95
            Level of the interval.

        Returns
        -------
        Difference
            ``estimate``, ``standard_error``, ``low``, ``high`` and ``p_value``.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> result = example(effects=[0.4, 0.1], covariance=[[0.01, 0.002], [0.002, 0.01]])
        >>> found = result.difference("age", "bmi")
        >>> round(found.estimate, 3), round(found.standard_error, 3), round(found.p_value, 3)
        (0.3, 0.126, 0.018)
        """
        check_level(level)
        i, j = self._place(a), self._place(b)
        covariance = self._total_covariance()
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        error = float(np.sqrt(max(variance, 0.0)))
        # Either of the two may be larger by what the learners miss of it.
        missed = self.raw_effects[i] - self.raw_effects[j] + [self._reach[i], -self._reach[j]]
        found = np.append(self._estimates[:, i] - self._estimates[:, j], missed)
        half = float(ndtri((1 + level) / 2)) * error
        low, high = float(found.min()), float(found.max())
        p_value = float(spanned_p_values(found[:, None], np.array([error]))[0])
        return Difference(float(found[0]), error, low - half, high + half, p_value)

    def _place(self, given: str | int) -> int:
        if isinstance(given, str) and given in self.names:
            return self.names.index(given)
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if whole and -len(self.names) <= int(given) < len(self.names):
            return int(given)
        raise InputError(f"There is no input {given!r}; there are {listed(self.names)}.")

    def rank_intervals(self, level: float = 0.95) -> RankInterval:
        """Return the ranks that the data leave open for each input, for all inputs at once.

        The best rank of an input counts the inputs whose effects are significantly larger, its
        worst rank those whose effects are significantly smaller; see `difference`.

        Parameters
        ----------
        level : float, default=0.95
            Probability that all ranks lie within their intervals.

        Returns
        -------
        RankInterval
            ``best`` and ``worst``, each of shape (n_inputs,).

        Examples
        --------
        >>> from shaff.results._example import example
        >>> result = example(
        ...     names=("a", "b", "c"), effects=[0.4, 0.1, 0.1],
        ...     errors_by_source={"data": [0.03] * 3})
        >>> best, worst = result.rank_intervals()
        >>> best.tolist(), worst.tolist()
        ([1, 2, 2], [1, 3, 3])
        """
        check_level(level)
        above = surely_above(self._estimates, self._total_covariance(), level, self._reach)
        return RankInterval(1 + above.sum(axis=0), len(self.names) - above.sum(axis=1))

    def explained_interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the interval of the explained variance, within 0 and 1, or None without a
        standard error.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> result = example(explained_variance_error=0.1)
        >>> [round(bound, 3) for bound in result.explained_interval()]
        [0.204, 0.596]
        """
        check_level(level)
        if self.explained_variance_error is None:
            return None
        plain, v = self.plain_explained_variance, self.explained_variance
        both = (v,) if plain is None else (v, plain)
        half = float(ndtri((1 + level) / 2)) * self.explained_variance_error
        high = max(both) + half + (self.explained_reach or 0.0)
        return max(min(both) - half, 0.0), min(max(high, 0.0), 1.0)

    @property
    def has_skill(self) -> bool:
        """Whether held-out rows are predicted significantly better than by their mean.

        The explained variance that counts is the one without correction; the level is 5 %.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> example(explained_variance_error=0.1).has_skill
        True
        >>> example(explained_variance_error=0.5).has_skill
        False
        """
        plain = self.plain_explained_variance
        measured = self.explained_variance if plain is None else plain
        return measured > SKILL * (self.explained_variance_error or 0.0)

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Positions of the inputs from the largest effect to the smallest; ties keep order."""
        return np.argsort(-self.effects, kind="stable")

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The inputs of each layer or upper group, by the name of the part; empty without any.

        Layers are called "layer 1", "layer 2", ... in their order; upper groups come in the order
        of their effects, the largest first.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> example(layers=(("age",), ("bmi",))).parts
        {'layer 1': ('age',), 'layer 2': ('bmi',)}
        """
        if self.layers:
            return {f"layer {k}": layer for k, layer in enumerate(self.layers, start=1)}
        effects = dict(zip(self.names, self.effects, strict=True))
        groups = (self.hierarchy or {}).items()
        sums = {label: -sum(effects[name] for name in members) for label, members in groups}
        return dict(sorted(groups, key=lambda group: sums[group[0]]))

    def upper_level(self) -> EffectsResult:
        """Return the result of the layers or upper groups, whose effects are sums of those here.

        Standard errors allow for the correlation of the effects. The effect of an upper group is
        its Shapley effect when such groups are the inputs; that of a layer is what it adds to all
        layers before it.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> example(hierarchy={"body": ("age", "bmi")}).upper_level()
        EffectsResult(1 input, explained variance 0.400, largest effect 'body' 0.400)
        """
        if not self.parts:
            raise InputError("This result has neither an order nor groups of groups.")
        return replace(self, **summed_fields(self))

    @property
    def unfolded(self) -> IntpArray:
        """Positions of the inputs part by part, the largest effect of a part first; like `order`
        without parts."""
        if not self.parts:
            return self.order
        ranked = [self.names[j] for j in self.order]
        names = [n for members in self.parts.values() for n in ranked if n in set(members)]
        return np.array([self.names.index(name) for name in names], dtype=np.intp)

    @property
    def shares(self) -> FloatArray:
        """Each effect as a share of the explained variance, shape (n_inputs,).

        NaN where nothing is explained.
        """
        if self.explained_variance > 0:
            return self.effects / self.explained_variance
        return np.full(len(self.names), np.nan)

    def _columns(self, level: float = 0.95) -> dict[str, FloatArray]:
        """The arrays with one number per input that this result has, by name."""
        error, sources = self.standard_errors, self.errors_by_source or {}
        low, high = (None, None) if error is None else self.confidence_interval(level)
        candidates = {
            "effect": self.effects,
            "share": self.shares,
            "low": low,
            "high": high,
            "standard_error": error,
            **{f"{source}_error": array for source, array in sources.items()},
            "p_value": self.p_values,
            "p_adjusted": None if self.p_values is None else self.null_test(),
            "first_order": self.first_order,
            "total": self.total,
            "raw_effect": self.raw_effects,
            "brier_effect": self.brier_effects,
            "brier_error": self.brier_errors,
        }
        return {name: array for name, array in candidates.items() if array is not None}

    def _output_columns(self, output: str, level: float = 0.95) -> dict[str, FloatArray]:
        """The same arrays for one class or output alone; see `per_output`."""
        if self.per_output is None or output not in self.per_output:
            raise InputError(f"There is no output {output!r}; there are {listed(self.outputs)}.")
        effects = self.per_output[output]
        together = float(effects.sum())
        shares = effects / together if together > 0 else np.full(len(effects), np.nan)
        columns = {"effect": effects, "share": shares}
        if self.per_output_errors is None:
            return columns
        error = self.per_output_errors[output]
        # Outputs fall short as all of them together do.
        missed = (self.explained_reach or 0.0) / max(self.explained_variance, np.finfo(float).tiny)
        both = np.stack([effects, effects * (1 + missed)])
        low, high = ConfidenceInterval.spanning(both, error, level)
        return {**columns, "low": low, "high": high, "standard_error": error}

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the classes or outputs in `per_output`; empty if there is only one."""
        return tuple(self.per_output or ())

    def summary(self, max_inputs: int = 50) -> str:
        """Return the effects as a text table, the largest first, and what they rest on.

        Parameters
        ----------
        max_inputs : int, default=50
            Number of lines of the table; the remaining inputs share one line.

        Returns
        -------
        str

        Examples
        --------
        >>> from shaff.results._example import example
        >>> print(example(target="progression").summary())  # doctest: +ELLIPSIS
        Shapley effects on the outcome progression
        <BLANKLINE>
        input  effect  share
        bmi     0.300   75 %  ####################
        age     0.100   25 %  #######
        <BLANKLINE>
        The inputs explain 0.400 of the variance of progression on held-out rows; 0.600 remains.
        442 rows, 4 subsets; a random forest, design exhaustive, solver least squares; shaff ...
        """
        return self._summary(max_inputs)

    def to_frame(
        self, backend: Backend | None = None, *, level: float = 0.95, by_output: bool = False
    ) -> Any:
        """Return a data frame with one line per input, the largest effect first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the given data frame, else the first of the three that is
            installed.
        level : float, default=0.95
            Level of the intervals.
        by_output : bool, default=False
            One line per class or output and input, with the effects on each output alone.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``input``, ``effect``, ``share`` (of the explained variance), then, where the
            result has them, ``low`` and ``high`` (`confidence_interval`), ``standard_error`` and
            its parts by source (``data_error``, ...), ``p_value`` and ``p_adjusted`` (of
            `null_test`, without and with Holm's adjustment), ``first_order``, ``total``,
            ``raw_effect``, ``brier_effect`` and ``brier_error`` (by squared errors, beside
            log-loss) and ``direction`` (see `directions`). With ``by_output`` a column
            ``output`` stands first.
            With an order, ``layer`` is the number of each input's layer; with groups of groups,
            ``group`` is its upper group.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> frame = example().to_frame("polars")
        >>> frame["input"].to_list(), frame.columns
        (['bmi', 'age'], ['input', 'effect', 'share', 'raw_effect'])
        """
        check_level(level)
        backend = backend or self.library or installed_backend()
        if by_output:
            return self._frame_by_output(backend, level)
        columns = sorted_columns(self.names, self._columns(level), self.order)
        return make_frame({**columns, **self._words(self.order)}, backend)

    def _words(self, inputs: IntpArray) -> dict[str, list[Any]]:
        """Columns of words: directions, layers and groups of some inputs, if there are any."""
        words: dict[str, list[Any]] = {}
        if self.directions:
            told = {k: direction_words(d, self.classes) for k, d in self.directions.items()}
            words["direction"] = [told.get(self.names[j]) for j in inputs]
        if self.parts:
            part_of = {name: part for part, members in self.parts.items() for name in members}
            parts = [part_of[self.names[j]] for j in inputs]
            if self.layers:
                words["layer"] = [int(part.removeprefix("layer ")) for part in parts]
            else:
                words["group"] = parts
        return words

    def _frame_by_output(self, backend: Backend, level: float) -> Any:
        if self.per_output is None:
            raise InputError("This result has one output only: its effects are not by output.")
        parts = [
            sorted_columns(
                self.names, self._output_columns(output, level), np.argsort(-effects, kind="stable")
            )
            for output, effects in self.per_output.items()
        ]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        repeated = [output for output in self.outputs for _ in self.names]
        joined["input"] = joined["input"].tolist()
        return make_frame({"output": repeated, **joined}, backend)

    def plot(
        self,
        kind: str = "effects",
        *,
        ax: Any = None,
        max_inputs: int = 20,
        level: float = 0.95,
        sobol: bool = False,
    ) -> Display:
        """Draw the result; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"effects", "sobol", "dependence", "convergence", "outputs"}, default="effects"
            "effects": bars with intervals. "sobol": first-order index, effect and total index side
            by side. "dependence": associations of the inputs. "convergence": how the design error
            fell. "outputs": effects on each class or output.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of inputs drawn, those with the largest effects; the remaining ones share a bar,
            or are left out.
        level : float, default=0.95
            Level of the intervals.
        sobol : bool, default=False
            With ``kind="effects"``: also draw the Sobol indices, in a panel of their own.

        Returns
        -------
        Display
            One of the classes of `shaff.show.plots`, with its data, and the axes and figure as
            ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> display = example().plot()
        >>> display.figure_.savefig("effects.png")  # doctest: +SKIP
        """
        return self._plot(kind, ax=ax, max_inputs=max_inputs, level=level, sobol=sobol)

    def with_interactions(self, interactions: Interactions) -> EffectsResult:
        """Return the result with interactions beside the effects, in its files and report too.

        Parameters
        ----------
        interactions : Interactions
            What `ShapleyEffects.interactions` of the same fit has returned.
        """
        return replace(self, interactions=interactions)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        call: str | None = None,
        data: DataSummary | None = None,
        interactions: Interactions | None = None,
        local: LocalEffects | None = None,
        comparison: Comparison | None = None,
    ) -> Path:
        """Write a report as one HTML file that needs no network; needs jinja2
        (``pip install "shaff[report]"``).

        Parameters
        ----------
        path : path
            The file appears whole or not at all.
        title : str or None, default=None
            None names the outcome.
        call : str or None, default=None
            How to get this result again, if not by the Python call that it carries.
        data : DataSummary or None, default=None
            Another summary of the data than the one the result carries.
        interactions : Interactions or None, default=None
            Interactions for a section of their own, if the result carries none; see
            `ShapleyEffects.interactions`.
        local : LocalEffects or None, default=None
            Effects in single rows for a section of their own; see `ShapleyEffects.explain`.
        comparison : Comparison or None, default=None
            Differences to another result for a section of their own; see `shaff.compare`.

        Returns
        -------
        Path

        Examples
        --------
        >>> from shaff.results._example import example
        >>> example().to_html("report.html")  # doctest: +SKIP
        PosixPath('report.html')
        """
        from shaff.show.report import render

        shown = replace(
            self,
            call=call or self.call,
            data=data or self.data,
            interactions=interactions or self.interactions,
        )
        page = render(shown, title, local, comparison)
        with replacing(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return Path(path)

    def log_to_mlflow(self, run_id: str | None = None) -> None:
        """Log the figures as metrics of an MLflow run, with ``effects.json``, ``report.html`` and
        ``effects.png`` as artifacts; needs ``mlflow``, jinja2 and matplotlib.

        Parameters
        ----------
        run_id : str or None, default=None
            None means the active run, or a new one.
        """
        from shaff.show.tracking import log_to_mlflow

        log_to_mlflow(self, run_id)

    def __repr__(self) -> str:
        inputs = counted(len(self.names), "input")
        text = f"{inputs}, explained {self.measure} {self.explained_variance:z.3f}"
        if self.names:
            top = self.order[0]
            text += f", largest effect {self.names[top]!r} {self.effects[top]:z.3f}"
        return f"EffectsResult({text})"

    def _repr_html_(self) -> str:
        from shaff.show.notebook import result_html

        return result_html(self)

    @property
    def measure(self) -> str:
        """What effects are shares of, in words.

        Examples
        --------
        >>> from shaff.results._example import example
        >>> example().measure, example(loss="poisson").measure
        ('variance', 'deviance (poisson)')
        """
        return "variance" if self.loss == "squared_error" else f"deviance ({self.loss})"

    @property
    def target_name(self) -> str:
        """The name of y, or "y"."""
        return "y" if self.target is None else self.target


def _check_sizes(result: EffectsResult) -> None:
    """Refuse what no fit computes, and no table or bar can show."""
    shown = np.append(result.effects, result.explained_variance)
    if not (np.abs(shown) <= _LARGEST).all():
        raise InputError("effects and explained_variance must be finite, and no larger than 1e100.")
    if result.covariance is not None and (np.diag(result.covariance) < 0).any():
        raise InputError("covariance holds negative variances.")


def _check_figures(result: EffectsResult) -> None:
    """Refuse figures without those that are shown beside them."""
    found = result.held_out or {}
    for figure, beside in _BESIDE.items():
        if figure in found and beside not in found:
            raise InputError(f"held_out has {figure}, but not {beside}.")


def _check_parts(result: EffectsResult) -> None:
    """Refuse layers and upper groups that do not hold every input once."""
    parts = result.layers or tuple((result.hierarchy or {}).values())
    if parts and sorted(name for part in parts for name in part) != sorted(result.names):
        raise InputError("layers and hierarchy must hold each of the inputs once.")


def _frozen_curve(curve: npt.ArrayLike, name: str) -> FloatArray | None:
    return frozen(curve, (2, len(np.atleast_2d(curve)[0])), f"the curve of {name!r}")


def _frozen_errors(
    errors: Mapping[str, npt.ArrayLike] | None, p: int
) -> dict[str, FloatArray] | None:
    unknown = set(errors or ()) - set(ERROR_SOURCES)
    if unknown:
        raise InputError(f"errors_by_source has unknown sources {sorted(unknown)}.")
    return _frozen_arrays(errors, p)


def _frozen_arrays(
    arrays: Mapping[str, npt.ArrayLike] | None, p: int
) -> dict[str, FloatArray] | None:
    if arrays is None:
        return None
    copies = {str(name): frozen(array, (p,), str(name)) for name, array in arrays.items()}
    return {name: array for name, array in copies.items() if array is not None}


def _frozen_subsets(subsets: Any, n_columns: int) -> BoolArray:
    """A read-only copy of subsets, as arrays or as strings of 0 and 1."""
    rows = [[mark == "1" for mark in row] if isinstance(row, str) else row for row in subsets]
    copy = np.array(rows, dtype=bool).reshape(len(rows), -1)
    if copy.shape[1] != n_columns:
        raise InputError(f"subsets must have {n_columns} columns, got {copy.shape[1]}.")
    copy.setflags(write=False)
    return copy
