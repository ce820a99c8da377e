"""Properties of the register block: AXI4-Lite rules, and what registers read back."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from fred_hw.control.axi_lite import OKAY, SLVERR, AxiLiteRegisters
from fred_hw.control.registers import WORD_BITS, Field, Register, RegisterMap, Word
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.property import prove

__all__ = ["EVERY_ACCESS", "axi_lite_rules"]

EVERY_ACCESS = RegisterMap(
    "every_access",
    "A register of each access.",
    (
        Register("IDENTITY", 0, "Constant.", (Field("value", 4, 8, "constant", "Value", 0xA5),)),
        Register("STATE", 4, "Hardware.", (Field("value", 0, 3, "ro", "Value"),)),
        Register(
            "SETTING",
            8,
            "Software.",
            (
                Field("mode", 0, 2, "rw", "Mode", 2),
                Field("level", 30, 2, "rw", "Level", 1, loads=True),
            ),
            lockable=True,
        ),
        Register(
            "ERROR",
            12,
            "Errors.",
            (Field("seen", 0, 2, "w1c", "Seen"), Field("act", 8, 1, "pulse", "Act")),
        ),
        Register("TABLE", 16, "Array.", (Field("entry", 0, 2, "rw", "Entry"),), count=2),
    ),
)


def axi_lite_rules(c: Harness, u: Any) -> None:
    """Check that responses stay until they are taken, and that none is missing or too many."""
    m = c.m

    def wire(name: str) -> Any:
        return getattr(u, f"s_axil_{name}")

    for channel, kept in (("b", ("bresp",)), ("r", ("rresp", "rdata"))):
        stalled = Signal(name=f"{channel}_stalled")
        m.d.sync += stalled.eq(wire(f"{channel}valid") & ~wire(f"{channel}ready"))
        c.check(f"{channel}_stays", ~stalled | wire(f"{channel}valid"))
        for name in kept:
            before = Signal.like(wire(name), name=f"{name}_before")
            m.d.sync += before.eq(wire(name))
            c.check(f"{name}_stays", ~stalled | (wire(name) == before))
    for name, requests in (("b", ("aw", "w")), ("r", ("ar",))):
        for request in requests:
            owed = Signal(range(4), name=f"{request}_owed")
            came = wire(f"{request}valid") & wire(f"{request}ready")
            gone = wire(f"{name}valid") & wire(f"{name}ready")
            m.d.sync += owed.eq(owed + came - gone)
            c.check(f"{request}_answered_once", ~wire(f"{name}valid") | (owed != 0))
            c.check(f"{request}_bounded", owed <= 2)
    c.check("bresp_known", (wire("bresp") == OKAY) | (wire("bresp") == SLVERR))


@broken(AxiLiteRegisters, {})
def response_withdrawn(m: Module, sound: Any, ports: Any) -> None:
    """A write response is withdrawn if it is not taken at once."""
    m.d.comb += sound.s_axil_bready.eq(1)


@prove(
    lambda: AxiLiteRegisters(registers=EVERY_ACCESS),
    shows="AXI4-Lite: a response stays unchanged until it is taken. Each request has exactly one "
    "response, which is OKAY or SLVERR.",
    omits="other register maps; that every response arrives eventually",
    mutant=response_withdrawn,
)
def axi_lite_handshakes(c: Harness, u: Any) -> None:
    axi_lite_rules(c, u)
    c.cover("responses_wait", u.s_axil_bvalid & u.s_axil_rvalid & ~u.s_axil_bready)


def _written(c: Harness, u: Any) -> tuple[Signal, Signal, Signal, Signal]:
    """Follow writes: whether one takes effect in this cycle, with its address, data and strobe."""
    m = c.m
    kept = {"awaddr": "aw", "wdata": "w", "wstrb": "w"}
    values = {name: Signal.like(getattr(u, f"s_axil_{name}"), name=f"kept_{name}") for name in kept}
    has = {channel: Signal(name=f"has_{channel}") for channel in ("aw", "w")}
    take = Signal(name="write_taken")
    m.d.comb += take.eq(has["aw"] & has["w"] & ~u.s_axil_bvalid)
    for channel, one in has.items():
        came = getattr(u, f"s_axil_{channel}valid") & getattr(u, f"s_axil_{channel}ready")
        with m.If(came):
            m.d.sync += one.eq(1)
            m.d.sync += [
                values[name].eq(getattr(u, f"s_axil_{name}"))
                for name, owner in kept.items()
                if owner == channel
            ]
        with m.Elif(take):
            m.d.sync += one.eq(0)
    return take, values["awaddr"], values["wdata"], values["wstrb"]


def _model(c: Harness, u: Any, word: Word, writes: Any, data: Any) -> Any:
    """Return the value of a word when read, as its description says."""
    m, value = c.m, Const(0, WORD_BITS)
    for field in word.register.fields:
        name = f"{word.register.name}_{field.name}".lower()
        mine = slice(field.width * word.index, field.width * (word.index + 1))
        new = data[field.low : field.low + field.width]
        if field.access in ("constant", "ro"):
            now = Const(field.value, field.width)
            if field.access == "ro":
                now = getattr(u, name)[mine]
        elif field.access == "pulse":
            now = Const(0, field.width)
            strobe = Mux(writes, new, 0)
            c.check(f"{name}_acts_once", getattr(u, name)[mine] == strobe)
        else:
            now = Signal(field.width, name=f"{name}_{word.index}_model", init=field.value)
            if field.access == "rw":
                with m.If(writes):
                    m.d.sync += now.eq(new)
                if field.loads:
                    with m.If(getattr(u, f"{name}_load")):
                        m.d.sync += now.eq(getattr(u, f"{name}_next")[mine])
            else:
                cleared = Mux(
                    getattr(u, f"{name}_clear"), (1 << field.width) - 1, Mux(writes, new, 0)
                )
                kept = now & ~cleared
                c.check(f"{name}_{word.index}_kept", getattr(u, f"{name}_kept")[mine] == kept)
                m.d.sync += now.eq(kept | getattr(u, f"{name}_set")[mine])
            c.check(f"{name}_{word.index}_member", getattr(u, name)[mine] == now)
        value = value | (now << field.low)
    return value[:WORD_BITS]


@broken(AxiLiteRegisters, {})
def lock_ignored(m: Module, sound: Any, ports: Any) -> None:
    """A locked register can be written."""
    m.d.comb += sound.lock.eq(0)


@prove(
    lambda: AxiLiteRegisters(registers=EVERY_ACCESS),
    shows="Every register reads as its description says. Every other address reads as 0 with "
    "SLVERR. A write changes only the addressed word, and a partial or locked write changes "
    "nothing. Each reason of a refusal is reported for one cycle.",
    omits="register maps other than the proven one, which has each kind of access",
    mutant=lock_ignored,
)
def registers_read_back(c: Harness, u: Any) -> None:
    m = c.m
    take, address, data, strobe = _written(c, u)
    reads = Signal(12, name="read_address")
    pending = Signal(name="read_pending")
    with m.If(u.s_axil_arvalid & u.s_axil_arready):
        m.d.sync += [reads.eq(u.s_axil_araddr), pending.eq(1)]
    shown = pending & ~u.s_axil_rvalid
    with m.If(shown):
        m.d.sync += pending.eq(0)
    found, known, good = Const(0, WORD_BITS), Const(0), Const(0)
    writable, lockable = Const(0), Const(0)
    for word in EVERY_ACCESS.words():
        allowed = strobe.all() & ~(u.lock & word.register.lockable)
        writes = Signal(name=f"writes_{word.address}")
        hit = address == word.address
        m.d.comb += writes.eq(take & hit & allowed & word.register.writable)
        value = _model(c, u, word, writes, data)
        here = reads == word.address
        found, known = Mux(here, value, found), known | here
        good = good | writes
        writable = writable | (hit & word.register.writable)
        lockable = lockable | (hit & word.register.lockable)
    c.check("bad_address", u.bad_address == ((take & ~writable) | (shown & ~known)))
    c.check("bad_strobe", u.bad_strobe == (take & ~strobe.all()))
    c.check("bad_lock", u.bad_lock == (take & u.lock & lockable))
    wanted, right, wrote = Signal(WORD_BITS), Signal(), Signal()
    with m.If(shown):
        m.d.sync += [wanted.eq(found), right.eq(known)]
    with m.If(take):
        m.d.sync += wrote.eq(good)
    with m.If(u.s_axil_rvalid):
        c.check("read", u.s_axil_rdata == wanted)
        c.check("read_response", u.s_axil_rresp == Mux(right, OKAY, SLVERR))
    with m.If(u.s_axil_bvalid):
        c.check("write_response", u.s_axil_bresp == Mux(wrote, OKAY, SLVERR))
    c.cover("read_of_written", u.s_axil_rvalid & (u.s_axil_rdata == Cat(Const(3, 30), Const(2, 2))))
    c.cover("refused", u.s_axil_bvalid & ~wrote)
