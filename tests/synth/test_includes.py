"""Tests of synth.includes."""

import itertools
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.includes import with_includes

TOP = """// `include "sub/a.vh"
/*
`include "sub/a.vh"
*/
  `include "sub/a.vh" // why
module t; endmodule
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "top.v").write_text(TOP)
    (folder / "sub" / "a.vh").write_text('`include "b.vh"\nwire a;\n')
    (folder / "sub" / "b.vh").write_text("wire b;")
    (tmp_path / "out.vh").write_text("secret")
    (folder / "link.vh").symlink_to(tmp_path / "out.vh")
    return folder / "top.v"


def test_files_stand_in_place_of_directives_with_their_lines(top: Path) -> None:
    before, after = TOP.split('  `include "sub/a.vh" // why\n')
    assert with_includes(top, 1000) == (
        f'{before}`line 1 "a.vh" 1\n`line 1 "b.vh" 1\nwire b;\n`line 2 "a.vh" 2\nwire a;\n\n'
        f'`line 6 "design.v" 2\n{after}'
    )


@pytest.mark.parametrize("name", ["../out.vh", "/etc/passwd", "link.vh", "sub/../../out.vh"])
def test_files_elsewhere_are_refused(top: Path, name: str) -> None:
    top.write_text(f'\n`include "{name}"\n')
    message = rf"^{top}: top\.v line 2: `include must name a file in the folder of the input, not '"
    with pytest.raises(InputError, match=message):
        with_includes(top, 1000)


@pytest.mark.parametrize("text", ['`include "none.vh"\n', '`include "top.v"\n', "`include `F\n"])
def test_what_is_not_there_or_includes_itself_is_left_to_yosys(top: Path, text: str) -> None:
    top.write_text(text)
    assert with_includes(top, 1000) == text


def test_file_beside_the_including_one_goes_before_that_of_the_top(top: Path) -> None:
    (top.parent / "b.vh").write_text("wire other;")
    assert "wire b;" in with_includes(top, 1000)
    (top.parent / "sub" / "b.vh").unlink()
    assert "wire other;" in with_includes(top, 1000)


def test_the_size_of_all_is_bounded(top: Path) -> None:
    names = [f"{k}.vh" for k in range(30)]
    for name, other in itertools.pairwise(names):
        (top.parent / name).write_text(2 * f'`include "{other}"\n')
    (top.parent / names[-1]).write_text("wire a;\n")
    top.write_text('`include "0.vh"\n')
    with pytest.raises(InputError, match="must be a file of at most"):
        with_includes(top, 10_000)
