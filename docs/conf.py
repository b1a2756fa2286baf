"""Configuration of the documentation: Sphinx with MyST, numpydoc and sphinx-gallery."""

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE / "_tools")]

import charts
import diagrams

import preflow

project = "preflow"
author = "the preflow developers"
copyright = "the preflow developers"
version = release = preflow.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "from_source",
    "record_tables",
    "gallery_panels",
]
exclude_patterns = ["_build", "_templates", "_ext", "_tools", "gallery/**"]
templates_path = ["_templates"]
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = "preflow"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
}

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
# Links to files of the repository outside docs/ become links in the text, not pages.
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_mock_imports = ["jax", "torch"]  # modules for these are documented without them
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# PREFLOW_DOCS_GALLERY=0 builds the pages without running the examples.
run_gallery = os.environ.get("PREFLOW_DOCS_GALLERY", "1") != "0"
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "filename_pattern": "/plot_" if find_spec("torch") else "/plot_(?!torch)",
    "plot_gallery": run_gallery,
    "abort_on_example_error": True,
    "image_scrapers": ("gallery_panels.save_figures",),
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
}


def escape_stars(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape the star of shapes such as (K, *shape), which would begin an emphasis."""
    lines[:] = [line if "``" in line else line.replace("*shape", r"\*shape") for line in lines]


def page_of(name: str) -> str | None:
    """Return the page of problems that names a function most often, None without one."""
    pages = sorted((HERE / "problems").glob("*.md"))
    counts = {page.stem: page.read_text("utf-8").count(f"{{func}}`{name}`") for page in pages}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None


def name_page(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Let the page of a function name the page of its problem."""
    if what == "function" and (page := page_of(name)) is not None:
        lines += ["", f".. seealso:: :doc:`/problems/{page}`"]


def setup(app: object) -> None:
    """Connect the hooks; the second after numpydoc, which takes the sections apart."""
    app.connect("autodoc-process-docstring", escape_stars)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", name_page, priority=900)  # type: ignore[attr-defined]


warnings.filterwarnings("error", category=DeprecationWarning, module="preflow")

charts.write_all(HERE / "generated")
diagrams.write_all(HERE / "generated")
