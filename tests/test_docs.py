"""The Python examples of the README and of the guide run, each page in a folder of its own."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from benchmarks import architecture, screenshots
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
@pytest.mark.filterwarnings("default::FutureWarning")
@pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "page", [page for page, blocks in EXAMPLES.items() if blocks and page != "README.md"]
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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


def test_readme_example_is_short_and_shows_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = EXAMPLES["README.md"]
    assert len([line for line in block.code.splitlines() if line.strip()]) <= 10
    names = {}
    exec(compile(block.code, "README.md", "exec"), names)
    plt.close("all")
    assert capsys.readouterr().out.startswith("Shapley effects on the outcome y")
    effects = names["result"].effects
    assert names["frame"]["effect"].to_list() == sorted(effects.tolist(), reverse=True)
    assert (tmp_path / "effects.png").exists()
    assert (tmp_path / "effects.json").exists()


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
