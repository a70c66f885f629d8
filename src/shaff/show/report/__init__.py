"""The report: one HTML file that needs no network and runs nothing but its own script.

A result becomes plain values (`sections`), templates turn these into a page (``templates/``), and
``report.js`` lets a reader sort, filter and download. All works on the file system of the reader,
so the rules are strict:

- jinja2 escapes everything; no template marks text of a user as safe.
- The content security policy names the hashes of the one style sheet and the one script. Nothing
  else runs, and nothing is loaded. Hence no ``style`` attribute either: widths are attributes of
  SVG, colours are classes.
- Data for the script lie in a block of JSON without any "<", so that no name can close it.
- Whatever the script adds, it adds as text.

A new section is one entry in `SECTIONS` and one template; one that needs more than the result has
is put in its place by a function of its own, as `with_local` does.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from shaff._util.words import enumerated, percent, shortened
from shaff._version import __version__
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.local import LocalEffects
from shaff.results.many import ManyEffects
from shaff.show.report.comparison import comparison_header, comparison_values, with_comparison
from shaff.show.report.local import with_local
from shaff.show.report.many import many_header, many_sections
from shaff.show.report.sections import embedded, header, table

__all__ = ["render", "render_comparison", "render_many"]


def render(
    result: EffectsResult,
    title: str | None = None,
    local: LocalEffects | None = None,
    comparison: Comparison | None = None,
) -> str:
    """Return the page of a result, and of single rows and of a comparison if they are given.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.report import render
    >>> page = render(example(names=("<age>", "bmi")))
    >>> page.startswith("<!doctype html>"), "<age>" in page
    (True, False)
    """
    environment = _environment()
    lines = table(result)
    sections = [
        {"id": section.id, "title": section.title, "html": _fill(environment, section.id, values)}
        for section in with_comparison(with_local(local), comparison)
        if (values := section.values(result, lines)) is not None
    ]
    heading = title or f"What drives {shortened(result.target_name, 60)}?"
    data = _inert(embedded(result, lines))
    return _page(environment, heading, header(result), sections, data)


def render_comparison(found: Comparison, title: str | None = None) -> str:
    """Return the page of a comparison, which needs no script.

    Examples
    --------
    >>> from shaff.results.comparison import Comparison
    >>> from shaff.show.report import render_comparison
    >>> page = render_comparison(Comparison(("<age>",), [[0.1], [0.4]], [[0.3]], [0.1]))
    >>> page.startswith("<!doctype html>"), "<age>" in page, "<script" in page
    (True, False, False)
    """
    environment = _environment()
    html = _fill(environment, "comparison", comparison_values(found))
    sections = [{"id": "comparison", "title": "What differs", "html": html}]
    one, other = (shortened(label, 30) for label in found.labels)
    heading = title or f"What differs between {one} and {other}?"
    return _page(environment, heading, comparison_header(found), sections)


def _page(
    environment: Any,
    title: str,
    head: dict[str, Any],
    sections: list[dict[str, Any]],
    data: str | None = None,
) -> str:
    """The whole page; without data for it there is no script."""
    style, script = _asset("report.css"), "" if data is None else _asset("report.js")
    return str(
        environment.get_template("page.html").render(
            title=title,
            policy=_policy(style, script),
            style=_as_is(style),
            script=_as_is(script),
            header=head,
            sections=sections,
            data=_as_is(data or ""),
            version=__version__,
        )
    )


def render_many(many: ManyEffects, title: str | None = None) -> str:
    """Return the page of many results, which has no script.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.results.many import ManyEffects
    >>> from shaff.show.report import render_many
    >>> page = render_many(ManyEffects(("segment",), {"<b>": example()}, {"0": "too few rows"}))
    >>> "<b>" in page, "too few rows" in page, "<script>" in page
    (False, True, False)
    """
    environment = _environment()
    sections = [
        {"id": s.id, "title": s.title, "html": _fill(environment, s.template, s.values)}
        for s in many_sections(many)
    ]
    heading = title or f"What drives the outcome, by {enumerated(many.dimensions)}?"
    return _page(environment, heading, many_header(many), sections)


def _fill(environment: Any, name: str, values: dict[str, Any]) -> Any:
    return _as_is(environment.get_template(f"{name}.html").render(values))


def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        message = 'The report needs jinja2: pip install "shaff[report]"'
        raise ImportError(message) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shaff.show.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, shortened=shortened, coded=_coded)
    return environment


def _coded(text: str) -> Any:
    """Text with what stands between backticks as code; all of it is escaped."""
    from markupsafe import Markup

    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick of somebody's column
        return text
    code = Markup("<code>{}</code>")
    marked = (code.format(part) if k % 2 else Markup("{}").format(part)
              for k, part in enumerate(parts))  # fmt: skip
    return Markup("").join(marked)


def _asset(name: str) -> str:
    return files("shaff.show.report").joinpath(name).read_text(encoding="utf-8")


def _as_is(text: str) -> Any:
    """Not escaped: our own files, text that templates have escaped, and JSON made inert."""
    from markupsafe import Markup

    return Markup(text)


def _policy(style: str, script: str) -> str:
    """Nothing is loaded from anywhere, and only these two texts count as style and script."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _inert(content: Any) -> str:
    """JSON that no browser takes for the end of its element, nor any script for a new line."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
