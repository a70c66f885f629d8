"""Proportional marginal effects: shares that leave nothing to inputs others can replace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shaff._util.arrays import frozen
from shaff._util.frames import Backend, installed_backend, make_frame, sorted_columns
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted
from shaff.errors import InputError
from shaff.results.base import Result, check_level
from shaff.results.intervals import ConfidenceInterval
from shaff.uncertainty.shortfall import CORRECTION_REACH

if TYPE_CHECKING:
    from shaff.results.base import Display

# An effect of fewer standard errors counts as near 0, where it is not normal: intervals come from
# draws there. More, and draws that spread to one side widen clear effects
# (`benchmarks.questions coverage`).
NEAR_ZERO = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class ProportionalMarginalEffects(Result):
    """Proportional marginal effects of all inputs, and their uncertainty.

    They divide the same explained variance as the Shapley effects, in proportion to what is lost
    without an input (docs/theory.md, section 17). An input that acts only through others, so that
    they carry all of its information, has 0.

    Parameters
    ----------
    names : tuple of str
        The inputs.
    effects : float array of shape (n_inputs,)
        Proportional marginal effects; they sum to the explained variance. Sets of inputs without
        which nothing is lost, within its standard error, count as such.
    explained_variance : float
    standard_errors : float array of shape (n_inputs,) or None
        From the gradient of the effects and the influence of each row; near 0, where that fails,
        from the spread of `draws`.
    plain_effects : float array of shape (n_inputs,) or None
        Effects from the values without correction, where some value was corrected.
    draws : float array of shape (n_draws, n_inputs) or None
        Effects from new draws of the influences of the rows, for intervals near 0.
    shapley : float array of shape (n_inputs,) or None
        The Shapley effects of the same fit.
    n_rows, n_subsets : int
        Number of rows that v was measured on, and of evaluations of v.
    target : str or None
        Name of the outcome.
    notes : tuple of str
        What a reader must know.
    library : {"pandas", "polars", "pyarrow"} or None
        Library of the given data frame.

    Examples
    --------
    >>> from shaff.results.marginal import ProportionalMarginalEffects
    >>> found = ProportionalMarginalEffects(("cause", "proxy"), [0.4, 0.0], 0.4, n_rows=442)
    >>> found
    ProportionalMarginalEffects(2 inputs, explained variance 0.400, largest 'cause' 0.400)
    """

    _format: ClassVar[str] = "shaff.ProportionalMarginalEffects"

    names: tuple[str, ...]
    effects: FloatArray
    explained_variance: float
    standard_errors: FloatArray | None = None
    plain_effects: FloatArray | None = None
    draws: FloatArray | None = None
    shapley: FloatArray | None = None
    n_rows: int = 0
    n_subsets: int = 0
    target: str | None = None
    notes: tuple[str, ...] = ()
    library: Backend | None = None

    def __post_init__(self) -> None:
        p = len(self.names)
        n_draws = 0 if self.draws is None else len(self.draws)
        shapes = {"effects": (p,), "standard_errors": (p,), "plain_effects": (p,),
                  "shapley": (p,), "draws": (n_draws, p)}  # fmt: skip
        arrays = {name: frozen(getattr(self, name), shape, name) for name, shape in shapes.items()}
        self._set({
            "names": tuple(map(str, self.names)),
            "notes": tuple(map(str, self.notes)),
            "explained_variance": float(self.explained_variance),
            **arrays,
        })  # fmt: skip

    @property
    def order(self) -> IntpArray:
        """Positions of the inputs, the largest effect first."""
        return np.argsort(-self.effects, kind="stable")

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return intervals of the effects, each bound of shape (n_inputs,).

        They span the effects with and without correction, reach beyond by what the learners are
        likely to miss, as far as the correction tells, and do not go below 0. Near 0 they hold the
        middle of the draws.

        Examples
        --------
        >>> from shaff.results.marginal import ProportionalMarginalEffects
        >>> found = ProportionalMarginalEffects(("a", "b"), [0.4, 0.2], 0.6, [0.01, 0.01])
        >>> found.confidence_interval().low.round(3).tolist()
        [0.38, 0.18]
        """
        check_level(level)
        if self.standard_errors is None:
            raise InputError("These effects have no standard errors, so they have no intervals.")
        both = np.stack([self.effects, self._plain])
        low, high = ConfidenceInterval.spanning(both, self.standard_errors, level)
        if self.draws is not None and len(self.draws):
            near = self.effects < NEAR_ZERO * self.standard_errors
            ends = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            low = np.where(near, np.minimum(ends[0], both.min(axis=0)), low)
            high = np.where(near, np.maximum(ends[1], both.max(axis=0)), high)
        missed = CORRECTION_REACH * np.abs(self.effects - self._plain)
        return ConfidenceInterval(np.maximum(low - missed, 0.0), high + missed)

    @property
    def _plain(self) -> FloatArray:
        return self.effects if self.plain_effects is None else self.plain_effects

    @property
    def shares(self) -> FloatArray:
        """Each effect as a share of the explained variance; NaN where nothing is explained."""
        if self.explained_variance > 0:
            return self.effects / self.explained_variance
        return np.full(len(self.names), np.nan)

    def _columns(self, level: float = 0.95) -> dict[str, FloatArray]:
        """Numbers of each input, column by column."""
        columns = {"effect": self.effects, "share": self.shares}
        if self.standard_errors is not None:
            low, high = self.confidence_interval(level)
            columns |= {"low": low, "high": high, "standard_error": self.standard_errors}
        return columns if self.shapley is None else {**columns, "shapley": self.shapley}

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """Return a data frame with one line per input, the largest effect first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the given data frame, else the first of the three that is
            installed.
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``input``, ``effect``, ``share``, with errors ``low``, ``high`` and
            ``standard_error``, and ``shapley``, the Shapley effect.

        Examples
        --------
        >>> from shaff.results.marginal import ProportionalMarginalEffects
        >>> found = ProportionalMarginalEffects(("cause", "proxy"), [0.4, 0.0], 0.4)
        >>> found.to_frame("polars").columns
        ['input', 'effect', 'share']
        """
        columns = sorted_columns(self.names, self._columns(level), self.order)
        return make_frame(columns, backend or self.library or installed_backend())

    def summary(self, max_inputs: int = 50) -> str:
        """Return the effects as a text table, the largest first.

        Parameters
        ----------
        max_inputs : int, default=50
            Number of lines of the table.

        Examples
        --------
        >>> from shaff.results.marginal import ProportionalMarginalEffects
        >>> found = ProportionalMarginalEffects(("cause", "proxy"), [0.4, 0.0], 0.4, n_rows=442)
        >>> print(found.summary())
        Proportional marginal effects on y
        <BLANKLINE>
        input  effect  share
        cause   0.400  100 %
        proxy       0  0 %
        <BLANKLINE>
        0: other inputs carry all of its information. All inputs explain 0.400.
        442 rows, 0 subsets.
        """
        return self._summary(max_inputs)

    def plot(
        self, kind: str = "effects", *, ax: Any = None, max_inputs: int = 20, level: float = 0.95
    ) -> Display:
        """Draw the effects, beside the Shapley effects; needs matplotlib
        (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"effects"}, default="effects"
            Bars with intervals, and a mark for each Shapley effect.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of inputs drawn, those with the largest effects.
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        MarginalDisplay

        Examples
        --------
        >>> from shaff.results.marginal import ProportionalMarginalEffects
        >>> ProportionalMarginalEffects(("a", "b"), [0.4, 0.0], 0.4).plot()
        MarginalDisplay(2 inputs, on y)
        """
        return self._plot(kind, ax=ax, max_inputs=max_inputs, level=level)

    def __repr__(self) -> str:
        text = f"{counted(len(self.names), 'input')}, explained variance "
        text += f"{self.explained_variance:z.3f}"
        if self.names:
            top = self.order[0]
            text += f", largest {self.names[top]!r} {self.effects[top]:z.3f}"
        return f"ProportionalMarginalEffects({text})"
