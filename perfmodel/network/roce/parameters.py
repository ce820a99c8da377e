"""RoCE parameters: switches, senders and congestion controllers."""

from typing import Annotated, Any

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import ROCE
from fred_hw.files import FileModel, int_range, number_range, one_of

from .controllers.control import Control

__all__ = ["SCHEMES", "MarkEntry", "RoceFile"]

SCHEMES = ("pfc", "dcqcn", "dctcp", "timely", "hpcc", "hpcc-pint")
"""Congestion control schemes; ``pfc`` has no controller, only the switches pause links."""

_GBPS = 0.125
"""One Gb/s in bytes per ns."""

_TELEMETRY_BYTES = {"timely": 8, "hpcc-pint": 2}
"""Telemetry in each packet by scheme [B]: a time stamp, or one utilization."""

_SENSITIVE = ("dcqcn", "timely")
"""Schemes under which one mark or one round-trip time can decide how long a flow takes."""

_TRAIN = 16
"""Packets that are simulated as one by default, under all other schemes."""

_Time = Annotated[float, number_range(1e-3, 1e9)]
_Rate = Annotated[float, number_range(1e-6, 1e6)]
_Share = Annotated[float, number_range(0, 1)]
_Size = Annotated[float, number_range(0, 1e9)]


class MarkEntry(FileModel):
    """ECN thresholds for links of a given rate.

    Parameters
    ----------
    gbps : float
        Rate of the links [Gb/s].
    kmin_kb : float
        Queue length below which no packet is marked [kB].
    kmax_kb : float
        Queue length above which every packet is marked [kB].
    pmax : float
        Probability of a mark just below ``kmax_kb``.
    """

    gbps: _Rate
    kmin_kb: _Size
    kmax_kb: _Size
    pmax: _Share = 0.2


_MARKS = ((25, 100, 400), (40, 200, 800), (100, 400, 1600), (200, 600, 2400), (400, 800, 3200))
_MARKED = [MarkEntry(gbps=r, kmin_kb=a, kmax_kb=b) for r, a, b in (*_MARKS, (2400, 800, 3200))]


class DcqcnEntry(FileModel):
    """Parameters of DCQCN.

    Parameters
    ----------
    alpha_interval_us : float
        Time between updates of the congestion estimate [us].
    decrease_interval_us : float
        Time between decreases of the rate [us].
    increase_timer_us : float
        Time between increases of the rate [us].
    gain : float
        Weight of a new sample in the congestion estimate; DCTCP has the same.
    fast_recovery_times : int
        Increases that halve the distance to the target, before the target rises.
    clamp_target_rate : bool
        Whether a decrease always lowers the target to the rate.
    rate_on_first : float
        Share of the rate that is left after the first notification.
    """

    alpha_interval_us: _Time = 1
    decrease_interval_us: _Time = 4
    increase_timer_us: _Time = 900
    gain: _Share = 1 / 256
    fast_recovery_times: Annotated[int, int_range(0, 1000)] = 1
    clamp_target_rate: bool = False
    rate_on_first: Annotated[float, number_range(1e-3, 1)] = 1


class TimelyEntry(FileModel):
    """Parameters of TIMELY.

    Parameters
    ----------
    t_low_us : float
        Round-trip time below which the rate always rises [us].
    t_high_us : float
        Round-trip time above which the rate always falls [us].
    min_rtt_us : float
        Round-trip time by which gradients are divided [us].
    weight : float
        Weight of a new difference of round-trip times in the mean.
    decrease_factor : float
        Factor of the decrease.
    hyper_after : int
        Successive increases before they become larger.
    """

    t_low_us: _Time = 50
    t_high_us: _Time = 500
    min_rtt_us: _Time = 20
    weight: _Share = 0.875
    decrease_factor: _Share = 0.8
    hyper_after: Annotated[int, int_range(0, 1000)] = 5


class HpccEntry(FileModel):
    """Parameters of HPCC, with telemetry of every hop and with PINT.

    Parameters
    ----------
    target : float
        Utilization to reach.
    max_stage : int
        Additive increases before the next multiplicative change.
    fast_react : bool
        Whether every ack changes the rate, and not one in a round trip.
    pint_log_base : float
        Ratio of neighbouring utilizations that a packet with PINT can carry.
    pint_probability : float
        Share of acks with PINT that the sender looks at.
    telemetry_bytes : int
        Telemetry of a packet without PINT [B]: a count, and 8 bytes for each of five hops.
    """

    target: Annotated[float, number_range(0.01, 1)] = 0.95
    max_stage: Annotated[int, int_range(0, 1000)] = 0
    fast_react: bool = True
    pint_log_base: Annotated[float, number_range(1.0001, 10)] = 1.05
    pint_probability: Annotated[float, number_range(1e-6, 1)] = 1
    telemetry_bytes: Annotated[int, int_range(0, 1000)] = 42


class RoceFile(FileModel):
    """RoCE parameters; defaults are those of the published configuration.

    Parameters
    ----------
    congestion_control : str
        Scheme.
    packet_bytes : int
        Payload of a packet [B].
    header_bytes : int
        Headers of a packet, without the telemetry of a scheme [B].
    ack_bytes : int
        An ack [B]. Acks have priority: they wait for no data and take no bandwidth.
    train_packets : int or None
        Packets that are simulated as one; 1 is exact. Without it, 1 under ``dcqcn`` and ``timely``,
        whose results trains change by factors, and 16 under other schemes. Where packets can be
        lost, without ``pfc`` or with an ``error_rate``, each is simulated alone.
    buffer_mib : float
        Shared buffer of a switch [MiB].
    pfc : bool
        Whether switches pause links. Without ``pfc``, switches drop packets.
    dynamic_threshold : bool
        Whether the threshold of a port falls as the buffer fills.
    threshold_kb : float
        Threshold of a port without ``dynamic_threshold`` [kB].
    threshold_shift : int
        Shift of the dynamic threshold, which is the free buffer >> shift. The shift is one less for
        each doubling of the rate of a port over the rate of the slowest NIC.
    reserve_bytes : int
        Buffer space of each port alone [B].
    resume_bytes : int
        Distance below the threshold at which a port is resumed [B].
    headroom_factor : float
        Headroom of a port in rate x delay of its link.
    ecn : list of MarkEntry
        Thresholds by the rate of a link. A link uses the entry with the highest rate that is not
        above its own.
    window : bool
        Whether a flow has at most the bandwidth-delay product of its path in flight.
    global_window : bool
        Whether every flow has the largest window of all paths.
    variable_window : bool
        Whether the window shrinks with the rate.
    paced : bool
        Whether senders space packets by the rate.
    min_rate_gbps : float
        Lowest rate of a flow [Gb/s].
    additive_gbps : float
        Additive increase [Gb/s].
    hyper_gbps : float
        Larger increase of DCQCN and TIMELY [Gb/s].
    dctcp_additive_gbps : float
        Additive increase of DCTCP [Gb/s].
    error_rate : float
        Probability that a link corrupts a packet.
    back_to_zero : bool
        Whether a nack goes back to the start of a chunk.
    chunk_bytes : int
        Size of a chunk, to whose start ``back_to_zero`` goes back [B].
    timeout_us : float
        Time without an ack after which packets are sent again, where any can be lost [us].
    seed : int
        Seed of random marks and errors.
    dcqcn : DcqcnEntry
        Parameters of DCQCN.
    timely : TimelyEntry
        Parameters of TIMELY.
    hpcc : HpccEntry
        Parameters of HPCC.
    """

    file_kind = ROCE

    congestion_control: Annotated[str, one_of(*SCHEMES)] = "pfc"
    packet_bytes: Annotated[int, int_range(64, 65536)] = 1000
    header_bytes: Annotated[int, int_range(0, 1000)] = 48
    ack_bytes: Annotated[int, int_range(0, 1000)] = 60
    train_packets: Annotated[int, int_range(1, 1024)] | None = None
    buffer_mib: Annotated[float, number_range(1e-3, 1e6)] = 32
    pfc: bool = True
    dynamic_threshold: bool = True
    threshold_kb: _Size = 256
    threshold_shift: Annotated[int, int_range(0, 30)] = 3
    reserve_bytes: Annotated[int, int_range(0, 1 << 30)] = 4096
    resume_bytes: Annotated[int, int_range(0, 1 << 30)] = 3072
    headroom_factor: Annotated[float, number_range(0, 1000)] = 3
    ecn: Annotated[list[MarkEntry], Field(min_length=1)] = _MARKED
    window: bool = True
    global_window: bool = False
    variable_window: bool = True
    paced: bool = True
    min_rate_gbps: _Rate = 0.1
    additive_gbps: _Rate = 0.05
    hyper_gbps: _Rate = 0.1
    dctcp_additive_gbps: _Rate = 1
    error_rate: Annotated[float, number_range(0, 0.5)] = 0
    back_to_zero: bool = False
    chunk_bytes: Annotated[int, int_range(1, 1 << 30)] = 4000
    timeout_us: _Time = 1000
    seed: Annotated[int, int_range(1, 2147483646)] = 1
    dcqcn: DcqcnEntry = DcqcnEntry()
    timely: TimelyEntry = TimelyEntry()
    hpcc: HpccEntry = HpccEntry()

    def check(self, source: str) -> None:
        """Fail unless thresholds are in order and rows of marks have different rates.

        Raises
        ------
        InputError
            A row of ``ecn`` has ``kmax_kb`` at or below ``kmin_kb``, two rows have the same
            ``gbps``, or ``t_low_us`` of ``timely`` is above ``t_high_us``.
        """
        rates: set[float] = set()
        for place, row in enumerate(self.ecn):
            field = f"ecn.{place}"
            if row.kmax_kb <= row.kmin_kb:
                message = f"must be above kmin_kb, {row.kmin_kb:g}, not {row.kmax_kb:g}"
                raise InputError(source, f"{field}.kmax_kb", message)
            if row.gbps in rates:
                message = f"must be different in each row, not {row.gbps:g} Gb/s in two rows"
                raise InputError(source, f"{field}.gbps", message)
            rates.add(row.gbps)
        low, high = self.timely.t_low_us, self.timely.t_high_us
        if low > high:
            message = f"must be at most t_high_us, {high:g}, not {low:g}"
            raise InputError(source, "timely.t_low_us", message)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the simulation."""
        found = [
            "acks have priority over data and take no bandwidth",
            "each message is a flow of its own, which begins at line rate",
        ]
        if self.most_in_train == 1:
            return (*found, "each packet is simulated alone")
        found.append(f"up to {self.most_in_train} packets of a flow are simulated as one")
        if self.congestion_control in _SENSITIVE:
            scheme = self.congestion_control
            found.append(f"results of {scheme} can be wrong by factors; use train_packets: 1")
        return tuple(found)

    @property
    def lossy(self) -> bool:
        """Whether packets can be lost."""
        return not self.pfc or self.error_rate > 0

    @property
    def most_in_train(self) -> int:
        """Largest number of packets of a flow that are simulated as one."""
        if self.lossy:
            return 1
        if self.train_packets is not None:
            return self.train_packets
        return 1 if self.congestion_control in _SENSITIVE else _TRAIN

    @property
    def overhead_bytes(self) -> int:
        """Overhead of a packet on the wire: headers and telemetry [B]."""
        sizes = {**_TELEMETRY_BYTES, "hpcc": self.hpcc.telemetry_bytes}
        return self.header_bytes + sizes.get(self.congestion_control, 0)

    @property
    def unit_bytes(self) -> float:
        """Wire size of a train, which is sent without interruption [B]."""
        return float(self.most_in_train * (self.packet_bytes + self.overhead_bytes))

    @property
    def control(self) -> Control:
        """Parameters of the controllers, in ns and bytes per ns."""
        dcqcn, timely, hpcc = self.dcqcn, self.timely, self.hpcc
        return Control(
            min_rate=_GBPS * self.min_rate_gbps,
            additive=_GBPS * self.additive_gbps,
            hyper=_GBPS * self.hyper_gbps,
            gain=float(dcqcn.gain),
            alpha_interval=1e3 * dcqcn.alpha_interval_us,
            decrease_interval=1e3 * dcqcn.decrease_interval_us,
            increase_interval=1e3 * dcqcn.increase_timer_us,
            fast_steps=float(dcqcn.fast_recovery_times),
            clamp=float(dcqcn.clamp_target_rate),
            rate_on_first=float(dcqcn.rate_on_first),
            dctcp_additive=_GBPS * self.dctcp_additive_gbps,
            timely_low=1e3 * timely.t_low_us,
            timely_high=1e3 * timely.t_high_us,
            timely_min_rtt=1e3 * timely.min_rtt_us,
            timely_weight=float(timely.weight),
            timely_factor=float(timely.decrease_factor),
            timely_hyper_after=float(timely.hyper_after),
            target=float(hpcc.target),
            max_stage=float(hpcc.max_stage),
            fast_react=float(hpcc.fast_react),
        )

    def marks_at(self, bytes_per_s: float) -> tuple[float, float, float]:
        """Return Kmin [B], Kmax [B] and Pmax for links of a given rate [B/s]."""
        rows = sorted(self.ecn, key=lambda row: row.gbps)
        gbps = bytes_per_s * 8e-9 * (1 + 1e-9)
        row = [one for one in rows if one.gbps <= gbps] or rows[:1]
        return 1e3 * row[-1].kmin_kb, 1e3 * row[-1].kmax_kb, float(row[-1].pmax)

    def changed(self, **values: Any) -> "RoceFile":
        """Return the parameters with changed values; None leaves a value unchanged."""
        given = {name: value for name, value in values.items() if value is not None}
        return self.with_changes(**given) if given else self
