"""Command lines that are almost right, run in this process."""

import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

from hypothesis import strategies as st

from fred_cli import progress
from fred_cli.main import main
from fred_hw.errors import LINE
from gen.level import LEVELS

__all__ = ["COMMANDS", "Line", "check_line", "lines", "run_line"]

ROOT = Path(__file__).parents[2]
_STEP = f"{ROOT}/examples/astra-step/step"
_BLOCKS = f"{ROOT}/examples/repurpose"

_SPEC = ("spec.yaml", "small-4", "tiny-2")
_READ: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "route": ((*_SPEC, "plane.yaml", "mesh.yaml"), ("flows.yaml",)),
    "gen": (  # refused for want of -o, so nothing is generated
        ("spec.yaml", "mesh.yaml", "plane.yaml"),
    ),
    "verify": (("certificate.json", *_SPEC),),
    "check-deadlock": (("plane.yaml", "mesh.yaml", *_SPEC),),
    "numerics": ((*_SPEC, "plane.yaml", "mesh.yaml"),),
    "cost": (("plane.yaml", "mesh.yaml", f"{ROOT}/examples/wafer-4.yaml"),),
    "sim": (_SPEC,),
    "synth": (_SPEC,),
    "power": (_SPEC,),
    "study run": (("study.yaml",),),
    "study optimize": (("study.yaml",),),
    "study query": (("store", "spec.yaml"), ("select * from points", "selec", "drop view points")),
    "study export": (("store", "spec.yaml"), ("x.csv", "x.parquet", "x.txt")),
    "study migrate": (("store", "spec.yaml"),),
    "explore": (("spec.yaml", "folder"),),
    "chakra show": (("trace.json",),),
    "chakra stats": (("trace.json",),),
    "chakra validate": (("trace.json",),),
    "chakra groups": (("trace.json",),),
    "chakra convert": (("trace.json", "et.json", "layers.txt", "ring.goal"),),
    "cluster": (("racks.yaml",),),
    "libra": (("design.yaml",),),
    "repurpose": (("model.npz", f"{_BLOCKS}/hidden-blocks.npz"),),
    "schema": (("topology", "astra-groups", "no-kind"),),
    "completion": (("bash", "tcsh"),),
}
"""What commands take without an option."""
_SMALL = ("mesh:2x2", "mesh:3x2", "mesh:5x1", "fred-d")
_GIVEN: Mapping[str, tuple[str, ...]] = {
    "--topology": ("wafer.yaml", *_SMALL),
    "--workload": ("work.yaml", "resnet-152", "gpt-3"),
    "--values": ("missing.npy", "layers.txt", "spec.yaml"),
    "--distribution": ("uniform", "uniforn"),
    "--elements": ("10", "0", "x"),
    "--format": ("bf16", "int8"),
    "--constraint": ("total = 500", "b0 >= b1", "b0 <="),
    "--objective": ("time", "time_x_cost"),
    "--weight": ("1", "nan", "-2"),
    "--workers": ("2", "4", "33", "0"),
    "--points": ("1", "0", "x"),
    "--screen": (),
    "--algorithms": (),
    "--wafer": ("fred-d", "mesh:2x2", "net.yaml"),
    "--congestion-chart": ("chart.html", "folder"),
    "--minutes": ("0.01", "0", "nan"),
    "--port": ("0", "8765", "70000", "x"),
    "--calibration": (f"{_BLOCKS}/samples.npz", "samples.npz", "folder"),
    "--architecture": ("layers.yaml", "net.yaml"),
    "--max-error": ("0.1", "0", "nan"),
    "--lambda0": ("0.001", "-1"),
    "--lambda1": ("0.1", "inf"),
    "--form": ("edge", "activation", "other"),
    "--capacity": ("fc0=8,8,8,8", "fc1=32,0", "fc0=1", "x=", "=1"),
    "--pin": ("input=0", "fc2=1", "fc0=9", "fc0"),
    "--no-refit": (),
    "--acceptance": ("bounded", "endless", "endles"),
    "--set": ("lanes=2", "ports=4", "protocol.phases=2"),
    "--only": (str(ROOT / "examples/strategies.yaml"), "net.yaml", "missing.yaml"),
    "--draw": ("x.svg", "folder", "", "/dev/null", "a/b/x.svg", "/dev/full"),
    "--timeline": ("t.json", "folder", "/dev/full"),
    "--size": ("1MiB", "1GiB", "64MB"),
    "--group": ("0,1", "0-3"),
    "--chunks": ("1", "8"),
    "--algorithm": ("auto", "published", "ring", "bidirectional_ring", "hierarchical_2d_halves"),
    "--pattern": ("all_reduce", "all_to_all", "multicast"),
    "--strategy": ("MP2-DP2-PP1", "MP1-DP4-PP1", "TP4-DP1-PP1"),
    "--microbatches": ("1", "2"),
    "--samples": ("4", "16"),
    "--compute": ("first-principles", "scaled:0.5", "peak:2"),
    "--placement": ("auto", "linear"),
    "--energy": ("wafer", "cluster", "work.yaml", "missing.yaml"),
    "--endpoint": ("ideal", "ace", "core-driven:comp-opt", "ace:ends.yaml"),
    "--effort": ("1", "1000"),
    "--max-conflicts": ("1", "1000"),
    "--generation": ("1",),
    "--protocol": ("measured", "ideal"),
    "--mode": ("stationary", "streaming"),
    "--json": (),
    "--check": (),
    "--intra": ("fifo", "scf"),
    "--latency": ("occupancy", "pipelined"),
    "--compatible": (),
    "--overlap": (),
    "--waves": (),
    "--sizing": (),
    "--no-sizing": (),
    "--no-browser": (),
    "--help": (),
    "--network": (str(ROOT / "examples/astra-network.yaml"), "net.yaml", "fred-d"),
    "--communicator": (str(ROOT / "examples/libra/communicator.yml"), "net.yaml"),
    "--prices": (str(ROOT / "examples/libra/prices.yml"), "net.yaml"),
    "--system": (str(ROOT / "examples/astra-system.yaml"), "sys.yaml"),
    "--memory": (
        str(ROOT / "examples/astra-memory.yaml"),
        str(ROOT / "examples/pool-memory.yaml"),
        "mem.yaml",
    ),
    "--output": ("made", "made.et", "made.json", "folder", "a/b/made", ""),
    "--npus": ("1", "2"),
    "--passes": ("1", "3"),
    "--kineto": ("kineto.json", "trace.json"),
    "--limit": ("0", "2"),
    "--batch": ("64", "1024"),
    "--control": (),
    "--groups": (str(ROOT / "examples/astra-groups.yaml"), "groups.yaml"),
    "--network-model": ("fluid", "packet", "unaware", "aware", "loggops", "roce"),
    "--cc": ("pfc", "dcqcn", "dctcp", "timely", "hpcc", "hpcc-pint"),
    "--roce": (str(ROOT / "examples/roce.yaml"), "net.yaml"),
    "--chart": ("c.svg", "folder"),
    "--levels": ("1", "2", "3"),
    "--gpus-per-leaf": ("2", "4"),
    "--pods": ("2", "2,2", "0"),
    "--widths": ("1", "2,4", "x"),
    "--gbps": ("100", "100,400", "nan"),
    "--latency-us": ("1", "0.5,1", "-1"),
    "--nvswitches": ("0", "2"),
    "--gpus-per-server": ("2", "3"),
    "--nvlink-gbps": ("900", "1,2"),
    "--nvlink-latency-us": ("0.1",),
    "--loggops": ("L=20", "G=0.333", "O=1e15", "x=1"),
    "--job": tuple(f"{_STEP}:{rest}" for rest in ("0-3", "0,1,2,3:1", "3-0", "0-9", "0-3:1:2")),
    "--npu": ("hbm_bytes=1e9", "efficiency.matmul=0.5", "peak_flops=1e15", "efficiency={}"),
    "--npu-from": ("mesh:2x2", "fred-d"),
    "--as-is": (),
    "--readings": (),
    "--reading": ("compute=weights", "algorithm=auto,placement=linear", "compute"),
    "--level": tuple(LEVELS),
    "--collectives": ("in-network", "ring"),
    "--least-npus": ("1", "4"),
    "--best": ("1", "2"),
    "--cp": ("1", "2"),
    "--ep": ("1", "2"),
    "--sp": (),
    "--published": (),
    "--no-symmetry": (),
    "--num-queues-per-dim": ("1", "4", "0"),
    "--details": (),
    "--export": ("e.xml", "e.goal", "e", "folder"),
    "--collectives-csv": ("c.csv", "t.csv", "folder"),
    "--links-csv": ("l.csv", "t.csv", "folder"),
    "--no-repeats": (),
    "--csv": ("t.csv", "folder", "/dev/full"),
    "--scheduler": ("tcp://", "slurm:x", "tpc://a:1"),
    "--json-progress": (),
    "--retry-failed": (),
    "--parquet": ("t.parquet", "t.csv"),
    "--results": ("results.json",),
    "--spec": ("small-4",),  # of which there are no results, so no page is made
    "--liberty": (
        "net.yaml",
        "/dev/null",
        "folder",
        "./nangate45",
    ),  # no library, so nothing is mapped
    "--fpga": ("ecp5", "asic"),  # refused beside --liberty
    "--route": (),
    "--clock": ("0.853ns", "1GHz"),
    "--top": ("top",),
    "--verilog": ("spec.yaml",),
    "--seed": ("1", "-1"),
    "--test": ("no_test",),
    "--section": ("no-section",),
    "--density": ("107.4", "1000", "0", "nan"),
    "--npu-bandwidth": ("3000", "1"),
    "--io-bandwidth": ("128", "inf"),
    "--defect-density": ("0.1", "0", "1000"),
    "--clustering": ("3", "0"),
    "--wafer-price": ("10000", "-1"),
    "--test-price": ("5", "x"),
    "--bond-yield": ("0.99", "1.1"),
    "--search": (),
    "--max-chiplets": ("1", "40", "0"),
    "--min-port-bandwidth": ("600", "1e6"),
    "--max-area": ("858", "1"),
}
_WILD = ("--test", "--section")
"""Options whose known words would have a simulator run, or all figures made."""
COMMANDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "collective": (
        ("--topology",),
        (
            *("--size", "--group", "--chunks", "--algorithm", "--pattern", "--draw", "--check"),
            *("--network-model", "--intra", "--latency", "--compatible", "--export"),
            *("--cc", "--roce", "--chart"),
        ),
    ),
    "estimate": (
        ("--topology", "--workload"),
        (
            *(
                "--strategy",
                "--microbatches",
                "--samples",
                "--compute",
                "--placement",
                "--endpoint",
            ),
            *("--mode", "--timeline", "--algorithm", "--overlap", "--protocol"),
            *("--no-repeats", "--network-model", "--energy", "--cc", "--roce"),
            "--congestion-chart",
        ),
    ),
    f"estimate --workload {_STEP}": (
        ("--network", "--system", "--network-model"),
        (
            *("--memory", "--groups", "--topology", "--samples", "--control", "--timeline"),
            *("--num-queues-per-dim", "--details", "--csv", "--collectives-csv", "--links-csv"),
            *("--cc", "--roce", "--congestion-chart"),
        ),
    ),
    "estimate --network-model loggops": (("--workload", "--loggops"), ("--topology", "--memory")),
    "route": (
        (),
        (
            *(
                "--set",
                "--strategy",
                "--max-conflicts",
                "--generation",
                "--draw",
                "--size",
                "--output",
                "--certify",
            ),
            *("--collectives", "--algorithm", "--only"),
        ),
    ),
    "cost": (
        (),
        (
            *("--density", "--npu-bandwidth", "--io-bandwidth", "--defect-density"),
            *("--clustering", "--wafer-price", "--test-price", "--bond-yield", "--strategy"),
            *("--collectives", "--search", "--max-chiplets", "--min-port-bandwidth"),
            *("--max-area", "--csv"),
        ),
    ),
    "cost --defect-density 0.1 --clustering 3 --wafer-price 10000": (
        (),
        ("--density", "--test-price", "--bond-yield", "--strategy", "--search", "--csv"),
    ),
    "roce topology clos": (
        ("--output", "--gpus-per-leaf"),
        (
            *("--levels", "--pods", "--widths", "--gbps", "--latency-us", "--nvswitches"),
            *("--gpus-per-server", "--nvlink-gbps", "--nvlink-latency-us", "--wafer"),
        ),
    ),
    "roce topology convert": (("--output",), ()),
    "roce config": (("--output",), ()),
    "roce run": (("--topology",), ("--cc", "--roce", "--congestion-chart")),
    "presets": ((), ()),
    "verify": ((), ("--output",)),
    "check-deadlock": ((), ("--set", "--acceptance", "--strategy", "--unicasts")),
    "numerics": ((), ("--set", "--values", "--distribution", "--elements", "--format", "--seed")),
    "examples list": ((), ()),
    "examples copy": ((), ("--output",)),
    "gen": ((), ("--set", "--level", "--peakrdl", "--only")),
    "chakra show": ((), ("--limit",)),
    "chakra stats": ((), ("--control",)),
    "chakra validate": ((), ("--control", "--groups")),
    "chakra groups": (("--output",), ()),
    "chakra convert": (("--output",), ("--kineto", "--npus", "--passes", "--strategy")),
    f"estimate --network {ROOT}/examples/astra-network.yaml": (
        ("--system", "--job"),
        ("--network-model", "--memory", "--groups", "--npu", "--no-symmetry"),
    ),
    "cluster": (("--workload",), ("--batch", "--published", "--csv")),
    "libra": (
        (),
        (
            *("--workload", "--communicator", "--network", "--prices", "--weight"),
            *("--constraint", "--objective", "--csv"),
        ),
    ),
    "repurpose": (
        ("--workers", "--calibration"),
        (
            *("--architecture", "--max-error", "--lambda0", "--lambda1", "--form", "--capacity"),
            *("--pin", "--no-refit", "--topology", "--csv", "--output"),
        ),
    ),
    "compare": (
        ("--topology", "--workload"),
        (
            *("--compute", "--placement", "--algorithm", "--network-model", "--protocol", "--npu"),
            *("--npu-from", "--as-is", "--csv", "--memory", "--reading", "--energy"),
            *("--algorithms", "--switches", "--pattern", "--size", "--group", "--endpoint"),
        ),
    ),
    "strategies": (
        ("--topology", "--workload"),
        (
            *("--compute", "--placement", "--algorithm", "--network-model", "--protocol", "--npu"),
            *("--npu-from", "--as-is", "--mode", "--energy", "--endpoint"),
            *("--samples", "--least-npus", "--best", "--cp", "--ep", "--sp", "--csv", "--memory"),
        ),
    ),
    # Without --output a run is refused, so that no processes are started.
    "study run": (
        (),
        ("--scheduler", "--workers", "--screen", "--retry-failed", "--json-progress"),
    ),
    "study optimize": (
        (),
        ("--scheduler", "--workers", "--points", "--minutes", "--json-progress"),
    ),
    "study query": ((), ("--csv",)),
    "study export": ((), ()),
    "study migrate": ((), ()),
    # Without a store it is refused, so that no server is started.
    "explore": ((), ("--port", "--no-browser")),
    "report": (
        ("--output", "--spec", "--results", "--topology", "--workload"),
        ("--strategy", "--compute", "--least-npus", "--npu-from", "--as-is"),
    ),
    "synth": (
        ("--liberty",),
        (
            *("--set", "--level", "--clock", "--effort", "--top", "--verilog", "--output"),
            *("--sizing", "--no-sizing", "--fpga", "--route", "--only"),
        ),
    ),
    "power": (
        ("--liberty",),
        (
            *("--set", "--level", "--clock", "--effort", "--output", "--cycles", "--seed"),
            *("--sizing", "--no-sizing", "--mesh"),
        ),
    ),
    "sim": (("--test",), ("--set", "--level", "--seed", "--waves", "--output", "--only")),
    "reproduce": (("--section",), ("--compute", "--algorithm", "--protocol", "--readings")),
    "schema": ((), ("--output",)),
    "completion": ((), ()),
}
_FEW = {"--topology": ("mesh:2x2", "mesh:3x2"), "--workload": ("work.yaml", "resnet-152")}
_TAME: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "compare": _FEW,
    "strategies": _FEW,
    "study run": {"--workers": ("1", "0")},
    "study optimize": {"--workers": ("1", "0"), "--points": ("1", "0"), "--minutes": ("0.01", "0")},
    "report": {**_FEW, "--spec": _GIVEN["--spec"], "--results": _GIVEN["--results"]},
}
"""Words to keep to: all strategies of a large wafer take hours, as do all figures of a report."""


Line = tuple[list[str], dict[str, bytes]]
"""The words of a command line, and the files that they name."""


@st.composite
def lines(
    draw: st.DrawFn, made: Mapping[str, st.SearchStrategy[bytes]], wild: st.SearchStrategy[str]
) -> Line:
    """Draw a command line.

    Parameters
    ----------
    made : mapping of str to SearchStrategy
        What is in the files that words may name.
    wild : SearchStrategy
        Words that no option asks for.
    """
    name = draw(st.sampled_from(sorted(COMMANDS)))
    required, others = COMMANDS[name]
    words = name.split()
    words += [draw(st.sampled_from(one)) for one in _READ.get(name, ())]
    chosen = draw(st.lists(st.sampled_from([*others, "--json"]), max_size=4, unique=True))
    for option in (*required, *chosen):
        words.append(option)
        if _GIVEN[option]:
            known = _TAME.get(name, {}).get(option, _GIVEN[option])
            is_wild = option in _WILD or (
                option not in _TAME.get(name, ()) and draw(st.integers(0, 4)) == 0
            )
            words.append(draw(wild if is_wild else st.sampled_from(known)))
    if draw(st.integers(0, 9)) == 0:
        words.insert(draw(st.integers(0, len(words))), draw(wild))
    files = {file: draw(one) for file, one in made.items() if file in words}
    # As the system hands over what is no UTF-8; no word has a NUL.
    return [_as_argument(word) for word in words], files


def _as_argument(word: str) -> str:
    data = word.replace("\0", "").encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "surrogateescape")


def run_line(inputs: tuple[list[str], dict[str, bytes]], folder: Path) -> None:
    """Run a command line, and check status, output and error line."""
    words, files = inputs
    (folder / "folder").mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    status: object = None
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    quiet = patch.object(progress, "_QUIET_S", 600.0)  # however slow the machine
    with contextlib.chdir(folder), _arguments(words), quiet, streams[0], streams[1]:
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    out.seek(0)
    said, line = out.read(), err.getvalue()
    while line.startswith("warning: "):
        warning, line = line.split("\n", 1)
        assert len(warning) <= LINE + len("warning: ")
    assert status in (0, 2, 3, 4), (status, line)
    if status == 2:
        assert line.endswith("\n")
        check_line(line[:-1])
        assert "error: memory" not in line, line
    else:
        assert line == "", line
        # A trace may hold what is no number, and is shown as it is.
        assert "show" in words or not re.search(r"\b(inf|nan)\b", said), said
        if "--json" in words and "--help" not in words:
            json.loads(said, parse_constant=_no_constant)


def _no_constant(text: str) -> None:
    raise AssertionError(f"JSON has no {text}")


@contextlib.contextmanager
def _arguments(words: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, ["fred", *words]
    try:
        yield
    finally:
        sys.argv = before


def check_line(line: str) -> None:
    """Fail unless this is an error line."""
    assert line.startswith("error: "), line
    assert len(line) <= LINE, line
    assert line.isprintable(), line
