"""A result as a table of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shaff._util.words import decimals

if TYPE_CHECKING:
    from shaff.results.effects import EffectsResult


def summary_table(
    result: EffectsResult, players: npt.NDArray[np.intp], bar_width: int = 20
) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the table of a result; the last column holds bars.

    Examples
    --------
    >>> from shaff.results.effects import EffectsResult
    >>> from shaff.show.text import summary_table
    >>> result = EffectsResult(
    ...     names=("age",), effects=[0.1], raw_effects=[0.1], explained_variance=0.1, n_rows=442,
    ...     n_subsets=1, estimator="forest", design="exhaustive", solver="least_squares")
    >>> summary_table(result, result.order)
    (['player', 'effect', 'share', ''], [['age', '0.100', '100 %', '####################']])
    """
    optional = {
        "error": result.standard_error,
        "first-order": result.first_order,
        "total": result.total,
    }
    digits = decimals(float(result.effects.max(initial=0.0)))
    present = {
        name: [number_text(number, digits) for number in array]
        for name, array in optional.items()
        if array is not None
    }
    if result.p_values is not None:
        present["p (Holm)"] = [p_value_text(p) for p in result.null_test()]
    if result.directions:
        words = result.words(np.arange(len(result.names)))["direction"]
        present["direction"] = [word or "–" for word in words]
    out, ends = result.is_screened, _bars(result, bar_width, digits)
    rows = []
    for j in players:
        numbers = ["–" if out[j] else column[j] for column in present.values()]
        share = f"{100 * result.shares[j]:z.0f} %" if result.explained_variance > 0 else ""
        effect = "screened" if out[j] else number_text(result.effects[j], digits)
        rows.append([result.names[j], effect, *numbers, "–" if out[j] else share, ends[j]])
    return ["player", "effect", *present, "share", ""], rows


def _bars(result: EffectsResult, width: int, digits: int) -> list[str]:
    """The effects as bars; of players that were screened, how large they may be."""
    scale = max(float(result.effects.max(initial=0.0)), np.finfo(float).tiny)
    bars = ["#" * round(width * max(float(e), 0.0) / scale) for e in result.effects]
    bounded = result.others is not None and result.standard_error is not None
    most = result.upper_bound() if bounded else None
    for j in np.flatnonzero(result.is_screened):
        bars[j] = "" if most is None else f"at most {number_text(most[j], digits)}"
    return bars


def number_text(number: float, digits: int = 3) -> str:
    """A few digits, no negative zero, and a dash for what was not computed."""
    return "–" if np.isnan(number) else f"{number:z.{digits}f}"


def p_value_text(p: float) -> str:
    """Three digits at most."""
    return "< 0.001" if p < 0.001 else number_text(p)


def aligned(rows: list[list[str]]) -> list[str]:
    """First and last column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *middle, last in rows:
        cells = [cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells, last]).rstrip())
    return lines
