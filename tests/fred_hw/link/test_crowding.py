"""Contract of what links carry where sources choose routes: see fred_hw.link.crowding."""

from typing import Any

import pytest
from amaranth.hdl import Signal

from fred_hw.link.crowding import CROWDING_BITS, CROWDING_PLACES
from fred_hw.link.deframer import Deframer
from fred_hw.link.framer import Framer
from fred_hw.link.header import header_layout
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CONTROL, Kind
from testbench.models.endpoint import Flit, FlitCodec
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import FRAMED, LINK, framed_flit, link_flit

MESH = MeshSpec(width=2, height=2, lanes=1, routing="odd_even_adaptive")
SPEC, CODEC = MESH.link, FlitCodec(MESH.link)
COUNTS = dict(zip(CROWDING_PLACES, (9, 3, 14, 5), strict=True))
TOLD = {"index": 9, "last": 3, "link_sequence": 14 | 5 << CROWDING_BITS}
ENDS = {"unicast": 1, "destination": 3, "source": 1}


def framed(**inputs: int) -> dict[str, int]:
    """Return the fields of the flit that a framer shows."""
    most = SPEC.protocol.buffer_flits
    rest = {f"crowding.{name}": count for name, count in COUNTS.items()}
    rest |= {"o.ready": 1, **{f"here.limit[{k}]": most for k in range(3)}}
    [seen] = trace(Framer(spec=SPEC), [inputs], FRAMED, **rest)
    flit = framed_flit(seen)
    assert CODEC.is_good(flit)
    return CODEC.unpack(flit)


def said(kind: Kind) -> dict[str, int]:
    about = {"kind": int(kind), "phase": SPEC.protocol.online, "destination": 3, "source": 1}
    return {"message.valid": 1, **{f"message.payload.{k}": v for k, v in about.items()}}


@pytest.mark.parametrize("kind", [Kind.ACK, Kind.NACK])
def test_messages_tell_how_crowded_ways_are(kind: Kind) -> None:
    fields = framed(**said(kind))
    assert fields["kind"] == kind
    assert TOLD.items() <= fields.items()
    assert (fields["destination"], fields["source"]) == (3, 1)


@pytest.mark.parametrize("alternate", [0, 1])
def test_data_carries_its_route_and_nothing_else(alternate: int) -> None:
    known = {"phase": SPEC.protocol.online, "destination": 3, "source": 1, "length": 2}
    frame = {f"descriptor.{k}": v for k, v in known.items()} | {"link_sequence": 4, "index": 1}
    frame |= {"descriptor.alternate": alternate}
    given = {f"i.payload.frame.{k}": v for k, v in frame.items()}
    fields = framed(**given, **{"i.valid": 1, "i.payload.crc": CODEC.crc(0, 0)})
    assert (fields["kind"], fields["alternate"]) == (Kind.DATA, alternate)
    assert (fields["index"], fields["last"], fields["link_sequence"]) == (1, 2, 4)


def deframed(flits: list[Flit], watch: list[str], spec: Any = SPEC) -> list[Any]:
    ready = {f"o[{k}].ready": 1 for k in range(3)}
    return trace(Deframer(spec=spec), [*map(link_flit, flits), {}], watch, **ready)[1:]


def test_what_a_router_tells_is_seen_a_cycle_later_and_not_in_flits_that_tell_nothing() -> None:
    kinds = [Kind.ACK, Kind.CREDIT, Kind.NACK, Kind.SYNC]
    flits = [CODEC.pack(kind=kind, circuit=CONTROL, **TOLD) for kind in kinds]
    flits += [CODEC.pack(kind=Kind.DATA, circuit=0, alternate=k, **ENDS) for k in (0, 1)]
    names = [f"crowding.payload.{name}" for name in COUNTS]
    seen = deframed(flits, ["crowding.valid", *names])
    assert [one[0] for one in seen] == [1, 1, 1, 0, 0, 0]
    assert all(one[1:] == tuple(COUNTS.values()) for one in seen[:3])


def test_a_flit_that_is_damaged_tells_nothing() -> None:
    flit = CODEC.pack(kind=Kind.ACK, circuit=CONTROL, **TOLD)
    assert deframed([Flit(flit.header ^ 1 << 36, 0, flit.crc)], ["crowding.valid"]) == [0]


def test_a_packet_goes_one_way_with_all_its_flits() -> None:
    one, two = (
        [CODEC.pack(circuit=0, index=k, last=1, alternate=alternate, **ENDS) for k in range(2)]
        for alternate in (1, 0)
    )
    watch = ["o[0].valid", "o[0].word.descriptor.alternate", "dropped", "kind_error"]
    assert deframed(one, watch) == [(1, 1, 0, 0), (1, 1, 0, 0)]
    assert deframed([one[0], two[1]], watch) == [(1, 1, 0, 0), (0, 0, 1, 0)]


def test_the_bit_means_nothing_on_other_links() -> None:
    codec = FlitCodec(LINK)
    flits = [codec.pack(circuit=0, alternate=1, **ENDS)]
    assert deframed(flits, ["o[0].valid", "dropped", "kind_error"], LINK) == [(1, 0, 0)]


def test_ends_that_know_another_mesh_refuse_each_other() -> None:
    changes = [{}, {"routing": "xy"}, {"routing": "odd_even"}, {"height": 3}]
    digests = [MESH.with_changes(**one).link.digest for one in changes]
    assert digests[1] == digests[2]
    assert len(set(digests)) == 3


def test_places_are_free_in_messages() -> None:
    header = Signal(header_layout())
    for field, low in CROWDING_PLACES.values():
        assert low + CROWDING_BITS <= len(header[field])
        assert field not in ("sequence", "destination", "source", "credit_limit", "credit_circuit")
