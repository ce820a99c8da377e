"""Sizes of a ring's messages."""

from fred_hw.endpoint_spec import EndpointSpec

__all__ = ["message_flits"]


def message_flits(block_flits: int, members: int, engine: EndpointSpec) -> int:
    """Return the flits of a ring's messages, all of about one size.

    A slot has space for one of each block, and each state machine has one under way. They go in as
    few rounds of all state machines as there are, each as large as the others: a last one that is
    small would take as long as its way around.

    Parameters
    ----------
    block_flits : int
        Of a member's block, 1 or more.
    members : int
        Of the ring; at most a flit of each has space in a slot.
    engine : EndpointSpec
        Slots and state machines.

    Raises
    ------
    ValueError
        A slot has no space for a flit of each member.
    """
    space = engine.chunk_flits // members
    if not space:
        raise ValueError(
            f"groups must have at most {engine.chunk_flits} NPUs, a flit of each in "
            f"a slot (endpoint.chunk_flits), not {members}"
        )
    rounds = -(-block_flits // (space * engine.fsms))
    return -(-block_flits // (rounds * engine.fsms))
