"""Check the spelling of the pages.

python docs/check_words.py [PAGE ...]

A word of the text is right if the English dictionary of pyspellchecker has
it, or docs/words.txt: the words of the field, names, and British spellings,
which the pages use throughout. American spellings are errors even where the
dictionary has them; codespell knows which they are. Code, formulas, links
and names in backticks are not checked. The exit code is 1 if any word is
unknown or American. `--add` appends unknown words to docs/words.txt: look
at them before you commit.
"""

import argparse
import re
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

DOCS = Path(__file__).parent
WORDS = DOCS / "words.txt"
# Right in British English, too, in one of their meanings.
BOTH = {
    *("analog", "artifact", "artifacts", "check", "checked", "checking"),
    *("checks", "curb", "disk", "draft", "licensed", "meter", "practice"),
    *("program", "programs", "stories", "story", "tire"),
}
# What is no text: settings at the top, fences, comments, formulas, code,
# addresses, directives.
_NO_TEXT = re.compile(
    r"\A---\n.*?^---$"
    r"|^(```+|~~~+).*?^\1$|<!--.*?-->|\$\$.*?\$\$|\$(?:[^$\n]|\n(?!\n))+\$"
    r"|\{[\w:-]+\}`[^`]*`|`[^`]+`|\]\([^)]*\)|https?://\S+|^\([\w-]+\)=$"
    r"|arXiv:[\d.]+|<[\w/.-]+>",
    re.M | re.S,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def words(text):
    """Return the words of a page with the numbers of their lines."""

    def blank(found):
        return re.sub(r"[^\n]", " ", found[0])

    lines = _NO_TEXT.sub(blank, text).splitlines()
    return [
        (k, w)
        for k, line in enumerate(lines, 1)
        for w in _WORD.findall(line)
    ]


@cache
def spellings():
    """Return pairs of a British spelling and an American one."""
    data = files("codespell_lib") / "data" / "dictionary_en-GB_to_en-US.txt"
    lines = data.read_text("utf-8").splitlines()
    pairs = [line.strip(" ,").split("->") for line in lines]
    return [(gb, us) for gb, us in pairs if "," not in us]


@cache
def american():
    """Return British spellings by American ones."""
    return {us: gb for gb, us in spellings() if us not in BOTH}


@cache
def known():
    """Return all words that are right."""
    from spellchecker import SpellChecker

    own = WORDS.read_text("utf-8").split() if WORDS.exists() else []
    english = frozenset(SpellChecker().word_frequency.words())
    return english | {gb for gb, _ in spellings()} | set(own)


def _stem(word):
    return re.sub(r"['’]s?$", "", word)


def _is_known(word):
    word = _stem(word)
    # Names of methods and other capitals within a word are no English.
    if len(word) == 1 or not word[1:].islower():
        return True
    return word in known() or word.lower() in known()


def wrong(name, text):
    """Return a sentence for every word that is wrong."""
    found = []
    for line, word in words(text):
        if word.lower() in american():
            right = american()[word.lower()]
            found.append(
                (f"{name}:{line}: {word} is American for {right}", None)
            )
        elif not _is_known(word):
            found.append((f"{name}:{line}: unknown word {word}", word))
    return found


def pages():
    """Return the pages that are written by hand."""
    skipped = {
        "_build",
        "generated",
        "paper.md",
        "changelog.md",
        "renamed.md",
    }
    return [
        p for p in sorted(DOCS.rglob("*.md")) if not skipped & set(p.parts)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument(
        "--add", action="store_true", help="to docs/words.txt"
    )
    given = parser.parse_args()
    found = []
    for page in given.pages or pages():
        found += wrong(page.name, page.read_text("utf-8"))
    unknown = {_stem(word) for _, word in found if word}
    if given.add and unknown:
        own = (
            set(WORDS.read_text("utf-8").split())
            if WORDS.exists()
            else set()
        )
        lines = sorted(own | unknown, key=lambda word: (word.lower(), word))
        WORDS.write_text("\n".join(lines) + "\n", "utf-8")
        found = [(why, word) for why, word in found if not word]
    if found:
        sys.exit("Spelling:\n  " + "\n  ".join(why for why, _ in found))
    print("All words are known.")


if __name__ == "__main__":
    main()
