"""The Python examples of the README and of the guide run, each page in a folder of its own."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = {
    str(page.relative_to(ROOT)): re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S)
    for page in PAGES
}


@pytest.mark.parametrize(
    "page", [page for page, blocks in EXAMPLES.items() if blocks and page != "README.md"]
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in EXAMPLES[page]:
        exec(compile(block, page, "exec"), names)
    plt.close("all")


def test_readme_example_is_short_and_shows_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = EXAMPLES["README.md"]
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    plt.close("all")
    assert capsys.readouterr().out.startswith("Shapley effects on y")
    assert names["frame"]["effect"].to_list() == names["result"].effects.tolist()
    assert (tmp_path / "effects.png").exists()
    assert (tmp_path / "effects.json").exists()


def test_every_image_and_page_that_is_named_exists():
    for page in PAGES:
        text = page.read_text("utf-8")
        for target in re.findall(r"\]\(([\w./]+\.(?:md|png))\)", text):
            assert (page.parent / target).exists(), f"{page.name} names {target}"
