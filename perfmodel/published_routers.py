"""Latency against load of a published router, from stored simulation logs.

All are of BookSim 2 (Jiang et al., "A detailed and flexible cycle-accurate network-on-chip
simulator", ISPASS 2013), a model of a router in C++, on a mesh of 8 x 8. Its authors print no such
tables: these are results that two student projects committed, of one run and one seed for each
load, taken from there by reading. Latencies are rounded to a tenth of a cycle, from the making of
a packet, its source's queue included, to its last flit. What follows from these figures is worked
out in ``studies.saturation``.
"""

from dataclasses import dataclass

from .published import Published

__all__ = ["GIVEN_UP_CYCLES", "PATTERN_CURVES", "TRANSPOSE_20", "UNIFORM_CURVES", "RouterCurve"]

GIVEN_UP_CYCLES = 500.0
"""Mean latency at which a run is aborted [cycles]."""

_A = "BookSim 2 (ISPASS 2013), github.com/shiruimin123/IL2236_project"
_A_1 = f"{_A}@00f66021475d85ec25bd0b889d7b3e92edf353e2"
_A_2 = f"{_A}@e4e14efe52105b9b108022926208d41a912c096a"
_B = (
    "BookSim 2 (ISPASS 2013), github.com/vjc9duke/hybrid-routing"
    "@1d3281f9f7ce681c59940dae40eb48c767c94cef"
)
_B_LOG = (
    "BookSim 2 (ISPASS 2013), github.com/vjc9duke/hybrid-routing"
    "@c91004422bcab62881ad94fd6ee14b76f54ae9b0, dor_uniform.txt"
)


@dataclass(frozen=True, slots=True)
class RouterCurve:
    """Latency of a mesh of 8 x 8 routers against load.

    Parameters
    ----------
    source : str
        Publication, repository, commit and file.
    pattern, routing : str
        Our names; ``odd_even`` is adaptive there.
    packet_flits : int
        Flits of a packet.
    channels, channel_flits : int
        Virtual channels of a port, and the buffer size of each in flits.
    capacity : float
        Flits per node and cycle that single links allow with X-Y, by counting: with uniform traffic
        half a flit, as nodes also send to themselves.
    loads : tuple of float
        Offered loads, in ascending order [``load_flits`` per node and cycle].
    load_flits : float
        Unit of loads [flits].
    latencies : tuple of float
        Latency at each load [cycles].
    given_up : float or None
        Next load, whose run was stopped; None if the last latency shows saturation.
    beyond : Published or None
        Accepted load at an offered load beyond saturation [flits per node and cycle].
    """

    source: str
    pattern: str
    routing: str
    packet_flits: int
    channels: int
    channel_flits: int
    capacity: float
    loads: tuple[float, ...]
    load_flits: float
    latencies: tuple[float, ...]
    given_up: float | None = None
    beyond: Published | None = None

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """Pairs of relative load and latency [cycles]; ``given_up`` at ``GIVEN_UP_CYCLES``."""
        ends = () if self.given_up is None else ((self.given_up, GIVEN_UP_CYCLES),)
        found = (*zip(self.loads, self.latencies, strict=True), *ends)
        return tuple((load * self.load_flits / self.capacity, cycles) for load, cycles in found)

    @property
    def buffer_flits(self) -> int:
        """Buffer size of a port [flits]."""
        return self.channels * self.channel_flits


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


def _uniform(
    source: str,
    sizes: tuple[int, int, int],
    loads: str,
    latencies: str,
    beyond: Published | None = None,
) -> RouterCurve:
    """Return a curve under uniform traffic; ``sizes``: packet flits, channels, channel flits."""
    size, channels, depth = sizes
    return RouterCurve(
        source=source,
        pattern="uniform",
        routing="xy",
        packet_flits=size,
        channels=channels,
        channel_flits=depth,
        capacity=0.5,
        loads=_numbers(loads),
        load_flits=0.5,
        latencies=_numbers(latencies),
        beyond=beyond,
    )


_SHARES = "0.05 0.10 0.20 0.30 0.40 0.50 0.55 0.60 0.65 0.70 0.75 0.80 0.85 0.90"
_TO_75 = _SHARES.removesuffix(" 0.80 0.85 0.90")
_STEPS = (
    "0.04 0.08 0.12 0.16 0.20 0.24 0.28 0.32 0.36 0.40 0.44 0.48 0.52 0.56 0.60 0.64 0.68 0.72 "
    "0.76 0.80 0.84 0.88"
)

_FINE = " ".join(f"{2 * step / 100:.2f}" for step in range(1, 41))
_TO_66 = " ".join(_FINE.split()[:33])

UNIFORM_CURVES: dict[str, RouterCurve] = {
    "1 flit, 8 VC x 8": _uniform(
        f"{_A_1}, verify/f25.9/PS=1/25.9-1.txt",
        (1, 8, 8),
        _TO_75,
        "27.3 27.0 27.2 27.5 27.7 28.1 28.5 29.1 30.7 48.1 396.5",
    ),
    "5 flits, 8 VC x 8": _uniform(
        f"{_A_1}, verify/f25.9/ps=5/25.9-5.txt",
        (5, 8, 8),
        _SHARES,
        "31.5 31.6 32.6 34.2 35.9 38.5 40.7 42.4 43.9 48.0 52.0 57.2 81.1 252.9",
    ),
    "10 flits, 8 VC x 8": _uniform(
        f"{_A_1}, verify/f25.9/ps=10/25.9-10.txt",
        (10, 8, 8),
        _SHARES,
        "36.8 37.4 39.6 42.6 46.6 52.3 56.0 59.1 65.8 75.4 81.0 110.9 149.5 352.2",
    ),
    "20 flits, 8 VC x 8": _uniform(
        f"{_A_2}, verify/figure1/dor/results_dor.txt",
        (20, 8, 8),
        _STEPS,
        "47.4 49.1 50.9 52.7 54.6 57.3 60.1 62.9 64.8 72.4 73.5 76.4 83.6 87.0 95.7 107.3 121.9 "
        "140.5 162.4 236.5 305.2 475.7",
        Published("0.4306", f"{_A_2}, verify/figure1/dor, log .030, third window of 1,000 cycles"),
    ),
    "20 flits, 4 VC x 8": _uniform(
        f"{_A_2}, verify/figure7/48/results_48.txt",
        (20, 4, 8),
        _FINE,
        "45.9 47.4 47.5 49.2 49.8 50.8 51.5 52.7 53.1 55.1 54.9 57.5 58.0 59.2 60.3 62.0 63.8 "
        "64.7 66.2 68.4 68.5 73.0 72.6 76.3 79.7 82.2 83.7 87.6 89.7 94.9 97.1 106.4 111.1 "
        "120.0 126.4 156.7 175.6 262.3 342.9 305.5",
        Published("0.3885", f"{_A_2}, verify/figure7/48, log .0200"),
    ),
    "20 flits, 2 VC x 16": _uniform(
        f"{_A_2}, verify/figure7/216/results_216.txt",
        (20, 2, 16),
        _TO_66,
        "45.9 47.4 47.6 49.1 49.6 50.6 51.5 51.5 52.5 52.8 54.2 55.8 56.9 57.1 58.3 58.7 61.4 "
        "62.1 64.5 65.3 66.4 69.0 73.5 76.9 82.7 78.7 87.5 101.3 95.9 145.2 175.2 236.7 340.1",
        Published("0.3279", f"{_A_2}, verify/figure7/216, log .0200, third window of 1,000"),
    ),
}
"""X-Y routing, uniform traffic, routers with input speed-up 2 and one iteration of iSLIP; a channel
is reallocated after the credit of its last packet's tail (`mesh88_lat`; packets of 1, 5 and 10
flits have no stored configuration, and those of 20 flits equal the stored ones in all digits)."""

TRANSPOSE_20 = RouterCurve(
    source=f"{_A_2}, verify/figure2/dor/results_dor.txt",
    pattern="transpose",
    routing="xy",
    packet_flits=20,
    channels=8,
    channel_flits=8,
    capacity=1 / 7,
    loads=_numbers("0.02 0.04 0.06 0.08 0.10 0.12 0.14 0.16"),
    load_flits=1.0,
    latencies=_numbers("46.7 48.0 52.6 56.0 62.8 72.8 133.8 323.0"),
    beyond=Published("0.1516", f"{_A_2}, verify/figure2/dor, log at 0.16 flits"),
)
"""Transpose traffic on the same router with packets of 20 flits; the diagonal sends to itself."""


def _by_flits(
    pattern: str,
    routing: str,
    bound: float,
    loads: str,
    latencies: str,
    given_up: float | None = None,
    beyond: Published | None = None,
) -> RouterCurve:
    """Return a curve for packets of one flit, with loads in flits per node and cycle."""
    names = {"complement": "bitcomp"}
    column = {"xy": "dor"}.get(routing, routing)
    return RouterCurve(
        source=f"{_B}, {names.get(pattern, pattern)}.csv, {column}",
        pattern=pattern,
        routing=routing,
        packet_flits=1,
        channels=16,
        channel_flits=8,
        capacity=bound,
        loads=_numbers(loads),
        load_flits=1.0,
        latencies=_numbers(latencies),
        given_up=given_up,
        beyond=beyond,
    )


_TO_23 = "0.01 0.05 0.09 0.13 0.15 0.17 0.19 0.21 0.23"

PATTERN_CURVES: tuple[RouterCurve, ...] = (
    _by_flits(
        "uniform",
        "xy",
        0.5,
        f"{_TO_23} 0.25 0.27 0.31 0.35 0.39 0.41 0.43",
        "26.8 27.0 27.2 27.4 27.6 27.7 27.7 27.9 28.2 28.2 28.6 29.5 30.7 35.3 73.2 261.8",
        0.45,
        Published("0.4137", f"{_B_LOG}, at 0.45 flits to cycle 10,000, then given up"),
    ),
    _by_flits(
        "transpose", "xy", 1 / 7, "0.01 0.05 0.09 0.13 0.15", "26.7 27.2 27.3 28.4 104.8", 0.17
    ),
    _by_flits(
        "tornado",
        "xy",
        1 / 3,
        f"{_TO_23} 0.25",
        "36.0 36.1 36.3 36.5 36.8 37.1 37.5 38.1 39.2 42.0",
        0.27,
    ),
    _by_flits(
        "complement", "xy", 1 / 4, _TO_23, "37.7 38.1 38.3 38.9 39.2 39.6 40.5 42.1 48.1", 0.25
    ),
    _by_flits(
        "uniform",
        "odd_even",
        0.5,
        f"{_TO_23} 0.25 0.27 0.29 0.31",
        "26.9 27.1 27.4 27.7 28.0 28.2 28.4 28.9 29.4 29.9 30.7 31.7 58.3",
        0.33,
    ),
    _by_flits(
        "transpose",
        "odd_even",
        1 / 7,
        "0.01 0.05 0.09 0.13 0.15 0.17 0.19 0.21",
        "26.7 27.4 27.6 28.4 29.2 30.2 32.8 45.7",
        0.23,
    ),
    _by_flits(
        "tornado",
        "odd_even",
        1 / 3,
        "0.01 0.05 0.09 0.13 0.15 0.17 0.19",
        "36.0 36.3 37.0 38.4 39.5 41.0 44.3",
        0.21,
    ),
    _by_flits("complement", "odd_even", 1 / 4, "0.01 0.05 0.09 0.13", "37.8 38.6 39.9 44.2", 0.15),
)
"""Four traffic patterns and two routings with packets of one flit; no speed-up inside routers, two
iterations of iSLIP. ``odd_even`` is that project's own variant, an aborted run may also have taken
1,000 s, and tornado also shifts columns by three."""
