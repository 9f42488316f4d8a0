# SPDX-License-Identifier: Apache-2.0
"""Sphinx builds the site of this (scripts/site.sh). What is our own in it is in tessera_site.py."""
import ctypes
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build/site-work"
sys.path[:0] = [str(HERE), str(WORK / "python")]


class _NoLibrary:
    """In place of libtessera.so, which docstrings do not need: it knows its version."""

    def __init__(self, *_arguments, **_options):
        self.tess_version = type("Function", (), {"__call__": lambda self: version.encode()})()


project = "Tessera"
author = "The Tessera authors"
copyright = "The Tessera authors, Apache 2.0"  # Sphinx's name for it
version = release = re.search(r"^project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]

_CDLL, ctypes.CDLL = ctypes.CDLL, _NoLibrary
import tessera_sparse  # noqa: E402, F401 (after the line above)

ctypes.CDLL = _CDLL

extensions = ["myst_nb", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton",
              "sphinx_external_toc", "tessera_site"]
external_toc_path = "_toc.yml"
use_multitoc_numbering = False
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
nb_execution_mode = "off"
myst_heading_anchors = 6
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # README's pages may begin below the first level
breathe_projects = {"tessera": str(WORK / "doxygen")}
breathe_default_project = "tessera"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False  # the title of the page says it
breathe_show_define_initializer = True
autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch", "jax", "lineax", "equinox"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are plain words
add_module_names = False
smartquotes = False  # two hyphens begin an option
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output are not copied

html_theme = "furo"
html_title = f"Tessera {release}"
html_static_path = [str(HERE / "static")]
html_css_files = ["tessera.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None  # the same sources give the same pages
html_theme_options = {"navigation_with_keys": True}
