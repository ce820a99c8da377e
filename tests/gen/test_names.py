"""Tests of gen.names, and that nothing generated lacks a name."""

import pytest

from fred_hw.load import load_spec
from fred_hw.mesh.spec import MeshSpec
from gen.design import generate
from gen.keywords import KEYWORDS
from gen.names import with_names
from testbench.sim.kept import kept

TEXT = """\
module top(a, o);
  wire \\$1 ;
  wire [1:0] \\$2 ;
  wire \\$3 ;
  wire o_1;
  assign \\$1  = ~ a;
  assign { \\$2 [1], o } = \\$1  + o_1;
  assign \\$2 [0] = o;
  part one (
    .i(\\$3 )
  );
endmodule
"""


def test_nets_are_called_after_what_they_go_into() -> None:
    assert with_names(TEXT) == (
        "module top(a, o);\n  wire o_2;\n  wire [1:0] o_3;\n  wire one_i_1;\n  wire o_1;\n"
        "  assign o_2 = ~ a;\n  assign { o_3[1], o } = o_2 + o_1;\n  assign o_3[0] = o;\n"
        "  part one (\n    .i(one_i_1)\n  );\nendmodule\n"
    )


def test_what_goes_nowhere_has_a_name_too() -> None:
    text = "module top(a);\n  wire \\$1 ;\n  assign \\$1  = a;\nendmodule\n"
    assert with_names(text) == text.replace("\\$1 ", "net_1")


@pytest.mark.parametrize(
    "declaration",
    [
        "input case;",
        "wire [7:0] \\inside ;",
        "reg signed [7:0] \\case = 8'h00;",
        "part \\always (\n    .i(a)\n  );",
    ],
)
def test_no_port_net_or_instance_may_be_named_like_a_keyword(declaration: str) -> None:
    word = next(one for one in ("case", "inside", "always") if one in declaration)
    text = f"module top(a);\n  wire cases;\n  {declaration}\nendmodule\n"
    with pytest.raises(ValueError, match=rf"^names must not be keywords .* \['{word}'\] in .*top"):
        with_names(text)


def test_all_keywords_of_both_standards_are_known() -> None:
    # IEEE 1364-2005 has 123 keywords, IEEE 1800-2017 has 248; the former are among the latter.
    assert len(KEYWORDS) == 248
    assert {"large", "pulsestyle_ondetect", "interconnect", "s_until_with"} <= KEYWORDS


@pytest.mark.slow
@pytest.mark.parametrize("level", ["interconnect", "switch", "endpoint"])
def test_no_net_is_without_a_name(level: str) -> None:
    assert "\\$" not in kept(generate, load_spec("tiny-2"), level=level).verilog


@pytest.mark.slow
def test_no_net_of_a_chiplet_is_without_a_name() -> None:
    assert "\\$" not in kept(generate, load_spec("l1-12"), level="switch").verilog


@pytest.mark.slow
@pytest.mark.parametrize("level", ["mesh", "router"])
def test_no_net_of_a_mesh_is_without_a_name(level: str) -> None:
    mesh = MeshSpec(width=1, height=2, lanes=1, format="int8", controllers=False)
    assert "\\$" not in kept(generate, mesh, level=level).verilog
