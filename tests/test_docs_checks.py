"""The checks of `make docs` fail where they should, and only there."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def site(folder, **pages):
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>", "utf-8")
    return folder


GOOD = "<h1 id='top'>A</h1><a href='other.html#part'>b</a><a href='#top'>c</a>"


def test_links_that_lead_somewhere_pass(tmp_path):
    folder = site(tmp_path, index=GOOD, other="<p id='part'>d</p><a href='https://x.org/#y'>e</a>")
    assert script("check_links").broken(folder) == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("<a href='gone.html'>a</a>", "gone.html (no such file)"),
        ("<a href='other.html#gone'>a</a>", "other.html#gone (no such anchor)"),
        ("<a href='#gone'>a</a>", "#gone (no such anchor)"),
        ("<img src='gone.png'>", "gone.png (no such file)"),
        ("<div class='bd-sidebar-primary bd-sidebar'><div></div></div>", "the sidebar is empty"),
    ],
)
def test_links_that_lead_nowhere_are_found(tmp_path, body, why):
    folder = site(tmp_path, index=GOOD + body, other="<p id='part'>d</p>")
    assert script("check_links").broken(folder) == [f"index.html: {why}"]
    command = [sys.executable, str(DOCS / "check_links.py"), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert why in ended.stderr


def test_a_sidebar_with_a_link_is_not_empty(tmp_path):
    body = "<div class='bd-sidebar-primary'><div><a href='other.html'>a</a></div></div>"
    folder = site(tmp_path, index=body, other="")
    assert script("check_links").broken(folder) == []


def test_words_are_those_of_the_text():
    page = (
        "---\nzero: true\n---\n# One\n\n```python\ntwo = 3\n```\n\n"
        "Four `five` [six](seven.md) $eight$\n{class}`nine`.\n"
    )
    assert script("check_words").words(page) == [(4, "One"), (10, "Four"), (10, "six")]


def test_misspelt_and_american_words_are_found():
    pytest.importorskip("spellchecker")
    pytest.importorskip("codespell_lib")
    check = script("check_words")
    assert check.wrong("a.md", "The behaviour of Shapley effects is described here.\n") == []
    found = check.wrong("a.md", "The behavior\nis descibed here.\n")
    assert [why for why, _ in found] == [
        "a.md:1: behavior is American for behaviour",
        "a.md:2: unknown word descibed",
    ]


def test_all_words_of_the_pages_are_known():
    pytest.importorskip("spellchecker")
    pytest.importorskip("codespell_lib")
    check = script("check_words")
    found = [w for page in check.pages() for w in check.wrong(page.name, page.read_text("utf-8"))]
    assert not found


def test_codespell_knows_its_settings(tmp_path):
    codespell = pytest.importorskip("codespell_lib")
    settings = ["--toml", str(DOCS.parent / "pyproject.toml")]
    (tmp_path / "page.md").write_text("Aas and Covert are authors.\n", "utf-8")
    assert codespell.main(*settings, str(tmp_path)) == 0
    (tmp_path / "page.md").write_text("This is teh end.\n", "utf-8")
    assert codespell.main(*settings, str(tmp_path)) > 0
