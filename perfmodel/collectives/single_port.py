"""Link graphs in which each member has one link in each direction."""

from dataclasses import replace

from .link_graph import Arc, LinkGraph

__all__ = ["with_single_ports"]


def with_single_ports(graph: LinkGraph) -> LinkGraph:
    """Return a graph in which each member sends on one link and receives on one link.

    A link between members becomes a path through the ports of both. The ports are nodes, so that
    schedules in time slots give a port to one message at a time. Links keep their numbers; ports
    have numbers behind the last link.

    Parameters
    ----------
    graph : LinkGraph
        Links from member to member.

    Raises
    ------
    ValueError
        A link leads to a node that is no member.
    """
    members = graph.members
    others = {node for arc in graph.arcs for node in (arc.source, arc.target)} - set(members)
    if others:
        raise ValueError(f"links must join members, not {', '.join(map(str, sorted(others)))}")
    first, link = max(members) + 1, 1 + max(arc.link for arc in graph.arcs)
    out, back = ({m: first + k * len(members) + i for i, m in enumerate(members)} for k in (0, 1))
    outgoing: dict[int, tuple[Arc, ...]] = {}
    for place, member in enumerate(members):
        outgoing[member] = (Arc(link + place, member, out[member]),)
        inner = graph.outgoing[member]
        outgoing[out[member]] = tuple(
            replace(arc, source=out[member], target=back[arc.target]) for arc in inner
        )
        outgoing[back[member]] = (Arc(link + len(members) + place, back[member], member),)
    arcs = tuple(arc for own in outgoing.values() for arc in own)
    return LinkGraph(members, arcs, outgoing, lambda arc: (arc.link,))
