"""A result at the end of a notebook's cell: headline, bars and notes, in HTML by itself.

Every rule is written into the elements, so that no page can lose or break them; colours follow the
page by ``currentColor`` and are readable on light and dark ground.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import decimals, percent, shortened
from shaff.show import sentences

if TYPE_CHECKING:
    from shaff.results.effects import EffectsResult

MAX_PLAYERS, MAX_NAME = 15, 40
_BAR, _PALE = "#4c86c6", "#9bb8d6"
_CELL = "padding:1px 10px 1px 0;text-align:{};border:0;background:none;white-space:nowrap"


def result_html(result: EffectsResult, max_players: int = MAX_PLAYERS) -> str:
    """A light page of a result, for notebooks.

    Examples
    --------
    >>> from shaff.results.effects import EffectsResult
    >>> from shaff.show.notebook import result_html
    >>> result = EffectsResult(
    ...     names=("<age>",), effects=[0.4], raw_effects=[0.4], explained_variance=0.4, n_rows=442,
    ...     n_subsets=4, estimator="forest", design="exhaustive", solver="least_squares")
    >>> "&lt;age&gt;" in result_html(result)
    True
    """
    shown = result.order[:max_players]
    rows = "".join(_row(result, int(j), _scale(result)) for j in shown)
    left = len(result.names) - len(shown)
    rest = float(result.effects[result.order[max_players:]].sum())
    more = f"<p>and {left} more inputs with {_number(result, rest)} together</p>" if left else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    details = f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""
    title = f"Shapley effects on {shortened(result.target_name, 60)}"
    return (
        '<div class="shaff-result" style="max-width:46em;line-height:1.45">'
        f'<div style="font-weight:600;font-size:1.1em">{escape(title)}</div>'
        f"<div>{escape(sentences.headline(result))} {escape(sentences.explained(result))}</div>"
        f'<table style="border-collapse:collapse;margin:.6em 0;width:100%">{_head(result)}'
        f'<tbody>{rows}</tbody></table>{more}<small style="opacity:.8">'
        f"{escape(sentences.how(result))}</small>{details}</div>"
    )


def _scale(result: EffectsResult) -> float:
    """The value at the right end of the bars."""
    highest = result.effects
    if result.standard_error is not None:
        highest = np.maximum(highest, result.confidence_interval().high)
    return max(float(highest.max(initial=0.0)), float(np.finfo(float).tiny))


def _head(result: EffectsResult) -> str:
    errors = result.standard_error is not None
    cells = ["input", "effect", "share", "", *(["95\u202f% interval"] * errors)]
    sides = ["left", "right", "right", "left", "right"]
    return "<thead><tr>" + "".join(map(_heading, cells, sides)) + "</tr></thead>"


def _heading(text: str, side: str) -> str:
    if not text:
        return f'<td style="{_CELL.format(side)}"></td>'
    return f'<th scope="col" style="{_CELL.format(side)};opacity:.8">{text}</th>'


def _row(result: EffectsResult, j: int, scale: float) -> str:
    name = escape(shortened(result.names[j], MAX_NAME))
    full = escape(result.names[j], quote=True)
    style = f"{_CELL.format('left')};font-weight:normal"
    cells = [f'<th scope="row" title="{full}" style="{style}">{name}</th>']
    if result.is_screened[j]:
        cells += [_cell("screened", "right"), _cell("–", "right"), _cell("", "left")]
        return f"<tr>{''.join(cells)}</tr>"
    share = percent(float(result.shares[j])) if result.explained_variance > 0 else ""
    cells += [_cell(_number(result, float(result.effects[j])), "right"), _cell(share, "right")]
    low, high = _interval(result)
    cells.append(_bar(result, j, low, high, scale))
    if low is not None and high is not None:
        text = f"{_number(result, float(low[j]))} to {_number(result, float(high[j]))}"
        cells.append(_cell(text, "right"))
    return f"<tr>{''.join(cells)}</tr>"


def _interval(result: EffectsResult) -> tuple[FloatArray | None, FloatArray | None]:
    if result.standard_error is None:
        return None, None
    low, high = result.confidence_interval(method="nonnegative")
    return low, high


def _cell(text: str, side: str) -> str:
    return f'<td style="{_CELL.format(side)}">{escape(text)}</td>'


def _bar(
    result: EffectsResult, j: int, low: FloatArray | None, high: FloatArray | None, scale: float
) -> str:
    """A bar, pale where the effect may be nothing, with its interval as a line over it."""
    unsure = result.p_values is not None and result.null_test()[j] > 0.05
    width = 100 * max(float(result.effects[j]), 0.0) / scale
    line = ""
    if low is not None and high is not None:
        start, length = 100 * float(low[j]) / scale, 100 * float(high[j] - low[j]) / scale
        line = (
            f'<div style="position:absolute;left:{start:.1f}%;width:{length:.1f}%;top:.42em;'
            'height:2px;background:currentColor"></div>'
        )
    color = _PALE if unsure else _BAR
    return (
        f'<td style="{_CELL.format("left")};width:45%;min-width:8em"><div aria-hidden="true" '
        'style="position:relative;height:.95em">'
        f'<div style="width:{width:.1f}%;height:100%;background:{color}"></div>{line}</div></td>'
    )


def _number(result: EffectsResult, number: float) -> str:
    digits = decimals(float(result.effects.max(initial=0.0)))
    return f"{number:z.{digits}f}".replace("-", "−")
