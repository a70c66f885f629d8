"""Two results side by side: which effects differ, and how sure that is."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from shaff._util.arrays import frozen
from shaff._util.files import replacing
from shaff._util.frames import Backend, installed_backend, make_frame, sorted_columns
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted
from shaff.errors import InputError
from shaff.results.base import Result, check_level
from shaff.results.intervals import ConfidenceInterval
from shaff.uncertainty.inference import adjust_p_values, joint_p_value, spanned_p_values

if TYPE_CHECKING:
    from shaff.results.base import Display

Units = Literal["share", "variance"]
UNITS: tuple[Units, ...] = get_args(Units)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Differences of the effects of two results, input by input. See `compare`.

    Differences are second minus first.

    Parameters
    ----------
    names : tuple of str
        Inputs of both results.
    effects : float array of shape (2, n_inputs)
        Raw effects of the first and of the second result, whose differences these are.
    estimates : float array of shape (n_ways, n_inputs)
        Differences of the raw effects: from corrected values, and where there are any from plain
        ones.
    standard_errors : float array of shape (n_inputs,)
        Standard errors of the differences.
    labels : (str, str)
        Names of the two results.
    outcome_variances : float array of shape (2,) or None
        Variance of the outcome in each. Effects are shares of it: where it differs, a share may
        change although an input does as much as before.
    variance_estimates : float array of shape (n_ways, n_inputs) or None
        As ``estimates``, of the effects in units of the variance of the outcome.
    variance_errors : float array of shape (n_inputs,) or None
        Standard errors of these.
    covariance, variance_covariance : float arrays of shape (n_inputs, n_inputs) or None
        Covariances of the differences, in shares and in units of the variance.
    n_shared : int
        Number of rows that both rest on and by which the errors are paired; 0 if the two are taken
        as independent.
    notes : tuple of str
        What a reader must know.
    library : {"pandas", "polars", "pyarrow"} or None
        Library of the given data frame.
    measure : str, default="variance"
        What effects are shares of.

    Examples
    --------
    >>> from shaff.results.comparison import Comparison
    >>> found = Comparison(("age",), [[0.1], [0.4]], [[0.3]], [0.1])
    >>> found.p_values.round(4).tolist()
    [0.0027]
    """

    _format: ClassVar[str] = "shaff.Comparison"
    # Version 1 had reported effects in the place of raw ones, and shares only; version 2 had no
    # covariances.
    _versions: ClassVar[tuple[int, ...]] = (1, 2, 3)

    names: tuple[str, ...]
    effects: FloatArray
    estimates: FloatArray
    standard_errors: FloatArray
    labels: tuple[str, str] = ("a", "b")
    notes: tuple[str, ...] = ()
    library: Backend | None = None
    outcome_variances: FloatArray | None = None
    variance_estimates: FloatArray | None = None
    variance_errors: FloatArray | None = None
    covariance: FloatArray | None = None
    variance_covariance: FloatArray | None = None
    n_shared: int = 0
    measure: str = "variance"

    def __post_init__(self) -> None:
        p, one, other = len(self.names), *map(str, self.labels)
        self._set({
            "names": tuple(map(str, self.names)),
            "effects": frozen(self.effects, (2, p), "effects"),
            "estimates": frozen(self.estimates, (len(self.estimates), p), "estimates"),
            "standard_errors": frozen(self.standard_errors, (p,), "standard_errors"),
            "outcome_variances": frozen(self.outcome_variances, (2,), "outcome_variances"),
            "variance_estimates": self._checked_variances(p),
            "variance_errors": frozen(self.variance_errors, (p,), "variance_errors"),
            "covariance": frozen(self.covariance, (p, p), "covariance"),
            "variance_covariance": frozen(self.variance_covariance, (p, p), "variance_covariance"),
            "n_shared": int(self.n_shared),
            "labels": (one, other),
            "notes": tuple(map(str, self.notes)),
        })  # fmt: skip

    def _checked_variances(self, n_inputs: int) -> FloatArray | None:
        given = self.variance_estimates
        shape = (0 if given is None else len(given), n_inputs)
        return frozen(given, shape, "variance_estimates")

    def in_variance(self) -> Comparison:
        """Return the same comparison in units of the variance of the outcome, not in shares of it.

        An input that does as much as before keeps its effect in these units, whatever else makes
        the outcome vary more. The units are those of the outcome, squared.

        Examples
        --------
        >>> from shaff.results.comparison import Comparison
        >>> found = Comparison(
        ...     ("age",), [[0.5], [0.25]], [[-0.25]], [0.1], outcome_variances=[1.0, 2.0],
        ...     variance_estimates=[[0.0]], variance_errors=[0.15])
        >>> found.in_variance().effects.tolist()
        [[0.5], [0.5]]
        """
        found, errors = self.variance_estimates, self.variance_errors
        if self.outcome_variances is None or found is None or errors is None:
            raise InputError("These results do not have the variance of the outcome.")
        return replace(
            self,
            effects=self.effects * self.outcome_variances[:, None],
            estimates=found,
            standard_errors=errors,
            covariance=self.variance_covariance,
            outcome_variances=None,
            variance_estimates=None,
            variance_errors=None,
            variance_covariance=None,
        )

    def _in(self, units: Units) -> Comparison:
        """The comparison in some units."""
        if units not in UNITS:
            known = " or ".join(f'"{name}"' for name in UNITS)
            raise InputError(f"units={units!r} is unknown: use {known}.")
        return self.in_variance() if units == "variance" else self

    @property
    def differences(self) -> FloatArray:
        """Second minus first, shape (n_inputs,)."""
        return np.asarray(self.estimates[0])

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-values of "the two effects are equal", not adjusted for their number."""
        return spanned_p_values(self.estimates, self.standard_errors)

    @property
    def p_adjusted(self) -> FloatArray:
        """The same p-values, adjusted for their number by Holm's method."""
        return adjust_p_values(self.p_values)

    @property
    def joint_p_value(self) -> float | None:
        """P-value of "all effects are equal", for all inputs at once; None where no covariances
        are known.

        It finds changes that are spread over many inputs, none of which is clear by itself.
        `p_adjusted` says which inputs changed.
        """
        return None if self.covariance is None else joint_p_value(self.estimates, self.covariance)

    @property
    def order(self) -> IntpArray:
        """Positions of the inputs, the largest difference first, regardless of sign."""
        return np.argsort(-np.abs(self.differences), kind="stable")

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return intervals of the differences; as those of effects they span plain and corrected
        values."""
        check_level(level)
        return ConfidenceInterval.spanning(self.estimates, self.standard_errors, level)

    def to_frame(
        self,
        backend: Backend | None = None,
        *,
        level: float = 0.95,
        units: Units | None = None,
    ) -> Any:
        """Return a data frame with one line per input, the largest difference first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the given data frame, else the first of the three that is
            installed.
        level : float, default=0.95
            Level of the intervals.
        units : {"share", "variance"} or None, default=None
            Effects as shares of the variance, or in units of the variance; None has both, the
            latter where they are known.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``input``, the two raw effects, ``difference``, ``low``, ``high``,
            ``standard_error``, ``p_value`` and ``p_adjusted`` (Holm's). With both units, those of
            the variance follow as ``variance_difference`` and so on.
        """
        shown = self if units is None else self._in(units)
        columns = shown._columns(level)
        if units is None and self.outcome_variances is not None:
            for name, array in self.in_variance()._columns(level).items():
                columns[f"variance_{name}"] = array
        sorted_ones = sorted_columns(self.names, columns, shown.order)
        return make_frame(sorted_ones, backend or self.library or installed_backend())

    def _columns(self, level: float) -> dict[str, FloatArray]:
        low, high = self.confidence_interval(level)
        return {
            **{f"effect_{k}": e for k, e in zip(self.labels, self.effects, strict=True)},
            "difference": self.differences,
            "low": low,
            "high": high,
            "standard_error": self.standard_errors,
            "p_value": self.p_values,
            "p_adjusted": self.p_adjusted,
        }

    def summary(
        self, max_inputs: int = 20, *, level: float = 0.95, units: Units | None = None
    ) -> str:
        """Return the largest differences as a text table: of shares, and where they are known of
        effects in units of the variance of the outcome.

        Parameters
        ----------
        max_inputs : int, default=20
            Number of lines of the table.
        level : float, default=0.95
            Level of the intervals.
        units : {"share", "variance"} or None, default=None
            One of the two tables; None has both.

        Examples
        --------
        >>> from shaff.results.comparison import Comparison
        >>> found = Comparison(("age",), [[0.1], [0.4]], [[0.3]], [0.1], ("men", "women"))
        >>> print(found.summary())
        Shares of the variance, women minus men
        <BLANKLINE>
        input    men  women  difference  error  p (Holm)  95 % interval
        age    0.100  0.400       0.300  0.100     0.003  0.104 to 0.496
        <BLANKLINE>
        The two results are taken as independent.
        """
        return self._summary(max_inputs, level=level, units=units)

    def to_html(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write the comparison as one HTML file that needs no network; needs jinja2
        (``pip install "shaff[report]"``).

        Parameters
        ----------
        path : path
            The file appears whole or not at all.
        title : str or None, default=None
            None names the two results.

        Returns
        -------
        Path
        """
        from shaff.show.report import render_comparison

        page = render_comparison(self, title)
        with replacing(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return Path(path)

    def plot(
        self,
        kind: str = "differences",
        *,
        ax: Any = None,
        max_inputs: int = 20,
        level: float = 0.95,
        units: Units = "share",
    ) -> Display:
        """Draw the differences; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"differences"}, default="differences"
            Bars with intervals.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of inputs drawn, those with the largest differences.
        level : float, default=0.95
            Level of the intervals.
        units : {"share", "variance"}, default="share"
            Differences of shares of the variance, or of what these shares amount to.

        Returns
        -------
        ComparisonDisplay
        """
        return self._plot(kind, ax=ax, max_inputs=max_inputs, level=level, units=units)

    def __repr__(self) -> str:
        n_sure = int((self.p_adjusted < 0.05).sum())
        return f"Comparison({counted(len(self.names), 'input')}, {n_sure} significantly different)"
