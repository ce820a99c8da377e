"""Figures printed in papers, the only such figures of the model; those of hardware are in fred_hw.

First the parameters of the published wafer, in SI base units, with which the model works. Then its
published results: ours are compared with them, columns may derive values from them, and no time is
computed from them except by ``calibrated``. Values that we derive ourselves are in
``perfmodel.derived``. Data-sheet rates are defined with their NPU: ``training.compute`` and
``studies.a100``.
"""

from dataclasses import dataclass

__all__ = [
    "A100_ACTIVATIONS",
    "A100_ITERATION",
    "A100_STATES",
    "ACK_SHARE",
    "BISECTION",
    "BUFFER",
    "CHIPLET_AREA_MM2",
    "CLOSER",
    "COMET_GAIN",
    "COMET_SPREAD",
    "COMPUTE_AREA",
    "DENSE_IO_AREA",
    "FRED_VARIANTS",
    "GPT_3_GAIN",
    "HBM_BYTES_PER_S",
    "INPUT_LOAD",
    "IO_AREA_MM2",
    "IO_BYTES_PER_S",
    "IO_GB_PER_S_PER_MM",
    "LINE_RATE",
    "LINK_LATENCY_S",
    "LOGIC_SHARE",
    "NPU_AREA_MM2",
    "NPU_L1_BYTES_PER_S",
    "ORDER",
    "PAPER",
    "PARAMETERS",
    "SPEEDUP_C",
    "SPEEDUP_D",
    "SQUARE_HOT_SPOT",
    "STRATEGY_BANDWIDTH",
    "SWEEPS",
    "SWITCH_AREA",
    "SWITCH_POWER",
    "SWITCH_POWER_W",
    "TRAFFIC_SAVED",
    "TRAFFIC_SHARE",
    "WAFER_BANDWIDTH",
    "WAFER_POWER_W",
    "WORST_LINK",
    "Published",
    "Statement",
    "Sweep",
]

PAPER = "Rashidi et al., FRED, arXiv 2406.19580"

LINK_LATENCY_S = 20e-9
"""Latency of a link in one direction [s]."""

NPU_L1_BYTES_PER_S = 3e12
"""Bandwidth between an NPU and its L1 switch, each direction [B/s]."""

IO_BYTES_PER_S = 128e9
"""Bandwidth of an I/O controller, each direction [B/s]."""

HBM_BYTES_PER_S = 3e12
"""Bandwidth of the five HBM3 stacks of an NPU [B/s]."""

FRED_VARIANTS = {
    "fred-a": (1.5e12, False),
    "fred-b": (1.5e12, True),
    "fred-c": (12e12, False),
    "fred-d": (12e12, True),
}
"""Bandwidth between an L1 and the L2 [B/s], and whether switches reduce and multicast."""


@dataclass(frozen=True, slots=True)
class Published:
    """A figure from the literature.

    Parameters
    ----------
    printed : str
        The digits as printed, which show the precision.
    source : str
        Section of the paper, or another publication.
    unit : float
        Unit of the digits, in SI base units or in the unit named at the definition.
    about : bool
        Whether the text says "about", "around" or the like.
    """

    printed: str
    source: str
    unit: float = 1.0
    about: bool = False

    @property
    def value(self) -> float:
        """The figure."""
        return float(self.printed) * self.unit

    @property
    def last_digit(self) -> float:
        """One unit of the last printed digit."""
        return 10.0 ** -len(self.printed.partition(".")[2]) * self.unit

    def rounds(self, value: float) -> bool:
        """Return whether a value, rounded to the printed digits, equals the figure."""
        return abs(value - self.value) <= self.last_digit / 2


@dataclass(frozen=True, slots=True)
class Statement:
    """A qualitative claim of a publication.

    Parameters
    ----------
    words : str
        The claim in one or two words.
    source : str
        Where, and as far as it matters how.
    """

    words: str
    source: str


def _section(number: str, text: str) -> str:
    return f"{PAPER}, section {number}: {text}"


_SPEEDUP = _section("8.2", "end-to-end speed-up over the mesh")

SPEEDUP_C: dict[str, Published] = {
    "resnet-152": Published("1.41", _SPEEDUP),
    "transformer-17b": Published("1.75", _SPEEDUP),
    "gpt-3": Published("1.34", _SPEEDUP),
    "transformer-1t": Published("1.4", _SPEEDUP),
}
"""End-to-end speed-up of FRED-C over the mesh."""

SPEEDUP_D: dict[str, Published] = {
    "resnet-152": Published("1.76", _SPEEDUP),
    "transformer-17b": Published("1.87", _SPEEDUP),
    "gpt-3": Published("1.34", _SPEEDUP),
    "transformer-1t": Published("1.4", _SPEEDUP),
}
"""End-to-end speed-up of FRED-D over the mesh."""

ORDER = Statement("yes", _section("8.2", "FRED-A and B lie between the mesh and FRED-C"))
"""Speed-ups of FRED-A and B, for every workload."""

INPUT_LOAD: dict[str, Statement] = {
    name: Statement(
        "exposed" if name == "transformer-1t" else "hidden",
        _section("8.2", 'no input load is exposed but that of Transformer-1T, "very negligible"'),
    )
    for name in SPEEDUP_C
}
"""Whether loading the next input affects the iteration time."""

GPT_3_GAIN = Published("4", _section("8.2", "MP and PP about 4 times better"), about=True)
"""Exposed MP and exposed PP of GPT-3: mesh over FRED-C, and mesh over FRED-D."""

_WAFER = _section("8.1", "effective NPU bandwidth of a wafer-wide all-reduce")
_HALF = f"{_WAFER}; with about half the traffic, so it is bytes of the vector over time"

WAFER_BANDWIDTH: dict[str, Published] = {
    "mesh:5x4": Published("1500", f'{_WAFER}, "around" 2 x 750, by the corners', 1e9, about=True),
    "fred-a": Published("1850", f"{_WAFER}, as 375 + 4 x 375, which is 1875", 1e9),
    "fred-b": Published("1500", _HALF, 1e9),
    "fred-c": Published("3", _WAFER, 1e12),
    "fred-d": Published("3", _HALF, 1e12),
}
"""Bytes that an NPU sends in a wafer-wide all-reduce divided by its time [B/s], as published."""

_STRATEGY = _section("8.1", "effective NPU bandwidth under MP2-DP5-PP2")
_FRED_3 = {f"fred-{name}": Published("3", _STRATEGY, 1e12) for name in "abcd"}
_MESH = {"mesh:5x4": Published("750", _STRATEGY, 1e9)}

STRATEGY_BANDWIDTH: dict[str, dict[str, Published]] = {
    "mp": _MESH | _FRED_3,
    "dp": _MESH | {"fred-a": Published("375", _STRATEGY, 1e9), "fred-c": _FRED_3["fred-c"]},
    "pp": _MESH | _FRED_3,
}
"""Bytes that an NPU sends divided by the time [B/s], for each communication of MP2-DP5-PP2."""

CLOSER = Statement("B", _section("8.1", 'FRED-A is "worse than the baseline", B "closer to it"'))
"""Which of FRED-A and B is closer to the mesh in the DP all-reduce of MP2-DP5-PP2."""

TRAFFIC_SHARE = Published("0.5", _section("8.1", "about half the traffic"), about=True)
"""Bytes that an NPU sends in a wafer-wide in-network all-reduce, relative to the endpoint
algorithm."""

TRAFFIC_SAVED = Published("37.5", _section("8.1", "37.5 % less traffic"))
"""Traffic that in-network collectives save in the DP all-reduce of MP2-DP5-PP2 [%]."""

_BISECTION = f"{PAPER}, table of the fabrics"

BISECTION: dict[str, Published] = {
    "mesh:5x4": Published("3.75", _BISECTION, 1e12),
    "fred-a": Published("3.75", _BISECTION, 1e12),
    "fred-b": Published("3.75", _BISECTION, 1e12),
    "fred-c": Published("30", _BISECTION, 1e12),
    "fred-d": Published("30", _BISECTION, 1e12),
}
"""Bisection bandwidth, one direction [B/s]."""

SQUARE_HOT_SPOT = Statement("2 N - 1", _section("3.2", "(2N - 1) times the rate of one channel"))
"""Load of the worst link of an N x N mesh, relative to the rate of one channel."""

WORST_LINK = Published("1152", _section("8.2", "(2 x 5 - 1) x 128 GB/s"))
"""Rate that the worst link of the 5 x 4 mesh would have to carry [GB/s]."""

_LINE_RATE = _section("8.2", "1152 GB/s against 750 GB/s on the mesh; FRED at full rate")

LINE_RATE: dict[str, Published] = {
    "mesh:5x4": Published("0.65", _LINE_RATE),
    "fred-c": Published("1", _LINE_RATE),
    "fred-d": Published("1", _LINE_RATE),
}
"""Share of their line rate at which I/O controllers stream the weights of GPT-3 and of
Transformer-1T."""

CHIPLET_AREA_MM2 = {12: 685.0, 11: 678.0, 10: 814.0}
"""Area of a switch chiplet by number of ports [mm2], chosen so that the published sum results."""

NPU_AREA_MM2, IO_AREA_MM2 = 1314, 20
"""Area of an NPU, and of an I/O controller, chosen so that the published sum results [mm2]."""

IO_GB_PER_S_PER_MM = (107.4, 250, 1000)
"""Bandwidth per edge length of a chiplet, and that of later technologies [GB/s/mm] (section
6.2.3)."""

SWITCH_POWER_W, WAFER_POWER_W = 179.35, 15000
"""Power of all switches, and of the wafer [W] (section 6.2.3)."""

SWITCH_AREA = Published("25195", _section("6.2.3", "switch area"))
"""Area of all switch chiplets [mm2]."""

COMPUTE_AREA = Published("26640", f"{PAPER}, table of areas: 20 NPUs and 18 controllers")
"""Area of NPUs and I/O controllers [mm2]."""

DENSE_IO_AREA: dict[float, Published] = {
    250: Published("18.4", _section("6.2.3", "switch area at 250 GB/s/mm")),
    1000: Published("5", _section("6.2.3", "switch area at 1 TB/s/mm")),
}
"""Switch area at higher I/O densities [GB/s/mm], relative to the first density [%]."""

LOGIC_SHARE = Published("5", _section("6.2.3", "internal logic under 5 % of a chiplet"))
"""Largest share of a switch chiplet's area that is logic [%]."""

SWITCH_POWER = Published("1.2", _section("6.2.3", "power overhead"), about=True)
"""Power of the switches, relative to the wafer's power [%]."""

BUFFER = Published("24", _section("6.2.3", "24 KB per data VC, link bandwidth x round trip"))
"""Buffer of each virtual channel of a port [KB]."""

ACK_SHARE = Published("1", _section("6.2.3", "an ack per 16 packets: under 1 % of the bandwidth"))
"""Largest share of the link rate that acks take [%]."""

_HUB = "parameters of the model on Hugging Face"

PARAMETERS: dict[str, Published] = {
    "resnet-152": Published("60.2", "torchvision, resnet152; He et al. give operations only", 1e6),
    "transformer-17b": Published("17.2", "Microsoft Research blog, Turing-NLG, 2020-02-10", 1e9),
    "gpt-3": Published("175", "Brown et al., arXiv 2005.14165, table 2.1", 1e9),
    "transformer-1t": Published("1008", "Narayanan et al., arXiv 2104.04473, table 1", 1e9),
    "llama-3-8b": Published("8.03", f"{_HUB}, meta-llama/Meta-Llama-3-8B", 1e9),
    "llama-3-70b": Published("70.6", f"{_HUB}, meta-llama/Meta-Llama-3-70B", 1e9),
    "llama-3-405b": Published("406", f"{_HUB}, meta-llama/Llama-3.1-405B; 405 by name", 1e9),
    "mixtral-8x7b": Published("46.7", "Mistral AI, announcement of Mixtral, 2023-12-11", 1e9),
    "dlrm": Published("26.1", "rows of MLCommons' reference command times 128", 1e9),
    "resnet-50": Published("25.6", "torchvision, resnet50", 1e6),
    "gnmt": Published("278", "Shazeer et al., arXiv 1701.06538, table 2", 1e6, about=True),
}
"""Trainable parameters of the networks."""


_KORTHIKANTI = "Korthikanti et al., arXiv 2205.05198"
_MEMORY = f"{_KORTHIKANTI}, figure 1, as calculon's llm/validation.py has it"


def _by_model(source: str, *printed: str) -> dict[str, Published]:
    names = ("22B", "GPT-3", "530B", "1T")
    return {name: Published(one, source) for name, one in zip(names, printed, strict=True)}


A100_ACTIVATIONS = _by_model(_MEMORY, "59.25", "66.84", "114.02", "131.25")
"""Activations of an A100 without recomputation [GiB]."""

A100_STATES = _by_model(_MEMORY, "45.56", "45.56", "31.64", "32.96")
"""Parameters, gradients and optimizer states of an A100 [GiB]."""

_TABLE_5 = f"{_KORTHIKANTI}, table 5"

A100_ITERATION: dict[str, dict[str, Published]] = {
    "full": _by_model(_TABLE_5, "1.42", "18.13", "49.05", "94.42"),
    "selective": _by_model(_TABLE_5, "1.10", "13.75", "37.83", "71.49"),
}
"""Iteration time on A100s by recomputation [s]; `selective` is with sequence parallelism."""

_COMET = "Kadiyala et al., COMET, arXiv 2211.16648 v2, abstract"

COMET_SPREAD = Published("7.7", f"{_COMET}: configurations differ by up to this factor")
"""Largest ratio of the slowest to the fastest configuration of a cluster."""

COMET_GAIN = Published("1.4", f"{_COMET}: memory expansion improves performance up to this")
"""Largest speed-up of the best strategy by expanded memory."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Published averages over all strategies of 20 NPUs.

    Parameters
    ----------
    samples_per_replica : int
        Samples in an iteration for each replica.
    microbatches : dict
        By the number of pipeline stages.
    exposed, speedup : Published
        How much less exposed communication, and how much faster, FRED-D is than the mesh.
    best : Statement
        Strategy that has the least compute, and is fastest on FRED-D.
    fastest_on : Statement or None
        Where the strategy with the least compute is the fastest, as far as the text says.
    """

    samples_per_replica: int
    microbatches: dict[int, int]
    exposed: Published
    speedup: Published
    best: Statement
    fastest_on: Statement | None = None


_SWEEP = _section("8.3", "average over all strategies, minibatch 40 x DP, FRED-D over the mesh")
_BEST = _section("8.3", "the most compute-efficient strategy is the fastest on FRED-D")

SWEEPS: dict[str, Sweep] = {
    "transformer-17b": Sweep(
        40,
        {1: 1, 2: 10, 4: 20, 5: 20, 10: 20, 20: 40},
        Published("4.22", _SWEEP),
        Published("1.63", _SWEEP),
        Statement("MP20-DP1-PP1", _BEST),
        Statement("FRED-D alone", f"{_BEST}, and not on the mesh"),
    ),
    "transformer-1t": Sweep(
        40,
        {1: 1, 2: 2, 4: 4, 5: 5, 10: 10, 20: 20},
        Published("3.92", _SWEEP),
        Published("1.44", _SWEEP),
        Statement("MP5-DP1-PP4", _BEST),
    ),
}
"""Published sweeps over strategies."""
