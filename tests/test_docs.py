"""The Python examples of the README and of the guide run, each page in a folder of its own."""

import contextlib
import io
import json
import re
import sys
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import shaff
from benchmarks import architecture, front, screenshots, which_measure
from benchmarks.code_lines import code_lines
from benchmarks.doc_outputs import agrees, blocks, refreshed, run

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
]
EXAMPLES = {str(page.relative_to(ROOT)): blocks(page.read_text("utf-8")) for page in PAGES}


# What engines of others leave open, and say about themselves.
@pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning")
@pytest.mark.filterwarnings("default::FutureWarning", "default::PendingDeprecationWarning")
@pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "page", [page for page, blocks in EXAMPLES.items() if blocks and page != "README.md"]
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What the page on Ray sets is undone; no page opens a port to others.
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    for block, printed in run(page, EXAMPLES[page]):
        if block.shown is not None:
            assert agrees(block.shown, printed), (
                f"{page} shows what is not printed (python -m benchmarks.doc_outputs):\n{printed}"
            )
    plt.close("all")


def test_pages_show_numbers_that_are_checked():
    checked = [page for page, found in EXAMPLES.items() if any(b.shown for b in found)]
    assert {"docs/guide/reading.md", "docs/guide/comparison.md"} <= set(checked)
    shown = sum(page.read_text("utf-8").count("```text") for page in PAGES)
    assert shown == sum(block.shown is not None for found in EXAMPLES.values() for block in found)


@pytest.mark.parametrize(
    ("shown", "printed", "is_right"),
    [
        ("a 0.10 %", "a   0.11 %", True),
        ("a 0.10 %", "a 0.12 %", False),
        ("442 rows", "443 rows", False),
        ("a\n...\nz 1.0", "a\nb\nc\nz 1.1", True),
        ("a\n...\nz", "a\nb\nz\nend", False),
        ("a\n...", "a\nb\nc", True),
        ("a", "a\nb", False),
        ("b", "a", False),
    ],
)
def test_what_counts_as_the_same_output(shown, printed, is_right):
    assert agrees(shown, printed) is is_right
    page = f"```python\nprint({printed!r})\n```\n\n```text\n{shown}\n```\n"
    assert (refreshed("page", page) == page) is is_right
    assert agrees(blocks(refreshed("page", page))[0].shown, printed)


def test_readme_example_is_short_and_comes_close_to_the_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = EXAMPLES["README.md"]
    assert len([line for line in block.code.splitlines() if line.strip()]) <= 10
    names = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, "README.md", "exec"), names)
    assert agrees(block.shown, printed.getvalue()), printed.getvalue()
    result = names["result"]
    assert tuple(result.names) == front.NAMES
    assert result.effects == pytest.approx(front.truth(), abs=0.03)
    assert result.effects[0] == result.effects[1]


@pytest.mark.filterwarnings("default")  # of what other packages say about themselves
def test_readme_example_is_drawn_with_the_credit_that_measures_give():
    shown = front.credits(front.measured(1000, 0))
    assert shown["truth"].iloc[:-1].sum() == pytest.approx(1)
    wrong = shown.loc["wrong credit"]
    assert wrong["truth"] == 0
    assert wrong["Shapley effects (shaff)"] < 0.04
    assert (wrong.iloc[2:] > 0.2).all()
    assert (shown.loc["income in €"].iloc[2:] < 0.01).all()


# What `pip install "shaff[cli]"` brings, by the names that are imported.
WITH_CLI = {"shaff", "numpy", "scipy", "sklearn", "joblib", "polars", "matplotlib"}
FROM_PYPI = {"sage": "sage-importance", "distributed": "distributed", "ray": "distributed"}


def needs(code):
    """Packages that a block imports, or whose tables it reads as files."""
    named = re.findall(r"^\s*(?:import|from) (\w+)", code, re.M)
    read = re.findall(r'find_spec\("(\w+)"\)', code)
    frames = ["pandas"] if "as_frame=True" in code else []
    return {*named, *read, *frames} - WITH_CLI - set(sys.stdlib_module_names)


@pytest.mark.parametrize("page", [page for page in EXAMPLES if page.startswith("docs/")])
def test_page_says_what_its_examples_need(page):
    needed = set().union(*(needs(block.code) for block in EXAMPLES[page]))
    installed = " ".join(re.findall(r"pip install ([^`\n]+)", (ROOT / page).read_text("utf-8")))
    assert {FROM_PYPI.get(name, name) for name in needed} <= set(re.findall(r"[\w-]+", installed))


def test_every_image_and_page_that_is_named_exists():
    for page in PAGES:
        text = page.read_text("utf-8")
        for target in re.findall(r"\]\(([\w./-]+\.(?:md|png|svg))\)", text):
            assert (page.parent / target).exists(), f"{page.name} names {target}"


def test_every_picture_is_made_by_the_command():
    drawn = {path.stem for path in screenshots.IMAGES.glob("*.png")}
    assert drawn == set(screenshots.picture_fits())


@pytest.mark.parametrize(
    "name",
    [
        "demo",
        "three",
        "copies",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("twenty", "many", "classes", "interactions")
        ),
    ],
)
def test_pictures_show_the_numbers_of_today(name):
    shown = json.loads((screenshots.IMAGES / screenshots.NUMBERS).read_text("utf-8"))[name]
    model, X, y = screenshots.fits()[name]
    today = screenshots.numbers(model.fit(X, y).result_)
    assert list(today["effects"])[:3] == list(shown["effects"])[:3], "run make screenshots"
    # Pictures have three digits; what changes none of them by more than one is no other number.
    assert today["explained_variance"] == pytest.approx(shown["explained_variance"], abs=0.001)
    assert today["effects"] == pytest.approx(shown["effects"], abs=0.001), "run make screenshots"


# Paths of the package and of the repository, as the pages for developers name them.
_PATH = re.compile(r"`((?:[\w.]+/)*[\w.]+\.(?:py|html|cpp|hpp)|(?:[\w.]+/)+)`")


@pytest.mark.parametrize(
    "page",
    ["CONTRIBUTING.md", "docs/architecture.md", "docs/guide/extend.md", "docs/guide/algorithm.md"],
)
def test_every_file_that_is_named_exists(page):
    named = set(_PATH.findall((ROOT / page).read_text("utf-8")))
    assert named
    roots = (ROOT, ROOT / "src" / "shaff")
    made = {"build/", "docs/_build/"}
    missing = {path for path in named - made if not any((root / path).exists() for root in roots)}
    assert not missing, f"{page} names {sorted(missing)}"


def test_every_module_that_the_theory_names_exists():
    text = (ROOT / "docs" / "theory.md").read_text("utf-8")
    named = set(re.findall(r"`(shaff(?:\.\w+)+)`", text))
    assert len(named) > 20
    missing = []
    for name in named:
        path = ROOT / "src" / Path(*name.split("."))
        # The last part may be a name in a module.
        homes = (path, path.with_suffix(".py"), path.parent.with_suffix(".py"), path.parent)
        missing += [name] * (not any(home.exists() for home in homes[:3]))
    assert not missing


def test_every_registry_that_is_named_exists():
    table = (ROOT / "docs" / "guide" / "extend.md").read_text("utf-8")
    named = re.findall(r"`(\w+)` of `([\w/]+\.py)`", table)
    assert len(named) >= 8
    for name, path in named:
        text = (ROOT / "src" / "shaff" / path).read_text("utf-8")
        assert re.search(rf"^{name}\b.* = ", text, re.M), f"{path} has no {name}"


def test_the_drawing_of_the_architecture_is_not_stale():
    drawing = architecture.PICTURE.read_text("utf-8")
    assert not architecture.is_stale(drawing, architecture.read())


def test_code_lines_leave_out_what_is_no_code():
    text = 'import os\n\nx = """a\nb"""  # text\n\n\ndef f():\n    "What."\n    return x\n'
    assert code_lines(text) == 4


SOURCES = [
    path
    for folder, endings in {"src": "py", "cpp": "[ch]pp", "tests": "py", "benchmarks": "py"}.items()
    for path in sorted((ROOT / folder).rglob(f"*.{endings}"))
]


def test_every_section_of_the_theory_that_the_code_cites_exists():
    theory = (ROOT / "docs" / "theory.md").read_text("utf-8")
    sections = set(re.findall(r"^## (\d+)\. ", theory, re.M))
    cited = [
        (path.name, section)
        for path in SOURCES
        for section in re.findall(
            r"docs/theory\.md,\s+(?://\s+|#\s+)?section\s+(\d+)", path.read_text("utf-8")
        )
    ]
    assert len(cited) > 10
    assert {section for _, section in cited} <= sections, cited


def test_the_theory_links_to_itself():
    theory = (ROOT / "docs" / "theory.md").read_text("utf-8")
    labels = set(re.findall(r"^\(([\w-]+)\)=$", theory, re.M))
    linked = re.findall(r"\[section (\d+)\]\(#([\w-]+)\)", theory)
    assert {label for _, label in linked} <= labels
    for section, label in linked:
        assert f"({label})=\n## {section}. " in theory


def pages_of(index):
    """The pages that the tables of contents of a page name."""
    trees = re.findall(r"```{toctree}\n(.*?)```", index.read_text("utf-8"), re.S)
    lines = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
    names = [re.sub(r".*<(.+)>$", r"\1", line) for line in lines]
    return [(index.parent / f"{name}.md").resolve() for name in names]


def test_every_page_has_one_place_in_the_tables_of_contents():
    docs = ROOT / "docs"
    named = [page for index in PAGES if docs in index.parents for page in pages_of(index)]
    assert len(named) == len(set(named))
    named.remove(docs / "gallery" / "index.md")  # made by `make docs`; see test_gallery.py
    written = {page for page in PAGES if docs in page.parents and "generated" not in page.parts}
    assert set(named) == {page.resolve() for page in written} - {docs / "index.md"}


def test_the_guide_has_five_parts():
    text = (ROOT / "docs" / "guide" / "index.md").read_text("utf-8")
    parts = ["Start", "Understand", "Do", "Scale", "Extend"]
    assert re.findall(r"^:caption: (\w+)$", text, re.M) == parts


def test_measurements_have_pages_of_their_own():
    docs = ROOT / "docs"
    for page in (docs / "guide").glob("*.md"):
        titles = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.M)
        assert "Measured" not in titles, page.name
    linked = "".join(page.read_text("utf-8") for page in (docs / "guide").glob("*.md"))
    measured = [p for p in (docs / "measured").glob("*.md") if p.stem not in ("index", "peers")]
    assert len(measured) >= 6
    for page in measured:
        assert "python -m benchmarks." in page.read_text("utf-8"), page.name
        assert f"../measured/{page.name}" in linked, page.name


def test_every_page_of_the_guide_says_first_what_it_is_for():
    for page in (ROOT / "docs" / "guide").glob("*.md"):
        first = page.read_text("utf-8").split("\n\n")[1]
        assert re.match(r"[A-Z`][^|!]+\.", first), f"{page.name} starts with {first[:40]!r}"


def test_code_on_pages_is_narrow():
    wide = [
        f"{page}: {line}"
        for page, found in EXAMPLES.items()
        if page.startswith("docs/") and page not in ("docs/paper.md",)
        for block in found
        for line in block.code.splitlines()
        if len(line) > 76
    ]
    assert not wide


def test_the_chart_of_measures_is_not_stale():
    assert which_measure.PICTURE.read_text("utf-8") == which_measure.drawn()


def test_the_page_for_language_models_names_pages_that_exist():
    text = (ROOT / "docs" / "extra" / "llms.txt").read_text("utf-8")
    named = re.findall(r"\]\(([\w/.]+)\)", text)
    assert len(named) > 20
    for name in named:
        assert (ROOT / "docs" / name.replace(".html", ".md")).exists(), name
    calls = set(re.findall(r"`(\w+)[(`]", text)) - {"shaff"}
    assert calls, "no calls are named"
    unknown = {name for name in calls if not hasattr(shaff, name)}
    assert unknown <= {"loss", "time", "groups", "order", "result"}, unknown


def test_citation_and_addresses_are_current():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {shaff.__version__}\n" in citation
    references = (ROOT / "docs" / "references.md").read_text("utf-8")
    assert f" Version `{shaff.__version__}`.\n" in references
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    organisation = project["urls"]["Repository"].split("/")[3]
    others = [*PAGES, ROOT / "CITATION.cff", ROOT / "docs" / "conf.py"]
    assert not [page.name for page in others if organisation in page.read_text("utf-8")]


def test_the_extra_of_everything_has_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = re.search(r"shaff\[(.+)\]", " ".join(extras["all"]))[1].split(",")
    inside = {package for name in named for package in extras[name]}
    assert inside == {package for name in extras if name != "all" for package in extras[name]}
