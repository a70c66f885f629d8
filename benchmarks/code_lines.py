"""Counts lines of code, package by package: ``python -m benchmarks.code_lines [OTHER_TREE]``.

Blank lines, docstrings, comments and imports do not count. With the root of another checkout as an
argument its numbers stand beside, and what moved out of ``src/`` (``paper/``) is counted apart from
what is gone.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Folders beside ``src/`` that hold code which was once, or is still, in the package.
BESIDE = ("paper",)
_NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str) -> int:
    """Lines of a module that hold code.

    Examples
    --------
    >>> from benchmarks.code_lines import code_lines
    >>> code_lines('import os\\n\\nx = 1  # one\\n\\ndef f():\\n    "The one."\\n    return x\\n')
    3
    """
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in _NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - set(_left_out(ast.parse(text))))


def _left_out(tree: ast.Module) -> Iterator[int]:
    """Lines of docstrings and imports, and of ``if TYPE_CHECKING`` around them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _span(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                yield from _span(node.body[0])
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield node.lineno


def _span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def count(root: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines of the packages of ``src/shaff``, and of the folders beside ``src/``."""
    inside: Counter[str] = Counter()
    for path in sorted((root / "src" / "shaff").rglob("*.py")):
        place = path.relative_to(root / "src" / "shaff")
        inside[place.parts[0] if len(place.parts) > 1 else "modules at the top"] += code_lines(
            path.read_text("utf-8")
        )
    beside: Counter[str] = Counter()
    for folder in BESIDE:
        for path in sorted((root / folder).rglob("*.py")):
            beside[f"{folder}/"] += code_lines(path.read_text("utf-8"))
    return inside, beside


def _print(counts: list[tuple[Counter[str], Counter[str]]]) -> None:
    rooms = sorted({room for inside, _ in counts for room in inside})
    for room in rooms:
        print(f"{room:<24}", *(f"{inside[room]:>8}" for inside, _ in counts))
    print(f"{'src/shaff':<24}", *(f"{inside.total():>8}" for inside, _ in counts))
    for folder in sorted({folder for _, beside in counts for folder in beside}):
        print(f"{folder:<24}", *(f"{beside[folder]:>8}" for _, beside in counts))
    print(f"{'together':<24}", *(f"{a.total() + b.total():>8}" for a, b in counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, nargs="?", help="root of another checkout")
    other = parser.parse_args().other
    here = count(ROOT)
    if other is None:
        _print([here])
        return
    there = count(other)
    print(f"{'':<24} {'here':>8} {'other':>8}")
    _print([here, there])
    less = there[0].total() - here[0].total()
    moved = sum(there[0][folder] - here[0][folder] for folder in BESIDE)
    print(f"src/shaff has {less} lines fewer than in the other tree: {moved} moved beside it, "
          f"{less - moved} net are gone.")  # fmt: skip


if __name__ == "__main__":
    main()
