"""Results as Markdown, read back by a parser of Markdown."""

import re

import pytest
from markdown_it import MarkdownIt
from results import HOSTILE, NAMES, other_results, rich_result

from shaff.errors import InputError
from shaff.results.files import AnyResult
from shaff.results.interactions import Interactions
from shaff.show import sentences
from shaff.show.markdown import SECTIONS, escaped, sentence
from shaff.show.text import SUMMARIES

HARD = ("a|b", "*x*", "_y_", "`z`", "[l](http://e.org)")
READ = MarkdownIt("commonmark").enable("table")


def texts(tokens):
    """The words of inline tokens, without what marks them."""
    return "".join(child.content for child in tokens.children)


def cells(markdown):
    """The first table of a page as lists of texts."""
    table, row, inside = [], None, None
    for token in READ.parse(markdown):
        if token.type == "tr_open":
            row = []
        elif token.type in ("th_open", "td_open"):
            inside = True
        elif token.type == "inline" and inside:
            row.append(texts(token))
            inside = None
        elif token.type == "tr_close":
            table.append(row)
        elif token.type == "table_close":
            return table
    return table


@pytest.mark.parametrize("names", [NAMES, HARD, HOSTILE[:5]])
def test_names_come_back_as_they_were(names):
    result = rich_result(names)
    header, *lines = cells(result.to_markdown())
    assert header[:2] == ["input", "effect"]
    assert [line[0] for line in lines] == [" ".join(names[j].split()) for j in result.order]
    assert {len(line) for line in lines} == {len(header)}


def test_hostile_names_are_never_markup():
    page = READ.render(rich_result(HOSTILE[:5], target="<b>*y*</b>").to_markdown())
    allowed = "h[1-6]|p|strong|em|table|thead|tbody|tr|t[hd]|ul|li|code"
    tags = set(re.findall(r"<(/?\w+)", page))
    assert all(re.fullmatch(f"/?(?:{allowed})", tag) for tag in tags), tags
    assert "<em>" not in page


def test_everything_that_is_to_be_known_is_there():
    result = rich_result()
    page = result.to_markdown()
    assert page.startswith(f"# {sentences.title(result)}\n")
    assert f"**{sentences.headline(result)}**".replace("\u202f", " ") in page
    for line in sentences.footer(result):
        assert f"\n- {line}\n" in page
    assert f"\n- Made by `{result.call}`." in page
    assert page.endswith("\n")
    assert not page.endswith("\n\n")


def test_long_tables_are_cut_and_say_so():
    page = rich_result().to_markdown(max_lines=2)
    assert len(cells(page)) == 3
    assert "... and 3 more inputs with 0.100 together" in page
    with pytest.raises(InputError, match="max_lines"):
        rich_result().to_markdown(max_lines=0)


def test_interactions_have_a_section_of_their_own():
    found = Interactions(("a", "b"), [0, 1], [0.1], n_rows=10, n_subsets=4)
    page = rich_result(("a", "b", "c", "d", "e")).with_interactions(found).to_markdown()
    assert "\n## Interactions on y\n" in page


def test_every_kind_of_result_has_a_page():
    assert set(SECTIONS) == set(SUMMARIES) == set(AnyResult.__args__)


@pytest.mark.parametrize("result", list(other_results()), ids=lambda result: type(result).__name__)
def test_pages_of_other_results(result):
    page = result.to_markdown()
    header, *lines = cells(page)
    assert lines
    assert "a|b" in " ".join((*header, *(word for line in lines for word in line)))
    assert page.startswith("# ")


def test_a_file_has_the_same_text(tmp_path):
    path = tmp_path / "result.md"
    assert rich_result().to_markdown(path) == path.read_text("utf-8")


@pytest.mark.parametrize("text", ["# no heading", "1. no list", "- no list", "> no quotation"])
def test_sentences_begin_no_other_block(text):
    (item,) = [token for token in READ.parse(f"- {sentence(text)}") if token.type == "inline"]
    assert texts(item) == text
    assert item.level == 3


@pytest.mark.parametrize("text", ["a_b", "p < 0.001", "-0.003", "R&D", "100 %"])
def test_plain_text_is_left_alone(text):
    assert escaped(text) == text


def test_entities_are_shown_as_written():
    (item,) = [t for t in READ.parse(escaped("&lt;b&gt; \\ ~~x~~")) if t.type == "inline"]
    assert texts(item) == "&lt;b&gt; \\ ~~x~~"
