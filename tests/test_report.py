"""The report as a file: what it says, and that nothing in it can run or load."""

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from results import HOSTILE, many_players, rich_result

from shaff import ShapleyEffects, load_result
from shaff.results.effects import EffectsResult
from shaff.show.report import render
from shaff.show.report.scales import nice_ticks
from shaff.show.report.sections import SECTIONS


class Page(HTMLParser):
    """Text, tags and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self.inside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.extend(attributes)
        self.inside.append(tag)

    def handle_data(self, data):
        if self.inside and self.inside[-1] not in ("script", "style"):
            self.texts.append(data)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


def embedded(page):
    (block,) = re.findall(r'id="report-data">(.*?)</script>', page, re.S)
    return json.loads(block)


def test_the_page_says_what_matters_in_words():
    result = rich_result()
    text = Page(render(result)).text
    assert "What drives price?" in text
    assert "Two inputs carry 83 % of what can be explained of price: size and town." in text
    assert "All inputs together explain 60 % of the variance of price" in text
    for section in SECTIONS:
        if section.id not in ("parts", "outputs", "interactions"):
            assert section.title in text
    for note in result.notes:
        assert note in text
    assert result.call in text
    assert "numpy 2.0" in text


def test_a_bare_result_has_a_page_too():
    bare = EffectsResult(
        names=("a",), effects=[0.0], raw_effects=[-0.1], explained_variance=-0.1, n_rows=20,
        n_subsets=1, estimator="none", design="exhaustive", solver="least_squares",
    )  # fmt: skip
    text = Page(render(bare)).text
    assert "The inputs explain nothing of y" in text
    assert "Which inputs go together" not in text
    assert "nan" not in text.lower().split()


def test_the_title_and_the_call_can_be_given(tmp_path):
    result = rich_result()
    path = result.to_html(tmp_path / "r.html", title="Houses & homes", call="shaff explain x.csv")
    page = path.read_text(encoding="utf-8")
    assert "<title>Houses &amp; homes</title>" in page
    assert "shaff explain x.csv" in Page(page).text
    assert result.call not in page


def test_hostile_names_stay_text():
    result = rich_result(names=HOSTILE[:5], target="</script><script>alert(1)</script>")
    page = render(result)
    parsed = Page(page)
    assert parsed.tags.count("script") == 2
    assert "img" not in parsed.tags
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert [line["name"] for line in embedded(page)["inputs"]] == [
        result.names[j] for j in result.order
    ]
    (block,) = re.findall(r'id="report-data">(.*?)</script>', page, re.S)
    assert "<" not in block


def test_nothing_is_loaded_and_only_its_own_script_may_run():
    page = render(rich_result())
    parsed = Page(page)
    (policy,) = [v for k, v in parsed.attributes if k == "content" and "default-src" in v]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    addresses = [v for k, v in parsed.attributes if k in ("src", "href", "action")]
    assert all(v.startswith(("#", "data:")) for v in addresses)
    assert not [k for k, _ in parsed.attributes if k == "style"]
    assert "http://" not in page
    assert "https://" not in page


def test_the_saved_json_is_the_result():
    result = rich_result()
    saved = load_result(json.dumps(embedded(render(result))["result"]))
    np.testing.assert_array_equal(saved.effects, result.effects)
    np.testing.assert_array_equal(saved.covariance, result.covariance)
    assert saved.data.columns == result.data.columns


def test_many_players_make_a_small_page():
    page = render(many_players(300))
    assert len(page.encode()) < 1_500_000
    assert Page(page).text.count("screened") >= 200
    assert "280 others together" in Page(page).text


def test_screened_players_are_called_so():
    result = rich_result(screened=[np.nan, np.nan, np.nan, np.nan, 0.1])
    rows = re.findall(r"<tr data-place.*?</tr>", render(result), re.S)
    (row,) = [row for row in rows if "screened" in row]
    assert "garden" in row
    assert "0.000" not in row


def test_groups_unfold():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["long", "wide", "red"])
    effects = ShapleyEffects("forest", groups={"shape": ["long", "wide"]}, random_state=0)
    page = render(effects.fit(X, X["long"] + X["wide"]).result_)
    assert re.search(r"<summary><bdi>shape</bdi> <small>\(2 columns\)", page)
    assert "<li><bdi>wide</bdi></li>" in page


def test_classes_have_a_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, 2)), columns=["a", "b"])
    y = np.array(["low", "mid", "high"])[np.digitize(X["a"], [-0.5, 0.5])]
    text = Page(render(ShapleyEffects("forest", random_state=0).fit(X, y).result_)).text
    assert "Each class or output" in text
    assert "±" in text


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")
    monkeypatch.setattr("shaff.show.report.render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rich_result().to_html(path)
    assert path.read_text() == "old"
    assert [child.name for child in tmp_path.iterdir()] == ["r.html"]


def test_missing_jinja_names_the_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "shaff\[report\]"'):
        render(rich_result())


@pytest.mark.parametrize("top", [1e-7, 0.003, 0.0999, 0.1, 0.23, 1.0])
def test_ticks_are_round_and_within(top):
    ticks = nice_ticks(top)
    assert 2 <= len(ticks) <= 7
    assert ticks[0] == 0
    assert ticks[-1] <= top * 1.0001
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0])
    assert f"{steps[0]:.1e}"[0] in "125"


def test_digits_follow_small_effects():
    result = rich_result()
    tiny = dataclasses.replace(
        result, effects=result.effects / 500, raw_effects=result.raw_effects / 500,
        explained_variance=0.0012, covariance=result.covariance / 500**2, errors_by_source=None,
    )  # fmt: skip
    rows = re.findall(r"<tr data-place.*?</tr>", render(tiny), re.S)
    numbers = re.findall(r'<td class="number"[^>]*>([\d.]+)</td>', rows[0])
    assert numbers[0] == "0.000600"


@pytest.mark.parametrize("clone", [rich_result, lambda: many_players(30)])
def test_the_same_result_gives_the_same_page(clone):
    assert render(clone()) == render(clone())
