"""All places that state the version agree."""

import re
import tomllib

import yaml

from .pages import ROOT


def test_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == version
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == version
    install = (ROOT / "docs/how-to/install.md").read_text("utf-8")
    assert {*re.findall(r"fred_hw-([\d.]+?)-py3-none-any\.whl", install)} == {version}
