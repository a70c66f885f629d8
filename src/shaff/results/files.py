"""Saved results are read back, whichever class they are of."""

from __future__ import annotations

import os
from pathlib import Path

from shaff._util.json import read_content
from shaff.errors import InputError, first_line
from shaff.results.base import Result
from shaff.results.change import Change
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.many import ManyEffects
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.results.selection import Selection

AnyResult = (
    EffectsResult
    | LocalEffects
    | Interactions
    | Comparison
    | Change
    | ManyEffects
    | Selection
    | ProportionalMarginalEffects
)
CLASSES: dict[str, type[Result]] = {saved._format: saved for saved in AnyResult.__args__}


def load_result(source: str | os.PathLike[str]) -> AnyResult:
    """Read what ``to_json`` of any result has written.

    Parameters
    ----------
    source : path, or the JSON text itself

    Returns
    -------
    EffectsResult, LocalEffects, Interactions, Comparison, Change, ManyEffects, Selection or \
    ProportionalMarginalEffects
        Whichever was saved.

    Examples
    --------
    >>> from shaff import load_result
    >>> from shaff.results.local import LocalEffects
    >>> local = LocalEffects(("a", "b"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
    >>> load_result(local.to_json())
    LocalEffects(1 row, 2 inputs, base 1)
    >>> load_result("{}")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: the text is not a result of shaff: ...
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    origin = "the text" if is_text else os.fspath(source)
    text = str(source) if is_text else Path(source).read_text(encoding="utf-8", errors="replace")
    content = read_content(text, origin, {name: c._versions for name, c in CLASSES.items()})
    try:
        result = CLASSES[content["format"]]._from_content(content)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        reason = first_line(error)
        raise InputError(f"{origin} is a damaged result of shaff: {reason}") from error
    assert isinstance(result, AnyResult)
    return result
