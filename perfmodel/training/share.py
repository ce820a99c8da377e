"""An NPU's share of a network under context and expert parallelism."""

from dataclasses import replace

from fred_hw.compiler.placement import Strategy
from perfmodel.workloads.layers import Layer, Network, Operator

__all__ = ["share_out"]


def share_out(network: Network, strategy: Strategy) -> Network:
    """Return the network that each NPU along CP and EP holds, before MP.

    Context parallelism leaves an NPU its share of the tokens of each sample, the work of attention
    included, as causal attention is balanced by giving it an early and a late piece (Llama 3,
    arXiv 2407.21783, section 3.3.2). Of shared parameters an expert group has one copy; operations
    stay, as each NPU gets as many tokens as it sends. Equal layers stay one object.
    """
    if strategy.cp == strategy.ep == 1:
        return network
    found: dict[int, Layer] = {}
    for layer in network.layers:
        if id(layer) not in found:
            found[id(layer)] = _layer(layer, strategy.cp, strategy.ep)
    return replace(network, layers=tuple(found[id(layer)] for layer in network.layers))


def _layer(layer: Layer, cp: int, ep: int) -> Layer:
    return replace(
        layer,
        operators=tuple(_operator(one, cp, ep) for one in layer.operators),
        output_numbers=_share(layer.output_numbers, cp),
        stored_numbers=layer.stored_numbers / cp,
        mp_reduced_numbers=_share(layer.mp_reduced_numbers, cp),
        all_to_all_numbers=_share(layer.all_to_all_numbers, cp),
    )


def _operator(one: Operator, cp: int, ep: int) -> Operator:
    parameters = _share(one.parameters, ep) if one.shared else one.parameters
    return replace(
        one, flops=one.flops / cp, parameters=parameters, moved_numbers=one.moved_numbers / cp
    )


def _share(whole: int, parts: int) -> int:
    """Return the largest of a number of nearly equal parts."""
    return -(-whole // parts)
