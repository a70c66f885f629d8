"""What the sections of a report say, as plain values for their templates."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shaff._util.statistics import by_strongest_pair, symmetric
from shaff._util.typing import FloatArray
from shaff._util.words import counted, decimals, percent, shortened
from shaff.data.summary import ColumnSummary, cluster_order
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.show import sentences
from shaff.show.report.scales import nice_ticks
from shaff.show.rows import (
    ALPHA,
    NONE,
    Row,
    effect_digits,
    known_columns,
    number_text,
    pair_rows,
    rows,
    share_text,
    typeset,
    unfolded_rows,
)

LEVEL = 0.95
# Bars that are shown at first, columns of the matrix, pairs of columns that are listed.
BARS, MATRIX, PAIRS = 20, 40, 12
NAME = 48
# Past so many inputs their covariances and associations would outweigh the rest of the page.
HEAVY = 60
MAX_OUTPUTS = 12
_WORTH_SAYING, _FAINT = 0.1, 0.05
ERRORS = {
    "data": ("The rows are a sample", "other rows would give other effects; more rows help"),
    "design": ("Not every subset was evaluated", "more subsets help"),
    "ensemble": ("Finitely many trees", "more trees help"),
    "algorithm": ("Random splits and seeds", "more rows help, or several runs"),
}


KINDS_OF_PAIRS = {
    "synergy": "Strongest synergies: more together than apart",
    "overlap": "Strongest overlaps: the two share information",
}


class Line(NamedTuple):
    """One input as the page shows it.

    ``bar``, ``low`` and ``high`` are per cent of the width of the chart; ``spark`` holds the points
    of a small curve, ``said`` the bar in words, for those who hear the page.
    """

    row: Row
    label: str
    members: tuple[str, ...]
    said: str
    spark: str
    bar: float
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Lines:
    """The inputs of a result, the largest effect first, and the scale that they are drawn on.

    Parameters
    ----------
    lines : list of Line
    ticks : list of (per cent of the width, text)
    columns : dict of bool
        Which of the optional columns the table has.
    """

    lines: list[Line]
    ticks: list[tuple[float, str]]
    columns: dict[str, bool]


def table(result: EffectsResult) -> Lines:
    """Return all that the page says of each input."""
    shown = [row.typeset() for row in rows(result, LEVEL, ranks=True)]
    top = max(max((max(row.bar, row.high) for row in shown), default=0.0), 1e-12)
    ticks = nice_ticks(top)
    top = max(top, ticks[-1])
    digits = max(len(f"{tick:.9g}".partition(".")[2]) for tick in ticks)
    columns = known_columns(result)
    groups = {} if result.data is None else result.data.groups
    lines = [_line(result, row, top, groups.get(row.name, ())) for row in shown]
    return Lines(lines, [(_width(t, top), f"{t:.{digits}f}") for t in ticks], columns)


def _line(result: EffectsResult, row: Row, top: float, members: tuple[str, ...]) -> Line:
    label = shortened(row.name, NAME)
    has_line = result.standard_errors is not None and not row.is_screened
    return Line(
        row=row,
        label=label,
        members=members,
        said=_said(label, row),
        spark="" if row.is_screened else _spark(result, row.name),
        bar=_width(row.bar, top),
        low=_width(row.low, top) if has_line else None,
        high=_width(row.high, top) if has_line else None,
    )


def _width(value: float, top: float) -> float:
    return round(100 * float(np.clip(value / top, 0.0, 1.0)), 2)


def _spark(result: EffectsResult, name: str) -> str:
    """Points of a curve in a box of 64 by 18, for an SVG; none where nothing happens."""
    curves, directions = result.curves or {}, result.directions or {}
    if name not in curves or directions.get(name) in ("none", "unclear"):
        return ""
    x, y = curves[name]
    across = (x - x.min()) / max(float(np.ptp(x)), 1e-300)
    up = (y.max() - y) / max(float(np.ptp(y)), 1e-300)
    return " ".join(f"{2 + 60 * a:.1f},{2 + 14 * b:.1f}" for a, b in zip(across, up, strict=True))


def _said(label: str, row: Row) -> str:
    if row.is_screened:
        return f"{label}: screened" + ("" if row.interval == NONE else f", {row.interval}")
    parts = (
        (row.share, f"{row.share} of what is explained"),
        (row.interval, f"95 % interval {row.interval}"),
        (row.direction, f"direction {row.direction}"),
    )
    known = [text for value, text in parts if value != NONE]
    return ", ".join([f"{label}: effect {row.effect}", *known])


# The sections, in order -----------------------------------------------------------------------


class Section(NamedTuple):
    """A part of the page; ``values`` fills the template of its name, or is None: left out."""

    id: str
    title: str
    values: Callable[[EffectsResult, Lines], dict[str, Any] | None]


def header(result: EffectsResult) -> dict[str, Any]:
    """Headline, how much is explained, and key figures."""
    v = result.explained_variance
    bounds = result.explained_interval(LEVEL)
    return {
        "title": sentences.title(result),
        "headline": sentences.headline(result),
        "explained": sentences.explained(result, LEVEL),
        "prediction": sentences.prediction(result),
        "structure": sentences.structure(result),
        "meter": None if v <= 0 else {
            "value": round(100 * min(v, 1.0), 2),
            "low": None if bounds is None else round(100 * bounds[0], 2),
            "high": None if bounds is None else round(100 * bounds[1], 2),
            "explained": percent(v),
            "rest": percent(max(1 - v, 0.0)),
        },
        "facts": _facts(result),
    }  # fmt: skip


def _facts(result: EffectsResult) -> list[tuple[str, str]]:
    p = len(result.names)
    facts = [(f"{result.n_rows:,}".replace(",", "\u202f"), "rows"), (str(p), "inputs")]
    if result.p_values is not None:
        n_real = int((result.null_test() < ALPHA).sum())
        facts.append((str(n_real), "with p < 0.05, adjusted"))
    return facts


def effects(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """Chart and table."""
    rest = float(result.effects[result.order[BARS:]].sum())
    return {
        "lines": lines.lines,
        "ticks": lines.ticks,
        "columns": lines.columns,
        "bars": BARS,
        "n_rest": max(len(lines.lines) - BARS, 0),
        "rest": number_text(rest, effect_digits(result)),
        "rest_share": typeset(share_text(float(result.shares[result.order[BARS:]].sum()))),
        "any_pale": any(not line.row.is_significant and line.bar > 0.5 for line in lines.lines),
        "target": shortened(result.target_name, 60),
        "measure": result.measure,
    }


def parts(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """Layers or groups of inputs, each with its members."""
    if not result.parts:
        return None
    found: dict[str, list[Row]] = {}
    for row in unfolded_rows(result, len(result.names), LEVEL):
        if row.depth == 0:
            found[row.name] = []
        found[next(reversed(found))].append(row.typeset())
    return {
        "said": sentences.structure(result),
        "has_errors": result.standard_errors is not None,
        "parts": [
            {
                "label": shortened(name, NAME),
                "row": own[0],
                # An input that is a group by itself is its only member.
                "members": [(shortened(row.name, NAME), row) for row in own[1:] or own],
            }
            for name, own in found.items()
        ],
    }


def outputs(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """Effects on each class or output."""
    if result.per_output is None:
        return None
    shown = result.outputs[:MAX_OUTPUTS]
    digits = decimals(max(float(result.per_output[o].max(initial=0.0)) for o in shown))
    errors = result.per_output_errors
    chosen = result.order[:BARS]
    rows = [
        (
            shortened(result.names[j], NAME),
            [
                (
                    f"{result.per_output[o][j]:.{digits}f}",
                    None if errors is None else f"{errors[o][j]:.{digits}f}",
                )
                for o in shown
            ],
        )
        for j in chosen
    ]
    totals = [percent(float(result.per_output[o].sum())) for o in shown]
    return {
        "outputs": [shortened(o, NAME) for o in shown],
        "rows": rows,
        "totals": totals,
        "n_more": len(result.outputs) - len(shown),
        "n_rest": len(result.names) - len(chosen),
    }


def dependence(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """The clustered matrix, and the strongest pairs in words."""
    if result.data is None or len(result.data.columns) < 2:
        return None
    columns, matrix = result.data.columns, result.data.association
    first = matrix[:MATRIX, :MATRIX]
    order = cluster_order(first)
    labels = [shortened(columns[j].name, 24) for j in order]
    shown = first[np.ix_(order, order)]
    return {
        "labels": labels,
        "cells": _cells(shown, [[f"{entry:.2f}" for entry in row] for row in shown], labels),
        "pairs": _strongest(columns, matrix),
        "n_shown": len(order),
        "side": _side(len(order)),
        "n_columns": len(columns),
    }


def _side(n_shown: int) -> int:
    """Side of a cell of the matrix: few are large, and many fit."""
    return int(np.clip(480 // n_shown, 14, 28))


def _cells(
    strengths: FloatArray, numbers: list[list[str]], labels: list[str]
) -> list[dict[str, Any]]:
    """Cells below the diagonal that are strong enough for a colour, from -1 to 1."""
    return [
        {
            "x": b,
            "y": a,
            "kind": _shade(strengths[a, b]),
            "said": f"{labels[a]} and {labels[b]}: {numbers[a][b]}",
        }
        for a in range(len(labels))
        for b in range(a)
        if abs(strengths[a, b]) >= _FAINT
    ]


def _shade(association: float) -> str:
    """The class of a cell: "p" or "n" and a tenth."""
    return f"{'n' if association < 0 else 'p'}{min(int(10 * abs(association)), 9)}"


def _strongest(columns: tuple[ColumnSummary, ...], matrix: FloatArray) -> list[dict[str, Any]]:
    one, other = np.triu_indices(len(columns), 1)
    found = matrix[one, other]
    order = np.argsort(-np.abs(found), kind="stable")[:PAIRS]
    return [
        {
            "one": shortened(columns[one[k]].name, NAME),
            "other": shortened(columns[other[k]].name, NAME),
            "strength": f"{abs(found[k]):.2f}",
            "how": _how(columns[one[k]], columns[other[k]], float(found[k])),
        }
        for k in order
        if abs(found[k]) >= _WORTH_SAYING
    ]


def _how(one: ColumnSummary, other: ColumnSummary, association: float) -> str:
    if {one.kind, other.kind} == {"number"}:
        return "one falls, the other rises" if association < 0 else "rise together"
    return "by category"


def interactions(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """The matrix of those in the strongest pairs, and these pairs as a table."""
    found = result.interactions
    if found is None or len(found.looked_at) < 2:
        return None
    everyone = symmetric(found.pair_values, len(found.looked_at))
    shown = by_strongest_pair(everyone)[:MATRIX]
    labels = [shortened(found.names[found.looked_at[j]], 24) for j in shown]
    top = float(np.abs(found.pair_values).max()) or 1.0
    digits = decimals(top)
    matrix = everyone[np.ix_(shown, shown)]
    return {
        "labels": labels,
        "cells": _cells(
            matrix / top, [[f"{v:z.{digits}f}" for v in row] for row in matrix], labels
        ),
        "groups": _interacting(found),
        "has_errors": found.pair_errors is not None,
        "n_shown": len(shown),
        "n_inputs": len(everyone),
        "side": _side(len(shown)),
        "notes": found.notes,
        "measure": result.measure,
    }


def _interacting(found: Interactions) -> list[tuple[str, list[dict[str, str]]]]:
    """The strongest pairs of each kind, number by number; of none that can be told, all."""
    known: dict[str, list[dict[str, str]]] = {}
    for row in pair_rows(found, LEVEL):
        known.setdefault(row.kind, []).append({
            "one": shortened(row.first, NAME),
            "other": shortened(row.second, NAME),
            "value": typeset(row.interaction),
            "interval": typeset(row.interval),
            "p_value": row.p_value,
        })  # fmt: skip
    told = [(title, known[kind][:PAIRS]) for kind, title in KINDS_OF_PAIRS.items() if kind in known]
    return told or [("No pair is clear; the strongest", known.get("unclear", [])[:PAIRS])]


def certainty(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """Errors by source, and how the design's error fell."""
    if result.errors_by_source is None:
        return None
    digits = effect_digits(result) + 1
    kept = ~result.is_screened
    errors = [
        {"what": ERRORS[source][0], "help": ERRORS[source][1],
         "largest": f"{float(error.max(initial=0.0)):.{digits}f}",
         "typical": f"{float(np.median(error[kept])):.{digits}f}"}
        for source, error in result.errors_by_source.items()
        if error.any()
    ]  # fmt: skip
    return {
        "errors": errors,
        "steps": _steps(result, digits),
        "n_subsets": result.n_subsets,
        "is_complete": result.convergence is None and _all_subsets(result),
    }


def _all_subsets(result: EffectsResult) -> bool:
    return len(result.names) < 60 and result.n_subsets >= 2 ** len(result.names) - 1


def _steps(result: EffectsResult, digits: int) -> list[dict[str, Any]]:
    """Points of the convergence in per cent of the picture, on a logarithmic scale of errors."""
    if result.convergence is None:
        return []
    n, errors = result.convergence.T
    height = np.log(np.maximum(errors, 1e-12))
    low, high = float(height.min()), float(height.max())
    span = max(high - low, 1e-9)
    left, right = float(n.min()), max(float(n.max()), float(n.min()) + 1)
    return [
        {
            "x": round(12 + 80 * (a - left) / (right - left), 2),
            "y": round(18 + 58 * (high - h) / span, 2),
            "n": int(a),
            "error": f"{e:.{digits}f}",
        }
        for a, h, e in zip(n, height, errors, strict=True)
    ]


def data(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """What was read, and how."""
    summary = result.data
    if summary is None:
        return None
    return {
        "n_rows": counted(summary.n_rows, "row"),
        "n_left_out": summary.n_given - summary.n_rows,
        "n_given": summary.n_given,
        "n_columns": summary.n_columns,
        "n_categories": sum(column.kind == "category" for column in summary.columns),
        "n_with_missing": sum(column.n_missing > 0 for column in summary.columns),
        "has_groups": bool(summary.groups),
        "target": None if summary.target is None else _column(summary.target, summary.n_rows),
        "columns": [_column(column, summary.n_rows) for column in summary.columns],
    }


def _column(column: ColumnSummary, n_rows: int) -> dict[str, Any]:
    return {
        "name": shortened(column.name, NAME),
        "input": shortened(column.player, NAME),
        "kind": column.kind,
        "missing": percent(column.n_missing / n_rows, 1) if column.n_missing else "none",
        "n_distinct": column.n_distinct,
        "range": "" if column.low is None else
        " · ".join(f"{value:.4g}" for value in (column.low, column.middle, column.high)),
    }  # fmt: skip


def notes(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """The notes as they are."""
    return {"notes": result.notes}


def making(result: EffectsResult, lines: Lines) -> dict[str, Any] | None:
    """Settings, versions, the call, and what a reviewer needs to check them."""
    seed = "none was given: another run differs slightly"
    settings = {
        "Model": sentences.model_words(result),
        "Subsets of the inputs evaluated": str(result.n_subsets),
        "Seed": seed if result.random_state is None else str(result.random_state),
        "Versions": _versions(result),
    }
    return {"settings": settings, "call": result.call, "audit": _audit(result)}


def _versions(result: EffectsResult) -> str:
    versions = {"shaff": result.version, **(result.versions or {})}
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _audit(result: EffectsResult) -> dict[str, str] | None:
    """What was recorded of the data; None for files from before there was a hash of them."""
    if result.data_hash is None:
        return None
    columns = "" if result.column_digests is None else counted(len(result.column_digests), "column")
    return {
        "Data hash (BLAKE2b)": result.data_hash,
        "Rows and columns": f"{counted(result.n_rows, 'row')}, {columns}".removesuffix(", "),
        "Versions": _versions(result),
        "Seed": "none" if result.random_state is None else str(result.random_state),
        "Call": result.call or "not recorded",
    }


SECTIONS = (
    Section("effects", "Effects", effects),
    Section("parts", "Layers and groups", parts),
    Section("outputs", "Each class or output", outputs),
    # The section of `shaff.show.report.local` comes here.
    Section("dependence", "Which inputs go together", dependence),
    Section("interactions", "Which inputs act together", interactions),
    Section("certainty", "How sure this is", certainty),
    Section("data", "The data", data),
    Section("notes", "Notes", notes),
    Section("making", "How this was made", making),
)


def embedded(result: EffectsResult, lines: Lines) -> dict[str, Any]:
    """Return what the script needs: details of each input, and the result to be saved."""
    # Subsets and weights outweigh the rest of the page, and are in the file of `to_json`.
    light = replace(result, subsets=None, values=None, weights=None, game_names=())
    if len(result.names) > HEAVY:
        light = replace(light, covariance=None, data=None, curves=None, interactions=None)
    keys = ("name", "effect", "share", "interval", "error", "p_value", "first_order", "total",
            "ranks", "direction", "remark")  # fmt: skip
    columns = {name: array[result.order] for name, array in result._columns(LEVEL).items()}
    return {
        "target": result.target_name,
        "inputs": [
            {**{key: getattr(line.row, key) for key in keys}, "members": list(line.members)}
            for line in lines.lines
        ],
        "columns": {
            name: [None if not np.isfinite(v) else float(v) for v in array]
            for name, array in columns.items()
        },
        "result": json.loads(light.to_json()),
    }
