"""What the pages say that code prints, beside what it prints today.

    python -m benchmarks.doc_outputs [docs/guide/reading.md ...]

A block of ``python`` that is followed by a block of ``text`` claims to print it. This command runs
the pages that have such blocks and writes anew what they print; `tests/test_docs.py` fails where
the two differ. A line "..." in a block of text stands for any lines, and is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n+```text\n(?P<shown>.*?)```)?", re.S)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# What rounding and other builds of the numerical libraries may change in the last digit.
_LAST_DIGITS = 1.01


class Block(NamedTuple):
    """A block of code, and what the page says that it prints; None if it says nothing."""

    code: str
    shown: str | None


def blocks(text: str) -> list[Block]:
    """Return the blocks of Python code of a page.

    Examples
    --------
    >>> from benchmarks.doc_outputs import blocks
    >>> text = "```python\\nprint(1)\\n```\\n\\n```text\\n1\\n```\\n"
    >>> blocks(text)
    [Block(code='print(1)\\n', shown='1\\n')]
    """
    return [Block(found["code"], found["shown"]) for found in _BLOCK.finditer(text)]


def run(page: str, given: list[Block]) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page one after the other, in one space of names."""
    names: dict[str, object] = {}
    for block in given:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.code, page, "exec"), names)
        yield block, printed.getvalue()


def agrees(shown: str, printed: str) -> bool:
    """Return whether a page shows what is printed.

    Words must be the same, numbers within one unit of their last digit; spaces do not count, and a
    line "..." stands for any lines.

    Examples
    --------
    >>> from benchmarks.doc_outputs import agrees
    >>> agrees("age  0.123", "age 0.124"), agrees("age  0.123", "age 0.130")
    (True, False)
    >>> agrees("first\\n...\\nlast", "first\\nsecond\\nlast"), agrees("a\\n...\\nb", "a\\nb\\nc")
    (True, False)
    """
    parts = re.split(r"^\.\.\.$\n?", shown.strip(), flags=re.M)
    lines, start = printed.strip().splitlines(), 0
    for k, part in enumerate(parts):
        wanted = part.strip().splitlines()
        places = range(start, len(lines) - len(wanted) + 1)
        if k == 0:
            places = places[:1]
        if k == len(parts) - 1:
            places = places[-1:] if len(parts) > 1 or len(lines) == len(wanted) else places[:0]
        place = next((p for p in places if _alike(wanted, lines[p : p + len(wanted)])), None)
        if place is None:
            return False
        start = place + len(wanted)
    return True


def _alike(wanted: list[str], lines: list[str]) -> bool:
    return all(_alike_line(a, b) for a, b in zip(wanted, lines, strict=True))


def _alike_line(one: str, other: str) -> bool:
    if [_NUMBER.sub("0", text).split() for text in (one,)] != [_NUMBER.sub("0", other).split()]:
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= _unit(a) for a, b in pairs)


def _unit(number: str) -> float:
    """One in the last digit; whole numbers count something, and must be the same."""
    digits = len(number.partition(".")[2])
    return _LAST_DIGITS * 10.0**-digits if digits else 0.0


def refreshed(page: str, text: str) -> str:
    """Return the text of a page with what its blocks print today."""
    outputs = iter([printed for _, printed in run(page, blocks(text))])

    def renew(found: re.Match[str]) -> str:
        printed = next(outputs)
        shown = found["shown"]
        if shown is None or agrees(shown, printed):
            return found[0]
        return found[0].replace(f"```text\n{shown}```", f"```text\n{printed.rstrip()}\n```")

    return _BLOCK.sub(renew, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help="all that show what code prints")
    pages = [page.resolve() for page in parser.parse_args().pages]
    pages = pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text("utf-8")
        if "_build" in page.parts or all(block.shown is None for block in blocks(text)):
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            anew = refreshed(page.name, text)
        page.write_text(anew, "utf-8")
        print("changed" if anew != text else "as it was", os.path.relpath(page, ROOT))


if __name__ == "__main__":
    main()
