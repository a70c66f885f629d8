"""The content of a saved result against the fields of its class, before anything is made of it.

The types of the fields are the schema: a field that is added to a class is checked from then on.
Shapes, which depend on each other, are checked where results are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from shaff._util.json import WORDS_FOR_NUMBERS
from shaff._util.typing import BoolArray, FloatArray, IntpArray, is_whole
from shaff.errors import InputError

# Numbers of rows and the like: beyond, they are no counts.
_LARGEST = 2**53


def check_content(content: Any, kind: type, where: str = "") -> None:
    """Refuse content whose fields are not of the types that a class has.

    Fields that the class does not have are those of another version, and count for nothing.

    Examples
    --------
    >>> from shaff.results.interactions import Interactions
    >>> from shaff.results.schema import check_content
    >>> check_content({"names": ["a"], "looked_at": [0], "pair_values": "none"}, Interactions)
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: pair_values must be numbers, in lists.
    """
    if not isinstance(content, Mapping):
        raise InputError(f"{where or 'it'} must be an object.")
    hints = get_type_hints(kind)
    for name in required_fields(kind):
        if name not in content:
            raise InputError(f"{_inside(where, name)} is missing.")
    for name in content.keys() & hints.keys():
        _check(content[name], hints[name], _inside(where, name))


def required_fields(kind: type) -> list[str]:
    """Return the fields of a dataclass or named tuple that have no default."""
    if is_dataclass(kind):
        return [f.name for f in fields(kind) if f.default is MISSING is f.default_factory]
    defaults: Mapping[str, Any] = getattr(kind, "_field_defaults", {})
    return [name for name in getattr(kind, "_fields", ()) if name not in defaults]


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _check(value: Any, hint: Any, where: str) -> None:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return
        hint = next(part for part in parts if part is not NoneType)
        origin, parts = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        is_right, expected = _PLAIN[hint]
        if not is_right(value):
            raise InputError(f"{where} must be {expected}.")
    elif origin is Literal:
        if not isinstance(value, str) or value not in parts:
            raise InputError(f"{where} must be one of {', '.join(map(repr, parts))}.")
    elif origin is tuple:
        _check_list(value, parts, where)
    elif origin in (dict, Mapping):
        _check_map(value, parts[1], where)
    elif isinstance(hint, type):
        check_content(value, hint, where)


def _check_list(value: Any, parts: tuple[Any, ...], where: str) -> None:
    if not isinstance(value, list):
        raise InputError(f"{where} must be a list.")
    if Ellipsis not in parts and len(value) != len(parts):
        raise InputError(f"{where} must have {len(parts)} entries.")
    for k, entry in enumerate(value):
        _check(entry, parts[0], f"{where}[{k}]")


def _check_map(value: Any, kind: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{where} must be an object.")
    for name, entry in value.items():
        _check(name, str, f"a name in {where}")
        _check(entry, kind, f"{where}[{name!r}]")


def is_text(value: Any) -> bool:
    """Whether a value is text that can be written: half of a pair of surrogates cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_count(value: Any) -> bool:
    return is_whole(value) and 0 <= value <= _LARGEST


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value in WORDS_FOR_NUMBERS
    return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)


def _is_finite(value: float) -> bool:
    return bool(abs(value) <= np.finfo(np.float64).max) and math.isfinite(value)


def _is_flag(value: Any) -> bool:
    """Whether a value is true, false, or a subset, which is saved as a string of 0 and 1."""
    return isinstance(value, bool) or (isinstance(value, str) and not value.strip("01"))


def _in_lists(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def all_right(value: Any) -> bool:
        return all(map(all_right, value)) if isinstance(value, list) else is_right(value)

    return lambda value: isinstance(value, list) and all_right(value)


_PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    str: (is_text, "text"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (_is_count, "a whole number, 0 or more"),
    float: (_is_number, "a number"),
    FloatArray: (_in_lists(lambda value: value is None or _is_number(value)), "numbers, in lists"),
    IntpArray: (_in_lists(_is_count), "whole numbers, in lists"),
    # A subset is saved as a string of 0 and 1, which inputs are kept as true and false.
    BoolArray: (_in_lists(_is_flag), "0 and 1 in text, or true and false"),
    Any: (lambda _: True, "anything"),
}
