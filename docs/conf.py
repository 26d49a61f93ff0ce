"""Sphinx configuration: ``sphinx-build -W --keep-going -n -b html docs build/docs``.

Nothing is downloaded, neither while building nor while reading: no external fonts, scripts or inventories.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.domains.python import PyObject
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.util.inspect import TypeAliasForwardRef

import flexibo

project = "flexibo"
author = "The FlexiBO developers"
copyright = "The FlexiBO developers, MIT licence"  # noqa: A001
version = release = flexibo.__version__

sys.path.insert(0, str(Path(__file__).parent))
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "notebook_pages"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["**.csv", "**.py"]
highlight_language = "none"
pygments_style = "tango"
pygments_dark_style = "github-dark"

# Links between headings as on GitHub: methods.md#how-good-how-fast.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

# `Name` in a docstring is a link where that name is documented, and code elsewhere.
default_role = "py:obj"
autodoc_mock_imports = ["mlflow", "tensorboard", "wandb"]  # the pages need no tracker
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_class_signature = "mixed"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
ALIASES = ("FloatArray", "BoolArray", "IntArray", "KeyArray", "Measure", "Level", "CostCallable", "Event", "Decide")
autodoc_type_aliases = {name: name for name in ALIASES}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

# Names without a page here: those of other libraries, and these internal parts of flexibo.
INTERNAL = (
    "belief.belief.JointPrediction",
    "belief.belief.Predictions",
    "belief.price_list.PriceList",
    "executors.cluster.ClusterExecutor",
    "history.history.History",
    "optimizer.predictor.Predictor",
    "plots.html.View",
    "surrogates.fit_memory.FitMemory",
    "surrogates.local.LocalPosterior",
    "surrogates.posterior.Posterior",
    "surrogates.random_forest.Forest",
    "systems.catalogue.NetworkTraits",
)
nitpick_ignore = [("py:class", f"flexibo.{name}") for name in INTERNAL]
nitpick_ignore_regex = [("py:obj", r".*"), ("py:.*", r"(?!flexibo\.).*"), ("py:.*", r"flexibo\.(.*\.)?_.*")]

html_theme = "furo"
html_title = f"flexibo {release}"
html_static_path = ["static"]
html_css_files = ["extra.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# Search results have no excerpts: a browser does not let a page fetch them from local files.
html_show_search_summary = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6394", "color-brand-content": "#0b6394"},
    "dark_css_variables": {"color-brand-primary": "#6cc0ee", "color-brand-content": "#6cc0ee"},
    "navigation_with_keys": True,
    "footer_icons": [],
}

# Not configurable in Sphinx: the headings of argument lists, the names of aliases within unions, and the summary of a
# property, whose first colon does not end a type.
for field in PyObject.doc_field_types:
    field.label = {"parameter": "Arguments", "variable": "Attributes"}.get(field.name, field.label)
TypeAliasForwardRef.__repr__ = lambda self: self.name
GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end
