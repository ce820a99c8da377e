"""What is fuzzed: every reader of files and words, and the command line, all in this process."""

import contextlib
import gzip
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from clustermodel.file import load_cluster
from fred_cli.report.results import simulation_results
from fred_cli.values import parse_clock, parse_group, parse_size
from fred_hw.certificate.checker import check
from fred_hw.certificate.file import Certificate
from fred_hw.compiler.flows import read_flows
from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError, InputWarning
from fred_hw.files import load_model
from fred_hw.load import load_spec, parse_change
from fred_hw.mesh.load import load_mesh
from fred_hw.reading import read_data
from fred_hw.wafer.load import load_wafer
from gen.level import LEVELS
from perfmodel.libra.authors import load_workload as load_layers
from perfmodel.libra.design import load_design
from perfmodel.memory.file import load_memory
from perfmodel.repurpose.architecture import load_architecture
from perfmodel.repurpose.reader import read_network as read_model
from perfmodel.repurpose.samples import read_samples
from perfmodel.switch_timing.record import RECORDS, load_record
from perfmodel.switch_timing.router import load_link_record
from perfmodel.topology.files import load_topology
from perfmodel.topology.parse import parse_topology
from perfmodel.workloads.workload import load_workload
from studies.rtl_shipped import record_against_rtl
from studies.study.constraints import parse_constraint
from studies.study.plan import load_study
from synth.liberty import read_libraries
from tests.bases import bases
from tests.fuzz.inputs import NUMBERS, TEXTS, VALUES, broken, documents
from tests.fuzz.lines import check_line, lines, run_line
from tests.records import shipped
from tests.tracemodel.chakra.golden import ALL_REDUCE
from tests.tracemodel.chakra.pytorch_traces import GROUPS, execution_trace, kineto_trace
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.setup import load_setup
from tracemodel.astra.engine.trace import load_traces
from tracemodel.astra.files.groups import load_groups
from tracemodel.astra.files.network import read_network
from tracemodel.astra.files.system import load_system
from tracemodel.chakra.files import encode, read
from tracemodel.chakra.goal import read_goal
from tracemodel.chakra.node import Attr, Metadata, Node
from tracemodel.chakra.process_groups import ProcessGroups
from tracemodel.chakra.pytorch import from_pytorch
from tracemodel.chakra.stats import measure
from tracemodel.chakra.text import from_text

__all__ = ["TARGETS", "Target"]

ROOT = Path(__file__).parents[2]

_SPEC = load_spec("tiny-2")


@dataclass(frozen=True)
class Target:
    """Something that reads what others wrote.

    Parameters
    ----------
    inputs : SearchStrategy
        Makes inputs.
    run : Callable
        Takes one, in a folder of its own; raises what nothing may raise.
    share : int
        How many inputs it gets in a round.
    """

    inputs: st.SearchStrategy[Any]
    run: Callable[[Any, Path], None]
    share: int


def refusing(read: Callable[[Path], object], name: str) -> Callable[[bytes, Path], None]:
    """Return a function that has a file read, which may be refused in a line, and nothing else."""

    def run(data: bytes, folder: Path) -> None:
        path = folder / name
        path.write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)
                read(path)
        except InputError as error:
            check_line(f"error: {error}")

    return run


def _loaded(*paths: Path) -> list[Any]:
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths]


_SPECS = _loaded(*sorted((ROOT / "fred_hw" / "presets").glob("*.yaml"))[:3])
_SPECS.append({"ports": 4, "protocol": {"phases": 4, "packet_flits": 8, "buffer_packets": 8}})
_ENDPOINT = {"fsms": 2, "slots": 4, "chunk_flits": 8, "memory_reads": 4, "replay_packets": 2}
_ENDPOINTS = [{"ports": 4, "lanes": 1, "endpoint": _ENDPOINT}, {"ports": 64, "endpoint": {}}]
_TOPOLOGIES = [
    *(data for kind, data in bases("topology").items() if kind != "mesh"),
    {"kind": "mesh", "columns": 3, "rows": 2, "link_bytes_per_s": 1e12, "link_latency_s": 1e-9},
]
_WORKLOADS = [*bases("workload").values()]
_ASTRA = {
    name: [*bases(f"astra-{name}").values()] for name in ("network", "system", "memory", "groups")
}
_TRACE = (
    b'{"version": "0.0.4"}\n{"id": "1", "type": "COMP_NODE", "durationMicros": "3"}\n'
    b'{"id": "2", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "attr": [{"name": "comm_type", '
    b'"int64Val": "0"}, {"name": "comm_size", "int64Val": "4096"}]}\n'
    b'{"id": "3", "type": "MEM_LOAD_NODE", "attr": [{"name": "tensor_size", "int64Val": "9"}]}\n'
)
_FLOWS = [
    [{"inputs": [0, 1], "outputs": [0]}, {"inputs": [2], "outputs": [1, 2]}],
    {"flows": [{"inputs": [0, 1, 2, 3], "outputs": [0, 1, 2, 3]}]},
]
_SPACE = {
    "topology": ["mesh:2x2", "mesh:3x2"],
    "workload": "resnet-50",
    "strategy.dp": {"range": [1, 4], "step": 1},
    "topology.link_bytes_per_s": {"log_range": [1e11, 1e12], "points": 3},
    "npu.peak_flops": {"distribution": "normal", "mean": 1e15, "std": 1e13, "samples": 2},
    "algorithm": ["auto", "published"],
}
_STUDIES: list[Any] = [
    *bases("study").values(),
    {
        "space": _SPACE,
        "zip": [["topology", "algorithm"]],
        "constraints": ["npus == mp * dp * pp", "fits_memory", "npu.peak_flops > 1e14"],
        "objectives": ["time_per_sample_s"],
        "seed": 3,
        "baseline": "mesh:2x2",
        "npu_from": "mesh:3x2",
    },
    {
        "space": {
            "traces": "step",
            "network": ["fred-d", "net.yaml"],
            "system": "sys.yaml",
            "remote_memory": "mem.yaml",
            "groups": "groups.yaml",
            "num_queues_per_dim": [1, 2],
        },
        "objectives": ["total_ns"],
        "baseline": "fred-d",
        "as_is": True,
    },
]
_RECORDS, _ROUTERS = (
    [json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))]
    for name in ("l1-12", "mesh-5x4")
)
_PHASES = [
    {**phases, "rows": phases["rows"][:2]}
    for phases in map(shipped, ("wafer-20", "wafer-20-controllers", "mesh-5x4-phases"))
]
_RUN = {"simulator": "icarus", "version": "12", "tests": [], "measurements": {}}
_RUN["tests"] = [{"name": "t", "passed": True, "message": "", "wall_s": 1.0}]
_RESULTS = [{"name": _SPEC.name, "seed": 1, "failures": 0, "runs": [_RUN]}]
_LIBERTY = b"""library (tiny) { time_unit : "1ns"; capacitive_load_unit (1, pf);
 cell (inv) { area : 1.5; pin (A) { direction : input; capacitance : 0.001; }
  pin (Y) { direction : output; function : "!A"; timing () { related_pin : "A";
   cell_rise (scalar) { values ("0.1"); } } } } }
"""
_SIZE = (Attr("comm_type", "int64", 0), Attr("comm_size", "uint64", 1 << 20))
_NODES = b"".join(
    encode([Node(2, "b", 7, (), (1,), attrs=_SIZE), Node(1, "a", 4, (2,))], Metadata("0.0.4"))
)
_JSON_NODE = {
    "id": "1",
    "type": "COMP_NODE",
    "dataDeps": ["2"],
    "attr": [{"name": "num_ops", "int64Val": "5"}, {"floatList": {"values": [1.5, "NaN"]}}],
    "unknownFields": "WgIIAQ==",
}
_LAYERS = (ROOT / "examples/three-layers.txt").read_bytes()
_HEAD = b"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 "
_TRANSFORMER = _LAYERS.replace(b"DATA", _HEAD + b"checkpoint_initiates: 1 2", 1)
_GRAPH = {"workload_graph": [{"Id": 1, "Name": "k", "NodeType": 4, "data_deps": [], "runtime": 2}]}
_LIBRA = (ROOT / "examples/libra/gpt-3.txt").read_bytes()
_GOAL = (ROOT / "examples/ring-2.goal").read_bytes()


def _run_traces(data: bytes, folder: Path) -> None:
    """Run a trace that all NPUs have, which may be refused in a line."""
    for rank in range(4):
        (folder / f"w.{rank}.json").write_bytes(data)
    files = [ROOT / f"examples/astra-{name}.yaml" for name in ("network", "system", "memory")]
    given = load_setup(*files)
    try:
        GraphEngine(load_traces(folder / "w", 4, given.system), given, "aware").run()
    except InputError as error:
        check_line(f"error: {error}")


def _words(read: Callable[[str], object]) -> Callable[[str, Path], None]:
    def run(text: str, _: Path) -> None:
        try:
            read(text)
        except InputError as error:
            check_line(f"error: {error}")

    return run


def _strategy(text: str) -> None:
    with contextlib.suppress(ValueError):
        Strategy.parse(text)


_TOPOLOGY_WORDS = st.one_of(
    # All-reduces over meshes of 64 x 64 take 15 s.
    st.from_regex(r"mesh:[0-9]{1,2}x[0-9]", fullmatch=True),
    st.sampled_from(
        [
            *("mesh:5x1", "mesh:1x2", "mesh:4x4", "fred-a", "fred-d", "mesh:99999999999x1"),
            *("wafers:2xfred-d", "wafers:3xmesh:2x2", "wafers:2xwafers:2xfred-d"),
        ]
    ),
)
_WORDS = st.one_of(
    TEXTS,
    NUMBERS.map(str),
    st.from_regex(r"[0-9]{1,4}(\.[0-9]*)?[a-zA-Z]{0,3}", fullmatch=True),
    st.from_regex(r"[0-9]{1,3}(-[0-9]{1,6})?(,[0-9]{1,4}(-[0-9]{1,7})?){0,4}", fullmatch=True),
    st.from_regex(r"MP[0-9]{1,3}-DP[0-9]{1,3}-PP[0-9]{1,3}", fullmatch=True),
    _TOPOLOGY_WORDS,
    st.tuples(st.sampled_from(["lanes", "ports", "protocol.phases", "a.b", ""]), VALUES).map(
        lambda pair: f"{pair[0]}={pair[1]}"
    ),
)

_MODEL = (ROOT / "examples/repurpose/hidden-blocks.npz").read_bytes()
_SAMPLES = (ROOT / "examples/repurpose/samples.npz").read_bytes()

_UNICAST = [{"inputs": [1], "outputs": [0]}]
_CERTIFICATE = {
    "schema": "fred-certificate/1",
    "name": "two switches",
    "strategy": "MP2-DP1-PP1",
    "units": {one: {"ports": 2, "middle_switches": 2} for one in "ab"},
    "links": [["a.1", "b.1"]],
    "endpoints": ["a.0", "b.0"],
    "phases": {"one": _UNICAST},
    "sets": {"one": {"phase": "one", "flows": _UNICAST, "words": {"a": "0x2", "b": "0x4"}}},
    "refutations": {"one": {"flows": _UNICAST, "clique": [0], "proof": [[1, -2], []]}},
}

_FILES = {
    "certificate.json": documents([_CERTIFICATE]),
    "model.npz": broken(_MODEL),
    "samples.npz": broken(_SAMPLES),
    "layers.yaml": documents([*bases("architecture").values()]),
    "spec.yaml": documents(_SPECS),
    "wafer.yaml": documents(_TOPOLOGIES),
    "work.yaml": documents(_WORKLOADS),
    "flows.yaml": documents(_FLOWS),
    "mine.json": documents(_RECORDS),
    "net.yaml": documents(_ASTRA["network"]),
    "sys.yaml": documents(_ASTRA["system"]),
    "mem.yaml": documents(_ASTRA["memory"]),
    "groups.yaml": documents(_ASTRA["groups"]),
    "trace.json": st.one_of(broken(_TRACE), documents([_JSON_NODE]).map(b"{}".__add__)),
    "et.json": documents([execution_trace()]),
    "kineto.json": documents([kineto_trace()]),
    "layers.txt": broken(_LAYERS),
    "ring.goal": broken(_GOAL),
    "racks.yaml": documents([*bases("cluster").values()]),
    "design.yaml": documents([*bases("libra").values()]),
    "ends.yaml": documents([*bases("endpoint").values()]),
    "plane.yaml": documents([*bases("wafer").values()]),
    "mesh.yaml": documents([*bases("mesh").values(), {"width": 2, "height": 1, "lanes": 1}]),
    "study.yaml": documents(_STUDIES[1:]),
    "results.json": documents(_RESULTS),
}


def _with_pytorch(broken_name: str) -> Callable[[bytes, Path], None]:
    """Return a function that has one of two traces of a run converted with the other one whole."""

    def convert(path: Path) -> object:
        whole = {"et.json": execution_trace(), "kineto.json": kineto_trace()}
        for name, said in whole.items():
            if name != broken_name:
                path.with_name(name).write_text(json.dumps(said))
        return from_pytorch(path.with_name("et.json"), path.with_name("kineto.json"))

    return refusing(convert, broken_name)


def _libra_workload(path: Path) -> object:
    return load_layers(path, dict.fromkeys(("Forward", "InputGrad", "WeightGrad"), (4, 2)))


def _measured(path: Path) -> object:
    with read(path) as nodes:
        return measure(nodes)


_ANY = st.one_of(
    st.binary(max_size=200),
    broken(b"a: &a [1, 2.5, 'x', \"\\x41\"]\nb: {c: *a, d: !!str 1}\n? e\n: |\n  text\n- - x\n"),
    broken(b'{"a": [1, 2.5, null, true], "b": {"c": "\\u0041"}}'),
)

TARGETS: Mapping[str, Target] = {
    "yaml": Target(_ANY, refusing(read_data, "f.yaml"), 20),
    "json": Target(_ANY, refusing(read_data, "f.json"), 20),
    "spec": Target(_FILES["spec.yaml"], refusing(lambda p: load_spec(str(p)), "f.yaml"), 15),
    "topology": Target(_FILES["wafer.yaml"], refusing(load_topology, "f.yaml"), 15),
    "workload": Target(
        _FILES["work.yaml"], refusing(lambda p: load_workload(str(p)), "f.yaml"), 15
    ),
    "astra network": Target(_FILES["net.yaml"], refusing(read_network, "net.yaml"), 10),
    "astra system": Target(_FILES["sys.yaml"], refusing(load_system, "sys.yaml"), 10),
    "astra memory": Target(_FILES["mem.yaml"], refusing(load_memory, "mem.yaml"), 10),
    "astra groups": Target(_FILES["groups.yaml"], refusing(load_groups, "w.yaml"), 10),
    "astra trace": Target(broken(_TRACE), _run_traces, 10),
    "certificate": Target(
        _FILES["certificate.json"],
        refusing(lambda p: [*check(load_model(Certificate, p).model_dump())], "f.json"),
        15,
    ),
    "flows": Target(_FILES["flows.yaml"], refusing(lambda p: read_flows(p, 8), "f.yaml"), 15),
    "study": Target(documents(_STUDIES), refusing(load_study, "f.yaml"), 15),
    "constraint": Target(
        st.one_of(TEXTS, st.text("mpd.()[]*+-/<>=!'0123 andortinlambda:", max_size=40)),
        _words(lambda text: parse_constraint(text, "", "").holds({"mp": 2, "npus": 8}.get)),
        10,
    ),
    "cluster": Target(
        documents([*bases("cluster").values()]), refusing(load_cluster, "f.yaml"), 10
    ),
    "design": Target(
        _FILES["design.yaml"], refusing(lambda p: load_design(p).problem("f.yaml"), "f.yaml"), 10
    ),
    "architecture": Target(_FILES["layers.yaml"], refusing(load_architecture, "f.yaml"), 10),
    "model": Target(_FILES["model.npz"], refusing(read_model, "f.npz"), 10),
    "samples": Target(_FILES["samples.npz"], refusing(read_samples, "f.npz"), 10),
    "LIBRA workload": Target(broken(_LIBRA), refusing(_libra_workload, "f.txt"), 10),
    "record": Target(_FILES["mine.json"], refusing(lambda p: load_record(str(p)), "f.json"), 15),
    "phases in RTL": Target(documents(_PHASES), refusing(record_against_rtl, "f.json"), 5),
    "routers": Target(
        documents(_ROUTERS), refusing(lambda p: load_link_record(str(p)), "f.json"), 10
    ),
    "results": Target(
        documents(_RESULTS), refusing(lambda p: simulation_results(_SPEC, p), "f.json"), 15
    ),
    "liberty": Target(broken(_LIBERTY), refusing(lambda p: read_libraries([p]), "f.lib"), 15),
    "trace": Target(
        broken(_NODES) | st.builds(gzip.compress, broken(ALL_REDUCE)),
        refusing(_measured, "f.et"),
        15,
    ),
    "trace as JSON": Target(
        documents([_JSON_NODE]).map(b"{}".__add__), refusing(_measured, "f.json"), 15
    ),
    "workload graph": Target(documents([_GRAPH]), refusing(_measured, "f.json"), 10),
    "pytorch": Target(_FILES["et.json"], _with_pytorch("et.json"), 10),
    "kineto": Target(_FILES["kineto.json"], _with_pytorch("kineto.json"), 10),
    "process groups": Target(
        documents([[GROUPS], GROUPS]),
        refusing(lambda p: ProcessGroups(2).add(p.read_text(errors="replace"), str(p), 0), "f"),
        10,
    ),
    "text workload": Target(
        broken(_LAYERS) | broken(_TRANSFORMER),
        refusing(lambda p: from_text(p, npus=4), "f.txt"),
        10,
    ),
    "goal": Target(broken(_GOAL), refusing(read_goal, "f.goal"), 10),
    "change": Target(_WORDS, _words(parse_change), 10),
    "clock": Target(_WORDS, _words(parse_clock), 5),
    "size": Target(_WORDS, _words(parse_size), 5),
    "group": Target(_WORDS, _words(parse_group), 5),
    "name": Target(_WORDS, _words(parse_topology), 5),
    "strategy": Target(_WORDS, _words(_strategy), 5),
    "plane": Target(_FILES["plane.yaml"], refusing(lambda p: load_wafer(str(p)), "f.yaml"), 10),
    "mesh": Target(_FILES["mesh.yaml"], refusing(lambda p: load_mesh(str(p)), "f.yaml"), 10),
    "endpoint": Target(
        documents(_ENDPOINTS),
        refusing(lambda p: LEVELS["endpoint"].check(load_spec(str(p)), str(p)), "f.yaml"),
        10,
    ),
    "line": Target(lines(_FILES, _WORDS), run_line, 20),
}
