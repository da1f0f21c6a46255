"""Sphinx configuration: Markdown pages by MyST, the furo theme, nothing from the network."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scenarios._version import __version__  # noqa: E402

project = "splitbrain"
author = "splitbrain contributors"
copyright = "2026, splitbrain contributors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = False
suppress_warnings = ["misc.highlighting_failure"]  # fences that the tests read

autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = f"splitbrain {release}"
html_copy_source = False
html_show_sourcelink = False
