"""A result at the end of a notebook's cell: headline, bars and notes in plain HTML.

Every style is written into the elements, so that no page can lose or break it; colours follow the
page by ``currentColor`` and are readable on light and dark backgrounds.
"""

from __future__ import annotations

from html import escape

from shaff._util.words import shortened
from shaff.results.effects import EffectsResult
from shaff.show import sentences
from shaff.show.rows import Row, remark_sentences, unfolded_rows
from shaff.show.text import rest_text

MAX_INPUTS, MAX_NAME = 15, 40
_BAR, _PALE = "#4c86c6", "#9bb8d6"
_CELL = "padding:1px 10px 1px 0;text-align:{};border:0;background:none;white-space:nowrap"


def result_html(result: EffectsResult, max_inputs: int = MAX_INPUTS) -> str:
    """Return a result as HTML for notebooks.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.notebook import result_html
    >>> "&lt;age&gt;" in result_html(example(names=("<age>", "bmi")))
    True
    """
    lines = [row.typeset() for row in unfolded_rows(result, max_inputs)]
    # The value at the right end of the bars.
    scale = max([max(row.bar, row.high) for row in lines if not row.is_screened], default=0.0)
    body = "".join(_row(result, row, max(scale, 1e-300)) for row in lines)
    is_more = len(result.names) > max_inputs
    more = f"<p>{escape(rest_text(result, max_inputs))}</p>" if is_more else ""
    more += "".join(f"<p>{escape(said)}</p>" for said in remark_sentences(lines))
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    details = f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""
    return (
        '<div class="shaff-result" style="max-width:46em;line-height:1.45">'
        f'<div style="font-weight:600;font-size:1.1em">{escape(sentences.title(result))}</div>'
        f"{_structure(result)}"
        f"<div>{escape(sentences.headline(result))} {escape(sentences.explained(result))} "
        f"{escape(sentences.prediction(result))}</div>"
        f'<table style="border-collapse:collapse;margin:.6em 0;width:100%">{_head(result)}'
        f'<tbody>{body}</tbody></table>{more}<small style="opacity:.8">'
        f"{escape(sentences.how(result))}</small>{details}</div>"
    )


def _structure(result: EffectsResult) -> str:
    said = sentences.structure(result)
    return f"<div>{escape(said)}</div>" if said else ""


def _head(result: EffectsResult) -> str:
    errors = result.standard_errors is not None
    cells = ["input", "effect", "share", "", *(["95\u202f% interval"] * errors)]
    sides = ["left", "right", "right", "left", "right"]
    return "<thead><tr>" + "".join(map(_heading, cells, sides)) + "</tr></thead>"


def _heading(text: str, side: str) -> str:
    if not text:
        return f'<td style="{_CELL.format(side)}"></td>'
    return f'<th scope="col" style="{_CELL.format(side)};opacity:.8">{text}</th>'


def _row(result: EffectsResult, row: Row, scale: float) -> str:
    name, full = escape(shortened(row.name, MAX_NAME)), escape(row.name, quote=True)
    style = f"{_CELL.format('left')};font-weight:normal" + ";padding-left:1.2em" * row.depth
    cells = [f'<th scope="row" title="{full}" style="{style}">{name}</th>']
    cells += [_cell(row.effect, "right"), _cell(row.share, "right")]
    has_errors = result.standard_errors is not None
    cells.append(_bar(row, scale, has_errors and not row.is_screened))
    cells += [_cell(row.interval, "right")] * has_errors
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str, side: str) -> str:
    return f'<td style="{_CELL.format(side)}">{escape(text)}</td>'


def _bar(row: Row, scale: float, has_line: bool) -> str:
    """A bar, pale unless the effect is significantly above 0, with its interval as a line."""
    line = ""
    if has_line:
        start, length = 100 * row.low / scale, 100 * (row.high - row.low) / scale
        line = (
            f'<div style="position:absolute;left:{start:.1f}%;width:{length:.1f}%;top:.42em;'
            'height:2px;background:currentColor"></div>'
        )
    color = _BAR if row.is_significant else _PALE
    return (
        f'<td style="{_CELL.format("left")};width:45%;min-width:8em"><div aria-hidden="true" '
        f'style="position:relative;height:.95em"><div style="width:{100 * row.bar / scale:.1f}%;'
        f'height:100%;background:{color}"></div>{line}</div></td>'
    )
