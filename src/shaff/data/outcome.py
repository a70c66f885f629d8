"""Outcomes that are computed from several columns, and say what they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shaff._util.arrays import frozen
from shaff._util.typing import FloatArray
from shaff.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class DerivedOutcome:
    """An outcome that was computed from columns: what y of `shaff.ShapleyEffects.fit` may be.

    `shaff.survival_outcome`, `shaff.exceeds` and `shaff.rate` make one. It acts as an array of its
    values, and some of its rows are again an outcome. All arrays are read-only.

    Parameters
    ----------
    values : array of shape (n_rows,)
        The outcome as numbers.
    description : str
        What it is, as results name it: "restricted mean survival time up to 52 weeks".
    details : str, default=""
        A sentence on how it was computed, which becomes a note of the result.
    squares : array of shape (n_rows,) or None, default=None
        Numbers whose conditional mean is that of the squared outcome. Given, effects are shares of
        the mean of ``squares`` minus the squared mean of ``values``, and not of the variance of
        ``values``, which may hold further noise. See `unit_variance`.
    classes : tuple of two str or None, default=None
        Names of the outcomes 0 and 1, if the values are these.
    weights : array of shape (n_rows,) or None, default=None
        Weights that belong to the values; those given to `fit` multiply them.

    Examples
    --------
    >>> import shaff
    >>> outcome = shaff.rate([2, 0, 1], [1.0, 0.5, 2.0])
    >>> len(outcome), outcome.values.tolist(), outcome[1:].values.tolist()
    (3, [2.0, 0.0, 0.5], [0.0, 0.5])
    """

    values: FloatArray
    description: str
    details: str = ""
    squares: FloatArray | None = None
    classes: tuple[str, str] | None = None
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        shape = (len(self.values),)
        for name in ("values", "squares", "weights"):
            array = frozen(getattr(self, name), shape, name)
            if array is not None and not np.isfinite(array).all():
                raise InputError(f"{name} of an outcome must be finite.")
            object.__setattr__(self, name, array)
        if self.classes is not None and not np.isin(self.values, (0.0, 1.0)).all():
            raise InputError("An outcome with classes holds 0 and 1 only.")

    @property
    def shape(self) -> tuple[int]:
        """Number of rows, as arrays have it."""
        return (len(self.values),)

    @property
    def unit_variance(self) -> float:
        """The variance that effects are shares of, if each row counts once."""
        second = self.values**2 if self.squares is None else self.squares
        return float(second.mean() - self.values.mean() ** 2)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Self:
        arrays: dict[str, Any] = {k: getattr(self, k) for k in ("values", "squares", "weights")}
        taken = {k: None if a is None else np.atleast_1d(a[rows]) for k, a in arrays.items()}
        return replace(self, **taken)  # type: ignore[arg-type]

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return a copy of the values."""
        return np.array(self.values, dtype=dtype)

    def __repr__(self) -> str:
        return f"DerivedOutcome({self.description}, {len(self)} rows)"


@dataclass(frozen=True, eq=False)
class VarianceUnit:
    """The variance that effects are shares of, where it is not that of the numbers explained.

    Parameters
    ----------
    variance : float
        That variance.
    ratio : float
        The variance of the numbers explained, divided by it: what shares are multiplied by.
    influence : float array of shape (n_rows,)
        Influence of each row on ``variance``.
    log_ratio_influence : float array of shape (n_rows,)
        Influence of each row on the logarithm of ``ratio``.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.outcome import VarianceUnit
    >>> y = np.array([0.0, 3.0, 1.0, 0.0])
    >>> VarianceUnit.of(y, y**2 / 2 + 1, np.ones(4)).variance
    1.25
    """

    variance: float
    ratio: float
    influence: FloatArray
    log_ratio_influence: FloatArray

    @classmethod
    def of(cls, y: FloatArray, squares: FloatArray, weight: FloatArray) -> VarianceUnit:
        """Return the unit of an outcome y whose squared outcome has the means of ``squares``."""
        mean = float(np.average(y, weights=weight))
        second = float(np.average(squares, weights=weight))
        away = (y - mean) ** 2
        own, unit = float(np.average(away, weights=weight)), second - mean**2
        if not unit > 0:
            raise InputError(
                "The variance of the outcome without censoring cannot be estimated from these "
                "rows: too few of them have the event."
            )
        share = weight / weight.mean()
        of_unit = (squares - second - 2 * mean * (y - mean)) * share
        of_ratio = (away - own) * share / max(own, _TINY) - of_unit / unit
        return cls(unit, own / unit, of_unit, of_ratio)


_TINY = float(np.finfo(float).tiny)
