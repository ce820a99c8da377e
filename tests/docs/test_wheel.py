"""A wheel has all that the documentation uses: examples, data, and the program of driver.md."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from docs.generate.files import PACKAGES

from .pages import ROOT, blocks

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]

ONLY_THOSE = """
import sys
from pathlib import Path
site = Path(sys.path[1])
owned = {name: sys.modules[name].__file__ for name in sys.modules if name.split(".")[0] in PACKAGES}
assert owned and all(Path(file).is_relative_to(site) for file in owned.values() if file), owned
assert not {"docs", "tests", "examples", "scripts"} & {name.split(".")[0] for name in sys.modules}
"""
"""What a program of an installed wheel says at its end: it used the wheel, and nothing beside."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the contents of the wheel."""
    tree, out = (tmp_path_factory.mktemp(name) for name in ("tree", "wheel"))
    for name in (*PACKAGES, "examples"):
        skipped = shutil.ignore_patterns("__pycache__", "examples" if name == "fred_cli" else "")
        shutil.copytree(ROOT / name, tree / name, ignore=skipped)
    (tree / "fred_cli/examples").symlink_to("../examples")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    words = ["uv", "build", "--wheel", "--no-build-isolation", "--offline", "--quiet"]
    words += ["--python", sys.executable, "-o", str(out), str(tree)]
    subprocess.run([f"{Path(sys.executable).parent}/{words[0]}", *words[1:]], check=True)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(out / "site")
    return out / "site"


def run(site: Path, program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the wheel in a folder outside the repository."""
    file = folder / "program.py"
    file.write_text(program + f"\nPACKAGES = {PACKAGES}\n" + ONLY_THOSE)
    return subprocess.run(
        [sys.executable, file.name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_data_of_the_packages_are_in_the_wheel(site: Path) -> None:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            inside = path.relative_to(ROOT)
            if path.is_file() and "__pycache__" not in path.parts:
                assert (site / inside).exists(), inside
    for path in (ROOT / "examples").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert (site / "fred_cli" / path.relative_to(ROOT)).exists(), path


def test_commands_work_without_the_repository(site: Path, tmp_path: Path) -> None:
    lines = [
        ["examples", "copy"],
        ["gen", "small-4", "-o", "small-4"],
        ["collective", "--topology", "examples/fred-16.yaml", "--size", "1GiB", "--json"],
        ["estimate", "--topology", "fred-d", "--workload", "resnet-152", "--json"],
        ["libra", "examples/bandwidth-design.yaml", "--json"],
        ["records", "list", "--json"],
    ]
    program = "from fred_cli.cli import cli\n"
    program += "".join(f"cli.main({words!r}, standalone_mode=False)\n" for words in lines)
    done = run(site, program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "examples/fred-16.yaml").exists()
    assert list((tmp_path / "small-4").glob("*.v"))


def test_program_of_the_driver_page_runs(site: Path, tmp_path: Path) -> None:
    program = "\n".join(block.text for block in blocks("docs/how-to/driver.md", "python"))
    done = run(site, program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
