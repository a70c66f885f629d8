"""Exceedance of a limit, and counts per exposure."""

from __future__ import annotations

from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import counted, percent
from shaff.data.outcome import DerivedOutcome
from shaff.errors import InputError
from shaff.outcomes.columns import check_lengths, name_of, numbers, one_number


def exceeds(y: Any, limit: float | None = None, *, quantile: float | None = None) -> DerivedOutcome:
    """Return the outcome of exceeding a limit, or a quantile of y: what drives large values?

    Rows strictly above the limit are one class, all others another; effects are shares of the
    variance of that indicator, p (1 - p).

    Parameters
    ----------
    y : array or series of shape (n_rows,)
        Numbers.
    limit : float or None, default=None
        The limit, in units of y. Give either this or ``quantile``.
    quantile : float or None, default=None
        The limit as a quantile of y over these rows, between 0 and 1: 0.9 means the largest tenth.

    Returns
    -------
    DerivedOutcome
        To be passed as y to `ShapleyEffects.fit`.

    Examples
    --------
    >>> import shaff
    >>> outcome = shaff.exceeds([3.0, 12.0, 9.0, 30.0], 10)
    >>> outcome.values.tolist(), outcome.description
    ([0.0, 1.0, 0.0, 1.0], 'y above 10')
    >>> shaff.exceeds(range(101), quantile=0.9).details.replace("\\u202f", " ")
    '10 of 101 rows (9.9 %) have y above 90, the 0.9 quantile.'
    """
    values, name = numbers(y, "y"), name_of(y, "y")
    border = _limit(values, limit, quantile)
    above = values > border
    if above.all() or not above.any():
        raise InputError(
            f"{'All' if above.all() else 'No'} rows have {name} above {border:g} (it lies between "
            f"{values.min():g} and {values.max():g}): choose another limit."
        )
    where = "" if quantile is None else f", the {quantile:g} quantile"
    return DerivedOutcome(
        above.astype(np.float64),
        f"{name} above {border:g}",
        f"{above.sum()} of {counted(len(above), 'row')} ({percent(above.mean(), 1)}) have {name} "
        f"above {border:g}{where}.",
        classes=(f"up to {border:g}", f"above {border:g}"),
    )


def _limit(values: FloatArray, limit: float | None, quantile: float | None) -> float:
    if limit is not None and quantile is None:
        return _finite(one_number(limit, "limit"))
    if quantile is None or limit is not None:
        raise InputError("exceeds needs a limit or a quantile, and not both.")
    if not 0 < one_number(quantile, "quantile") < 1:
        raise InputError(f"quantile must lie between 0 and 1, got {quantile!r}.")
    return float(np.quantile(values, quantile))


def _finite(limit: float) -> float:
    if not np.isfinite(limit):
        raise InputError(f"limit must be a finite number, got {limit!r}.")
    return limit


def rate(counts: Any, exposure: Any) -> DerivedOutcome:
    """Return counts per exposure: accidents per kilometre, claims per year, cases per inhabitant.

    The outcome of a row is its count divided by its exposure, and the row has its exposure as
    weight: a row that was exposed for two years counts as much as two of one year each. Weights
    given to `fit` multiply these.

    Parameters
    ----------
    counts : array or series of shape (n_rows,)
        How often something happened; not negative.
    exposure : array or series of shape (n_rows,)
        How long, or among how many, it could have happened; above 0.

    Returns
    -------
    DerivedOutcome
        To be passed as y to `ShapleyEffects.fit`; ``weights`` are the exposures, with mean 1.

    Examples
    --------
    >>> import shaff
    >>> outcome = shaff.rate([2, 0, 3], [1.0, 0.5, 1.5])
    >>> outcome.values.tolist(), outcome.weights.tolist()
    ([2.0, 0.0, 2.0], [1.0, 0.5, 1.5])
    >>> outcome.details
    'Rows are weighted by exposure; over all rows the rate is 1.67 (5 / 3).'
    """
    found, time = numbers(counts, "counts"), numbers(exposure, "exposure")
    check_lengths(counts=found, exposure=time)
    what, whose = name_of(counts, "counts"), name_of(exposure, "exposure")
    if (found < 0).any():
        rows = counted(int((found < 0).sum()), "row")
        raise InputError(f"{what} is negative in {rows}, which no count is.")
    if (time <= 0).any():
        rows = counted(int((time <= 0).sum()), "row")
        raise InputError(f"{whose} is 0 or less in {rows}, where nothing could happen: drop them.")
    total, exposed = found.sum(), time.sum()
    return DerivedOutcome(
        found / time,
        f"{what} per {whose}",
        f"Rows are weighted by {whose}; over all rows the rate is "
        f"{total / exposed:.3g} ({total:.6g} / {exposed:.6g}).",
        weights=time / time.mean(),
    )
