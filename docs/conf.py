"""Configuration of Sphinx."""

import tomllib
from pathlib import Path

from shaff import __version__

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = "shaff"
author = "the shaff developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx_design",  # the cards of the landing page
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx-mathjax-offline",  # formulas need no network
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_extra_path = ["extra", "result.schema.json"]
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Scripts of the folder gallery/ run, and become pages with what they print and draw. One that fails
# fails the build. The index with its cards is written by hand.
sphinx_gallery_conf = {
    "examples_dirs": "../gallery",
    "gallery_dirs": "gallery",
    "copyfile_regex": r"index\.rst",
    "image_srcset": ["2x"],
    "thumbnail_size": (640, 400),
    "capture_repr": (),  # what is printed, and figures
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "doc_module": ("shaff",),
    "reference_url": {"shaff": None},
}

html_theme = "pydata_sphinx_theme"
html_title = f"shaff {release}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["pages.css", "gallery.css"]
html_favicon = "_static/logo.svg"
# Pages without siblings have no section navigation to show.
html_sidebars = {name: [] for name in ("index", "paper", "changelog")}
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": html_title,
    },
    "show_prev_next": True,
    "navigation_with_keys": False,
    # The pages of the gallery need the width for what scripts print.
    # A page may match one pattern only.
    "secondary_sidebar_items": {
        "gallery/*": [],
        "*": ["page-toc"],
        "guide/*": ["page-toc"],
        "[!g]*/**": ["page-toc"],
    },
    "icon_links": [
        {
            "name": "Repository",
            "url": _PROJECT["urls"]["Repository"],
            "icon": "fa-brands fa-github",
        }
    ],
}
