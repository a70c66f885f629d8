"""Values as JSON has them, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shaff._version import __version__
from shaff.errors import InputError


def encoded(value: Any) -> Any:
    """JSON values; numbers that JSON lacks become strings that float() reads back.

    In arrays NaN is null: no number was computed.
    """
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return encoded(value.tolist())
    if isinstance(value, list | tuple):
        return [None if item != item else encoded(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


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
        content = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{origin} is not a result of shaff, or was cut short: {error}."
        raise InputError(message) from error
    form = content.get("format") if isinstance(content, dict) else None
    if not isinstance(form, str) or form not in versions:
        known = ", ".join(f'"{name}"' for name in versions)
        raise InputError(f"{origin} is not a result of shaff: it has no format of {known}.")
    if content.get("format_version") not in versions[form]:
        raise InputError(
            f"{origin} has format version {content.get('format_version')!r}; "
            f"shaff {__version__} reads versions {versions[form]}."
        )
    return dict(content)
