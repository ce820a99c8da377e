"""Credits at zero, sequence numbers that wrap, and restarts of a link."""

from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.credits import link_sequence_bits
from fred_hw.link.sender import Sender
from fred_hw.link.session import LinkSession
from testbench.coverage.point import Points, watches

__all__: list[str] = []


@watches(CircuitCredits)
def _credits(unit: CircuitCredits) -> Points:
    bits, most = link_sequence_bits(unit.spec), unit.spec.protocol.buffer_flits
    return Points(
        {
            "no_space_for_a_packet": "!space && !closed && !lost",
            "all_credits_used": "granted == link_sequence && !closed && !lost",
            "credits_return_at_zero": "grant && granted == link_sequence && limit != granted",
            "link_sequence_wraps": "link_sequence < taken && !begins",
            "limit_wraps": "grant && limit < granted",
        },
        (
            f"logic [{bits - 1}:0] granted;",
            f"always @(posedge clk) if (rst) granted <= {most}; else if (begins) granted <= 0;",
            "else if (grant) granted <= limit;",
        ),
    )


@watches(Sender)
def _sender(unit: Sender) -> Points:
    buffers = unit.spec.protocol.buffers
    waits = {k: f"wanted[{k}] && !space[{k}]" for k in range(len(buffers))}
    return Points({f"{name}_waits_for_credits": waits[k] for k, name in enumerate(buffers)})


@watches(LinkSession)
def _session(unit: LinkSession) -> Points:
    return Points(
        {
            "neighbour_restarts_while_up": "renewed && up",
            "neighbour_restarts_while_down": "renewed && !up && peer_known",
            "neighbour_restarts_with_packets_inside": "renewed && up && !link__empty",
            "handshake_repeats": "link__handshake__valid && link__handshake__ready && !up && fresh",
        }
    )
