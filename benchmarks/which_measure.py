"""The chart "Which measure answers my question?" of the guide.

    python -m benchmarks.which_measure [--into docs/images/which-measure.svg]

Text and lines are dark on light boxes with an outline, so that the chart can be read on a white and
on a dark page alike.
"""

from __future__ import annotations

import argparse
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "which-measure.svg"
START = "What do you want to know about?"
# Title of a branch, its colour, and its questions with measure and call.
BRANCHES = (
    (
        "The outcome: what tells me about it?",
        "#dbeafe",
        (
            ("How much does each tell, shared fairly?", "Shapley effect", "result.effects"),
            ("How much does it tell alone?", "first-order index", "result.first_order"),
            ("What would be lost without it?", "total index", "result.total"),
            (
                "Which of several proxies carries it?",
                "proportional marginal effect",
                "est.proportional_marginal_effects()",
            ),
            ("What does it add to what came first?", "effect in an order", "order=[[...], [...]]"),
            ("Which inputs act together?", "interaction", "est.interactions()"),
            ("Which inputs should I keep?", "selection", "AllRelevantSelector"),
        ),
    ),
    (
        "A fitted model: what does it do?",
        "#fde8d0",
        (
            ("What drives all of its predictions?", "Shapley effect", "explain_model(model, X)"),
            ("What drives one prediction?", "conditional SHAP value", "est.explain(rows)"),
            ("What does the model itself use?", "interventional SHAP", "package shap"),
            ("What if a column breaks?", "permutation importance", "scikit-learn"),
        ),
    ),
    (
        "Two tables: what is different?",
        "#dcf2dc",
        (
            ("Do inputs matter more or less?", "difference of effects", "compare(first, second)"),
            ("Why did the mean move?", "parts of the change", "explain_change(before, after, y)"),
        ),
    ),
)
WIDTH, ROW, GAP, TITLE, TOP = 700, 46, 18, 32, 64
TRUNK, BRANCH, QUESTION, MEASURE = 18, 46, 66, 378
FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"


def _box(x: float, y: float, width: float, height: float, fill: str) -> str:
    return (
        f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='6' fill='{fill}' "
        "stroke='#64748b'/>"
    )


def _text(x: float, y: float, text: str, size: float, more: str = FONT) -> str:
    return f"<text x='{x}' y='{y}' fill='#111827' font-size='{size}' {more}>{escape(text)}</text>"


def _line(points: str) -> str:
    return f"<path d='{points}' fill='none' stroke='#64748b' stroke-width='1.5'/>"


def _row(y: float, question: str, measure: str, call: str, colour: str) -> list[str]:
    middle = y + ROW / 2 - 3
    return [
        _line(f"M {BRANCH} {middle} H {MEASURE}"),
        _box(QUESTION, y, 294, ROW - 6, "#ffffff"),
        _text(QUESTION + 8, middle + 4, question, 12.5),
        _box(MEASURE, y, WIDTH - MEASURE - 6, ROW - 6, colour),
        _text(MEASURE + 10, y + 17, measure, 13, f"{FONT} font-weight='bold'"),
        _text(MEASURE + 10, y + 33, call, 12, "font-family='DejaVu Sans Mono, monospace'"),
    ]


def drawn() -> str:
    """Return the chart as SVG.

    Examples
    --------
    >>> from benchmarks.which_measure import drawn
    >>> "proportional marginal effect" in drawn()
    True
    """
    bold = f"{FONT} font-weight='bold'"
    parts, y, last = [_box(6, 8, 330, 36, "#e5e7eb"), _text(18, 31, START, 15, bold)], TOP, TOP
    for title, colour, questions in BRANCHES:
        last = y + TITLE / 2
        first, end = y + TITLE + 8, y + TITLE + 8 + ROW * len(questions)
        parts += [
            _line(f"M {TRUNK} {last} H {BRANCH}"),
            _line(f"M {BRANCH} {y + TITLE} V {end - ROW / 2 - 3}"),
            _box(BRANCH - 10, y, 340, TITLE, colour),
            _text(BRANCH, y + 21, title, 14, bold),
        ]
        for k, question in enumerate(questions):
            parts += _row(first + k * ROW, *question, colour)
        y = end + GAP
    parts.append(_line(f"M {TRUNK} 44 V {last}"))
    # Lines first: boxes cover their ends.
    body = "\n".join(sorted(parts, key=lambda part: not part.startswith("<path")))
    size = f"viewBox='0 0 {WIDTH} {y - GAP + 6}' width='{WIDTH}' height='{y - GAP + 6}'"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img'>\n{body}\n</svg>\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=Path, default=PICTURE)
    parser.parse_args().into.write_text(drawn(), "utf-8")


if __name__ == "__main__":
    main()
