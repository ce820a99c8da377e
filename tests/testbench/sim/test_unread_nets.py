"""Tests of testbench.sim.unread_nets: what nobody reads is gone, and the rest does the same."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from testbench.sim.tools import icarus_bin
from testbench.sim.unread_nets import without_unread_nets

pytestmark = pytest.mark.sim

DESIGN = """\
module inner(input clk, input [3:0] a, b, output reg [3:0] q);
  wire [3:0] sum = a + (b ^ 4'd5);
  wire [3:0] idle = a & b;
  wire [3:0] head__waiting = a | b;
  wire [3:0] rows [0:1];
  assign rows[0] = a; assign rows[1] = b;
  always @(posedge clk) q <= sum ^ rows[a[0]];
endmodule
module top;
  reg clk = 0; reg [3:0] a = 0; wire [3:0] q; wire [3:0] b = a + 3, beside = a - 1;
  inner one(clk, a, b, q);
  initial repeat (40) begin #1 clk = 1; #1 clk = 0; a = a + 5; $display("%d %d", q, one.idle); end
endmodule
"""


def compiled(folder: Path) -> tuple[Path, str]:
    """Return Icarus, and what it makes of the design."""
    place = icarus_bin()
    assert place is not None
    (folder / "top.v").write_text(DESIGN)
    command = [place / "iverilog", "-g2005", "-s", "top", "-o", "top.vvp", "top.v"]
    subprocess.run(command, cwd=folder, check=True)
    return place, (folder / "top.vvp").read_text()


def simulated(place: Path, folder: Path, text: str) -> str:
    (folder / "fewer.vvp").write_text(text)
    command = [place / "vvp", "-n", "fewer.vvp"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("probes", "stay", "go"),
    [
        (None, ["idle"], ["head__waiting", "beside", "_ivl_0"]),
        ((), ["idle", "beside", "_ivl_0"], ["head__waiting"]),
        (["head__*"], ["idle", "beside", "_ivl_0", "head__waiting"], []),
    ],
)
def test_a_design_without_them_does_the_same(
    tmp_path: Path, probes: Sequence[str] | None, stay: list[str], go: list[str]
) -> None:
    """What a statement, an array or a name from elsewhere reads stays; so does all of the top."""
    place, text = compiled(tmp_path)
    fewer = without_unread_nets(text, probes)
    assert fewer.count(".net") < text.count(".net") and text.count("\n") > fewer.count("\n")
    for name in [*stay, *go, "_ivl_0"]:
        assert f'"{name}"' in text
    assert [name for name in stay if f'"{name}"' not in fewer] == []
    assert [name for name in go if f'"{name}"' in fewer] == []
    said = simulated(place, tmp_path, text)
    assert len(set(said.splitlines())) > 10
    assert simulated(place, tmp_path, fewer) == said


def test_a_net_that_is_read_is_missed(tmp_path: Path) -> None:
    """So what is compared above would differ, or end, if one too many went."""
    place, text = compiled(tmp_path)
    lines = [line for line in text.splitlines() if '"idle"' not in line]
    with pytest.raises(subprocess.CalledProcessError):
        simulated(place, tmp_path, "\n".join(lines) + "\n")


def test_what_has_no_nets_is_left_alone() -> None:
    for text in ("", '#! vvp\n:ivl_version "11.0";\n'):
        assert without_unread_nets(text) == without_unread_nets(text, ["a"]) == text
