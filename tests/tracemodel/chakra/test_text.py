"""Tests of tracemodel.chakra.text."""

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from tests.written import written
from tracemodel.chakra.feeder import Feeder
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Node
from tracemodel.chakra.stats import measure
from tracemodel.chakra.text import PARALLELISMS, from_text, load_text

LAYERS = """a -1 10 ALLTOALL 100 20 ALLGATHER 200 30 ALLREDUCE 300 7
b -1 11 ALLREDUCE 101 21 ALLREDUCE 201 31 ALLREDUCE 301 7
c -1 12 ALLREDUCE 102 22 ALLREDUCE 202 32 ALLREDUCE 302 7
"""


def text(folder: Path, head: str, layers: str = LAYERS) -> Path:
    return written(folder / "work.txt", f"{head}\n{len(layers.splitlines())}\n{layers}")


def graph(nodes: list[Node]) -> dict[str, set[str]]:
    """Return by name what each node waits for; a name that comes again has a stroke."""
    names: list[str] = []
    for node in nodes:
        name = node.name
        while name in names:
            name += "'"
        names.append(name)
    return {names[node.id]: {names[one] for one in node.data_deps} for node in nodes}


DATA = {
    "a forward": set[str](),
    "b forward": {"a forward"},
    "c forward": {"b forward"},
    "c weight-grad": {"c forward"},
    "c weight-grad all-reduce": {"c weight-grad"},
    "c input-grad": {"c weight-grad"},
    "b weight-grad": {"c input-grad"},
    "b weight-grad all-reduce": {"b weight-grad"},
    "b input-grad": {"b weight-grad"},
    "a weight-grad": {"b input-grad"},
    "a weight-grad all-reduce": {"a weight-grad"},
}
MODEL = {
    "a forward": set[str](),
    "a forward all-to-all": {"a forward"},
    "b forward": {"a forward all-to-all"},
    "b forward all-reduce": {"b forward"},
    "c forward": {"b forward all-reduce"},
    "c forward all-reduce": {"c forward"},
    "c input-grad": {"c forward all-reduce"},
    "c input-grad all-reduce": {"c input-grad"},
    "c weight-grad": {"c input-grad"},
    "b input-grad": {"c weight-grad", "c input-grad all-reduce"},
    "b input-grad all-reduce": {"b input-grad"},
    "b weight-grad": {"b input-grad"},
    "a input-grad": {"b weight-grad", "b input-grad all-reduce"},
    "a weight-grad": {"a input-grad"},
}
GRADIENTS = {f"{one} weight-grad all-reduce": {f"{one} weight-grad"} for one in "abc"}
DLRM = DATA | {
    "a forward all-to-all": {"a forward"},
    "b forward": {"a forward", "a forward all-to-all"},
    "a input-grad all-gather": {"c input-grad"},
    "a weight-grad": {"b input-grad", "a input-grad all-gather"},
}
TRANSFORMER = "HYBRID_TRANSFORMER model_parallel_NPU_group: 1"
AGAIN = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1"
RECOMPUTED = (
    MODEL
    | GRADIENTS
    | {
        "a recomputed forward": {"c forward all-reduce"},
        "a recomputed forward all-to-all": {"a recomputed forward"},
        "b recomputed forward": {"a recomputed forward all-to-all"},
        "b recomputed forward all-reduce": {"b recomputed forward"},
        "c input-grad": {"b recomputed forward all-reduce"},
    }
)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("MICRO", {f"{one} weight-grad all-reduce": set[str]() for one in "abc"}),
        ("DATA", DATA),
        ("MODEL", MODEL),
        ("HYBRID_DATA_MODEL", MODEL | GRADIENTS),
        ("HYBRID_MODEL_DATA", MODEL | GRADIENTS),
        ("HYBRID_DLRM 1", DLRM),
        ("HYBRID_DLRM_ENHANCED 1", DLRM),
        (TRANSFORMER, MODEL | GRADIENTS),
        (AGAIN, MODEL | GRADIENTS),
        (f"{AGAIN} checkpoints: 1 0 checkpoint_initiates: 1 2", RECOMPUTED),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parallelism_is_the_graph_of_its_rules(
    tmp_path: Path, head: str, expected: dict[str, set[str]]
) -> None:
    (nodes,) = from_text(text(tmp_path, head))
    assert graph(nodes) == expected
    assert [node.id for node in nodes] == list(range(len(nodes)))


@pytest.mark.parametrize(
    ("head", "gate"),
    [
        ("DATA", "weight-grad all-reduce"),
        ("MODEL", "weight-grad"),
        ("HYBRID_DATA_MODEL", "weight-grad all-reduce"),
        ("HYBRID_DLRM 1", "weight-grad all-reduce"),
    ],
)
def test_next_pass_waits_for_the_weights_of_each_layer(
    tmp_path: Path, head: str, gate: str
) -> None:
    once, twice = (from_text(text(tmp_path, head), passes=n)[0] for n in (1, 2))
    assert len(twice) == 2 * len(once)
    found = graph(twice)
    for layer in "abc":
        assert found[f"{layer} forward'"] >= {f"{layer} {gate}"}
    assert "a weight-grad" not in found["b forward'"]


def test_layers_between_a_checkpoint_and_the_next_are_recomputed(tmp_path: Path) -> None:
    head = f"{AGAIN} checkpoints: 2 0 1 checkpoint_initiates: 1 2"
    (nodes,) = from_text(text(tmp_path, head))
    again = {name: deps for name, deps in graph(nodes).items() if "recomputed" in name}
    assert again == {
        "b recomputed forward": {"c forward all-reduce"},
        "b recomputed forward all-reduce": {"b recomputed forward"},
    }
    # Two segments: layer a is computed again after the gradients of layer c.
    layers = LAYERS + LAYERS.splitlines()[2].replace("c", "d", 1) + "\n"
    head = f"{AGAIN} checkpoints: 2 0 2 checkpoint_initiates: 2 1 3"
    (nodes,) = from_text(text(tmp_path, head, layers))
    found = graph(nodes)
    assert found["a recomputed forward"] == {"c weight-grad", "c input-grad all-reduce"}
    assert found["b input-grad"] == {"a recomputed forward all-to-all"}


def test_npus_of_a_transformer_share_models_and_parts_of_them(tmp_path: Path) -> None:
    path = text(tmp_path, "HYBRID_TRANSFORMER model_parallel_NPU_group: 2")
    found = load_text(path, npus=6)
    assert found.groups == {
        "1": (0, 1),
        "2": (2, 3),
        "3": (4, 5),
        "4": (0, 2, 4),
        "5": (1, 3, 5),
    }
    traces = from_text(path, npus=6)
    for rank, nodes in enumerate(traces):
        assert nodes == list(found.rank(rank))
        for node in nodes:
            group = node.attr("pg_name")
            assert (group is None) == (node.type == NodeType.COMP_NODE)
            if group:
                assert rank in found.groups[str(group.value)]
                assert len(found.groups[str(group.value)]) == (3 if "weight" in node.name else 2)
    said = "^npus: must be a multiple of the 2 NPUs that share a model, not 3$"
    with pytest.raises(InputError, match=said):
        load_text(path, npus=3)
    assert load_text(text(tmp_path, "DATA"), npus=6).groups == {}


def test_numbers_of_the_text_are_those_of_the_nodes(tmp_path: Path) -> None:
    first, second = from_text(text(tmp_path, "HYBRID_DATA_MODEL"), npus=2)
    assert first == second
    found = {node.name: node for node in first}
    assert [found[f"b {way}"].duration_us for way in ("forward", "input-grad", "weight-grad")] == [
        *(11, 21, 31)
    ]
    sent = found["a forward all-to-all"]
    assert sent.type == NodeType.COMM_COLL_NODE
    assert (sent.integer("comm_type"), sent.integer("comm_size")) == (
        CollectiveType.ALL_TO_ALL,
        100,
    )
    assert found["c weight-grad all-reduce"].integer("comm_size") == 302
    assert not any(node.flag("is_cpu_op", True) for node in first)


def test_collective_of_no_bytes_is_left_out(tmp_path: Path) -> None:
    layers = "a -1 1 NONE 5 2 NONE 0 3 ALLREDUCE 0 0\nb -1 4 ALLREDUCE 0 5 NONE 0 6 ALLREDUCE 8 0\n"
    (nodes,) = from_text(text(tmp_path, "HYBRID_DATA_MODEL", layers), passes=2)
    found = graph(nodes)
    assert [name for name in found if "reduce" in name] == [
        "b weight-grad all-reduce",
        "b weight-grad all-reduce'",
    ]
    assert found["b forward"] == {"a forward"}
    assert found["b input-grad"] == {"b forward"}
    assert found["a forward'"] == {"a weight-grad"}
    assert found["a input-grad"] == {"b weight-grad", "b input-grad"}


def resnet(folder: Path) -> Path:
    """Return a text of 54 layers whose times add up to those of the public ResNet-50 text."""
    rng = random.Random(50)

    def shares(total: int, first: int | None = None) -> list[int]:
        cuts = sorted(rng.sample(range(1, total - (first or 0)), 53 if first is None else 52))
        ends = [0, *cuts, total - (first or 0)]
        found = [end - begin for begin, end in pairwise(ends)]
        return found if first is None else [first, *found]

    times = zip(shares(380_038), shares(377_463, 12_864), shares(337_813), strict=True)
    lines = [
        f"l{place} -1 {forward} NONE 0 {inputs} NONE 0 {weights} ALLREDUCE {size} 0"
        for place, (forward, inputs, weights) in enumerate(times)
        for size in ([0] if place % 9 == 4 else [4 * place + 4])
    ]
    return text(folder, "DATA", "\n".join(lines) + "\n")


def test_resnet_50_computes_as_long_as_the_documented_run(tmp_path: Path) -> None:
    traces = from_text(resnet(tmp_path), npus=8)
    assert len(traces) == 8
    stats = measure(traces[0])
    assert stats.compute_us == stats.path_us == 1_082_450
    assert stats.types == {"COMP_NODE": 54 * 3 - 1, "COMM_COLL_NODE": 48}
    assert all(node.integer("comm_size", 1) > 0 for node in traces[0])


@pytest.mark.parametrize(
    "head", [*list(PARALLELISMS)[:5], "HYBRID_DLRM 0", "HYBRID_DLRM 2", TRANSFORMER]
)
def test_every_trace_can_run(tmp_path: Path, head: str) -> None:
    (nodes,) = from_text(text(tmp_path, head), passes=3)
    feeder, order = Feeder(nodes), list[int]()
    while (node := feeder.ready()) is not None:
        order.append(node.id)
        feeder.finish(node.id)
    assert sorted(order) == [node.id for node in nodes]


def test_parallelism_of_the_text_may_be_another(tmp_path: Path) -> None:
    (nodes,) = from_text(text(tmp_path, "MODEL"), "DATA")
    assert graph(nodes) == DATA


LINE = "a -1 1 NONE 0 2 NONE 0 3 NONE 0 0"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("DATA", "must be a parallelism, a number of layers and the layers, not fewer lines"),
        ("BOTH\n1\n" + LINE, "line 1: must begin with one of MICRO, .*, not 'BOTH'"),
        ("DATA\n2\n" + LINE, r"line 2: must be .* layers that follow \(1\), at least 1, not '2'"),
        ("DATA\n0", r"line 2: must be .* layers that follow \(0\), at least 1, not '0'"),
        ("DATA\nx\n" + LINE, "line 2: the number of layers must be an integer .*, not 'x'"),
        ("DATA\n1\na -1 1", "line 3: must be the 12 fields of a layer, not 3"),
        (
            "DATA\n1\n\n" + LINE.replace("NONE", "BCAST", 1),
            "line 4: forward collective must be one of NONE, .*, ALLTOALL, not 'BCAST'",
        ),
        ("DATA\n1\n" + LINE.replace("2", "-2"), "line 3: input-gradient time must be .*, not '-2'"),
        ("DATA\n1\n" + LINE.replace("3", "9" * 19), "line 3: weight-gradient time must be .*"),
        ("DATA\n1\n" + LINE.replace("3", "٣"), "line 3: weight-gradient time must be .*"),
        ("HYBRID_DLRM\n1\n" + LINE, "line 1: must name the last bottom layer, from 0 .*, not None"),
        ("HYBRID_DLRM 1\n1\n" + LINE, "line 1: must name the last bottom layer, .* to 0, not 1"),
    ],
)
def test_bad_text_is_refused_in_a_line(tmp_path: Path, said: str, message: str) -> None:
    path = written(tmp_path / "bad.txt", said)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: {message}$"):
        from_text(path)


def test_number_of_traces_and_passes_is_bounded(tmp_path: Path) -> None:
    path = text(tmp_path, "DATA")
    with pytest.raises(InputError, match=r"^npus: must be an integer from 1 to 65536, not 0$"):
        from_text(path, npus=0)
    said = r"^passes: must be an integer from 1 to 58254 with 3 layers, not 58255$"
    with pytest.raises(InputError, match=said):
        from_text(path, passes=58_255)
    said = r"^passes: must be an integer from 1 to 910 with 3 layers and 1024 NPUs, not 911$"
    with pytest.raises(InputError, match=said):
        from_text(path, npus=1024, passes=911)
    lines = path.read_text().splitlines()
    many = [lines[0], "100", *[lines[2]] * 100]
    path.write_text("\n".join(many))
    with pytest.raises(
        InputError, match=r": must have at most 42 layers with 65536 NPUs, not 100$"
    ):
        from_text(path, npus=65_536)
