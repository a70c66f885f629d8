"""Interactions: what two inputs explain together beyond what each explains by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shaff._util.arrays import frozen
from shaff._util.frames import Backend, installed_backend, make_frame
from shaff._util.statistics import symmetric
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted
from shaff.errors import InputError
from shaff.results.base import Result, check_level
from shaff.results.intervals import ConfidenceInterval
from shaff.uncertainty.inference import adjust_p_values, spanned_p_values
from shaff.uncertainty.shortfall import CORRECTION_REACH

if TYPE_CHECKING:
    from shaff.results.base import Display


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Result):
    """Shapley interaction indices of all pairs of inputs, and their uncertainty.

    The index of two inputs is how much more one of them adds when the other is known, averaged over
    the subsets of further inputs that may be known (the Shapley-Owen effect of the pair). Above 0
    they explain more together than apart, as factors of a product do; below 0 they share
    information, as dependent inputs do. The indices of all pairs of an input sum to its total minus
    its first-order Sobol index.

    Parameters
    ----------
    names : tuple of str
        All inputs.
    looked_at : int array of shape (n_looked_at,)
        Positions of the inputs whose pairs were evaluated; the others were screened, and have 0.
    pair_values : float array of shape (n_pairs,)
        Indices of their pairs, in the order of ``numpy.triu_indices(n_looked_at, 1)``, from the
        same corrected values as the effects.
    pair_errors : dict of float arrays of shape (n_pairs,) or None
        Standard errors by source: "data", "design", "ensemble", "algorithm"; see
        `EffectsResult.errors_by_source`.
    plain_pair_values : float array of shape (n_pairs,) or None
        Indices from the values without correction, where some value was corrected.
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
    >>> from shaff.results.interactions import Interactions
    >>> found = Interactions(("age", "bmi"), [0, 1], [0.1], {"data": [0.02]}, n_rows=442)
    >>> found.values.tolist()
    [[0.0, 0.1], [0.1, 0.0]]
    >>> found
    Interactions(2 inputs, strongest 'age' and 'bmi' 0.100)
    """

    _format: ClassVar[str] = "shaff.Interactions"

    names: tuple[str, ...]
    looked_at: IntpArray
    pair_values: FloatArray
    pair_errors: dict[str, FloatArray] | None = None
    plain_pair_values: FloatArray | None = None
    n_rows: int = 0
    n_subsets: int = 0
    target: str | None = None
    notes: tuple[str, ...] = ()
    library: Backend | None = field(default=None)

    def __post_init__(self) -> None:
        looked_at = np.array(self.looked_at, dtype=np.intp).reshape(-1)
        n_pairs = len(looked_at) * (len(looked_at) - 1) // 2
        if len(looked_at) and not 0 <= looked_at.min() <= looked_at.max() < len(self.names):
            raise InputError(f"looked_at must hold positions of the {len(self.names)} inputs.")
        errors = self.pair_errors or None  # of no source are none
        looked_at.setflags(write=False)
        checked: dict[str, Any] = {
            "names": tuple(map(str, self.names)),
            "notes": tuple(map(str, self.notes)),
            "looked_at": looked_at,
            "pair_values": frozen(self.pair_values, (n_pairs,), "pair_values"),
            "plain_pair_values": frozen(self.plain_pair_values, (n_pairs,), "plain_pair_values"),
            "pair_errors": None
            if errors is None
            else {source: frozen(e, (n_pairs,), "pair_errors") for source, e in errors.items()},
        }
        self._set(checked)

    @property
    def values(self) -> FloatArray:
        """The indices, shape (n_inputs, n_inputs): symmetric, and 0 on the diagonal."""
        return self._matrix(self.pair_values, 0.0)

    @property
    def standard_errors(self) -> FloatArray | None:
        """Total standard errors, shape (n_inputs, n_inputs); NaN for screened inputs."""
        error = self.pair_standard_errors
        return None if error is None else self._matrix(error, np.nan)

    @property
    def pair_standard_errors(self) -> FloatArray | None:
        """Total standard errors of the pairs, shape (n_pairs,)."""
        if self.pair_errors is None:
            return None
        squares = [np.square(error) for error in self.pair_errors.values()]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)), dtype=np.float64)

    def _matrix(self, pairs: FloatArray, elsewhere: float) -> FloatArray:
        """Numbers of pairs as a matrix of all inputs, ``elsewhere`` for screened inputs."""
        matrix = np.full((len(self.names),) * 2, elsewhere)
        inner = symmetric(pairs, len(self.looked_at))
        matrix[np.ix_(self.looked_at, self.looked_at)] = inner
        return matrix

    @property
    def pairs(self) -> IntpArray:
        """Positions of the two inputs of each pair, shape (n_pairs, 2)."""
        first, second = np.triu_indices(len(self.looked_at), 1)
        return np.stack([self.looked_at[first], self.looked_at[second]], axis=1)

    @property
    def order(self) -> IntpArray:
        """Positions of the pairs, the strongest first, regardless of sign."""
        return np.argsort(-np.abs(self.pair_values), kind="stable")

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return intervals of the pairs, each bound of shape (n_pairs,).

        As those of effects they reach from the smaller of the plain and the corrected index minus a
        quantile of standard errors to the larger of the two plus the same; and beyond, both ways,
        by what the learners are likely to miss, as far as the correction tells.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("age", "bmi"), [0, 1], [0.1], {"data": [0.02]})
        >>> found.confidence_interval().low.round(3).tolist()
        [0.061]
        """
        check_level(level)
        error = self.pair_standard_errors
        if error is None:
            raise InputError("These interactions have no standard errors, so no intervals.")
        low, high = ConfidenceInterval.spanning(
            np.stack([self.pair_values, self._plain]), error, level
        )
        missed = CORRECTION_REACH * np.abs(self.pair_values - self._plain)
        return ConfidenceInterval(low - missed, high + missed)

    @property
    def _plain(self) -> FloatArray:
        return self.pair_values if self.plain_pair_values is None else self.plain_pair_values

    def null_test(self, adjust: str | None = "holm") -> FloatArray:
        """Return two-sided p-values of "the two inputs do not interact", shape (n_pairs,).

        They use the values without correction; ``adjust="holm"`` controls the chance of any false
        positive among all pairs, None does not adjust.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("a", "b", "c"), [0, 1, 2], [0.1, 0, 0], {"data": [0.05] * 3})
        >>> found.null_test().round(3).tolist()
        [0.137, 1.0, 1.0]
        """
        if adjust not in ("holm", None):
            raise InputError(f'adjust={adjust!r} is unknown: use "holm" or None.')
        error = self.pair_standard_errors
        if error is None:
            raise InputError("These interactions have no standard errors, so no test.")
        p_values = spanned_p_values(self._plain[None], error)
        return p_values if adjust is None else adjust_p_values(p_values)

    def _columns(self, level: float = 0.95) -> dict[str, FloatArray]:
        """Numbers of each pair, column by column."""
        columns = {"interaction": self.pair_values}
        if self.pair_errors is None:
            return columns
        low, high = self.confidence_interval(level)
        error = self.pair_standard_errors
        assert error is not None
        by_source = {f"{source}_error": e for source, e in self.pair_errors.items()}
        tests = {"p_value": self.null_test(None), "p_adjusted": self.null_test()}
        return {
            **columns, "low": low, "high": high, "standard_error": error, **by_source, **tests,
        }  # fmt: skip

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """Return a data frame with one line per pair, the strongest first, without screened inputs.

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
            Columns ``input_1``, ``input_2``, ``interaction``, and with errors ``low``, ``high``,
            ``standard_error`` and its parts by source, ``p_value`` and ``p_adjusted``.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("a", "b", "c"), [0, 1, 2], [0.1, 0.0, -0.2])
        >>> found.to_frame("polars")["input_1"].to_list()
        ['b', 'a', 'a']
        """
        order, pairs = self.order, self.pairs
        members = {
            name: [self.names[j] for j in pairs[order, side]]
            for side, name in enumerate(("input_1", "input_2"))
        }
        numbers = {name: array[order] for name, array in self._columns(level).items()}
        return make_frame({**members, **numbers}, backend or self.library or installed_backend())

    def summary(self, max_pairs: int = 20) -> str:
        """Return the strongest pairs as a text table.

        Parameters
        ----------
        max_pairs : int, default=20
            Number of lines of the table.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("age", "bmi"), [0, 1], [0.1], n_rows=442, n_subsets=3)
        >>> print(found.summary())
        Interactions on y
        <BLANKLINE>
        inputs          kind  interaction
        age and bmi  synergy  0.100
        <BLANKLINE>
        Synergy (above 0): more together than apart. Overlap (below 0): shared information.
        442 rows, 3 subsets.
        """
        return self._summary(max_pairs)

    def plot(
        self, kind: str = "heatmap", *, ax: Any = None, max_inputs: int = 20, level: float = 0.95
    ) -> Display:
        """Draw the interactions; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"heatmap"}, default="heatmap"
            A cell for each pair.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of inputs drawn, those in the strongest pairs.
        level : float, default=0.95
            Level of the intervals that decide which cells are pale.

        Returns
        -------
        InteractionsDisplay

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> Interactions(("a", "b"), [0, 1], [0.1]).plot()
        InteractionsDisplay(2 inputs, on y)
        """
        return self._plot(kind, ax=ax, max_inputs=max_inputs, level=level)

    def __repr__(self) -> str:
        text = counted(len(self.names), "input")
        if len(self.pair_values):
            top = self.order[0]
            one, other = (repr(self.names[j]) for j in self.pairs[top])
            text += f", strongest {one} and {other} {self.pair_values[top]:z.3f}"
        return f"Interactions({text})"
