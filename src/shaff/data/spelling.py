"""What text spells: numbers, money, percentages, dates. The column decides, not the cell.

`1,234` is a thousand in one column and a little over one in another, `01/02/2021` is in January or
in February. Every way to read a column is tried on all of its labels, and the one that leaves
least unread is taken. Where that settles nothing, nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Literal, NamedTuple

import numpy as np

from shaff._util.numbers import as_float, merges
from shaff.data.remarks import Remark

DateOrder = Literal["day", "month"]
Value = float | date | datetime

CODE = re.compile(r"0\d{2,}")
# Python reads no integers of more digits than these and a few hundred more.
_WHOLE = re.compile(r"[+-]?\d{1,4000}")
# Text is called numbers or dates when all but a few of its values are, and few words are others.
MOST, MAX_OTHERS = 0.9, 3
# Words for "missing", in columns of numbers or dates; in other columns they are categories.
BLANKS = {"", "?", "-", "--", ".", "..", "*", "n/a", "n.a.", "na", "#n/a", "nil", "none", "missing",
          "nan", "null", "unknown"}  # fmt: skip
_CURRENCIES = r"[$€£¥₹]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|MXN|ZAR)\b"
_MONEY = re.compile(rf"^([+-]?)\s*({_CURRENCIES}|US\$)\s*(.+)$|^(.+?)\s*({_CURRENCIES})$")
_PERCENT = re.compile(r"^(.+?)\s*%$")
_BRACKETS = re.compile(r"^\((.*\d.*)\)$")
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>\.\d+)?)?"
_YEAR_FIRST = re.compile(
    rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<first>\d{{1,2}})(?P=mark)(?P<second_part>\d{{1,2}})"
    rf"(?:[T ]{_CLOCK}\s*(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)
_YEAR_LAST = re.compile(
    r"(?P<first>\d{1,2})(?P<mark>[-/.])(?P<second_part>\d{1,2})(?P=mark)"
    rf"(?P<year>\d{{4}}|(?<=/)\d\d)(?:[, ]+{_CLOCK}\s*(?P<half>[AaPp][Mm])?)?"
)


@dataclass(frozen=True)
class Spelling:
    """Values that the labels of a column spell.

    Parameters
    ----------
    kind : {"numbers", "whole numbers", "dates", "codes", "open dates"}
        Codes are digits with leading zeros, such as postcodes. Open dates may begin with the day
        or with the month. Both stay text.
    remarks : tuple of Remark
        What a reader should know, without the column's name; empty for plain numbers and dates.
    values : dict
        Value of each label, None if it is missing; empty for text that stays text.
    """

    kind: str
    remarks: tuple[Remark, ...] = ()
    values: dict[str, Value | None] = field(default_factory=dict)


# Whole numbers that differ in digits which floating-point numbers do not have.
LONG_CODES = Spelling("codes", (Remark("long codes"),))


class _Candidate(NamedTuple):
    """One way to read labels: the kind of value, and the values of the labels it can read."""

    kind: str
    values: dict[str, Value]


class _Style(NamedTuple):
    """A way to write numbers."""

    said: str
    pattern: re.Pattern[str]
    dropped: str
    decimal: str


_PLAIN = _Style(
    "", re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?)", re.I), "", "."
)
_THOUSANDS = _Style(
    "commas between thousands", re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?"), ",", "."
)
_COMMA = _Style(
    "decimal commas",
    re.compile(r"[+-]?(?:\d+|\d{1,3}(?:[.\s]\d{3})+)(?:,\d+)?"),
    ". \u00a0\u202f",
    ",",
)
_BLANK = _Style(
    "blanks between thousands",
    re.compile(r"[+-]?(?:\d+|\d{1,3}(?:[\s'’]\d{3})+)(?:\.\d+)?"),
    " '’\u00a0\u202f",
    ".",
)


def read_spelling(
    counts: Mapping[str, int], *, decimal_comma: bool = False, order: DateOrder | None = None
) -> Spelling | None:
    """Return what labels spell, or None for text that is just text.

    Parameters
    ----------
    counts : dict
        Each label, and the number of rows that have it.
    decimal_comma : bool, default=False
        Whether ``1,234`` is a little over one where the column does not tell.
    order : {"day", "month"} or None
        Whether ``01/02/2021`` begins with the day or the month where the column does not tell.

    Examples
    --------
    >>> from shaff.data.spelling import read_spelling
    >>> spelling = read_spelling({"$1,234.50": 3, "$7": 1, "?": 1})
    >>> spelling.values
    {'$1,234.50': 1234.5, '$7': 7.0, '?': None}
    >>> spelling.remarks[0].details
    {'form': 'amounts in $ with commas between thousands', 'unread': ('?',)}
    >>> read_spelling({"01/02/2021": 1, "31/01/2021": 1}).remarks[0].details["form"]
    'dates with the day first'
    >>> read_spelling({"01/02/2021": 1, "03/04/2021": 1}).kind
    'open dates'
    """
    bare = {label: _bare(label) for label in counts}
    known = {text for text in bare.values() if text.casefold() not in BLANKS}
    if not any(map(_has_digit, known)):
        return None
    weight: dict[str, int] = {}
    for label, text in bare.items():
        weight[text] = weight.get(text, 0) + counts[label]
    for candidates in (_number_candidates(known, decimal_comma), _date_candidates(known, order)):
        best = _best(list(candidates), weight)
        if best is not None:
            return _spelling(best, bare)
    return None


def _best(candidates: list[_Candidate], weight: Mapping[str, int]) -> _Candidate | None:
    """Return the first candidate that leaves least unread, if that is little."""
    read = [sum(weight[text] for text in candidate.values) for candidate in candidates]
    if not read or max(read) == 0:
        return None
    best = candidates[read.index(max(read))]
    others = [text for text in weight if text not in best.values]
    if all(text.casefold() in BLANKS for text in others):
        return best
    enough = max(read) >= MOST * sum(weight.values()) and len(others) <= MAX_OTHERS
    return best if enough else None


def _spelling(candidate: _Candidate, bare: Mapping[str, str]) -> Spelling:
    kind, values = candidate
    if kind == "codes":
        return Spelling(kind, (Remark(kind),))
    if kind == "open dates":
        return Spelling(kind, (Remark(kind, details={"example": next(iter(values))}),))
    if kind == "whole numbers" and have_too_many_digits(values):
        return LONG_CODES
    remarks = _remarks("numbers" if kind == "whole numbers" else kind, values, bare)
    general = "dates" if kind.startswith("dates") else "numbers"
    named = {label: values.get(text) for label, text in bare.items()}
    return Spelling(kind if kind == "whole numbers" else general, remarks, named)


def have_too_many_digits(texts: Iterable[str]) -> bool:
    """Whether whole numbers in text differ in digits that floating-point numbers do not have.

    Examples
    --------
    >>> from shaff.data.spelling import have_too_many_digits
    >>> have_too_many_digits(["1234567890123456781", "1234567890123456782"])
    True
    """
    whole = [int(text) for text in texts if _WHOLE.fullmatch(text)]
    return merges(whole, np.array([as_float(number) for number in whole]))


def _remarks(form: str, values: Mapping[str, Value], bare: Mapping[str, str]) -> tuple[Remark, ...]:
    unread = tuple(sorted({text for text in bare.values() if text and text not in values}))
    # Plain numbers need no word, and dates get theirs from the reader of columns.
    if not unread and form in ("numbers", "dates"):
        return ()
    return (Remark("spelled", details={"form": form, "unread": unread}),)


def _bare(label: str) -> str:
    return label.strip().replace("\u2212", "-")


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text) or text.casefold().startswith("inf")


# Numbers ------------------------------------------------------------------------------------------


def _number_candidates(labels: set[str], decimal_comma: bool) -> Iterator[_Candidate]:
    if any(CODE.fullmatch(text) for text in labels):
        numbers = {text: 0.0 for text in labels if _PLAIN.pattern.fullmatch(text)}
        yield _Candidate("codes", dict(numbers))
        return
    amounts = {text: _without_unit(text) for text in labels}
    units = {unit for _, unit in amounts.values() if unit}
    if len(units) > 1:
        return
    unit = next(iter(units), "")
    between = (_COMMA, _THOUSANDS) if decimal_comma else (_THOUSANDS, _COMMA)
    for style in (_PLAIN, *between, _BLANK):
        yield _number_candidate(amounts, unit, style)


def _number_candidate(
    amounts: Mapping[str, tuple[str, str]], unit: str, style: _Style
) -> _Candidate:
    values: dict[str, Value] = {}
    is_whole = not unit and not style.said
    for text, (amount, found) in amounts.items():
        if not style.pattern.fullmatch(amount):
            continue
        number = _number(amount, style)
        # A bare number among percentages is on another scale.
        if unit == "%" and not found and number != 0:
            continue
        values[text] = number
        is_whole = is_whole and amount.lstrip("+-").isdigit()
    plain = "whole numbers" if is_whole else "numbers"
    kind = {"": plain, "%": "percentages"}.get(unit, f"amounts in {unit}")
    return _Candidate(f"{kind} with {style.said}" if style.said else kind, values)


def _number(amount: str, style: _Style) -> float:
    for mark in style.dropped:
        amount = amount.replace(mark, "")
    return float(amount.replace(style.decimal, "."))


def _without_unit(text: str) -> tuple[str, str]:
    """Return a number without its sign of money or percent, and that sign.

    Brackets are a minus in accounts.
    """
    brackets = _BRACKETS.match(text)
    if brackets:
        amount, unit = _without_unit(brackets[1])
        return f"-{amount}", unit
    percent = _PERCENT.match(text)
    if percent:
        return percent[1], "%"
    money = _MONEY.match(text)
    if money is None:
        return text, ""
    sign, before, amount, amount_before, after = money.groups()
    return (f"{sign}{amount}", before) if before else (amount_before, after)


# Dates --------------------------------------------------------------------------------------------


def _date_candidates(labels: set[str], order: DateOrder | None) -> Iterator[_Candidate]:
    yield _dates("dates", _matches(labels, _YEAR_FIRST), _month_before_day)
    matches = _matches(labels, _YEAR_LAST)
    by_order = {
        "day": _dates("dates with the day first", matches, _day_before_month),
        "month": _dates("dates with the month first", matches, _month_before_day),
    }
    day, month = (len(by_order[name].values) for name in ("day", "month"))
    # Points stand between day, month and year in that order.
    pointed = all(match["mark"] == "." for match in matches.values())
    if not pointed and day == month and by_order["day"].values != by_order["month"].values:
        if order is None:
            yield _Candidate("open dates", dict(by_order["day"].values))
            return
        yield by_order[order]
    elif pointed:
        yield by_order["day"]._replace(kind="dates")
    yield from by_order.values()


def _matches(labels: set[str], pattern: re.Pattern[str]) -> dict[str, re.Match[str]]:
    found = {text: pattern.fullmatch(text) for text in sorted(labels)}
    return {text: match for text, match in found.items() if match is not None}


def _dates(
    kind: str,
    matches: Mapping[str, re.Match[str]],
    parts: Callable[[re.Match[str]], tuple[int, int, int]],
) -> _Candidate:
    """Read the moments that exist, as plain dates if no label has a time of day."""
    moments: dict[str, datetime] = {}
    for text, match in matches.items():
        try:
            moments[text] = datetime(*parts(match)) + _clock(match)
        except ValueError:
            continue  # there is no 31st of February
    with_zone = any(matches[text].groupdict().get("zone") for text in moments)
    if with_zone:
        moments = {text: moment.replace(tzinfo=UTC) for text, moment in moments.items()}
    if any(matches[text]["hour"] for text in moments):
        return _Candidate(kind, dict(moments))
    return _Candidate(kind, {text: moment.date() for text, moment in moments.items()})


def _month_before_day(match: re.Match[str]) -> tuple[int, int, int]:
    return _full_year(match["year"]), int(match["first"]), int(match["second_part"])


def _day_before_month(match: re.Match[str]) -> tuple[int, int, int]:
    return _full_year(match["year"]), int(match["second_part"]), int(match["first"])


def _full_year(year: str) -> int:
    """Return the year; two digits mean 1969 to 2068, as in POSIX."""
    number = int(year)
    return number if len(year) == 4 else number + (2000 if number < 69 else 1900)


def _clock(match: re.Match[str]) -> timedelta:
    """Return the time of day, in UTC if the label names a zone."""
    found = match.groupdict()
    if found["hour"] is None:
        return timedelta()
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    half = (found.get("half") or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("no such time of day")
    fraction = float(found["fraction"] or 0)
    clock = timedelta(hours=hour, minutes=minute, seconds=second + fraction)
    return clock - _offset(found.get("zone") or "Z")


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "")
    away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -away if zone[0] == "-" else away
