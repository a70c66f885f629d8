"""One line of a table, for one input: terminal, notebook and report take its texts from here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import decimals, enumerated, percent
from shaff.results.direction import direction_words
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions

# Effects with larger p-values are pale.
ALPHA = 0.05
NONE = "–"  # was not computed
# Digits after the point: at least and at most.
FEWEST_DIGITS, _MOST_DIGITS = 3, 6
# An effect of so many standard errors looks significant.
_SIGMAS = 1.96
TOO_SMALL = "detected, too small to measure"
BORDERLINE = "borderline: the test asks for more than the interval"


@dataclass(frozen=True)
class Row:
    """One input of a result, as tables and charts show it.

    Parameters
    ----------
    position : int
        Position of the input in the arrays of the result.
    name : str
    effect, share, interval, error, p_value, first_order, total, direction, ranks : str
        Formatted in plain characters; "–" for what was not computed. A screened input has
        "screened" for its effect, and an upper bound for its interval if that is known.
    estimate : float
        The effect as a number.
    low, high : float
        Interval without what lies below 0; both the effect if there are no errors.
    is_significant : bool
        Whether the effect is significantly above 0 (Holm), or was not tested.
    is_screened : bool
    remark : str
        Why the columns of this line seem to disagree; empty where they do not.
    brier, brier_error : str
        Effect by squared errors beside log-loss, and its error.
    depth : int
        1 for an input below the line of its layer or group, else 0.
    """

    position: int
    name: str
    effect: str
    share: str
    interval: str
    error: str
    p_value: str
    first_order: str
    total: str
    direction: str
    ranks: str
    estimate: float
    low: float
    high: float
    is_significant: bool
    is_screened: bool
    remark: str = ""
    brier: str = NONE
    brier_error: str = NONE
    depth: int = 0

    @property
    def indented(self) -> str:
        """The name, below that of its part if it has one."""
        return "  " * self.depth + self.name

    @property
    def bar(self) -> float:
        """Length of the bar; that of a screened input is not drawn."""
        return 0.0 if self.is_screened else max(self.estimate, 0.0)

    def typeset(self) -> Row:
        """Return the row with minus signs and narrow spaces, which not every terminal has."""
        names = ("effect", "share", "interval", "error", "first_order", "total", "remark", "brier",
                 "brier_error")  # fmt: skip
        texts: dict[str, Any] = {name: typeset(getattr(self, name)) for name in names}
        return replace(self, **texts)


def rows(
    result: EffectsResult, level: float = 0.95, *, ranks: bool = False, digits: int | None = None
) -> list[Row]:
    """Return the rows of a result, the largest effect first.

    Parameters
    ----------
    result : EffectsResult
    level : float, default=0.95
        Level of the intervals.
    ranks : bool, default=False
        Also compare all pairs of inputs, for the ranks.
    digits : int or None, default=None
        Digits after the point; None follows the errors.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.rows import rows
    >>> first = rows(example(errors_by_source={"data": [0.02, 0.05]}))[0]
    >>> first.name, first.effect, first.share, first.interval
    ('bmi', '0.300', '75 %', '0.202 to 0.398')
    """
    columns = _Columns(result, level, ranks, effect_digits(result) if digits is None else digits)
    return [columns.row(int(j)) for j in result.order]


def unfolded_rows(result: EffectsResult, max_inputs: int, level: float = 0.95) -> list[Row]:
    """Return the rows of the first inputs of a result, below those of their layers or groups.

    A group of one input that is the group itself has one row. Without layers and groups these are
    the first of `rows`.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.rows import unfolded_rows
    >>> both = example(hierarchy={"body": ("age", "bmi")})
    >>> [row.indented for row in unfolded_rows(both, 10)]
    ['body', '  bmi', '  age']
    """
    own = {row.name: row for row in rows(result, level)}
    shown = [result.names[j] for j in result.unfolded[:max_inputs]]
    if not result.parts:
        return [own[name] for name in shown]
    above = rows(result.upper_level(), level, digits=effect_digits(result))
    upper = {row.name: row for row in above}
    found: list[Row] = []
    for part, members in result.parts.items():
        inside = [name for name in shown if name in members]
        if inside and members != (part,):
            found.append(replace(upper[part], direction=NONE, remark=""))
        found += [replace(own[name], depth=int(members != (part,))) for name in inside]
    return found


def known_columns(result: EffectsResult) -> dict[str, bool]:
    """Return which of the optional fields of a `Row` a result has."""
    has_errors = result.standard_errors is not None
    return {
        "interval": has_errors,
        "ranks": has_errors,
        "error": has_errors,
        "first_order": result.first_order is not None,
        "total": result.total is not None,
        "p_value": result.p_values is not None,
        "direction": bool(result.directions),
        "brier": result.brier_effects is not None,
        "brier_error": result.brier_errors is not None,
    }


class _Columns:
    """The numbers of a result, and how they are written: all with the same digits.

    This is also where p-values and intervals are held against each other, see `_remark`.
    """

    def __init__(self, result: EffectsResult, level: float, ranks: bool, digits: int) -> None:
        self.result, self.digits = result, digits
        self.p_values = None if result.p_values is None else result.null_test()
        self.is_screened, self.shares = result.is_screened, result.shares
        self.errors = result.standard_errors
        self.low = self.high = result.effects
        self.bounds = self.ranks = None
        if self.errors is not None:
            self.low, self.high = result.confidence_interval(level, "nonnegative")
            self.bounds = None if result.others is None else result.upper_bound(level)
            self.ranks = result.rank_intervals(level) if ranks else None

    def row(self, j: int) -> Row:
        out, p = bool(self.is_screened[j]), self.p_values
        numbers = {
            "error": self.errors, "first_order": self.result.first_order,
            "total": self.result.total, "brier": self.result.brier_effects,
            "brier_error": self.result.brier_errors,
        }  # fmt: skip
        texts: dict[str, Any] = {
            k: NONE if out or a is None else self._number(a[j]) for k, a in numbers.items()
        }
        return Row(
            position=j,
            name=self.result.names[j],
            effect="screened" if out else amount_text(self.result.effects[j], self.digits),
            share=NONE if out else share_text(float(self.shares[j])),
            interval=self._interval(j, out),
            p_value=NONE if out or p is None else p_value_text(p[j]),
            direction=self._direction(self.result.names[j]),
            ranks=NONE if out else self._ranks(j),
            estimate=float(self.result.effects[j]),
            low=float(self.low[j]),
            high=float(self.high[j]),
            is_significant=not out and (p is None or bool(p[j] <= ALPHA)),
            is_screened=out,
            remark="" if out else self._remark(j),
            **texts,
        )

    def _direction(self, name: str) -> str:
        found = (self.result.directions or {}).get(name)
        return NONE if found is None else direction_words(found, self.result.classes)

    def _number(self, number: float) -> str:
        return number_text(number, self.digits)

    def _interval(self, j: int, is_screened: bool) -> str:
        if is_screened:
            return NONE if self.bounds is None else f"at most {self._number(self.bounds[j])}"
        if self.errors is None:
            return NONE
        return f"{self._number(self.low[j])} to {self._number(self.high[j])}"

    def _remark(self, j: int) -> str:
        """Why effect, error, interval and p-value do not say the same.

        A test may detect what an interval cannot tell from 0. And an effect of several standard
        errors may fail the test: that adjusts for the number of inputs, and is about the effect
        without correction.
        """
        if self.p_values is None or self.errors is None:
            return ""
        is_sure, excludes_0 = bool(self.p_values[j] <= ALPHA), bool(self.low[j] > 0)
        if is_sure:
            return "" if excludes_0 else TOO_SMALL
        if not self.result.raw_effects[j] > _SIGMAS * self.errors[j]:
            return ""
        assert self.result.p_values is not None
        if not excludes_0:
            return f"p is about the uncorrected effect, {self._number(self.result._plain[j])}"
        is_adjusted = bool(self.result.p_values[j] <= ALPHA)
        return f"p is adjusted for {len(self.p_values)} inputs" if is_adjusted else BORDERLINE

    def _ranks(self, j: int) -> str:
        if self.ranks is None:
            return NONE
        best, worst = (int(rank[j]) for rank in self.ranks)
        return str(best) if best == worst else f"{best}–{worst}"


@dataclass(frozen=True)
class PairRow:
    """One pair of inputs, as tables of interactions show it.

    ``kind`` is "overlap" (the two share information) or "synergy" (more together than apart);
    "unclear" where the interval includes 0.
    """

    first: str
    second: str
    interaction: str
    error: str
    p_value: str
    interval: str
    kind: str


def pair_rows(found: Interactions, level: float = 0.95) -> list[PairRow]:
    """Return the rows of interactions, the strongest pair first.

    Examples
    --------
    >>> from shaff.results.interactions import Interactions
    >>> from shaff.show.rows import pair_rows
    >>> (row,) = pair_rows(Interactions(("age", "bmi"), [0, 1], [-0.1], {"data": [0.02]}))
    >>> row.first, row.second, row.interaction, row.interval, row.kind
    ('age', 'bmi', '-0.100', '-0.139 to -0.061', 'overlap')
    """
    columns, pairs, values = found._columns(level), found.pairs, found.pair_values
    digits = decimals(float(np.abs(found.pair_values).max(initial=0.0)))

    def number(name: str, k: int) -> str:
        return number_text(columns[name][k], digits) if name in columns else NONE

    return [
        PairRow(
            first=found.names[pairs[k, 0]],
            second=found.names[pairs[k, 1]],
            interaction=number("interaction", k),
            error=number("standard_error", k),
            p_value=p_value_text(columns["p_adjusted"][k]) if "low" in columns else NONE,
            interval=f"{number('low', k)} to {number('high', k)}" if "low" in columns else NONE,
            kind=_kind(*(float(columns.get(c, values)[k]) for c in ("low", "high"))),
        )
        for k in found.order
    ]


def _kind(low: float, high: float) -> str:
    return "overlap" if high < 0 else "synergy" if low > 0 else "unclear"


def effect_digits(result: EffectsResult) -> int:
    """Return the digits after the point that all numbers of a result are written with.

    They follow the errors: two digits of the typical one, and one of the smallest. Without errors
    they follow the largest effect.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.rows import effect_digits
    >>> effect_digits(example()), effect_digits(example(errors_by_source={"data": [0.004, 0.001]}))
    (3, 4)
    """
    errors = result.standard_errors
    if errors is None or not errors[~result.is_screened].any():
        return decimals(float(np.abs(result.effects).max(initial=0.0)))
    return error_digits(errors[~result.is_screened])


def error_digits(errors: FloatArray, fewest: int = FEWEST_DIGITS) -> int:
    """Return the digits that show two figures of the typical error and one of the smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.show.rows import error_digits
    >>> error_digits(np.array([0.02, 0.01])), error_digits(np.array([0.002, 0.003, 0.0003]))
    (3, 4)
    """
    known = errors[np.isfinite(errors) & (errors > 0)]
    if not len(known):
        return FEWEST_DIGITS
    wanted = max(1 - np.floor(np.log10(np.median(known))), -np.floor(np.log10(known.min())))
    return int(np.clip(wanted, fewest, _MOST_DIGITS))


def amount_text(amount: float, digits: int) -> str:
    """Return an effect: "0" for none at all, and a bound for what rounding would call none.

    Examples
    --------
    >>> from shaff.show.rows import amount_text
    >>> amount_text(0.1234, 3), amount_text(0.0, 3), amount_text(0.0001, 3)
    ('0.123', '0', '< 0.001')
    """
    if amount == 0:
        return "0"
    smallest = 10.0**-digits
    return f"< {smallest:.{digits}f}" if 0 < amount < smallest / 2 else number_text(amount, digits)


def remark_sentences(shown: list[Row]) -> list[str]:
    """Return the remarks of rows as sentences, for tables without room for them.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.rows import remark_sentences, rows
    >>> found = example(errors_by_source={"data": [0.06, 0.01]}, p_values=[0.001, 0.001])
    >>> remark_sentences(rows(found))
    ['Detected, too small to measure: age.']
    """
    names: dict[str, list[str]] = {}
    for row in shown:
        if row.remark:
            names.setdefault(row.remark, []).append(row.name)
    return [f"{said[0].upper()}{said[1:]}: {enumerated(who)}." for said, who in names.items()]


def number_text(number: float, digits: int = 3) -> str:
    """Return a few digits, no negative zero, and a dash for what was not computed."""
    return NONE if np.isnan(number) else f"{number:z.{digits}f}"


def quantity_text(quantity: float) -> str:
    """Return a quantity in its own units with three figures, without an exponent if it is handy.

    Examples
    --------
    >>> from shaff.show.rows import quantity_text
    >>> [quantity_text(x) for x in (54.123, 0.012345, 123456.0, 1.2e-9)]
    ['54.1', '0.0123', '123456', '1.2e-09']
    """
    if not 1e-4 <= abs(quantity) < 1e9:
        return f"{quantity:.3g}"
    return f"{quantity:.{quantity_digits(quantity)}f}"


def quantity_digits(largest: float) -> int:
    """Return the digits after the point that show three figures of a quantity.

    Examples
    --------
    >>> from shaff.show.rows import quantity_digits
    >>> quantity_digits(39.8), quantity_digits(0.0123), quantity_digits(0.0)
    (1, 4, 2)
    """
    size = abs(largest)
    return max(2 - int(np.floor(np.log10(size))), 0) if 0 < size < np.inf else 2


def p_value_text(p: float) -> str:
    """Return a p-value with three digits at most."""
    return "< 0.001" if p < 0.001 else number_text(p)


def share_text(share: float) -> str:
    """Return a share in per cent; a dash if nothing is explained."""
    return NONE if np.isnan(share) else plain(percent(share))


def are_significant(p_values: FloatArray | None, n: int) -> list[bool]:
    """Return which of n effects are significantly above 0; all if that was not tested."""
    return [True] * n if p_values is None else [not p > ALPHA for p in p_values]


def typeset(text: str) -> str:
    """Return numbers with a minus sign and a narrow space before "%"."""
    return text.replace("-", "−").replace(" %", "\u202f%")


def plain(text: str) -> str:
    """Return text without the characters that `typeset` puts in."""
    return text.replace("−", "-").replace("\u202f", " ")
