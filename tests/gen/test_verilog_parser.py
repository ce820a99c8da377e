"""Tests of gen.verilog_parser: statements that our own Verilog lacks."""

from gen.verilog_parser import parse_module, read_modules

LOOPS = """
module cleared(clk, q);
  input clk;
  output reg [3:0] q;
  reg [1:0] m [0:3];
  wire a;
  integer k;
  initial begin
    for (k = 0; k < 4; k = k + 1) begin
      if (k[0]) m[k] = 2'h1; else m[k] = 2'h0;
    end
  end
  assign a = m[0][0];
  always @(posedge clk) q <= { q[2:0], a };
endmodule
"""


def test_an_item_ends_after_its_loops() -> None:
    [(name, tokens)] = read_modules(LOOPS)
    module = parse_module(name, tokens)
    found = [(item.tokens[0], item.drives) for item in module.items]
    assert found == [("initial", ["k", "k", "m", "m"]), ("assign", ["a"]), ("always", ["q"])]


def test_directions_of_a_port_are_those_of_its_declarations() -> None:
    text = "module m(a, b, c); input [3:0] a; output b; reg b; inout c; endmodule"
    [(name, tokens)] = read_modules(text)
    module = parse_module(name, tokens)
    assert [module.directions(port) for port in module.ports] == [{"input"}, {"output"}, {"inout"}]
    assert module.directions("absent") == set()
