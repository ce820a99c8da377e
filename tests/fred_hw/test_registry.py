"""Tests of fred_hw.registry."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from fred_hw.registry import Registry

_SHARED = """
from fred_hw.registry import Registry
ANIMALS: Registry[str] = Registry("{package}.kinds", "animal")
"""
_MODULE = """
from {package}.shared import ANIMALS
ANIMALS.add("{name}", "says {name}"{rank})
"""


@pytest.fixture
def animals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[str]:
    """Return a registry whose package has a cat, a dog of rank 1 and a bee of rank 2."""
    package = f"zoo_{re.sub('[^a-z0-9]', '_', tmp_path.name)}"
    kinds = tmp_path / package / "kinds"
    kinds.mkdir(parents=True)
    (kinds / "__init__.py").touch()
    (tmp_path / package / "shared.py").write_text(_SHARED.format(package=package))
    for name, rank in (("cat", ""), ("bee", ", rank=2"), ("dog", ", rank=1"), ("ant", "")):
        text = _MODULE.format(package=package, name=name, rank=rank)
        (kinds / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    shared = __import__(f"{package}.shared", fromlist=["ANIMALS"])
    return shared.ANIMALS


def test_an_entry_knows_the_module_that_added_it(animals: Registry[str]) -> None:
    assert animals.module("cat") == f"{animals.package}.cat"
    with pytest.raises(KeyError):
        animals.module("yak")


def test_every_module_of_the_package_is_found_at_the_first_look(animals: Registry[str]) -> None:
    assert animals["cat"] == "says cat"
    assert len(animals) == 4


def test_entries_stand_by_rank_and_then_by_name(animals: Registry[str]) -> None:
    assert list(animals) == ["dog", "bee", "ant", "cat"]
    assert list(animals.values()) == ["says dog", "says bee", "says ant", "says cat"]


def test_a_failed_import_is_repeated(
    animals: Registry[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = next(tmp_path.glob("zoo_*/kinds/cat.py"))
    module.write_text(f"{module.read_text()}import wool\n")
    with pytest.raises(ModuleNotFoundError, match="wool"):
        list(animals)
    monkeypatch.setitem(sys.modules, "wool", ModuleType("wool"))
    assert list(animals) == ["dog", "bee", "ant", "cat"]


def test_other_threads_wait_for_all_entries(animals: Registry[str], tmp_path: Path) -> None:
    module = next(tmp_path.glob("zoo_*/kinds/cat.py"))
    module.write_text(f"import time\ntime.sleep(0.05)\n{module.read_text()}")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: list(animals), range(4)))
    assert found == [["dog", "bee", "ant", "cat"]] * 4


def test_an_unknown_name_is_not_there(animals: Registry[str]) -> None:
    assert "cow" not in animals
    with pytest.raises(KeyError, match=r"^'cow'$"):
        animals["cow"]


def test_a_name_is_given_once(animals: Registry[str]) -> None:
    assert animals.add("cow", "says moo") == "says moo"
    with pytest.raises(ValueError, match=r"^name of the animal must be new, not 'cow'$"):
        animals.add("cow", "says boo")
