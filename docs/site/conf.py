"""The site: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ["TQDM_DISABLE"] = "1"  # a page needs no progress bars; read when tqdm is imported

import driftway

project = "driftway"
author = "the driftway developers"
version = release = driftway.__version__
project_copyright = author
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "crosslinks",
    "gallery",
]
nitpicky = True
# In signatures are types of other projects, whose pages are not fetched, and our own inner ones, which have no page.
nitpick_ignore_regex = [("py:(class|exc)", ".*")]
suppress_warnings = ["config.cache"]
default_role = "literal"  # docstrings have names between single backticks

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "attrs_inline", "attrs_block"]

autodoc_typehints_format = "short"
autodoc_member_order = "groupwise"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_attr_annotations = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).resolve().parents[2] / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": "gallery.folder_place",
    "within_subsection_order": "gallery.InOrder",
    "image_scrapers": ("matplotlib", "gallery.reports"),
    "reset_modules": ("matplotlib", "gallery.put_back"),
    "backreferences_dir": "gallery/used",
    "doc_module": ("driftway",),
    "reference_url": {"driftway": None},
    "image_srcset": ["2x"],
    "thumbnail_size": (560, 300),
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1000,
    "inspect_global_variables": False,
    "download_all_examples": True,
}

html_theme = "furo"
html_title = "driftway"
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00775a", "color-brand-content": "#0067a3"},
    "dark_css_variables": {"color-brand-primary": "#3ecfa5", "color-brand-content": "#6cb8ec"},
}
