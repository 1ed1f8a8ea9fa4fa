"""The documentation site: Sphinx reads the Markdown pages of this folder; ``make docs`` builds it without a network.

Pages that are made from the package itself (functions, commands, change log) are written to ``docs/reference`` at the
start of each build: see ``docs/_site``.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

import faircrowd

project = "faircrowd"
version = release = faircrowd.__version__
project_copyright = "the faircrowd contributors"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "reference_pages",
    "mathml",
]
exclude_patterns = ["README.md", "conf.py", "_site/**", "**/__pycache__/**", "**/.ipynb_checkpoints/**"]
nitpicky = True  # a name in a docstring that nothing defines is a warning, and warnings are errors
suppress_warnings = ["mystnb.unknown_mime_type"]  # charts come as Vega-Lite and as pictures: these are shown

# Markdown, read by GitHub too: no syntax beyond its own, but for the toctrees in index.rst.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
smartquotes = False  # --option stays as it is
highlight_language = "none"  # a block without a language is shown as it is

# Notebooks are scripts with cells: they are run at each build, and an error ends it.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
os.environ["FAIRCROWD_QUIET"] = "1"  # a cell shows the same whether or not kernels were compiled before
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
toc_object_entries_show_parents = "hide"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"faircrowd {release}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
html_math_renderer = "mathml"
copybutton_exclude = ".linenos, .gp, .go"  # prompts and results are not copied
