"""Conversion of values to and from JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shaff._util.missing import is_missing
from shaff._util.typing import is_whole
from shaff._version import __version__
from shaff.errors import InputError, first_line

# In the place of numbers that JSON lacks; float() reads them.
WORDS_FOR_NUMBERS = ("NaN", "Infinity", "-Infinity")


def encoded(value: Any) -> Any:
    """Return JSON values; numbers that JSON lacks become strings that float() reads back.

    In arrays NaN is null: no number was computed.
    """
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return encoded(value.tolist())
    if isinstance(value, list | tuple):
        return [None if is_missing(item) else encoded(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return WORDS_FOR_NUMBERS[0 if np.isnan(value) else 1 if value > 0 else 2]
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def read_content(text: str, origin: str, versions: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Return the object that a text holds, if its format and version can be read.

    ``versions`` are those that can be read, by format; ``origin`` names the text in messages.

    Examples
    --------
    >>> from shaff._util.json import read_content
    >>> read_content('{"format": "f", "format_version": 1}', "the text", {"f": (1, 2)})
    {'format': 'f', 'format_version': 1}
    """
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        message = f"{origin} is not a result of shaff, or was cut short: {first_line(error)}."
        raise InputError(message) from error
    form = content.get("format") if isinstance(content, dict) else None
    if not isinstance(form, str) or form not in versions:
        known = ", ".join(f'"{name}"' for name in versions)
        raise InputError(f"{origin} is not a result of shaff: it has no format of {known}.")
    version = content.get("format_version")
    if not is_whole(version) or version not in versions[form]:
        raise InputError(
            f"{origin} has format version {version if is_whole(version) else 'none'}; "
            f"shaff {__version__} reads versions {versions[form]}."
        )
    return dict(content)
