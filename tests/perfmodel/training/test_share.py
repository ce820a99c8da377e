"""Tests of perfmodel.training.share, and of iterations with CP, EP and SP."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.constants import NUMBER_BYTES
from perfmodel.network.run import run_collectives
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import estimate
from perfmodel.training.iteration import check_strategy, simulate_iteration
from perfmodel.training.operations import Operations
from perfmodel.training.placement.place import place
from perfmodel.training.request import Request
from perfmodel.training.search import communication_s, default_placement
from perfmodel.training.share import share_out
from perfmodel.workloads.transformer import Form, transformer
from perfmodel.workloads.workload import Workload, load_workload, with_batch
from tests.examples import examples

FABRICS = [shared_topology(name) for name in ("fred-d", "mesh:5x4")]
H, S, E, K = 64, 32, 8, 2


def small(mode: str = "stationary") -> Workload:
    """Return a mixture of experts that is quick to simulate."""
    form = Form(experts=E, experts_per_token=K)
    network = transformer(4, H, 4, S, 100, key_value_heads=2, form=form)
    return Workload("small", network, Strategy(1, 1, 1), mode, 2, 4)


def parts(text: str, fabric: int = 0, mode: str = "stationary") -> dict[str, float]:
    workload, placed = small(mode), place(FABRICS[fabric], Strategy.parse(text))
    found = simulate_iteration(FABRICS[fabric], workload, placed, Npu())
    return found.critical_path_s | {"all": found.time_s}


def test_nothing_is_shared_out_without_cp_and_ep() -> None:
    network = small().network
    assert share_out(network, Strategy(2, 4, 2, sp=True)) is network


@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4, 8]))
def test_shares_of_all_npus_make_the_network(cp: int, ep: int) -> None:
    network = small().network
    part = share_out(network, Strategy(1, 8, 1, cp, ep))
    layer, mine = network.layers[1], part.layers[1]
    assert len({id(one) for one in part.layers}) == len({id(one) for one in network.layers})
    assert cp * part.forward_flops == pytest.approx(network.forward_flops)
    assert cp * mine.stored_numbers == pytest.approx(layer.stored_numbers)
    assert cp * mine.output_numbers == layer.output_numbers
    assert ep * mine.shared_parameters == layer.shared_parameters
    others = layer.parameters - layer.shared_parameters
    assert mine.parameters - mine.shared_parameters == others
    assert mine.cp_numbers == layer.cp_numbers


@pytest.mark.parametrize("name", ["gpt-3", "llama-3-8b", "resnet-50"])
@pytest.mark.parametrize("fabric", FABRICS, ids=lambda one: one.name)
def test_one_of_each_is_the_plain_strategy_to_the_bit(fabric: Topology, name: str) -> None:
    workload = with_batch(load_workload(name), 2, 2)
    plain = str(workload.strategy)
    one = estimate(Request.of(fabric, workload, plain))
    other = estimate(Request.of(fabric, workload, f"{plain}-CP1-EP1"))
    assert one == other
    assert one.exposed_s.cp == one.exposed_s.ep == 0


@pytest.mark.parametrize(("mp", "sp"), [(1, ""), (2, "-SP")])
def test_all_to_all_carries_the_bytes_of_the_formula(mp: int, sp: str) -> None:
    # GShard, arXiv 2006.16668, section 3.2: every token goes to its experts, and comes back.
    placed = place(FABRICS[0], Strategy.parse(f"MP{mp}-DP4-PP1-EP4{sp}"))
    numbers = K * S * H * 2 / mp  # two samples of a microbatch
    layer = small().network.layers[1]
    assert layer.all_to_all_numbers * 2 / mp == numbers
    found = run_collectives(
        FABRICS[0], "all_to_all", NUMBER_BYTES * numbers, placed.ep_groups(0), algorithm="direct"
    )
    # Three quarters of an NPU's tokens leave it.
    assert found.bytes_per_npu == pytest.approx(3 / 4 * 2 * numbers)
    profile = Operations(FABRICS[0], placed).ep_all_to_all(0, numbers)
    assert profile is not None and profile.time_s == pytest.approx(found.time_s, rel=0.05)


def test_tasks_of_a_pass_are_in_order() -> None:
    placed = place(FABRICS[0], Strategy.parse("MP2-DP2-PP1-CP2-EP2-SP"))
    found = simulate_iteration(FABRICS[0], small(), placed, Npu())
    for way, order in {
        "forward": "cp compute mp mp ep compute ep mp mp",
        "backward": "ep compute ep mp mp cp compute mp mp cp",
    }.items():
        mine = [one.kind for one in found.tasks if one.name.startswith(f"{way} 0 layer")]
        assert " ".join(mine) == " ".join([order] * 4)
        waits = [one.after for one in found.tasks if one.name.startswith(f"{way} 0 layer")]
        assert all(waits)


def test_sequence_parallelism_moves_as_much_in_two_steps() -> None:
    plain, scattered = parts("MP4-DP2-PP1", 1), parts("MP4-DP2-PP1-SP", 1)
    assert scattered["compute"] == pytest.approx(plain["compute"])
    assert 0.5 * plain["mp"] < scattered["mp"] < 4 * plain["mp"]


@examples(20)
@given(
    st.sampled_from(["MP1-DP8-PP1", "MP2-DP4-PP2", "MP1-DP4-PP2"]),
    st.sampled_from(["-CP2", "-EP2", "-EP4", "-CP2-EP2"]),
    st.sampled_from([0, 1]),
    st.sampled_from(["stationary", "streaming"]),
)
def test_parts_are_where_they_belong(base: str, more: str, fabric: int, mode: str) -> None:
    if Strategy.parse(base + more).workers > FABRICS[fabric].npus:
        base = "MP1-DP8-PP1"
    plain, found = parts(base, fabric, mode), parts(base + more, fabric, mode)
    assert plain["cp"] == plain["ep"] == 0
    assert (found["cp"] > 0) == ("CP" in more) and (found["ep"] > 0) == ("EP" in more)
    assert found["all"] == pytest.approx(sum(v for k, v in found.items() if k != "all"))


@pytest.mark.parametrize("fabric", [0, 1])
def test_more_bytes_never_take_less(fabric: int) -> None:
    placed = place(FABRICS[fabric], Strategy.parse("MP1-DP4-PP1-CP2-EP4"))
    operations = Operations(FABRICS[fabric], placed)
    for ask in (
        lambda n: operations.ep_all_to_all(0, n),
        lambda n: operations.cp_exchange("all_gather", 0, n),
        lambda n: operations.cp_exchange("reduce_scatter", 0, n),
        lambda n: operations.gradients(0, 2 * n, n)[1],
    ):
        found = [ask(10.0**power) for power in range(2, 9)]
        times = [one.time_s for one in found if one]
        assert len(times) == 7
        assert times == sorted(times) and times[0] < times[-1]


def test_expert_groups_need_less_memory() -> None:
    def bytes_of(text: str) -> tuple[float, float]:
        placed = place(FABRICS[0], Strategy.parse(text))
        need = simulate_iteration(FABRICS[0], small(), placed, Npu()).memory
        return need.weights_bytes, need.optimizer_bytes + need.gradients_bytes

    network = small().network
    every = network.parameters
    shared = sum(layer.shared_parameters for layer in network.layers)
    assert bytes_of("MP1-DP8-PP1")[0] == NUMBER_BYTES * every
    weights, rest = bytes_of("MP1-DP8-PP1-EP4")
    assert weights == NUMBER_BYTES * (every - shared + shared / 4)
    # A quarter of the experts, shared out by a quarter of the replicas.
    assert rest == pytest.approx(14 * (every - shared) / 8 + 14 * shared / 4 / 2)
    assert bytes_of("MP1-DP8-PP1-CP2")[1] == pytest.approx(14 * every / 16)


def test_placement_counts_all_communication() -> None:
    workload = small()
    for text in ("MP1-DP8-PP1-EP4", "MP1-DP4-PP1-CP2", "MP2-DP4-PP1-SP"):
        strategy = Strategy.parse(text)
        placed = default_placement(Request.of(FABRICS[1], workload, strategy))
        found = simulate_iteration(FABRICS[1], workload, placed, Npu())
        spent = sum(v for k, v in found.communication_s.items() if k != "input_load")
        counted = communication_s(Operations(FABRICS[1], placed), workload)
        assert counted == pytest.approx(spent, rel=0.25)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gpt-3", "MP1-DP4-PP1-EP4", "must have no EP, as gpt-3 has no experts, not"),
        ("resnet-50", "MP1-DP4-PP1-CP2", "must have no CP, as resnet-50 has no sequence, not"),
        ("dlrm", "MP1-DP4-PP1-CP2", "must have no CP, as dlrm has no sequence, not"),
        ("mixtral-8x7b", "MP1-DP6-PP1-EP3", "must have an EP that divides 8 experts, not"),
    ],
)
def test_what_does_not_go_together_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"^strategy: {said} {text}$"):
        check_strategy(load_workload(name), Strategy.parse(text))
    check_strategy(load_workload("dlrm"), Strategy.parse("MP1-DP6-PP1-EP3"))


def test_streamed_experts_come_in_by_themselves() -> None:
    workload = replace(small(), mode="streaming")
    placed = place(FABRICS[0], Strategy.parse("MP1-DP8-PP1-EP4"))
    found = simulate_iteration(FABRICS[0], workload, placed, Npu())
    loads = [one for one in found.tasks if one.name == "weights of layer, forward"]
    assert len(loads) == 2 * 4
