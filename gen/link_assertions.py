"""Assertions on a link: the flits of a neighbour keep docs/reference/protocol.md."""

from fred_hw.link.axis import USER_BITS
from fred_hw.link.crc import crc_masks
from fred_hw.link.crowding import CROWDING_BITS, CROWDING_PLACES
from fred_hw.protocol import (
    CONTROL,
    CRC_BITS,
    HANDSHAKE_FIELDS,
    HEADER_BITS,
    HEADER_FIELDS,
    PROTOCOL_VERSION,
    Kind,
)
from fred_hw.spec import SwitchSpec

from .assertion import Assertion, assertion_module
from .ports import Port

__all__ = ["link_module", "observed_ports"]

_FLOW = {0: ("phase", "generation"), 1: ("destination", "source")}
"""Fields that name a flow, by ``unicast``."""

_FIELDS: dict[Kind, tuple[str, ...]] = {
    Kind.DATA: ("unicast", "sequence", "index", "last", "link_sequence"),
    Kind.ACK: ("unicast", "sequence"),
    Kind.NACK: ("unicast", "sequence"),
    Kind.CREDIT: (),
    Kind.SYNC: ("link_sequence",),
    Kind.ASK: ("unicast",),
    Kind.HANDSHAKE: HANDSHAKE_FIELDS,
}
"""Fields of each kind of flit in addition to those of all kinds."""

_ALL_FLITS = ("version", "kind", "circuit", "credit_circuit", "credit_limit")
_OF_FLOWS = (Kind.DATA, Kind.ACK, Kind.NACK, Kind.ASK)

_CONTROL = f"{HEADER_FIELDS['circuit'].bits}'d{CONTROL}"
_INDEXED = (1 << HEADER_FIELDS["circuit"].bits - 1) + 1
"""Entries of an array over buffers: as many as an index of ``circuit`` needs."""
_LINK_SEQUENCE_HIGH = HEADER_FIELDS["link_sequence"].bits - 1


def observed_ports(data_width: int) -> list[Port]:
    """Return the ports of a module that observes a link."""
    return [
        ("clk", "input", 1),
        ("rst", "input", 1),
        ("s_tdata", "input", data_width),
        ("s_tvalid", "input", 1),
        ("s_tready", "input", 1),
        ("s_tlast", "input", 1),
        ("s_tuser", "input", USER_BITS),
        ("m_tvalid", "input", 1),
        ("m_tready", "input", 1),
        ("m_tuser", "input", USER_BITS),
    ]


def link_module(name: str, spec: SwitchSpec) -> str:
    """Return a module that checks the neighbour on one link.

    Parameters
    ----------
    name : str
        Name of the module.
    spec : SwitchSpec
        Sizes of the link.
    """
    body = [
        *_fields(spec),
        *_crc(spec.data_width),
        *_allowed(spec),
        *_session(),
        *_strict(),
    ]
    rules = [*_flit_rules(spec), *_link_rules(), *_strict_rules()]
    return assertion_module(name, observed_ports(spec.data_width), body, rules)


def _bits(field: str, side: str = "s") -> str:
    low, bits = HEADER_FIELDS[field]
    return f"{side}_tuser[{low + bits - 1}:{low}]" if bits > 1 else f"{side}_tuser[{low}]"


def _wire(field: str, side: str = "s") -> str:
    bits = HEADER_FIELDS[field].bits
    prefix = "" if side == "s" else "m_"
    size = f"[{bits - 1}:0] " if bits > 1 else ""
    return f"  wire {size}{prefix}{field} = {_bits(field, side)};"


def _fields(spec: SwitchSpec) -> list[str]:
    here = (
        *("kind", "circuit", "unicast", "phase", "index", "last", "link_sequence"),
        *("credit_circuit", "session_id", "digest"),
    )
    buffers = f"{HEADER_FIELDS['circuit'].bits}'d{len(spec.protocol.buffers)}"
    there = ("kind", "credit_circuit", "credit_limit", "peer_session_id", "peer_known")
    return [
        *(_wire(field) for field in here),
        *(_wire(field, "m") for field in there),
        f"  wire has_buffer = circuit < {buffers};",
        f"  wire credit_has_buffer = credit_circuit < {buffers};",
        f"  wire is_data = kind == 3'd{Kind.DATA};",
        f"  wire numbered = is_data || kind == 3'd{Kind.SYNC};",
        f"  wire is_handshake = kind == 3'd{Kind.HANDSHAKE};",
        "  wire sent = m_tvalid && m_tready;",
    ]


def _crc(data_width: int) -> list[str]:
    """Return declarations of the CRC: bit by bit the parity of some bits of the flit."""
    bits = HEADER_BITS + data_width
    masks, zero = crc_masks(bits)
    return [
        f"  wire [{bits - 1}:0] word = {{s_tdata, s_tuser[{HEADER_BITS - 1}:0]}};",
        f"  wire [{CRC_BITS - 1}:0] crc = s_tuser[{USER_BITS - 1}:{HEADER_BITS}];",
        f"  wire [{CRC_BITS - 1}:0] right_crc;",
        *(
            f"  assign right_crc[{k}] = ^(word & {bits}'h{mask:x}) ^ 1'b{zero >> k & 1};"
            for k, mask in enumerate(masks)
        ),
        "  wire came = s_tvalid && s_tready;",
        "  // Other flits are ignored: a link may change and lose flits.",
        f"  wire good = came && crc == right_crc && {_bits('version')} == 2'd{PROTOCOL_VERSION};",
    ]


def _mask(spec: SwitchSpec, kind: Kind, unicast: int) -> int:
    """Return the header bits that a flit of a kind may set."""
    names = (*_ALL_FLITS, *_FIELDS[kind], *(_FLOW[unicast] if kind in _OF_FLOWS else ()))
    taken = [tuple(HEADER_FIELDS[name]) for name in names]
    if spec.protocol.routes is not None:
        if kind is Kind.DATA:
            taken.append(HEADER_FIELDS["alternate"])
        if kind in (Kind.ACK, Kind.NACK, Kind.CREDIT):
            at = CROWDING_PLACES.values()
            taken += [(HEADER_FIELDS[field].low + low, CROWDING_BITS) for field, low in at]
    mask = 0
    for low, bits in taken:
        mask |= ((1 << bits) - 1) << low
    return mask


def _allowed(spec: SwitchSpec) -> list[str]:
    """Return the declaration of the header bits that a flit may set."""
    ones = (1 << HEADER_BITS) - 1
    lines = [f"  logic [{HEADER_BITS - 1}:0] allowed;", "  always_comb", "    case (kind)"]
    for kind in Kind:
        if kind in _OF_FLOWS:
            phase, unicast = (f"{HEADER_BITS}'h{_mask(spec, kind, one):x}" for one in (0, 1))
            value = f"unicast ? {unicast} : {phase}"
        else:
            value = f"{HEADER_BITS}'h{_mask(spec, kind, 0):x}"
        lines.append(f"      3'd{kind}: allowed = {value};")
    return [*lines, f"      default: allowed = {HEADER_BITS}'h{ones:x};", "    endcase"]


def _session() -> list[str]:
    """Return the state of the session: the neighbour's session ID, and the limits it was sent."""
    buffers, high = _INDEXED, _LINK_SEQUENCE_HIGH
    credited = f"m_credit_circuit != {_CONTROL}"
    return [
        "  // `known`: the neighbour has sent a handshake, with session ID `peer`.",
        "  // `met`: a handshake that answers it was sent, so flits belong to this session.",
        "  // `ever`: as `known`, but kept in resets; undefined before.",
        "  logic ever, known, met;",
        "  logic [7:0] peer;",
        f"  logic [{buffers - 1}:0] limited;",
        f"  logic [{high}:0] limit [{buffers}];",
        "  wire begins = good && is_handshake && !(known && session_id == peer);",
        "  always_ff @(posedge clk)",
        "    if (rst) begin",
        "      known <= 1'b0;",
        "      met <= 1'b0;",
        "      limited <= '0;",
        "    end else begin",
        "      if (sent && met",
        f"          && m_kind != 3'd{Kind.HANDSHAKE} && {credited}) begin",
        "        limited[m_credit_circuit] <= 1'b1;",
        "        limit[m_credit_circuit] <= m_credit_limit;",
        "      end",
        f"      if (sent && m_kind == 3'd{Kind.HANDSHAKE} && m_peer_known && known",
        "          && m_peer_session_id == peer) met <= 1'b1;",
        "      if (begins) begin",
        "        ever <= 1'b1;",
        "        known <= 1'b1;",
        "        peer <= session_id;",
        "        met <= 1'b0;",
        "        limited <= '0;",
        "      end",
        "    end",
        f"  wire [{high}:0] behind = link_sequence + {high + 1}'(last) + {high + 1}'d1;",
        f"  wire [{high}:0] space = limit[circuit] - behind;",
    ]


def _flit_rules(spec: SwitchSpec) -> list[Assertion]:
    """Return the rules of each flit on its own."""
    protocol = spec.protocol
    most = protocol.packet_flits
    shorter = f" && last < 4'd{most}" if most < 1 << HEADER_FIELDS["last"].bits else ""
    flows = " || ".join(f"kind == 3'd{kind}" for kind in _OF_FLOWS[1:])
    rules = [
        Assertion(
            "link_circuit",
            f"good |-> (numbered ? has_buffer : circuit == {_CONTROL})",
            "data and sync must have a virtual channel of data, all others the control channel",
        ),
        Assertion(
            "link_credit_circuit",
            f"good |-> credit_has_buffer || credit_circuit == {_CONTROL}",
            f"credit_circuit must be a virtual channel of data, or {CONTROL} for none",
        ),
        Assertion(
            "link_unused_bits",
            f"good |-> (s_tuser[{HEADER_BITS - 1}:0] & ~allowed) == '0",
            "header bits that the kind of flit does not use must be 0",
        ),
        Assertion(
            "link_control_data",
            "good && !is_data |-> s_tdata == '0",
            "tdata of control flits must be 0",
        ),
        Assertion(
            "link_tlast",
            "good |-> s_tlast == (!is_data || index == last)",
            "tlast must be high in control flits and where index is last",
        ),
        Assertion(
            "link_index",
            f"good && is_data |-> index <= last{shorter}",
            f"index must be at most last, and last less than {protocol.packet_flits}",
        ),
        Assertion(
            "link_kind",
            f"good |-> kind < 3'd{len(Kind)}",
            f"kind must be less than {len(Kind)}",
        ),
        Assertion(
            "link_digest",
            f"good && is_handshake |-> digest == 20'h{spec.digest:x}",
            "the neighbour must be generated with the same sizes of links",
        ),
    ]
    if protocol.phases < 1 << HEADER_FIELDS["phase"].bits:
        rule = f"good && !unicast && (is_data || {flows}) |-> phase < 6'd{protocol.phases}"
        text = f"phase must be less than {protocol.phases}"
        rules.append(Assertion("link_phase", rule, text))
    return rules


def _link_rules() -> list[Assertion]:
    """Return the rules of handshake and credits, which hold whatever a link loses."""
    return [
        Assertion(
            "link_handshake",
            "good && !is_handshake |-> met || (ever === 1'b1 && !known)",
            "flits other than handshakes must wait until the handshake is answered",
        ),
        Assertion(
            "link_credits",
            "good && is_data && met && has_buffer "
            f"|-> limited[circuit] && !space[{_LINK_SEQUENCE_HIGH}]",
            "a packet must wait until all its flits are below the credit limit",
        ),
    ]


def _strict() -> list[str]:
    """Return the state of an error-free link: the packet under way and the next numbers."""
    varies = 0
    for name in ("index", "credit_circuit", "credit_limit"):
        varies |= ((1 << HEADER_FIELDS[name].bits) - 1) << HEADER_FIELDS[name].low
    fixed = ((1 << HEADER_BITS) - 1) & ~varies
    bits, high = f"{HEADER_BITS - 1}:0", _LINK_SEQUENCE_HIGH
    return [
        "`ifdef FRED_ERROR_FREE_LINKS",
        "  // A switch ends a packet that it cannot complete with an inverted CRC.",
        "  wire broken = came && s_tlast && is_data && crc == ~right_crc;",
        "  logic open;",
        "  logic [3:0] latest;",
        f"  logic [{bits}] first;",
        f"  logic [{high}:0] following [{_INDEXED}];",
        "  // Outside of the property, since old versions of Verilator read no arrays there.",
        f"  wire [{high}:0] due = following[circuit];",
        f"  wire same = ((s_tuser[{bits}] ^ first) & {HEADER_BITS}'h{fixed:x}) == '0;",
        "  always_ff @(posedge clk)",
        "    if (rst || begins) begin",
        "      open <= 1'b0;",
        "      following <= '{default: '0};",
        "    end else if (came && is_data) begin",
        "      open <= !s_tlast;",
        "      latest <= index;",
        f"      if (!open) first <= s_tuser[{bits}];",
        "      if (!open) following[circuit] <= behind;",
        "    end",
        "`endif",
    ]


def _strict_rules() -> list[Assertion]:
    """Return the rules of links that lose and change nothing."""
    return [
        Assertion(
            "link_crc",
            "came |-> crc == right_crc || broken",
            "tuser must hold the CRC of header and data",
            error_free=True,
        ),
        Assertion(
            "link_packet",
            "good && is_data && open |-> same && index == latest + 4'd1",
            "the flits of a packet must follow each other with one header",
            error_free=True,
        ),
        Assertion(
            "link_packet_start",
            "good && is_data && !open |-> index == 4'd0",
            "a packet must start with index 0",
            error_free=True,
        ),
        Assertion(
            "link_numbers",
            "good && numbered && met && !(is_data && open) |-> link_sequence == due",
            "link sequence numbers must count the flits of the virtual channel",
            error_free=True,
        ),
    ]
