"""Single rows in a report: all of them at a glance, and some of them step by step."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import shortened
from shaff.results.local import LocalEffects
from shaff.show.plots.swarm import ranks, swarm
from shaff.show.report.scales import nice_ticks
from shaff.show.report.sections import NAME, SECTIONS, Section
from shaff.show.rows import number_text, quantity_digits, typeset

# Points make the file large: rows and inputs that are drawn, rows that are shown step by step.
SWARM_ROWS, SWARM_INPUTS, STEP_ROWS, STEPS = 300, 15, 12, 10
# A picture of this size, in which names have the left part.
LEFT, WIDTH, ROW = 150, 760, 34
TINTS = 6


def with_local(local: LocalEffects | None) -> tuple[Section, ...]:
    """Return the sections of a page, those of single rows after those of all rows.

    Examples
    --------
    >>> from shaff.show.report.local import with_local
    >>> from shaff.show.report.sections import SECTIONS
    >>> with_local(None) == SECTIONS
    True
    """
    if local is None:
        return SECTIONS
    place = 1 + next(k for k, section in enumerate(SECTIONS) if section.id == "outputs")
    rows = Section("local", "Single rows", partial(_section, local))
    return (*SECTIONS[:place], rows, *SECTIONS[place:])


def _section(local: LocalEffects, *_: Any) -> dict[str, Any]:
    outputs = [local] if local.outputs is None else [local.of(name) for name in local.outputs]
    # The output that the values vary most for; the others are in the saved files.
    shown = max(outputs, key=lambda one: float(np.nanmean(np.abs(one.values))))
    return {
        "n_rows": local.n_rows,
        "is_training": local.is_training,
        "target": shortened(shown.target_name, 60),
        "n_more_outputs": len(outputs) - 1,
        "base": _number(shown.base, _digits(shown)),
        "swarm": _swarm(shown) if shown.n_rows > 1 else None,
        "rows": [_row(shown, k) for k in range(min(shown.n_rows, STEP_ROWS))],
        "n_left": max(shown.n_rows - STEP_ROWS, 0),
        "notes": local.notes,
    }


def _digits(local: LocalEffects) -> int:
    """Digits after the point, so that the largest value has three figures."""
    return quantity_digits(float(np.nanmax(np.abs(local.values), initial=0.0)))


def _number(value: float, digits: int) -> str:
    return typeset(number_text(value, digits))


def _swarm(local: LocalEffects) -> dict[str, Any]:
    """Points of the picture, input by input, each with a tint."""
    rows = np.unique(np.linspace(0, local.n_rows - 1, SWARM_ROWS).astype(np.intp))
    rows = rows[np.isfinite(local.predictions[rows])]
    inputs = local.order[:SWARM_INPUTS]
    values = local.values[np.ix_(rows, inputs)]
    top = max(float(np.abs(values).max(initial=0.0)), 1e-12)
    middle, half = LEFT + (WIDTH - LEFT) / 2, (WIDTH - LEFT) / 2 - 8
    lines = [
        {
            "name": shortened(local.names[j], 22),
            "y": 18 + ROW * k,
            "points": _points(
                local, rows, int(j), values[:, k] / top * half + middle, 18 + ROW * k
            ),
        }
        for k, j in enumerate(inputs)
    ]
    ticks = [t for t in nice_ticks(top) if t <= top]
    marks = sorted({*ticks, *(-t for t in ticks)})
    return {
        "lines": lines,
        "ticks": [(round(middle + half * t / top, 1), f"{t:+g}".replace("-", "−") if t else "0")
                  for t in marks],
        "middle": round(middle, 1),
        "width": WIDTH,
        "height": 18 + ROW * len(lines) + 14,
        "n_shown": len(rows),
        "n_inputs": len(inputs),
        "n_hidden": len(local.names) - len(inputs),
    }  # fmt: skip


def _points(
    local: LocalEffects, rows: Any, position: int, places: FloatArray, height: float
) -> list[tuple[float, float, str]]:
    tint = ranks(local.data[rows, position], local.names[position] in local.levels)
    offsets = swarm(places) * (ROW * 0.9)
    names = ["t" if np.isnan(t) else f"t{min(int(TINTS * t), TINTS - 1)}" for t in tint]
    return [
        (round(float(x), 1), round(height + float(dy), 1), name)
        for x, dy, name in zip(places, offsets, names, strict=True)
    ]


def _row(local: LocalEffects, row: int) -> dict[str, Any]:
    """One row, the largest steps first."""
    digits = _digits(local)
    values = local.values[row]
    order = np.argsort(-np.abs(values), kind="stable")
    top = max(float(np.abs(np.nan_to_num(values)).max(initial=0.0)), 1e-12)
    steps = [
        {
            "name": shortened(local.names[j], NAME),
            "has": shortened(local.label(row, int(j)), 24),
            "value": f"{values[j]:+z.{digits}f}".replace("-", "−"),
            "is_up": bool(values[j] > 0),
            "left": round(50 + 50 * min(float(values[j]), 0.0) / top, 2),
            "width": round(50 * abs(float(values[j])) / top, 2),
        }
        for j in order[:STEPS]
        if np.isfinite(values[j])
    ]
    rest = values[order[STEPS:]]
    return {
        "place": int(local.rows[row]),
        "prediction": _number(float(local.predictions[row]), digits),
        "steps": steps,
        "n_rest": len(rest),
        "rest": f"{float(rest.sum()):+z.{digits}f}".replace("-", "−"),
    }
