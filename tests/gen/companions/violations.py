"""Stimuli of the assertions: one legal run, and violations of each rule."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.control.registers import RegisterMap
from fred_hw.control.switch_map import switch_map
from fred_hw.protocol import CONTROL, Kind
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Flit, FlitCodec

__all__ = ["Cycles", "legal", "violations"]

Cycles = Sequence[Mapping[str, int]]
"""Pins of each cycle that are not 0."""

_SESSION = 3


class _Link:
    """Flits on the pins of a link.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes of the link.
    port : str
        Number of the port, empty for an endpoint.
    """

    def __init__(self, spec: SwitchSpec, port: str) -> None:
        self.spec, self.codec, self._port = spec, FlitCodec(spec), port

    def _pins(self, side: str, flit: Flit) -> dict[str, int]:
        values = {"tdata": flit.data, "tuser": flit.user, "tlast": int(flit.last)}
        values |= {"tvalid": 1, "tready": 1}
        used = values if side == "s" else ("tvalid", "tready", "tuser")
        return {f"{side}{self._port}_axis_{name}": values[name] for name in used}

    def put(self, flit: Flit) -> dict[str, int]:
        """Return the pins of a cycle in which the neighbour sends a flit."""
        return self._pins("s", flit)

    def data(self, **fields: int) -> Flit:
        """Return a data flit of the first packet."""
        return self.codec.pack(fields.pop("payload", 7), **{"phase": 1, "last": 1} | fields)

    def control(self, kind: Kind, payload: int = 0, **fields: int) -> Flit:
        """Return a control flit."""
        return self.codec.pack(payload, **{"kind": kind, "circuit": CONTROL} | fields)

    def handshake(self, **fields: int) -> dict[str, int]:
        """Return the pins of a handshake of the neighbour."""
        return self.put(self.codec.handshake(session_id=_SESSION, **fields))

    def answered(self) -> list[dict[str, int]]:
        """Return a handshake and its answer."""
        known = self.codec.handshake(session_id=5, peer_session_id=_SESSION, peer_known=1)
        return [self.handshake(), self._pins("m", known)]

    def limit(self, circuit: int, limit: int) -> dict[str, int]:
        """Return the pins of a credit for the neighbour."""
        credit = self.control(Kind.CREDIT, credit_circuit=circuit, credit_limit=limit)
        return self._pins("m", credit)

    def up(self) -> list[dict[str, int]]:
        """Return the start of a session, with space for 20 flits on each virtual channel."""
        return [
            *self.answered(),
            *(self.limit(circuit, 20) for circuit in range(len(self.spec.protocol.buffers))),
        ]


def _link_violations(link: _Link) -> dict[str, list[Cycles]]:
    """Return violations of the rules of a link, by assertion."""
    up, put, data, control = link.up(), link.put, link.data, link.control
    protocol = link.spec.protocol
    ack = control(Kind.ACK, phase=1)
    flit = data(last=0)
    return {
        "link_circuit": [
            [*up, put(control(Kind.ACK, circuit=1))],
            [*up, put(data(circuit=len(protocol.buffers), last=0))],
        ],
        "link_credit_circuit": [
            [*up, put(control(Kind.CREDIT, credit_circuit=len(protocol.buffers)))]
        ],
        "link_unused_bits": [
            [*up, put(control(Kind.ACK, index=1))],
            [*up, put(control(Kind.CREDIT, sequence=1))],
        ],
        "link_control_data": [[*up, put(control(Kind.ACK, payload=1))]],
        "link_tlast": [[*up, put(replace(ack, last=False))], [*up, put(replace(flit, last=False))]],
        "link_index": [[*up, put(data(last=protocol.packet_flits))]],
        "link_digest": [[*up, link.handshake(digest=link.spec.digest ^ 1)]],
        "link_kind": [[*up, put(link.codec.pack(kind=7, circuit=CONTROL))]],
        "link_phase": [
            [*up, put(data(phase=protocol.phases, last=0))],
            [*up, put(control(Kind.ASK, phase=protocol.phases))],
        ],
        "link_handshake": [[put(ack)], [link.handshake(), put(ack)]],
        "link_credits": [
            [*link.answered(), put(flit)],
            [*link.answered(), link.limit(0, 1), put(data(last=1)), put(data(index=1))],
        ],
        "link_crc": [[*up, put(replace(ack, crc=ack.crc ^ 1))]],
        "link_packet": [
            [*up, put(data(last=3)), put(data(index=2, last=3))],
            [*up, put(data()), put(data(index=1, sequence=1))],
        ],
        "link_packet_start": [[*up, put(data(index=1))]],
        "link_numbers": [
            [*up, put(data(last=0, link_sequence=1))],
            [*up, put(flit), put(data(last=0, sequence=1))],
            [*up, put(flit), put(control(Kind.SYNC, circuit=0))],
        ],
    }


def _write(address: int, value: int, response: int = 0) -> list[dict[str, int]]:
    """Return a write, address first, and its response after two cycles."""
    aw = {"s_axil_awvalid": 1, "s_axil_awaddr": address}
    w = {"s_axil_wvalid": 1, "s_axil_wdata": value, "s_axil_wstrb": 15}
    b = {"s_axil_bvalid": 1, "s_axil_bresp": response}
    return [aw, {**aw, "s_axil_awready": 1}, {**w, "s_axil_wready": 1}, {}, b, b, {}]


def _read(address: int, value: int) -> list[dict[str, int]]:
    """Return a read and its response."""
    ar = {"s_axil_arvalid": 1, "s_axil_araddr": address}
    return [ar, {**ar, "s_axil_arready": 1}, {}, {"s_axil_rvalid": 1, "s_axil_rdata": value}, {}]


def _bus_violations(registers: RegisterMap) -> dict[str, list[Cycles]]:
    """Return violations of the rules of registers, by assertion."""
    command = registers.register("COMMAND").address
    aw = {"s_axil_awvalid": 1, "s_axil_awaddr": command}
    w = {"s_axil_wvalid": 1, "s_axil_wdata": 1, "s_axil_wstrb": 15}
    ar = {"s_axil_arvalid": 1}
    return {
        "axil_aw_stable": [[aw, {}], [aw, {**aw, "s_axil_awaddr": 0x14}]],
        "axil_w_stable": [[w, {}], [w, {**w, "s_axil_wdata": 2}]],
        "axil_ar_stable": [[ar, {}], [ar, {**ar, "s_axil_araddr": 4}]],
        "axil_write_register": [
            [{**aw, "s_axil_awready": 1, "s_axil_awaddr": one}] for one in (0, 0x15, 0xFFC)
        ],
        "axil_write_whole": [[{**w, "s_axil_wready": 1, "s_axil_wstrb": 7}]],
        "axil_read_register": [
            [{**ar, "s_axil_arready": 1, "s_axil_araddr": one}] for one in (2, 0xFFC)
        ],
        "axil_write_unlocked": [_write(command, 1, response=2)],
        "session_id_constant": [[{}, {"session_id": 1}]],
    }


def _switch_violations(spec: SwitchSpec) -> dict[str, list[Cycles]]:
    registers = switch_map(spec)
    phase, status = (registers.register(n).address for n in ("PHASE", "COMMAND_STATUS"))
    return {
        "phase_exists": [_write(phase, spec.protocol.phases)],
        "command_accepted": [_read(status, 2)],
    }


def _endpoint_violations(spec: SwitchSpec) -> dict[str, list[Cycles]]:
    registers = endpoint_map(spec)
    error = registers.register("ERROR")
    names = ("operation", "alignment", "flow", "size", "full", "schedule")
    refused = [_read(error.address, error.field(one).mask) for one in names]
    found: dict[str, list[Cycles]] = {"descriptor_accepted": [*refused]}
    for stream, asked in (
        ("s_axis_data", "m_axis_read"),
        ("s_axis_operand_data", "m_axis_operand_read"),
    ):
        ask = {f"{asked}_tvalid": 1, f"{asked}_tready": 1}
        flit = {f"{stream}_tvalid": 1, f"{stream}_tdata": 1}
        taken = {**flit, f"{stream}_tready": 1}
        found[f"{stream}_stable"] = [[ask, flit, {}], [ask, flit, {**taken, f"{stream}_tdata": 2}]]
        found[f"{stream}_requested"] = [[ask, taken, taken]]
    return found


def violations(level: str, spec: SwitchSpec) -> dict[str, list[Cycles]]:
    """Return stimuli that break one rule each, by the name of its assertion."""
    switch = level == "switch"
    return {
        **_link_violations(_Link(spec, "0" if switch else "")),
        **_bus_violations(switch_map(spec) if switch else endpoint_map(spec)),
        **(_switch_violations(spec) if switch else _endpoint_violations(spec)),
    }


def legal(level: str, spec: SwitchSpec) -> Cycles:
    """Return a run that keeps all rules: a session, packets, control flits, and registers."""
    link = _Link(spec, "0" if level == "switch" else "")
    registers = switch_map(spec) if level == "switch" else endpoint_map(spec)
    ack, end = link.control(Kind.ACK, phase=1), link.data(index=1, link_sequence=2, sequence=1)
    flits = [
        link.data(),
        ack,
        link.data(index=1),
        link.data(link_sequence=2, sequence=1),
        # A switch ends a broken packet so, and the next flit has the next number.
        replace(end, crc=end.crc ^ 0xFFFF_FFFF),
        link.control(Kind.SYNC, circuit=0, link_sequence=4),
        link.control(Kind.NACK, unicast=1, destination=100, source=2, sequence=1),
        link.control(Kind.CREDIT, credit_circuit=2, credit_limit=9),
    ]
    first = registers.register("ID").address
    command, error = (registers.register(name).address for name in ("COMMAND", "ERROR"))
    bus = [*_write(command, 1), *_read(first, 1), *_read(error, 0)]
    return [*link.up(), *map(link.put, flits), *link.answered(), link.put(ack), *bus]
