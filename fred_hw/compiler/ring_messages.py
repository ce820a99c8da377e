"""Sizes of a ring's messages."""

from fred_hw.endpoint_spec import EndpointSpec

__all__ = ["message_flits"]


def message_flits(block_flits: int, members: int, engine: EndpointSpec) -> int:
    """Return the size of a ring's messages, which are all about equal [flits].

    A slot holds a message of each block, and each state machine sends one at a time. Messages are
    sent in as few rounds of all state machines as possible, all of about equal size: a small last
    round would take as long as its way around the ring.

    Parameters
    ----------
    block_flits : int
        Size of a member's block, 1 or more.
    members : int
        Members of the ring; a slot must hold a flit of each.
    engine : EndpointSpec
        Slots and state machines.

    Raises
    ------
    ValueError
        A slot cannot hold a flit of each member.
    """
    space = engine.chunk_flits // members
    if not space:
        raise ValueError(
            f"groups must have at most {engine.chunk_flits} NPUs, a flit of each in "
            f"a slot (endpoint.chunk_flits), not {members}"
        )
    rounds = -(-block_flits // (space * engine.fsms))
    return -(-block_flits // (rounds * engine.fsms))
