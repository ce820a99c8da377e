"""Settings of the documentation site, which Sphinx builds from the pages in docs/ (`make site`)."""

project = "fred-hw"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["experiments", "generate"]
myst_heading_anchors = 4  # the same anchors that repository hosts give headings
html_theme = "furo"
html_title = "fred-hw"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
