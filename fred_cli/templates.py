"""Templates of HTML pages, and the files next to them."""

from importlib.resources import files

import jinja2

from fred_hw.visible import visible

__all__ = ["environment", "neighbour"]


def environment(package: str) -> jinja2.Environment:
    """Return the environment of the templates of a package, which escape every value."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def neighbour(package: str, name: str) -> str:
    """Return the text of a file, such as a style sheet, in the template folder of a package."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")
