"""The report in a real browser, as a reader meets it."""

import json

import pytest
from results import HOSTILE, NAMES, many_players, rich_result

from benchmarks.browser import chromium, chromium_path
from shaff import load_result

pytestmark = [
    pytest.mark.skipif(chromium_path() is None, reason="needs Chromium: apt install chromium"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright")
    with chromium() as running:
        yield running


@pytest.fixture
def open_report(browser, tmp_path):
    """Opens the report of a result; whatever the page complains of or asks for fails the test."""
    contexts, complaints, requests = [], [], []

    def opened(result, **options):
        path = result.to_html(tmp_path / "report.html")
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append("a dialog"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def bars(page):
    return page.eval_on_selector_all(
        "#chart li[data-place]",
        "all => all.filter(x => x.offsetParent).map(x => x.querySelector('bdi').textContent)",
    )


def rows(page):
    return page.eval_on_selector_all(
        "#table tbody tr",
        "all => all.filter(x => x.offsetParent).map(x => x.querySelector('bdi').textContent)",
    )


def test_it_opens_with_the_largest_effects_first(open_report):
    page = open_report(rich_result())
    assert bars(page) == list(NAMES) == rows(page)
    widths = page.eval_on_selector_all(
        "#chart rect", "all => all.map(x => x.getBoundingClientRect().width)"
    )
    assert widths == sorted(widths, reverse=True)
    assert widths[0] / widths[1] == pytest.approx(0.3 / 0.2, rel=0.02)


def test_sort_by_list_and_by_heads(open_report):
    page = open_report(rich_result(total=[0.0, 0.3, 0.1, 0.2, 0.05]))
    page.select_option("#sort", "name")
    assert bars(page) == sorted(NAMES) == rows(page)
    page.click("#table th[data-key=name] button")
    assert bars(page) == sorted(NAMES, reverse=True)
    page.click("#table th[data-key=name] button")
    assert page.get_attribute("th[data-key=name]", "aria-sort") == "ascending"
    assert page.get_attribute("th[data-key=effect]", "aria-sort") is None
    page.click("#table th[data-key=total] button")
    assert rows(page) == ["town", "rooms", "age", "garden", "size"]
    page.click("#table th[data-key=total] button")
    assert rows(page) == ["size", "garden", "age", "rooms", "town"]


def test_filter_and_count(open_report):
    page = open_report(rich_result())
    page.fill("#filter", "O")
    assert bars(page) == ["town", "rooms"] == rows(page)
    assert page.inner_text("#count") == "2 of 5 inputs"
    page.fill("#filter", "nothing like it")
    assert bars(page) == []
    page.fill("#filter", "")
    assert bars(page) == list(NAMES)
    assert page.inner_text("#count") == ""


def test_hover_tells_the_details(open_report):
    page = open_report(rich_result())
    tip = page.locator("#tip")
    assert tip.is_hidden()
    page.hover("#chart li[data-place='1'] .bar")
    assert tip.is_visible()
    text = tip.inner_text()
    assert "town" in text
    assert "0.200" in text
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_the_keyboard_reaches_all(open_report):
    page = open_report(rich_result())
    page.focus("#sort")
    page.keyboard.press("Tab")
    name = "document.activeElement.querySelector('bdi').textContent"
    assert page.evaluate(name) == "size"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(name) == "town"
    assert "town" in page.inner_text("#tip")
    page.keyboard.press("End")
    assert page.evaluate(name) == "garden"
    page.keyboard.press("Home")
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "csv"
    page.focus("th[data-key=name] button")
    page.keyboard.press("Enter")
    assert bars(page) == sorted(NAMES)


def test_downloads(open_report):
    result = rich_result(names=("=1+1", 'a, "b"', "c", "d", "e"))
    page = open_report(result)
    with page.expect_download() as saved:
        page.click("#csv")
    assert saved.value.suggested_filename == "price-effects.csv"
    with open(saved.value.path(), encoding="utf-8-sig", newline="") as file:
        lines = file.read().split("\r\n")
    assert lines[0].startswith("input,effect,share,low,high,standard_error")
    assert lines[1].startswith("'=1+1,0.3,0.5,")
    assert lines[2].startswith('"a, ""b""",0.2,')
    with page.expect_download() as saved:
        page.click("#json")
    with open(saved.value.path(), encoding="utf-8") as file:
        content = json.load(file)
    assert load_result(json.dumps(content)).names == result.names


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_mode_by_preference_and_by_button(open_report, scheme):
    page = open_report(rich_result(), color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    colors = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 25, 31)"}
    assert page.evaluate(ground) == colors.pop(scheme)
    page.click("#theme")
    assert page.evaluate(ground) == next(iter(colors.values()))


def test_hostile_names_are_shown_as_text(open_report):
    result = rich_result(names=HOSTILE[:5], target=HOSTILE[0])
    title = f"What drives {HOSTILE[0]}?"
    page = open_report(result)
    for k in range(5):
        page.hover(f"#chart li[data-place='{k}'] .bar")
        assert page.inner_text("#tip strong").strip()[:5] in HOSTILE[k]
    page.select_option("#sort", "name")
    assert page.title() == title
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 1100
    again = open_report(rich_result(names=HOSTILE[2:]))
    assert "{{ 7 * 7 }}" in again.inner_text("#table")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100])
def test_no_serious_barriers(open_report, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_report(
        rich_result(), color_scheme=scheme, viewport={"width": width, "height": 800},
        bypass_csp=True,  # the checker itself runs in the page
    )  # fmt: skip
    page.hover("#chart li[data-place='1'] .bar")
    found = axe.run(page).response
    serious = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"] for n in v["nodes"]][:3]) for v in serious] == []
    assert len(found["passes"]) > 15


@pytest.mark.parametrize("result", [rich_result(), many_players(300)], ids=["5", "300"])
def test_a_phone_has_no_sideways_scroll(open_report, result):
    page = open_report(result, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def seconds_of_processor(page):
    """That the page has taken so far: unlike time on the clock, the same on a busy machine."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return found["ProcessTime"]


def test_300_players_open_at_once_and_unfold(open_report):
    page = open_report(many_players(300))
    page.wait_for_selector("#theme:visible")
    assert seconds_of_processor(page) < 2
    assert len(bars(page)) == 20 == len(rows(page))
    assert page.locator("#others").is_visible()
    page.click("#all")
    assert len(bars(page)) == 300 == len(rows(page))
    assert page.locator("#others").is_hidden()
    page.click("#all")
    page.fill("#filter", "number 29")
    assert len(bars(page)) == 11


def test_paper_shows_everything_without_controls(open_report):
    page = open_report(rich_result(), color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#filter").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.locator("#chart rect").first.is_visible()


def test_without_a_script_all_is_there(open_report):
    page = open_report(many_players(40), java_script_enabled=False)
    assert page.locator("#table tbody tr").count() == 40
    assert page.locator("#table tbody tr").nth(39).is_visible()
    assert page.locator("#filter").is_hidden()


def test_a_search_without_a_hit_says_so(open_report):
    page = open_report(rich_result())
    page.fill("#filter", "no such input")
    assert page.inner_text("#count") == "No input has this in its name."
    assert not page.is_visible("#chart")
    assert not page.is_visible("#table")
    page.fill("#filter", "")
    assert page.is_visible("#chart")
    assert page.inner_text("#count") == ""


def test_paper_shows_all_inputs(open_report):
    result = many_players(30)
    page = open_report(result)
    assert len(bars(page)) == len(rows(page)) == 20
    page.emulate_media(media="print")
    assert len(bars(page)) == len(rows(page)) == 30
    assert not page.is_visible("#others")


def test_nothing_is_cut_on_a_phone_without_a_cue(open_report):
    page = open_report(rich_result(), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    # The table is a list of cards, which need no scrolling.
    table = page.evaluate("document.querySelector('#table').parentElement.scrollWidth")
    assert table <= 390
    shown = "getComputedStyle(document.querySelector('#table td'), '::before').content"
    assert "effect" in page.evaluate(shown)
