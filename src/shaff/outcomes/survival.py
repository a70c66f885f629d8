"""Censored times as an outcome: pseudo-values of what a survival curve says up to a horizon."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from shaff._util.typing import BoolArray, FloatArray
from shaff._util.words import counted, percent
from shaff.data.outcome import DerivedOutcome
from shaff.errors import InputError
from shaff.outcomes.censoring import FEWEST_CENSORED, censoring_weights
from shaff.outcomes.columns import check_lengths, flags, name_of, numbers, one_number
from shaff.outcomes.kaplan_meier import Curve

Of = Literal["restricted_mean", "survival"]
# Without a horizon, the share of rows that is still observed at the last time that counts: the
# curve beyond rests on few rows.
_STILL_OBSERVED = 0.1


def survival_outcome(
    time: Any,
    event: Any,
    *,
    horizon: float | None = None,
    of: Of = "restricted_mean",
    censoring: Any = "independent",
    time_unit: str | None = None,
) -> DerivedOutcome:
    """Return censored times as an outcome of `ShapleyEffects`.

    Times until an event are known for some rows; of others it is known that nothing happened until
    they were censored. What is explained is the time without the event up to a horizon, or whether
    the event comes later than that. Its effects are shares of the variance that it would have
    without censoring. Each row is represented by its pseudo-value: n times the estimate from all
    rows minus n - 1 times the estimate without the row, where the estimate is that of the
    Kaplan-Meier curve. Given the inputs, pseudo-values have the mean of the outcome [1]_. They vary
    more than the outcome, so that effects and error bars are multiplied by the ratio of the
    variances (``result.variance_ratio``).

    Parameters
    ----------
    time : array or series of shape (n_rows,)
        Time until the event, or until the row was censored; not negative.
    event : array or series of shape (n_rows,)
        Whether the event was observed then: True or 1; False or 0 means censored.
    horizon : float or None, default=None
        Largest time that counts; at most the time of the last event. None, for the restricted mean
        only, means the last event at which a tenth of the rows is still observed.
    of : {"restricted_mean", "survival"}, default="restricted_mean"
        What is explained: min(time, horizon), whose mean is the restricted mean survival time, or
        whether time is beyond the horizon.
    censoring : "independent" or table of shape (n_rows, n_columns), default="independent"
        Whether censoring is independent of the inputs, or the inputs that it may depend on, such as
        X itself. Rows are then weighted by their inverse probability of not being censored [2]_,
        which a logistic regression on the inputs by intervals of time estimates out of fold.
    time_unit : str or None, default=None
        Unit of the times, such as "weeks", for sentences.

    Returns
    -------
    DerivedOutcome
        To be passed as y to `ShapleyEffects.fit`.

    References
    ----------
    .. [1] P. K. Andersen and M. Pohar Perme (2010). Pseudo-observations in survival analysis.
       Statistical Methods in Medical Research 19, 71-99.
    .. [2] N. Binder, T. A. Gerds and P. K. Andersen (2014). Pseudo-observations for competing risks
       with covariate dependent censoring. Lifetime Data Analysis 20, 303-315.

    Examples
    --------
    >>> import shaff
    >>> time, event = [2, 5, 6, 9, 10, 12], [1, 0, 1, 1, 0, 1]
    >>> outcome = shaff.survival_outcome(time, event, horizon=9, time_unit="weeks")
    >>> outcome.description
    'restricted mean survival time up to 9 weeks'
    >>> outcome.values.round(2).tolist()
    [2.0, 8.25, 5.25, 9.25, 9.25, 9.25]
    """
    times, has_event = numbers(time, "time"), flags(event, "event")
    check_lengths(time=times, event=has_event)
    _check(times, has_event, of)
    until = _horizon(times, has_event, horizon, of)
    independent = isinstance(censoring, str)
    if censoring is None or (independent and censoring != "independent"):
        raise InputError('censoring must be "independent", or a table of inputs.')
    found = _pseudo_values(times, has_event, until, of, None if independent else censoring)
    words = _words(until, time_unit, name_of(time, "time"))
    observed = _Observed.of(times, has_event, until)
    return DerivedOutcome(
        found.values,
        f"{_NAMES[of]} {words}",
        f"{observed.sentence(words)} {observed.how(found, independent)}",
        squares=found.squares,
    )


_NAMES = {"restricted_mean": "restricted mean survival time up to", "survival": "survival beyond"}


def _words(horizon: float, unit: str | None, name: str) -> str:
    return f"{horizon:g} {unit}" if unit else f"{name} {horizon:g}"


def _check(time: FloatArray, event: BoolArray, of: str) -> None:
    if of not in get_args(Of):
        raise InputError(f"of={of!r} is unknown: use {' or '.join(map(repr, get_args(Of)))}.")
    if (time < 0).any():
        raise InputError(f"time is negative in {counted(int((time < 0).sum()), 'row')}.")
    if not event.any():
        raise InputError("All rows are censored: without any event there is nothing to explain.")


def _horizon(time: FloatArray, event: BoolArray, horizon: float | None, of: str) -> float:
    last = float(time[event].max())
    if horizon is None:
        if of == "survival":
            raise InputError(
                'of="survival" needs a horizon: the time beyond which survival counts.'
            )
        observed = time[event & (time <= np.quantile(time, 1 - _STILL_OBSERVED))]
        return float(observed.max()) if len(observed) else last
    until = one_number(horizon, "horizon")
    if not np.isfinite(until) or until <= 0:
        raise InputError(f"horizon must be a positive time, got {horizon!r}.")
    if until > last:
        # All digits: rounded up, the last event would be beyond itself.
        raise InputError(
            f"The horizon of {until:.15g} is beyond the last event, at {last:.15g}: take that or "
            "less."
        )
    if not (event & (time <= until)).any():
        first = float(time[event].min())
        raise InputError(
            f"No event comes before the horizon of {until:g}; the first is at {first:g}."
        )
    return until


class _PseudoValues(NamedTuple):
    """Pseudo-values of the outcome and of its square."""

    values: FloatArray
    squares: FloatArray


def _pseudo_values(
    time: FloatArray, event: BoolArray, horizon: float, of: str, censoring: Any
) -> _PseudoValues:
    if censoring is None:
        curve = Curve.of(time, event, horizon)
        of_rows = curve.jackknife
    else:
        curve = Curve.of(time, event, horizon, *censoring_weights(time, event, horizon, censoring))
        of_rows = curve.influence_values
    if of == "survival":
        values = of_rows(curve.at_horizon)
        return _PseudoValues(values, values)  # of 0 and 1, each is its own square
    return _PseudoValues(*(of_rows(curve.powers_of_time(power)) for power in (1, 2)))


class _Observed(NamedTuple):
    """How many rows there are, had their event up to the horizon, and were censored before it."""

    n_rows: int
    n_events: int
    n_censored: int

    @classmethod
    def of(cls, time: FloatArray, event: BoolArray, horizon: float) -> _Observed:
        n_events = int((event & (time <= horizon)).sum())
        return cls(len(time), n_events, int((~event & (time < horizon)).sum()))

    def sentence(self, words: str) -> str:
        """How many rows had the event, and how many were censored before the horizon."""
        share = f" ({percent(self.n_censored / self.n_rows, 1)})" if self.n_censored else ""
        return (
            f"{self.n_events} of {counted(self.n_rows, 'row')} had the event up to {words}, and "
            f"{self.n_censored or 'none'}{share} were censored before."
        )

    def how(self, found: _PseudoValues, independent: bool) -> str:
        """What the rows count by."""
        if not self.n_censored:
            return "So the outcome is known in every row."
        weighted = not independent and self.n_censored >= FEWEST_CENSORED
        unit = float(found.squares.mean() - found.values.mean() ** 2)
        return (
            "Each row counts by its pseudo-value"
            + ", weighted against censoring by its inputs" * weighted
            + f"; effects are shares of the variance without censoring, {unit:.4g} (that of the "
            f"pseudo-values is {found.values.var():.4g})."
        )
