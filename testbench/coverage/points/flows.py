"""Retransmission in each state of a flow's source, and numbers that wrap at both of its ends."""

from fred_hw.endpoint.flow_receiver import FlowReceiver
from fred_hw.endpoint.flow_sender import FlowSender
from fred_hw.endpoint.transmitter import Transmitter
from testbench.coverage.point import Points, watches

__all__: list[str] = []


@watches(FlowSender)
def _flow_sender(unit: FlowSender) -> Points:
    flits = unit.spec.protocol.packet_flits
    points = {
        "packets_in_flight_across_the_wrap": "begun < oldest",
        "ack_across_the_wrap": "oldest < $past(oldest) && $past(acknowledged)",
        "retransmission_across_the_wrap": "retransmit && begun < oldest",
        "nack_during_a_retransmission": "back && following != begun",
        "timeout_during_a_retransmission": "late && following != begun",
        "ack_of_packets_to_retransmit": "skip && following != begun",
        "nack_between_packets": "back && sent == 0",
        "timeout_between_packets": "late && sent == 0",
    }
    for k in range(1, flits):
        points[f"nack_after_flit_{k}"] = f"back && sent == {k}"
        points[f"timeout_after_flit_{k}"] = f"late && sent == {k}"
    return Points(
        points,
        (
            "logic [7:0] sent;",  # flits of a packet that is not complete
            "always @(posedge clk) if (rst) sent <= 0;",
            "else if (o__take) sent <= o__ends ? 0 : sent + 1;",
        ),
    )


@watches(FlowReceiver)
def _flow_receiver(unit: FlowReceiver) -> Points:
    return Points(
        {
            "expected_number_wraps": "expected < $past(expected) && $past(came)",
            "packet_of_another_flow": "old",
            "packet_is_missing": "lost",
            "packet_is_refused": "refused",
            "unknown_flow": "unknown",
        }
    )


@watches(Transmitter)
def _transmitter(unit: Transmitter) -> Points:
    """Let a more urgent packet wait at each position of a packet; it is sent next, not at once.

    Between packets, a less urgent packet with space waits for a more urgent one.
    """
    flits, points = unit.spec.protocol.packet_flits, dict[str, str]()
    classes = unit.spec.protocol.channels.names
    for low, less in enumerate(classes):
        for high, more in enumerate(classes[:low]):
            points[f"{more}_goes_before_{less}"] = (
                f"i__{high}__take && sent == 0 && i__{low}__waiting && sender_space[{low}]"
            )
            for k in range(1, flits):
                points[f"{more}_waits_at_flit_{k}_of_{less}"] = (
                    f"i__{high}__waiting && sender_space[{high}] && i__{low}__take && sent == {k}"
                )
    takes = " || ".join(f"i__{k}__take" for k in range(len(classes)))
    ends = " || ".join(f"(i__{k}__take && i__{k}__ends)" for k in range(len(classes)))
    return Points(
        points,
        (
            "logic [7:0] sent;",
            "always @(posedge clk) if (rst) sent <= 0;",
            f"else if ({takes}) sent <= ({ends}) ? 0 : sent + 1;",
        ),
    )
