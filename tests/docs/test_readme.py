"""What the README shows is what happens."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_prints_what_it_says() -> None:
    code = re.search(r"```python\n(.*?)```\s+prints `(.*?)`", README, re.DOTALL)
    assert code is not None
    assert len(code[1].splitlines()) <= 11
    said = subprocess.run(
        [sys.executable, "-c", code[1]], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == code[2]


@pytest.mark.parametrize("command", ["gen small-4", "route demo-8"])
def test_the_command_line_example_prints_what_it_says(command: str, tmp_path: Path) -> None:
    shown = re.search(
        rf"    \$ \.venv/bin/(fred {command}[^#\n]*)[^\n]*\n((?:    [^$\n].*\n)+)", README
    )
    assert shown is not None
    program, *arguments = shlex.split(shown[1])
    arguments = [
        str(tmp_path / "build/small-4") if argument.startswith("build/") else argument
        for argument in arguments
    ]
    said = subprocess.run(
        [Path(sys.executable).parent / program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    got = said.stdout.replace(f"{tmp_path}/", "").splitlines()
    assert got == [line[4:] for line in shown[2].splitlines()]


def test_every_file_that_is_linked_exists() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
