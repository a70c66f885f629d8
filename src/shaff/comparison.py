"""Two results side by side: which effects differ, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from shaff._frames import Backend, make_frame
from shaff._typing import FloatArray, IntpArray
from shaff._words import counted, listed
from shaff.errors import InputError, InputTypeError
from shaff.inference import adjust_p_values, data_covariance, effect_influences, spanned_p_values
from shaff.intervals import ConfidenceInterval
from shaff.result import EffectsResult
from shaff.subsets import Subsets
from shaff.tables import aligned, number_text, p_value_text

if TYPE_CHECKING:
    from shaff.effects import ShapleyEffects
    from shaff.explaining import Played
    from shaff.plots.comparison import ComparisonDisplay


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Differences of the effects of two results, player by player. See `compare`.

    Parameters
    ----------
    names : tuple of str
        Players of both results.
    effects : float array of shape (2, n_players)
        As reported, of the first and of the second result.
    estimates : float array of shape (n_ways, n_players)
        Differences of the raw effects, second less first: by corrected values, and where there
        are any by plain ones.
    standard_errors : float array of shape (n_players,)
        Of the differences.
    labels : (str, str)
        What the two are called.
    notes : tuple of str
    library : {"pandas", "polars", "pyarrow"} or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.comparison import Comparison
    >>> found = Comparison(
    ...     ("age",), np.array([[0.1], [0.4]]), np.array([[0.3]]), np.array([0.1]))
    >>> found.p_values.round(4).tolist()
    [0.0027]
    """

    names: tuple[str, ...]
    effects: FloatArray
    estimates: FloatArray
    standard_errors: FloatArray
    labels: tuple[str, str] = ("a", "b")
    notes: tuple[str, ...] = ()
    library: Backend | None = None

    @property
    def differences(self) -> FloatArray:
        """Second less first, shape (n_players,)."""
        return np.asarray(self.estimates[0])

    @property
    def p_values(self) -> FloatArray:
        """Of "the two effects are equal", two-sided, not adjusted for their number."""
        return spanned_p_values(self.estimates, self.standard_errors)

    @property
    def order(self) -> IntpArray:
        """The players, the largest difference first, whatever its sign."""
        return np.argsort(-np.abs(self.differences), kind="stable")

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Of the differences; as those of effects they span plain and corrected values."""
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.")
        half = float(ndtri((1 + level) / 2)) * self.standard_errors
        return ConfidenceInterval(
            self.estimates.min(axis=0) - half, self.estimates.max(axis=0) + half
        )

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """One row a player, the largest difference first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the frame that was explained, else pandas.
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``player``, the two effects, ``difference``, ``low``, ``high``,
            ``standard_error``, ``p_value`` and ``p_adjusted`` (Holm's).
        """
        low, high = self.confidence_interval(level)
        columns = {
            **{f"effect_{k}": e for k, e in zip(self.labels, self.effects, strict=True)},
            "difference": self.differences,
            "low": low,
            "high": high,
            "standard_error": self.standard_errors,
            "p_value": self.p_values,
            "p_adjusted": adjust_p_values(self.p_values),
        }
        players = {"player": [self.names[j] for j in self.order]}
        numbers = {name: array[self.order] for name, array in columns.items()}
        return make_frame({**players, **numbers}, backend or self.library or "pandas")

    def summary(self, max_players: int = 20) -> str:
        """The largest differences as a text table."""
        low, high = self.confidence_interval()
        adjusted = adjust_p_values(self.p_values)
        header = ["player", *self.labels, "difference", "error", "p (Holm)", "95 % interval"]
        rows = [
            [
                self.names[j],
                *(number_text(e[j]) for e in self.effects),
                number_text(self.differences[j]),
                number_text(self.standard_errors[j]),
                p_value_text(adjusted[j]),
                f"{number_text(low[j])} to {number_text(high[j])}",
            ]
            for j in self.order[:max_players]
        ]
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join([*aligned([header, *rows]), *notes])

    def plot(self, ax: Any = None, max_players: int = 20) -> ComparisonDisplay:
        """The differences with their intervals; needs matplotlib."""
        from shaff.plots.comparison import ComparisonDisplay

        low, high = self.confidence_interval()
        return ComparisonDisplay(self.names, self.differences, low, high, self.labels).plot(
            ax, max_players
        )

    def __repr__(self) -> str:
        sure = int((adjust_p_values(self.p_values) < 0.05).sum())
        return f"Comparison({counted(len(self.names), 'player')}, {sure} surely different)"


def compare(
    a: EffectsResult | ShapleyEffects,
    b: EffectsResult | ShapleyEffects,
    *,
    same_rows: bool = False,
    labels: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Are the effects of two results the same? Second less first, player by player.

    Parameters
    ----------
    a, b : EffectsResult or fitted ShapleyEffects
        Players are matched by name; those that only one of them has by name are left out.
    same_rows : bool, default=False
        False takes the two as independent: other rows, such as two years or two groups of people.
        True says that both rest on the same rows in the same order (two models, two outcomes, two
        sets of columns), so that much of the rows' luck cancels; it needs the fitted estimators.
    labels : (str, str)
        What the two are called.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from shaff import ShapleyEffects, compare
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> half = [ShapleyEffects("forest", random_state=0).fit(X[k::2], y[k::2]) for k in (0, 1)]
    >>> compare(*half).differences.shape
    (10,)
    """
    results = [_result(x, name) for x, name in ((a, "a"), (b, "b"))]
    first, second = results
    names = [n for n in first.names if _plays(first, n) and _plays(second, n)]
    if not names:
        raise InputError("The two results have no player in common.")
    places = [np.array([r.names.index(n) for n in names]) for r in results]
    variances = [_variance(r)[p] for r, p in zip(results, places, strict=True)]
    total = np.sum(variances, axis=0)
    if same_rows:
        total = total - 2 * _shared(_played(a), _played(b), results, places)
    estimates = [
        r.raw_effects[p] if ways == "raw_effects" or r.plain_effects is None else r.plain_effects[p]
        for ways in ("raw_effects", "plain_effects")
        for r, p in zip(results, places, strict=True)
    ]
    left = [n for n in dict.fromkeys((*first.names, *second.names)) if n not in names]
    return Comparison(
        tuple(names),
        np.stack([r.effects[p] for r, p in zip(results, places, strict=True)]),
        np.stack([estimates[1] - estimates[0], estimates[3] - estimates[2]]),
        np.sqrt(np.maximum(total, 0.0)),
        (str(labels[0]), str(labels[1])),
        (f"Left out, since only one of the two has them by name: {listed(left)}.",) if left else (),
        first.library,
    )


def _result(given: Any, name: str) -> EffectsResult:
    result = getattr(given, "result_", given)
    if not isinstance(result, EffectsResult):
        raise InputTypeError(f"{name} is neither a result of shaff nor a fitted ShapleyEffects.")
    if result.standard_error is None:
        raise InputError(f"{name} has no standard errors: there is nothing to compare it by.")
    return result


def _plays(result: EffectsResult, name: str) -> bool:
    return name in result.names and not result.is_screened[result.names.index(name)]


def _variance(result: EffectsResult) -> FloatArray:
    error = result.standard_error
    assert error is not None
    return np.asarray(error**2)


def _played(given: Any) -> Played:
    played: Played | None = getattr(given, "_played", None)
    if played is None or not hasattr(played, "evaluator"):
        raise InputTypeError("same_rows=True needs the fitted estimators, not their results.")
    if (played.cast.problem.n_given or 0) > len(played.cast.problem.X):
        raise InputError("same_rows=True: a sample of the rows was explained; use max_rows=None.")
    return played


def _shared(
    a: Played, b: Played, results: list[EffectsResult], places: list[IntpArray]
) -> FloatArray:
    """Covariance of the two effects of each player by the rows that both rest on."""
    influences = []
    for played, result, place in zip((a, b), results, places, strict=True):
        full = Subsets.full(played.evaluator.n_players)
        values = played.evaluator.price(Subsets.concatenate([full, played.subsets]))
        who = np.searchsorted(played.cast.kept, place)
        psi = effect_influences(played.effects, values, who)
        if psi is None or result.standard_errors is None:
            raise InputError("same_rows=True: these values do not say what each row has done.")
        # As the error bars are: they allow for models that other rows would have given.
        given = np.sqrt(
            [data_covariance(row[None], played.cast.problem.row_groups)[0, 0] for row in psi]
        )
        stated = result.standard_errors["data"][place]
        scale = np.divide(stated, given, out=np.zeros_like(stated), where=given > 0)
        influences.append(psi * scale[:, None])
    one, other = influences
    if one.shape != other.shape:
        raise InputError("same_rows=True: the two results rest on different numbers of rows.")
    groups = a.cast.problem.row_groups
    together = [
        data_covariance(np.stack(rows), groups)[0, 1] for rows in zip(one, other, strict=True)
    ]
    return np.array(together)
