"""What moved the mean of an outcome between two tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import stdtr, stdtrit

from shaff._util.arrays import frozen
from shaff._util.frames import Backend, installed_backend, make_frame
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted
from shaff.results.base import Result, check_level
from shaff.results.intervals import ConfidenceInterval
from shaff.uncertainty.inference import adjust_p_values

if TYPE_CHECKING:
    from shaff.results.base import Display

MECHANISM = "mechanism"


@dataclass(frozen=True, eq=False, repr=False)
class Change(Result):
    """The change of an outcome's mean, divided among its causes. See `explain_change`.

    Arrays with an entry more than there are inputs have that of the mechanism last.

    Parameters
    ----------
    names : tuple of str
        The inputs.
    parts : float array of shape (n_inputs,)
        What the change of each input's distribution adds to the mean.
    mechanism : float
        What is added because the same inputs lead to another outcome.
    means : float array of shape (2,)
        Mean of the outcome in each table.
    covariance : float array of shape (n_inputs + 1, n_inputs + 1)
        Covariance of the parts.
    n_splits : int
        Number of splits that the covariance was estimated from.
    n_rows : (int, int)
        Number of rows of the tables.
    labels : (str, str)
        Names of the tables.
    target : str or None
        Name of the outcome.
    notes : tuple of str
        What a reader must know.
    library : {"pandas", "polars", "pyarrow"} or None
        Library of the given data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.results.change import Change
    >>> found = Change(("age",), [0.5], 0.1, [1.0, 1.6], np.diag([0.01, 0.01]), 6, (90, 80))
    >>> found.total
    0.6000000000000001
    >>> found
    Change(0.6 of y: 0.5 by 1 input, 0.1 by mechanism)
    """

    _format: ClassVar[str] = "shaff.Change"

    names: tuple[str, ...]
    parts: FloatArray
    mechanism: float
    means: FloatArray
    covariance: FloatArray
    n_splits: int
    n_rows: tuple[int, int]
    labels: tuple[str, str] = ("before", "after")
    target: str | None = None
    notes: tuple[str, ...] = ()
    library: Backend | None = None

    def __post_init__(self) -> None:
        p, (one, other), (first, second) = len(self.names), self.labels, self.n_rows
        self._set({
            "names": tuple(map(str, self.names)),
            "parts": frozen(self.parts, (p,), "parts"),
            "mechanism": float(self.mechanism),
            "means": frozen(self.means, (2,), "means"),
            "covariance": frozen(self.covariance, (p + 1, p + 1), "covariance"),
            "n_splits": int(self.n_splits),
            "n_rows": (int(first), int(second)),
            "labels": (str(one), str(other)),
            "notes": tuple(map(str, self.notes)),
        })  # fmt: skip

    @property
    def total(self) -> float:
        """Mean of the second table minus that of the first: all parts and the mechanism."""
        return float(self.means[1] - self.means[0])

    @property
    def estimates(self) -> FloatArray:
        """All parts, that of the mechanism last."""
        return np.append(self.parts, self.mechanism)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of `estimates`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def inputs_part(self) -> float:
        """What all inputs together add to the mean."""
        return float(self.parts.sum())

    @property
    def inputs_error(self) -> float:
        """Standard error of `inputs_part`."""
        return float(np.sqrt(self.covariance[:-1, :-1].sum()))

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-values of "this part is 0", not adjusted for their number."""
        errors, size = self.standard_errors, np.abs(self.estimates)
        none = np.where(size > 0, np.inf, 0.0)
        ratio = np.divide(size, errors, out=none, where=errors > 0)
        return np.asarray(2 * stdtr(self.n_splits, -ratio))

    @property
    def order(self) -> IntpArray:
        """Positions of the inputs, the largest part first, regardless of sign."""
        return np.argsort(-np.abs(self.parts), kind="stable")

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return intervals of `estimates`, by Student's t: the errors are estimates from a few
        splits themselves."""
        check_level(level)
        half = self._quantile(level) * self.standard_errors
        return ConfidenceInterval(self.estimates - half, self.estimates + half)

    def inputs_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of `inputs_part`."""
        check_level(level)
        half = self._quantile(level) * self.inputs_error
        return self.inputs_part - half, self.inputs_part + half

    def _quantile(self, level: float) -> float:
        return float(stdtrit(self.n_splits, (1 + level) / 2))

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """Return a data frame with one line per input, the largest part first, and the mechanism.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the given data frame, else the first of the three that is
            installed.
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        data frame
            Columns ``cause`` (the name of an input, or "mechanism"), ``kind`` ("input" or
            "mechanism"), ``change``, ``low``, ``high``, ``standard_error``, ``p_value`` and
            ``p_adjusted`` (Holm's).
        """
        low, high = self.confidence_interval(level)
        order = np.append(self.order, len(self.names))
        columns = {
            "change": self.estimates,
            "low": low,
            "high": high,
            "standard_error": self.standard_errors,
            "p_value": self.p_values,
            "p_adjusted": adjust_p_values(self.p_values),
        }
        lines: dict[str, Any] = {
            "cause": [*(self.names[j] for j in self.order), MECHANISM],
            "kind": [*["input"] * len(self.names), MECHANISM],
            **{name: array[order] for name, array in columns.items()},
        }
        return make_frame(lines, backend or self.library or installed_backend())

    def summary(self, max_inputs: int = 20) -> str:
        """Return the parts as a text table.

        Parameters
        ----------
        max_inputs : int, default=20
            Number of inputs that have a line each.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff.results.change import Change
        >>> found = Change(("age",), [0.5], 0.1, [1.0, 1.6], np.diag([0.01, 0.01]), 6, (90, 80))
        >>> print(found.summary())
        Mean of y: 1.00 (before, 90 rows), 1.60 (after, 80 rows), change 0.600
        <BLANKLINE>
        cause               change  error  p (Holm)  95 % interval
        age                   0.50   0.10     0.005  0.26 to 0.74
        how the inputs act    0.10   0.10     0.356  -0.14 to 0.34
        <BLANKLINE>
        All inputs together: 0.50, 95 % interval 0.26 to 0.74.
        """
        return self._summary(max_inputs)

    def plot(
        self, kind: str = "change", *, ax: Any = None, max_inputs: int = 20, level: float = 0.95
    ) -> Display:
        """Draw the parts; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"change"}, default="change"
            Bars with intervals, that of the mechanism last.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of inputs drawn, those with the largest parts.
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        ChangeDisplay
        """
        return self._plot(kind, ax=ax, max_inputs=max_inputs, level=level)

    @property
    def target_name(self) -> str:
        """The name of y, or "y"."""
        return "y" if self.target is None else self.target

    def __repr__(self) -> str:
        inputs = f"{self.inputs_part:.3g} by {counted(len(self.names), 'input')}"
        said = f"{self.total:.3g} of {self.target_name}"
        return f"Change({said}: {inputs}, {self.mechanism:.3g} by mechanism)"
