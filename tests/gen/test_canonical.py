# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
# Ports of memories and conditions of Amaranth are made when they are asked for.
"""Tests of gen.canonical: renaming changes no hash, and a change of meaning changes it."""

import random
import re
from collections.abc import Sequence

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.member import members
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place
from gen.canonical import canonical_hash
from gen.design import generate
from gen.emitter import VerilogEmitter
from gen.verilog_parser import VerilogError
from testbench.sim.kept import kept

SAMPLE = """
/* a header */
module pass(clk, i, en, o);
  parameter WIDTH = 3;
  localparam signed [3:0] STEP = -1;
  input clk;
  input [3:0] i;
  input en;
  output [3:0] o;
  wire clk;
  reg [3:0] o;
  (* keep *) wire [3:0] next;
  assign next = en ? i + STEP : ~ i;
  always @(posedge clk)
    if (en) o <= next; else o <= { i[2:0], i[WIDTH] };
endmodule
module top(clk, rst, a, b, q, r, s);
  input clk, rst;
  input [3:0] a, b;
  output [3:0] q, r;
  output reg s;
  wire [3:0] x;
  wire y = a[0] & b[1];
  reg [3:0] m [0:3];
  wire [7:0] unread;
  initial begin
    m[0] = 4'h1;
    m[1] = 4'd2;
  end
  always @(posedge clk) begin
    if (a[0]) m[a[1:0]] <= b;
    if (b[0]) m[b[1:0]] <= a;
  end
  assign x[1:0] = a[3:2] | b[1:0];
  assign x[3:2] = a[1:0] ^ b[3:2];
  assign q = m[x[1:0]];
  pass #(.WIDTH(2)) first (.clk(clk), .i(x), .en(y), .o(r));
  pass #(.WIDTH(1)) second (.clk(clk), .i(r), .en(rst), .o(unread[3:0]));
  always @(negedge clk) case (a)
    4'h0: s <= 1'h0;
    4'h1, 4'h2: s <= b[0];
    default: s <= rst;
  endcase
endmodule
"""

_WORDS = """
    always assign begin case default else end endcase endmodule if initial input localparam module
    negedge output parameter posedge reg signed wire keep header
"""
WORDS = frozenset(_WORDS.split())
ANYWHERE = re.compile(r"(?<![\w'$\\`])(?:\\\S+ |[A-Za-z_]\w*)")


def names_of(text: str) -> list[str]:
    """Return all names in a text, in order."""
    return [one for one in dict.fromkeys(ANYWHERE.findall(text)) if one not in WORDS]


def renamed(text: str, number: random.Random) -> str:
    """Return a text with another name for each."""
    old = names_of(text)
    new = [f"n{at}" for at in range(len(old))]
    number.shuffle(new)
    names = dict(zip(old, new, strict=True))
    return ANYWHERE.sub(lambda found: names.get(found[0], found[0]) + " ", text)


def moved(text: str, number: random.Random) -> str:
    """Return a text whose modules, and in each the lines that have no order, are in another."""
    modules = re.findall(r"^module .*?^endmodule\n", text, re.DOTALL | re.MULTILINE)
    number.shuffle(modules)
    return "".join(_lines_moved(one, number) for one in modules)


def _lines_moved(module: str, number: random.Random) -> str:
    lines = module.split("\n")
    free = [n for n, line in enumerate(lines) if re.match(r"  (wire|assign|input|pass) .*;$", line)]
    others = number.sample(free, len(free))
    taken = [lines[n] for n in others]
    for at, line in zip(free, taken, strict=True):
        lines[at] = line
    return "\n".join(lines)


def same(text: str, number: random.Random) -> None:
    wanted = canonical_hash(text)
    assert canonical_hash(renamed(text, number)) == wanted
    assert canonical_hash(moved(text, number)) == wanted
    assert canonical_hash(renamed(moved(text, number), number)) == wanted


@given(st.randoms(use_true_random=False))
def test_neither_names_nor_places_matter(number: random.Random) -> None:
    same(SAMPLE, number)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["interconnect", "switch", "endpoint"])
def test_neither_names_nor_places_in_generated_designs_matter(level: str) -> None:
    text = kept(generate, SwitchSpec(ports=2, lanes=1), level=level).verilog
    for seed in range(3):
        same(text, random.Random(seed))


def test_layout_comments_and_attributes_do_not_matter() -> None:
    text = SAMPLE.replace("assign", '// a remark\n (* keep, src = "f.py:1" *) assign /* and */\t')
    text = text.replace("\\y ", "y").replace(" x", " \\x ")
    assert canonical_hash(re.sub(r"  +", "\n", text)) == canonical_hash(SAMPLE)


def test_leading_zeros_of_constants_do_not_matter() -> None:
    wide = SAMPLE.replace("m[0] = 4'h1", f"m[0] = 438'h{'1'.zfill(110)}")
    assert canonical_hash(wide.replace(109 * "0", "")) == canonical_hash(wide)
    assert canonical_hash(wide.replace(109 * "0", "1")) != canonical_hash(wide)


TOKEN = re.compile(r"\d+'\w+|\w+|<=|[^\s\w]")
OTHER = {
    "posedge": "negedge",
    "negedge": "posedge",
    "wire": "reg",
    "reg": "wire",
    "input": "inout",
    "output": "inout",
    "case": "casez",
    "initial": "always",
    "parameter": "localparam",
    "&": "|",
    "|": "&",
    "^": "|",
    "+": "*",
    "-": "+",
    "~": "!",
    "<=": "=",
    "signed": "",
}


def changes() -> list[tuple[str, str]]:
    """Return changes of the sample by a token: what it was, and the text."""
    changed = list[tuple[str, str]]()
    head = SAMPLE.index("module top")
    others = {"a": "b", "b": "a", "x": "a", "y": "rst", "rst": "y", "r": "x", "clk": "rst"}
    for found in TOKEN.finditer(SAMPLE):
        token, begin = found[0], found.start()
        line = SAMPLE[SAMPLE.rindex("\n", 0, begin) + 1 :].split("\n")[0]
        if "/*" in line or line.startswith("module"):
            continue
        if re.fullmatch(r"\d+'\w+", token):
            other = token[:-1] + ("3" if token[-1] != "3" else "2")
        elif token.isdigit():
            other = str(int(token) + 1)
        elif token in OTHER:
            other = OTHER[token]
        elif begin > head and token in others and not re.match(r"  (input|output|wire)", line):
            if SAMPLE[begin - 1] == ".":
                continue
            other = others[token]
        else:
            continue
        changed.append(
            (f"{line.strip()} / {token}", SAMPLE[:begin] + other + SAMPLE[found.end() :])
        )
    return changed


def test_each_change_of_a_token_matters() -> None:
    hashes = {"": canonical_hash(SAMPLE)}
    for what, text in changes():
        try:
            found = canonical_hash(text)
        except VerilogError:
            continue
        assert found not in hashes.values(), what
        hashes[f"{what} {len(hashes)}"] = found
    assert len(hashes) > 90


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".i(x), .en(y)", ".i(y), .en(x)"),  # pins
        (".i(x), .en(y)", ".en(y)"),
        (
            "    if (a[0]) m[a[1:0]] <= b;\n    if (b[0]) m[b[1:0]] <= a;",
            "    if (b[0]) m[b[1:0]] <= a;\n    if (a[0]) m[a[1:0]] <= b;",
        ),
        ("    m[1] = 4'd2;\n", ""),  # contents of a memory
        (" #(.WIDTH(2))", ""),
        ("x[1:0] = a[3:2]", "x[3:2] = a[3:2]"),
        ("{ i[2:0], i[WIDTH] }", "{ i[WIDTH], i[2:0] }"),
        ("else o <=", "o <="),
    ],
)
def test_connections_contents_and_order_matter(old: str, new: str) -> None:
    assert SAMPLE.count(old) == 1
    assert canonical_hash(SAMPLE.replace(old, new)) != canonical_hash(SAMPLE)


def test_what_each_of_two_memory_ports_writes_matters_in_their_order() -> None:
    """Of two blocks that write a word at once, simulators take the one that is written last."""
    blocks = [f"always @(posedge c) if (w[{n}]) m[0] <= d[{n}];\n" for n in range(2)]
    text = "module t(c, w, d, q); input c; input [1:0] w, d; output q; reg m [0:1];\n{}{}"
    text += "assign q = m[0]; endmodule"
    assert canonical_hash(text.format(*blocks)) != canonical_hash(text.format(*blocks[::-1]))
    # Also where one of them is reached from another net before.
    blocks[0] = "always @(posedge c) begin q <= d[0]; m[0] <= w[0]; end\n"
    text = "module t(q, c, w, d, r); input c; input [1:0] w, d; output q, r; reg m [0:1];\n{}{}"
    text += "assign r = m[0]; endmodule"
    assert canonical_hash(text.format(*blocks)) != canonical_hash(text.format(*blocks[::-1]))


def test_several_texts_are_hashed_together() -> None:
    """A module may be in several, and in each in another order; its own text stands apart."""
    inner, outer = SAMPLE.split("module top")
    outer = f"module top{outer}"
    number = random.Random(1)
    assert canonical_hash(outer, inner) == canonical_hash(SAMPLE)
    assert canonical_hash(outer, inner, moved(inner, number)) == canonical_hash(SAMPLE)
    assert canonical_hash(outer, inner) != canonical_hash(outer)
    with pytest.raises(VerilogError, match=r"^module pass must be the same in all texts$"):
        canonical_hash(SAMPLE, inner.replace("~ i", "i"))


def test_modules_that_are_in_no_text_keep_their_names_and_pins() -> None:
    text = "module t(a, b); input a; output b; {} u (.{}(a), .o(b)); endmodule"
    wanted = canonical_hash(text.format("macro", "i"))
    assert wanted != canonical_hash(text.format("macro_2", "i"))
    assert canonical_hash(text.format("macro_1", "i")) != canonical_hash(
        text.format("macro_1", "j")
    )
    pins = text.format("macro_1", "i").replace(".i(a), .o(b)", ".o(b), .i(a)")
    assert canonical_hash(pins) == canonical_hash(text.format("macro_1", "i"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("`define A 1\n", "text must be without `define"),
        ("wire x;", "text must consist of modules, not 'wire'"),
        ("module t(a); input a;", "module t must end with endmodule"),
        ("module t(a); input a endmodule", "module t must not end within a statement"),
        ("module t(); t again(); endmodule", "module t must not contain itself"),
        ('module t(); initial $readmemh("f", m); endmodule', "text must be without $readmemh"),
        ("module t(); function f; endfunction endmodule", "module t: must be without function"),
        ("module t(); and (a, b); endmodule", "module t: must be without and"),
        (
            "module i(a); input a; endmodule module t(); i u(.b(1)); endmodule",
            "instance of i must not have b",
        ),
    ],
)
def test_other_verilog_is_refused(text: str, message: str) -> None:
    with pytest.raises(VerilogError, match=f"^{re.escape(message)}$"):
        canonical_hash(text)


class Inner(Unit):
    """A unit with chosen names for its ports and itself."""

    chosen = members(lambda u: dict(zip(u.names[1:4], (In(4), In(4), Out(4)), strict=True)))

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.unit_name = names[0]
        super().__init__()

    def ports(self) -> list[Signal]:
        return [getattr(self, name) for name in self.names[1:4]]

    def build(self, m: Module) -> None:
        first, second, third = self.ports()
        held, sums = Signal(4, name=self.names[4]), Signal(4, name=self.names[5])
        m.submodules[self.names[6]] = memory = Memory(shape=4, depth=4, init=[1, 2, 3])
        read, write = memory.read_port(domain="comb"), memory.write_port()
        m.d.comb += [write.addr.eq(first), write.data.eq(sums), write.en.eq(second[0])]
        m.d.comb += [read.addr.eq(first), sums.eq((first + second) ^ (held & ~second))]
        m.d.sync += held.eq(sums - read.data)
        with m.If(first[0]):
            m.d.comb += third.eq(held)


class Outer(Inner):
    """Two such units in another one."""

    def __init__(self, names: Sequence[str], inner: Sequence[str]) -> None:
        self.inner = inner
        super().__init__(names)

    def build(self, m: Module) -> None:
        first, second, third = self.ports()
        one, other = Inner(self.inner), Inner(self.inner)
        place(m, self.names[4], one)
        place(m, self.names[5], other)
        for unit, pins in ((one, (first, second)), (other, (second, one.ports()[2]))):
            m.d.comb += [port.eq(pin) for port, pin in zip(unit.ports(), pins, strict=False)]
        m.d.comb += third.eq(other.ports()[2])


def test_renamed_sources_give_the_same_hash() -> None:
    """Yosys writes what has other names in another order."""
    texts = list[str]()
    for seed in range(4):
        names = [f"n{n}" for n in range(14)]
        random.Random(seed).shuffle(names)
        emitter = VerilogEmitter()
        emitter.add(Outer(names[:7], names[7:]))
        texts.append(emitter.verilog())
    assert len({"\n".join(re.sub(r"n\d+", "n", one).split("\n")) for one in texts}) > 1
    assert len({canonical_hash(one) for one in texts}) == 1
