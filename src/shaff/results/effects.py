"""EffectsResult: effects with their errors and origin, as a table, a plot or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from shaff._util.arrays import frozen
from shaff._util.files import replacing
from shaff._util.frames import Backend, make_frame
from shaff._util.json import encoded, read_content
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted, listed
from shaff._version import __version__
from shaff.data.summary import DataSummary
from shaff.errors import InputError
from shaff.results.interactions import Interactions
from shaff.results.intervals import ConfidenceInterval, Difference, RankInterval
from shaff.show import sentences
from shaff.show.text import aligned, number_text
from shaff.show.text import summary_table as summary_table
from shaff.uncertainty.inference import adjust_p_values, spanned_p_values, surely_above

if TYPE_CHECKING:
    from shaff.results.local import LocalEffects
    from shaff.show.plots import Display, Kind

FORMAT = "shaff.EffectsResult"
FORMAT_VERSION = 4
# Version 1 had neither plain values nor errors per output; version 2 did not know of the data, the
# call, the screen or the way to convergence; version 3 did not know of directions.
READ_VERSIONS = (1, 2, 3, 4)
ERROR_SOURCES = ("data", "design", "ensemble", "algorithm")
IntervalMethod = Literal["normal", "nonnegative", "simultaneous"]
INTERVAL_METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)


@dataclass(frozen=True, eq=False, repr=False)
class EffectsResult:
    """Shapley effects, how sure they are, and how they were made. Its arrays are read-only.

    Parameters
    ----------
    names : tuple of str
        The players, in the order of every array below.
    effects : float array of shape (n_players,)
        The reported effects: non-negative, summing to `explained_variance` if that is positive.
    raw_effects : float array of shape (n_players,)
        The effects before the sign constraint; errors and intervals are theirs.
    explained_variance : float
        v(all): the share of the variance of y that all players explain out of sample.
    first_order, total : float arrays of shape (n_players,) or None
        First-order Sobol indices v({j}) and total Sobol indices v(all) - v(all without j); NaN
        for players that were never evaluated.
    standard_errors : dict of float arrays of shape (n_players,) or None
        Standard errors of `raw_effects` by source: "data" (other rows would have given other
        effects), "design" (not all subsets were evaluated), "ensemble" (finitely many trees),
        "algorithm" (the luck of splits and seeds).
    covariance : float array of shape (n_players, n_players) or None
        Total covariance of `raw_effects`.
    p_values : float array of shape (n_players,) or None
        Of "the effect is 0", not adjusted for their number; see `null_test`.
    explained_variance_error : float or None
        Standard error of `explained_variance`.
    n_rows : int
        Rows that v was measured on.
    n_grown : int or None
        Rows that the learners were grown on, where they are fewer; see ``value_rows`` of
        `shaff.ShapleyEffects`.
    n_subsets : int
        Evaluations of v.
    estimator, design, solver : str
        The three steps, by name.
    random_state : int or None
        The seed, where it was an integer.
    notes : tuple of str
        What a reader must know, in plain sentences, the weightiest first.
    target : str or None
        The name of y.
    per_output : dict of float arrays of shape (n_players,) or None
        Effects on each class or output alone, from the same evaluations, when there are several.
        They sum to the explained variance of that output; `effects` are their means, weighted by
        the variances of the outputs (but for the sign constraint).
    per_output_errors : dict of float arrays of shape (n_players,) or None
        Their standard errors.
    plain_effects : float array of shape (n_players,) or None
        The raw effects by the values without correction, what a learner predicts of rows that it
        has not seen; None where no value was corrected. Intervals span both, tests are about
        these.
    plain_explained_variance : float or None
        `explained_variance` without correction.
    screened : float array of shape (n_players,) or None
        For players that a screen has put among "all others" the largest correlation with y that a
        test of them has shown; NaN for those who played by name. None if all did.
    others : dict of str to float or None
        What "all others" have together: "effect", "raw_effect", and if known "plain_effect",
        "standard_error" and "p_value". In the arrays above each of them has an equal part of it.
    interchangeable : tuple of tuples of str
        Groups of players that say nearly the same (correlations beyond 0.99): which of them has
        the credit is a matter of taste, and they share it.
    convergence : float array of shape (n_steps, 2) or None
        Evaluations of v so far, and the largest standard error that the design leaves then.
    directions : dict of str or None
        For players of one column of numbers, which way y goes as they grow: "increasing",
        "decreasing", "U-shaped", "inverted U", "mixed" (it depends, or turns more than once) or
        "none" (next to nothing happens). Others have no order.
    curves : dict of float arrays of shape (2, n_slices), or None
        What these directions are read from: the mean of a player, and of what it adds to the
        prediction, in slices of the rows.
    data : DataSummary or None
        How the table was read, and which columns go together.
    interactions : Interactions or None
        Of pairs of players, where they were asked for; see `ShapleyEffects.interactions`.
    call : str or None
        The Python call that gives this result again.
    versions : dict of str or None
        Of Python and the libraries that took part.
    library : {"pandas", "polars", "pyarrow"} or None
        Of the frame that was explained; `to_frame` gives one of its kind.
    version : str
        The version of shaff that computed the effects.

    Examples
    --------
    >>> from shaff.results.effects import EffectsResult
    >>> result = EffectsResult(
    ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
    ...     explained_variance=0.4, n_rows=442, n_subsets=4,
    ...     estimator="forest", design="exhaustive", solver="least_squares")
    >>> result
    EffectsResult(2 players, explained variance 0.400, largest effect 'bmi' 0.300)
    """

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
    standard_errors: dict[str, FloatArray] | None = None
    covariance: FloatArray | None = None
    p_values: FloatArray | None = None
    explained_variance_error: float | None = None
    random_state: int | None = None
    notes: tuple[str, ...] = ()
    target: str | None = None
    per_output: dict[str, FloatArray] | None = None
    per_output_errors: dict[str, FloatArray] | None = None
    plain_effects: FloatArray | None = None
    plain_explained_variance: float | None = None
    screened: FloatArray | None = None
    others: dict[str, float] | None = None
    interchangeable: tuple[tuple[str, ...], ...] = ()
    convergence: FloatArray | None = None
    directions: dict[str, str] | None = None
    curves: dict[str, FloatArray] | None = None
    data: DataSummary | None = None
    interactions: Interactions | None = None
    call: str | None = None
    versions: dict[str, str] | None = None
    library: Backend | None = None
    n_grown: int | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        p = len(self.names)
        checked: dict[str, Any] = {
            "names": tuple(str(name) for name in self.names),
            "notes": tuple(str(note) for note in self.notes),
            "explained_variance": float(self.explained_variance),
            "interchangeable": tuple(tuple(map(str, g)) for g in self.interchangeable),
            "n_rows": int(self.n_rows),
            "n_subsets": int(self.n_subsets),
        }
        for field, kind in (
            ("explained_variance_error", float),
            ("plain_explained_variance", float),
            ("random_state", int),
            ("n_grown", int),
        ):
            value = getattr(self, field)
            checked[field] = None if value is None else kind(value)
        for field in (
            "effects",
            "raw_effects",
            "plain_effects",
            "first_order",
            "total",
            "p_values",
            "screened",
        ):
            checked[field] = frozen(getattr(self, field), (p,), field)
        if self.others is not None:
            checked["others"] = {str(k): float(v) for k, v in self.others.items()}
        checked["covariance"] = frozen(self.covariance, (p, p), "covariance")
        checked["standard_errors"] = _frozen_errors(self.standard_errors, p)
        for field in ("per_output", "per_output_errors"):
            arrays = getattr(self, field)
            checked[field] = None if arrays is None else _frozen_arrays(arrays, p)
        steps = 0 if self.convergence is None else len(self.convergence)
        checked["convergence"] = frozen(self.convergence, (steps, 2), "convergence")
        if self.directions is not None:
            checked["directions"] = {str(k): str(v) for k, v in self.directions.items()}
        if self.curves is not None:
            checked["curves"] = {str(k): _frozen_curve(c, k) for k, c in self.curves.items()}
        if isinstance(self.data, Mapping):
            checked["data"] = DataSummary.from_content(self.data)
        if isinstance(self.interactions, Mapping):
            checked["interactions"] = Interactions.from_content(self.interactions)
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled and copied arrays are writable: freeze them again.
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def standard_error(self) -> FloatArray | None:
        """Total standard error of each raw effect, shape (n_players,), or None."""
        if self.covariance is not None:
            return np.sqrt(np.diag(self.covariance))
        if self.standard_errors:
            return np.sqrt(sum(np.square(error) for error in self.standard_errors.values()))
        return None

    def confidence_interval(
        self, level: float = 0.95, method: IntervalMethod = "normal"
    ) -> ConfidenceInterval:
        """Intervals of the raw effects, from their standard errors of all sources.

        They reach from the smaller of plain and corrected effects (see `plain_effects`) less a
        quantile of standard errors to the larger of the two, or 0, plus as much: so that they
        cover the true effect where the learners come close to what can be explained. Bias that no
        correction knows is not in them.

        Parameters
        ----------
        level : float, default=0.95
            Between 0 and 1.
        method : {"normal", "nonnegative", "simultaneous"}, default="normal"
            "normal": with a normal quantile; the lower bound may be negative, as raw effects may.
            "nonnegative": the same without what lies below 0, where
            no true effect is; it covers a true effect whenever the normal interval does.
            "simultaneous": wide enough (by Sidak's inequality, which holds for any correlation) to
            cover the effects of all players at once with probability `level`.

        Returns
        -------
        ConfidenceInterval
            ``low`` and ``high``, each of shape (n_players,).

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b"), effects=[0.4, 0.1], raw_effects=[0.4, 0.1],
        ...     explained_variance=0.5, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares", standard_errors={"data": [0.1, 0.1]})
        >>> result.confidence_interval().low.round(3).tolist()
        [0.204, -0.096]
        >>> result.confidence_interval(method="nonnegative").low.round(3).tolist()
        [0.204, 0.0]
        >>> result.confidence_interval(method="simultaneous").low.round(3).tolist()
        [0.176, -0.124]
        """
        _check_level(level)
        if method not in INTERVAL_METHODS:
            raise InputError(f"method={method!r} is unknown: use one of {INTERVAL_METHODS}.")
        error = self.standard_error
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
        """The raw effects with and without correction, the lower and the higher; no effect is
        below 0, so the higher is not."""
        plain = self.raw_effects if self.plain_effects is None else self.plain_effects
        highest = np.maximum(self.raw_effects, plain)
        return np.minimum(self.raw_effects, plain), np.maximum(highest, 0.0)

    def upper_bound(self, level: float = 0.95) -> FloatArray:
        """At most this much: one-sided bounds of the effects, shape (n_players,).

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b"), effects=[0.4, 0.0], raw_effects=[0.4, -0.1],
        ...     explained_variance=0.4, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares", standard_errors={"data": [0.1, 0.1]})
        >>> result.upper_bound().round(3).tolist()
        [0.564, 0.164]
        """
        _check_level(level)
        if self.standard_error is None:
            raise InputError("This result has no standard errors, so it has no bounds.")
        own = self._span[1] + float(ndtri(level)) * self.standard_error
        return np.where(self.is_screened, self._most(level), own)

    @property
    def is_screened(self) -> npt.NDArray[np.bool_]:
        """Players that a screen has put among "all others", shape (n_players,)."""
        if self.screened is None:
            return np.zeros(len(self.names), dtype=bool)
        return np.asarray(~np.isnan(self.screened))

    def _most(self, level: float) -> FloatArray:
        """The most that each of "all others" may have: all that they have together, or what the
        correlation that it has shown allows, if that is more; 0 for other players."""
        if self.screened is None or self.others is None:
            return np.zeros(len(self.names))
        quantile, others = float(ndtri(level)), self.others
        together = max(others["raw_effect"], others["plain_effect"], 0.0)
        together += quantile * others["standard_error"]
        alone = np.maximum(self.screened + quantile / np.sqrt(self.n_rows), 0.0) ** 2
        return np.asarray(np.nan_to_num(np.maximum(alone, together), nan=0.0))

    def null_test(self, adjust: Literal["holm"] | None = "holm") -> FloatArray:
        """p-values of the hypothesis that a player has effect 0: that it tells nothing about y,
        neither by itself nor together with others.

        A small one says that the player helps to predict rows which the model has not seen. A
        large one says little: weak effects are often missed. Players that were screened have
        p-value 1; that of all of them together is in `others`.

        Parameters
        ----------
        adjust : {"holm", None}, default="holm"
            "holm" adjusts for the number of players: calling all effects with a p-value under
            0.05 real, the chance that any of them is not is at most 5 %. None: each by itself.

        Returns
        -------
        float array of shape (n_players,)

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b"), effects=[0.4, 0.1], raw_effects=[0.4, 0.1],
        ...     explained_variance=0.5, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares", p_values=[0.01, 0.2])
        >>> result.null_test().tolist(), result.null_test(adjust=None).tolist()
        ([0.02, 0.2], [0.01, 0.2])
        """
        if adjust not in ("holm", None):
            raise InputError(f'adjust={adjust!r} is unknown: use "holm" or None.')
        if self.p_values is None:
            raise InputError("This result has no p-values.")
        return self.p_values.copy() if adjust is None else adjust_p_values(self.p_values)

    @property
    def _estimates(self) -> FloatArray:
        """The raw effects, and those without correction, shape (1 or 2, n_players)."""
        plain = () if self.plain_effects is None else (self.plain_effects,)
        return np.stack([self.raw_effects, *plain])

    def _total_covariance(self) -> FloatArray:
        """Of the raw effects; without covariances they count as independent."""
        if self.covariance is not None:
            return self.covariance
        if self.standard_error is None:
            raise InputError("This result has no standard errors, so effects cannot be compared.")
        return np.diag(self.standard_error**2)

    def difference(self, a: str | int, b: str | int, level: float = 0.95) -> Difference:
        """Is the effect of ``a`` larger than that of ``b``? With all that the two errors share.

        As with `confidence_interval`, the interval spans the differences with and without
        correction, and the p-value goes with it: it is under 0.05 when a 95 % interval leaves out
        0.

        Parameters
        ----------
        a, b : str or int
            Players, by name or place.
        level : float, default=0.95
            Of the interval.

        Returns
        -------
        Difference
            ``estimate``, ``standard_error``, ``low``, ``high`` and ``p_value``.

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b"), effects=[0.4, 0.1], raw_effects=[0.4, 0.1],
        ...     explained_variance=0.5, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares",
        ...     covariance=[[0.01, 0.002], [0.002, 0.01]])
        >>> found = result.difference("a", "b")
        >>> round(found.estimate, 3), round(found.standard_error, 3), round(found.p_value, 3)
        (0.3, 0.126, 0.018)
        """
        _check_level(level)
        i, j = self._place(a), self._place(b)
        covariance = self._total_covariance()
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        error = float(np.sqrt(max(variance, 0.0)))
        found = self._estimates[:, i] - self._estimates[:, j]
        half = float(ndtri((1 + level) / 2)) * error
        low, high = float(found.min()), float(found.max())
        p_value = float(spanned_p_values(found[:, None], np.array([error]))[0])
        return Difference(float(found[0]), error, low - half, high + half, p_value)

    def _place(self, player: str | int) -> int:
        if isinstance(player, str) and player in self.names:
            return self.names.index(player)
        whole = isinstance(player, int | np.integer) and not isinstance(player, bool)
        if whole and -len(self.names) <= int(player) < len(self.names):
            return int(player)
        raise InputError(f"There is no player {player!r}; there are {listed(self.names)}.")

    def rank_intervals(self, level: float = 0.95) -> RankInterval:
        """Between which ranks each player lies, all of them at once sure at ``level``.

        A player's best rank counts those whose effects are surely larger, its worst those whose
        effects are surely smaller; see `difference`.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        RankInterval
            ``best`` and ``worst``, each of shape (n_players,).

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b", "c"), effects=[0.4, 0.1, 0.1], raw_effects=[0.4, 0.1, 0.1],
        ...     explained_variance=0.6, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares", standard_errors={"data": [0.03] * 3})
        >>> best, worst = result.rank_intervals()
        >>> best.tolist(), worst.tolist()
        ([1, 2, 2], [1, 3, 3])
        """
        _check_level(level)
        above = surely_above(self._estimates, self._total_covariance(), level)
        return RankInterval(1 + above.sum(axis=0), len(self.names) - above.sum(axis=1))

    def explained_interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Interval of the explained variance, within 0 and 1; None without a standard error.

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a",), effects=[0.4], raw_effects=[0.4], explained_variance=0.4, n_rows=99,
        ...     n_subsets=2, estimator="forest", design="exhaustive", solver="least_squares",
        ...     explained_variance_error=0.1)
        >>> [round(bound, 3) for bound in result.explained_interval()]
        [0.204, 0.596]
        """
        _check_level(level)
        if self.explained_variance_error is None:
            return None
        plain, v = self.plain_explained_variance, self.explained_variance
        both = (v,) if plain is None else (v, plain)
        half = float(ndtri((1 + level) / 2)) * self.explained_variance_error
        return max(min(both) - half, 0.0), min(max(max(both) + half, 0.0), 1.0)

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Player indices from the largest effect to the smallest; ties keep their order."""
        return np.argsort(-self.effects, kind="stable")

    @property
    def shares(self) -> FloatArray:
        """Each effect as a share of the explained variance, shape (n_players,).

        NaN where nothing is explained.
        """
        if self.explained_variance > 0:
            return self.effects / self.explained_variance
        return np.full(len(self.names), np.nan)

    def columns(self, level: float = 0.95) -> dict[str, FloatArray]:
        """The arrays with one number a player that this result has, by name."""
        error, sources = self.standard_error, self.standard_errors or {}
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
        }
        return {name: array for name, array in candidates.items() if array is not None}

    def output_columns(self, output: str, level: float = 0.95) -> dict[str, FloatArray]:
        """The same for the effects on one class or output alone; see `per_output`."""
        if self.per_output is None or output not in self.per_output:
            raise InputError(f"There is no output {output!r}; there are {listed(self.outputs)}.")
        effects = self.per_output[output]
        together = float(effects.sum())
        shares = effects / together if together > 0 else np.full(len(effects), np.nan)
        columns = {"effect": effects, "share": shares}
        if self.per_output_errors is None:
            return columns
        error = self.per_output_errors[output]
        half = float(ndtri((1 + level) / 2)) * error
        return {**columns, "low": effects - half, "high": effects + half, "standard_error": error}

    @property
    def outputs(self) -> tuple[str, ...]:
        """Classes or outputs that have effects of their own; none if there is one only."""
        return tuple(self.per_output or ())

    def summary(self, max_players: int = 50) -> str:
        """The effects as a text table, largest first, and what they rest on.

        Parameters
        ----------
        max_players : int, default=50
            Rows of the table; the players left over share one line.

        Returns
        -------
        str

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4, target="progression",
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> print(result.summary())  # doctest: +ELLIPSIS
        Shapley effects on progression
        <BLANKLINE>
        player  effect  share
        bmi      0.300   75 %  ####################
        age      0.100   25 %  #######
        <BLANKLINE>
        The players explain 0.400 of the variance of progression out of sample; 0.600 remains.
        442 rows, 4 subsets; a random forest, design exhaustive, solver least squares; shaff ...
        """
        shown = self.order[:max_players]
        header, rows = summary_table(self, shown)
        lines = [f"Shapley effects on {self.target_name}", "", *aligned([header, *rows])]
        if len(shown) < len(self.names):
            rest = self.effects[self.order[max_players:]]
            lines.append(f"... and {len(rest)} more with {number_text(rest.sum())} together")
        return "\n".join([*lines, "", *self.footer()])

    def footer(self) -> list[str]:
        """Plain sentences: what is explained, how it was computed, and the notes."""
        return [self._explained(), sentences.how(self), *(f"Note: {note}" for note in self.notes)]

    def _explained(self) -> str:
        v, error, plain = (
            self.explained_variance,
            self.explained_variance_error,
            self.plain_explained_variance,
        )
        spread = "" if error is None else f"standard error {error:.3f}"
        whose = f"of the variance of {self.target_name}" + " out of sample" * (plain is None)
        measured = "" if plain is None else f" Measured out of sample, uncorrected: {plain:.3f}."
        if v <= 0:
            figures = ", ".join(filter(None, (f"estimate {number_text(v)}", spread)))
            zero = "" if self.effects.any() else ": all effects are 0"
            return f"The players explain nothing {whose} ({figures}){zero}."
        spread = spread and f" ({spread})"
        return (
            f"The players explain {v:.3f}{spread} {whose}; {number_text(1 - v)} remains.{measured}"
        )

    def to_frame(
        self, backend: Backend | None = None, *, level: float = 0.95, by_output: bool = False
    ) -> Any:
        """One row a player, the largest effect first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the frame that was explained, else pandas.
        level : float, default=0.95
            Of the intervals.
        by_output : bool, default=False
            The effects on each class or output alone: one row for each of them and each player.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``player``, ``effect``, ``share`` (of what is explained), then, where the
            result has them, ``low`` and ``high`` (`confidence_interval`), ``standard_error`` and
            its parts by source (``data_error``, ...), ``p_value`` and ``p_adjusted`` (of
            `null_test`, without and with Holm's adjustment), ``first_order``, ``total``,
            ``raw_effect`` and ``direction`` (see `directions`). With ``by_output`` a column
            ``output`` stands first.

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4,
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> frame = result.to_frame("polars")
        >>> frame["player"].to_list(), frame.columns
        (['bmi', 'age'], ['player', 'effect', 'share', 'raw_effect'])
        """
        _check_level(level)
        backend = backend or self.library or "pandas"
        if by_output:
            return self._frame_by_output(backend, level)
        columns = self._sorted(self.columns(level), self.order)
        return make_frame({**columns, **self.words(self.order)}, backend)

    def words(self, players: IntpArray) -> dict[str, list[str | None]]:
        """What is said of players in words: their directions, if the result knows them."""
        if not self.directions:
            return {}
        return {"direction": [self.directions.get(self.names[j]) for j in players]}

    def _sorted(self, columns: Mapping[str, FloatArray], order: IntpArray) -> dict[str, Any]:
        names = [self.names[j] for j in order]
        return {"player": names, **{name: array[order] for name, array in columns.items()}}

    def _frame_by_output(self, backend: Backend, level: float) -> Any:
        if self.per_output is None:
            raise InputError("This result has one output only: its effects are not by output.")
        parts = [
            self._sorted(self.output_columns(output, level), np.argsort(-effects, kind="stable"))
            for output, effects in self.per_output.items()
        ]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        repeated = [output for output in self.outputs for _ in self.names]
        joined["player"] = joined["player"].tolist()
        return make_frame({"output": repeated, **joined}, backend)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as JSON, which `load_result` reads back bit for bit.

        Parameters
        ----------
        path : path or None
            Where to write it too. The file appears whole or not at all.

        Returns
        -------
        str

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult, load_result
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4,
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> load_result(result.to_json()).effects.tolist()
        [0.1, 0.3]
        """
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("data", "interactions"):
            part = getattr(self, name)
            content[name] = None if part is None else part.content()
        header = {"format": FORMAT, "format_version": FORMAT_VERSION}
        text = json.dumps(
            encoded({**header, **content}), indent=1, ensure_ascii=False, allow_nan=False
        )
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text + "\n", encoding="utf-8")
        return text

    def plot(
        self,
        ax: Any = None,
        max_players: int = 20,
        *,
        kind: Kind = "effects",
        level: float = 0.95,
        sobol: bool = False,
    ) -> Display:
        """A picture of the result; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        max_players : int, default=20
            The largest of them, one a row; those left over share a row, or are left out.
        kind : {"effects", "sobol", "dependence", "convergence", "outputs"}
            Bars with intervals; first-order index, effect and total index side by side; which
            inputs go together; how the design error fell; effects on each class or output.
        level : float, default=0.95
            Of the intervals.
        sobol : bool, default=False
            Draw the Sobol indices too, in a panel of their own beside the bars.

        Returns
        -------
        Display
            One of the classes of `shaff.show.plots`, with its data, and the axes and figure as
            ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4,
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> display = result.plot()
        >>> display.figure_.savefig("effects.png")  # doctest: +SKIP
        """
        from shaff.show.plots import plot_result

        return plot_result(self, kind, ax=ax, max_players=max_players, level=level, sobol=sobol)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        call: str | None = None,
        data: DataSummary | None = None,
        interactions: Interactions | None = None,
        local: LocalEffects | None = None,
    ) -> Path:
        """A report in one file that opens in any browser, without a network; needs jinja2
        (``pip install "shaff[report]"``).

        Parameters
        ----------
        path : path
            The file appears whole or not at all.
        title : str or None
            None names the outcome.
        call : str or None
            How to get this result again, if not by the Python call that it carries.
        data : DataSummary or None
            Another account of the data than the one the result carries.
        interactions : Interactions or None
            A section on them, if the result does not carry any; see `ShapleyEffects.interactions`.
        local : LocalEffects or None
            Rows to tell of besides, see `ShapleyEffects.explain`.

        Returns
        -------
        Path

        Examples
        --------
        >>> from shaff.results.effects import EffectsResult
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4,
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> result.to_html("report.html")  # doctest: +SKIP
        PosixPath('report.html')
        """
        from shaff.show.report import render

        told = replace(
            self,
            call=call or self.call,
            data=data or self.data,
            interactions=interactions or self.interactions,
        )
        page = render(told, title, local)
        with replacing(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return Path(path)

    def log_to_mlflow(self, run_id: str | None = None) -> None:
        """Into a run of MLflow: figures as metrics, and ``effects.json``, ``report.html`` and
        ``effects.png`` as artifacts; needs ``mlflow``, jinja2 and matplotlib.

        Parameters
        ----------
        run_id : str or None
            None means the active run, or a new one.
        """
        from shaff.show.tracking import log_to_mlflow

        log_to_mlflow(self, run_id)

    def __repr__(self) -> str:
        players = counted(len(self.names), "player")
        text = f"{players}, explained variance {number_text(self.explained_variance)}"
        if self.names:
            top = self.order[0]
            text += f", largest effect {self.names[top]!r} {number_text(self.effects[top])}"
        return f"EffectsResult({text})"

    def _repr_html_(self) -> str:
        from shaff.show.notebook import result_html

        return result_html(self)

    @property
    def target_name(self) -> str:
        """The name of y, or "y"."""
        return "y" if self.target is None else self.target


def load_result(source: str | os.PathLike[str]) -> EffectsResult:
    """Read what `EffectsResult.to_json` wrote.

    Parameters
    ----------
    source : path, or the JSON text itself

    Returns
    -------
    EffectsResult

    Examples
    --------
    >>> from shaff import load_result
    >>> load_result("{}")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: the text is not a result of shaff: ...
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    origin = "the text" if is_text else os.fspath(source)
    text = str(source) if is_text else Path(source).read_text(encoding="utf-8", errors="replace")
    content = read_content(text, origin, FORMAT, READ_VERSIONS)
    known = {field.name for field in fields(EffectsResult)}
    arguments = {name: content[name] for name in known & content.keys()}
    try:
        return EffectsResult(**arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"{origin} is a damaged result of shaff: {error}") from error


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level!r}.")


def _frozen_curve(curve: npt.ArrayLike, name: str) -> FloatArray | None:
    return frozen(curve, (2, len(np.atleast_2d(curve)[0])), f"the curve of {name!r}")


def _frozen_errors(
    errors: Mapping[str, npt.ArrayLike] | None, p: int
) -> dict[str, FloatArray] | None:
    if errors is None:
        return None
    unknown = set(errors) - set(ERROR_SOURCES)
    if unknown:
        raise InputError(f"standard_errors has unknown sources {sorted(unknown)}.")
    return _frozen_arrays(errors, p)


def _frozen_arrays(arrays: Mapping[str, npt.ArrayLike], p: int) -> dict[str, FloatArray]:
    copies = {str(name): frozen(array, (p,), str(name)) for name, array in arrays.items()}
    return {name: array for name, array in copies.items() if array is not None}
