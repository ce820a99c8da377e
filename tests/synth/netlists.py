"""A mapped design as Yosys writes it, small enough for sums by hand."""

from synth.mapping import Mapped, Memory

__all__ = ["TWO_LANES", "two_lanes"]

TWO_LANES = """\
module top(clk, i, we, o);
  input clk;
  wire clk;
  input [3:0] i;
  wire [3:0] i;
  input we;
  wire we;
  output o;
  wire o;
  wire a;
  wire b;
  wire [1:0] word;
  DFF o_reg (
    .CK(clk),
    .D(b),
    .Q(o)
  );
  lane lane_0 (
    .ck(clk),
    .i(i[1:0]),
    .o(a)
  );
  lane lane_1 (
    .ck(clk),
    .i(i[3:2]),
    .o(b)
  );
  fred_memory_4x2_r1_w1_e1 store (
    .CLK(clk),
    .RADDR(i[1:0]),
    .RDATA(word),
    .WADDR({ a, b }),
    .WDATA(i[3:2]),
    .WEN(we)
  );
endmodule

module lane(ck, i, o);
  input ck;
  wire ck;
  input [1:0] i;
  wire [1:0] i;
  output o;
  wire o;
  wire _0_;
  wire _1_;
  wire [1:0] held;
  DFF held_reg_0 (
    .CK(ck),
    .D(i[0]),
    .Q(held[0])
  );
  DFF held_reg_1 (
    .CK(ck),
    .D(_0_),
    .Q(held[1])
  );
  INV _2_ (
    .A(held[1]),
    .Y(_1_)
  );
  NAND2 _3_ (
    .A(i[1]),
    .B(held[0]),
    .Y(_0_)
  );
  INV _4_ (
    .A(_1_),
    .Y(o)
  );
endmodule
"""


def two_lanes() -> Mapped:
    """Return the design with its memory."""
    pins = {
        "CLK": ("input", 1),
        "RADDR": ("input", 2),
        "RDATA": ("output", 2),
        "WADDR": ("input", 2),
        "WDATA": ("input", 2),
        "WEN": ("input", 1),
    }
    memory = Memory("fred_memory_4x2_r1_w1_e1", 4, 2, pins)
    return Mapped("top", TWO_LANES, {"top": [memory]}, {"lane": (18.0, 2), "top": (0.0, 0)})
