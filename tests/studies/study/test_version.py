"""Tests of studies.study.version."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from studies.study.version import model_version, version_of
from tests.written import written

CODE = ("code.py", "in/record.json", "in/load.yaml", "host.cpp", "host.hpp", "top.v")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a package with a file of each kind, and tests and documents next to them."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "versioned", raising=False)
    found = tmp_path / "versioned"
    (found / "in").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    for name in ("__init__.py", *CODE, "README.md", "../tests/test_code.py"):
        written(found / name, "1")
    return found


def digest() -> str:
    """Return the version of the package as its files are now."""
    version_of.cache_clear()
    return version_of("versioned")


@pytest.mark.parametrize("name", CODE)
def test_a_changed_byte_of_what_figures_depend_on_changes_the_version(
    package: Path, name: str
) -> None:
    before = digest()
    written(package / name, "2")
    assert digest() != before
    written(package / name, "1")
    assert digest() == before


@pytest.mark.parametrize("name", ["README.md", "../tests/test_code.py", "in/code.pyc"])
def test_tests_and_documents_do_not_change_the_version(package: Path, name: str) -> None:
    before = digest()
    written(package / name, "2")
    assert digest() == before


def test_a_renamed_file_changes_the_version(package: Path) -> None:
    before = digest()
    (package / "host.cpp").rename(package / "main.cpp")
    assert digest() != before


def test_the_version_names_the_release() -> None:
    assert model_version().startswith(f"{version('fred-hw')}+")
    depends_on = ("fred_hw", "perfmodel", "tracemodel", "studies")
    assert model_version() == version_of(*depends_on) != version_of("perfmodel")
