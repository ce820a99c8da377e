"""Tests of fred_hw.mesh.program and fred_hw.mesh.collectives: what descriptors come to."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from fred_hw.ace.operations import Descriptor
from fred_hw.compiler.placement import Strategy
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.mesh.algorithms.hierarchical import RowsAndColumns
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.program import MeshProgram, compile_for_mesh
from fred_hw.mesh.spec import MeshSpec
from testbench.models.golden_mesh import carry_out, contributions

MESH = MeshSpec(width=5, height=4, lanes=1)
SLOTS = EndpointSpec(fsms=4, slots=8, chunk_flits=1024)  # in which messages fill a link
ALGORITHMS = ("ring", "bidirectional_ring", "hierarchical_2d_halves", "auto")


def compiled(
    strategy: str, flits: int = 128, algorithm: str = "auto", mesh: MeshSpec = MESH
) -> MeshProgram:
    return compile_for_mesh(mesh, Strategy.parse(strategy), 2 * flits, algorithm=algorithm)


def carried(made: MeshProgram, *names: str) -> list[np.ndarray]:
    """Return from whom each flit is in the memories after some phases, as bits of NPUs."""
    flits = 2 * len(made.phases) * made.size // 2
    before = [np.full(flits, 1 << npu, dtype=np.uint64) for npu in range(made.npus)]
    jobs = {
        npu: [one for n in names for one in made.descriptors(npu, made.phase(n))]
        for npu in range(made.npus)
    }
    return carry_out(jobs, before, 2, contributions)


def names_of(made: MeshProgram) -> tuple[str, ...]:
    return tuple(one.name for one in made.phases)


def received(made: MeshProgram, name: str, memory: np.ndarray) -> np.ndarray:
    """Return an NPU's flits in the buffer that it receives to."""
    _, buffer = made.buffers(made.phase(name))
    return memory[buffer.address // 2 : (buffer.address + buffer.size) // 2]


def bits(group: tuple[int, ...]) -> int:
    return sum(1 << npu for npu in group)


@pytest.mark.parametrize("flits", [1, 3, 20, 37, 128])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_reduce_adds_every_flit_of_each_once(algorithm: str, flits: int) -> None:
    made = compiled("MP20-DP1-PP1", flits, algorithm)
    everyone = bits(tuple(range(20)))
    for memory in carried(made, "mp_all_reduce"):
        assert (received(made, "mp_all_reduce", memory) == everyone).all()


@pytest.mark.parametrize("algorithm", ["ring", "auto"])
@pytest.mark.parametrize("strategy", ["MP2-DP5-PP2", "MP5-DP4-PP1", "MP3-DP3-PP2", "MP10-DP2-PP1"])
def test_groups_of_a_strategy_are_apart(strategy: str, algorithm: str) -> None:
    made = compiled(strategy, 29, algorithm)
    after = carried(made, *names_of(made))
    for phase in made.phases:
        if phase.pattern == "all_reduce":
            for group in phase.groups:
                for npu in group:
                    assert (received(made, phase.name, after[npu]) == bits(group)).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_gather_puts_together_what_reduce_scatter_leaves(algorithm: str) -> None:
    """Each NPU has a share of the sum, no flit two of them, and all-gathers bring it to all."""
    made = compiled("MP20-DP1-PP1-SP", 83, algorithm)
    after = carried(made, "sp_reduce_scatter")
    whole = bits(tuple(range(20)))
    shares = np.array([received(made, "sp_reduce_scatter", one) == whole for one in after])
    assert (shares.sum(axis=0) == 1).all()
    gathered = carried(made, "sp_all_gather")
    results = np.array([received(made, "sp_all_gather", one) for one in gathered])
    owners = np.array([1 << int(k) for k in shares.argmax(axis=0)], dtype=np.uint64)
    assert (results == owners).all()


def test_all_to_all_and_multicast_bring_each_its_part() -> None:
    made = compiled("MP1-DP10-PP2-EP5", 15)
    after = carried(made, *names_of(made))
    for group in made.phase("ep_all_to_all").groups:
        for npu in group:
            got = received(made, "ep_all_to_all", after[npu])
            assert got.tolist() == [1 << source for source in group for _ in range(3)]
    for group in made.phase("pp_forward").groups:
        for npu in group[1:]:
            assert (received(made, "pp_forward", after[npu]) == 1 << group[0]).all()


def test_multicasts_of_all_stages_at_once_come_to_an_end() -> None:
    made = compiled("MP3-DP1-PP5", 10)
    after = carried(made, *names_of(made))
    for name in ("pp_forward", "pp_backward"):
        assert len(made.phase(name).groups) == 4
        for source, *others in made.phase(name).groups:
            for npu in others:
                assert (received(made, name, after[npu]) == 1 << source).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("strategy", ["MP20-DP1-PP1", "MP20-DP1-PP1-SP"])
def test_no_flow_is_on_two_circuits(strategy: str, algorithm: str) -> None:
    """An endpoint keeps numbers by flow, so two circuits must not have the same one at a time."""
    made = compiled(strategy, 64, algorithm)
    for name in names_of(made):
        for npu in range(20):
            jobs = made.descriptors(npu, made.phase(name))
            for flow in ("send", "receive"):
                users: dict[int, set[str]] = {}
                for one in jobs:
                    users.setdefault(getattr(one, flow).number, set()).add(one.circuit)
                assert all(len(circuits) == 1 for circuits in users.values()), users


def test_rows_and_columns_have_one_order_where_messages_fill_a_link() -> None:
    """Four messages are 184 and 188 flits, and four round trips of a link 4 x 47."""
    for flits, circuits in ((920, ("mp", "pp")), (921, ("mp",))):
        made = compiled(
            "MP20-DP1-PP1", flits, "hierarchical_2d_halves", MESH.with_changes(endpoint=SLOTS)
        )
        assert made.phases[0].circuits == circuits
        jobs = made.descriptors(7, made.phases[0])
        assert [one.operation for one in jobs if one.circuit == "mp"] == [
            "reduce_scatter",
            "all_reduce",
            "all_gather",
        ]
    assert compiled("MP20-DP1-PP1", 1 << 20).phases[0].circuits == ("mp", "pp")


@pytest.mark.parametrize(("width", "height"), [(3, 4), (4, 3), (5, 2), (2, 5)])
def test_one_order_begins_with_the_longer_lines(width: int, height: int) -> None:
    mesh = MeshSpec(width=width, height=height, lanes=1, endpoint=SLOTS)
    made = compiled(f"MP{width * height}-DP1-PP1", 2000, "hierarchical_2d_halves", mesh)
    members = [one.ring.members for one in made.descriptors(0, made.phases[0]) if one.ring]
    longer, shorter = max(width, height), min(width, height)
    assert members == [longer, shorter, longer]
    everyone = bits(tuple(range(width * height)))
    for memory in carried(made, "mp_all_reduce"):
        assert (received(made, "mp_all_reduce", memory) == everyone).all()


def test_one_order_gathers_what_it_has_scattered() -> None:
    made = compiled(
        "MP20-DP1-PP1-SP", 1003, "hierarchical_2d_halves", MESH.with_changes(endpoint=SLOTS)
    )
    assert {len(one.circuits) for one in made.phases} == {1}
    whole = bits(tuple(range(20)))
    shares = np.array(
        [
            received(made, "sp_reduce_scatter", one) == whole
            for one in carried(made, "sp_reduce_scatter")
        ]
    )
    assert (shares.sum(axis=0) == 1).all()
    owners = np.array([1 << int(k) for k in shares.argmax(axis=0)], dtype=np.uint64)
    for memory in carried(made, "sp_all_gather"):
        assert (received(made, "sp_all_gather", memory) == owners).all()


def test_the_model_has_rows_and_columns_in_halves_alone() -> None:
    def is_modelled(mesh: MeshSpec, group: Sequence[int] = range(20)) -> bool:
        return RowsAndColumns().is_modelled(mesh, group)

    assert is_modelled(MESH)
    assert not is_modelled(MESH.with_changes(endpoint=SLOTS))
    assert not is_modelled(MESH.with_changes(endpoint={"read_ports": 2}))
    assert not is_modelled(MESH, (0, 1, 5, 6))
    assert not is_modelled(MESH, (0, 1, 2))


def test_ring_goes_from_neighbour_to_neighbour() -> None:
    made = compiled("MP20-DP1-PP1", algorithm="ring")
    (job,) = made.descriptors(0, made.phases[0])
    order = [0]
    while job.send is not None and job.send.number:
        order.append(job.send.number)
        (job,) = made.descriptors(order[-1], made.phases[0])
    assert sorted(order) == list(range(20))
    for a, b in pairwise((*order, 0)):
        assert abs(a % 5 - b % 5) + abs(a // 5 - b // 5) == 1


def test_busiest_links_worked_by_hand() -> None:
    """160 flits in blocks of 8: 19 go out, and come back; see ``rows_first_share`` for rows."""
    for algorithm, between in (
        ("ring", 304),
        ("bidirectional_ring", 152),
        ("hierarchical_2d_halves", 160),
    ):
        loads = compiled("MP20-DP1-PP1", 160, algorithm).link_flits("mp_all_reduce")
        local = DIRECTIONS.index("local")
        own = {link for link in loads if link.kind == "npu" or link.port == local}
        assert {loads[link] for link in own} == {2 * 19 * 8}
        assert max(loads[link] for link in loads.keys() - own) == between, algorithm


def test_messages_share_out_a_block_over_state_machines() -> None:
    mesh = MESH.with_changes(endpoint=EndpointSpec(fsms=4, slots=8, chunk_flits=40))

    def messages(flits: int) -> set[int]:
        made = compile_for_mesh(mesh, Strategy(20, 1, 1), 2 * flits, algorithm="ring")
        jobs: list[Descriptor] = [*made.descriptors(3, made.phases[0])]
        return {one.ring.message_bytes // 2 for one in jobs if one.ring}

    assert messages(20) == {1}
    assert messages(160) == {2}
    assert messages(1600) == {2}  # of which a slot has space for twenty


def test_program_says_what_to_write_and_to_read() -> None:
    said = compiled("MP2-DP5-PP2", 16).to_dict()
    assert said["schema"] == "fred-mesh-program/1" and said["size_bytes"] == 32
    first, second = said["phases"][:2]
    assert first["groups"][0] == {"npus": [0, 1], "algorithm": "ring"}
    assert first["circuits"] == ["mp"] and first["busiest_link_flits"] == 32
    assert second["circuits"] == ["dp", "pp"]
    end = said["endpoints"]["npu0"]
    assert end["address"] == 0
    assert list(end["phases"]) == [one["name"] for one in said["phases"]]
    assert end["phases"]["dp_all_reduce"]["sends"] == [64, 32]
    assert end["phases"]["dp_all_reduce"]["receives"] == [96, 32]
    assert [one["more"] for one in end["phases"]["dp_all_reduce"]["completed"]] == [1, 1]
    assert end["phases"]["pp_forward"]["receives"] is None
    assert end["phases"]["pp_backward"]["sends"] is None


@pytest.mark.parametrize(
    ("changes", "strategy", "flits", "algorithm", "message"),
    [
        (
            {},
            "MP7-DP3-PP1",
            8,
            "auto",
            "width must make 21 NPUs or more with height 4 for strategy MP7-DP3-PP1, not 20",
        ),
        (
            {},
            "MP2-DP1-PP1",
            8,
            "bidirectional_ring",
            r".*bidirectional_ring groups must have 3 NPUs .* 0, 1",
        ),
        (
            {},
            "MP5-DP1-PP1",
            8,
            "hierarchical_2d_halves",
            r".*hierarchical_2d_halves groups must be all NPUs .*, 4",
        ),
        ({}, "MP2-DP1-PP1", 8, "snake", "algorithm must be one of .*, not 'snake'"),
        ({}, "MP1-DP5-PP1-EP5", 8, "auto", ".*size of an all-to-all must be a multiple of 10, .*"),
        ({}, "MP2-DP1-PP1", 1 << 24, "auto", "size must be a multiple of 2 .*, not 33554432"),
        ({"lanes": 3}, "MP2-DP1-PP1", 8, "auto", "lanes must make flits of 1, 2, 4, .* not of 6"),
        (
            {"endpoint": {"chunk_flits": 16}},
            "MP20-DP1-PP1",
            8,
            "ring",
            ".*groups must have at most 16 NPUs, .*, not 20",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    changes: dict[str, object], strategy: str, flits: int, algorithm: str, message: str
) -> None:
    mesh = MESH.with_changes(**changes)
    with pytest.raises(ValueError, match=f"^{message}$"):
        compile_for_mesh(mesh, Strategy.parse(strategy), 2 * flits, algorithm=algorithm)
