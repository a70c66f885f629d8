"""Check the links of the built pages.

python docs/check_links.py docs/_build/html

Every link to a page, a file or an anchor of this site must lead to one that
is there. Links to other sites are not followed. A sidebar without a link is
an error, too. The exit code is 1 if anything is broken.
"""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class Page(NamedTuple):
    """What a page names, and what can be named in it."""

    anchors: set[str]
    links: list[str]
    empty_sidebar: bool


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors, self.links = set(), []
        self.sidebar, self.depth = None, 0

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[k] for k in ("id", "name") if found.get(k)}
        named = "src" if tag in ("img", "script", "source") else "href"
        if tag != "link" and found.get(named):
            self.links.append(found[named])
        if "bd-sidebar-primary" in (found.get("class") or "").split():
            is_hidden = "hide-on-wide" in found["class"]
            self.sidebar = None if is_hidden else False
            self.depth = 0 if is_hidden else 1
        elif self.depth and tag == "div":
            self.depth += 1
        if self.depth and tag == "a" and found.get("href", "#") != "#":
            self.sidebar = True

    def handle_endtag(self, tag):
        if self.depth and tag == "div":
            self.depth -= 1


def read(path):
    """Return the links and the anchors of a page."""
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    return Page(reader.anchors, reader.links, reader.sidebar is False)


def broken(folder):
    """Return a sentence for every link that leads nowhere."""
    paths = [p for p in folder.rglob("*.html") if "_static" not in p.parts]
    pages = {path.resolve(): read(path) for path in paths}
    found = []
    for path, page in sorted(pages.items()):
        name = path.relative_to(folder.resolve())
        if page.empty_sidebar:
            found.append(f"{name}: the sidebar is empty")
        for link in page.links:
            why = _why_broken(path, link, folder.resolve(), pages)
            found += [f"{name}: {link} ({why})"] * bool(why)
    return list(dict.fromkeys(found))


def _why_broken(path, link, folder, pages):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    start = folder if parts.path.startswith("/") else path.parent
    target = (start / unquote(parts.path).lstrip("/")).resolve()
    target = path if not parts.path else target
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "no such file"
    anchor = unquote(parts.fragment)
    known = pages[target].anchors if target in pages else {anchor}
    return None if not anchor or anchor in known else "no such anchor"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="with the built pages")
    folder = parser.parse_args().folder
    if not (folder / "index.html").exists():
        sys.exit(f"{folder} has no index.html: build the pages first")
    found = broken(folder)
    if found:
        sys.exit("Broken links:\n  " + "\n  ".join(found))
    print("All links within the pages lead somewhere.")


if __name__ == "__main__":
    main()
