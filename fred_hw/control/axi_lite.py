"""AXI4-Lite slave of a register map."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from fred_hw.checks import check_kind
from fred_hw.gates.select import any_of, gated
from fred_hw.gates.wire import wire
from fred_hw.member import member, members
from fred_hw.unit import Unit

from .registers import WORD_BITS, WORD_BYTES, Field, Register, RegisterMap, Word

__all__ = ["OKAY", "PREFIX", "SLVERR", "AxiLiteRegisters", "axi_lite_members", "pass_axi_lite"]

OKAY, SLVERR = 0b00, 0b10
"""Responses of AXI (AMBA AXI and ACE, ARM IHI 0022E, A3.4.4)."""

PREFIX = "s_axil_"

_READS_PER_GROUP = 8


def axi_lite_members(address_bits: int) -> dict[str, Member]:
    """Return the ports of a slave by name; ``awprot`` and ``arprot`` have no effect."""
    return {
        PREFIX + name: member
        for name, member in {
            "awaddr": In(address_bits),
            "awprot": In(3),
            "awvalid": In(1),
            "awready": Out(1),
            "wdata": In(WORD_BITS),
            "wstrb": In(WORD_BYTES),
            "wvalid": In(1),
            "wready": Out(1),
            "bresp": Out(2),
            "bvalid": Out(1),
            "bready": In(1),
            "araddr": In(address_bits),
            "arprot": In(3),
            "arvalid": In(1),
            "arready": Out(1),
            "rdata": Out(WORD_BITS),
            "rresp": Out(2),
            "rvalid": Out(1),
            "rready": In(1),
        }.items()
    }


def pass_axi_lite(m: Module, outer: Unit, inner: Unit) -> None:
    """Connect the slave of a unit to that of a unit inside it."""
    for path, entry, value in inner.signature.flatten(inner):
        name = str(path[0])
        if name.startswith(PREFIX):
            own = getattr(outer, name)
            m.d.comb += value.eq(own) if entry.flow == In else own.eq(value)


class AxiLiteRegisters(Unit):
    """Answer reads and writes of the registers of a map.

    Write address and write data may arrive in either order. A read outside of all registers, or at
    an address that is not a multiple of 4, returns 0. A write to such an address, to a read-only or
    locked register, or of fewer than all four bytes changes nothing. All these are answered by
    SLVERR, all others by OKAY.

    Parameters
    ----------
    registers : RegisterMap
        The registers.

    Timing
    ------
    Latency : 2 cycles from the later of write address and data to ``bvalid``, and what is written
        shows in the same cycle, but a ``pulse`` in the one before; 2 cycles from ``arvalid`` to
        ``rvalid``, with the values of the cycle before.
    Throughput : a write and a read per 2 cycles.
    Paths : ``lock`` to ``bad_lock`` and ``pulse`` members; ``_clear`` to ``_kept``.
    Reset : forgets requests and answers; every field but a constant takes its ``value``.

    Raises
    ------
    TypeError
        ``registers`` is no map.
    ValueError
        Two members would have one name.
    """

    s_axil = members(lambda u: axi_lite_members(u.registers.address_bits))
    """The slave, see ``axi_lite_members``."""
    lock = member(In, 1)
    """Refuse writes to the registers that are ``lockable``."""
    bad_address = member(Out, 1)
    """High for a cycle for an access that is refused because of its address."""
    bad_strobe = member(Out, 1)
    """High for a cycle for an access that is refused because of its write strobe, which may be
    wrong together with the address."""
    bad_lock = member(Out, 1)
    """High for a cycle for an access that is refused because of the lock. Its address or
    strobe may be wrong as well."""
    fields = members(lambda u: _members(u.registers))
    """Members of each field, named ``<register>_<field>`` in lower case.

    By access: none for ``constant``; the value read for ``ro``; the value written for ``rw``; the
    bits for ``w1c``; for ``pulse`` the value written in a cycle, else 0. The member of an array
    holds all words, the first lowest. Fields of ``w1c`` also have ``_set``, bits to set, and
    ``_clear``, whether to clear all; a bit that is set and cleared is set. ``_kept`` has their bits
    that are 1 and not cleared in this cycle. ``_load`` loads ``_next`` into an ``rw`` field that
    ``loads``; this takes precedence over a write.
    """

    def __init__(self, *, registers: RegisterMap) -> None:
        self.registers = check_kind("AxiLiteRegisters registers", registers, RegisterMap)
        self.unit_name = f"axi_lite_registers_{registers.name}"
        super().__init__()

    def build(self, m: Module) -> None:
        bad_write = Signal()
        bad_read = Signal()
        self._write(m, bad_write)
        self._read(m, bad_read)
        m.d.comb += self.bad_address.eq(bad_write | bad_read)

    def _port(self, name: str) -> Signal:
        return getattr(self, PREFIX + name)

    def _hits(self, m: Module, name: str, address: Value, words: list[Word]) -> list[Value]:
        """Return, for each word, whether it is addressed."""
        hits = wire(m, name, Cat(address == word.address for word in words))
        return [hits[number] for number in range(len(words))]

    def _write(self, m: Module, bad_address: Signal) -> None:
        """Keep address and data until both have arrived and the previous response is accepted."""
        address = Signal(self.registers.address_bits, reset_less=True)
        data = Signal(WORD_BITS, name="data", reset_less=True)
        strobe = Signal(WORD_BYTES, reset_less=True)
        has_address = Signal()
        has_data = Signal()
        take = Signal()
        bvalid, bresp = self._port("bvalid"), self._port("bresp")
        m.d.comb += [
            self._port("awready").eq(~has_address),
            self._port("wready").eq(~has_data),
            take.eq(has_address & has_data & ~bvalid),
        ]
        with m.If(self._port("awvalid") & ~has_address):
            m.d.sync += [has_address.eq(1), address.eq(self._port("awaddr"))]
        with m.If(self._port("wvalid") & ~has_data):
            m.d.sync += [
                has_data.eq(1),
                data.eq(self._port("wdata")),
                strobe.eq(self._port("wstrb")),
            ]
        words = [word for word in self.registers.words() if word.register.writable]
        hits = self._hits(m, "write_hits", address, words)
        locked = [hit for hit, word in zip(hits, words, strict=True) if word.register.lockable] or [
            Signal()
        ]
        good = Signal()
        m.d.comb += [
            bad_address.eq(take & ~Cat(hits).any()),
            self.bad_strobe.eq(take & ~strobe.all()),
            self.bad_lock.eq(take & self.lock & Cat(locked).any()),
            good.eq(take & ~bad_address & ~self.bad_strobe & ~self.bad_lock),
        ]
        with m.If(take):
            m.d.sync += [has_address.eq(0), has_data.eq(0), bvalid.eq(1)]
            m.d.sync += bresp.eq(Cat(Const(0, 1), ~good))
        with m.Elif(self._port("bready")):
            m.d.sync += bvalid.eq(0)
        for hit, word in zip(hits, words, strict=True):
            here = Signal(name=f"write_{word.register.name.lower()}_{word.index}")
            m.d.comb += here.eq(good & hit)
            for field in word.register.fields:
                self._write_field(m, here, data, word, field)

    def _write_field(self, m: Module, here: Signal, data: Value, word: Word, field: Field) -> None:
        """Update a field according to its access type when its word is written."""
        member, bits = self._member(word, field)
        written = data[field.low : field.low + len(bits)]
        if field.access == "rw":
            with m.If(here):
                m.d.sync += bits.eq(written)
            if field.loads:
                with m.If(getattr(self, f"{member}_load")):
                    m.d.sync += bits.eq(self._slice(f"{member}_next", word, field))
        elif field.access == "w1c":
            cleared = written & here.replicate(len(bits))
            everything = getattr(self, f"{member}_clear").replicate(len(bits))
            came = self._slice(f"{member}_set", word, field)
            kept = self._slice(f"{member}_kept", word, field)
            m.d.comb += kept.eq(bits & ~cleared & ~everything)
            m.d.sync += bits.eq(kept | came)
        elif field.access == "pulse":
            m.d.comb += bits.eq(written & here.replicate(len(bits)))

    def _read(self, m: Module, bad_address: Signal) -> None:
        """Keep an address, then the response until it is accepted."""
        address = Signal(self.registers.address_bits, name="read_address", reset_less=True)
        has_address = Signal(name="has_read")
        take = Signal(name="read_take")
        found = Signal()
        rvalid = self._port("rvalid")
        words = list(self.registers.words())
        hits = self._hits(m, "read_hits", address, words)
        m.d.comb += [
            self._port("arready").eq(~has_address),
            take.eq(has_address & ~rvalid),
            found.eq(Cat(hits).any()),
            bad_address.eq(take & ~found),
        ]
        with m.If(self._port("arvalid") & ~has_address):
            m.d.sync += [has_address.eq(1), address.eq(self._port("araddr"))]
        with m.If(take):
            m.d.sync += [
                has_address.eq(0),
                rvalid.eq(1),
                self._port("rdata").eq(self._read_data(m, hits, words)),
                self._port("rresp").eq(Cat(Const(0, 1), ~found)),
            ]
        with m.Elif(self._port("rready")):
            m.d.sync += rvalid.eq(0)

    def _read_data(self, m: Module, hits: list[Value], words: list[Word]) -> Value:
        """Return the addressed word, or 0, as a tree of AND and OR gates.

        One large expression would take the converter long.
        """
        pairs, groups = list(zip(words, hits, strict=True)), []
        for first in range(0, len(words), _READS_PER_GROUP):
            group = Signal(WORD_BITS, name=f"read_{first}")
            chosen = pairs[first : first + _READS_PER_GROUP]
            m.d.comb += group.eq(any_of(gated(self._read_word(word), hit) for word, hit in chosen))
            groups.append(group)
        return any_of(groups)

    def _read_word(self, word: Word) -> Value:
        """Return the value of a word when read."""
        parts: list[Value] = []
        for field in sorted(word.register.fields, key=lambda field: field.low):
            if (bits := self._read_bits(word, field)) is not None:
                parts += [Const(0, field.low - len(Cat(parts))), bits]
        return Cat(parts)

    def _read_bits(self, word: Word, field: Field) -> Value | None:
        """Return the value of a field when read; None if it is always 0."""
        if field.access == "constant":
            return Const(field.value, field.width)
        return None if field.access == "pulse" else self._member(word, field)[1]

    def _member(self, word: Word, field: Field) -> tuple[str, Value]:
        """Return the member of a field, and its bits in one word."""
        name = _member_name(word.register, field)
        return name, self._slice(name, word, field)

    def _slice(self, member: str, word: Word, field: Field) -> Value:
        low = field.width * word.index
        return getattr(self, member)[low : low + word.register.width(field, word.index)]


def _member_name(register: Register, field: Field) -> str:
    return f"{register.name}_{field.name}".lower()


def _members(registers: RegisterMap) -> dict[str, Member]:
    """Return the members of all fields.

    Raises
    ------
    ValueError
        Two members would have one name.
    """
    members: dict[str, Member] = {}
    for register in registers.registers:
        for field in register.fields:
            more = _field_members(register, field)
            if taken := sorted(members.keys() & more.keys()):
                raise ValueError(
                    f"members of {register.name} must have names that are not in use, not {taken}"
                )
            members |= more
    return members


def _field_members(register: Register, field: Field) -> dict[str, Member]:
    """Return the members of a field of a register."""
    name = _member_name(register, field)
    width = register.total_bits or field.width * register.words
    if field.access == "constant":
        return {}
    if field.access == "ro":
        return {name: In(width)}
    if field.access == "w1c":
        return {
            name: Out(width),
            f"{name}_set": In(width),
            f"{name}_clear": In(1),
            f"{name}_kept": Out(width),
        }
    if field.access == "pulse":
        return {name: Out(width)}
    start = sum(field.value << (field.width * index) for index in range(register.words))
    members: dict[str, Member] = {name: Out(width, init=start & ((1 << width) - 1))}
    if field.loads:
        members |= {f"{name}_load": In(1), f"{name}_next": In(width)}
    return members
